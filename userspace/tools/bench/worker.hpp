// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_api.h>

#include <memory>
#include <string>
#include <vector>

#include "bench.hpp"
#include "input.hpp"
#include "model.hpp"

namespace rknpu::tools {

/// Microseconds of one inference.
struct StageTimes {
    double set = 0, run = 0, fetch = 0;
};

/// One context with everything an inference needs, used by one thread.
class Worker {
 public:
    virtual ~Worker() = default;

    /// Loads the model. Null on failure; `error` holds what the library has not said.
    static std::unique_ptr<Worker> open(const BenchOptions& options, Interface interface,
                                        uint32_t core_mask, std::string& error);
    /// A worker on a duplicate of this one's context.
    std::unique_ptr<Worker> another(uint32_t core_mask, std::string& error) const;

    /// One inference. False on failure.
    virtual bool infer(StageTimes& times) = 0;

 protected:
    explicit Worker(std::shared_ptr<Model> model) : model_(std::move(model)) {}
    virtual bool prepare(std::string& error) = 0;

    static std::unique_ptr<Worker> make(Interface interface, std::shared_ptr<Model> model,
                                        const std::vector<InputData>& data, uint32_t core_mask,
                                        std::string& error);

    std::shared_ptr<Model> model_;
    std::vector<InputData> data_;
    Interface interface_ = Interface::kGeneral;
};

}  // namespace rknpu::tools
