// SPDX-License-Identifier: MIT
// The protocol class against a device that remembers; hostile messages.
#include <sys/eventfd.h>
#include <catch2/catch.hpp>
#include <cerrno>
#include <random>
#include <string>

#include "client.hpp"

using namespace rknpusim_test;
using rknpusim::VfioSession;

namespace {

/// 4 KiB of memory in region 0 and config space; refuses nothing.
class MemoryDevice final : public rknpusim::VfioDevice {
 public:
    rknpusim::RegionInfo region(uint32_t index) const override {
        if (index == 0 || index == rknpusim::kConfigRegion)
            return {3, index == 0 ? bytes.size() : 256, -1};
        if (index == 2)
            return {7, bytes.size(), file.get()};
        return {};
    }
    rknpusim::IrqInfo irq(uint32_t index) const override {
        return index == 0 ? rknpusim::IrqInfo{7, 1} : rknpusim::IrqInfo{};
    }
    int region_read(uint32_t, uint64_t offset, std::span<std::byte> data) override {
        std::memcpy(data.data(), bytes.data() + offset, data.size());
        return 0;
    }
    int region_write(uint32_t, uint64_t offset, std::span<const std::byte> data) override {
        std::memcpy(bytes.data() + offset, data.data(), data.size());
        return 0;
    }
    int set_irq_trigger(uint32_t, UniqueFd fd) override {
        has_trigger = static_cast<bool>(fd);
        trigger = std::move(fd);
        return 0;
    }
    int fire_irq(uint32_t) override {
        ++fired;
        return 0;
    }
    int mask_irq(uint32_t, bool on) override {
        masked = on;
        return 0;
    }
    int dma_map(uint64_t, uint64_t, uint64_t, bool, UniqueFd) override {
        ++maps;
        return 0;
    }
    int dma_unmap(uint64_t, uint64_t) override { return maps-- > 0 ? 0 : ENOENT; }
    void dma_unmap_all() override { maps = 0; }
    void reset() override { ++resets; }

    std::array<std::byte, 4096> bytes{};
    UniqueFd file = rknpusim::make_memfd("test", 4096);
    UniqueFd trigger;
    bool has_trigger = false;
    bool masked = false;
    int fired = 0;
    int maps = 0;
    int resets = 0;
};

}  // namespace

TEST_CASE("version answer is 0.0 with capabilities") {
    MemoryDevice device;
    Client client(device);
    const Reply reply = client.hello();
    REQUIRE(reply.received);
    CHECK(reply.command == 1);
    CHECK(reply.flags == 1);
    CHECK(reply.at<uint32_t>(0) == 0);
    REQUIRE(reply.payload.size() > 5);
    CHECK(reply.payload.back() == std::byte{0});
    client.close();
    CHECK(client.status == VfioSession::Status::kClosed);
}

TEST_CASE("device, region and irq information") {
    MemoryDevice device;
    Client client(device);
    client.hello();
    const Reply info = client.call(4, Payload().add<uint64_t>(16).add<uint64_t>(0).bytes());
    CHECK(info.at<uint32_t>(4) == 3);
    CHECK(info.at<uint32_t>(8) == 9);
    CHECK(info.at<uint32_t>(12) == 5);
    const auto ask = [&](uint16_t command, uint32_t index) {
        return client.call(command, Payload()
                                        .add<uint32_t>(32)
                                        .add<uint32_t>(0)
                                        .add(index)
                                        .add<uint32_t>(0)
                                        .add<uint64_t>(0)
                                        .add<uint64_t>(0)
                                        .bytes());
    };
    CHECK(ask(5, 0).at<uint64_t>(16) == 4096);
    CHECK(ask(5, 1).at<uint64_t>(16) == 0);
    CHECK(ask(5, 2).fd.get() >= 0);
    CHECK(ask(5, 9).error == EINVAL);
    CHECK(ask(7, 0).at<uint32_t>(12) == 1);
    CHECK(ask(7, 2).at<uint32_t>(12) == 0);
    CHECK(ask(7, 5).error == EINVAL);
}

TEST_CASE("reads and writes stay inside their region") {
    MemoryDevice device;
    Client client(device);
    client.hello();
    CHECK(client.write32(0, 8, 0x12345678) == 0);
    CHECK(client.read32(0, 8) == 0x12345678);
    const auto read = [&](uint64_t offset, uint32_t region, uint32_t count) {
        return client.call(9, Payload().add(offset).add(region).add(count).bytes());
    };
    CHECK(read(0, 0, 4096).payload.size() == 16 + 4096);
    CHECK(read(4093, 0, 4).error == EINVAL);
    CHECK(read(UINT64_MAX - 1, 0, 4).error == EINVAL);
    CHECK(read(0, 0, 0xffffffff).error == EINVAL);
    CHECK(read(0, 1, 4).error == EINVAL);
    CHECK(read(0, 77, 4).error == EINVAL);
    CHECK(read(4096, 0, 0).error == 0);
    CHECK(client.write32(0, 4094, 1) == EINVAL);
    CHECK(client.write32(0, UINT64_MAX - 3, 1) == EINVAL);
    CHECK(client.write32(3, 0, 1) == EINVAL);
    // The count must match what follows.
    Payload lie;
    lie.add<uint64_t>(0).add<uint32_t>(0).add<uint32_t>(100).add<uint32_t>(7);
    CHECK(client.call(10, lie.bytes()).error == EINVAL);
    CHECK(client.read32(0, 8) == 0x12345678);
}

TEST_CASE("many writes in one message") {
    MemoryDevice device;
    Client client(device);
    client.hello();
    Payload p;
    p.add<uint64_t>(2);
    p.add<uint64_t>(0).add<uint32_t>(0).add<uint32_t>(4).add<uint64_t>(0x11);
    p.add<uint64_t>(4).add<uint32_t>(0).add<uint32_t>(4).add<uint64_t>(0x22);
    CHECK(client.call(15, p.bytes()).error == 0);
    CHECK(client.read32(0, 4) == 0x22);
    Payload too_many;
    too_many.add<uint64_t>(UINT64_MAX / 24 + 2).add<uint64_t>(0);
    CHECK(client.call(15, too_many.bytes()).error == EINVAL);
    Payload too_wide;
    too_wide.add<uint64_t>(1).add<uint64_t>(0).add<uint32_t>(0).add<uint32_t>(9).add<uint64_t>(1);
    CHECK(client.call(15, too_wide.bytes()).error == EINVAL);
}

TEST_CASE("messages that want no reply get none") {
    MemoryDevice device;
    Client client(device);
    client.hello();
    client.send(10, Payload().add<uint64_t>(0).add<uint32_t>(0).add<uint32_t>(4).add(5U).bytes(),
                {}, 0x10);
    CHECK(client.read32(0, 0) == 5);
}

TEST_CASE("interrupt set-up: trigger, mask, refusals") {
    MemoryDevice device;
    Client client(device);
    client.hello();
    const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
    CHECK(client.set_irqs(0x24, 0, 0, 1, {event.get()}) == 0);
    CHECK(device.has_trigger);
    CHECK(client.set_irqs(0x09, 0, 0, 1) == 0);
    CHECK(device.masked);
    CHECK(client.set_irqs(0x11, 0, 0, 1) == 0);
    CHECK_FALSE(device.masked);
    CHECK(client.set_irqs(0x14, 0, 0, 1, {event.get()}) == ENOTSUP);
    CHECK(client.set_irqs(0x21, 0, 0, 1) == 0);
    CHECK(device.fired == 1);
    CHECK(client.set_irqs(0x22, 0, 0, 1) == EINVAL);  // bool data missing
    CHECK(client.set_irqs(0x24, 0, 1, 1, {event.get()}) == EINVAL);
    CHECK(client.set_irqs(0x24, 0, 0xffffffff, 2, {event.get()}) == EINVAL);
    CHECK(client.set_irqs(0x24, 2, 0, 1, {event.get()}) == EINVAL);
    CHECK(client.set_irqs(0x24, 9, 0, 1) == EINVAL);
    CHECK(client.set_irqs(0x24, 0, 0, 1, {event.get(), event.get()}) == EINVAL);
    CHECK(client.set_irqs(0x21, 0, 0, 0) == 0);
    CHECK_FALSE(device.has_trigger);
}

TEST_CASE("DMA ranges that wrap or are empty are refused") {
    MemoryDevice device;
    Client client(device);
    client.hello();
    CHECK(client.dma_map(0x1000, 0, 0, {}) == EINVAL);
    CHECK(client.dma_map(UINT64_MAX - 10, 0x1000, 0, {}) == EINVAL);
    CHECK(client.dma_map(0x1000, 0x1000, 0, {device.file.get(), device.file.get()}) == EINVAL);
    CHECK(client.dma_map(0x1000, 0x1000, 0, {device.file.get()}) == 0);
    CHECK(client.dma_unmap(0x1000, 0x1000) == 0);
    CHECK(client.dma_unmap(0x1000, 0x1000) == ENOENT);
    CHECK(client.dma_unmap(0, 0, 2) == 0);
}

TEST_CASE("short payloads and unknown commands give error replies") {
    MemoryDevice device;
    Client client(device);
    client.hello();
    for (const uint16_t command : {2, 3, 5, 7, 8, 9, 10, 15}) {
        INFO(command);
        CHECK(client.call(command, Payload().add<uint8_t>(0).bytes()).error == EINVAL);
    }
    CHECK(client.call(6).error == ENOSYS);
    CHECK(client.call(99).error == ENOSYS);
    CHECK(client.call(13).error == 0);
    CHECK(device.resets == 1);
}

TEST_CASE("broken framing ends the session with a reason") {
    MemoryDevice device;
    Client client(device);
    std::string expected;
    SECTION("no version first") {
        client.send(4, {});
        expected = "first message";
    }
    SECTION("a second version") {
        client.hello();
        client.send(1, Payload().add<uint32_t>(0).bytes());
        expected = "second version";
    }
    SECTION("size below the header") {
        client.send(1, {}, {}, 0, 15);
        expected = "size 15";
    }
    SECTION("huge size") {
        client.send(1, {}, {}, 0, 0xffffffff);
        expected = "out of range";
    }
    SECTION("a reply") {
        client.send(1, {}, {}, 1);
        expected = "reply";
    }
    SECTION("half a header") {
        client.send_raw(std::vector<std::byte>(7));
        client.close();
        expected = "inside a header";
    }
    SECTION("half a message") {
        client.send(1, {}, {}, 0, 64);
        client.close();
        expected = "inside a message";
    }
    SECTION("too many descriptors") {
        client.send(1, Payload().add<uint32_t>(0).bytes(), std::vector<int>(30, device.file.get()));
        expected = "more file descriptors";
    }
    client.receive();
    client.close();
    CHECK(client.status == VfioSession::Status::kProtocolError);
    CHECK(client.error.find(expected) != std::string::npos);
}

TEST_CASE("random messages neither crash nor hang the server") {
    MemoryDevice device;
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        Client client(device);
        client.hello();
        for (int i = 0; i < 40; ++i) {
            std::vector<std::byte> payload(random() % 64);
            for (std::byte& b : payload)
                b = static_cast<std::byte>(random() % 4 == 0 ? random() : random() % 8);
            const Reply reply = client.call(static_cast<uint16_t>(2 + random() % 14), payload);
            REQUIRE(reply.received);
        }
        client.close();
        CHECK(client.status == VfioSession::Status::kClosed);
    }
}
