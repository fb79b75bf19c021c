// SPDX-License-Identifier: MIT
#include "window.hpp"

#include <algorithm>

namespace rknpu::cpu::ops {

namespace {

Status read_list(const OpContext& context, std::string_view name, std::size_t count,
                 std::int64_t fallback, std::int64_t lowest, std::vector<std::int64_t>& out) {
    out.clear();
    RKNPU_CPU_TRY(attr(context, name, out));
    if (out.empty())
        out.assign(count, fallback);
    if (out.size() != count)
        return fail(context, StatusCode::kInvalidAttribute, name, " has ", out.size(),
                    " entries, wanted ", count);
    for (std::int64_t v : out) {
        if (v < lowest || v > kMaxElements)
            return fail(context, StatusCode::kInvalidAttribute, name, " entry ", v,
                        " is out of range");
    }
    return {};
}

/// Both pads of one dimension for SAME_UPPER or SAME_LOWER, by the ONNX formula.
void same_pads(Window& w, std::size_t d, bool lower) {
    const std::int64_t extent = (w.kernel[d] - 1) * w.dilation[d] + 1;
    w.out[d] = (w.in[d] + w.stride[d] - 1) / w.stride[d];
    const std::int64_t total =
        std::max<std::int64_t>(0, (w.out[d] - 1) * w.stride[d] + extent - w.in[d]);
    w.pad_before[d] = lower ? (total + 1) / 2 : total / 2;
    w.pad_after[d] = total - w.pad_before[d];
}

Status output_size(const OpContext& context, Window& w, std::size_t d, bool ceil_mode) {
    const std::int64_t extent = (w.kernel[d] - 1) * w.dilation[d] + 1;
    const std::int64_t room = w.in[d] + w.pad_before[d] + w.pad_after[d] - extent;
    if (room < 0)
        return fail(context, StatusCode::kInvalidShape, "a window of ", extent,
                    " does not fit dimension ", w.in[d], " with pads ", w.pad_before[d], " and ",
                    w.pad_after[d]);
    w.out[d] = room / w.stride[d] + 1;
    // Rounding up must not make a window that starts behind the input and its leading pad.
    if (ceil_mode && room % w.stride[d] != 0 && w.out[d] * w.stride[d] < w.in[d] + w.pad_before[d])
        ++w.out[d];
    return {};
}

}  // namespace

Status read_window_attributes(const OpContext& context, const Dims& in,
                              std::span<const std::int64_t> kernel, Window& w,
                              std::string& auto_pad) {
    if (in.rank() < 3 || in.rank() > 5)
        return fail(context, StatusCode::kInvalidShape, "input ", in.text(),
                    " is not [N, C] plus one to three spatial dimensions");
    const std::size_t n = in.rank() - 2;
    if (kernel.size() != n)
        return fail(context, StatusCode::kInvalidShape, "a kernel of ", kernel.size(),
                    " dimensions does not fit input ", in.text());
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> dilations;
    std::vector<std::int64_t> pads;
    RKNPU_CPU_TRY(read_list(context, "strides", n, 1, 1, strides));
    RKNPU_CPU_TRY(read_list(context, "dilations", n, 1, 1, dilations));
    RKNPU_CPU_TRY(read_list(context, "pads", 2 * n, 0, 0, pads));
    auto_pad = "NOTSET";
    RKNPU_CPU_TRY(attr(context, "auto_pad", auto_pad));
    if (auto_pad != "NOTSET" && auto_pad != "VALID" && auto_pad != "SAME_UPPER" &&
        auto_pad != "SAME_LOWER")
        return fail(context, StatusCode::kInvalidAttribute, "unknown auto_pad '", auto_pad, "'");
    w.spatial = n;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t d = 3 - n + i;
        if (kernel[i] < 1 || kernel[i] > kMaxElements)
            return fail(context, StatusCode::kInvalidAttribute, "kernel size ", kernel[i],
                        " is out of range");
        w.in[d] = in[2 + i];
        w.kernel[d] = kernel[i];
        w.stride[d] = strides[i];
        w.dilation[d] = dilations[i];
        if (auto_pad == "NOTSET") {
            w.pad_before[d] = pads[i];
            w.pad_after[d] = pads[n + i];
        }
    }
    return {};
}

Status read_window(const OpContext& context, const Dims& in, std::span<const std::int64_t> kernel,
                   Window& w) {
    std::string auto_pad;
    bool ceil_mode = false;
    RKNPU_CPU_TRY(read_window_attributes(context, in, kernel, w, auto_pad));
    RKNPU_CPU_TRY(attr(context, "ceil_mode", ceil_mode));
    for (std::size_t d = 3 - w.spatial; d < 3; ++d) {
        if (auto_pad.starts_with("SAME"))
            same_pads(w, d, auto_pad == "SAME_LOWER");
        else
            RKNPU_CPU_TRY(output_size(context, w, d, ceil_mode));
    }
    return {};
}

Dims window_output(const Window& w, std::int64_t n, std::int64_t channels) {
    Dims dims{n, channels};
    for (std::size_t d = 3 - w.spatial; d < 3; ++d)
        (void)dims.push_back(w.out[d]);
    return dims;
}

}  // namespace rknpu::cpu::ops
