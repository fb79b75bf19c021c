// SPDX-License-Identifier: MIT
#include "server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rknpusim {

namespace {

constexpr timeval kSocketTimeout = {5, 0};  // a client that stops inside a message
constexpr int kLogIntervalMs = 200;

}  // namespace

struct Server::Port {
    std::string path;
    UniqueFd listener;
    std::unique_ptr<PciFunction> function;
    CoreFunction* core = nullptr;  // the same object, when it is a core's
    std::unique_ptr<VfioSession> session;
    uint64_t messages = 0;  // of closed sessions
};

Server::Server(Board& board, ServerOptions options) : board_(board), options_(std::move(options)) {
    const unsigned cores = board_.npu().soc().cores;
    for (unsigned i = 0; i < cores; ++i) {
        auto port = std::make_unique<Port>();
        auto function = std::make_unique<CoreFunction>(board_, i);
        port->core = function.get();
        port->function = std::move(function);
        port->path = fmt::format("{}/fn{}.sock", options_.socket_dir, i);
        ports_.push_back(std::move(port));
    }
    auto sram = std::make_unique<Port>();
    sram->function = std::make_unique<SramFunction>(board_);
    sram->path = options_.socket_dir + "/fn3.sock";
    ports_.push_back(std::move(sram));
    board_.npu().set_irq_handler(
        [this](unsigned core, bool level) { ports_[core]->core->line().set_level(level); });
}

Server::~Server() {
    board_.npu().set_irq_handler({});
    for (const auto& port : ports_)
        if (port->listener)
            ::unlink(port->path.c_str());
}

std::string Server::listen() {
    for (auto& port : ports_) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (port->path.size() >= sizeof(address.sun_path))
            return port->path + ": path too long for a socket; use a shorter --socket-dir";
        std::memcpy(address.sun_path, port->path.c_str(), port->path.size());
        UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ::unlink(port->path.c_str());
        // The socket API wants this cast.
        if (!fd ||
            ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
            ::listen(fd.get(), 1) != 0)
            return port->path + ": " + std::strerror(errno);
        port->listener = std::move(fd);
    }
    return {};
}

bool Server::finished() const {
    return clients_seen_ != 0 && std::none_of(ports_.begin(), ports_.end(), [](const auto& port) {
               return port->session != nullptr;
           });
}

int Server::poll_timeout_ms() const {
    int timeout = kLogIntervalMs;
    const auto now = IntxLine::Clock::now();
    for (const auto& port : ports_) {
        if (!port->core)
            continue;
        if (const auto at = port->core->line().deadline()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(*at - now).count();
            timeout = std::clamp<int>(static_cast<int>(left), 0, timeout);
        }
    }
    return timeout;
}

void Server::accept_client(Port& port) {
    UniqueFd client(::accept4(port.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client)
        return;
    ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &kSocketTimeout, sizeof(kSocketTimeout));
    ::setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &kSocketTimeout, sizeof(kSocketTimeout));
    port.session = std::make_unique<VfioSession>(std::move(client), *port.function);
    ++clients_seen_;
}

void Server::drop(Port& port) {
    port.messages += port.session->messages();
    port.session.reset();
    port.function->dma_unmap_all();
    if (port.core)
        port.core->line().set_trigger(UniqueFd());
}

void Server::serve(Port& port) {
    const auto status = port.session->handle_one();
    if (status == VfioSession::Status::kOk)
        return;
    if (status == VfioSession::Status::kProtocolError) {
        protocol_error_ = true;
        options_.log(port.path + ": protocol error: " + port.session->error());
    }
    drop(port);
}

void Server::flush_log() {
    for (const std::string& line : board_.take_log())
        options_.log(line);
}

ExitCode Server::run(int stop_fd) {
    std::vector<pollfd> fds;
    while (!finished()) {
        fds.clear();
        fds.push_back({stop_fd, POLLIN, 0});
        for (const auto& port : ports_)
            fds.push_back({port->session ? port->session->fd() : port->listener.get(), POLLIN, 0});
        const int ready = ::poll(fds.data(), fds.size(), poll_timeout_ms());
        if (ready < 0 && errno != EINTR) {
            options_.log(fmt::format("poll: {}", std::strerror(errno)));
            return kExitSetup;
        }
        const auto now = IntxLine::Clock::now();
        for (size_t i = 0; i < ports_.size(); ++i) {
            Port& port = *ports_[i];
            if (port.core)
                port.core->line().tick(now);
            if (ready <= 0 || fds[i + 1].revents == 0)
                continue;
            if (port.session)
                serve(port);
            else
                accept_client(port);
        }
        if (ready == 0)
            flush_log();
        if (ready > 0 && fds[0].revents != 0)
            break;
    }
    for (auto& port : ports_)
        if (port->session)
            drop(*port);
    flush_log();
    uint64_t faults = 0;
    for (unsigned i = 0; i < board_.npu().soc().cores; ++i)
        faults += board_.npu().counters(i).faults;
    if (protocol_error_)
        return kExitProtocol;
    if (board_.npu().refused_count() != 0 && !options_.allow_refused)
        return kExitRefused;
    if (faults != 0 && !options_.allow_faults)
        return kExitFault;
    if (board_.npu().stray_count() != 0)
        return kExitStray;
    if (board_.control().total_violations() != 0)
        return kExitPower;
    return kExitOk;
}

std::string Server::summary() {
    std::string line =
        fmt::format("rknpu-sim: refused={} stray={} violations={}", board_.npu().refused_count(),
                    board_.npu().stray_count(), board_.control().total_violations());
    for (unsigned i = 0; i < board_.npu().soc().cores; ++i) {
        const npusim::CoreCounters c = board_.npu().counters(i);
        line += fmt::format(
            " core{0}.jobs={1} core{0}.tasks={2} core{0}.reads={3} core{0}.writes={4} "
            "core{0}.irqs={5} core{0}.mmu_reads={6} core{0}.mmu_writes={7} core{0}.faults={8}",
            i, c.jobs, c.tasks, c.reg_reads, c.reg_writes, c.interrupts, c.mmu_reads, c.mmu_writes,
            c.faults);
    }
    return line;
}

}  // namespace rknpusim
