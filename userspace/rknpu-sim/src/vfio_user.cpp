// SPDX-License-Identifier: MIT
// Message layouts: vfio-user specification; which messages matter and the version answer 0.0:
// observed with QEMU 11.1 (Documentation/emulated-board.rst).
#include "vfio_user.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace rknpusim {

struct VfioSession::Header {
    uint16_t id = 0;
    uint16_t command = 0;
    uint32_t size = 0;
    uint32_t flags = 0;
    uint32_t error = 0;
};

namespace {

enum Command : uint16_t {
    kVersion = 1,
    kDmaMap = 2,
    kDmaUnmap = 3,
    kDeviceInfo = 4,
    kRegionInfo = 5,
    kIrqInfo = 7,
    kSetIrqs = 8,
    kReadRegion = 9,
    kWriteRegion = 10,
    kDeviceReset = 13,
    kWriteMulti = 15,
};

constexpr uint32_t kFlagTypeMask = 0xf;
constexpr uint32_t kFlagReply = 0x1;
constexpr uint32_t kFlagNoReply = 0x10;
constexpr uint32_t kFlagError = 0x20;

constexpr uint32_t kMaxTransfer = 1U << 20;            // announced to the client
constexpr uint32_t kMaxMessage = kMaxTransfer + 4096;  // plus headers
constexpr size_t kMaxFds = 8;                          // announced to the client

constexpr uint32_t kDmaMapWrite = 1U << 1;
constexpr uint32_t kDmaUnmapAll = 1U << 1;
constexpr uint32_t kDeviceFlags = 0x3;  // resettable, PCI

constexpr uint32_t kIrqDataNone = 1U << 0;
constexpr uint32_t kIrqDataBool = 1U << 1;
constexpr uint32_t kIrqDataEventfd = 1U << 2;
constexpr uint32_t kIrqDataMask = kIrqDataNone | kIrqDataBool | kIrqDataEventfd;
constexpr uint32_t kIrqMask = 1U << 3;
constexpr uint32_t kIrqUnmask = 1U << 4;
constexpr uint32_t kIrqTrigger = 1U << 5;

struct DmaMapArgs {
    uint32_t argsz, flags;
    uint64_t offset, address, size;
};
struct DmaUnmapArgs {
    uint32_t argsz, flags;
    uint64_t address, size;
};
struct DeviceInfoArgs {
    uint32_t argsz, flags, regions, irqs;
};
struct RegionInfoArgs {
    uint32_t argsz, flags, index, cap_offset;
    uint64_t size, offset;
};
struct IrqInfoArgs {
    uint32_t argsz, flags, index, count;
};
struct SetIrqsArgs {
    uint32_t argsz, flags, index, start, count;
};
struct RegionAccess {
    uint64_t offset;
    uint32_t region, count;
};
struct MultiEntry {
    RegionAccess access;
    std::array<std::byte, 8> data;
};

constexpr std::string_view kCapabilities =
    R"({"capabilities":{"max_msg_fds":8,"max_data_xfer_size":1048576,"max_dma_maps":65535,)"
    R"("pgsizes":4096,"write_multiple":true}})";

template <typename T>
bool load(std::span<const std::byte> bytes, T& out) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (bytes.size() < sizeof(T))
        return false;
    std::memcpy(&out, bytes.data(), sizeof(T));
    return true;
}

template <typename T>
void append(std::vector<std::byte>& out, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Takes ownership of every descriptor of the message; false when some did not fit.
bool take_fds(msghdr& message, std::vector<UniqueFd>& out) {
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; ++i) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            out.emplace_back(fd);
        }
    }
    return (message.msg_flags & MSG_CTRUNC) == 0;
}

bool inside(uint64_t offset, uint64_t count, uint64_t size) {
    return offset <= size && count <= size - offset;
}

}  // namespace

VfioSession::VfioSession(UniqueFd socket, VfioDevice& device)
    : socket_(std::move(socket)), device_(device) {}

VfioSession::Status VfioSession::broken(const std::string& why) {
    error_ = why;
    return Status::kProtocolError;
}

bool VfioSession::receive_exact(std::span<std::byte> out) {
    while (!out.empty()) {
        const ssize_t got = ::recv(socket_.get(), out.data(), out.size(), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        out = out.subspan(static_cast<size_t>(got));
    }
    return true;
}

VfioSession::Status VfioSession::receive(Header& header) {
    fds_.clear();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFds * sizeof(int))> control{};
    iovec part{&header, sizeof(header)};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t got;
    do {
        got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        return Status::kClosed;
    if (got < 0)
        return broken(std::string("receive: ") + std::strerror(errno));
    if (!take_fds(message, fds_))
        return broken("more file descriptors than announced");
    const auto rest = std::as_writable_bytes(std::span(&header, 1));
    if (!receive_exact(rest.subspan(static_cast<size_t>(got))))
        return broken("the connection ended inside a header");
    if (header.size < sizeof(Header) || header.size > kMaxMessage)
        return broken("message size " + std::to_string(header.size) + " is out of range");
    if ((header.flags & kFlagTypeMask) != 0)
        return broken("a reply arrived although nothing was asked");
    payload_.resize(header.size - sizeof(Header));
    if (!receive_exact(payload_))
        return broken("the connection ended inside a message");
    return Status::kOk;
}

VfioSession::Status VfioSession::handle_one() {
    Header header;
    const Status status = receive(header);
    if (status != Status::kOk)
        return status;
    ++messages_;
    if (versioned_ == (header.command == kVersion))
        return broken(versioned_ ? "a second version message" : "the first message is no version");
    reply_.clear();
    reply_fd_ = -1;
    const int error = dispatch(header);
    if (header.flags & kFlagNoReply)
        return Status::kOk;
    return send_reply(header, error);
}

int VfioSession::dispatch(const Header& header) {
    const Bytes payload(payload_);
    switch (header.command) {
        case kVersion:
            return on_version(payload);
        case kDmaMap:
            return on_dma_map(payload);
        case kDmaUnmap:
            return on_dma_unmap(payload);
        case kDeviceInfo:
            return on_device_info();
        case kRegionInfo:
            return on_region_info(payload);
        case kIrqInfo:
            return on_irq_info(payload);
        case kSetIrqs:
            return on_set_irqs(payload);
        case kReadRegion:
            return on_region_read(payload);
        case kWriteRegion:
            return on_region_write(payload);
        case kWriteMulti:
            return on_write_multi(payload);
        case kDeviceReset:
            device_.reset();
            return 0;
        default:
            return ENOSYS;
    }
}

VfioSession::Status VfioSession::send_reply(const Header& request, int error) {
    Header header = request;
    header.flags = kFlagReply | (error ? kFlagError : 0U);
    header.error = static_cast<uint32_t>(error);
    if (error) {
        reply_.clear();
        reply_fd_ = -1;
    }
    header.size = static_cast<uint32_t>(sizeof(header) + reply_.size());
    std::array<iovec, 2> parts = {iovec{&header, sizeof(header)},
                                  iovec{reply_.data(), reply_.size()}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    if (reply_fd_ >= 0) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(c), &reply_fd_, sizeof(int));
    }
    size_t sent = 0;
    while (sent < header.size) {
        const ssize_t n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EPIPE || errno == ECONNRESET
                       ? Status::kClosed
                       : broken(std::string("send: ") + std::strerror(errno));
        sent += static_cast<size_t>(n);
        message.msg_control = nullptr;
        message.msg_controllen = 0;
        const size_t head = std::min(sent, sizeof(header));
        parts[0] = {std::as_writable_bytes(std::span(&header, 1)).data() + head,
                    sizeof(header) - head};
        const size_t body = sent - head;
        parts[1] = {reply_.data() + body, reply_.size() - body};
    }
    return Status::kOk;
}

int VfioSession::on_version(Bytes payload) {
    struct {
        uint16_t major, minor;
    } version{};
    if (!load(payload, version) || version.major != 0)
        return EINVAL;
    versioned_ = true;
    version = {0, 0};  // QEMU 11 takes no other answer
    append(reply_, version);
    const auto text = std::as_bytes(std::span(kCapabilities));
    reply_.insert(reply_.end(), text.begin(), text.end());
    reply_.push_back(std::byte{0});
    return 0;
}

int VfioSession::on_dma_map(Bytes payload) {
    DmaMapArgs args{};
    if (!load(payload, args) || fds_.size() > 1 || args.size == 0 ||
        args.address + (args.size - 1) < args.address)
        return EINVAL;
    UniqueFd fd;
    if (!fds_.empty())
        fd = std::move(fds_.front());
    const bool writable = (args.flags & kDmaMapWrite) != 0;
    const int error =
        device_.dma_map(args.address, args.size, args.offset, writable, std::move(fd));
    append(reply_, args);
    return error;
}

int VfioSession::on_dma_unmap(Bytes payload) {
    DmaUnmapArgs args{};
    if (!load(payload, args))
        return EINVAL;
    append(reply_, args);
    if (args.flags & kDmaUnmapAll) {
        device_.dma_unmap_all();
        return 0;
    }
    return device_.dma_unmap(args.address, args.size);
}

int VfioSession::on_device_info() {
    append(reply_, DeviceInfoArgs{sizeof(DeviceInfoArgs), kDeviceFlags, kNumRegions, kNumIrqs});
    return 0;
}

int VfioSession::on_region_info(Bytes payload) {
    RegionInfoArgs args{};
    if (!load(payload, args) || args.index >= kNumRegions)
        return EINVAL;
    const RegionInfo info = device_.region(args.index);
    append(reply_, RegionInfoArgs{sizeof(RegionInfoArgs), info.flags, args.index, 0, info.size, 0});
    reply_fd_ = info.fd;
    return 0;
}

int VfioSession::on_irq_info(Bytes payload) {
    IrqInfoArgs args{};
    if (!load(payload, args) || args.index >= kNumIrqs)
        return EINVAL;
    const IrqInfo info = device_.irq(args.index);
    append(reply_, IrqInfoArgs{sizeof(IrqInfoArgs), info.flags, args.index, info.count});
    return 0;
}

int VfioSession::on_set_irqs(Bytes payload) {
    SetIrqsArgs args{};
    if (!load(payload, args) || args.index >= kNumIrqs || fds_.size() > 1)
        return EINVAL;
    const IrqInfo info = device_.irq(args.index);
    if (!inside(args.start, args.count, info.count))
        return EINVAL;
    append(reply_, args);
    const uint32_t action = args.flags & ~kIrqDataMask;
    const uint32_t data = args.flags & kIrqDataMask;
    if (action == kIrqTrigger && data == kIrqDataEventfd) {
        if (args.count != 1)
            return EINVAL;
        return device_.set_irq_trigger(args.index,
                                       fds_.empty() ? UniqueFd() : std::move(fds_.front()));
    }
    if (data == kIrqDataEventfd)
        return ENOTSUP;  // eventfds for mask and unmask serve only KVM
    bool on = data == kIrqDataNone;
    if (data == kIrqDataBool) {
        uint8_t flag = 0;
        if (args.count != 1 || !load(payload.subspan(sizeof(args)), flag))
            return EINVAL;
        on = flag != 0;
    } else if (data != kIrqDataNone) {
        return EINVAL;
    }
    switch (action) {
        case kIrqTrigger:
            if (args.count == 0)
                return device_.set_irq_trigger(args.index, UniqueFd());
            return on ? device_.fire_irq(args.index) : 0;
        case kIrqMask:
            return on ? device_.mask_irq(args.index, true) : 0;
        case kIrqUnmask:
            return on ? device_.mask_irq(args.index, false) : 0;
        default:
            return EINVAL;
    }
}

int VfioSession::on_region_read(Bytes payload) {
    RegionAccess args{};
    if (!load(payload, args) || args.region >= kNumRegions || args.count > kMaxTransfer)
        return EINVAL;
    const RegionInfo info = device_.region(args.region);
    if ((info.flags & kRegionRead) == 0 || !inside(args.offset, args.count, info.size))
        return EINVAL;
    append(reply_, args);
    const size_t head = reply_.size();
    reply_.resize(head + args.count);
    return device_.region_read(args.region, args.offset, std::span(reply_).subspan(head));
}

int VfioSession::write_region(uint32_t index, uint64_t offset, Bytes data) {
    if (index >= kNumRegions)
        return EINVAL;
    const RegionInfo info = device_.region(index);
    if ((info.flags & kRegionWrite) == 0 || !inside(offset, data.size(), info.size))
        return EINVAL;
    return device_.region_write(index, offset, data);
}

int VfioSession::on_region_write(Bytes payload) {
    RegionAccess args{};
    if (!load(payload, args) || args.count != payload.size() - sizeof(args))
        return EINVAL;
    append(reply_, args);
    return write_region(args.region, args.offset, payload.subspan(sizeof(args)));
}

int VfioSession::on_write_multi(Bytes payload) {
    uint64_t count = 0;
    if (!load(payload, count) || count > payload.size() / sizeof(MultiEntry) ||
        payload.size() != sizeof(count) + count * sizeof(MultiEntry))
        return EINVAL;
    append(reply_, count);
    int first_error = 0;
    for (uint64_t i = 0; i < count; ++i) {
        MultiEntry entry{};
        load(payload.subspan(sizeof(count) + i * sizeof(entry)), entry);
        int error = EINVAL;
        if (entry.access.count <= entry.data.size())
            error = write_region(entry.access.region, entry.access.offset,
                                 std::span(entry.data).first(entry.access.count));
        if (first_error == 0)
            first_error = error;
    }
    return first_error;
}

}  // namespace rknpusim
