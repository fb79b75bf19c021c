// SPDX-License-Identifier: MIT
#include "tables.hpp"

#include <array>
#include <cstddef>

namespace npuregs {
namespace {

// One flat list of entries per block, in file order: a register is followed by its fields.
struct Entry {
    std::string_view name;
    uint32_t offset;  // register offset; unused for fields
    Field bits;
    bool is_field;
};

#define NPU_REG(NAME, Name, offset) Entry{#NAME, offset, Field{0, 0}, false},
#define NPU_FIELD(Reg, NAME, Name, high, low) Entry{#NAME, 0, Field{high, low}, true},
constexpr Entry kPcEntries[] = {
#include "npuregs/rk3588_pc.def"
};
constexpr Entry kCnaEntries[] = {
#include "npuregs/rk3588_cna.def"
};
constexpr Entry kCoreEntries[] = {
#include "npuregs/rk3588_core.def"
};
constexpr Entry kDpuEntries[] = {
#include "npuregs/rk3588_dpu.def"
};
constexpr Entry kDpuRdmaEntries[] = {
#include "npuregs/rk3588_dpu_rdma.def"
};
constexpr Entry kPpuEntries[] = {
#include "npuregs/rk3588_ppu.def"
};
constexpr Entry kPpuRdmaEntries[] = {
#include "npuregs/rk3588_ppu_rdma.def"
};
constexpr Entry kDdmaEntries[] = {
#include "npuregs/rk3588_ddma.def"
};
constexpr Entry kSdmaEntries[] = {
#include "npuregs/rk3588_sdma.def"
};
constexpr Entry kGlobalEntries[] = {
#include "npuregs/rk3588_global.def"
};
#undef NPU_REG
#undef NPU_FIELD

struct Source {
    Block block;
    std::span<const Entry> entries;
};

constexpr std::array kSources = {
    Source{Block::kPc, kPcEntries},           Source{Block::kCna, kCnaEntries},
    Source{Block::kCore, kCoreEntries},       Source{Block::kDpu, kDpuEntries},
    Source{Block::kDpuRdma, kDpuRdmaEntries}, Source{Block::kPpu, kPpuEntries},
    Source{Block::kPpuRdma, kPpuRdmaEntries}, Source{Block::kDdma, kDdmaEntries},
    Source{Block::kSdma, kSdmaEntries},       Source{Block::kGlobal, kGlobalEntries},
};

}  // namespace

RegisterTable::RegisterTable() {
    size_t fields = 0;
    for (const Source& source : kSources) {
        for (const Entry& entry : source.entries)
            fields += entry.is_field ? 1 : 0;
    }
    fields_.reserve(fields);  // the spans below point into this vector: it must not grow
    for (const Source& source : kSources)
        add_block(source.block, source.entries);
}

template <typename Entries>
void RegisterTable::add_block(Block block, const Entries& entries) {
    size_t first_field = fields_.size();
    for (const auto& entry : entries) {
        if (entry.is_field) {
            fields_.push_back({entry.name, entry.bits});
            const auto all = std::span<const FieldInfo>(fields_);
            registers_.back().fields = all.subspan(first_field);
        } else {
            first_field = fields_.size();
            registers_.push_back({block, entry.offset, entry.name, {}});
        }
    }
}

const RegisterTable& register_table() {
    static const RegisterTable table;
    return table;
}

}  // namespace npuregs
