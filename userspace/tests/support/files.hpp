// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rknpu::test {

/// Folder of our own models (RKNPU_MODELS, else the source tree).
std::string models_dir();

/// Folder of models made by others (RKNPU_TEST_DATA, else ../shared/data beside the repository);
/// empty if it is not there.
std::string shared_dir();

/// Whole file; empty if it cannot be read.
std::vector<std::byte> read_all(const std::string& path);

bool exists(const std::string& path);

/// Reproducible bytes.
std::vector<std::byte> noise(size_t count, uint32_t seed);

}  // namespace rknpu::test
