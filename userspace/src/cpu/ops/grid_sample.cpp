// SPDX-License-Identifier: MIT
// GridSample (images) and RoiAlign: reads at fractional positions.
#include <algorithm>
#include <array>
#include <cmath>

#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

enum class Mode { kBilinear, kNearest, kBicubic };
enum class Padding { kZeros, kBorder, kReflection };

struct Settings {
    Mode mode = Mode::kBilinear;
    Padding padding = Padding::kZeros;
    bool align_corners = false;
};

Status read_settings(const OpContext& context, Settings& s) {
    std::string mode = "bilinear";
    std::string padding = "zeros";
    RKNPU_CPU_TRY(attr(context, "mode", mode));
    RKNPU_CPU_TRY(attr(context, "padding_mode", padding));
    RKNPU_CPU_TRY(attr(context, "align_corners", s.align_corners));
    if (mode == "bilinear" || mode == "linear")
        s.mode = Mode::kBilinear;
    else if (mode == "nearest")
        s.mode = Mode::kNearest;
    else if (mode == "bicubic" || mode == "cubic")
        s.mode = Mode::kBicubic;
    else
        return fail(context, StatusCode::kInvalidAttribute, "unknown mode '", mode, "'");
    if (padding == "zeros")
        s.padding = Padding::kZeros;
    else if (padding == "border")
        s.padding = Padding::kBorder;
    else if (padding == "reflection")
        s.padding = Padding::kReflection;
    else
        return fail(context, StatusCode::kInvalidAttribute, "unknown padding_mode '", padding, "'");
    return {};
}

Status infer_grid_sample(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Settings settings;
    RKNPU_CPU_TRY(read_settings(context, settings));
    const Dims& x = context.inputs[0].dims;
    const Dims& grid = context.inputs[1].dims;
    for (std::size_t i : {0, 1}) {
        if (context.inputs[i].dtype != DType::kF32)
            return bad_type(context, i);
    }
    if (x.rank() != 4 || grid.rank() != 4 || grid[0] != x[0] || grid[3] != 2 || x[2] == 0 ||
        x[3] == 0)
        return fail(context, StatusCode::kInvalidShape, "input ", x.text(), " and grid ",
                    grid.text(), " do not fit (wanted [N,C,H,W] and [N,Ho,Wo,2])");
    push_like(outputs, context.inputs[0], {x[0], x[1], grid[1], grid[2]});
    return {};
}

/// -1..1 to pixels; corners are pixel centres (align_corners) or pixel edges.
float to_pixels(float v, std::int64_t size, bool align_corners) {
    const float length = static_cast<float>(size);
    return align_corners ? (v + 1.0F) / 2.0F * (length - 1.0F)
                         : ((v + 1.0F) * length - 1.0F) / 2.0F;
}

/// Folds a position back between the borders, as often as needed.
float reflect(float v, std::int64_t size, bool align_corners) {
    const float lo = align_corners ? 0.0F : -0.5F;
    const float hi = static_cast<float>(size) - (align_corners ? 1.0F : 0.5F);
    const float range = hi - lo;
    if (!(range > 0))
        return 0.0F;
    const float distance = std::abs(v - lo);
    const float rest = std::fmod(distance, range);
    const bool odd = std::fmod(std::floor(distance / range), 2.0F) != 0.0F;
    return odd ? hi - rest : lo + rest;
}

/// Brings a position inside according to the padding; huge and NaN positions become far outside.
float place(const Settings& s, float v, std::int64_t size) {
    constexpr float kFar = 1e9F;
    if (!(v > -kFar && v < kFar))
        v = v > 0 ? kFar : -kFar;
    if (s.padding == Padding::kBorder)
        return std::clamp(v, 0.0F, static_cast<float>(size - 1));
    if (s.padding == Padding::kReflection)
        return reflect(v, size, s.align_corners);
    return v;
}

/// A pixel of the plane under the padding rule.
float pixel(const Settings& s, const float* plane, std::int64_t h, std::int64_t w, std::int64_t y,
            std::int64_t x) {
    if (s.padding == Padding::kZeros) {
        if (y < 0 || y >= h || x < 0 || x >= w)
            return 0.0F;
    } else if (s.padding == Padding::kReflection) {
        y = static_cast<std::int64_t>(reflect(static_cast<float>(y), h, s.align_corners));
        x = static_cast<std::int64_t>(reflect(static_cast<float>(x), w, s.align_corners));
    }
    y = std::clamp<std::int64_t>(y, 0, h - 1);
    x = std::clamp<std::int64_t>(x, 0, w - 1);
    return plane[y * w + x];
}

std::array<float, 4> cubic_weights(float t) {
    constexpr float kA = -0.75F;
    const auto near = [](float d) { return ((kA + 2.0F) * d - (kA + 3.0F)) * d * d + 1.0F; };
    const auto far = [](float d) { return ((kA * d - 5.0F * kA) * d + 8.0F * kA) * d - 4.0F * kA; };
    return {far(t + 1.0F), near(t), near(1.0F - t), far(2.0F - t)};
}

float sample(const Settings& s, const float* plane, std::int64_t h, std::int64_t w, float y,
             float x) {
    if (s.mode == Mode::kNearest)
        return pixel(s, plane, h, w, static_cast<std::int64_t>(std::nearbyint(y)),
                     static_cast<std::int64_t>(std::nearbyint(x)));
    const float fy = std::floor(y);
    const float fx = std::floor(x);
    const std::int64_t iy = static_cast<std::int64_t>(fy);
    const std::int64_t ix = static_cast<std::int64_t>(fx);
    if (s.mode == Mode::kBilinear) {
        const float dy = y - fy;
        const float dx = x - fx;
        const float top =
            pixel(s, plane, h, w, iy, ix) * (1.0F - dx) + pixel(s, plane, h, w, iy, ix + 1) * dx;
        const float bottom = pixel(s, plane, h, w, iy + 1, ix) * (1.0F - dx) +
                             pixel(s, plane, h, w, iy + 1, ix + 1) * dx;
        return top * (1.0F - dy) + bottom * dy;
    }
    const std::array<float, 4> wy = cubic_weights(y - fy);
    const std::array<float, 4> wx = cubic_weights(x - fx);
    float sum = 0;
    for (std::int64_t j = 0; j < 4; ++j) {
        float row = 0;
        for (std::int64_t i = 0; i < 4; ++i)
            row += wx[i] * pixel(s, plane, h, w, iy - 1 + j, ix - 1 + i);
        sum += wy[j] * row;
    }
    return sum;
}

Status compute_grid_sample(const OpContext& context) {
    Settings s;
    RKNPU_CPU_TRY(read_settings(context, s));
    const Dims& in = context.inputs[0].dims;
    const MutTensorView& out = context.outputs[0];
    const float* x = context.inputs[0].as<float>().data();
    const float* grid = context.inputs[1].as<float>().data();
    float* y = out.as<float>().data();
    const std::int64_t h = in[2];
    const std::int64_t w = in[3];
    const std::int64_t points = out.dims[2] * out.dims[3];
    for (std::int64_t n = 0; n < in[0]; ++n) {
        for (std::int64_t p = 0; p < points; ++p) {
            const float* at = grid + (n * points + p) * 2;
            float px = to_pixels(at[0], w, s.align_corners);
            float py = to_pixels(at[1], h, s.align_corners);
            // Bicubic pads each of its sixteen pixels instead of the position.
            const bool by_pixel = s.mode == Mode::kBicubic;
            const Settings far{s.mode, Padding::kZeros, s.align_corners};
            px = place(by_pixel ? far : s, px, w);
            py = place(by_pixel ? far : s, py, h);
            for (std::int64_t c = 0; c < in[1]; ++c)
                y[(n * in[1] + c) * points + p] =
                    sample(s, x + (n * in[1] + c) * h * w, h, w, py, px);
        }
    }
    return {};
}

// --- RoiAlign: X [N,C,H,W], rois [R,4] as x1 y1 x2 y2, batch_indices [R]

struct Roi {
    std::int64_t height = 1;
    std::int64_t width = 1;
    std::int64_t ratio = 0;  // sampling points per bin; 0 = as many as the bin is wide
    float scale = 1.0F;
    bool maximum = false;
    float offset = 0.0F;  // half_pixel shifts by half a pixel
};

Status read_roi(const OpContext& context, Roi& r) {
    std::string mode = "avg";
    std::string transform = context.opset >= 16 ? "half_pixel" : "output_half_pixel";
    RKNPU_CPU_TRY(attr(context, "output_height", r.height));
    RKNPU_CPU_TRY(attr(context, "output_width", r.width));
    RKNPU_CPU_TRY(attr(context, "sampling_ratio", r.ratio));
    RKNPU_CPU_TRY(attr(context, "spatial_scale", r.scale));
    RKNPU_CPU_TRY(attr(context, "mode", mode));
    RKNPU_CPU_TRY(attr(context, "coordinate_transformation_mode", transform));
    constexpr std::int64_t kMaxOutput = 1 << 16;
    if (r.height < 1 || r.height > kMaxOutput || r.width < 1 || r.width > kMaxOutput ||
        r.ratio < 0 || r.ratio > 1024 || (mode != "avg" && mode != "max"))
        return fail(context, StatusCode::kInvalidAttribute,
                    "mode, sampling ratio or output size is out of range");
    r.maximum = mode == "max";
    r.offset = transform == "half_pixel" ? 0.5F : 0.0F;
    return {};
}

Status infer_roi_align(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Roi r;
    RKNPU_CPU_TRY(read_roi(context, r));
    const Dims& x = context.inputs[0].dims;
    const Dims& rois = context.inputs[1].dims;
    if (context.inputs[0].dtype != DType::kF32 || context.inputs[1].dtype != DType::kF32)
        return bad_type(context);
    if (x.rank() != 4 || rois.rank() != 2 || rois[1] != 4 ||
        context.inputs[2].elements() != rois[0] || x[2] == 0 || x[3] == 0)
        return fail(context, StatusCode::kInvalidShape, "input ", x.text(), " and regions ",
                    rois.text(), " do not fit");
    push_like(outputs, context.inputs[0], {rois[0], x[1], r.height, r.width});
    return {};
}

/// Four pixels and their weights at (y, x); all zero outside.
struct Corners {
    std::array<std::int64_t, 4> at{};
    std::array<float, 4> weight{};
};

Corners corners(float y, float x, std::int64_t h, std::int64_t w) {
    Corners c;
    if (!(y >= -1.0F && y <= static_cast<float>(h) && x >= -1.0F && x <= static_cast<float>(w)))
        return c;
    y = std::clamp(y, 0.0F, static_cast<float>(h - 1));
    x = std::clamp(x, 0.0F, static_cast<float>(w - 1));
    const std::int64_t y0 = static_cast<std::int64_t>(y);
    const std::int64_t x0 = static_cast<std::int64_t>(x);
    const std::int64_t y1 = std::min(y0 + 1, h - 1);
    const std::int64_t x1 = std::min(x0 + 1, w - 1);
    const float dy = y - static_cast<float>(y0);
    const float dx = x - static_cast<float>(x0);
    c.at = {y0 * w + x0, y0 * w + x1, y1 * w + x0, y1 * w + x1};
    c.weight = {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx};
    return c;
}

/// One region of interest in input pixels, and its sampling grid.
struct Bins {
    float y0, x0, bin_h, bin_w;
    std::int64_t rows, cols;
};

Bins make_bins(const Roi& r, const float* roi) {
    Bins b{};
    b.x0 = roi[0] * r.scale - r.offset;
    b.y0 = roi[1] * r.scale - r.offset;
    float width = roi[2] * r.scale - r.offset - b.x0;
    float height = roi[3] * r.scale - r.offset - b.y0;
    if (r.offset == 0.0F) {  // the older form makes every region at least one pixel
        width = std::max(width, 1.0F);
        height = std::max(height, 1.0F);
    }
    b.bin_h = height / static_cast<float>(r.height);
    b.bin_w = width / static_cast<float>(r.width);
    const auto points = [&r](float bin) {
        const float wanted = r.ratio > 0 ? static_cast<float>(r.ratio) : std::ceil(bin);
        return static_cast<std::int64_t>(wanted >= 1.0F ? std::min(wanted, 1024.0F) : 1.0F);
    };
    b.rows = points(b.bin_h);
    b.cols = points(b.bin_w);
    return b;
}

float pool_bin(const Roi& r, const Bins& b, const float* plane, std::int64_t h, std::int64_t w,
               std::int64_t oy, std::int64_t ox) {
    float sum = 0;
    float best = 0;
    bool first = true;
    for (std::int64_t i = 0; i < b.rows; ++i) {
        const float y = b.y0 + (static_cast<float>(oy) +
                                (static_cast<float>(i) + 0.5F) / static_cast<float>(b.rows)) *
                                   b.bin_h;
        for (std::int64_t j = 0; j < b.cols; ++j) {
            const float x = b.x0 + (static_cast<float>(ox) +
                                    (static_cast<float>(j) + 0.5F) / static_cast<float>(b.cols)) *
                                       b.bin_w;
            const Corners c = corners(y, x, h, w);
            for (std::size_t k = 0; k < 4; ++k) {
                const float v = c.weight[k] * plane[c.at[k]];
                sum += v;
                best = first || v > best ? v : best;
                first = false;
            }
        }
    }
    return r.maximum ? best : sum / static_cast<float>(b.rows * b.cols);
}

Status compute_roi_align(const OpContext& context) {
    Roi r;
    RKNPU_CPU_TRY(read_roi(context, r));
    const Dims& in = context.inputs[0].dims;
    std::vector<std::int64_t> batch;
    RKNPU_CPU_TRY(read_ints(context, 2, batch));
    const float* x = context.inputs[0].as<float>().data();
    float* y = context.outputs[0].as<float>().data();
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (batch[i] < 0 || batch[i] >= in[0])
            return fail(context, StatusCode::kInvalidValue, "batch index ", batch[i],
                        " is outside ", in[0]);
        const Bins bins = make_bins(r, context.inputs[1].as<float>().data() + 4 * i);
        for (std::int64_t c = 0; c < in[1]; ++c) {
            const float* plane = x + (batch[i] * in[1] + c) * in[2] * in[3];
            for (std::int64_t oy = 0; oy < r.height; ++oy) {
                for (std::int64_t ox = 0; ox < r.width; ++ox)
                    *y++ = pool_bin(r, bins, plane, in[2], in[3], oy, ox);
            }
        }
    }
    return {};
}

constexpr std::array kOps = {
    Operator{"GridSample", 2, 2, 1, Numeric::kFloat, infer_grid_sample, compute_grid_sample},
    Operator{"RoiAlign", 3, 3, 1, Numeric::kFloat, infer_roi_align, compute_roi_align},
};

}  // namespace

std::span<const Operator> grid_sample_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
