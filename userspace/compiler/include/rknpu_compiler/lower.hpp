// SPDX-License-Identifier: MIT
// int8 network -> tensors, constants and register commands of an RK3588 job.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rknpu_compiler/quantize.hpp"
#include "rknpu_regcmd/regcmd_builder.hpp"

namespace rknpu::compiler {

/// Values of Tensor.kind in the .rknn schema.
enum class TensorKind : uint8_t {
    kInput = 1,
    kOutput = 2,
    kInternal = 3,
    kConstant = 4,
    kRegcmd = 9,
    kTask = 10,
};

/// Values of Tensor.layout in the .rknn schema.
enum class TensorLayout : uint8_t { kUndefined = 0, kNative = 64, kWeights = 65 };

/// ONNX TensorProto codes the schema uses.
enum class ElementType : uint8_t { kInt8 = 3, kInt32 = 6, kBlob = 13 };

struct JobTensor {
    std::string name;
    TensorKind kind = TensorKind::kInternal;
    TensorLayout layout = TensorLayout::kNative;
    ElementType type = ElementType::kInt8;
    std::vector<int32_t> native_dims;
    std::vector<int32_t> dims;  ///< NCHW or OIHW
    Range range;
    QuantParams quant;
    bool quantized = false;
    uint32_t size = 0;            ///< bytes, includes the aligned channels the hardware writes
    uint32_t offset = 0;          ///< in the arena: inputs, outputs, internals
    std::vector<std::byte> data;  ///< constants
};

/// Streams a file holds: one core; two cores: 0, 1; three cores: 0, 1, 2.
inline constexpr uint32_t kStreams = 6;

struct JobNode {
    std::string type;
    std::string name;
    bool on_npu = false;
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;
    std::array<uint32_t, kStreams> task_counts{};
};

/// A compiled network. Tensor 0 is a nameless placeholder, as in the vendor's files, so that buffer
/// ids of relocations are tensor indices.
struct Job {
    std::string name;
    std::vector<JobTensor> tensors;
    std::vector<JobNode> nodes;
    std::vector<int32_t> inputs;           ///< tensor indices
    std::vector<int32_t> outputs;          ///< tensor indices
    std::vector<InputInfo> normalisation;  ///< per input
    RegcmdBuilder commands;
    std::array<uint32_t, 3> first_task{};  ///< of the 1-, 2- and 3-core streams
    uint32_t arena_bytes = 0;
};

/// Fails with the layer's name and the reason when the hardware cannot do it.
[[nodiscard]] Result<Job> lower(const QuantizedGraph& graph);

}  // namespace rknpu::compiler
