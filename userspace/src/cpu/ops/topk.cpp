// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

struct Settings {
    std::size_t axis = 0;
    std::int64_t k = 0;
    bool largest = true;
};

Status read_settings(const OpContext& context, Settings& out) {
    std::int64_t axis = -1;
    RKNPU_CPU_TRY(attr(context, "axis", axis));
    RKNPU_CPU_TRY(attr(context, "largest", out.largest));
    const Dims& dims = context.inputs[0].dims;
    RKNPU_CPU_TRY(normalize_axis(context, axis, dims.rank(), out.axis));
    std::vector<std::int64_t> k;
    bool present = false;
    RKNPU_CPU_TRY(ints_input_or_attr(context, 1, "k", k, present));
    if (!present || k.size() != 1 || k[0] < 0 || k[0] > dims[out.axis])
        return fail(context, StatusCode::kInvalidValue, "k is missing or exceeds dimension ",
                    dims[out.axis]);
    out.k = k[0];
    return {};
}

Status infer_topk(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Settings settings;
    RKNPU_CPU_TRY(read_settings(context, settings));
    Dims dims = context.inputs[0].dims;
    dims[settings.axis] = settings.k;
    push_like(outputs, context.inputs[0], dims);
    outputs.push_back({DType::kI64, dims, std::nullopt});
    return {};
}

/// Always sorted, equal elements by index: that satisfies sorted = 0 as well.
template <typename T>
void topk(const OpContext& context, const Settings& s) {
    const TensorView& in = context.inputs[0];
    const std::int64_t outer = in.dims.product(0, s.axis);
    const std::int64_t n = in.dims[s.axis];
    const std::int64_t inner = in.dims.product(s.axis + 1, in.dims.rank());
    const T* x = in.as<T>().data();
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t i = 0; i < inner; ++i) {
            const T* src = x + o * n * inner + i;
            std::iota(order.begin(), order.end(), 0);
            const auto before = [&](std::int64_t a, std::int64_t b) {
                const T va = src[a * inner];
                const T vb = src[b * inner];
                if (va != vb && va == va && vb == vb)
                    return s.largest ? va > vb : va < vb;
                if (va != va || vb != vb) {  // NaN counts as the largest number
                    const bool na = va != va;
                    const bool nb = vb != vb;
                    return na != nb ? na == s.largest : a < b;
                }
                return a < b;
            };
            std::partial_sort(order.begin(), order.begin() + s.k, order.end(), before);
            for (std::int64_t k = 0; k < s.k; ++k) {
                const std::size_t at = static_cast<std::size_t>((o * s.k + k) * inner + i);
                const std::int64_t from = order[static_cast<std::size_t>(k)];
                if (context.wants(0))
                    context.outputs[0].as<T>()[at] = src[from * inner];
                if (context.wants(1))
                    context.outputs[1].as<std::int64_t>()[at] = from;
            }
        }
    }
}

Status compute_topk(const OpContext& context) {
    Settings settings;
    RKNPU_CPU_TRY(read_settings(context, settings));
    const bool known =
        dispatch_numbers(context.inputs[0].dtype,
                         [&]<typename T>(std::type_identity<T>) { topk<T>(context, settings); });
    return known ? Status{} : bad_type(context);
}

constexpr std::array kOps = {
    Operator{"TopK", 1, 2, 2, Numeric::kOrder, infer_topk, compute_topk},
};

}  // namespace

std::span<const Operator> topk_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
