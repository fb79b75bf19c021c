// SPDX-License-Identifier: MIT
#include "support/run.hpp"

#include <cstdlib>
#include <cstring>

#include "support/files.hpp"

namespace rknpu::test {
namespace {

/// Destroys a context at the end of the scope.
class Context {
 public:
    Context(const std::string& path, const std::string& device) {
        setenv("RKNPU_DEVICE", device.c_str(), 1);
        std::string name(path);
        if (rknn_init(&handle_, name.data(), 0, 0, nullptr) != RKNN_SUCC)
            handle_ = 0;
    }
    ~Context() {
        if (handle_ != 0)
            rknn_destroy(handle_);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    rknn_context get() const { return handle_; }

    rknn_input_output_num count() const {
        rknn_input_output_num out{};
        rknn_query(handle_, RKNN_QUERY_IN_OUT_NUM, &out, sizeof(out));
        return out;
    }

 private:
    rknn_context handle_ = 0;
};

bool set_inputs(const Context& context, const std::vector<Input>& inputs) {
    std::vector<rknn_input> list;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
        const auto& from = inputs[i];
        list.push_back({i, const_cast<std::byte*>(from.bytes.data()),
                        static_cast<uint32_t>(from.bytes.size()), 0, from.type, from.fmt});
    }
    return rknn_inputs_set(context.get(), static_cast<uint32_t>(list.size()), list.data()) ==
           RKNN_SUCC;
}

}  // namespace

std::optional<Outputs> run_model(const std::string& path, const std::string& device,
                                 const std::vector<Input>& inputs, uint32_t core_mask,
                                 bool want_float, bool non_block) {
    const Context context(path, device);
    if (context.get() == 0)
        return std::nullopt;
    if (core_mask != 0 &&
        rknn_set_core_mask(context.get(), static_cast<rknn_core_mask>(core_mask)) != RKNN_SUCC)
        return std::nullopt;
    rknn_run_extend extend{};
    extend.non_block = non_block ? 1 : 0;
    if (!set_inputs(context, inputs) || rknn_run(context.get(), &extend) != RKNN_SUCC)
        return std::nullopt;
    if (non_block && rknn_wait(context.get(), &extend) != RKNN_SUCC)
        return std::nullopt;
    const uint32_t count = context.count().n_output;
    std::vector<rknn_output> list(count);
    for (uint32_t i = 0; i < count; ++i) {
        list[i] = {};
        list[i].index = i;
        list[i].want_float = want_float ? 1 : 0;
    }
    if (rknn_outputs_get(context.get(), count, list.data(), nullptr) != RKNN_SUCC)
        return std::nullopt;
    Outputs out;
    for (const auto& output : list) {
        const auto* start = static_cast<const std::byte*>(output.buf);
        out.emplace_back(start, start + output.size);
    }
    rknn_outputs_release(context.get(), count, list.data());
    return out;
}

std::vector<Input> noise_inputs(const std::string& path, const std::string& device, uint32_t seed) {
    const Context context(path, device);
    if (context.get() == 0)
        return {};
    std::vector<Input> out;
    const uint32_t count = context.count().n_input;
    for (uint32_t i = 0; i < count; ++i) {
        rknn_tensor_attr attr{};
        attr.index = i;
        rknn_query(context.get(), RKNN_QUERY_INPUT_ATTR, &attr, sizeof(attr));
        out.push_back({noise(attr.n_elems, seed + i), RKNN_TENSOR_UINT8, attr.fmt});
    }
    return out;
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
    std::vector<float> out(bytes.size() / sizeof(float));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
    return out;
}

}  // namespace rknpu::test
