// SPDX-License-Identifier: MIT
// Fuzz target: register streams and chains of tasks of any content, decoded and executed on a
// small memory.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "bounded_runner.hpp"
#include "input.hpp"
#include "npuregs/regcmd.hpp"
#include "npusim/npu.hpp"
#include "npusim/regfile.hpp"
#include "pc.hpp"

namespace {

using namespace npusim_fuzz;  // NOLINT: one program

constexpr std::array<uint32_t, 5> kEnables = {0x0d, 0x1d, 0x18, 0x60, 0x78};

/// Any words at all.
std::vector<uint64_t> raw_stream(Input& input) {
    std::vector<uint64_t> words;
    for (uint32_t n = input.take<uint8_t>(); n != 0 && !input.empty(); --n)
        words.push_back(input.take<uint64_t>());
    return words;
}

/// Known registers with chosen values, so that the arithmetic is reached. Four kinds of value:
/// whole, few low bits, one bit, an address inside the memory.
std::vector<uint64_t> shaped_stream(Input& input) {
    const auto registers = npuregs::all_registers();
    std::vector<uint64_t> words;
    const uint32_t enable = kEnables[input.take<uint8_t>() % kEnables.size()];
    for (uint32_t n = input.take<uint8_t>(); n != 0 && !input.empty(); --n) {
        const auto& info = registers[input.take<uint16_t>() % registers.size()];
        const uint16_t target = npuregs::target_of(info.block);
        if (target == 0 || info.block == npuregs::Block::kPc || (info.offset & 0xfffU) == 8)
            continue;
        uint32_t value = 0;
        switch (input.take<uint8_t>() % 4) {
            case 0:
                value = input.take<uint32_t>();
                break;
            case 1:
                value = input.take<uint8_t>();
                break;
            case 2:
                value = 1U << (input.take<uint8_t>() % 32);
                break;
            default:
                value = input.take<uint16_t>() * 16U % kMemorySize;
                break;
        }
        words.push_back(
            npuregs::Command{target, static_cast<uint16_t>(info.offset), value}.encode());
    }
    words.push_back(npuregs::Command{npuregs::kTargetSync, 0, 0}.encode());
    words.push_back(npuregs::Command{npuregs::kTargetEnable, 8, enable}.encode());
    return words;
}

std::vector<uint64_t> next_stream(Input& input) {
    return input.take<uint8_t>() % 8 == 0 ? raw_stream(input) : shaped_stream(input);
}

std::span<std::byte> fresh_memory() {
    static std::vector<std::byte> bytes(kMemorySize);
    std::fill(bytes.begin(), bytes.end(), std::byte{0x5a});
    return bytes;
}

void run_streams(Input& input, const npusim::SocConfig& soc, bool reference) {
    npusim::RamMemory ram;
    ram.add(0, fresh_memory());
    BoundedRunner runner(soc, reference);
    npusim::RegFile regs;
    for (size_t task = 0; task < kMaxTasks && !input.empty(); ++task) {
        const auto end = npusim::apply_stream(next_stream(input), soc, regs, runner);
        if (!end.error.empty() || !regs.check_start(end.enable_mask).empty())
            continue;
        const auto dma = npusim::make_direct_dma(ram);
        if (!runner.run(regs.active(), end.enable_mask, *dma))
            regs.advance(end.enable_mask);
    }
}

/// A chip that lives as long as the process; every job starts after a reset.
struct Chip {
    explicit Chip(const npusim::SocConfig& soc) {
        ram.add(0, fresh_memory());
        npusim::NpuOptions options;
        options.record_ranges = true;
        options.make_runner = [&soc](unsigned core) {
            return std::make_unique<BoundedRunner>(soc, core == 1);
        };
        npu = std::make_unique<npusim::Npu>(soc, ram, std::move(options));
    }
    npusim::RamMemory ram;
    std::unique_ptr<npusim::Npu> npu;
};

/// Streams in memory, linked as the input says, started through the registers of one core.
void run_job(Input& input, Chip& chip, const npusim::SocConfig& soc) {
    chip.npu->assert_reset(7, true);
    const auto memory = fresh_memory();
    const uint32_t con = input.take<uint16_t>();
    const uint32_t amounts = input.take<uint32_t>();
    const uint32_t base = kStreams + input.take<uint8_t>() % kMaxTasks * kStreamBytes;
    const unsigned core = input.take<uint8_t>() % soc.cores;
    for (uint32_t i = 0; i < kMaxTasks && !input.empty(); ++i) {
        auto words = next_stream(input);
        words.resize(std::min<size_t>(words.size(), kStreamBytes / 8));
        std::ranges::copy(std::as_bytes(std::span(words)),
                          memory.begin() + kStreams + i * kStreamBytes);
    }
    chip.npu->assert_reset(7, false);
    namespace pc = npuregs::pc;
    chip.npu->write(core, pc::kBaseAddress, base);
    chip.npu->write(core, pc::kRegisterAmounts, amounts);
    chip.npu->write(core, pc::kInterruptMask, 0xffffffff);
    chip.npu->write(core, pc::kTaskCon, con);
    chip.npu->write(core, pc::kOperationEnable, 1);
    chip.npu->write(core, pc::kOperationEnable, 0);
    if (!chip.npu->wait_idle(20000)) {
        std::fprintf(stderr, "a job does not end\n");
        std::abort();
    }
    (void)chip.npu->take_log();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const npusim::SocConfig& rk3588 = npusim::SocConfig::rk3588();
    static const npusim::SocConfig& rk3576 = npusim::SocConfig::rk3576();
    Input input(std::span(data, size));
    const uint8_t mode = input.take<uint8_t>();
    const npusim::SocConfig& soc = (mode & kRk3576) != 0 ? rk3576 : rk3588;
    if ((mode & kJob) == 0) {
        run_streams(input, soc, (mode & kReference) != 0);
        return 0;
    }
    static Chip chips[2] = {Chip(rk3588), Chip(rk3576)};
    run_job(input, chips[(mode & kRk3576) != 0 ? 1 : 0], soc);
    return 0;
}
