// SPDX-License-Identifier: MIT
// NonMaxSuppression. The number of selected boxes is the output's first dimension, so shape
// inference has to run the selection.
#include <algorithm>
#include <array>
#include <vector>

#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

struct Settings {
    bool center_box = false;
    std::int64_t max_boxes = 0;
    float iou = 0.0F;
    float score = 0.0F;
    bool has_score = false;
};

Status read_settings(const OpContext& context, Settings& s) {
    RKNPU_CPU_TRY(attr(context, "center_point_box", s.center_box));
    if (context.has(2)) {
        std::vector<std::int64_t> v;
        RKNPU_CPU_TRY(read_ints(context, 2, v));
        s.max_boxes = v.size() == 1 ? v[0] : 0;
    }
    std::vector<float> v;
    if (context.has(3)) {
        RKNPU_CPU_TRY(read_floats(context, 3, v));
        s.iou = v.size() == 1 ? v[0] : 0.0F;
    }
    s.has_score = context.has(4);
    if (s.has_score) {
        RKNPU_CPU_TRY(read_floats(context, 4, v));
        s.score = v.size() == 1 ? v[0] : 0.0F;
    }
    const Dims& boxes = context.inputs[0].dims;
    const Dims& scores = context.inputs[1].dims;
    if (boxes.rank() != 3 || scores.rank() != 3 || boxes[2] != 4 || scores[0] != boxes[0] ||
        scores[2] != boxes[1])
        return fail(context, StatusCode::kInvalidShape, "boxes ", boxes.text(), " and scores ",
                    scores.text(), " do not fit (wanted [B,N,4] and [B,C,N])");
    for (std::size_t i : {0, 1}) {
        if (context.inputs[i].dtype != DType::kF32)
            return bad_type(context, i);
        if (context.inputs[i].data.empty() && context.inputs[i].elements() != 0)
            return fail(context, StatusCode::kNeedsData,
                        "the output shape depends on boxes and scores");
    }
    return {};
}

struct Box {
    float y0, x0, y1, x1;

    float area() const { return (y1 - y0) * (x1 - x0); }
};

Box read_box(const float* b, bool center) {
    if (center)  // x centre, y centre, width, height
        return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
    return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

float overlap(const Box& a, const Box& b) {
    const float h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
    const float w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
    if (!(h > 0) || !(w > 0))
        return 0.0F;
    const float common = h * w;
    return common / (a.area() + b.area() - common);
}

/// Appends the selected box numbers of one class, best score first.
void select_class(const Settings& s, const std::vector<Box>& boxes, const float* scores,
                  std::vector<std::int64_t>& selected) {
    std::vector<std::int64_t> order;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const bool number = scores[i] == scores[i];  // a NaN has no place in an order
        if (number && (!s.has_score || scores[i] > s.score))
            order.push_back(static_cast<std::int64_t>(i));
    }
    std::ranges::stable_sort(order,
                             [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
    selected.clear();
    for (std::int64_t candidate : order) {
        if (std::cmp_greater_equal(selected.size(), s.max_boxes))
            break;
        const bool free = std::ranges::none_of(selected, [&](std::int64_t kept) {
            return overlap(boxes[static_cast<std::size_t>(candidate)],
                           boxes[static_cast<std::size_t>(kept)]) > s.iou;
        });
        if (free)
            selected.push_back(candidate);
    }
}

/// Rows of (batch, class, box).
Status select(const OpContext& context, std::vector<std::int64_t>& rows) {
    Settings s;
    RKNPU_CPU_TRY(read_settings(context, s));
    const std::int64_t batches = context.inputs[1].dims[0];
    const std::int64_t classes = context.inputs[1].dims[1];
    const std::int64_t count = context.inputs[1].dims[2];
    const float* raw = context.inputs[0].as<float>().data();
    const float* scores = context.inputs[1].as<float>().data();
    std::vector<Box> boxes(static_cast<std::size_t>(count));
    std::vector<std::int64_t> selected;
    for (std::int64_t b = 0; b < batches; ++b) {
        for (std::int64_t i = 0; i < count; ++i)
            boxes[static_cast<std::size_t>(i)] = read_box(raw + (b * count + i) * 4, s.center_box);
        for (std::int64_t c = 0; c < classes; ++c) {
            select_class(s, boxes, scores + (b * classes + c) * count, selected);
            for (std::int64_t box : selected)
                rows.insert(rows.end(), {b, c, box});
        }
    }
    return {};
}

Status infer_nms(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<std::int64_t> rows;
    RKNPU_CPU_TRY(select(context, rows));
    outputs.push_back({DType::kI64, {static_cast<std::int64_t>(rows.size() / 3), 3}, std::nullopt});
    return {};
}

Status compute_nms(const OpContext& context) {
    std::vector<std::int64_t> rows;
    RKNPU_CPU_TRY(select(context, rows));
    std::ranges::copy(rows, context.outputs[0].as<std::int64_t>().begin());
    return {};
}

constexpr std::array kOps = {
    Operator{"NonMaxSuppression", 2, 5, 1, Numeric::kFloat, infer_nms, compute_nms},
};

}  // namespace

std::span<const Operator> nms_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
