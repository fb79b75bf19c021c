// SPDX-License-Identifier: MIT
// Windows, banks and SRAM: device trees of the chips; versions, counters and scales: what the
// vendor driver programs per chip.
#include "npusim/soc.hpp"

namespace npusim {

namespace {

constexpr uint32_t kVersion = 0x46495245;  // read on RK3588 and RK3576 boards ("FIRE")

SocConfig make_rk3588() {
    SocConfig soc;
    soc.name = "rk3588";
    soc.cores = 3;
    soc.version = kVersion;
    soc.version_num = 0x10000;  // the driver adds only the low half
    soc.mmu = {MmuBanks{{0x9000, 0xa000}, 2}, MmuBanks{{0xa000, 0}, 1}, MmuBanks{{0xa000, 0}, 1}};
    soc.sram_base = 0xff001000;
    soc.sram_size = 0xef000;
    soc.map = RegisterMap::kRk3588;
    return soc;
}

SocConfig make_rk3583() {
    SocConfig soc = make_rk3588();
    soc.name = "rk3583";
    soc.cores = 2;
    return soc;
}

SocConfig make_rk3576() {
    SocConfig soc;
    soc.name = "rk3576";
    soc.cores = 2;
    soc.version = kVersion;
    soc.version_num = 0x10000;
    soc.core_window = 0x8000;
    soc.mmu = {MmuBanks{{0x2000, 0x2100}, 2}, MmuBanks{{0x2000, 0x2100}, 2}, MmuBanks{}};
    soc.task_status_offset = 0x48;
    soc.task_number_bits = 16;
    soc.sram_base = 0x3ff88000;
    soc.sram_size = 0x78000;
    soc.map = RegisterMap::kRk3576;
    soc.enable_bits = 0x0100007f;  // bit 24 is set in two-core streams of vendor files
    return soc;
}

SocConfig make_rk3568() {
    SocConfig soc;
    soc.name = "rk3568";
    soc.cores = 1;
    soc.mmu = {MmuBanks{{0xb000, 0}, 1}, MmuBanks{}, MmuBanks{}};
    soc.fetch_words_per_amount = 1;
    soc.walk_address_bits = 32;  // page tables above 4 GiB give bus errors on boards
    soc.data_address_bits = 32;
    return soc;
}

SocConfig make_rk3562() {
    SocConfig soc;
    soc.name = "rk3562";
    soc.cores = 1;
    soc.mmu = {MmuBanks{{0xa000, 0}, 1}, MmuBanks{}, MmuBanks{}};
    soc.task_status_offset = 0x48;
    soc.task_number_bits = 16;
    return soc;
}

SocConfig make_rk3566() {
    SocConfig soc = make_rk3568();
    soc.name = "rk3566";
    return soc;
}

const SocConfig kRk3588 = make_rk3588();
const SocConfig kRk3583 = make_rk3583();
const SocConfig kRk3576 = make_rk3576();
const SocConfig kRk3568 = make_rk3568();
const SocConfig kRk3566 = make_rk3566();
const SocConfig kRk3562 = make_rk3562();
const std::array<const SocConfig*, 6> kAll = {&kRk3588, &kRk3583, &kRk3576,
                                              &kRk3568, &kRk3566, &kRk3562};

}  // namespace

const SocConfig& SocConfig::rk3588() {
    return kRk3588;
}

const SocConfig& SocConfig::rk3576() {
    return kRk3576;
}

const SocConfig& SocConfig::rk3568() {
    return kRk3568;
}

const SocConfig* SocConfig::find(std::string_view name) {
    for (const SocConfig* soc : kAll)
        if (soc->name == name)
            return soc;
    return nullptr;
}

std::span<const SocConfig* const> SocConfig::all() {
    return kAll;
}

}  // namespace npusim
