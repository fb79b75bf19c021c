// SPDX-License-Identifier: MIT
// Server side of the vfio-user protocol, as QEMU 11's vfio-user-pci speaks it. No device
// knowledge: requests are checked here and handed to a VfioDevice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "os.hpp"

namespace rknpusim {

struct RegionInfo {
    uint32_t flags = 0;  ///< kRegion* bits
    uint64_t size = 0;   ///< bytes; 0 = no such region
    int fd = -1;         ///< file that backs it, for kRegionMmap; not owned
};
inline constexpr uint32_t kRegionRead = 1U << 0;
inline constexpr uint32_t kRegionWrite = 1U << 1;
inline constexpr uint32_t kRegionMmap = 1U << 2;

struct IrqInfo {
    uint32_t flags = 0;  ///< kIrq* bits
    uint32_t count = 0;
};
inline constexpr uint32_t kIrqEventfd = 1U << 0;
inline constexpr uint32_t kIrqMaskable = 1U << 1;
inline constexpr uint32_t kIrqAutomasked = 1U << 2;

inline constexpr uint32_t kNumRegions = 9;    ///< of a PCI device
inline constexpr uint32_t kConfigRegion = 7;  ///< PCI configuration space
inline constexpr uint32_t kNumIrqs = 5;       ///< index kinds of a PCI device
inline constexpr uint32_t kIntxIrq = 0;
inline constexpr uint32_t kErrorIrq = 3;
inline constexpr uint32_t kRequestIrq = 4;

/// What a function must offer. Return values are 0 or a positive errno for the error reply.
/// Offsets and lengths are within the region's size when these are called.
class VfioDevice {
 public:
    virtual ~VfioDevice() = default;
    [[nodiscard]] virtual RegionInfo region(uint32_t index) const = 0;
    [[nodiscard]] virtual IrqInfo irq(uint32_t index) const = 0;
    virtual int region_read(uint32_t index, uint64_t offset, std::span<std::byte> data) = 0;
    virtual int region_write(uint32_t index, uint64_t offset, std::span<const std::byte> data) = 0;
    /// An empty fd takes the trigger away.
    virtual int set_irq_trigger(uint32_t index, UniqueFd eventfd) = 0;
    virtual int fire_irq(uint32_t index) = 0;
    virtual int mask_irq(uint32_t index, bool masked) = 0;
    /// fd is empty when the client keeps the memory to itself.
    virtual int dma_map(uint64_t address, uint64_t size, uint64_t offset, bool writable,
                        UniqueFd fd) = 0;
    virtual int dma_unmap(uint64_t address, uint64_t size) = 0;
    virtual void dma_unmap_all() = 0;
    virtual void reset() = 0;
};

/// One client connection. Blocking; the socket should have receive and send timeouts.
class VfioSession {
 public:
    enum class Status : uint8_t {
        kOk,
        kClosed,         ///< the client closed between two messages
        kProtocolError,  ///< framing broken, error() says how; close the connection
    };

    VfioSession(UniqueFd socket, VfioDevice& device);

    /// Receives, executes and answers one message.
    [[nodiscard]] Status handle_one();

    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] const std::string& error() const { return error_; }
    [[nodiscard]] uint64_t messages() const { return messages_; }

 private:
    struct Header;
    using Bytes = std::span<const std::byte>;

    Status broken(const std::string& why);
    Status receive(Header& header);
    bool receive_exact(std::span<std::byte> out);
    /// Fills reply_ and reply_fd_; returns 0 or an errno.
    int dispatch(const Header& header);
    int on_version(Bytes payload);
    int on_dma_map(Bytes payload);
    int on_dma_unmap(Bytes payload);
    int on_device_info();
    int on_region_info(Bytes payload);
    int on_irq_info(Bytes payload);
    int on_set_irqs(Bytes payload);
    int on_region_read(Bytes payload);
    int on_region_write(Bytes payload);
    int on_write_multi(Bytes payload);
    int write_region(uint32_t index, uint64_t offset, Bytes data);
    Status send_reply(const Header& request, int error);

    UniqueFd socket_;
    VfioDevice& device_;
    bool versioned_ = false;
    uint64_t messages_ = 0;
    std::string error_;
    std::vector<std::byte> payload_;
    std::vector<UniqueFd> fds_;  // of the message at hand
    std::vector<std::byte> reply_;
    int reply_fd_ = -1;
};

}  // namespace rknpusim
