// SPDX-License-Identifier: MIT
#include "matmul/matmul.hpp"

#include <algorithm>
#include <bit>

#include "core/limits.hpp"
#include "core/log.hpp"

namespace rknpu::matmul {
namespace {

bool needs_integer_sums(DataType type) {
    return type == DataType::kInt8 || type == DataType::kInt4;
}

Status missing(std::string_view operand) {
    return Status::failure(Error::kInvalidContext,
                           "{} has no memory: call rknn_matmul_set_io_mem first", operand);
}

constexpr std::string_view name_of(Operand operand) {
    return operand == Operand::kA ? "A" : operand == Operand::kB ? "B" : "C";
}

}  // namespace

Matmul::Matmul(std::shared_ptr<Device> device, const Spec& spec, std::vector<Shape> shapes)
    : device_(std::move(device)),
      spec_(spec),
      work_(work_of(spec)),
      on_npu_(true),
      shapes_(std::move(shapes)),
      shape_(shapes_.front()) {}

Result<std::unique_ptr<Matmul>> Matmul::create(std::shared_ptr<Device> device, const Spec& spec,
                                               std::vector<Shape> shapes) {
    const auto& soc = device->info().soc;
    const Limits* limits = find_limits(soc);
    const bool known = limits != nullptr && std::find(limits->kinds.begin(), limits->kinds.end(),
                                                      spec.kind->code) != limits->kinds.end();
    if (!known)
        return Status::failure(Error::kInvalidArgument, "{}: {} is not available on {}",
                               to_string(Reason::kTypeUnsupported), spec.kind->name, soc);
    Spec own = spec;
    own.k_segment = limits->k_segment;
    if (auto status = check_spec(own); !status.ok())
        return status;
    for (const auto& shape : shapes) {
        if (auto status = check_shape(own, shape); !status.ok())
            return status;
    }
    std::unique_ptr<Matmul> out(new Matmul(std::move(device), own, std::move(shapes)));
    if (!limits->npu) {
        out->on_npu_ = false;
        if (auto status = fall_back_to_cpu(
                fmt::format("the matmul {} on {}", own.kind->name, soc), Reason::kCombination,
                "of its NPU only tasks with int8 results are known, a matmul needs 32-bit sums");
            !status.ok())
            return status;
    }
    auto program = out->make_program(out->shape_, 0);
    if (!program.ok())
        return program.status();
    out->program_ = std::move(program).value();
    return out;
}

Result<std::shared_ptr<DeviceMemory>> Matmul::allocate(uint64_t size) const {
    MemoryRequest request;
    request.size = size;
    auto memory = device_->allocate(request);
    if (!memory.ok())
        return memory.status();
    return std::shared_ptr<DeviceMemory>(std::move(memory).value());
}

/// Commands for a shape and a number of cores; null on chips whose NPU cannot.
Result<std::unique_ptr<Program>> Matmul::make_program(const Shape& shape, uint32_t mask) const {
    if (!on_npu_)
        return std::unique_ptr<Program>();
    const auto cores = static_cast<uint32_t>(std::max(1, std::popcount(mask)));
    return Program::create(device_, work_, shape, spec_.k_segment, cores);
}

Status Matmul::choose(const Shape& shape) {
    if (std::find(shapes_.begin(), shapes_.end(), shape) == shapes_.end()) {
        std::string list;
        for (const auto& item : shapes_)
            list += fmt::format("{}[{}, {}, {}]", list.empty() ? "" : ", ", item.m, item.k, item.n);
        return Status::failure(Error::kInvalidArgument,
                               "M, K, N = [{}, {}, {}] is none of the shapes given at creation: {}",
                               shape.m, shape.k, shape.n, list);
    }
    if (shape == shape_)
        return {};
    auto program = make_program(shape, mask_);
    if (!program.ok())
        return program.status();
    program_ = std::move(program).value();
    buffers_ = {};
    keep_parameters(shape);
    shape_ = shape;
    update_factors();
    return {};
}

/// Scales and zero points stay where the new shape has a place for each of them.
void Matmul::keep_parameters(const Shape& shape) {
    auto& of_b = parameters(Operand::kB);
    const bool one_for_all = of_b.scales.size() == 1 && of_b.zeros.size() == 1;
    const bool fit = shape.n == shape_.n && (!per_group(spec_.b_quant) || shape.k == shape_.k);
    if (one_for_all || fit)
        return;
    of_b = {};
    dropped_ = true;
}

Status Matmul::bind(Operand operand, Buffer given) {
    const auto info = describe(spec_, shape_, operand);
    if (given.bytes.size() < info.bytes)
        return Status::failure(Error::kInvalidArgument,
                               "the memory for {} has {} bytes, {} are needed", info.name,
                               given.bytes.size(), info.bytes);
    given.bytes = given.bytes.first(info.bytes);
    if (operand != Operand::kC)
        return take(operand, std::move(given));
    if (auto status = place_sums(given); !status.ok())
        return status;
    buffer(operand) = std::move(given);
    return {};
}

/// Where the NPU reads or writes an operand: the caller's buffer, or one of `size` bytes in `kept`.
/// Errors leave everything as it is.
Result<Buffer> Matmul::place(const Buffer& given, bool same_form, uint64_t size,
                             std::shared_ptr<DeviceMemory>& kept) const {
    // The engines want addresses that are multiples of 16.
    if (same_form && (given.memory->device_address() + given.offset) % 16 == 0)
        return given;
    if (kept == nullptr || kept->size() < size) {
        auto made = allocate(size);
        if (!made.ok())
            return made.status();
        kept = std::move(made).value();
    }
    return Buffer{kept, 0, kept->bytes()};
}

Status Matmul::take(Operand operand, Buffer given) {
    const bool is_a = operand == Operand::kA;
    const uint64_t size = uint64_t{is_a ? shape_.m : shape_.n} * shape_.k * bytes_of(work_);
    auto used = place(given, is_work_form(spec_, operand), size, is_a ? work_a_ : work_b_);
    if (!used.ok())
        return used.status();
    // From here on what was bound before is gone.
    buffer(operand) = {};
    const bool direct = used->memory == given.memory;
    is_a ? prepare_a(given.bytes, direct) : prepare_b(given.bytes, direct);
    work_bytes_[static_cast<size_t>(operand)] = used->bytes;
    if (auto status = device_->sync(*used->memory, used->offset, size, SyncDirection::kToDevice);
        !status.ok())
        return status;
    if (auto status = bind_program(operand, *used); !status.ok())
        return status;
    buffer(operand) = std::move(given);
    return {};
}

void Matmul::prepare_a(std::span<const std::byte> from, bool direct) {
    if (needs_integer_sums(spec_.kind->a) && !symmetric(spec_.b_quant)) {
        row_sums_.resize(shape_.m);
        sum_rows_of_a(spec_, shape_, from, row_sums_);
    }
    if (!direct)
        pack_a(spec_, shape_, from, parameters(Operand::kA).zeros[0], work_a_->bytes());
}

void Matmul::prepare_b(std::span<const std::byte> from, bool direct) {
    if (needs_integer_sums(spec_.kind->b) && !symmetric(spec_.ac_quant)) {
        column_sums_.resize(shape_.n);
        sum_columns_of_b(spec_, shape_, from, column_sums_);
    }
    if (direct)
        return;
    const auto& of_b = parameters(Operand::kB);
    Dequant dequant;
    dequant.zeros = of_b.zeros;
    if (per_group(spec_.b_quant)) {
        dequant.scales = of_b.scales;
        dequant.group_size = spec_.group_size;
    }
    pack_b(spec_, shape_, from, dequant, work_b_->bytes());
}

Status Matmul::bind_program(Operand operand, const Buffer& used) {
    const uint64_t address = used.memory->device_address() + used.offset;
    if (program_ != nullptr) {
        if (auto status = program_->bind(operand, address); !status.ok())
            return status;
    }
    addresses_[static_cast<size_t>(operand)] = address;
    return {};
}

/// The NPU's sums are C itself: one segment, 32 bit, native layout, nothing to do afterwards.
bool Matmul::sums_are_c() const {
    const auto c = spec_.kind->c;
    const bool wide = c == DataType::kFloat32 || c == DataType::kInt32;
    const bool same = (c == DataType::kInt32) == (work_ == Work::kInt8);
    const auto& zero_a = parameters_[0].zeros;
    const auto& zeros_b = parameters_[1].zeros;
    const auto is_zero = [](int32_t zero) { return zero == 0; };
    return wide && same && spec_.ac_layout == Layout::kNative && factors_.empty() &&
           segments(shape_.k, spec_.k_segment) == 1 &&
           (work_ != Work::kInt8 ||
            (is_zero(zero_a[0]) && std::all_of(zeros_b.begin(), zeros_b.end(), is_zero)));
}

Status Matmul::place_sums(const Buffer& c) {
    auto used = place(c, sums_are_c(), sum_bytes(shape_, spec_.k_segment), sums_);
    if (!used.ok())
        return used.status();
    if (auto status = bind_program(Operand::kC, *used); !status.ok())
        return status;
    work_bytes_[2] = used->bytes;
    return {};
}

Status Matmul::set_cores(uint32_t mask) {
    if (std::max(1, std::popcount(mask)) == std::max(1, std::popcount(mask_))) {
        mask_ = mask;
        return {};
    }
    auto program = make_program(shape_, mask);
    if (!program.ok())
        return program.status();
    for (const auto operand : {Operand::kA, Operand::kB, Operand::kC}) {
        if (program.value() == nullptr || buffer(operand).memory == nullptr)
            continue;
        const uint64_t address = addresses_[static_cast<size_t>(operand)];
        if (auto status = program.value()->bind(operand, address); !status.ok())
            return status;
    }
    program_ = std::move(program).value();
    mask_ = mask;
    return {};
}

void Matmul::update_factors() {
    const auto& a = parameters(Operand::kA).scales;
    const auto& b = parameters(Operand::kB).scales;
    const auto& c = parameters(Operand::kC).scales;
    factors_.clear();
    const auto type = spec_.kind->c;
    if (type == DataType::kInt16)
        return;
    std::vector<double> out(shape_.n, 1.0);
    const bool groups = per_group(spec_.b_quant);
    for (uint32_t n = 0; n < shape_.n; ++n) {
        const double scale_b = groups ? 1.0 : b[b.size() == 1 ? 0 : n];
        if (type == DataType::kInt32)
            out[n] = b.size() == 1 ? 1.0 : scale_b / *std::max_element(b.begin(), b.end());
        else
            out[n] = scale_b * a[0] / (type == DataType::kInt8 ? c[0] : 1.0f);
    }
    if (std::any_of(out.begin(), out.end(), [](double factor) { return factor != 1.0; }))
        factors_ = std::move(out);
}

Status Matmul::set_parameters(Operand operand, std::span<const float> scales,
                              std::span<const int32_t> zeros) {
    const auto quant = operand == Operand::kB ? spec_.b_quant : spec_.ac_quant;
    size_t wanted = 1;
    if (operand == Operand::kB && per_channel(quant))
        wanted = shape_.n;
    if (operand == Operand::kB && per_group(quant))
        wanted = size_t{shape_.n} * (shape_.k / spec_.group_size);
    const auto name = name_of(operand);
    const auto type = operand == Operand::kA   ? spec_.kind->a
                      : operand == Operand::kB ? spec_.kind->b
                                               : spec_.kind->c;
    const bool quantised = type == DataType::kInt8 || type == DataType::kInt4;
    if (!quantised || spec_.kind->c == DataType::kInt16)
        return Status::failure(Error::kInvalidArgument, "{} has no scale in {}", name,
                               spec_.kind->name);
    if (scales.size() != wanted)
        return Status::failure(Error::kInvalidArgument, "{} scales are given for {}, {} are needed",
                               scales.size(), name, wanted);
    if (zeros.size() > 1 && zeros.size() != wanted)
        return Status::failure(Error::kInvalidArgument,
                               "{} zero points are given for {}, {} are needed", zeros.size(), name,
                               wanted);
    Parameters given{{scales.begin(), scales.end()}, {zeros.begin(), zeros.end()}};
    if (given.zeros.empty())
        given.zeros.assign(1, 0);
    if (std::any_of(given.scales.begin(), given.scales.end(),
                    [](float scale) { return !(scale > 0.0f) || scale > 1e30f; }))
        return Status::failure(Error::kInvalidArgument, "a scale of {} is not a positive number",
                               name);
    const bool shifted =
        std::any_of(given.zeros.begin(), given.zeros.end(), [](int32_t zero) { return zero != 0; });
    if (shifted && symmetric(quant))
        return Status::failure(Error::kInvalidArgument,
                               "{} has a zero point, but its quantisation is symmetric", name);
    if (std::any_of(given.zeros.begin(), given.zeros.end(),
                    [](int32_t zero) { return zero < -128 || zero > 127; }))
        return Status::failure(Error::kInvalidArgument, "a zero point of {} is not an int8", name);
    parameters(operand) = std::move(given);
    dropped_ = dropped_ && operand != Operand::kB;
    update_factors();
    // Values that went into the rearranged operands, and the place of the sums, may change.
    if (work_ == Work::kFloat16 && operand != Operand::kC && buffer(operand).memory != nullptr) {
        if (auto s = take(operand, Buffer(buffer(operand))); !s.ok())
            return s;
    }
    auto& c = buffer(Operand::kC);
    if (c.memory == nullptr)
        return {};
    auto status = place_sums(c);
    if (!status.ok())
        c = {};
    return status;
}

Result<float> Matmul::normalised_scales(std::vector<float>& scales) const {
    const bool fits = spec_.kind->a == DataType::kInt8 && spec_.kind->c == DataType::kInt32 &&
                      per_channel(spec_.b_quant);
    if (!fits)
        return Status::failure(Error::kInvalidArgument,
                               "only INT8_MM_INT8_TO_INT32 with scales per channel has normalised "
                               "scales; this is {}",
                               spec_.kind->name);
    const auto& given = parameters_[1].scales;
    const float largest = *std::max_element(given.begin(), given.end());
    scales.resize(shape_.n);
    for (uint32_t n = 0; n < shape_.n; ++n)
        scales[n] = given[given.size() == 1 ? 0 : n] / largest;
    return largest;
}

Status Matmul::run() {
    for (const auto operand : {Operand::kA, Operand::kB, Operand::kC}) {
        if (buffer(operand).memory == nullptr)
            return missing(name_of(operand));
    }
    if (dropped_)
        return Status{Error::kInvalidContext,
                      "the scales of B were for another shape: call rknn_matmul_set_quant_params "
                      "after rknn_matmul_set_dynamic_shape"};
    const auto& c = buffer(Operand::kC);
    const bool direct = work_bytes_[2].data() == c.bytes.data();
    if (auto status = multiply(direct); !status.ok())
        return status;
    if (direct && program_ != nullptr)
        return {};
    if (!direct)
        finish_into(c.bytes);
    // Written by the CPU: a caller who now calls rknn_mem_sync(FROM_DEVICE) would drop it.
    return device_->sync(*c.memory, c.offset, c.bytes.size(), SyncDirection::kToDevice);
}

/// The sums, where place_sums() has decided.
Status Matmul::multiply(bool direct) {
    if (program_ == nullptr) {
        multiply_on_cpu(work_, shape_, spec_.k_segment, work_bytes_[0], work_bytes_[1],
                        work_bytes_[2]);
        return {};
    }
    auto report = program_->run(mask_);
    if (!report.ok())
        return report.status();
    last_hw_ns_ = report->hw_time_ns;
    const auto& c = buffer(Operand::kC);
    return device_->sync(direct ? *c.memory : *sums_, direct ? c.offset : 0,
                         sum_bytes(shape_, spec_.k_segment), SyncDirection::kFromDevice);
}

void Matmul::finish_into(std::span<std::byte> target) const {
    FinishInput input;
    input.sums = work_bytes_[2];
    const auto& [a, b, c] = parameters_;
    if (work_ == Work::kInt8) {
        input.zero_a = a.zeros[0];
        input.zeros_b = b.zeros;
        if (!symmetric(spec_.b_quant))
            input.row_sums = row_sums_;
        if (!symmetric(spec_.ac_quant))
            input.column_sums = column_sums_;
    }
    input.factors = factors_;
    input.zero_c = c.zeros[0];
    finish(spec_, shape_, input, target);
}

}  // namespace rknpu::matmul
