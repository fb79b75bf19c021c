// SPDX-License-Identifier: MIT
// Sockets and main loop of the emulated board.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "board.hpp"
#include "pci_function.hpp"
#include "vfio_user.hpp"

namespace rknpusim {

/// Exit codes of the program, in order of precedence.
enum ExitCode : int {
    kExitOk = 0,
    kExitSetup = 1,     ///< bad arguments, no socket
    kExitProtocol = 2,  ///< a client broke the protocol
    kExitRefused = 3,   ///< a job asked for something the model does not execute
    kExitFault = 4,     ///< page fault or bus error
    kExitStray = 5,     ///< a job touched memory outside the live buffers
    kExitPower = 6,     ///< registers touched without power, or the clock raised without
};

struct ServerOptions {
    std::string socket_dir;      ///< fn0.sock .. fn3.sock are made there
    bool allow_refused = false;  ///< refused jobs do not change the exit code
    bool allow_faults = false;   ///< neither do page faults and bus errors
    std::function<void(const std::string& line)> log;
};

/// Serves until every client that came has gone, or a signal asks to stop.
class Server {
 public:
    Server(Board& board, ServerOptions options);
    ~Server();

    /// Makes the sockets; an error text on failure.
    [[nodiscard]] std::string listen();
    /// stop_fd becomes readable to end the loop.
    [[nodiscard]] ExitCode run(int stop_fd);
    /// One line of counters, "key=value" pairs.
    [[nodiscard]] std::string summary();

 private:
    struct Port;

    [[nodiscard]] bool finished() const;
    [[nodiscard]] int poll_timeout_ms() const;
    void accept_client(Port& port);
    void serve(Port& port);
    void drop(Port& port);
    void flush_log();

    Board& board_;
    ServerOptions options_;
    std::vector<std::unique_ptr<Port>> ports_;
    bool protocol_error_ = false;
    unsigned clients_seen_ = 0;
};

}  // namespace rknpusim
