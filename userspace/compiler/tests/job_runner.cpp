// SPDX-License-Identifier: MIT
#include "job_runner.hpp"

#include <cstring>

#include "npuregs/regcmd.hpp"
#include "npusim/dma.hpp"

namespace rknpu::compiler::testing {

namespace {

constexpr uint32_t kBase = 0x10000;
constexpr uint32_t kPage = 4096;

}  // namespace

/// Memory from kBase on, poisoned so that reads of unwritten bytes show up.
class FlatMemory final : public npusim::DmaPort {
 public:
    explicit FlatMemory(size_t size) : bytes_(size, std::byte{0x55}) {}

    bool read(uint32_t iova, std::span<std::byte> dst) override {
        const auto from = view(iova, dst.size(), npusim::Access::kRead);
        if (from.empty() && !dst.empty()) {
            return false;
        }
        std::memcpy(dst.data(), from.data(), dst.size());
        return true;
    }
    bool write(uint32_t iova, std::span<const std::byte> src) override {
        const auto to = view(iova, src.size(), npusim::Access::kWrite);
        if (to.empty() && !src.empty()) {
            return false;
        }
        std::memcpy(to.data(), src.data(), src.size());
        return true;
    }
    std::span<std::byte> try_view(uint32_t iova, uint32_t len, npusim::Access) override {
        const bool inside = iova >= kBase && uint64_t{iova} + len <= kBase + bytes_.size();
        return inside ? std::span(bytes_).subspan(iova - kBase, len) : std::span<std::byte>{};
    }
    const npusim::DmaFault& fault() const override { return fault_; }

 private:
    std::span<std::byte> view(uint32_t iova, size_t len, npusim::Access access) {
        const auto found = try_view(iova, static_cast<uint32_t>(len), access);
        if (found.empty() && fault_.kind == npusim::DmaFault::Kind::kNone) {
            fault_ = {npusim::DmaFault::Kind::kBusError, iova, access};
        }
        return found;
    }

    std::vector<std::byte> bytes_;
    npusim::DmaFault fault_;
};

JobRunner::JobRunner(const Job& job, npusim::EngineOptions options)
    : job_(job),
      constants_(job.tensors.size()),
      words_(job.commands.words().begin(), job.commands.words().end()),
      engine_(options) {
    uint32_t next = kBase + align_up(job.arena_bytes, kPage);
    for (size_t i = 0; i < job.tensors.size(); i++) {
        if (!job.tensors[i].data.empty()) {
            constants_[i] = next;
            next += align_up(job.tensors[i].size, kPage);
        }
    }
    memory_ = std::make_unique<FlatMemory>(next - kBase);
    for (size_t i = 0; i < job.tensors.size(); i++) {
        if (constants_[i] != 0 && !memory_->write(constants_[i], job.tensors[i].data)) {
            std::abort();
        }
    }
    for (const Relocation& r : job.commands.relocations()) {
        npuregs::Command command = npuregs::Command::decode(words_[r.word]);
        command.value += address(r.buffer);
        words_[r.word] = command.encode();
    }
}

JobRunner::~JobRunner() = default;

uint32_t JobRunner::address(size_t tensor) const {
    return constants_[tensor] != 0 ? constants_[tensor] : kBase + job_.tensors[tensor].offset;
}

std::optional<std::string> JobRunner::run_task(size_t index) {
    using npuregs::Block;
    npusim::BlockRegs cna, core, dpu, dpu_rdma, ppu, ppu_rdma;
    const TaskRecord& task = job_.commands.tasks()[index];
    for (uint32_t i = 0; i < task.amount; i++) {
        const auto command = npuregs::Command::decode(words_[task.offset / 8 + i]);
        npusim::BlockRegs* block = nullptr;
        switch (npuregs::block_of_target(command.target)) {
            case Block::kCna:
                block = &cna;
                break;
            case Block::kCore:
                block = &core;
                break;
            case Block::kDpu:
                block = &dpu;
                break;
            case Block::kDpuRdma:
                block = &dpu_rdma;
                break;
            case Block::kPpu:
                block = &ppu;
                break;
            case Block::kPpuRdma:
                block = &ppu_rdma;
                break;
            default:
                return "word for no block";
        }
        block->set(command.offset, command.value);
    }
    const npusim::TaskRegs regs{cna, core, dpu, dpu_rdma, ppu, ppu_rdma};
    for (const std::string& finding : npusim::lint_task(regs, task.enable_mask)) {
        return "task " + std::to_string(index) + ": " + finding;
    }
    if (const auto error = engine_.run(regs, task.enable_mask, *memory_)) {
        return "task " + std::to_string(index) + ": " + error->text + " " +
               npusim::describe(memory_->fault());
    }
    return std::nullopt;
}

std::optional<std::string> JobRunner::run(const std::vector<Map>& inputs, unsigned cores) {
    for (size_t i = 0; i < inputs.size(); i++) {
        write(static_cast<size_t>(job_.inputs[i]), inputs[i]);
    }
    const size_t first_stream = cores == 1 ? 0 : cores == 2 ? 1 : 3;
    std::vector<size_t> next(cores, job_.first_task[cores - 1]);
    for (unsigned core = 1; core < cores; core++) {
        next[core] = next[core - 1];
        for (const JobNode& node : job_.nodes) {
            next[core] += node.task_counts[first_stream + core - 1];
        }
    }
    for (const JobNode& node : job_.nodes) {
        for (unsigned core = 0; core < cores; core++) {
            for (uint32_t i = 0; i < node.task_counts[first_stream + core]; i++) {
                if (auto error = run_task(next[core]++)) {
                    return error;
                }
            }
        }
    }
    return std::nullopt;
}

void JobRunner::write(size_t tensor, const Map& values) {
    const JobTensor& t = job_.tensors[tensor];
    const auto height = static_cast<uint32_t>(t.dims[2]);
    const auto width = static_cast<uint32_t>(t.dims[3]);
    const auto lanes = static_cast<uint32_t>(t.native_dims[4]);
    const bool image = lanes < kAtomBytes;
    const uint32_t row = image ? align_up(width * lanes, kAtomBytes) : width * kAtomBytes;
    const uint32_t plane = surface_pitch(width, height) * kAtomBytes;
    std::vector<std::byte> bytes(t.size, std::byte{0x33});  // unused lanes may hold anything
    for (size_t i = 0; i < values.size(); i++) {
        const size_t c = i / (size_t{width} * height);
        const size_t y = i / width % height;
        const size_t x = i % width;
        bytes[c / lanes * plane + y * row + x * lanes + c % lanes] =
            static_cast<std::byte>(values[i]);
    }
    if (!memory_->write(address(tensor), bytes)) {
        std::abort();
    }
}

std::vector<int8_t> JobRunner::raw(size_t tensor) const {
    std::vector<int8_t> bytes(job_.tensors[tensor].size);
    if (!memory_->read(address(tensor), std::as_writable_bytes(std::span(bytes)))) {
        std::abort();
    }
    return bytes;
}

Map JobRunner::read(size_t tensor) const {
    const JobTensor& t = job_.tensors[tensor];
    const auto height = static_cast<uint32_t>(t.dims[2]);
    const auto width = static_cast<uint32_t>(t.dims[3]);
    const std::vector<int8_t> bytes = raw(tensor);
    const size_t plane = size_t{surface_pitch(width, height)} * kAtomBytes;
    Map values(static_cast<size_t>(t.dims[1]) * height * width);
    for (size_t i = 0; i < values.size(); i++) {
        const size_t c = i / (size_t{width} * height);
        const size_t pixel = i % (size_t{width} * height);
        values[i] = bytes[c / kAtomBytes * plane + pixel * kAtomBytes + c % kAtomBytes];
    }
    return values;
}

}  // namespace rknpu::compiler::testing
