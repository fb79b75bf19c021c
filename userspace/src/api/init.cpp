// SPDX-License-Identifier: MIT
#include "api/init.hpp"

#include <cstring>
#include <string_view>

#include "api/context.hpp"
#include "api/object.hpp"
#include "core/bytes.hpp"

namespace rknpu::api {
namespace {

using File = std::shared_ptr<const std::vector<std::byte>>;

Result<File> copy_block(std::span<const std::byte> block, const rknn_init_extend* extend,
                        uint32_t flags) {
    // Only with this flag the members behind the first one say something about a block.
    if ((flags & RKNN_FLAG_MODEL_BUFFER_ZERO_COPY) != 0 && extend != nullptr &&
        extend->real_model_size != 0) {
        const auto offset = static_cast<uint64_t>(extend->real_model_offset);
        if (extend->real_model_offset < 0 ||
            !range_inside(offset, extend->real_model_size, block.size()))
            return Status::failure(
                Error::kInvalidArgument,
                "the model ({} bytes at offset {}) is not inside its buffer of {} "
                "bytes",
                extend->real_model_size, extend->real_model_offset, block.size());
        block = block.subspan(offset, extend->real_model_size);
    }
    return File(std::make_shared<std::vector<std::byte>>(block.begin(), block.end()));
}

/// A whole file, or the part of it that `extend` names.
Result<File> read_path(const char* path, const rknn_init_extend* extend) {
    uint64_t offset = 0;
    uint64_t length = 0;
    if (extend != nullptr) {
        if (extend->real_model_offset < 0)
            return Status::failure(Error::kInvalidArgument, "the model's offset is {}",
                                   extend->real_model_offset);
        offset = static_cast<uint64_t>(extend->real_model_offset);
        length = extend->real_model_size;
    }
    return read_file(path, offset, length);
}

/// The manual's program for shared weights sets the master's context in `extend` and leaves
/// whatever was there in the other members: they count only if they name a model.
Result<File> read_slave(const char* path, const rknn_init_extend* extend) {
    constexpr std::string_view kMagic = "RKNN";
    auto part = read_path(path, extend);
    const bool model = part.ok() && part.value()->size() >= kMagic.size() &&
                       std::memcmp(part.value()->data(), kMagic.data(), kMagic.size()) == 0;
    return model ? part : read_path(path, nullptr);
}

Result<File> read_model(const void* model, uint32_t size, uint32_t flags,
                        const rknn_init_extend* extend) {
    if (size != 0)
        return copy_block({static_cast<const std::byte*>(model), size}, extend, flags);
    const auto* path = static_cast<const char*>(model);
    const bool slave = (flags & RKNN_FLAG_SHARE_WEIGHT_MEM) != 0;
    return slave ? read_slave(path, extend) : read_path(path, extend);
}

}  // namespace

Status init_context(rknn_context* context, const void* model, uint32_t size, uint32_t flags,
                    const rknn_init_extend* extend) {
    if (context == nullptr || model == nullptr)
        return Status{Error::kInvalidArgument,
                      context == nullptr ? "context is NULL" : "model is NULL"};
    auto file = read_model(model, size, flags, extend);
    if (!file.ok())
        return file.status();
    InitRequest request;
    request.file = std::move(file).value();
    request.flags = flags;
    if ((flags & RKNN_FLAG_SHARE_WEIGHT_MEM) != 0 && extend != nullptr) {
        auto master = find_as<Context>(extend->ctx);
        if (!master.ok())
            return master.status();
        request.weights_from = std::move(master).value();
    }
    auto made = Context::create(request);
    if (!made.ok())
        return made.status();
    *context = static_cast<rknn_context>(register_object(std::move(made).value()));
    return {};
}

}  // namespace rknpu::api
