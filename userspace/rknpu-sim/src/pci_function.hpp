// SPDX-License-Identifier: MIT
// The board's PCI functions: one per NPU core, one for the SRAM.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "board.hpp"
#include "intx.hpp"
#include "vfio_user.hpp"

namespace rknpusim {

/// Configuration space of a function with one 32-bit memory BAR. Only what a real device lets
/// software write is writable: BAR bits above the size, command, interrupt line.
class PciConfig {
 public:
    static constexpr size_t kSize = 256;

    struct Identity {
        uint16_t subsystem;
        uint8_t base_class;
        uint8_t sub_class;
        bool interrupt_pin;
        unsigned bar;       // 0..5
        uint32_t bar_size;  // power of two
        bool prefetchable;
    };

    explicit PciConfig(const Identity& identity);

    void read(uint64_t offset, std::span<std::byte> data) const;
    void write(uint64_t offset, std::span<const std::byte> data);
    void reset();
    /// Address of the BAR, 0 while memory decoding is off.
    [[nodiscard]] uint32_t bar_address() const;

 private:
    [[nodiscard]] uint32_t load32(size_t offset) const;

    Identity identity_;
    std::array<uint8_t, kSize> bytes_{};
    std::array<uint8_t, kSize> writable_{};  // mask per byte
};

/// Common to all functions: guest memory, configuration space.
class PciFunction : public VfioDevice {
 public:
    PciFunction(Board& board, const PciConfig::Identity& identity);

    int region_read(uint32_t index, uint64_t offset, std::span<std::byte> data) final;
    int region_write(uint32_t index, uint64_t offset, std::span<const std::byte> data) final;
    int dma_map(uint64_t address, uint64_t size, uint64_t offset, bool writable, UniqueFd fd) final;
    int dma_unmap(uint64_t address, uint64_t size) final;
    void dma_unmap_all() final;

 protected:
    virtual int bar_read(uint64_t offset, std::span<std::byte> data) = 0;
    virtual int bar_write(uint64_t offset, std::span<const std::byte> data) = 0;
    virtual void config_changed() {}

    Board& board_;
    PciConfig config_;

 private:
    std::map<std::pair<uint64_t, uint64_t>, bool> maps_;  // (address, size) this client gave us
};

/// Registers of one core in BAR 0, INTx.
class CoreFunction final : public PciFunction {
 public:
    CoreFunction(Board& board, unsigned core);

    RegionInfo region(uint32_t index) const override;
    IrqInfo irq(uint32_t index) const override;
    int set_irq_trigger(uint32_t index, UniqueFd eventfd) override;
    int fire_irq(uint32_t index) override;
    int mask_irq(uint32_t index, bool masked) override;
    void reset() override;

    [[nodiscard]] IntxLine& line() { return line_; }

 protected:
    int bar_read(uint64_t offset, std::span<std::byte> data) override;
    int bar_write(uint64_t offset, std::span<const std::byte> data) override;

 private:
    [[nodiscard]] uint32_t read_word(uint32_t offset);
    void write_word(uint32_t offset, uint32_t value);

    const unsigned core_;
    IntxLine line_;
};

/// SRAM in BAR 2, mapped by the client; no interrupt pin, because QEMU takes the mapping away
/// from a function at its first INTx.
class SramFunction final : public PciFunction {
 public:
    explicit SramFunction(Board& board);

    RegionInfo region(uint32_t index) const override;
    IrqInfo irq(uint32_t index) const override;
    int set_irq_trigger(uint32_t index, UniqueFd eventfd) override;
    int fire_irq(uint32_t index) override;
    int mask_irq(uint32_t index, bool masked) override;
    void reset() override;

 protected:
    int bar_read(uint64_t offset, std::span<std::byte> data) override;
    int bar_write(uint64_t offset, std::span<const std::byte> data) override;
    void config_changed() override;
};

}  // namespace rknpusim
