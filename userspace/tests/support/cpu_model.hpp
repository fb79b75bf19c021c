// SPDX-License-Identifier: MIT
// Small .rknn files whose nodes all run on the CPU, for tests of everything around the nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rknpu::test {

/// Element types as the file numbers them.
enum class FileType : uint8_t {
    kFloat = 1,
    kUint8 = 2,
    kInt8 = 3,
    kInt32 = 6,
    kInt64 = 7,
    kBool = 9,
    kHalf = 10,
    kString = 8,  ///< no element type of a tensor: damaged files
};

struct FileTensor {
    std::string name;
    FileType type = FileType::kFloat;
    std::vector<int32_t> dims;
    std::vector<int32_t> native{};  ///< N C1 H W C2, or empty: row major
    float scale = 0.0f;             ///< 0: not quantised
    int32_t zero_point = 0;
    uint32_t bytes = 0;             ///< 0: what the dims need
    std::vector<std::byte> data{};  ///< a constant; empty: lies in the arena
};

struct FileNode {
    std::string type;
    std::string name;
    std::vector<int32_t> inputs;  ///< indices into the tensors
    std::vector<int32_t> outputs;
    std::vector<std::pair<std::string, std::variant<int64_t, double, std::vector<int64_t>>>>
        attributes{};
};

struct FileModel {
    std::vector<FileTensor> tensors;
    std::vector<FileNode> nodes;
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;
    std::vector<float> mean{};  ///< of the first input; empty: none
    std::vector<float> scale{};
    std::string target = "rk3588";
};

/// The file. Inputs and outputs get their kinds, all others are internal tensors.
std::vector<std::byte> write_file(const FileModel& model);

/// One node of `type` between one input and one output of the same shape.
FileModel one_node(const std::string& type, const FileTensor& like);

}  // namespace rknpu::test
