// SPDX-License-Identifier: MIT
// Decoder of register command streams, the part of the PC unit that writes registers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "npusim/npu.hpp"
#include "npusim/regfile.hpp"
#include "npusim/soc.hpp"

namespace npusim {

/// What one stream asks for.
struct StreamEnd {
    uint32_t enable_mask = 0;
    std::optional<uint32_t> next_address;  ///< BASE_ADDRESS written by the stream
    std::optional<uint32_t> next_amount;   ///< REGISTER_AMOUNTS written by the stream
    std::string error;                     ///< not empty: refused, names word, register and value
};

/// Applies the words up to the op-enable broadcast; words behind it are the rounding of the fetch
/// amount and are ignored. Registers written before an error stay written, as on the chip.
[[nodiscard]] StreamEnd apply_stream(std::span<const uint64_t> words, const SocConfig& soc,
                                     RegFile& regs, TaskRunner& runner);

/// Words a REGISTER_AMOUNTS value makes the PC fetch (high half ignored).
[[nodiscard]] uint32_t fetch_words(uint32_t amounts, const SocConfig& soc);

}  // namespace npusim
