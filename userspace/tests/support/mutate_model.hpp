// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_generated.h>

#include <cstdint>
#include <random>

namespace rknpu::test {

/// Changes one number, name or list of a model, keeping the structure of the file: sizes, offsets,
/// indices, register commands, task records, relocations.
void mutate_model(schema::ModelT& model, std::mt19937& random);

}  // namespace rknpu::test
