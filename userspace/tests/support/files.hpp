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

/// Path of a file below shared_dir(); empty, after a printed reason, if it is not there.
std::string shared_file(const std::string& name);

/// Whole file; empty if it cannot be read.
std::vector<std::byte> read_all(const std::string& path);

bool exists(const std::string& path);

/// A new folder for temporary files that goes, with all that is in it, when the object does.
class TempFolder {
 public:
    TempFolder();
    ~TempFolder();
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    /// Empty if the folder could not be made.
    [[nodiscard]] const std::string& path() const { return path_; }

 private:
    std::string path_;
};

/// Reproducible bytes.
std::vector<std::byte> noise(size_t count, uint32_t seed);

}  // namespace rknpu::test
