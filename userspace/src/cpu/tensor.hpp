// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "status.hpp"

namespace rknpu::cpu {

inline constexpr std::size_t kMaxRank = 16;  // RKNN_MAX_DIMS of the public C API
/// Upper bound for the elements of one tensor: every index product then fits int64_t with room.
inline constexpr std::int64_t kMaxElements = (std::int64_t{1} << 31) - 1;

/// Element types. The values are ONNX TensorProto codes, which .rknn files use too, except that
/// code 13 of a .rknn file means "blob" and never reaches this library.
enum class DType : std::uint8_t {
    kNone = 0,  // also marks an optional input or output that is absent
    kF32 = 1,
    kU8 = 2,
    kI8 = 3,
    kU16 = 4,
    kI16 = 5,
    kI32 = 6,
    kI64 = 7,
    kBool = 9,
    kF16 = 10,
    kF64 = 11,
    kU32 = 12,
    kU64 = 13,
    kBf16 = 16,
};

/// Bytes of one element; 0 for kNone and for codes that are no DType.
std::size_t dtype_size(DType type);
/// Short name for messages, for example "int8"; never null.
std::string_view dtype_name(DType type);
/// kF16, kBf16, kF32 or kF64.
bool dtype_is_float(DType type);
/// The DType of an ONNX TensorProto code, or nothing when we have no such type (strings, complex).
std::optional<DType> dtype_from_onnx(std::int64_t code);

/// A shape: up to kMaxRank dimensions, none negative. Rank 0 is a scalar with one element.
class Dims {
 public:
    Dims() = default;
    /// For literals in our own code; entries above kMaxRank are dropped.
    Dims(std::initializer_list<std::int64_t> dims);
    /// Nothing if there are more than kMaxRank entries or one is negative.
    static std::optional<Dims> from(std::span<const std::int64_t> dims);
    static std::optional<Dims> from(std::span<const std::int32_t> dims);
    static std::optional<Dims> from(std::span<const std::uint32_t> dims);

    std::size_t rank() const { return rank_; }
    std::int64_t operator[](std::size_t i) const { return dims_[i]; }
    std::int64_t& operator[](std::size_t i) { return dims_[i]; }
    const std::int64_t* begin() const { return dims_.data(); }
    const std::int64_t* end() const { return dims_.data() + rank_; }
    std::span<const std::int64_t> span() const { return {dims_.data(), rank_}; }

    /// False, and no change, if the rank is already kMaxRank.
    [[nodiscard]] bool push_back(std::int64_t dim);
    /// Sets the rank (clamped to kMaxRank); new entries are `fill`.
    void resize(std::size_t rank, std::int64_t fill = 1);

    /// Product of all dimensions, or nothing if one is negative or the product exceeds
    /// kMaxElements.
    std::optional<std::int64_t> checked_elements() const;
    /// Product of the dimensions [first, last) of a shape that checked_elements() accepts.
    std::int64_t product(std::size_t first, std::size_t last) const;
    std::int64_t elements() const { return product(0, rank_); }

    bool operator==(const Dims& other) const;
    /// "[1,3,224,224]"
    std::string text() const;

 private:
    std::array<std::int64_t, kMaxRank> dims_{};
    std::size_t rank_ = 0;
};

/// Affine quantisation: real = scale * (code - zero_point).
struct Quant {
    float scale = 1.0F;
    std::int32_t zero_point = 0;
    bool operator==(const Quant&) const = default;
};

struct TensorInfo {
    DType dtype = DType::kNone;
    Dims dims;
    std::optional<Quant> quant;  // only with an integer dtype

    bool present() const { return dtype != DType::kNone; }
    std::int64_t elements() const { return dims.elements(); }
    std::size_t bytes() const { return static_cast<std::size_t>(elements()) * dtype_size(dtype); }
};

/// A tensor somebody else owns, row-major and dense in the order of `dims`, to be read. `data` may
/// be empty during shape inference, meaning "contents not known yet".
struct TensorView : TensorInfo {
    std::span<const std::byte> data;

    /// The elements as T; the caller has checked that T matches dtype.
    template <typename T>
    std::span<const T> as() const {
        return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
    }
};

/// A tensor somebody else owns, to be written.
struct MutTensorView : TensorInfo {
    std::span<std::byte> data;

    template <typename T>
    std::span<T> as() const {
        return {reinterpret_cast<T*>(data.data()), data.size() / sizeof(T)};
    }
};

/// A tensor that owns its bytes (aligned to 64). Movable, not copyable except by clone().
class Tensor {
 public:
    static constexpr std::size_t kAlignment = 64;

    Tensor() = default;
    /// kTooLarge or kNoMemory if the shape is out of bounds; the contents are zero.
    static Status create(const TensorInfo& info, Tensor& out);
    /// As create(), with `bytes` as contents; their number must match the shape.
    static Status create(const TensorInfo& info, std::span<const std::byte> bytes, Tensor& out);
    Status clone(Tensor& out) const { return create(info_, bytes(), out); }

    const TensorInfo& info() const { return info_; }
    bool present() const { return info_.present(); }
    std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
    std::span<std::byte> bytes() { return {data_.get(), size_}; }
    TensorView view() const { return {info_, bytes()}; }
    MutTensorView mut_view() { return {info_, bytes()}; }

 private:
    struct Free {
        void operator()(std::byte* p) const {
            ::operator delete[](p, std::align_val_t{kAlignment});
        }
    };
    TensorInfo info_;
    std::unique_ptr<std::byte[], Free> data_;
    std::size_t size_ = 0;
};

}  // namespace rknpu::cpu
