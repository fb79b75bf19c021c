// SPDX-License-Identifier: MIT
// Fuzz target: register streams of any content, decoded and executed on a small memory.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "npuregs/regcmd.hpp"
#include "npusim/npu.hpp"
#include "npusim/regfile.hpp"
#include "pc.hpp"

namespace {

constexpr uint64_t kMemorySize = 256 * 1024;
constexpr size_t kMaxTasks = 4;
constexpr size_t kMaxWords = 4096;
constexpr std::array<uint32_t, 4> kEnables = {0x0d, 0x1d, 0x18, 0x60};

/// Hands out the input byte by byte; zeros behind its end.
class Input {
 public:
    explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    [[nodiscard]] bool empty() const { return bytes_.empty(); }
    template <typename T>
    T take() {
        T value{};
        const size_t n = std::min(sizeof(T), bytes_.size());
        std::memcpy(&value, bytes_.data(), n);
        bytes_ = bytes_.subspan(n);
        return value;
    }

 private:
    std::span<const uint8_t> bytes_;
};

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
                value = input.take<uint16_t>() * 16U % static_cast<uint32_t>(kMemorySize);
                break;
        }
        words.push_back(
            npuregs::Command{target, static_cast<uint16_t>(info.offset), value}.encode());
    }
    words.push_back(npuregs::Command{npuregs::kTargetSync, 0, 0}.encode());
    words.push_back(npuregs::Command{npuregs::kTargetEnable, 8, enable}.encode());
    return words;
}

void run_streams(Input& input, const npusim::SocConfig& soc, bool reference) {
    static std::vector<std::byte> bytes(kMemorySize);
    std::fill(bytes.begin(), bytes.end(), std::byte{0x5a});
    npusim::RamMemory ram;
    ram.add(0, bytes);
    npusim::NpuOptions options;
    options.reference_path = reference;
    const auto runner = npusim::make_engine_runner(soc, options);
    npusim::RegFile regs;
    for (size_t task = 0; task < kMaxTasks && !input.empty(); ++task) {
        std::vector<uint64_t> words =
            input.take<uint8_t>() % 8 == 0 ? raw_stream(input) : shaped_stream(input);
        words.resize(std::min(words.size(), kMaxWords));
        const auto end = npusim::apply_stream(words, soc, regs, *runner);
        if (!end.error.empty() || !regs.check_start(end.enable_mask).empty())
            continue;
        const auto dma = npusim::make_direct_dma(ram);
        // Lint must survive whatever the engine does.
        (void)npusim::lint_task(regs.active(), end.enable_mask, *soc.map);
        if (!runner->run(regs.active(), end.enable_mask, *dma))
            regs.advance(end.enable_mask);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input input(std::span(data, size));
    const uint8_t mode = input.take<uint8_t>();
    run_streams(input, mode & 1 ? npusim::SocConfig::rk3576() : npusim::SocConfig::rk3588(),
                (mode & 2) != 0);
    return 0;
}
