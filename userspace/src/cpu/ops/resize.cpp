// SPDX-License-Identifier: MIT
// Resize (operator sets 10 to 19) and its ancestor Upsample. Every mode is separable, so each axis
// gets a table of weighted taps and is resized on its own.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "../convert.hpp"
#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

enum class Mode { kNearest, kLinear, kCubic };
enum class Coordinates {
    kHalfPixel,
    kPytorchHalfPixel,
    kAlignCorners,
    kAsymmetric,
    kTfCropAndResize,
    kTfHalfPixelForNn,
    kHalfPixelSymmetric,
};
enum class Rounding { kPreferFloor, kPreferCeil, kFloor, kCeil };
enum class Aspect { kStretch, kNotLarger, kNotSmaller };

struct Settings {
    Mode mode = Mode::kNearest;
    Coordinates coordinates = Coordinates::kHalfPixel;
    Rounding rounding = Rounding::kPreferFloor;
    Aspect aspect = Aspect::kStretch;
    float cubic_a = -0.75F;
    bool exclude_outside = false;
    bool antialias = false;
    float extrapolation = 0.0F;
    std::vector<std::size_t> axes;
    // Per dimension of the input; untouched ones have scale 1.
    std::array<double, kMaxRank> scale{};
    std::array<double, kMaxRank> roi_start{};
    std::array<double, kMaxRank> roi_end{};
    Dims out;
};

template <std::size_t N, typename E>
Status read_name(const OpContext& context, std::string_view attribute,
                 const std::array<std::string_view, N>& names, E& out) {
    std::string name{names[static_cast<std::size_t>(out)]};
    RKNPU_CPU_TRY(attr(context, attribute, name));
    const auto it = std::ranges::find(names, name);
    if (it == names.end())
        return fail(context, StatusCode::kInvalidAttribute, "unknown ", attribute, " '", name, "'");
    out = static_cast<E>(it - names.begin());
    return {};
}

constexpr std::array<std::string_view, 3> kModes = {"nearest", "linear", "cubic"};
constexpr std::array<std::string_view, 7> kCoordinates = {
    "half_pixel",         "pytorch_half_pixel",   "align_corners",       "asymmetric",
    "tf_crop_and_resize", "tf_half_pixel_for_nn", "half_pixel_symmetric"};
constexpr std::array<std::string_view, 4> kRoundings = {"round_prefer_floor", "round_prefer_ceil",
                                                        "floor", "ceil"};
constexpr std::array<std::string_view, 3> kAspects = {"stretch", "not_larger", "not_smaller"};

/// Upsample and Resize of operator set 10 know neither roi nor sizes nor coordinate modes.
bool is_old(const OpContext& context) {
    return context.type == "Upsample" || context.opset < 11;
}

Status read_names(const OpContext& context, Settings& s) {
    std::string mode = "nearest";
    RKNPU_CPU_TRY(attr(context, "mode", mode));
    if (mode == "bilinear" || mode == "trilinear")  // names of very old operator sets
        s.mode = Mode::kLinear;
    else
        RKNPU_CPU_TRY(read_name(context, "mode", kModes, s.mode));
    if (is_old(context)) {
        s.coordinates = Coordinates::kAsymmetric;
        s.rounding = Rounding::kFloor;
    }
    RKNPU_CPU_TRY(
        read_name(context, "coordinate_transformation_mode", kCoordinates, s.coordinates));
    RKNPU_CPU_TRY(read_name(context, "nearest_mode", kRoundings, s.rounding));
    RKNPU_CPU_TRY(read_name(context, "keep_aspect_ratio_policy", kAspects, s.aspect));
    RKNPU_CPU_TRY(attr(context, "cubic_coeff_a", s.cubic_a));
    RKNPU_CPU_TRY(attr(context, "exclude_outside", s.exclude_outside));
    RKNPU_CPU_TRY(attr(context, "antialias", s.antialias));
    return attr(context, "extrapolation_value", s.extrapolation);
}

Status read_axes(const OpContext& context, Settings& s) {
    const std::size_t rank = context.inputs[0].dims.rank();
    std::vector<std::int64_t> list;
    RKNPU_CPU_TRY(attr(context, "axes", list));
    if (list.empty()) {
        for (std::size_t i = 0; i < rank; ++i)
            s.axes.push_back(i);
        return {};
    }
    return normalize_axes(context, list, rank, s.axes);
}

Status read_scales(const OpContext& context, std::size_t input, Settings& s) {
    std::vector<float> scales;
    if (context.has(input) && context.inputs[input].elements() != 0)
        RKNPU_CPU_TRY(read_floats(context, input, scales));
    else
        RKNPU_CPU_TRY(attr(context, "scales", scales));
    if (scales.size() != s.axes.size())
        return fail(context, StatusCode::kInvalidShape, "wants ", s.axes.size(),
                    " scales or sizes, got ", scales.size(), " scales");
    for (std::size_t i = 0; i < scales.size(); ++i) {
        const std::size_t a = s.axes[i];
        const double size = std::floor(static_cast<double>(scales[i]) * s.out[a]);
        if (!(scales[i] > 0) || !(size <= static_cast<double>(kMaxElements)))
            return fail(context, StatusCode::kInvalidValue, "scale ", scales[i],
                        " is out of range");
        s.scale[a] = scales[i];
        s.out[a] = static_cast<std::int64_t>(size);
    }
    return {};
}

Status read_sizes(const OpContext& context, std::size_t input, Settings& s) {
    std::vector<std::int64_t> sizes;
    RKNPU_CPU_TRY(read_ints(context, input, sizes));
    if (sizes.size() != s.axes.size())
        return fail(context, StatusCode::kInvalidShape, "wants ", s.axes.size(), " sizes, got ",
                    sizes.size());
    double common = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t in = s.out[s.axes[i]];
        if (sizes[i] < 0 || sizes[i] > kMaxElements || (in == 0 && sizes[i] != 0))
            return fail(context, StatusCode::kInvalidValue, "cannot resize dimension ", in, " to ",
                        sizes[i]);
        const double scale = in == 0 ? 1.0 : static_cast<double>(sizes[i]) / in;
        s.scale[s.axes[i]] = scale;
        if (i == 0)
            common = scale;
        common = s.aspect == Aspect::kNotLarger ? std::min(common, scale) : std::max(common, scale);
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::size_t a = s.axes[i];
        if (s.aspect == Aspect::kStretch) {
            s.out[a] = sizes[i];
            continue;
        }
        const double size = std::floor(common * s.out[a] + 0.5);
        if (size > static_cast<double>(kMaxElements))
            return fail(context, StatusCode::kTooLarge, "size ", size, " is out of range");
        s.scale[a] = common;
        s.out[a] = static_cast<std::int64_t>(size);
    }
    return {};
}

Status read_roi(const OpContext& context, Settings& s) {
    std::vector<float> roi;
    RKNPU_CPU_TRY(read_floats(context, 1, roi));
    if (roi.size() != 2 * s.axes.size())
        return fail(context, StatusCode::kInvalidShape, "roi wants ", 2 * s.axes.size(),
                    " numbers, got ", roi.size());
    for (std::size_t i = 0; i < s.axes.size(); ++i) {
        s.roi_start[s.axes[i]] = roi[i];
        s.roi_end[s.axes[i]] = roi[s.axes.size() + i];
    }
    return {};
}

/// Where scales and sizes are.
struct Places {
    std::size_t scales;
    std::size_t sizes;
};

/// A file may leave absent inputs out, so that the others move to the front. A region has two
/// numbers per axis, scales are real, sizes are integers: they cannot be mistaken.
Places find_places(const OpContext& context, const Settings& s) {
    const auto given = [&](std::size_t i) {
        return context.has(i) && context.inputs[i].elements() != 0;
    };
    if (is_old(context))
        return {1, kMaxRank};
    if (given(2) || given(3) || !given(1) ||
        context.inputs[1].elements() != static_cast<std::int64_t>(s.axes.size()))
        return {2, 3};
    const DType type = context.inputs[1].dtype;
    const bool integers = type == DType::kI64 || type == DType::kI32;
    return integers ? Places{kMaxRank, 1} : Places{1, kMaxRank};
}

Status read_settings(const OpContext& context, Settings& s) {
    s.out = context.inputs[0].dims;
    s.scale.fill(1.0);
    s.roi_end.fill(1.0);
    RKNPU_CPU_TRY(read_names(context, s));
    RKNPU_CPU_TRY(read_axes(context, s));
    const Places places = find_places(context, s);
    if (context.has(places.sizes) && context.inputs[places.sizes].elements() != 0)
        RKNPU_CPU_TRY(read_sizes(context, places.sizes, s));
    else
        RKNPU_CPU_TRY(read_scales(context, places.scales, s));
    if (!is_old(context) && s.coordinates == Coordinates::kTfCropAndResize)
        RKNPU_CPU_TRY(read_roi(context, s));
    return check_size(context, s.out);
}

Status infer_resize(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Settings settings;
    RKNPU_CPU_TRY(read_settings(context, settings));
    push_like(outputs, context.inputs[0], settings.out);
    return {};
}

/// The position in the input that output position x of dimension d comes from.
double source_coordinate(const Settings& s, std::size_t d, std::int64_t in, std::int64_t x) {
    const double scale = s.scale[d];
    const double position = static_cast<double>(x);
    const double length = static_cast<double>(in);
    const double resized = length * scale;  // before rounding down, as the ONNX reference does
    switch (s.coordinates) {
        case Coordinates::kHalfPixel:
            return (position + 0.5) / scale - 0.5;
        case Coordinates::kPytorchHalfPixel:
            return s.out[d] > 1 ? (position + 0.5) / scale - 0.5 : 0.0;
        case Coordinates::kAlignCorners:
            return resized == 1.0 ? 0.0 : position * (length - 1.0) / (resized - 1.0);
        case Coordinates::kAsymmetric:
            return position / scale;
        case Coordinates::kTfHalfPixelForNn:
            return (position + 0.5) / scale;
        case Coordinates::kHalfPixelSymmetric: {
            const double adjust = static_cast<double>(s.out[d]) / resized;
            const double centre = length / 2.0;
            return centre * (1.0 - adjust) + (position + 0.5) / scale - 0.5;
        }
        case Coordinates::kTfCropAndResize: {
            const double span = s.roi_end[d] - s.roi_start[d];
            if (s.out[d] == 1)
                return 0.5 * (s.roi_start[d] + s.roi_end[d]) * (length - 1.0);
            return s.roi_start[d] * (length - 1.0) +
                   position * span * (length - 1.0) / static_cast<double>(s.out[d] - 1);
        }
    }
    return position;
}

std::int64_t nearest_index(Rounding rounding, double x) {
    switch (rounding) {
        case Rounding::kPreferFloor:
            return static_cast<std::int64_t>(std::ceil(x - 0.5));
        case Rounding::kPreferCeil:
            return static_cast<std::int64_t>(std::floor(x + 0.5));
        case Rounding::kFloor:
            return static_cast<std::int64_t>(std::floor(x));
        case Rounding::kCeil:
            return static_cast<std::int64_t>(std::ceil(x));
    }
    return 0;
}

double cubic_weight(double a, double distance) {
    const double x = std::abs(distance);
    if (x <= 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    if (x < 2.0)
        return a * (((x - 5.0) * x + 8.0) * x - 4.0);
    return 0.0;
}

/// For each output position `taps` indices and weights; a flag for positions to extrapolate.
struct Table {
    std::size_t taps = 0;
    std::vector<std::int64_t> index;
    std::vector<float> weight;
    std::vector<bool> outside;
};

/// The taps of one output position around source coordinate x.
void add_taps(const Settings& s, double x, double stretch, std::int64_t in, Table& table) {
    if (s.mode == Mode::kNearest) {
        table.index.push_back(std::clamp<std::int64_t>(nearest_index(s.rounding, x), 0, in - 1));
        table.weight.push_back(1.0F);
        return;
    }
    const std::int64_t half = static_cast<std::int64_t>(table.taps / 2);
    const std::int64_t first = static_cast<std::int64_t>(std::floor(x)) - half + 1;
    std::vector<double> weights(table.taps);
    double sum = 0;
    for (std::size_t k = 0; k < table.taps; ++k) {
        const std::int64_t i = first + static_cast<std::int64_t>(k);
        const double distance = (x - static_cast<double>(i)) / stretch;
        weights[k] = s.mode == Mode::kLinear ? std::max(0.0, 1.0 - std::abs(distance))
                                             : cubic_weight(s.cubic_a, distance);
        // Antialiasing never uses positions outside.
        if ((s.exclude_outside || s.antialias) && (i < 0 || i >= in))
            weights[k] = 0;
        sum += weights[k];
    }
    const bool renormalize = (s.exclude_outside || s.antialias) && sum != 0;
    for (std::size_t k = 0; k < table.taps; ++k) {
        const std::int64_t i = first + static_cast<std::int64_t>(k);
        table.index.push_back(std::clamp<std::int64_t>(i, 0, in - 1));
        table.weight.push_back(static_cast<float>(renormalize ? weights[k] / sum : weights[k]));
    }
}

Status make_table(const OpContext& context, const Settings& s, std::size_t d, std::int64_t in,
                  Table& table) {
    // Downscaling with antialiasing widens the filter by the inverse scale.
    const double stretch = s.antialias && s.scale[d] < 1.0 ? 1.0 / s.scale[d] : 1.0;
    const double radius = (s.mode == Mode::kLinear ? 1.0 : 2.0) * stretch;
    if (radius > 65536.0)
        return fail(context, StatusCode::kTooLarge, "scale ", s.scale[d],
                    " is too small for antialiasing");
    table.taps = s.mode == Mode::kNearest ? 1 : 2 * static_cast<std::size_t>(std::ceil(radius));
    if (static_cast<double>(table.taps) * static_cast<double>(s.out[d]) > 1e9)
        return fail(context, StatusCode::kTooLarge, "too many filter taps");
    for (std::int64_t o = 0; o < s.out[d]; ++o) {
        double x = source_coordinate(s, d, in, o);
        table.outside.push_back(s.coordinates == Coordinates::kTfCropAndResize &&
                                !(x >= 0.0 && x <= static_cast<double>(in - 1)));
        // Keeps the conversion to integers defined; the taps are clamped to the input anyway.
        x = std::clamp(x, -4.0, static_cast<double>(in) + 4.0);
        add_taps(s, x == x ? x : 0.0, stretch, in, table);
    }
    return {};
}

/// Resizes the middle dimension of [outer, n, inner] to [outer, m, inner].
void resize_axis(const Table& t, const float* src, std::int64_t outer, std::int64_t n,
                 std::int64_t m, std::int64_t inner, float* dst) {
    for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t j = 0; j < m; ++j) {
            float* row = dst + (o * m + j) * inner;
            for (std::size_t k = 0; k < t.taps; ++k) {
                const std::size_t at = static_cast<std::size_t>(j) * t.taps + k;
                const float* from = src + (o * n + t.index[at]) * inner;
                const float w = t.weight[at];
                if (k == 0) {
                    for (std::int64_t i = 0; i < inner; ++i)
                        row[i] = from[i] * w;
                } else {
                    for (std::int64_t i = 0; i < inner; ++i)
                        row[i] += from[i] * w;
                }
            }
        }
    }
}

/// Overwrites everything that lies outside in dimension d.
void extrapolate(const Table& t, std::int64_t outer, std::int64_t inner, float value,
                 std::span<float> dst) {
    const std::size_t m = t.outside.size();
    for (std::int64_t o = 0; o < outer; ++o) {
        for (std::size_t j = 0; j < m; ++j) {
            const std::size_t at =
                (static_cast<std::size_t>(o) * m + j) * static_cast<std::size_t>(inner);
            if (t.outside[j])
                std::fill_n(dst.begin() + static_cast<std::ptrdiff_t>(at), inner, value);
        }
    }
}

Status resize_floats(const OpContext& context, const Settings& s, std::vector<float>& values) {
    Dims dims = context.inputs[0].dims;
    std::vector<Table> tables(dims.rank());
    for (std::size_t a = dims.rank(); a-- > 0;) {
        const std::int64_t in = dims[a];
        if (in == s.out[a] && s.scale[a] == 1.0 && s.coordinates != Coordinates::kTfCropAndResize)
            continue;
        RKNPU_CPU_TRY(make_table(context, s, a, in, tables[a]));
        const std::int64_t outer = dims.product(0, a);
        const std::int64_t inner = dims.product(a + 1, dims.rank());
        dims[a] = s.out[a];
        RKNPU_CPU_TRY(check_size(context, dims));
        std::vector<float> next(static_cast<std::size_t>(dims.elements()));
        resize_axis(tables[a], values.data(), outer, in, s.out[a], inner, next.data());
        values = std::move(next);
    }
    if (s.coordinates != Coordinates::kTfCropAndResize)
        return {};
    for (std::size_t a = 0; a < dims.rank(); ++a) {
        if (tables[a].taps != 0)
            extrapolate(tables[a], dims.product(0, a), dims.product(a + 1, dims.rank()),
                        s.extrapolation, values);
    }
    return {};
}

Status compute_resize(const OpContext& context) {
    Settings settings;
    RKNPU_CPU_TRY(read_settings(context, settings));
    const MutTensorView& out = context.outputs[0];
    if (out.elements() == 0)
        return {};
    if (context.inputs[0].elements() == 0)
        return fail(context, StatusCode::kInvalidShape, "cannot enlarge an empty input");
    std::vector<float> values(static_cast<std::size_t>(context.inputs[0].elements()));
    dispatch_all(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        std::ranges::transform(context.inputs[0].as<T>(), values.begin(),
                               [](T v) { return cast_saturate<float>(v); });
    });
    RKNPU_CPU_TRY(resize_floats(context, settings, values));
    dispatch_all(out.dtype, [&]<typename T>(std::type_identity<T>) {
        std::ranges::transform(values, out.as<T>().begin(), [](float v) {
            return cast_saturate<T>(std::is_integral_v<T> ? std::nearbyint(v) : v);
        });
    });
    return {};
}

constexpr std::array kOps = {
    Operator{"Resize", 1, 4, 1, Numeric::kFloat, infer_resize, compute_resize},
    Operator{"Upsample", 1, 2, 1, Numeric::kFloat, infer_resize, compute_resize},
};

}  // namespace

std::span<const Operator> resize_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
