// SPDX-License-Identifier: MIT
// The committed digit model and its test pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rknpu_compiler/quantize.hpp"

namespace rknpu::compiler::testing {

struct Digit {
    std::vector<int8_t> pixels;  ///< 28x28, as the model's input holds them (grey value - 128)
    unsigned label = 0;
};

/// userspace/models/digits/<name>, whole.
std::vector<std::byte> read_digits_file(const std::string& name);

/// The network built from digits.json and digits.bin. Fails the test when it cannot be built.
QuantizedGraph quantized_digits();

/// All 1,000 digits of test_sheet.png with their labels.
std::vector<Digit> load_digits();

}  // namespace rknpu::compiler::testing
