// SPDX-License-Identifier: MIT
#include "observers.hpp"

#include <cerrno>
#include <cstring>

namespace rknpusim {

std::string Observers::attach(const ObserverOptions& wanted, const npusim::SocConfig& soc,
                              npusim::NpuOptions& options, npusim::LintWriter::Sink log) {
    if (!wanted.trace_file.empty()) {
        file_.reset(std::fopen(wanted.trace_file.c_str(), "we"));
        if (!file_)
            return wanted.trace_file + ": " + std::strerror(errno);
        const auto sink = [file = file_.get()](std::string_view line) {
            std::fwrite(line.data(), 1, line.size(), file);
            std::fputc('\n', file);
        };
        trace_ = std::make_unique<npusim::TraceWriter>(sink, npusim::TraceOptions{});
    }
    if (wanted.lint && soc.map)
        lint_ = std::make_unique<npusim::LintWriter>(std::move(log), *soc.map);
    print_estimate_ = wanted.estimate;
    if (!trace_ && !lint_ && !wanted.estimate)
        return {};
    time_ = std::make_unique<npusim::TimeModel>();
    options.record_ranges = trace_ != nullptr || wanted.estimate;
    options.on_task = [this](const npusim::TaskEvent& event) {
        const npusim::TaskTime time = time_->add(event);
        if (trace_)
            trace_->task(event, time);
        if (lint_)
            lint_->task(event);
    };
    return {};
}

std::function<void(const npusim::JobResult&)> Observers::job_handler() {
    if (!trace_)
        return {};
    return [this](const npusim::JobResult& result) { trace_->job(result); };
}

std::vector<std::string> Observers::report() const {
    return print_estimate_ ? time_->report() : std::vector<std::string>{};
}

}  // namespace rknpusim
