// SPDX-License-Identifier: MIT
#include "worker.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <random>

namespace rknpu::tools {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

constexpr uint32_t kSeed = 1;

/// Reproducible noise in the form an application would give: bytes for an image, otherwise numbers
/// of the input's own type.
InputData noise(const rknn_tensor_attr& attr, uint32_t index) {
    std::mt19937 random(kSeed + index);
    InputData out;
    out.fmt = attr.fmt;
    const bool image = attr.n_dims == 4 && attr.fmt == RKNN_TENSOR_NHWC &&
                       attr.type != RKNN_TENSOR_INT64 && attr.type != RKNN_TENSOR_BOOL;
    if (image) {
        out.bytes.resize(attr.n_elems);
        for (auto& byte : out.bytes)
            byte = static_cast<std::byte>(random() >> 24);
        return out;
    }
    if (attr.type == RKNN_TENSOR_INT64 || attr.type == RKNN_TENSOR_BOOL) {
        out.type = attr.type;
        out.bytes.assign(attr.n_elems * (attr.type == RKNN_TENSOR_INT64 ? 8 : 1), std::byte{0});
        return out;
    }
    out.type = RKNN_TENSOR_FLOAT32;
    out.bytes.resize(attr.n_elems * sizeof(float));
    for (uint32_t i = 0; i < attr.n_elems; ++i) {
        const float value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
        std::memcpy(out.bytes.data() + i * sizeof(float), &value, sizeof(value));
    }
    return out;
}

bool load_data(const BenchOptions& options, const Model& model, std::vector<InputData>& data,
               std::string& error) {
    const auto& attrs = model.inputs();
    if (!options.inputs.empty() && options.inputs.size() != attrs.size()) {
        error = fmt::format("the model has {} inputs, {} files are given", attrs.size(),
                            options.inputs.size());
        return false;
    }
    for (uint32_t i = 0; i < attrs.size(); ++i) {
        if (options.inputs.empty()) {
            data.push_back(noise(attrs[i], i));
            continue;
        }
        auto loaded = load_input(options.inputs[i], attrs[i], error);
        if (!loaded)
            return false;
        data.push_back(std::move(*loaded));
    }
    return true;
}

class GeneralWorker final : public Worker {
 public:
    explicit GeneralWorker(std::shared_ptr<Model> model) : Worker(std::move(model)) {}

    bool infer(StageTimes& times) override {
        auto begin = Clock::now();
        if (rknn_inputs_set(model_->context(), static_cast<uint32_t>(inputs_.size()),
                            inputs_.data()) != RKNN_SUCC)
            return false;
        times.set = since(begin);
        begin = Clock::now();
        if (rknn_run(model_->context(), nullptr) != RKNN_SUCC)
            return false;
        times.run = since(begin);
        begin = Clock::now();
        const auto count = static_cast<uint32_t>(outputs_.size());
        if (rknn_outputs_get(model_->context(), count, outputs_.data(), nullptr) != RKNN_SUCC)
            return false;
        rknn_outputs_release(model_->context(), count, outputs_.data());
        times.fetch = since(begin);
        return true;
    }

 private:
    bool prepare(std::string&) override {
        for (uint32_t i = 0; i < data_.size(); ++i) {
            auto& data = data_[i];
            inputs_.push_back({i, data.bytes.data(), static_cast<uint32_t>(data.bytes.size()), 0,
                               data.type, data.fmt});
        }
        outputs_.resize(model_->outputs().size());
        for (uint32_t i = 0; i < outputs_.size(); ++i) {
            outputs_[i] = {};
            outputs_[i].index = i;
            outputs_[i].want_float = 1;
        }
        return true;
    }

    std::vector<rknn_input> inputs_;
    std::vector<rknn_output> outputs_;
};

/// Buffers in the NPU's own form, filled once: what remains is the run.
class ZeroCopyWorker final : public Worker {
 public:
    explicit ZeroCopyWorker(std::shared_ptr<Model> model) : Worker(std::move(model)) {}
    ~ZeroCopyWorker() override {
        for (auto* memory : memories_)
            rknn_destroy_mem(model_->context(), memory);
    }

    bool infer(StageTimes& times) override {
        const auto begin = Clock::now();
        if (rknn_run(model_->context(), nullptr) != RKNN_SUCC)
            return false;
        times = {0, since(begin), 0};
        return true;
    }

 private:
    bool prepare(std::string& error) override {
        for (uint32_t i = 0; i < model_->inputs().size(); ++i) {
            if (!bind(RKNN_QUERY_NATIVE_INPUT_ATTR, i, error))
                return false;
        }
        for (uint32_t i = 0; i < model_->outputs().size(); ++i) {
            if (!bind(RKNN_QUERY_NATIVE_OUTPUT_ATTR, i, error))
                return false;
        }
        return true;
    }

    bool bind(rknn_query_cmd command, uint32_t index, std::string& error) {
        rknn_tensor_attr attr{};
        attr.index = index;
        if (rknn_query(model_->context(), command, &attr, sizeof(attr)) != RKNN_SUCC)
            return false;
        attr.pass_through = 1;
        auto* memory = rknn_create_mem(model_->context(), attr.size_with_stride);
        if (memory == nullptr) {
            error = fmt::format("no memory for '{}'", attr.name);
            return false;
        }
        memories_.push_back(memory);
        if (command == RKNN_QUERY_NATIVE_INPUT_ATTR) {
            std::mt19937 random(kSeed + index);
            auto* bytes = static_cast<std::byte*>(memory->virt_addr);
            for (uint32_t i = 0; i < attr.size_with_stride; ++i)
                bytes[i] = static_cast<std::byte>(random() >> 24 & 0x3f);  // finite as float16
        }
        return rknn_set_io_mem(model_->context(), memory, &attr) == RKNN_SUCC;
    }

    std::vector<rknn_tensor_mem*> memories_;
};

}  // namespace

std::unique_ptr<Worker> Worker::make(Interface interface, std::shared_ptr<Model> model,
                                     const std::vector<InputData>& data, uint32_t core_mask,
                                     std::string& error) {
    if (core_mask != 0 &&
        rknn_set_core_mask(model->context(), static_cast<rknn_core_mask>(core_mask)) != RKNN_SUCC)
        return nullptr;
    std::unique_ptr<Worker> worker;
    if (interface == Interface::kGeneral)
        worker = std::make_unique<GeneralWorker>(std::move(model));
    else
        worker = std::make_unique<ZeroCopyWorker>(std::move(model));
    worker->interface_ = interface;
    worker->data_ = data;
    return worker->prepare(error) ? std::move(worker) : nullptr;
}

std::unique_ptr<Worker> Worker::open(const BenchOptions& options, Interface interface,
                                     uint32_t core_mask, std::string& error) {
    std::shared_ptr<Model> model = Model::open(options.model, options.flags);
    std::vector<InputData> data;
    if (model == nullptr || !load_data(options, *model, data, error))
        return nullptr;
    return make(interface, std::move(model), data, core_mask, error);
}

std::unique_ptr<Worker> Worker::another(uint32_t core_mask, std::string& error) const {
    std::shared_ptr<Model> copy = model_->duplicate();
    return copy == nullptr ? nullptr : make(interface_, std::move(copy), data_, core_mask, error);
}

}  // namespace rknpu::tools
