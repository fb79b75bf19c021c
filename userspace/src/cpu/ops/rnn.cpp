// SPDX-License-Identifier: MIT
// LSTM, GRU and RNN: one driver for directions, sequence lengths and layouts, three cells.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "elementwise.hpp"
#include "gemm.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

enum class Cell { kRnn, kGru, kLstm };

std::int64_t gate_count(Cell cell) {
    return cell == Cell::kRnn ? 1 : cell == Cell::kGru ? 3 : 4;
}

/// One activation with its parameters.
struct Activation {
    float (*apply)(float x, float alpha, float beta) = nullptr;
    float alpha = 0;
    float beta = 0;

    float operator()(float x) const { return apply(x, alpha, beta); }
};

struct NamedActivation {
    std::string_view name;
    float (*apply)(float, float, float);
    float alpha;  // ONNX defaults
    float beta;
};

constexpr std::array<NamedActivation, 11> kActivations = {{
    {"Relu", [](float x, float, float) { return x > 0 ? x : 0.0F; }, 0, 0},
    {"Tanh", [](float x, float, float) { return std::tanh(x); }, 0, 0},
    {"Sigmoid", [](float x, float, float) { return 1.0F / (1.0F + std::exp(-x)); }, 0, 0},
    {"Affine", [](float x, float a, float b) { return a * x + b; }, 1, 0},
    {"LeakyRelu", [](float x, float a, float) { return x >= 0 ? x : a * x; }, 0.01F, 0},
    {"ThresholdedRelu", [](float x, float a, float) { return x >= a ? x : 0.0F; }, 1, 0},
    {"ScaledTanh", [](float x, float a, float b) { return a * std::tanh(b * x); }, 1, 1},
    {"HardSigmoid", [](float x, float a, float b) { return std::clamp(a * x + b, 0.0F, 1.0F); },
     0.2F, 0.5F},
    {"Elu", [](float x, float a, float) { return x >= 0 ? x : a * std::expm1(x); }, 1, 0},
    {"Softsign", [](float x, float, float) { return x / (1 + std::abs(x)); }, 0, 0},
    {"Softplus",
     [](float x, float, float) { return std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x))); },
     0, 0},
}};

struct Settings {
    Cell cell = Cell::kRnn;
    std::int64_t hidden = 0;
    std::int64_t directions = 1;
    bool reverse = false;
    bool batch_first = false;
    bool input_forget = false;
    bool linear_before_reset = false;
    float clip = 0;                       // 0: none
    std::vector<Activation> activations;  // gates first, per direction
    std::int64_t steps = 0;
    std::int64_t batch = 0;
    std::int64_t inputs = 0;

    std::int64_t gates() const { return gate_count(cell); }
    std::int64_t activations_each() const { return cell == Cell::kRnn ? 1 : gates() - 1; }
};

Status read_activations(const OpContext& context, Settings& s) {
    std::vector<std::string> names;
    std::vector<float> alphas;
    std::vector<float> betas;
    RKNPU_CPU_TRY(attr(context, "activations", names));
    RKNPU_CPU_TRY(attr(context, "activation_alpha", alphas));
    RKNPU_CPU_TRY(attr(context, "activation_beta", betas));
    const std::size_t each = static_cast<std::size_t>(s.activations_each());
    if (names.empty()) {
        for (std::int64_t d = 0; d < s.directions; ++d) {
            for (std::size_t i = 0; i < each; ++i)
                names.emplace_back(i == 0 && s.cell != Cell::kRnn ? "Sigmoid" : "Tanh");
        }
    }
    if (names.size() != each * static_cast<std::size_t>(s.directions))
        return fail(context, StatusCode::kInvalidAttribute, "needs ",
                    each * static_cast<std::size_t>(s.directions), " activations, got ",
                    names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto it = std::ranges::find(kActivations, names[i], &NamedActivation::name);
        if (it == kActivations.end())
            return fail(context, StatusCode::kInvalidAttribute, "unknown activation '", names[i],
                        "'");
        s.activations.push_back({it->apply, i < alphas.size() ? alphas[i] : it->alpha,
                                 i < betas.size() ? betas[i] : it->beta});
    }
    return {};
}

/// Checks an optional input's number of elements.
Status want(const OpContext& context, std::size_t input, std::int64_t elements) {
    if (!context.has(input))
        return {};
    const TensorView& t = context.inputs[input];
    if (t.dtype != (input == 4 ? DType::kI32 : DType::kF32))
        return bad_type(context, input);
    if (t.elements() != elements)
        return fail(context, StatusCode::kInvalidShape, "input ", input, " ", t.dims.text(),
                    " needs ", elements, " elements");
    return {};
}

Status read_sizes(const OpContext& context, Settings& s) {
    const Dims& x = context.inputs[0].dims;
    const Dims& w = context.inputs[1].dims;
    const Dims& r = context.inputs[2].dims;
    if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3)
        return fail(context, StatusCode::kInvalidShape, "input, W and R are not of rank 3");
    s.steps = x[s.batch_first ? 1 : 0];
    s.batch = x[s.batch_first ? 0 : 1];
    s.inputs = x[2];
    const std::int64_t hidden = r[2];
    if (s.hidden != 0 && s.hidden != hidden)
        return fail(context, StatusCode::kInvalidAttribute, "hidden_size ", s.hidden,
                    " differs from R ", r.text());
    s.hidden = hidden;
    const std::int64_t rows = s.gates() * hidden;
    if (w[0] != s.directions || w[1] != rows || w[2] != s.inputs || r[0] != s.directions ||
        r[1] != rows)
        return fail(context, StatusCode::kInvalidShape, "W ", w.text(), " and R ", r.text(),
                    " do not fit input ", x.text());
    for (std::size_t i : {0, 1, 2})
        RKNPU_CPU_TRY(want(context, i, context.inputs[i].elements()));
    RKNPU_CPU_TRY(want(context, 3, 2 * rows * s.directions));
    RKNPU_CPU_TRY(want(context, 4, s.batch));
    RKNPU_CPU_TRY(want(context, 5, s.directions * s.batch * hidden));
    RKNPU_CPU_TRY(want(context, 6, s.directions * s.batch * hidden));
    return want(context, 7, s.directions * 3 * hidden);
}

Status read_settings(const OpContext& context, Cell cell, Settings& s) {
    s.cell = cell;
    std::string direction = "forward";
    RKNPU_CPU_TRY(attr(context, "direction", direction));
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
        return fail(context, StatusCode::kInvalidAttribute, "unknown direction '", direction, "'");
    s.reverse = direction == "reverse";
    s.directions = direction == "bidirectional" ? 2 : 1;
    RKNPU_CPU_TRY(attr(context, "hidden_size", s.hidden));
    RKNPU_CPU_TRY(attr(context, "layout", s.batch_first));
    RKNPU_CPU_TRY(attr(context, "input_forget", s.input_forget));
    RKNPU_CPU_TRY(attr(context, "linear_before_reset", s.linear_before_reset));
    RKNPU_CPU_TRY(attr(context, "clip", s.clip));
    RKNPU_CPU_TRY(read_activations(context, s));
    return read_sizes(context, s);
}

template <Cell kCell>
Status infer_rnn(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Settings s;
    RKNPU_CPU_TRY(read_settings(context, kCell, s));
    const Dims y = s.batch_first ? Dims{s.batch, s.steps, s.directions, s.hidden}
                                 : Dims{s.steps, s.directions, s.batch, s.hidden};
    const Dims last = s.batch_first ? Dims{s.batch, s.directions, s.hidden}
                                    : Dims{s.directions, s.batch, s.hidden};
    outputs.push_back({DType::kF32, y, std::nullopt});
    outputs.push_back({DType::kF32, last, std::nullopt});
    if (kCell == Cell::kLstm)
        outputs.push_back({DType::kF32, last, std::nullopt});
    return {};
}

/// Everything of one direction, weights transposed for gemm.
struct Direction {
    std::int64_t index = 0;
    bool reverse = false;
    std::vector<float> w;       // [inputs, gates * hidden]
    std::vector<float> r;       // [hidden, gates * hidden]
    std::vector<float> w_bias;  // [gates * hidden]
    std::vector<float> r_bias;
    const float* peephole = nullptr;  // [3 * hidden]: input, output, forget
    std::span<const Activation> activations;
};

std::vector<float> transposed(const float* x, std::int64_t rows, std::int64_t cols) {
    std::vector<float> out(static_cast<std::size_t>(rows * cols));
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j)
            out[static_cast<std::size_t>(j * rows + i)] = x[i * cols + j];
    }
    return out;
}

Direction make_direction(const OpContext& context, const Settings& s, std::int64_t index) {
    Direction d;
    const std::int64_t rows = s.gates() * s.hidden;
    d.index = index;
    d.reverse = s.reverse || index == 1;
    d.w =
        transposed(context.inputs[1].as<float>().data() + index * rows * s.inputs, rows, s.inputs);
    d.r =
        transposed(context.inputs[2].as<float>().data() + index * rows * s.hidden, rows, s.hidden);
    d.w_bias.assign(static_cast<std::size_t>(rows), 0.0F);
    d.r_bias = d.w_bias;
    if (context.has(3)) {
        const float* bias = context.inputs[3].as<float>().data() + index * 2 * rows;
        std::copy_n(bias, rows, d.w_bias.begin());
        std::copy_n(bias + rows, rows, d.r_bias.begin());
    }
    if (context.has(7))
        d.peephole = context.inputs[7].as<float>().data() + index * 3 * s.hidden;
    const std::size_t each = static_cast<std::size_t>(s.activations_each());
    d.activations = std::span(s.activations).subspan(static_cast<std::size_t>(index) * each, each);
    return d;
}

float clipped(const Settings& s, float v) {
    return s.clip > 0 ? std::clamp(v, -s.clip, s.clip) : v;
}

/// out = bias + x * weights for one row.
void affine(const OpContext& context, const float* x, std::int64_t n,
            const std::vector<float>& weights, const std::vector<float>& bias,
            std::vector<float>& out) {
    out = bias;
    const std::int64_t cols = static_cast<std::int64_t>(bias.size());
    gemm({x, n, weights.data(), cols, out.data(), cols, 1, cols, n}, context.reference);
}

/// Scratch of one step.
struct Scratch {
    std::vector<float> from_x;
    std::vector<float> from_h;
    std::vector<float> next;
};

void rnn_step(const Settings& s, const Direction& d, Scratch& t, std::span<float> h) {
    for (std::size_t i = 0; i < h.size(); ++i)
        h[i] = d.activations[0](clipped(s, t.from_x[i] + t.from_h[i]));
}

/// Gates z, r, h in that order.
void gru_step(const OpContext& context, const Settings& s, const Direction& d, Scratch& t,
              std::span<float> h) {
    const std::size_t n = h.size();
    const Activation& f = d.activations[0];
    const Activation& g = d.activations[1];
    std::vector<float> z(n);
    std::vector<float> r(n);
    for (std::size_t i = 0; i < n; ++i) {
        z[i] = f(clipped(s, t.from_x[i] + t.from_h[i]));
        r[i] = f(clipped(s, t.from_x[n + i] + t.from_h[n + i]));
    }
    // Candidate: the reset gate acts before or after the recurrent product.
    t.next.assign(n, 0.0F);
    if (s.linear_before_reset) {
        for (std::size_t i = 0; i < n; ++i)
            t.next[i] = r[i] * t.from_h[2 * n + i];
    } else {
        std::vector<float> gated(n);
        for (std::size_t i = 0; i < n; ++i)
            gated[i] = r[i] * h[i];
        std::copy_n(d.r_bias.begin() + static_cast<std::ptrdiff_t>(2 * n), n, t.next.begin());
        const std::int64_t size = static_cast<std::int64_t>(n);
        gemm({gated.data(), size, d.r.data() + 2 * n, 3 * size, t.next.data(), size, 1, size, size},
             context.reference);
    }
    for (std::size_t i = 0; i < n; ++i) {
        const float candidate = g(clipped(s, t.from_x[2 * n + i] + t.next[i]));
        h[i] = (1.0F - z[i]) * candidate + z[i] * h[i];
    }
}

/// Gates i, o, f, c in that order.
void lstm_step(const Settings& s, const Direction& d, Scratch& t, std::span<float> h,
               std::span<float> c) {
    const std::size_t n = h.size();
    const auto gate = [&](std::size_t k, std::size_t i) {
        return t.from_x[k * n + i] + t.from_h[k * n + i];
    };
    const auto peep = [&](std::size_t k, std::size_t i, float cell) {
        return d.peephole != nullptr ? d.peephole[k * n + i] * cell : 0.0F;
    };
    const Activation& f = d.activations[0];
    for (std::size_t i = 0; i < n; ++i) {
        const float input = f(clipped(s, gate(0, i) + peep(0, i, c[i])));
        const float forget =
            s.input_forget ? 1.0F - input : f(clipped(s, gate(2, i) + peep(2, i, c[i])));
        const float fresh = d.activations[1](clipped(s, gate(3, i)));
        c[i] = forget * c[i] + input * fresh;
        const float output = f(clipped(s, gate(1, i) + peep(1, i, c[i])));
        h[i] = output * d.activations[2](c[i]);
    }
}

/// Element offset of y[step, direction, batch] under either layout.
std::int64_t y_offset(const Settings& s, std::int64_t step, std::int64_t direction,
                      std::int64_t batch) {
    if (s.batch_first)
        return ((batch * s.steps + step) * s.directions + direction) * s.hidden;
    return ((step * s.directions + direction) * s.batch + batch) * s.hidden;
}

/// The same for states [direction, batch].
std::int64_t state_offset(const Settings& s, std::int64_t direction, std::int64_t batch) {
    return (s.batch_first ? batch * s.directions + direction : direction * s.batch + batch) *
           s.hidden;
}

std::vector<float> initial_state(const OpContext& context, const Settings& s, std::size_t input,
                                 std::int64_t offset) {
    std::vector<float> state(static_cast<std::size_t>(s.hidden), 0.0F);
    if (context.has(input))
        std::copy_n(context.inputs[input].as<float>().begin() + offset, s.hidden, state.begin());
    return state;
}

void store(const OpContext& context, std::size_t output, std::int64_t offset,
           const std::vector<float>& values) {
    if (context.wants(output))
        std::ranges::copy(values, context.outputs[output].as<float>().begin() + offset);
}

/// One direction of one sequence of the batch.
void run_sequence(const OpContext& context, const Settings& s, const Direction& d,
                  std::int64_t batch, std::int64_t length, Scratch& t) {
    const std::int64_t state = state_offset(s, d.index, batch);
    std::vector<float> h = initial_state(context, s, 5, state);
    std::vector<float> c = initial_state(context, s, 6, state);
    const std::vector<float> zeros(static_cast<std::size_t>(s.hidden), 0.0F);
    const float* x = context.inputs[0].as<float>().data();
    for (std::int64_t k = 0; k < s.steps; ++k) {
        const std::int64_t step = d.reverse ? length - 1 - k : k;
        if (k >= length) {  // behind the end of this sequence the output is zero
            store(context, 0, y_offset(s, k, d.index, batch), zeros);
            continue;
        }
        const std::int64_t row = s.batch_first ? batch * s.steps + step : step * s.batch + batch;
        affine(context, x + row * s.inputs, s.inputs, d.w, d.w_bias, t.from_x);
        affine(context, h.data(), s.hidden, d.r, d.r_bias, t.from_h);
        if (s.cell == Cell::kRnn)
            rnn_step(s, d, t, h);
        else if (s.cell == Cell::kGru)
            gru_step(context, s, d, t, h);
        else
            lstm_step(s, d, t, h, c);
        store(context, 0, y_offset(s, step, d.index, batch), h);
    }
    store(context, 1, state, h);
    if (s.cell == Cell::kLstm)
        store(context, 2, state, c);
}

template <Cell kCell>
Status compute_rnn(const OpContext& context) {
    Settings s;
    RKNPU_CPU_TRY(read_settings(context, kCell, s));
    Scratch scratch;
    for (std::int64_t index = 0; index < s.directions; ++index) {
        const Direction direction = make_direction(context, s, index);
        for (std::int64_t batch = 0; batch < s.batch; ++batch) {
            std::int64_t length = s.steps;
            if (context.has(4))
                length = context.inputs[4].as<std::int32_t>()[static_cast<std::size_t>(batch)];
            if (length < 0 || length > s.steps)
                return fail(context, StatusCode::kInvalidValue, "sequence length ", length,
                            " is outside 0 to ", s.steps);
            run_sequence(context, s, direction, batch, length, scratch);
        }
    }
    return {};
}

constexpr std::array kOps = {
    Operator{"RNN", 3, 6, 2, Numeric::kFloat, infer_rnn<Cell::kRnn>, compute_rnn<Cell::kRnn>},
    Operator{"GRU", 3, 6, 2, Numeric::kFloat, infer_rnn<Cell::kGru>, compute_rnn<Cell::kGru>},
    Operator{"LSTM", 3, 8, 3, Numeric::kFloat, infer_rnn<Cell::kLstm>, compute_rnn<Cell::kLstm>},
};

}  // namespace

std::span<const Operator> rnn_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
