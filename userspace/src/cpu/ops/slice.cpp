// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>

#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

struct Range {
    std::int64_t start = 0;
    std::int64_t step = 1;
    std::int64_t count = 0;
};

/// One axis by the rules of ONNX Slice: negative positions count from the end, then clamp.
Status slice_range(const OpContext& context, std::int64_t dim, std::int64_t start, std::int64_t end,
                   std::int64_t step, Range& out) {
    if (step == 0)
        return fail(context, StatusCode::kInvalidValue, "step is 0");
    // Wider steps than the dimension are all alike; this keeps the sums below from overflowing.
    step = std::clamp(step, -kMaxElements - 1, kMaxElements + 1);
    const auto place = [dim](std::int64_t v) {
        return v < 0 ? std::max(v, -2 * dim - 2) + dim : v;
    };
    if (step > 0) {
        start = std::clamp<std::int64_t>(place(start), 0, dim);
        end = std::clamp<std::int64_t>(place(end), 0, dim);
        out.count = end > start ? (end - start + step - 1) / step : 0;
    } else {
        start = std::clamp<std::int64_t>(place(start), 0, std::max<std::int64_t>(dim - 1, 0));
        end = std::clamp<std::int64_t>(place(end), -1, dim - 1);
        out.count = start > end && dim > 0 ? (start - end - step - 1) / -step : 0;
    }
    out.start = start;
    out.step = step;
    return {};
}

struct Lists {
    std::vector<std::int64_t> starts;
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> axes;
    std::vector<std::int64_t> steps;
};

Status read_lists(const OpContext& context, Lists& lists) {
    bool has_starts = false;
    bool has_ends = false;
    bool has_axes = false;
    bool has_steps = false;
    RKNPU_CPU_TRY(ints_input_or_attr(context, 1, "starts", lists.starts, has_starts));
    RKNPU_CPU_TRY(ints_input_or_attr(context, 2, "ends", lists.ends, has_ends));
    RKNPU_CPU_TRY(ints_input_or_attr(context, 3, "axes", lists.axes, has_axes));
    RKNPU_CPU_TRY(ints_input_or_attr(context, 4, "steps", lists.steps, has_steps));
    if (!has_starts || !has_ends)
        return fail(context, StatusCode::kInvalidAttribute, "starts or ends are missing");
    const std::size_t n = lists.starts.size();
    for (std::size_t i = 0; !has_axes && i < n; ++i)
        lists.axes.push_back(static_cast<std::int64_t>(i));
    if (!has_steps)
        lists.steps.assign(n, 1);
    if (lists.ends.size() != n || lists.axes.size() != n || lists.steps.size() != n)
        return fail(context, StatusCode::kInvalidValue,
                    "starts, ends, axes and steps differ in length");
    return {};
}

Status read_ranges(const OpContext& context, std::vector<Range>& ranges) {
    Lists lists;
    RKNPU_CPU_TRY(read_lists(context, lists));
    const Dims& in = context.inputs[0].dims;
    std::vector<std::size_t> axes;
    RKNPU_CPU_TRY(normalize_axes(context, lists.axes, in.rank(), axes));
    ranges.resize(in.rank());
    for (std::size_t i = 0; i < in.rank(); ++i)
        ranges[i].count = in[i];
    for (std::size_t i = 0; i < axes.size(); ++i)
        RKNPU_CPU_TRY(slice_range(context, in[axes[i]], lists.starts[i], lists.ends[i],
                                  lists.steps[i], ranges[axes[i]]));
    return {};
}

Status infer_slice(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<Range> ranges;
    RKNPU_CPU_TRY(read_ranges(context, ranges));
    Dims dims;
    for (const Range& range : ranges)
        (void)dims.push_back(range.count);
    push_like(outputs, context.inputs[0], dims);
    return {};
}

Status compute_slice(const OpContext& context) {
    std::vector<Range> ranges;
    RKNPU_CPU_TRY(read_ranges(context, ranges));
    const TensorView& in = context.inputs[0];
    const MutTensorView& out = context.outputs[0];
    Walk<2> walk;
    walk.dims = out.dims;
    walk.strides[1] = strides_of(out.dims);
    const auto in_strides = strides_of(in.dims);
    std::int64_t origin = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        // A single element is never stepped from, and its step may be huge.
        walk.strides[0][i] = ranges[i].count > 1 ? in_strides[i] * ranges[i].step : 0;
        origin += in_strides[i] * ranges[i].start;
    }
    if (out.elements() == 0)
        return {};
    dispatch_width(in.dtype, [&]<typename T>(std::type_identity<T>) {
        const T* src = in.as<T>().data() + origin;
        T* dst = out.as<T>().data();
        if (!context.reference)
            walk.coalesce();
        if (context.reference || walk.row_stride(0) != 1) {
            walk.elements([&](const auto& at) { dst[at[1]] = src[at[0]]; });
            return;
        }
        const std::size_t bytes = static_cast<std::size_t>(walk.row_length()) * sizeof(T);
        walk.rows([&](const auto& at) { std::memcpy(dst + at[1], src + at[0], bytes); });
    });
    return {};
}

constexpr std::array kOps = {
    Operator{"Slice", 1, 5, 1, Numeric::kMove, infer_slice, compute_slice},
};

}  // namespace

std::span<const Operator> slice_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
