// SPDX-License-Identifier: MIT
// What differs between the chips.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "npusim/engine.hpp"

namespace npusim {

/// Offsets of a core's IOMMU banks in its register window; count 0 = the core has no IOMMU.
struct MmuBanks {
    std::array<uint32_t, 2> offset{};
    unsigned count = 0;
};

struct SocConfig {
    std::string_view name;
    unsigned cores = 0;
    uint32_t version = 0;            ///< register 0x0
    uint32_t version_num = 0;        ///< register 0x4
    uint32_t core_window = 0x10000;  ///< bytes of registers per core
    std::array<MmuBanks, 3> mmu;
    uint32_t task_status_offset = 0x3c;
    unsigned task_number_bits = 12;
    unsigned fetch_words_per_amount = 2;  ///< 64-bit words per unit of REGISTER_AMOUNTS
    uint64_t sram_base = 0;               ///< physical address on the chip
    uint64_t sram_size = 0;
    unsigned walk_address_bits = 40;  ///< page tables above are refused (bus error)
    unsigned data_address_bits = 40;  ///< data pages above are refused (bus error)
    std::optional<RegisterMap> map;   ///< empty: its execution blocks are not decoded
    uint32_t enable_bits = 0x7f;      ///< bits an op-enable word may have

    static const SocConfig& rk3588();
    static const SocConfig& rk3576();
    static const SocConfig& rk3568();

    /// By name ("rk3588", "rk3583", "rk3576", "rk3568", "rk3566", "rk3562"); nullptr when unknown.
    static const SocConfig* find(std::string_view name);
    static std::span<const SocConfig* const> all();
};

}  // namespace npusim
