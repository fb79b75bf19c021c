// SPDX-License-Identifier: MIT
// What the guest's PCI functions share: the NPU, guest memory, SRAM and reset lines.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "control.hpp"
#include "npusim/npu.hpp"
#include "os.hpp"

namespace rknpusim {

inline constexpr uint64_t kSramBarSize = 1U << 20;
inline constexpr uint64_t kDefaultSramAddress = 0x10000000;

class Board {
 public:
    /// Empty pointer when the SRAM file cannot be made.
    static std::unique_ptr<Board> create(const npusim::SocConfig& soc, npusim::NpuOptions options);

    [[nodiscard]] npusim::Npu& npu() { return *npu_; }
    [[nodiscard]] int sram_fd() const { return sram_fd_.get(); }
    [[nodiscard]] std::span<std::byte> sram() { return sram_.bytes(); }

    /// From now on a write that starts a job returns when the job has ended: a guest that counts
    /// its instructions then meets each interrupt at the same one.
    void set_synchronous() { synchronous_ = true; }
    void write_register(unsigned core, uint32_t offset, uint32_t value);

    /// The SRAM's address as the guest's PCI host has placed it.
    void place_sram(uint64_t address);

    [[nodiscard]] BoardControl& control() { return *control_; }

    /// Guest memory; each function reports the same ranges. Return 0 or an errno.
    int map(uint64_t address, uint64_t size, uint64_t offset, bool writable, UniqueFd fd);
    int unmap(uint64_t address, uint64_t size);

    void log(std::string line) { log_.push_back(std::move(line)); }
    /// Lines of the board and of the model since the last call.
    [[nodiscard]] std::vector<std::string> take_log();

 private:
    struct GuestRange {
        uint64_t address;
        uint64_t size;
        uint64_t offset;
        uint64_t device;  // of the file, with inode: the same file from another function
        uint64_t inode;
        unsigned users;
        Mapping mapping;  // empty: memory the client keeps to itself
    };

    Board() = default;

    npusim::RamMemory memory_;
    std::vector<GuestRange> ranges_;
    UniqueFd sram_fd_;
    Mapping sram_;
    uint64_t sram_address_ = 0;
    uint64_t sram_used_ = 0;  // bytes that exist on the chip
    bool synchronous_ = false;
    std::vector<std::string> log_;
    std::unique_ptr<npusim::Npu> npu_;  // its workers use the memory above
    std::unique_ptr<BoardControl> control_;
};

}  // namespace rknpusim
