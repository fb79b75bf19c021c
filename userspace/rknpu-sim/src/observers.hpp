// SPDX-License-Identifier: MIT
// What the program prints about jobs: trace, lint findings, time estimate.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "npusim/npu.hpp"
#include "npusim/time_model.hpp"
#include "npusim/trace.hpp"

namespace rknpusim {

struct ObserverOptions {
    std::string trace_file;  ///< empty: no trace
    bool lint = false;
    bool estimate = false;
};

/// Must outlive the NPU whose events it gets.
class Observers {
 public:
    /// Error text, empty on success. Installs itself in `options`.
    std::string attach(const ObserverOptions& wanted, const npusim::SocConfig& soc,
                       npusim::NpuOptions& options, npusim::LintWriter::Sink log);
    /// For Npu::set_job_handler; empty when nobody wants job ends.
    [[nodiscard]] std::function<void(const npusim::JobResult&)> job_handler();
    [[nodiscard]] std::vector<std::string> report() const;

 private:
    struct Closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    std::unique_ptr<std::FILE, Closer> file_;
    std::unique_ptr<npusim::TraceWriter> trace_;
    std::unique_ptr<npusim::LintWriter> lint_;
    std::unique_ptr<npusim::TimeModel> time_;
    bool print_estimate_ = false;
};

}  // namespace rknpusim
