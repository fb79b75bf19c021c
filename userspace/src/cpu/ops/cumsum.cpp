// SPDX-License-Identifier: MIT
// Running along an axis: CumSum, ReverseSequence.
#include <array>
#include <cstring>

#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

Status compute_cumsum(const OpContext& context) {
    bool exclusive = false;
    bool reverse = false;
    RKNPU_CPU_TRY(attr(context, "exclusive", exclusive));
    RKNPU_CPU_TRY(attr(context, "reverse", reverse));
    std::vector<std::int64_t> list;
    RKNPU_CPU_TRY(read_ints(context, 1, list));
    if (list.size() != 1)
        return fail(context, StatusCode::kInvalidShape, "axis is not one number");
    const Dims& dims = context.inputs[0].dims;
    std::size_t axis = 0;
    RKNPU_CPU_TRY(normalize_axis(context, list[0], dims.rank(), axis));
    const std::int64_t outer = dims.product(0, axis);
    const std::int64_t n = dims[axis];
    const std::int64_t inner = dims.product(axis + 1, dims.rank());
    const bool known =
        dispatch_numbers(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
            using A = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;
            const T* x = context.inputs[0].as<T>().data();
            T* y = context.outputs[0].as<T>().data();
            std::vector<A> sums(static_cast<std::size_t>(inner));
            for (std::int64_t o = 0; o < outer; ++o) {
                std::ranges::fill(sums, A{0});
                for (std::int64_t k = 0; k < n; ++k) {
                    const std::int64_t at = (o * n + (reverse ? n - 1 - k : k)) * inner;
                    for (std::int64_t i = 0; i < inner; ++i) {
                        A& sum = sums[static_cast<std::size_t>(i)];
                        const A next = sum + static_cast<A>(x[at + i]);
                        y[at + i] = static_cast<T>(exclusive ? sum : next);
                        sum = next;
                    }
                }
            }
        });
    return known ? Status{} : bad_type(context);
}

Status compute_reverse_sequence(const OpContext& context) {
    std::int64_t batch_value = 1;
    std::int64_t time_value = 0;
    RKNPU_CPU_TRY(attr(context, "batch_axis", batch_value));
    RKNPU_CPU_TRY(attr(context, "time_axis", time_value));
    const TensorView& in = context.inputs[0];
    const Dims& dims = in.dims;
    std::size_t batch = 0;
    std::size_t time = 0;
    RKNPU_CPU_TRY(normalize_axis(context, batch_value, dims.rank(), batch));
    RKNPU_CPU_TRY(normalize_axis(context, time_value, dims.rank(), time));
    if (batch + time != 1)
        return fail(context, StatusCode::kInvalidAttribute,
                    "time_axis and batch_axis are not 0 and 1");
    std::vector<std::int64_t> lengths;
    RKNPU_CPU_TRY(read_ints(context, 1, lengths));
    if (std::cmp_not_equal(lengths.size(), dims[batch]))
        return fail(context, StatusCode::kInvalidShape, "needs ", dims[batch], " lengths, got ",
                    lengths.size());
    const std::size_t bytes =
        static_cast<std::size_t>(dims.product(2, dims.rank())) * dtype_size(in.dtype);
    if (bytes == 0)
        return {};
    for (std::int64_t i = 0; i < dims[0]; ++i) {
        for (std::int64_t k = 0; k < dims[1]; ++k) {
            std::array<std::int64_t, 2> from = {i, k};
            const std::int64_t length = lengths[static_cast<std::size_t>(from[batch])];
            if (length < 0 || length > dims[time])
                return fail(context, StatusCode::kInvalidValue, "length ", length,
                            " exceeds dimension ", dims[time]);
            if (from[time] < length)
                from[time] = length - 1 - from[time];
            std::memcpy(
                context.outputs[0].data.data() + static_cast<std::size_t>(i * dims[1] + k) * bytes,
                in.data.data() + static_cast<std::size_t>(from[0] * dims[1] + from[1]) * bytes,
                bytes);
        }
    }
    return {};
}

constexpr std::array kOps = {
    Operator{"CumSum", 2, 2, 1, Numeric::kFloat, infer_same, compute_cumsum},
    Operator{"ReverseSequence", 2, 2, 1, Numeric::kMove, infer_same, compute_reverse_sequence},
};

}  // namespace

std::span<const Operator> cumsum_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
