// SPDX-License-Identifier: MIT
// Sockets, end of service and exit codes.
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include "server.hpp"

namespace {

struct TempDir {
    TempDir() {
        // mkdtemp() replaces the last six characters, which must be these.
        auto name = (std::filesystem::temp_directory_path() / "rknpu-sim-").string();
        name.append(6, 'X');
        path = ::mkdtemp(name.data()) ? name : "";
    }
    ~TempDir() { std::filesystem::remove_all(path); }
    std::string path;
};

rknpusim::UniqueFd connect_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    rknpusim::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        fd.reset();
    return fd;
}

struct Running {
    Running() {
        REQUIRE_FALSE(dir.path.empty());
        board = rknpusim::Board::create(npusim::SocConfig::rk3588(), {});
        rknpusim::ServerOptions options;
        options.socket_dir = dir.path;
        options.log = [this](const std::string& line) {
            std::lock_guard lock(mutex);
            log += line + "\n";
        };
        server = std::make_unique<rknpusim::Server>(*board, options);
        REQUIRE(server->listen().empty());
        thread = std::thread([this] { code = server->run(stop.get()); });
    }
    void join() { thread.join(); }

    TempDir dir;
    rknpusim::UniqueFd stop{::eventfd(0, EFD_CLOEXEC)};
    std::mutex mutex;
    std::string log;
    std::unique_ptr<rknpusim::Board> board;
    std::unique_ptr<rknpusim::Server> server;
    int code = -1;
    std::thread thread;
};

}  // namespace

TEST_CASE("the server ends when its clients have gone") {
    Running run;
    {
        const auto a = connect_to(run.dir.path + "/fn0.sock");
        const auto b = connect_to(run.dir.path + "/fn3.sock");
        REQUIRE(a);
        REQUIRE(b);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    run.join();
    CHECK(run.code == rknpusim::kExitOk);
    CHECK(run.server->summary().find("core2.irqs=0") != std::string::npos);
    run.server.reset();
    CHECK(std::filesystem::is_empty(run.dir.path));
}

TEST_CASE("a stop request ends the server") {
    Running run;
    const uint64_t one = 1;
    REQUIRE(::write(run.stop.get(), &one, sizeof(one)) == sizeof(one));
    run.join();
    CHECK(run.code == rknpusim::kExitOk);
}

TEST_CASE("a client that breaks the protocol decides the exit code") {
    Running run;
    {
        const auto a = connect_to(run.dir.path + "/fn1.sock");
        const char junk[16] = {1, 0, 99, 0, 3};
        REQUIRE(::write(a.get(), junk, sizeof(junk)) == sizeof(junk));
        char answer;
        CHECK(::read(a.get(), &answer, 1) <= 0);
    }
    run.join();
    CHECK(run.code == rknpusim::kExitProtocol);
    CHECK(run.log.find("fn1.sock: protocol error: message size 3") != std::string::npos);
}

TEST_CASE("a refused job decides the exit code") {
    Running run;
    auto& npu = run.board->npu();
    npu.write(0, 0x10, 1);
    npu.write(0, 0x08, 1);
    const uint64_t one = 1;
    REQUIRE(::write(run.stop.get(), &one, sizeof(one)) == sizeof(one));
    run.join();
    CHECK(run.code == rknpusim::kExitRefused);
    CHECK(run.log.find("slave mode") != std::string::npos);
}

TEST_CASE("a socket path that is too long is an error with a cure") {
    const auto board = rknpusim::Board::create(npusim::SocConfig::rk3588(), {});
    rknpusim::Server server(*board, {"/" + std::string(200, 'x'), false, false, {}});
    CHECK(server.listen().find("shorter --socket-dir") != std::string::npos);
}
