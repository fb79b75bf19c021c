// SPDX-License-Identifier: MIT
// Einsum: every label becomes one loop; a label seen twice in one operand walks its diagonal.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

/// Labels are letters; the dimensions of "..." get the codes from here upwards.
constexpr int kEllipsis = 256;

using Labels = std::vector<int>;

struct Plan {
    std::vector<int> order;                          // output labels, then the summed ones
    std::vector<std::int64_t> extent;                // of each label in `order`
    std::size_t outputs = 0;                         // how many of them are output labels
    std::vector<std::vector<std::int64_t>> strides;  // per operand and label
};

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Splits one term; "..." stands for `free` dimensions, aligned to the right.
Status parse_term(const OpContext& context, std::string_view term, std::size_t free, Labels& out) {
    bool ellipsis = false;
    for (std::size_t i = 0; i < term.size(); ++i) {
        if (term.substr(i, 3) == "..." && !ellipsis) {
            for (std::size_t k = free; k > 0; --k)
                out.push_back(kEllipsis + static_cast<int>(k));
            ellipsis = true;
            i += 2;
        } else if (is_letter(term[i])) {
            out.push_back(term[i]);
        } else {
            return fail(context, StatusCode::kInvalidAttribute, "bad character in equation term '",
                        term, "'");
        }
    }
    return {};
}

std::size_t letters(std::string_view term) {
    return static_cast<std::size_t>(std::ranges::count_if(term, is_letter));
}

struct Equation {
    std::vector<std::string> terms;
    std::string result;
    bool explicit_result = false;
};

Status split_equation(const OpContext& context, Equation& out) {
    std::string text;
    RKNPU_CPU_TRY(attr(context, "equation", text));
    std::erase(text, ' ');
    const std::size_t arrow = text.find("->");
    out.explicit_result = arrow != std::string::npos;
    if (out.explicit_result)
        out.result = text.substr(arrow + 2);
    const std::string left = text.substr(0, arrow);
    std::size_t begin = 0;
    for (;;) {
        const std::size_t comma = left.find(',', begin);
        out.terms.push_back(left.substr(begin, comma - begin));
        if (comma == std::string::npos)
            break;
        begin = comma + 1;
    }
    if (out.terms.size() != context.inputs.size())
        return fail(context, StatusCode::kInvalidAttribute, "equation has ", out.terms.size(),
                    " terms for ", context.inputs.size(), " inputs");
    return {};
}

/// Without "->": "..." first, then the labels seen once, in alphabetical order.
Labels implicit_result(const std::vector<Labels>& terms) {
    Labels all;
    for (const Labels& term : terms)
        all.insert(all.end(), term.begin(), term.end());
    Labels result;
    for (int label : all) {
        if (label >= kEllipsis && std::ranges::find(result, label) == result.end())
            result.push_back(label);
    }
    std::ranges::sort(result, std::greater<>());
    Labels once;
    for (int label : all) {
        if (label < kEllipsis && std::ranges::count(all, label) == 1)
            once.push_back(label);
    }
    std::ranges::sort(once);
    result.insert(result.end(), once.begin(), once.end());
    return result;
}

/// Adds an operand's labels to the plan: extents must agree, 1 broadcasts.
Status add_operand(const OpContext& context, const Dims& dims, const Labels& labels, Plan& plan) {
    const auto own = strides_of(dims);
    std::vector<std::int64_t> strides(plan.order.size(), 0);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto it = std::ranges::find(plan.order, labels[i]);
        const std::size_t at = static_cast<std::size_t>(it - plan.order.begin());
        if (plan.extent[at] == 1)
            plan.extent[at] = dims[i];
        if (dims[i] != plan.extent[at] && dims[i] != 1)
            return fail(context, StatusCode::kInvalidShape, "dimensions ", dims[i], " and ",
                        plan.extent[at], " share a label");
        strides[at] += dims[i] == 1 ? 0 : own[i];
    }
    plan.strides.push_back(std::move(strides));
    return {};
}

Status make_plan(const OpContext& context, Plan& plan) {
    Equation equation;
    RKNPU_CPU_TRY(split_equation(context, equation));
    std::vector<Labels> terms(equation.terms.size());
    std::size_t most_free = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        const std::size_t rank = context.inputs[i].dims.rank();
        const std::size_t named = letters(equation.terms[i]);
        if (named > rank)
            return fail(context, StatusCode::kInvalidShape, "term '", equation.terms[i],
                        "' names more dimensions than ", context.inputs[i].dims.text(), " has");
        most_free = std::max(most_free, rank - named);
        RKNPU_CPU_TRY(parse_term(context, equation.terms[i], rank - named, terms[i]));
        if (terms[i].size() != rank)
            return fail(context, StatusCode::kInvalidShape, "term '", equation.terms[i],
                        "' does not name every dimension of ", context.inputs[i].dims.text());
    }
    Labels result;
    if (equation.explicit_result)
        RKNPU_CPU_TRY(parse_term(context, equation.result, most_free, result));
    else
        result = implicit_result(terms);
    plan.order = result;
    plan.outputs = result.size();
    for (const Labels& term : terms) {
        for (int label : term) {
            if (std::ranges::find(plan.order, label) == plan.order.end())
                plan.order.push_back(label);
        }
    }
    plan.extent.assign(plan.order.size(), 1);
    // Twice: an extent found late may break a dimension of an operand checked early.
    for (int pass = 0; pass < 2; ++pass) {
        plan.strides.clear();
        for (std::size_t i = 0; i < terms.size(); ++i)
            RKNPU_CPU_TRY(add_operand(context, context.inputs[i].dims, terms[i], plan));
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
        const bool twice = std::ranges::count(result, result[i]) != 1;
        const bool known = std::ranges::any_of(
            terms, [&](const Labels& t) { return std::ranges::find(t, result[i]) != t.end(); });
        if (twice || !known)
            return fail(context, StatusCode::kInvalidAttribute, "result '", equation.result,
                        "' repeats a label or has one of its own");
    }
    if (plan.order.size() > kMaxRank)
        return fail(context, StatusCode::kInvalidShape, "more than ", kMaxRank, " labels");
    return {};
}

Status infer_einsum(const OpContext& context, std::vector<TensorInfo>& outputs) {
    for (const TensorView& t : context.inputs) {
        if (t.dtype != context.inputs[0].dtype)
            return fail(context, StatusCode::kInvalidType, "inputs have different types");
    }
    Plan plan;
    RKNPU_CPU_TRY(make_plan(context, plan));
    Dims dims;
    for (std::size_t i = 0; i < plan.outputs; ++i)
        (void)dims.push_back(plan.extent[i]);
    RKNPU_CPU_TRY(check_size(context, dims));
    push_like(outputs, context.inputs[0], dims);
    return {};
}

/// Odometer over the labels [first, last); false after the last combination.
bool advance(const Plan& plan, std::size_t first, std::size_t last,
             std::vector<std::int64_t>& index, std::vector<std::int64_t>& offset) {
    for (std::size_t i = last; i-- > first;) {
        for (std::size_t k = 0; k < offset.size(); ++k)
            offset[k] += plan.strides[k][i];
        if (++index[i] < plan.extent[i])
            return true;
        for (std::size_t k = 0; k < offset.size(); ++k)
            offset[k] -= plan.strides[k][i] * plan.extent[i];
        index[i] = 0;
    }
    return false;
}

template <typename T>
void einsum(const OpContext& context, const Plan& plan) {
    using Acc = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
    std::vector<const T*> data;
    for (const TensorView& t : context.inputs)
        data.push_back(t.as<T>().data());
    std::vector<std::int64_t> index(plan.order.size(), 0);
    std::vector<std::int64_t> offset(data.size(), 0);
    const bool empty_sum =
        std::ranges::find(plan.extent.begin() + static_cast<std::ptrdiff_t>(plan.outputs),
                          plan.extent.end(), 0) != plan.extent.end();
    for (T& result : context.outputs[0].as<T>()) {
        Acc sum = 0;
        do {
            if (empty_sum)
                break;
            Acc product = 1;
            for (std::size_t k = 0; k < data.size(); ++k)
                product *= static_cast<Acc>(data[k][offset[k]]);
            sum += product;
        } while (advance(plan, plan.outputs, plan.order.size(), index, offset));
        result = static_cast<T>(sum);
        (void)advance(plan, 0, plan.outputs, index, offset);
    }
}

Status compute_einsum(const OpContext& context) {
    Plan plan;
    RKNPU_CPU_TRY(make_plan(context, plan));
    const bool known =
        dispatch_numbers(context.inputs[0].dtype,
                         [&]<typename T>(std::type_identity<T>) { einsum<T>(context, plan); });
    return known ? Status{} : bad_type(context);
}

constexpr std::array kOps = {
    Operator{"Einsum", 1, 64, 1, Numeric::kFloat, infer_einsum, compute_einsum},
};

}  // namespace

std::span<const Operator> einsum_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
