// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "api/attr.hpp"
#include "device/device.hpp"
#include "golden.hpp"
#include "input.hpp"
#include "model/reader.hpp"
#include "runtime/session.hpp"

namespace rknpu::tools {
namespace {

using Values = std::vector<float>;

std::optional<InputData> noise_input(const rknn_tensor_attr& attr, uint32_t seed) {
    std::mt19937 random(seed);
    InputData out;
    out.fmt = attr.fmt;
    const auto fill = [&](auto draw) {
        using T = decltype(draw());
        out.bytes.resize(attr.n_elems * sizeof(T));
        for (size_t i = 0; i < attr.n_elems; ++i) {
            const T value = draw();
            std::memcpy(out.bytes.data() + i * sizeof(T), &value, sizeof(T));
        }
    };
    switch (attr.type) {
        case RKNN_TENSOR_INT64:
            out.type = RKNN_TENSOR_INT64;
            fill([&] { return static_cast<int64_t>(random() % 2); });
            return out;
        case RKNN_TENSOR_BOOL:
            out.type = RKNN_TENSOR_BOOL;
            fill([&] { return static_cast<uint8_t>(random() % 2); });
            return out;
        case RKNN_TENSOR_INT8:
        case RKNN_TENSOR_UINT8:  // what quantised models are fed with: bytes
            fill([&] { return static_cast<uint8_t>(random() >> 24); });
            return out;
        default:
            out.type = RKNN_TENSOR_FLOAT32;
            std::normal_distribution<float> normal;
            fill([&] { return normal(random); });
            return out;
    }
}

ElementView plain_view(const GraphTensor& tensor) {
    ElementView view;
    const auto layout = layout_of(tensor);
    view.layout = ImageLayout::plain(layout.n, layout.c, layout.h, layout.w);
    return view;
}

class Comparison {
 public:
    explicit Comparison(const CompareOptions& options) : options_(options) {}

    std::optional<CompareReport> run(std::string& error) {
        if (auto status = open(); !status.ok()) {
            error = fmt::format("{}: {}", options_.model, status.text());
            return std::nullopt;
        }
        if (!set_inputs(error))
            return std::nullopt;
        golden_ = run_golden(options_.onnx, inputs_, options_.executor, error);
        if (!golden_)
            return std::nullopt;
        report_.executor = golden_->executor;
        auto status = run_entire();
        if (status.ok())
            status = compare_outputs();
        if (status.ok())
            status = run_single();
        if (!status.ok()) {
            error = fmt::format("{}: {}", options_.model, status.text());
            return std::nullopt;
        }
        return std::move(report_);
    }

 private:
    const JobGraph& graph() const { return session_->program().graph; }
    const GraphTensor& tensor(int32_t index) const {
        return graph().tensors[static_cast<size_t>(index)];
    }

    Status open() {
        auto file = read_file(options_.model);
        if (!file.ok())
            return file.status();
        auto graph = read_model(std::move(file).value(), {});
        if (!graph.ok())
            return graph.status();
        auto device = Device::open_default();
        if (!device.ok())
            return device.status();
        if (graph->target != device.value()->info().soc)
            return Status::failure(Error::kPlatformMismatch,
                                   "the model is for {}, the device is {}", graph->target,
                                   device.value()->info().soc);
        SessionOptions session;
        session.per_node_jobs = true;
        auto made = Session::create(
            make_program(std::move(device).value(), std::move(graph).value()), session, {});
        if (!made.ok())
            return made.status();
        session_ = std::move(made).value();
        if (auto status = session_->cpu_steps().check_operators(); !status.ok())
            return status;
        return session_->bind_rest();
    }

    bool set_inputs(std::string& error) {
        const auto& list = graph().inputs;
        if (!options_.inputs.empty() && options_.inputs.size() != list.size()) {
            error = fmt::format("the model has {} inputs, {} files are given", list.size(),
                                options_.inputs.size());
            return false;
        }
        for (size_t i = 0; i < list.size(); ++i) {
            const auto& info = tensor(list[i]);
            rknn_tensor_attr attr{};
            api::fill_attr(info, static_cast<uint32_t>(i), api::TensorView::kModelInput, attr);
            const auto data = options_.inputs.empty()
                                  ? noise_input(attr, options_.seed + static_cast<uint32_t>(i))
                                  : load_input(options_.inputs[i], attr, error);
            if (!data)
                return false;
            if (!set_input(i, *data)) {
                error = fmt::format("input '{}' cannot be given as {}", info.name,
                                    get_type_string(data->type));
                return false;
            }
        }
        return true;
    }

    bool set_input(size_t index, const InputData& data) {
        const int32_t target = graph().inputs[index];
        const auto& info = tensor(target);
        const auto type = api::from_public(data.type);
        const auto from = type ? api::user_view(info, *type, data.fmt) : std::nullopt;
        if (!from || data.bytes.size() < from->bytes())
            return false;
        const bool codes =
            *type == info.type && *type != DataType::kFloat32 && *type != DataType::kFloat16;
        const auto map = codes ? ChannelMap() : channel_map(graph(), index);
        convert(*from, data.bytes, view_of(info), session_->bytes(target), map);
        session_->mark_input_changed(target);
        GoldenInput golden{
            info.name, {info.dims.begin(), info.dims.end()}, Values(info.elements())};
        convert(*from, data.bytes, plain_view(info),
                std::as_writable_bytes(std::span(golden.values)), map);
        inputs_.push_back(std::move(golden));
        return true;
    }

    /// The graph's values of a tensor, or null with the reason.
    const Values* golden_of(int32_t index, std::string& note) const {
        const auto& info = tensor(index);
        const auto found = golden_->tensors.find(info.name);
        if (found == golden_->tensors.end()) {
            note = "not in the graph";
            return nullptr;
        }
        if (found->second.size() == info.elements())
            return &found->second;
        note = fmt::format("{} elements, {} in the graph", info.elements(), found->second.size());
        return nullptr;
    }

    Result<Values> values_of(int32_t index) {
        if (auto status = session_->sync_tensor(index, SyncDirection::kFromDevice); !status.ok())
            return status;
        const auto& info = tensor(index);
        Values out(info.elements());
        convert(view_of(info), session_->bytes(index), plain_view(info),
                std::as_writable_bytes(std::span(out)), {});
        return out;
    }

    bool readable(int32_t index) const {
        return tensor(index).place == Place::kArena && session_->bound(index) &&
               !tensor(index).name.ends_with("_exSecondary") &&
               session_->bytes(index).size() >= view_of(tensor(index)).bytes();
    }

    /// Calls before(node) and after(node) around the steps of each layer.
    template <typename Before, typename After>
    Status run_layers(Before&& before, After&& after) {
        if (auto status = session_->begin_run(); !status.ok())
            return status;
        const auto& plan = session_->plan();
        for (size_t i = 0; i < plan.size(); ++i) {
            const auto& node = graph().nodes[plan[i].first_node];
            if (i == 0 || plan[i - 1].first_node != plan[i].first_node) {
                if (auto status = before(node); !status.ok())
                    return status;
            }
            if (auto status = session_->run_step(i); !status.ok())
                return status;
            if (i + 1 == plan.size() || plan[i + 1].first_node != plan[i].first_node) {
                if (auto status = after(node); !status.ok())
                    return status;
            }
        }
        return {};
    }

    Status run_entire() {
        return run_layers([](const GraphNode&) { return Status(); },
                          [this](const GraphNode& node) {
                              for (const int32_t output : node.outputs) {
                                  if (!readable(output))
                                      continue;
                                  auto& row = report_.layers.emplace_back();
                                  row.type = node.type;
                                  row.tensor = tensor(output).name;
                                  row.target = node.on_npu ? "NPU" : "CPU";
                                  if (auto status = measure(output, row.entire, row.note);
                                      !status.ok())
                                      return status;
                              }
                              return Status();
                          });
    }

    Status measure(int32_t index, std::optional<Distance>& out, std::string& note) {
        const auto* golden = golden_of(index, note);
        if (golden == nullptr)
            return {};
        auto values = values_of(index);
        if (!values.ok())
            return values.status();
        out = distance(values.value(), *golden);
        return {};
    }

    Status compare_outputs() {
        const auto& list = graph().outputs;
        for (size_t i = 0; i < list.size(); ++i) {
            auto& row = report_.outputs.emplace_back();
            row.tensor = tensor(list[i]).name;
            auto name = row.tensor;
            if (!golden_->tensors.contains(name) && golden_->outputs.size() == list.size())
                name = golden_->outputs[i];
            const auto found = golden_->tensors.find(name);
            if (found == golden_->tensors.end() ||
                found->second.size() != tensor(list[i]).elements())
                row.note = "no output of the graph belongs to it";
            else if (auto values = values_of(list[i]); !values.ok())
                return values.status();
            else
                row.entire = distance(values.value(), found->second);
        }
        return {};
    }

    /// Puts the graph's values into a layer's inputs. False if it does not have all of them.
    Result<bool> give_golden(const GraphNode& node) {
        std::string ignored;
        for (const int32_t input : node.inputs) {
            if (tensor(input).place == Place::kArena &&
                !tensor(input).name.ends_with("_exSecondary") &&
                (!readable(input) || golden_of(input, ignored) == nullptr))
                return false;
        }
        for (const int32_t input : node.inputs) {
            if (!readable(input))
                continue;
            const auto& info = tensor(input);
            convert(plain_view(info), std::as_bytes(std::span(*golden_of(input, ignored))),
                    view_of(info), session_->bytes(input), {});
            if (auto status = session_->sync_tensor(input, SyncDirection::kToDevice); !status.ok())
                return status;
        }
        return true;
    }

    Status run_single() {
        bool given = false;
        size_t row = 0;
        return run_layers(
            [&](const GraphNode& node) {
                auto result = give_golden(node);
                given = result.ok() && result.value();
                return result.status();
            },
            [&](const GraphNode& node) {
                for (const int32_t output : node.outputs) {
                    if (!readable(output))
                        continue;
                    auto& to = report_.layers[row++];
                    std::string ignored;
                    if (!given)
                        continue;
                    if (auto status = measure(output, to.single, ignored); !status.ok())
                        return status;
                }
                return Status();
            });
    }

    const CompareOptions& options_;
    std::unique_ptr<Session> session_;
    std::vector<GoldenInput> inputs_;
    std::optional<Golden> golden_;
    CompareReport report_;
};

}  // namespace

Distance distance(std::span<const float> got, std::span<const float> golden) {
    double product = 0;
    double square_got = 0;
    double square_golden = 0;
    double difference = 0;
    for (size_t i = 0; i < std::min(got.size(), golden.size()); ++i) {
        const double a = got[i];
        const double b = golden[i];
        product += a * b;
        square_got += a * a;
        square_golden += b * b;
        difference += (a - b) * (a - b);
    }
    Distance out;
    out.euc = std::sqrt(difference);
    if (square_got == 0 || square_golden == 0)
        out.cos = square_got == square_golden ? 1 : 0;
    else
        out.cos = product / std::sqrt(square_got) / std::sqrt(square_golden);
    return out;
}

std::optional<CompareReport> compare(const CompareOptions& options, std::string& error) {
    return Comparison(options).run(error);
}

}  // namespace rknpu::tools
