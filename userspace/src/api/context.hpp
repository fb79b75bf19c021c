// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_api.h>
#include <rknn_custom_op.h>

#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/memory.hpp"
#include "api/object.hpp"
#include "runtime/session.hpp"

namespace rknpu::api {

class CustomOps;

/// Arguments of rknn_init() after decoding.
struct InitRequest {
    std::shared_ptr<const std::vector<std::byte>> file;
    uint32_t flags = 0;
    std::shared_ptr<class Context> weights_from;  ///< RKNN_FLAG_SHARE_WEIGHT_MEM
};

/// What the flags of rknn_init() ask of a session.
SessionOptions options_of(uint32_t flags);

/// One inference context. Every public function locks, so that misuse from several threads gives
/// one call after the other.
class Context final : public Object {
 public:
    static Result<std::shared_ptr<Context>> create(const InitRequest& request);
    Result<std::shared_ptr<Context>> duplicate();
    ~Context() override;

    const std::shared_ptr<Device>& device() const override { return program_->device; }

    Status query(rknn_query_cmd command, void* info, uint32_t size);

    Status set_inputs(std::span<const rknn_input> inputs);
    Status run(rknn_run_extend* extend);
    Status wait(const rknn_run_extend* extend);
    Status get_outputs(std::span<rknn_output> outputs, uint64_t* frame);
    Status release_outputs(std::span<rknn_output> outputs);

    Status set_core_mask(uint32_t mask);
    Status set_batch_core_num(int cores);

    Status set_weight_memory(const rknn_tensor_mem* memory);
    Status set_internal_memory(const rknn_tensor_mem* memory);
    Status set_io_memory(const rknn_tensor_mem* memory, const rknn_tensor_attr* attr);

    /// One shape for each input, told by its index; all 0 means their order.
    Status set_input_shapes(std::span<const rknn_tensor_attr> shapes);

    Status register_custom_ops(std::span<const rknn_custom_op> ops);

 private:
    /// Which of the two interfaces the caller uses; they cannot be mixed.
    enum class Style { kUndecided, kGeneral, kZeroCopy };

    /// A bound buffer whose contents differ from what the NPU reads or writes.
    struct Converted {
        std::shared_ptr<Memory> memory;
        Converter converter;
    };

    /// The conversion that the general interface used last, with what asked for it.
    struct LastConversion {
        rknn_tensor_type type;
        rknn_tensor_format format;
        Converter converter;
    };

    /// One tensor of the interface.
    struct Port {
        int32_t tensor = 0;
        std::optional<Converted> converted;
        std::shared_ptr<Memory> direct;  ///< keeps a directly bound object alive
        std::optional<LastConversion> last;
        std::vector<WordPatch> npu_words;  ///< let the NPU convert unsigned bytes; empty: it cannot
        bool on_npu = false;               ///< it does
        std::vector<std::byte> previous;   ///< of an output, what the run before gave
    };

    struct OutputBuffer {
        std::vector<std::byte> bytes;
        bool lent = false;
    };

    /// One of the sets of input shapes that the model has; models of fixed shape have one.
    struct Shape {
        std::shared_ptr<const Program> program;
        std::shared_ptr<Session> session;  ///< made when the shape is chosen for the first time
        std::unique_ptr<CustomOps> custom_ops;
    };

    Context(std::vector<std::shared_ptr<const Program>> shapes, size_t chosen);

    /// What another context needs to borrow the weights.
    struct Lender {
        std::shared_ptr<const Program> program;
        Location weights;
    };

    Result<Lender> lender();
    Status start(uint32_t flags, Location weights);
    Status open_shape(Shape& shape, const SessionOptions& options, Location weights);
    Status choose_shape(size_t index);
    void open_ports();
    Result<std::vector<size_t>> inputs_of(std::span<const rknn_tensor_attr> given) const;
    std::optional<size_t> find_shape(std::span<const rknn_tensor_attr> given,
                                     std::span<const size_t> inputs) const;
    std::string shapes_text() const;
    Status choose(Style style);
    const GraphTensor& tensor_of(const Port& port) const {
        return program_->graph.tensors[static_cast<size_t>(port.tensor)];
    }
    ChannelMap map_of(size_t input) const;

    void convert_on_npu(Port& port, bool on);

    Status check_input(const rknn_input& input, uint32_t index) const;
    Status take_input(const rknn_input& input, uint32_t index);
    Status check_output(const rknn_output& output, uint32_t index) const;
    Status give_output(rknn_output& output, uint32_t index);
    ElementView output_view(const GraphTensor& tensor, bool want_float) const;
    std::byte* lend(size_t bytes);

    Port* find_port(const rknn_tensor_attr& attr, bool& is_input);
    Status bind_input(Port& port, std::shared_ptr<Memory> memory, const rknn_tensor_attr& attr);
    Status bind_output(Port& port, std::shared_ptr<Memory> memory, const rknn_tensor_attr& attr);
    Status bind_converted(Port& port, std::shared_ptr<Memory> memory, Converter converter);

    Status check_run(const rknn_run_extend* extend) const;
    Status run_now();
    Status run_later(rknn_run_extend* extend, int in_fence);
    Status after_run();
    void convert_bound_inputs();
    Status convert_bound_outputs();
    Status finish_pending();
    void settle();
    bool gives_previous() const;
    void keep_outputs();

    Status query_attr(rknn_query_cmd command, rknn_tensor_attr& attr) const;
    uint64_t dma_bytes() const;
    Status query_memory_size(rknn_mem_size& info) const;
    Status query_range(rknn_input_range& info) const;
    Status query_device_memory(rknn_tensor_mem& info) const;
    void query_perf_detail(rknn_perf_detail& info);

    std::mutex mutex_;  // protects everything below
    std::vector<Shape> shapes_;
    size_t shape_ = 0;  // the one that program_ and session_ are of
    std::shared_ptr<const Program> program_;
    std::shared_ptr<Session> session_;  // null: RKNN_FLAG_COLLECT_MODEL_INFO_ONLY
    std::vector<rknn_custom_op> registered_;
    uint32_t flags_ = 0;
    Style style_ = Style::kUndecided;
    std::vector<Port> inputs_;
    std::vector<Port> outputs_;
    std::vector<OutputBuffer> buffers_;
    std::vector<bool> input_given_;
    bool has_run_ = false;
    bool shapes_chosen_ = false;
    uint64_t frame_ = 0;
    uint64_t previous_frame_ = 0;  // the run that Port::previous is of; 0: none
    std::string perf_text_;
    std::future<Status> pending_;  // a run on a thread
    bool started_ = false;         // a run that the NPU does alone
    Status unreported_;            // of a run whose end nobody asked for yet
};

}  // namespace rknpu::api
