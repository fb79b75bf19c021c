// SPDX-License-Identifier: MIT
#include "api/matmul_context.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "api/attr.hpp"
#include "api/core_mask.hpp"
#include "api/memory.hpp"
#include "device/device.hpp"

namespace rknpu::api {
namespace {

using matmul::Operand;

/// Pointers below this are numbers passed by programs built for another version of a function.
constexpr uintptr_t kFirstPage = 4096;

matmul::Shape to_shape(const rknn_matmul_shape& shape) {
    return {static_cast<uint32_t>(shape.M), static_cast<uint32_t>(shape.K),
            static_cast<uint32_t>(shape.N)};
}

/// Programs built for the 24-byte structure own nothing behind AC_quant_type: group_size is read
/// only when a quantisation asks for it, iommu_domain_id never. One process has one address space.
Result<matmul::Spec> to_spec(const rknn_matmul_info& info) {
    matmul::Spec spec;
    spec.kind = matmul::find_kind(static_cast<int32_t>(info.type));
    if (spec.kind == nullptr)
        return Status::failure(Error::kInvalidArgument, "unknown matmul type {}",
                               static_cast<int>(info.type));
    spec.b_layout = static_cast<matmul::Layout>(info.B_layout);
    spec.ac_layout = static_cast<matmul::Layout>(info.AC_layout);
    spec.b_quant = static_cast<matmul::Quant>(info.B_quant_type);
    spec.ac_quant = static_cast<matmul::Quant>(info.AC_quant_type);
    if (matmul::per_group(spec.b_quant))
        spec.group_size = static_cast<uint32_t>(std::max<int>(info.group_size, 0));
    return spec;
}

void fill(const matmul::TensorInfo& info, rknn_matmul_tensor_attr& attr) {
    std::memset(&attr, 0, sizeof(attr));
    copy_text(info.name, attr.name, sizeof(attr.name));
    attr.n_dims = static_cast<uint32_t>(info.dims.size());
    std::copy(info.dims.begin(), info.dims.end(), attr.dims);
    attr.size = static_cast<uint32_t>(info.bytes);
    attr.type = to_public(info.type);
}

Result<Operand> operand_of(const char* name, size_t size) {
    const std::string_view text(name, strnlen(name, size));
    if (text == "A")
        return Operand::kA;
    if (text == "B")
        return Operand::kB;
    if (text == "C")
        return Operand::kC;
    return Status::failure(Error::kInvalidArgument, "the tensor is called '{}'; A, B and C exist",
                           text);
}

}  // namespace

Result<std::shared_ptr<MatmulContext>> MatmulContext::create(
    const rknn_matmul_info& info, std::span<const rknn_matmul_shape> shapes,
    std::span<rknn_matmul_io_attr> attrs) {
    auto spec = to_spec(info);
    if (!spec.ok())
        return spec.status();
    auto device = Device::open_default();
    if (!device.ok())
        return device.status();
    std::vector<matmul::Shape> list;
    for (const auto& shape : shapes)
        list.push_back(to_shape(shape));
    auto made = matmul::Matmul::create(std::move(device).value(), spec.value(), list);
    if (!made.ok())
        return made.status();
    const auto& used = made.value()->spec();
    for (size_t i = 0; i < list.size(); ++i) {
        fill(describe(used, list[i], Operand::kA), attrs[i].A);
        fill(describe(used, list[i], Operand::kB), attrs[i].B);
        fill(describe(used, list[i], Operand::kC), attrs[i].C);
    }
    return std::shared_ptr<MatmulContext>(new MatmulContext(std::move(made).value()));
}

Status MatmulContext::set_io_memory(const rknn_tensor_mem* pointer,
                                    const rknn_matmul_tensor_attr* attr) {
    const std::lock_guard lock(mutex_);
    auto memory = find_memory(pointer);
    if (!memory.ok())
        return memory.status();
    if (attr == nullptr)
        return Status{Error::kInvalidArgument, "attr is NULL"};
    const auto operand = operand_of(attr->name, sizeof(attr->name));
    if (!operand.ok())
        return operand.status();
    rknn_matmul_tensor_attr own;
    fill(describe(matmul_->spec(), matmul_->shape(), operand.value()), own);
    const bool same = attr->n_dims == own.n_dims &&
                      std::equal(own.dims, own.dims + own.n_dims, attr->dims) &&
                      attr->type == own.type;
    if (!same) {
        const uint32_t count = std::min<uint32_t>(attr->n_dims, RKNN_MAX_DIMS);
        return Status::failure(
            Error::kInvalidArgument,
            "{} is given as {} [{}]; {} [{}] is what the current shape has", own.name,
            get_type_string(attr->type), fmt::join(attr->dims, attr->dims + count, ","),
            get_type_string(own.type), fmt::join(own.dims, own.dims + own.n_dims, ","));
    }
    const auto& object = *memory.value();
    matmul::Buffer buffer{object.memory, object.offset, object.bytes()};
    if (buffer.bytes.empty() && !object.memory->bytes().empty())
        buffer.bytes = object.memory->bytes().subspan(object.offset, object.size);
    return matmul_->bind(operand.value(), std::move(buffer));
}

Status MatmulContext::set_core_mask(uint32_t mask) {
    const std::lock_guard lock(mutex_);
    const auto wanted = check_core_mask(device()->info(), mask);
    return wanted.ok() ? matmul_->set_cores(wanted.value()) : wanted.status();
}

Status MatmulContext::set_quant_params(const rknn_quant_params& params) {
    const std::lock_guard lock(mutex_);
    const auto operand = operand_of(params.name, sizeof(params.name));
    if (!operand.ok())
        return operand.status();
    if (params.scale == nullptr || params.scale_len <= 0)
        return Status::failure(Error::kInvalidArgument, "{} scales at {}", params.scale_len,
                               static_cast<const void*>(params.scale));
    const std::span scales(params.scale, static_cast<size_t>(params.scale_len));
    std::span<const int32_t> zeros;
    if (params.zp != nullptr && params.zp_len > 0)
        zeros = {params.zp, static_cast<size_t>(params.zp_len)};
    return matmul_->set_parameters(operand.value(), scales, zeros);
}

Status MatmulContext::get_quant_params(rknn_quant_params& params, float& scale) {
    const std::lock_guard lock(mutex_);
    std::vector<float> scales;
    const auto largest = matmul_->normalised_scales(scales);
    if (!largest.ok())
        return largest.status();
    // The caller brings the array; without one it learns the length.
    if (params.scale != nullptr) {
        if (params.scale_len < static_cast<int32_t>(scales.size()))
            return Status::failure(Error::kInvalidArgument,
                                   "there is room for {} scales, {} are needed", params.scale_len,
                                   scales.size());
        std::copy(scales.begin(), scales.end(), params.scale);
    }
    params.scale_len = static_cast<int32_t>(scales.size());
    scale = largest.value();
    return {};
}

Status MatmulContext::set_dynamic_shape(const rknn_matmul_shape& shape) {
    const std::lock_guard lock(mutex_);
    return matmul_->choose(to_shape(shape));
}

Status MatmulContext::run() {
    const std::lock_guard lock(mutex_);
    return matmul_->run();
}

Status convert_b_to_native(const void* input, void* output, int k, int n,
                           const rknn_matmul_info* info) {
    if (input == nullptr || output == nullptr || reinterpret_cast<uintptr_t>(info) < kFirstPage)
        return Status{Error::kInvalidArgument,
                      "input, output or info is no pointer (the function has five arguments)"};
    auto spec = to_spec(*info);
    if (!spec.ok())
        return spec.status();
    spec->b_layout = matmul::Layout::kNative;
    spec->b_quant = matmul::Quant::kLayerSym;
    spec->ac_layout = matmul::Layout::kNormal;
    spec->ac_quant = matmul::Quant::kLayerSym;
    // Where K is cut depends on the chip; without a device it is RK3588.
    const auto device = Device::open_default();
    const auto* limits = matmul::find_limits(device.ok() ? device.value()->info().soc : "rk3588");
    if (limits != nullptr)
        spec->k_segment = limits->k_segment;
    const matmul::Shape shape{1, static_cast<uint32_t>(k), static_cast<uint32_t>(n)};
    if (auto status = check_shape(spec.value(), shape); !status.ok())
        return status;
    const uint64_t bytes = describe(spec.value(), shape, Operand::kB).bytes;
    const auto size = static_cast<size_t>(bytes);
    if (size != bytes)
        return Status::failure(Error::kInvalidArgument, "no buffer holds the {} bytes of B", bytes);
    normal_to_native_b(spec.value(), shape, {static_cast<const std::byte*>(input), size},
                       {static_cast<std::byte*>(output), size});
    return {};
}

}  // namespace rknpu::api
