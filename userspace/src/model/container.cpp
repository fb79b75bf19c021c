// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/bytes.hpp"
#include "model/reader.hpp"

namespace rknpu {
namespace {

constexpr size_t kHeaderBytes = 24;
constexpr size_t kReservedBytes = 40;  // present from layout 2 on
constexpr uint8_t kOldestLayout = 2, kNewestLayout = 6;
constexpr uint8_t kMiniFormat = 0x10;
constexpr uint64_t kLargestFile = uint64_t{2} << 30;

bool starts_with(std::span<const std::byte> file, std::string_view magic, size_t at = 0) {
    return file.size() >= at + magic.size() &&
           std::memcmp(file.data() + at, magic.data(), magic.size()) == 0;
}

/// An ONNX file is a protobuf message whose first field is ir_version, a small number, followed by
/// a length-delimited field.
bool looks_like_onnx(std::span<const std::byte> file) {
    if (file.size() < 4 || load<uint8_t>(file, 0) != 0x08 || load<uint8_t>(file, 1) > 0x20)
        return false;
    const auto next = load<uint8_t>(file, 2);
    return (next & 7) == 2 || (next & 7) == 0;
}

Status not_a_model(std::span<const std::byte> file) {
    const auto fail = [](std::string_view text) {
        return Status{Error::kInvalidModel, std::string(text)};
    };
    if (starts_with(file, "CYPTRKNN"))
        return fail(
            "Encrypted .rknn file: the encryption is not public, so it cannot be loaded. "
            "Export the model again without encryption.");
    if (starts_with(file, "RKNX"))
        return fail("This is an RKNN3 file; only RKNPU2 files of rknn-toolkit2 can be loaded.");
    if (starts_with(file, "VPMN"))
        return fail(
            "This is a file of the first rknn-toolkit (RK1808, RK3399Pro); convert the "
            "original model with rknn-toolkit2.");
    if (starts_with(file, "RKNN", 4))
        return fail("Invalid RKNN format: the payload of a .rknn file without its header.");
    if (starts_with(file, "TFL3", 4))
        return fail(
            "This is a TensorFlow Lite model, not a .rknn file; convert it with "
            "rknn-toolkit2 first.");
    if (looks_like_onnx(file))
        return fail(
            "This is an ONNX model, not a .rknn file; convert it with rknn-toolkit2 first.");
    return fail("Invalid RKNN format: the file does not start with the letters RKNN.");
}

Status check_version(uint64_t version) {
    const auto layout = static_cast<uint8_t>(version);
    const auto family = static_cast<uint8_t>(version >> 8);
    if (family == kMiniFormat)
        return Status{
            Error::kInvalidModel,
            "This .rknn file is in the mini format of RV1103/RV1106; models for RK3588 or "
            "RK3576 are needed."};
    if (family != 0 || (version >> 16) != 0 || layout > kNewestLayout)
        return Status::failure(Error::kInvalidModel,
                               "Invalid RKNN model version {:#x}: newer than this library, which "
                               "knows layouts {} to {}.",
                               version, kOldestLayout, kNewestLayout);
    if (layout < kOldestLayout)
        return Status::failure(
            Error::kInvalidModel,
            "Invalid RKNN model version {}: files of toolkits older than 1.4 are "
            "not supported; convert the model again.",
            layout);
    return {};
}

}  // namespace

Result<Container> open_container(std::span<const std::byte> file) {
    if (file.size() < 8 || !starts_with(file, std::string_view("RKNN\0\0\0\0", 8)))
        return not_a_model(file);
    if (file.size() < kHeaderBytes)
        return Status::failure(Error::kInvalidModel,
                               "Truncated .rknn file: {} bytes, the header alone has {}.",
                               file.size(), kHeaderBytes);
    Container out;
    out.version = load<uint64_t>(file, 8);
    if (auto status = check_version(out.version); !status.ok())
        return status;
    const uint64_t length = load<uint64_t>(file, 16);
    const uint64_t start = kHeaderBytes + kReservedBytes;
    if (length == 0)
        return Status{Error::kInvalidModel, "Invalid RKNN format: the payload is empty."};
    if (!range_inside(start, length, file.size()))
        return Status::failure(Error::kInvalidModel,
                               "Truncated .rknn file: {} bytes, its header announces {} bytes of "
                               "payload.",
                               file.size(), length);
    out.payload = file.subspan(start, length);
    const uint64_t after = start + length;
    const uint64_t json =
        range_inside(after, 8, file.size()) ? load<uint64_t>(file, after) : UINT64_MAX;
    if (!range_inside(after + 8, json, file.size()))
        return Status::failure(Error::kInvalidModel,
                               "Truncated .rknn file: {} bytes, the text behind its payload is not "
                               "complete.",
                               file.size());
    out.json = {reinterpret_cast<const char*>(file.data()) + after + 8, static_cast<size_t>(json)};
    return out;
}

Result<std::shared_ptr<const std::vector<std::byte>>> read_file(const std::string& path,
                                                                uint64_t offset, uint64_t length) {
    const auto fail = [&](const char* what) {
        return Status::failure(Error::kInvalidArgument, "Cannot read model file '{}': {}.", path,
                               what);
    };
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                         &std::fclose);
    if (!file)
        return fail(std::strerror(errno));
    struct stat info {};
    if (fstat(fileno(file.get()), &info) != 0)
        return fail(std::strerror(errno));
    if (!S_ISREG(info.st_mode))
        return fail("not a regular file");
    const auto size = static_cast<uint64_t>(info.st_size);
    if (offset > size)
        return fail("the offset lies behind its end");
    const uint64_t wanted = length == 0 ? size - offset : length;
    if (!range_inside(offset, wanted, size) || wanted > kLargestFile)
        return fail(wanted > kLargestFile ? "larger than 2 GiB" : "shorter than the given length");
    auto bytes = std::make_shared<std::vector<std::byte>>(wanted);
    if (fseeko(file.get(), static_cast<off_t>(offset), SEEK_SET) != 0 ||
        std::fread(bytes->data(), 1, wanted, file.get()) != wanted)
        return fail("read error");
    return std::shared_ptr<const std::vector<std::byte>>(std::move(bytes));
}

}  // namespace rknpu
