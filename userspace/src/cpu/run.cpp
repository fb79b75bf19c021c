// SPDX-License-Identifier: MIT
// infer() and run(): everything an operator may then rely on is checked or prepared here.
#include <algorithm>
#include <cstdint>
#include <new>
#include <stdexcept>

#include "convert.hpp"
#include "operator.hpp"
#include "ops/support.hpp"

namespace rknpu::cpu {

namespace {

using ops::fail;

bool is_half(DType type) {
    return type == DType::kF16 || type == DType::kBf16;
}

Status check_inputs(const Operator& op, const OpContext& context, bool with_data) {
    if (context.attributes == nullptr)
        return fail(context, StatusCode::kInvalidAttribute, "no attribute table given");
    std::size_t count = context.inputs.size();
    while (count > 0 && !context.inputs[count - 1].present())
        --count;
    if (count < op.min_inputs || count > op.max_inputs)
        return fail(context, StatusCode::kInvalidShape, "takes ", op.min_inputs, " to ",
                    op.max_inputs, " inputs, got ", count);
    for (std::size_t i = 0; i < count; ++i) {
        const TensorView& t = context.inputs[i];
        if (!t.present()) {
            if (i < op.min_inputs)
                return fail(context, StatusCode::kInvalidShape, "input ", i, " is missing");
            continue;
        }
        if (dtype_size(t.dtype) == 0)
            return fail(context, StatusCode::kInvalidType, "input ", i, " has no known type");
        if (!t.dims.checked_elements())
            return fail(context, StatusCode::kTooLarge, "input ", i, " has shape ", t.dims.text());
        if (t.quant && !quant_is_valid(*t.quant, t.dtype))
            return fail(context, StatusCode::kInvalidValue, "input ", i,
                        " has an unusable quantisation: scale ", t.quant->scale, ", zero point ",
                        t.quant->zero_point, ", ", dtype_name(t.dtype));
        if ((with_data || !t.data.empty()) && t.data.size() != t.bytes())
            return fail(context, StatusCode::kInvalidShape, "input ", i, " of ", t.dims.text(),
                        " needs ", t.bytes(), " bytes, got ", t.data.size());
    }
    return {};
}

/// True unless codes of different meaning, or codes and real numbers, come together.
bool codes_are_alike(std::span<const TensorView> inputs) {
    const TensorView* first = nullptr;
    bool real = false;
    for (const TensorView& t : inputs) {
        real = real || dtype_is_float(t.dtype);
        if (!t.quant)
            continue;
        if (first != nullptr && (first->quant != t.quant || first->dtype != t.dtype))
            return false;
        first = &t;
    }
    return first == nullptr || !real;
}

/// True if the real numbers among the inputs have different types: a file of half floats may keep
/// its constants as float32.
bool floats_differ(std::span<const TensorView> inputs) {
    DType first = DType::kNone;
    for (const TensorView& t : inputs) {
        if (!dtype_is_float(t.dtype))
            continue;
        if (first != DType::kNone && first != t.dtype)
            return true;
        first = t.dtype;
    }
    return false;
}

/// What the operator shall see instead of `t`; nothing if it may see it as it is.
std::optional<DType> wanted_type(Numeric numeric, const TensorView& t, bool mixed_quant,
                                 bool mixed_floats) {
    if (!t.present() || numeric == Numeric::kRaw)
        return std::nullopt;
    if (t.quant && (numeric == Numeric::kFloat || mixed_quant))
        return DType::kF32;
    if (is_half(t.dtype) && (numeric != Numeric::kMove || mixed_quant || mixed_floats))
        return DType::kF32;
    return std::nullopt;
}

template <typename View>
bool misaligned(const View& t) {
    const std::size_t size = dtype_size(t.dtype);
    return size != 0 && reinterpret_cast<std::uintptr_t>(t.data.data()) % size != 0;
}

/// The inputs as the operator sees them, with the storage of the converted ones.
struct Prepared {
    std::vector<TensorView> views;
    std::vector<Tensor> storage;
    bool widened_half = false;
    bool dequantized = false;
};

Status prepare_inputs(const Operator& op, const OpContext& context, Prepared& out) {
    out.views.assign(context.inputs.begin(), context.inputs.end());
    const bool mixed = !codes_are_alike(context.inputs);
    const bool floats = floats_differ(context.inputs);
    for (TensorView& view : out.views) {
        const std::optional<DType> type = wanted_type(op.numeric, view, mixed, floats);
        if (!type && !misaligned(view))
            continue;
        if (type && is_half(view.dtype))
            out.widened_half = true;
        if (type && view.quant)
            out.dequantized = true;
        TensorInfo info = view;
        if (type)
            info = {*type, view.dims, std::nullopt};
        if (view.data.empty()) {  // shape inference without contents
            view = {info, {}};
            continue;
        }
        Tensor copy;
        TensorView aligned = view;
        Tensor realigned;
        if (misaligned(view)) {
            RKNPU_CPU_TRY(Tensor::create(view, view.data, realigned));
            aligned.data = realigned.bytes();
        }
        RKNPU_CPU_TRY(Tensor::create(info, copy));
        RKNPU_CPU_TRY(convert(aligned, copy.mut_view()));
        view = copy.view();
        out.storage.push_back(std::move(copy));
    }
    return {};
}

Status infer_prepared(const Operator& op, const OpContext& context,
                      std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(op.infer(context, outputs));
    for (const TensorInfo& info : outputs) {
        if (!info.dims.checked_elements())
            return fail(context, StatusCode::kTooLarge, "output would have shape ",
                        info.dims.text());
    }
    return {};
}

Status check_outputs(const OpContext& context, std::span<const TensorInfo> infos) {
    for (std::size_t i = 0; i < context.outputs.size(); ++i) {
        const MutTensorView& t = context.outputs[i];
        if (!t.present())
            continue;
        if (i >= infos.size())
            return fail(context, StatusCode::kInvalidShape, "has no output ", i);
        const std::optional<std::int64_t> count = t.dims.checked_elements();
        if (!count || *count != infos[i].elements())
            return fail(context, StatusCode::kInvalidShape, "output ", i, " is declared as ",
                        t.dims.text(), " but the result has shape ", infos[i].dims.text());
        if (dtype_size(t.dtype) == 0)
            return fail(context, StatusCode::kInvalidType, "output ", i, " has no known type");
        if (t.data.size() != t.bytes())
            return fail(context, StatusCode::kInvalidShape, "output ", i, " of ", t.dims.text(),
                        " needs ", t.bytes(), " bytes, got ", t.data.size());
        if (t.quant && !quant_is_valid(*t.quant, t.dtype))
            return fail(context, StatusCode::kInvalidValue, "output ", i,
                        " has an unusable quantisation: scale ", t.quant->scale, ", zero point ",
                        t.quant->zero_point, ", ", dtype_name(t.dtype));
    }
    return {};
}

/// Does the operator's own result have the bytes that the caller wants?
bool writes_directly(const Operator& op, const TensorInfo& made, const MutTensorView& wanted) {
    if (made.dtype != wanted.dtype || misaligned(wanted))
        return false;
    return op.numeric == Numeric::kRaw || made.quant == wanted.quant;
}

Status compute_and_convert(const Operator& op, OpContext inner, const OpContext& outer,
                           std::span<const TensorInfo> infos) {
    std::vector<MutTensorView> views(outer.outputs.size());
    std::vector<Tensor> storage(outer.outputs.size());
    for (std::size_t i = 0; i < views.size(); ++i) {
        if (!outer.outputs[i].present())
            continue;
        if (writes_directly(op, infos[i], outer.outputs[i])) {
            views[i] = {infos[i], outer.outputs[i].data};
            // A raw operator decides by the Quant of the real output.
            if (op.numeric == Numeric::kRaw)
                views[i].quant = outer.outputs[i].quant;
            continue;
        }
        RKNPU_CPU_TRY(Tensor::create(infos[i], storage[i]));
        views[i] = storage[i].mut_view();
    }
    inner.outputs = views;
    RKNPU_CPU_TRY(op.compute(inner));
    for (std::size_t i = 0; i < views.size(); ++i) {
        if (!storage[i].present())
            continue;
        MutTensorView target = outer.outputs[i];
        target.dims = infos[i].dims;
        Tensor aligned;
        if (misaligned(target)) {
            RKNPU_CPU_TRY(Tensor::create(target, aligned));
            RKNPU_CPU_TRY(convert(storage[i].view(), aligned.mut_view()));
            std::ranges::copy(aligned.bytes(), target.data.begin());
        } else {
            RKNPU_CPU_TRY(convert(storage[i].view(), target));
        }
    }
    return {};
}

Status run_checked(const Operator& op, const OpContext& context) {
    RKNPU_CPU_TRY(check_inputs(op, context, true));
    if (context.outputs.empty() || context.outputs.size() > op.max_outputs)
        return fail(context, StatusCode::kInvalidShape, "gives 1 to ", op.max_outputs,
                    " outputs, asked for ", context.outputs.size());
    Prepared prepared;
    RKNPU_CPU_TRY(prepare_inputs(op, context, prepared));
    OpContext inner = context;
    inner.inputs = prepared.views;
    inner.outputs = {};
    inner.output_count = context.outputs.size();
    std::vector<TensorInfo> infos;
    RKNPU_CPU_TRY(infer_prepared(op, inner, infos));
    RKNPU_CPU_TRY(check_outputs(context, infos));
    return compute_and_convert(op, inner, context, infos);
}

template <typename F>
Status guarded(const OpContext& context, F&& f) {
    try {
        return f();
    } catch (const std::bad_alloc&) {
        return fail(context, StatusCode::kNoMemory, "out of memory");
    } catch (const std::length_error&) {
        return fail(context, StatusCode::kNoMemory, "out of memory");
    }
}

}  // namespace

Status infer(const Operator& op, const OpContext& context, std::vector<TensorInfo>& outputs) {
    return guarded(context, [&]() -> Status {
        RKNPU_CPU_TRY(check_inputs(op, context, false));
        if (context.output_count == 0 || context.output_count > op.max_outputs)
            return fail(context, StatusCode::kInvalidShape, "gives 1 to ", op.max_outputs,
                        " outputs, asked for ", context.output_count);
        Prepared prepared;
        RKNPU_CPU_TRY(prepare_inputs(op, context, prepared));
        OpContext inner = context;
        inner.inputs = prepared.views;
        inner.outputs = {};
        std::vector<TensorInfo> infos;
        RKNPU_CPU_TRY(infer_prepared(op, inner, infos));
        if (infos.size() > context.output_count)
            infos.resize(context.output_count);
        if (prepared.widened_half && !prepared.dequantized) {
            const DType half = std::ranges::find_if(context.inputs, [](const TensorView& t) {
                                   return is_half(t.dtype);
                               })->dtype;
            for (TensorInfo& info : infos) {
                if (info.dtype == DType::kF32)
                    info.dtype = half;
            }
        }
        outputs.insert(outputs.end(), infos.begin(), infos.end());
        return {};
    });
}

Status run(const Operator& op, const OpContext& context) {
    return guarded(context, [&] { return run_checked(op, context); });
}

Status run_op(std::string_view type, const OpContext& context) {
    const Operator* op = find(type);
    if (op == nullptr)
        return {StatusCode::kUnknownOperator,
                cat("no CPU operator '", type, "'; register it as a custom operator")};
    return run(*op, context);
}

}  // namespace rknpu::cpu
