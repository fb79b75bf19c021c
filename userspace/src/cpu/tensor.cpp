// SPDX-License-Identifier: MIT
#include "tensor.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace rknpu::cpu {

std::size_t dtype_size(DType type) {
    switch (type) {
        case DType::kU8:
        case DType::kI8:
        case DType::kBool:
            return 1;
        case DType::kU16:
        case DType::kI16:
        case DType::kF16:
        case DType::kBf16:
            return 2;
        case DType::kF32:
        case DType::kI32:
        case DType::kU32:
            return 4;
        case DType::kF64:
        case DType::kI64:
        case DType::kU64:
            return 8;
        case DType::kNone:
            return 0;
    }
    return 0;
}

std::string_view dtype_name(DType type) {
    switch (type) {
        case DType::kNone:
            return "none";
        case DType::kF32:
            return "float32";
        case DType::kU8:
            return "uint8";
        case DType::kI8:
            return "int8";
        case DType::kU16:
            return "uint16";
        case DType::kI16:
            return "int16";
        case DType::kI32:
            return "int32";
        case DType::kI64:
            return "int64";
        case DType::kBool:
            return "bool";
        case DType::kF16:
            return "float16";
        case DType::kF64:
            return "float64";
        case DType::kU32:
            return "uint32";
        case DType::kU64:
            return "uint64";
        case DType::kBf16:
            return "bfloat16";
    }
    return "unknown";
}

bool dtype_is_float(DType type) {
    return type == DType::kF32 || type == DType::kF16 || type == DType::kBf16 ||
           type == DType::kF64;
}

std::optional<DType> dtype_from_onnx(std::int64_t code) {
    if (code < 1 || code > 16)
        return std::nullopt;
    const DType type = static_cast<DType>(code);
    if (dtype_size(type) == 0)
        return std::nullopt;
    return type;
}

Dims::Dims(std::initializer_list<std::int64_t> dims) {
    for (std::int64_t d : dims) {
        if (!push_back(d))
            break;
    }
}

namespace {
template <typename T>
std::optional<Dims> dims_from(std::span<const T> values) {
    Dims dims;
    for (T v : values) {
        if (static_cast<std::int64_t>(v) < 0 || !dims.push_back(static_cast<std::int64_t>(v)))
            return std::nullopt;
    }
    return dims;
}
}  // namespace

std::optional<Dims> Dims::from(std::span<const std::int64_t> dims) {
    return dims_from(dims);
}

std::optional<Dims> Dims::from(std::span<const std::int32_t> dims) {
    return dims_from(dims);
}

std::optional<Dims> Dims::from(std::span<const std::uint32_t> dims) {
    return dims_from(dims);
}

bool Dims::push_back(std::int64_t dim) {
    if (rank_ == kMaxRank)
        return false;
    dims_[rank_++] = dim;
    return true;
}

void Dims::resize(std::size_t rank, std::int64_t fill) {
    rank = std::min(rank, kMaxRank);
    for (std::size_t i = rank_; i < rank; ++i)
        dims_[i] = fill;
    rank_ = rank;
}

std::optional<std::int64_t> Dims::checked_elements() const {
    // A zero anywhere makes the tensor empty, but the other factors must stay sane as well, since
    // partial products are used as strides.
    std::int64_t product = 1;
    bool empty = false;
    for (std::int64_t d : span()) {
        if (d < 0)
            return std::nullopt;
        if (d == 0) {
            empty = true;
            continue;
        }
        if (product > kMaxElements / d)
            return std::nullopt;
        product *= d;
    }
    return empty ? 0 : product;
}

std::int64_t Dims::product(std::size_t first, std::size_t last) const {
    std::int64_t result = 1;
    for (std::size_t i = first; i < last; ++i)
        result *= dims_[i];
    return result;
}

bool Dims::operator==(const Dims& other) const {
    return std::ranges::equal(span(), other.span());
}

std::string Dims::text() const {
    std::string out = "[";
    for (std::size_t i = 0; i < rank_; ++i) {
        if (i != 0)
            out += ',';
        out += std::to_string(dims_[i]);
    }
    return out + "]";
}

Status Tensor::create(const TensorInfo& info, Tensor& out) {
    const std::optional<std::int64_t> count = info.dims.checked_elements();
    const std::size_t size = dtype_size(info.dtype);
    if (size == 0)
        return {StatusCode::kInvalidType, "tensor without an element type"};
    if (!count || static_cast<std::uint64_t>(*count) >
                      static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()) / size)
        return {StatusCode::kTooLarge, cat("tensor ", info.dims.text(),
                                           " has too many elements (limit ", kMaxElements, ")")};
    const std::size_t bytes = static_cast<std::size_t>(*count) * size;
    void* memory =
        ::operator new[](bytes + (bytes == 0), std::align_val_t{kAlignment}, std::nothrow);
    if (memory == nullptr)
        return {StatusCode::kNoMemory, cat("no memory for a tensor of ", bytes, " bytes")};
    std::memset(memory, 0, bytes);
    out.data_.reset(static_cast<std::byte*>(memory));
    out.size_ = bytes;
    out.info_ = info;
    return {};
}

Status Tensor::create(const TensorInfo& info, std::span<const std::byte> bytes, Tensor& out) {
    Tensor made;
    RKNPU_CPU_TRY(create(info, made));
    if (bytes.size() != made.size_)
        return {StatusCode::kInvalidShape,
                cat("tensor ", info.dims.text(), " of ", dtype_name(info.dtype), " needs ",
                    made.size_, " bytes, got ", bytes.size())};
    if (!bytes.empty())
        std::memcpy(made.data_.get(), bytes.data(), bytes.size());
    out = std::move(made);
    return {};
}

}  // namespace rknpu::cpu
