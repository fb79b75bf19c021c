// SPDX-License-Identifier: MIT
#include "api/custom_ops.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "api/attr.hpp"
#include "api/memory.hpp"
#include "api/opencl.hpp"
#include "api/plugins.hpp"
#include "core/log.hpp"

namespace rknpu::api {
namespace {

DataType type_for_callback(DataType type) {
    switch (type) {
        case DataType::kInt64:
        case DataType::kInt32:
        case DataType::kBool:
            return type;
        default:
            return DataType::kFloat32;
    }
}

cpu::DType cpu_type(DataType type) {
    switch (type) {
        case DataType::kInt64:
            return cpu::DType::kI64;
        case DataType::kInt32:
            return cpu::DType::kI32;
        case DataType::kBool:
            return cpu::DType::kBool;
        default:
            return cpu::DType::kF32;
    }
}

/// What the callbacks of one node see.
struct NodeState {
    NodeState() = default;
    NodeState(const NodeState&) = delete;
    NodeState& operator=(const NodeState&) = delete;
    ~NodeState() {
        for (const auto* list : {&inputs, &outputs}) {
            for (const auto& tensor : *list)
                take_back_memory(&tensor.mem);
        }
    }

    const GraphNode* node = nullptr;
    rknn_custom_op_context context{};
    std::vector<std::shared_ptr<Memory>> storage;  // of the inputs, then of the outputs
    std::vector<rknn_custom_op_tensor> inputs;
    std::vector<rknn_custom_op_tensor> outputs;
    std::map<std::string, std::vector<std::byte>> attribute_data;
};

/// Operands lie in memory with a descriptor, so that a GPU can import them.
Result<rknn_custom_op_tensor> make_tensor(const std::shared_ptr<Device>& device,
                                          const GraphTensor& tensor, uint32_t index,
                                          NodeState& state) {
    rknn_custom_op_tensor out{};
    fill_attr(tensor, index, TensorView::kModelOutput, out.attr);
    const DataType type = type_for_callback(tensor.type);
    out.attr.type = to_public(type);
    out.attr.size = static_cast<uint32_t>(bytes_of(type, out.attr.n_elems));
    out.attr.size_with_stride = out.attr.size;
    MemoryRequest request;
    request.size = std::max<uint64_t>(out.attr.size, 1);
    auto memory = device->allocate(request);
    if (!memory.ok())
        return memory.status();
    auto& kept = *state.storage.emplace_back(std::make_shared<Memory>());
    kept.memory = std::move(memory).value();
    kept.device = device;
    kept.size = out.attr.size;
    kept.start = kept.memory->bytes().data();
    out.mem.virt_addr = kept.start;
    out.mem.phys_addr = kept.memory->device_address();
    out.mem.fd = kept.memory->fd();
    out.mem.size = out.attr.size;
    out.mem.flags = RKNN_TENSOR_MEMORY_FLAGS_ALLOC_INSIDE;
    return out;
}

cpu::MutTensorView callback_view(const rknn_custom_op_tensor& tensor, const cpu::TensorInfo& like) {
    cpu::MutTensorView view;
    view.dtype = cpu_type(*from_public(tensor.attr.type));
    view.dims = like.dims;
    view.data = {static_cast<std::byte*>(tensor.mem.virt_addr) + tensor.mem.offset,
                 tensor.attr.size};
    return view;
}

class Kernel final : public CpuKernel {
 public:
    explicit Kernel(const rknn_custom_op& op) : op_(op) {}

    ~Kernel() override {
        for (auto& [index, state] : states_) {
            if (op_.destroy != nullptr)
                op_.destroy(&state->context);
        }
    }

    /// For the GPU: builds the operator's kernel.
    Status open() {
        if (op_.target != RKNN_TARGET_TYPE_GPU)
            return {};
        auto kernel = build_kernel(op_);
        if (!kernel.ok())
            return Status::failure(kernel.status().error(),
                                   "custom operator '{}' wants the GPU: {}", op_.op_type,
                                   kernel.status().text());
        gpu_ = std::move(kernel).value();
        return {};
    }

    /// Returns what init said about the node.
    Result<int> start(const std::shared_ptr<Device>& device, const JobGraph& graph,
                      uint32_t index) {
        auto state = std::make_unique<NodeState>();
        state->node = &graph.nodes[index];
        state->context.target = op_.target;
        if (gpu_ != nullptr)
            state->context.gpu_ctx = gpu_->handles();
        state->context.internal_ctx =
            static_cast<rknn_custom_op_interal_context>(reinterpret_cast<uintptr_t>(state.get()));
        for (const bool input : {true, false}) {
            const auto& list = input ? state->node->inputs : state->node->outputs;
            auto& to = input ? state->inputs : state->outputs;
            for (const int32_t tensor : list) {
                const auto& info = graph.tensors[static_cast<size_t>(tensor)];
                if (input && !is_operand(info))
                    continue;
                auto made = make_tensor(device, info, static_cast<uint32_t>(to.size()), *state);
                if (!made.ok())
                    return made.status();
                to.push_back(made.value());
            }
        }
        lend_operands(*state);
        int result = 0;
        if (op_.init != nullptr)
            result = op_.init(&state->context, state->inputs.data(), count(state->inputs),
                              state->outputs.data(), count(state->outputs));
        if (result == 0)
            states_.emplace(index, std::move(state));
        return result;
    }

    /// Memory of a node's operands.
    uint64_t dma_bytes(uint32_t node) const {
        uint64_t total = 0;
        for (const auto& memory : states_.at(node)->storage)
            total += memory->memory->size();
        return total;
    }

    Status run(uint32_t node, std::span<const cpu::TensorView> inputs,
               std::span<const cpu::MutTensorView> outputs) override {
        auto& state = *states_.at(node);
        const auto present = [](const cpu::TensorView& input) { return input.present(); };
        const auto given = static_cast<size_t>(std::ranges::count_if(inputs, present));
        if (given != state.inputs.size() || outputs.size() != state.outputs.size())
            return Status{Error::kFail, "operands of the custom operator changed"};
        auto to = state.inputs.begin();
        for (const auto& input : inputs) {
            if (!present(input))
                continue;
            const auto view = callback_view(*to++, input);
            if (const auto done = cpu::convert(input, view); !done.ok())
                return {Error::kFail, done.text()};
        }
        if (auto s = sync_for_gpu(state, SyncDirection::kToDevice); !s.ok())
            return s;
        if (auto status = call("prepare", op_.prepare, state); !status.ok())
            return status;
        if (auto status = call("compute", op_.compute, state); !status.ok())
            return status;
        if (auto s = sync_for_gpu(state, SyncDirection::kFromDevice); !s.ok())
            return s;
        for (size_t i = 0; i < outputs.size(); ++i) {
            const auto view = callback_view(state.outputs[i], outputs[i]);
            cpu::TensorView from;
            static_cast<cpu::TensorInfo&>(from) = view;
            from.data = view.data;
            if (const auto done = cpu::convert(from, outputs[i]); !done.ok())
                return {Error::kFail, done.text()};
        }
        return {};
    }

 private:
    using Callback = int (*)(rknn_custom_op_context*, rknn_custom_op_tensor*, uint32_t,
                             rknn_custom_op_tensor*, uint32_t);

    static uint32_t count(const std::vector<rknn_custom_op_tensor>& list) {
        return static_cast<uint32_t>(list.size());
    }

    /// So that rknn_mem_sync() takes them in the callbacks.
    static void lend_operands(const NodeState& state) {
        auto memory = state.storage.begin();
        for (const auto* list : {&state.inputs, &state.outputs}) {
            for (const auto& tensor : *list)
                lend_memory(&tensor.mem, *memory++);
        }
    }

    /// The GPU works on memory, conversions in the cache. Nothing may stay there that would be
    /// written over results later, and an operator may let the CPU write some of them: outputs go
    /// both ways.
    Status sync_for_gpu(const NodeState& state, SyncDirection direction) const {
        for (size_t i = 0; gpu_ != nullptr && i < state.storage.size(); ++i) {
            const bool input = i < state.inputs.size();
            if (input && direction == SyncDirection::kFromDevice)
                continue;
            const auto& memory = *state.storage[i];
            if (auto status = memory.device->sync(*memory.memory, 0, memory.size,
                                                  input ? direction : SyncDirection::kBoth);
                !status.ok())
                return status;
        }
        return {};
    }

    Status call(std::string_view what, Callback callback, NodeState& state) {
        if (callback == nullptr)
            return {};
        const int result = callback(&state.context, state.inputs.data(), count(state.inputs),
                                    state.outputs.data(), count(state.outputs));
        if (result < 0)
            return Status::failure(Error::kFail, "{} of the custom operator '{}' returned {}", what,
                                   op_.op_type, result);
        return {};
    }

    rknn_custom_op op_;
    std::unique_ptr<OpenClKernel> gpu_;
    std::map<uint32_t, std::unique_ptr<NodeState>> states_;
};

Status check_op(const rknn_custom_op& op, const std::set<std::string>& known) {
    const std::string type(op.op_type, strnlen(op.op_type, sizeof(op.op_type)));
    if (type.empty() || type.size() == sizeof(op.op_type))
        return Status{Error::kInvalidArgument, "a custom operator has no type name"};
    if (op.target != RKNN_TARGET_TYPE_CPU && op.target != RKNN_TARGET_TYPE_GPU)
        return Status::failure(Error::kInvalidArgument, "custom operator '{}' has the target {}",
                               type, static_cast<int>(op.target));
    if (op.compute == nullptr)
        return Status::failure(Error::kInvalidArgument,
                               "custom operator '{}' has no compute function", type);
    if (known.contains(type))
        return Status::failure(Error::kInvalidArgument,
                               "custom operator '{}' is registered already", type);
    return {};
}

}  // namespace

Status CustomOps::add_plugins() {
    for (const auto& op : plugin_operators()) {
        if (steps_.nodes_of(op.op_type).empty())
            continue;
        if (auto status = add({&op, 1}); !status.ok())
            return status;
    }
    return {};
}

Status CustomOps::add(std::span<const rknn_custom_op> ops) {
    // More types than any model has: the number is no number of operators.
    constexpr size_t kMost = 4096;
    if (ops.empty() || ops.size() > kMost)
        return Status::failure(Error::kInvalidArgument, "{} custom operators, allowed are 1 to {}",
                               ops.size(), kMost);
    auto types = types_;
    std::vector<std::pair<uint32_t, std::shared_ptr<Kernel>>> kernels;
    for (const auto& op : ops) {
        if (auto status = check_op(op, types); !status.ok())
            return status;
        const std::string type = op.op_type;
        types.insert(type);
        const auto nodes = steps_.nodes_of(type);
        if (nodes.empty())
            log(LogLevel::kWarning, "the model has no CPU node of type '{}'", type);
        auto kernel = std::make_shared<Kernel>(op);
        if (auto status = kernel->open(); !status.ok())
            return status;
        for (const uint32_t node : nodes) {
            const auto started = kernel->start(device_, graph_, node);
            if (!started.ok())
                return started.status();
            const int result = started.value();
            const bool built_in = steps_.has_built_in(node);
            if (result == 0)
                kernels.emplace_back(node, kernel);
            else if (result != RKNN_WARNING_SKIP_CUSTOM_OP_COMPUTE || !built_in)
                return Status::failure(
                    Error::kFail, "init of the custom operator '{}' returned {}{}", type, result,
                    result == RKNN_WARNING_SKIP_CUSTOM_OP_COMPUTE ? ", but there is no built-in one"
                                                                  : "");
        }
    }
    for (auto& [node, kernel] : kernels) {
        dma_bytes_ += kernel->dma_bytes(node);
        steps_.replace(node, std::move(kernel));
    }
    types_ = std::move(types);
    return {};
}

void get_custom_attribute(const rknn_custom_op_context* context, const char* name,
                          rknn_custom_op_attr* attr) {
    if (attr == nullptr)
        return;
    *attr = {};
    if (context == nullptr || name == nullptr || context->internal_ctx == 0)
        return;
    copy_text(name, attr->name, sizeof(attr->name));
    auto* state = reinterpret_cast<NodeState*>(static_cast<uintptr_t>(context->internal_ctx));
    auto& data = state->attribute_data[name];
    const auto give = [&](const void* start, size_t count, size_t width, rknn_tensor_type type) {
        data.assign(static_cast<const std::byte*>(start),
                    static_cast<const std::byte*>(start) + count * width);
        attr->dtype = type;
        attr->n_elems = static_cast<uint32_t>(count);
        attr->data = data.data();
    };
    const std::string_view wanted = name;
    if (wanted == "name")
        return give(state->node->name.data(), state->node->name.size(), 1, RKNN_TENSOR_UINT8);
    const auto found = state->node->attributes.find(wanted);
    if (found == state->node->attributes.end())
        return;
    if (const auto* integers = std::get_if<std::vector<int64_t>>(&found->second))
        return give(integers->data(), integers->size(), sizeof(int64_t), RKNN_TENSOR_INT64);
    if (const auto* reals = std::get_if<std::vector<float>>(&found->second))
        return give(reals->data(), reals->size(), sizeof(float), RKNN_TENSOR_FLOAT32);
    const auto& text = std::get<std::string>(found->second);
    give(text.data(), text.size(), 1, RKNN_TENSOR_UINT8);
}

}  // namespace rknpu::api
