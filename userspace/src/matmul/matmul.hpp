// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "matmul/finish.hpp"
#include "matmul/program.hpp"

namespace rknpu::matmul {

/// Memory of the caller: what the NPU sees and what the CPU sees.
struct Buffer {
    std::shared_ptr<DeviceMemory> memory;
    uint64_t offset = 0;         ///< of the buffer in `memory`
    std::span<std::byte> bytes;  ///< may be longer than needed
};

/// Scales and zero points of one operand.
struct Parameters {
    std::vector<float> scales{1.0f};
    std::vector<int32_t> zeros{0};
};

/// A multiplication with its buffers. Not thread safe: its owner locks.
class Matmul {
 public:
    /// `shapes` are the ones choose() may ask for; the first one is current.
    /// Errors: kInvalidArgument for what the chip does not take, kNoMemory.
    static Result<std::unique_ptr<Matmul>> create(std::shared_ptr<Device> device, const Spec& spec,
                                                  std::vector<Shape> shapes);

    const Spec& spec() const { return spec_; }
    const Shape& shape() const { return shape_; }
    const std::shared_ptr<Device>& device() const { return device_; }

    /// Makes another shape current; all three operands have to be bound again, and scales and zero
    /// points of B given again unless they fit this shape as well. An error changes nothing.
    Status choose(const Shape& shape);

    /// Takes over A or B as it is now; C is written by later runs. The buffer stays in use. An
    /// error leaves the buffer before it in use, or none.
    Status bind(Operand operand, Buffer buffer);

    /// Core mask as in rknn_set_core_mask, already checked.
    Status set_cores(uint32_t mask);

    /// Nothing of the lists is read unless they have the lengths that the shape wants.
    Status set_parameters(Operand operand, std::span<const float> scales,
                          std::span<const int32_t> zeros);
    /// int8 x int8 -> int32 with scales per channel: the scales of B over the largest one, and
    /// that.
    Result<float> normalised_scales(std::vector<float>& scales) const;

    Status run();

    uint64_t last_hw_ns() const { return last_hw_ns_; }

 private:
    Matmul(std::shared_ptr<Device> device, const Spec& spec, std::vector<Shape> shapes);

    Result<std::unique_ptr<Program>> make_program(const Shape& shape, uint32_t mask) const;
    Result<Buffer> place(const Buffer& given, bool same_form, uint64_t size,
                         std::shared_ptr<DeviceMemory>& kept) const;
    Status take(Operand operand, Buffer given);
    void prepare_a(std::span<const std::byte> from, bool direct);
    void prepare_b(std::span<const std::byte> from, bool direct);
    Status place_sums(const Buffer& c);
    Status bind_program(Operand operand, const Buffer& used);
    Result<std::shared_ptr<DeviceMemory>> allocate(uint64_t size) const;
    void keep_parameters(const Shape& shape);
    void update_factors();
    Status multiply(bool direct);
    void finish_into(std::span<std::byte> target) const;
    bool sums_are_c() const;
    Buffer& buffer(Operand operand) { return buffers_[static_cast<size_t>(operand)]; }
    Parameters& parameters(Operand operand) { return parameters_[static_cast<size_t>(operand)]; }

    std::shared_ptr<Device> device_;
    Spec spec_;
    Work work_;
    bool on_npu_;
    std::vector<Shape> shapes_;
    Shape shape_;
    uint32_t mask_ = 0;
    std::unique_ptr<Program> program_;  // null on chips whose NPU cannot
    std::array<Buffer, 3> buffers_;
    std::array<uint64_t, 3> addresses_{};  // of the bound operands as the NPU has them
    std::array<Parameters, 3> parameters_;
    bool dropped_ = false;  // parameters of B that did not fit the current shape
    std::shared_ptr<DeviceMemory> work_a_, work_b_, sums_;  // sizes of the largest shape
    std::array<std::span<std::byte>, 3> work_bytes_;        // A, B and sums as the NPU has them
    std::vector<int32_t> row_sums_, column_sums_;
    std::vector<double> factors_;  // empty: 1
    uint64_t last_hw_ns_ = 0;
};

}  // namespace rknpu::matmul
