// SPDX-License-Identifier: MIT
// A plugin as programs ship them: one operator, doubling its input.
#include <rknn_custom_op.h>

namespace {

int compute(rknn_custom_op_context*, rknn_custom_op_tensor* inputs, uint32_t,
            rknn_custom_op_tensor* outputs, uint32_t) {
    const auto* in = reinterpret_cast<const float*>(static_cast<char*>(inputs[0].mem.virt_addr) +
                                                    inputs[0].mem.offset);
    auto* out = reinterpret_cast<float*>(static_cast<char*>(outputs[0].mem.virt_addr) +
                                         outputs[0].mem.offset);
    for (uint32_t i = 0; i < inputs[0].attr.n_elems; ++i)
        out[i] = 2 * in[i];
    return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) rknn_custom_op* get_rknn_custom_op(void) {
    static rknn_custom_op op = [] {
        rknn_custom_op out{};
        out.version = 1;
        out.target = RKNN_TARGET_TYPE_CPU;
        const char* type = "PluginDouble";
        for (int i = 0; type[i] != '\0'; ++i)
            out.op_type[i] = type[i];
        out.compute = compute;
        return out;
    }();
    return &op;
}
