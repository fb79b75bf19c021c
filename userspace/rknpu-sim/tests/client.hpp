// SPDX-License-Identifier: MIT
// A vfio-user client over a socketpair; the server's side runs on a thread of its own.
#pragma once

#include <sys/socket.h>
#include <sys/time.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "vfio_user.hpp"

namespace rknpusim_test {

using rknpusim::UniqueFd;

struct Reply {
    uint16_t id = 0;
    uint16_t command = 0;
    uint32_t flags = 0;
    uint32_t error = 0;
    std::vector<std::byte> payload;
    UniqueFd fd;
    bool received = false;

    template <typename T>
    T at(size_t offset) const {
        T value{};
        if (offset + sizeof(T) <= payload.size())
            std::memcpy(&value, payload.data() + offset, sizeof(T));
        return value;
    }
};

/// Byte string builder for message payloads.
class Payload {
 public:
    template <typename T>
    Payload& add(T value) {
        const auto bytes = std::as_bytes(std::span(&value, 1));
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return *this;
    }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
    std::vector<std::byte> bytes_;
};

class Client {
 public:
    explicit Client(rknpusim::VfioDevice& device) {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
            throw std::runtime_error("socketpair");
        const timeval timeout = {2, 0};
        for (const int end : ends)
            ::setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
        socket_ = UniqueFd(ends[0]);
        server_ = std::thread([this, &device, fd = ends[1]] {
            rknpusim::VfioSession session(UniqueFd(fd), device);
            do {
                status = session.handle_one();
            } while (status == rknpusim::VfioSession::Status::kOk);
            error = session.error();
        });
    }
    ~Client() { close(); }

    /// Ends the connection; status and error are valid afterwards.
    void close() {
        socket_.reset();
        if (server_.joinable())
            server_.join();
    }

    void send(uint16_t command, const std::vector<std::byte>& payload, std::vector<int> fds = {},
              uint32_t flags = 0, uint32_t size = 0) {
        struct {
            uint16_t id, command;
            uint32_t size, flags, error;
        } header{++id_, command, size ? size : static_cast<uint32_t>(16 + payload.size()), flags,
                 0};
        std::vector<std::byte> all(sizeof(header));
        std::memcpy(all.data(), &header, sizeof(header));
        all.insert(all.end(), payload.begin(), payload.end());
        send_raw(all, fds);
    }

    void send_raw(std::vector<std::byte> bytes, const std::vector<int>& fds = {}) {
        iovec part{bytes.data(), bytes.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
        if (!fds.empty()) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* c = CMSG_FIRSTHDR(&message);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
            std::memcpy(CMSG_DATA(c), fds.data(), fds.size() * sizeof(int));
        }
        (void)!::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    }

    Reply receive() {
        Reply reply;
        std::array<std::byte, 16> header{};
        iovec part{header.data(), header.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        if (::recvmsg(socket_.get(), &message, MSG_WAITALL) != 16)
            return reply;
        if (cmsghdr* c = CMSG_FIRSTHDR(&message)) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(c), sizeof(fd));
            reply.fd = UniqueFd(fd);
        }
        uint32_t size;
        std::memcpy(&reply.id, header.data(), 2);
        std::memcpy(&reply.command, header.data() + 2, 2);
        std::memcpy(&size, header.data() + 4, 4);
        std::memcpy(&reply.flags, header.data() + 8, 4);
        std::memcpy(&reply.error, header.data() + 12, 4);
        reply.payload.resize(size - 16);
        if (!reply.payload.empty() &&
            ::recv(socket_.get(), reply.payload.data(), reply.payload.size(), MSG_WAITALL) !=
                static_cast<ssize_t>(reply.payload.size()))
            return reply;
        reply.received = true;
        return reply;
    }

    Reply call(uint16_t command, const std::vector<std::byte>& payload = {},
               std::vector<int> fds = {}) {
        send(command, payload, std::move(fds));
        return receive();
    }

    Reply hello() {
        static constexpr char kText[] = "{\"capabilities\":{\"max_msg_fds\":8}}";
        Payload p;
        p.add<uint16_t>(0).add<uint16_t>(0);
        for (const char c : kText)
            p.add(c);
        return call(1, p.bytes());
    }

    uint32_t read32(uint32_t region, uint64_t offset) {
        return call(9, Payload().add(offset).add(region).add<uint32_t>(4).bytes()).at<uint32_t>(16);
    }
    uint32_t write32(uint32_t region, uint64_t offset, uint32_t value) {
        return call(10, Payload().add(offset).add(region).add<uint32_t>(4).add(value).bytes())
            .error;
    }
    uint32_t set_irqs(uint32_t flags, uint32_t index, uint32_t start, uint32_t count,
                      std::vector<int> fds = {}) {
        return call(8,
                    Payload().add<uint32_t>(20).add(flags).add(index).add(start).add(count).bytes(),
                    std::move(fds))
            .error;
    }
    uint32_t dma_map(uint64_t address, uint64_t size, uint64_t offset, std::vector<int> fds) {
        return call(2,
                    Payload()
                        .add<uint32_t>(32)
                        .add<uint32_t>(3)
                        .add(offset)
                        .add(address)
                        .add(size)
                        .bytes(),
                    std::move(fds))
            .error;
    }
    uint32_t dma_unmap(uint64_t address, uint64_t size, uint32_t flags = 0) {
        return call(3, Payload().add<uint32_t>(24).add(flags).add(address).add(size).bytes()).error;
    }

    rknpusim::VfioSession::Status status = rknpusim::VfioSession::Status::kOk;
    std::string error;

 private:
    UniqueFd socket_;
    uint16_t id_ = 100;
    std::thread server_;
};

}  // namespace rknpusim_test
