// SPDX-License-Identifier: MIT
#include "pci_function.hpp"

#include <cerrno>
#include <cstring>

namespace rknpusim {

namespace {

constexpr uint16_t kVendor = 0x1d87;  // Rockchip
constexpr uint16_t kDevice = 0x3588;
constexpr uint32_t kCoreBar = 0;
constexpr uint32_t kSramBar = 2;
constexpr uint32_t kCoreBarSize = 0x10000;

// Offsets of the type 0 header.
constexpr size_t kCommand = 0x04;
constexpr size_t kRevision = 0x08;
constexpr size_t kSubClass = 0x0a;
constexpr size_t kBaseClass = 0x0b;
constexpr size_t kBar0 = 0x10;
constexpr size_t kSubsystemVendor = 0x2c;
constexpr size_t kSubsystem = 0x2e;
constexpr size_t kInterruptLine = 0x3c;
constexpr size_t kInterruptPin = 0x3d;

constexpr uint16_t kCommandWritable = 0x0546;  // memory, master, parity, SERR, INTx disable
constexpr uint8_t kCommandMemory = 0x02;
constexpr uint8_t kBarPrefetchable = 0x08;
constexpr uint32_t kBarFlags = 0xf;

PciConfig::Identity core_identity(unsigned core) {
    return {static_cast<uint16_t>(core), 0x12, 0x00, true, kCoreBar, kCoreBarSize, false};
}

PciConfig::Identity sram_identity() {
    return {3, 0x05, 0x80, false, kSramBar, static_cast<uint32_t>(kSramBarSize), true};
}

/// Error and device-request events never happen here, but QEMU warns when it cannot arm them.
IrqInfo event_irq(uint32_t index) {
    if (index == kErrorIrq || index == kRequestIrq)
        return {kIrqEventfd, 1};
    return {};
}

}  // namespace

PciConfig::PciConfig(const Identity& identity) : identity_(identity) {
    reset();
    const auto mask = [this](size_t offset, uint32_t value, size_t size) {
        for (size_t i = 0; i < size; ++i)
            writable_[offset + i] = static_cast<uint8_t>(value >> 8 * i);
    };
    mask(kCommand, kCommandWritable, 2);
    mask(kBar0 + identity.bar * 4, ~(identity.bar_size - 1), 4);
    mask(kInterruptLine, 0xff, 1);
}

void PciConfig::reset() {
    bytes_.fill(0);
    const auto put16 = [this](size_t offset, uint16_t value) {
        bytes_[offset] = static_cast<uint8_t>(value);
        bytes_[offset + 1] = static_cast<uint8_t>(value >> 8);
    };
    put16(0, kVendor);
    put16(2, kDevice);
    bytes_[kRevision] = 1;
    bytes_[kSubClass] = identity_.sub_class;
    bytes_[kBaseClass] = identity_.base_class;
    put16(kSubsystemVendor, kVendor);
    put16(kSubsystem, identity_.subsystem);
    bytes_[kBar0 + identity_.bar * 4] = identity_.prefetchable ? kBarPrefetchable : 0;
    bytes_[kInterruptPin] = identity_.interrupt_pin ? 1 : 0;
}

void PciConfig::read(uint64_t offset, std::span<std::byte> data) const {
    std::memcpy(data.data(), bytes_.data() + offset, data.size());
}

void PciConfig::write(uint64_t offset, std::span<const std::byte> data) {
    for (size_t i = 0; i < data.size(); ++i) {
        const uint8_t mask = writable_[offset + i];
        uint8_t& byte = bytes_[offset + i];
        byte = static_cast<uint8_t>((byte & ~mask) | (static_cast<uint8_t>(data[i]) & mask));
    }
}

uint32_t PciConfig::load32(size_t offset) const {
    uint32_t value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(value));
    return value;
}

uint32_t PciConfig::bar_address() const {
    if ((bytes_[kCommand] & kCommandMemory) == 0)
        return 0;
    return load32(kBar0 + identity_.bar * 4) & ~kBarFlags;
}

PciFunction::PciFunction(Board& board, const PciConfig::Identity& identity)
    : board_(board), config_(identity) {}

int PciFunction::region_read(uint32_t index, uint64_t offset, std::span<std::byte> data) {
    if (index != kConfigRegion)
        return bar_read(offset, data);
    config_.read(offset, data);
    return 0;
}

int PciFunction::region_write(uint32_t index, uint64_t offset, std::span<const std::byte> data) {
    if (index != kConfigRegion)
        return bar_write(offset, data);
    config_.write(offset, data);
    config_changed();
    return 0;
}

int PciFunction::dma_map(uint64_t address, uint64_t size, uint64_t offset, bool writable,
                         UniqueFd fd) {
    if (maps_.contains({address, size}))
        return EEXIST;
    const int error = board_.map(address, size, offset, writable, std::move(fd));
    if (error == 0)
        maps_[{address, size}] = true;
    return error;
}

int PciFunction::dma_unmap(uint64_t address, uint64_t size) {
    if (maps_.erase({address, size}) == 0)
        return ENOENT;
    return board_.unmap(address, size);
}

void PciFunction::dma_unmap_all() {
    for (const auto& [range, used] : maps_)
        board_.unmap(range.first, range.second);
    maps_.clear();
}

CoreFunction::CoreFunction(Board& board, unsigned core)
    : PciFunction(board, core_identity(core)), core_(core) {}

RegionInfo CoreFunction::region(uint32_t index) const {
    if (index == kCoreBar)
        return {kRegionRead | kRegionWrite, kCoreBarSize, -1};
    if (index == kConfigRegion)
        return {kRegionRead | kRegionWrite, PciConfig::kSize, -1};
    return {};
}

IrqInfo CoreFunction::irq(uint32_t index) const {
    if (index == kIntxIrq)
        return {kIrqEventfd | kIrqMaskable | kIrqAutomasked, 1};
    return event_irq(index);
}

int CoreFunction::set_irq_trigger(uint32_t index, UniqueFd eventfd) {
    if (index != kIntxIrq)
        return 0;
    line_.set_trigger(std::move(eventfd));
    return 0;
}

int CoreFunction::fire_irq(uint32_t index) {
    if (index == kIntxIrq)
        line_.fire();
    return 0;
}

int CoreFunction::mask_irq(uint32_t index, bool masked) {
    if (index == kIntxIrq)
        line_.set_masked(masked);
    return 0;
}

void CoreFunction::reset() {
    config_.reset();
    board_.npu().assert_reset(1U << core_, true);
    board_.npu().assert_reset(1U << core_, false);
    if (core_ == 0)
        board_.control().reset();
}

uint32_t CoreFunction::read_word(uint32_t offset) {
    BoardControl& control = board_.control();
    if (core_ == 0 && BoardControl::owns(offset))
        return control.read(offset);
    return control.check_access(core_, offset) ? board_.npu().read(core_, offset) : ~0U;
}

void CoreFunction::write_word(uint32_t offset, uint32_t value) {
    BoardControl& control = board_.control();
    if (core_ == 0 && BoardControl::owns(offset))
        control.write(offset, value);
    else if (control.check_access(core_, offset))
        board_.write_register(core_, offset, value);
}

int CoreFunction::bar_read(uint64_t offset, std::span<std::byte> data) {
    // Narrow and unaligned reads see the bytes of the words around them.
    while (!data.empty()) {
        const auto at = static_cast<uint32_t>(offset);
        const uint32_t skip = at % 4;
        const size_t count = std::min<size_t>(4 - skip, data.size());
        const uint32_t value = read_word(at - skip);
        std::memcpy(data.data(), std::as_bytes(std::span(&value, 1)).data() + skip, count);
        data = data.subspan(count);
        offset += count;
    }
    return 0;
}

int CoreFunction::bar_write(uint64_t offset, std::span<const std::byte> data) {
    // The register bus knows only whole words.
    if (offset % 4 != 0 || data.size() % 4 != 0)
        return EINVAL;
    for (size_t i = 0; i < data.size(); i += 4) {
        uint32_t value;
        std::memcpy(&value, data.data() + i, sizeof(value));
        write_word(static_cast<uint32_t>(offset + i), value);
    }
    return 0;
}

SramFunction::SramFunction(Board& board) : PciFunction(board, sram_identity()) {}

RegionInfo SramFunction::region(uint32_t index) const {
    if (index == kSramBar)
        return {kRegionRead | kRegionWrite | kRegionMmap, kSramBarSize, board_.sram_fd()};
    if (index == kConfigRegion)
        return {kRegionRead | kRegionWrite, PciConfig::kSize, -1};
    return {};
}

IrqInfo SramFunction::irq(uint32_t index) const {
    return event_irq(index);
}

int SramFunction::set_irq_trigger(uint32_t, UniqueFd) {
    return 0;
}

int SramFunction::fire_irq(uint32_t) {
    return 0;
}

int SramFunction::mask_irq(uint32_t, bool) {
    return 0;
}

void SramFunction::reset() {
    config_.reset();
}

int SramFunction::bar_read(uint64_t offset, std::span<std::byte> data) {
    std::memcpy(data.data(), board_.sram().data() + offset, data.size());
    return 0;
}

int SramFunction::bar_write(uint64_t offset, std::span<const std::byte> data) {
    std::memcpy(board_.sram().data() + offset, data.data(), data.size());
    return 0;
}

void SramFunction::config_changed() {
    if (const uint32_t address = config_.bar_address())
        board_.place_sram(address);
}

}  // namespace rknpusim
