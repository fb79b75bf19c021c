// SPDX-License-Identifier: MIT
// DepthToSpace and SpaceToDepth: reshape to six dimensions, permute, reshape.
#include <array>

#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

struct Blocks {
    std::int64_t size = 0;
    bool crd = false;  // depth = column, row, depth instead of depth, column, row
};

Status read_blocks(const OpContext& context, Blocks& out) {
    RKNPU_CPU_TRY(attr(context, "blocksize", out.size));
    std::string mode = "DCR";
    RKNPU_CPU_TRY(attr(context, "mode", mode));
    out.crd = mode == "CRD";
    if (!out.crd && mode != "DCR")
        return fail(context, StatusCode::kInvalidAttribute, "mode '", mode,
                    "' is neither DCR nor CRD");
    if (out.size < 1 || out.size > 4096)
        return fail(context, StatusCode::kInvalidAttribute, "blocksize ", out.size,
                    " is out of range");
    if (context.inputs[0].dims.rank() != 4)
        return fail(context, StatusCode::kInvalidShape, "input ", context.inputs[0].dims.text(),
                    " is not NCHW");
    return {};
}

Status infer_depth_to_space(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Blocks blocks;
    RKNPU_CPU_TRY(read_blocks(context, blocks));
    const Dims& in = context.inputs[0].dims;
    const std::int64_t area = blocks.size * blocks.size;
    if (in[1] % area != 0)
        return fail(context, StatusCode::kInvalidShape, "cannot cut ", in[1], " channels into ",
                    area, " parts");
    push_like(outputs, context.inputs[0],
              {in[0], in[1] / area, in[2] * blocks.size, in[3] * blocks.size});
    return {};
}

Status infer_space_to_depth(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Blocks blocks;
    RKNPU_CPU_TRY(read_blocks(context, blocks));
    const Dims& in = context.inputs[0].dims;
    if (in[2] % blocks.size != 0 || in[3] % blocks.size != 0)
        return fail(context, StatusCode::kInvalidShape, "cannot cut ", in.text(),
                    " into blocks of ", blocks.size);
    push_like(outputs, context.inputs[0],
              {in[0], in[1] * blocks.size * blocks.size, in[2] / blocks.size, in[3] / blocks.size});
    return {};
}

/// Copies between the wide image [N, C, H*b, W*b], walked as N C H b W b, and the deep one
/// [N, C*b*b, H, W] under the same walk.
void copy_blocks(const Blocks& blocks, const Dims& wide, const std::byte* src, std::byte* dst,
                 std::size_t element, bool to_wide) {
    const std::int64_t b = blocks.size;
    const std::int64_t c = wide[1];
    const std::int64_t h = wide[2] / b;
    const std::int64_t w = wide[3] / b;
    Walk<2> walk;
    walk.dims = {wide[0], c, h, b, w, b};
    walk.strides[0] = strides_of(walk.dims);
    // Depth index: CRD (c*b + row)*b + column, DCR (row*b + column)*C + c; in planes of h*w.
    const std::int64_t plane = h * w;
    const std::int64_t channel = (blocks.crd ? b * b : 1) * plane;
    const std::int64_t row = (blocks.crd ? b : b * c) * plane;
    const std::int64_t column = (blocks.crd ? 1 : c) * plane;
    walk.strides[1] = {c * b * b * plane, channel, w, row, 1, column};
    dispatch_width(element == 1   ? DType::kU8
                   : element == 2 ? DType::kU16
                   : element == 4 ? DType::kU32
                                  : DType::kU64,
                   [&]<typename T>(std::type_identity<T>) {
                       const T* from = reinterpret_cast<const T*>(src);
                       T* to = reinterpret_cast<T*>(dst);
                       if (to_wide)
                           walk.elements([&](const auto& at) { to[at[0]] = from[at[1]]; });
                       else
                           walk.elements([&](const auto& at) { to[at[1]] = from[at[0]]; });
                   });
}

Status compute_depth_to_space(const OpContext& context) {
    Blocks blocks;
    RKNPU_CPU_TRY(read_blocks(context, blocks));
    copy_blocks(blocks, context.outputs[0].dims, context.inputs[0].data.data(),
                context.outputs[0].data.data(), dtype_size(context.inputs[0].dtype), true);
    return {};
}

Status compute_space_to_depth(const OpContext& context) {
    Blocks blocks;
    RKNPU_CPU_TRY(read_blocks(context, blocks));
    copy_blocks(blocks, context.inputs[0].dims, context.inputs[0].data.data(),
                context.outputs[0].data.data(), dtype_size(context.inputs[0].dtype), false);
    return {};
}

constexpr std::array kOps = {
    Operator{"DepthToSpace", 1, 1, 1, Numeric::kMove, infer_depth_to_space, compute_depth_to_space},
    Operator{"SpaceToDepth", 1, 1, 1, Numeric::kMove, infer_space_to_depth, compute_space_to_depth},
};

}  // namespace

std::span<const Operator> depth_space_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
