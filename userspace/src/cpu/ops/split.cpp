// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>

#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

struct Parts {
    std::size_t axis = 0;
    std::vector<std::int64_t> sizes;
};

/// Equal parts; the last one is smaller when the dimension does not divide (operator set 18).
Status equal_parts(const OpContext& context, std::int64_t total, std::int64_t count, Parts& out) {
    if (count < 1 || count > total + (total == 0))
        return fail(context, StatusCode::kInvalidAttribute, "cannot split dimension ", total,
                    " into ", count, " parts");
    const std::int64_t step = (total + count - 1) / count;
    std::int64_t left = total;
    for (std::int64_t i = 0; i < count; ++i) {
        out.sizes.push_back(std::min(step, left));
        left -= out.sizes.back();
    }
    return {};
}

Status read_parts(const OpContext& context, std::size_t wanted, Parts& out) {
    std::int64_t axis = 0;
    RKNPU_CPU_TRY(attr(context, "axis", axis));
    const Dims& in = context.inputs[0].dims;
    RKNPU_CPU_TRY(normalize_axis(context, axis, in.rank(), out.axis));
    const std::int64_t total = in[out.axis];
    bool present = false;
    RKNPU_CPU_TRY(ints_input_or_attr(context, 1, "split", out.sizes, present));
    if (!present) {
        std::int64_t count = static_cast<std::int64_t>(wanted);
        RKNPU_CPU_TRY(attr(context, "num_outputs", count));
        return equal_parts(context, total, count, out);
    }
    std::int64_t sum = 0;
    for (std::int64_t size : out.sizes) {
        if (size < 0 || size > total - sum)
            return fail(context, StatusCode::kInvalidValue, "part of ", size,
                        " does not fit dimension ", total);
        sum += size;
    }
    if (sum != total)
        return fail(context, StatusCode::kInvalidValue, "parts add up to ", sum, " of ", total);
    return {};
}

Status infer_split(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Parts parts;
    RKNPU_CPU_TRY(read_parts(context, context.output_count, parts));
    for (std::int64_t size : parts.sizes) {
        Dims dims = context.inputs[0].dims;
        dims[parts.axis] = size;
        push_like(outputs, context.inputs[0], dims);
    }
    return {};
}

Status compute_split(const OpContext& context) {
    Parts parts;
    RKNPU_CPU_TRY(read_parts(context, context.outputs.size(), parts));
    const TensorView& in = context.inputs[0];
    const std::int64_t outer = in.dims.product(0, parts.axis);
    const std::size_t inner =
        static_cast<std::size_t>(in.dims.product(parts.axis + 1, in.dims.rank())) *
        dtype_size(in.dtype);
    const std::size_t row = static_cast<std::size_t>(in.dims[parts.axis]) * inner;
    std::size_t offset = 0;
    for (std::size_t k = 0; k < parts.sizes.size(); ++k) {
        const std::size_t part = static_cast<std::size_t>(parts.sizes[k]) * inner;
        for (std::int64_t i = 0; part != 0 && context.wants(k) && i < outer; ++i)
            std::memcpy(context.outputs[k].data.data() + static_cast<std::size_t>(i) * part,
                        in.data.data() + static_cast<std::size_t>(i) * row + offset, part);
        offset += part;
    }
    return {};
}

constexpr std::array kOps = {
    Operator{"Split", 1, 2, 1024, Numeric::kMove, infer_split, compute_split},
};

}  // namespace

std::span<const Operator> split_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
