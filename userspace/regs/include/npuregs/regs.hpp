// SPDX-License-Identifier: MIT
// Register map of the RK3588 NPU as compile-time constants: one namespace per block with
// k<Register> (full offset in the 64 KiB core window) and k<Register><Field> (bit range).
#pragma once

#include <cstdint>

namespace npuregs {

/// Bit range of a register, inclusive on both ends.
struct Field {
    uint8_t hi;
    uint8_t lo;

    /// Mask of the field, already shifted to its place.
    [[nodiscard]] constexpr uint32_t mask() const {
        const unsigned width = hi - lo + 1U;
        return (width >= 32 ? 0xffffffffU : ((1U << width) - 1U)) << lo;
    }
};

/// Value of a field inside a register value.
[[nodiscard]] constexpr uint32_t get(Field field, uint32_t reg_value) {
    return (reg_value & field.mask()) >> field.lo;
}

/// Register value that holds `value` in `field` (bits that do not fit are dropped).
[[nodiscard]] constexpr uint32_t put(Field field, uint32_t value) {
    return (value << field.lo) & field.mask();
}

/// True when `value` fits into the field without loss.
[[nodiscard]] constexpr bool fits(Field field, uint32_t value) {
    return value <= (field.mask() >> field.lo);
}

/// Two's complement value of a field.
[[nodiscard]] constexpr int32_t get_signed(Field field, uint32_t reg_value) {
    const unsigned width = field.hi - field.lo + 1U;
    const uint32_t raw = get(field, reg_value);
    return static_cast<int32_t>(raw << (32U - width)) >> (32U - width);
}

#define NPU_REG(NAME, Name, offset) inline constexpr uint32_t k##Name = offset;
#define NPU_FIELD(Reg, NAME, Name, high, low) inline constexpr Field k##Reg##Name{high, low};
namespace pc {
#include "npuregs/rk3588_pc.def"
}
namespace cna {
#include "npuregs/rk3588_cna.def"
}
namespace core {
#include "npuregs/rk3588_core.def"
}
namespace dpu {
#include "npuregs/rk3588_dpu.def"
}
namespace dpu_rdma {
#include "npuregs/rk3588_dpu_rdma.def"
}
namespace ppu {
#include "npuregs/rk3588_ppu.def"
}
namespace ppu_rdma {
#include "npuregs/rk3588_ppu_rdma.def"
}
namespace ddma {
#include "npuregs/rk3588_ddma.def"
}
namespace sdma {
#include "npuregs/rk3588_sdma.def"
}
namespace global {
#include "npuregs/rk3588_global.def"
}
#undef NPU_REG
#undef NPU_FIELD

/// Precision codes used by every block (TRM). kTf32 only in CNA and CORE.
enum class Precision : uint8_t {
    kInt8 = 0,
    kInt16 = 1,
    kFp16 = 2,
    kBf16 = 3,
    kInt32 = 4,
    kFp32 = 5,
    kInt4 = 6,
    kTf32 = 7,
};

}  // namespace npuregs
