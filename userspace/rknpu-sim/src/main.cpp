// SPDX-License-Identifier: MIT
// rknpu-sim: the NPU model as four vfio-user PCI functions for QEMU.
#include <fmt/format.h>
#include <sys/signalfd.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "observers.hpp"
#include "server.hpp"

namespace {

using rknpusim::ExitCode;

constexpr const char* kFooter =
    "Clients: fnN.sock = core N (BAR0 registers, INTA), fn3.sock = SRAM (BAR2).\n"
    "The program ends when all clients have gone, or on SIGTERM or SIGINT, and prints one line\n"
    "of counters on stdout. Exit codes:\n"
    "  0  fine\n"
    "  1  bad arguments or set-up failed\n"
    "  2  a client broke the vfio-user protocol\n"
    "  3  a job asked for something the model does not execute (see the log)\n"
    "  4  a page fault or bus error happened\n"
    "  5  a job touched memory outside the live buffers\n"
    "  6  a register was touched without power or clock, or the clock raised without power\n"
    "Fault rules: kind[:key=value,...] with kinds hang late drop-irq spurious-irq wrong-status\n"
    "page-fault poison low-4g bus-error delay, keys core job value p; for example\n"
    "  --fault hang:core=1,job=3,value=2    --fault delay:value=500,p=0.2";

struct Arguments {
    std::string socket_dir;
    std::string soc = "rk3588";
    std::string blocks;
    unsigned cores = 0;
    std::string fault_plan;
    std::vector<std::string> faults;
    uint64_t seed = 0;
    std::string log;
    rknpusim::ObserverOptions observe;
    bool reference = false;
    unsigned threads = 1;
    bool allow_refused = false;
    bool allow_faults = false;
    bool synchronous = false;
};

void add_options(CLI::App& app, Arguments& args) {
    app.footer(kFooter);
    app.add_option("--socket-dir", args.socket_dir, "Directory for fn0.sock .. fn3.sock")
        ->required()
        ->check(CLI::ExistingDirectory);
    app.add_option("--soc", args.soc, "rk3588, rk3583, rk3576, rk3568, rk3566 or rk3562");
    app.add_option("--blocks", args.blocks,
                   "Execute tasks as this chip does, for one whose own are not known");
    app.add_option("--cores", args.cores, "Use only this many cores")->check(CLI::Range(1, 3));
    app.add_option("--fault-plan", args.fault_plan, "File of fault rules, one per line")
        ->check(CLI::ExistingFile);
    app.add_option("--fault", args.faults, "One fault rule; may be repeated");
    app.add_option("--seed", args.seed, "Seed of the fault plan's random draws");
    app.add_option("--log", args.log, "File for refusals, faults and warnings (default: stderr)");
    app.add_option("--trace", args.observe.trace_file,
                   "File for one JSON line per task and job (registers, DMA ranges, checksums)");
    app.add_flag("--lint", args.observe.lint, "Log what looks wrong in tasks that do run");
    app.add_flag("--estimate", args.observe.estimate, "Print estimated NPU time at the end");
    app.add_flag("--reference", args.reference, "Compute with the plain reference loops");
    app.add_option("--threads", args.threads, "Threads one task may use")->check(CLI::Range(1, 64));
    app.add_flag("--synchronous", args.synchronous,
                 "A register write that starts a job returns when the job has ended");
    app.add_flag("--allow-refused", args.allow_refused, "Refused jobs do not fail the run");
    app.add_flag("--allow-faults", args.allow_faults, "Page faults do not fail the run");
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Error text, empty on success.
std::string make_plan(const Arguments& args, npusim::FaultPlan& plan) {
    if (!args.fault_plan.empty()) {
        const std::string error = plan.add_lines(read_file(args.fault_plan));
        if (!error.empty())
            return args.fault_plan + ": " + error;
    }
    for (const std::string& rule : args.faults) {
        const std::string error = plan.add(rule);
        if (!error.empty())
            return "--fault " + rule + ": " + error;
    }
    if (args.seed != 0)
        plan.set_seed(args.seed);
    return {};
}

/// Blocks the stop signals before any thread exists and turns them into a descriptor.
rknpusim::UniqueFd make_stop_fd() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0)
        return {};
    return rknpusim::UniqueFd(signalfd(-1, &set, SFD_CLOEXEC));
}

struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

ExitCode fail(const std::string& why) {
    fmt::print(stderr, "rknpu-sim: {}\n", why);
    return rknpusim::kExitSetup;
}

ExitCode serve(const Arguments& args) {
    const npusim::SocConfig* known = npusim::SocConfig::find(args.soc);
    if (!known)
        return fail("unknown --soc " + args.soc + "; see --help");
    npusim::SocConfig soc = *known;
    if (!args.blocks.empty()) {
        const npusim::SocConfig* donor = npusim::SocConfig::find(args.blocks);
        if (!donor || !donor->map)
            return fail("--blocks " + args.blocks + ": the tasks of this chip are not known");
        soc.map = donor->map;
        soc.enable_bits = donor->enable_bits;
    }
    if (args.cores > soc.cores)
        return fail(fmt::format("{} has only {} cores", args.soc, soc.cores));
    if (args.cores != 0)
        soc.cores = args.cores;
    npusim::NpuOptions options;
    options.reference_path = args.reference;
    options.threads_per_core = args.threads;
    if (const std::string error = make_plan(args, options.faults); !error.empty())
        return fail(error);
    File log;
    if (!args.log.empty()) {
        log.reset(std::fopen(args.log.c_str(), "we"));
        if (!log)
            return fail(args.log + ": " + std::strerror(errno));
    }
    std::FILE* log_to = log ? log.get() : stderr;
    const auto log_line = [log_to](const std::string& line) {
        fmt::print(log_to, "{}\n", line);
        std::fflush(log_to);
    };
    const rknpusim::UniqueFd stop = make_stop_fd();
    rknpusim::Observers observers;
    if (const std::string error = observers.attach(args.observe, soc, options, log_line);
        !error.empty())
        return fail(error);
    const auto board = rknpusim::Board::create(soc, std::move(options));
    if (!stop || !board)
        return fail(std::string("set-up: ") + std::strerror(errno));
    if (args.synchronous)
        board->set_synchronous();
    rknpusim::ServerOptions server_options;
    server_options.socket_dir = args.socket_dir;
    server_options.allow_refused = args.allow_refused;
    server_options.allow_faults = args.allow_faults;
    server_options.log = log_line;
    board->npu().set_job_handler(observers.job_handler());
    rknpusim::Server server(*board, std::move(server_options));
    if (const std::string error = server.listen(); !error.empty())
        return fail(error);
    const ExitCode code = server.run(stop.get());
    for (const std::string& line : observers.report())
        fmt::print("{}\n", line);
    fmt::print("{} exit={}\n", server.summary(), static_cast<int>(code));
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Functional model of a Rockchip NPU behind vfio-user");
    Arguments args;
    add_options(app, args);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? rknpusim::kExitOk : rknpusim::kExitSetup;
    }
    return serve(args);
}
