// SPDX-License-Identifier: MIT
#include "support/on_descriptors.hpp"

#include <rknn_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace rknpu::test {
namespace {

class Buffer {
 public:
    Buffer(rknn_context context, uint64_t size, const MakeMemory& make)
        : context_(context), size_(std::max<uint64_t>(size, 1)), fd_(make(size_)) {
        if (fd_ < 0)
            return;
        start_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        memory_ = rknn_create_mem_from_fd(context, fd_, nullptr, static_cast<uint32_t>(size_), 0);
    }
    ~Buffer() {
        if (memory_ != nullptr)
            rknn_destroy_mem(context_, memory_);
        if (start_ != MAP_FAILED)
            munmap(start_, size_);
        if (fd_ >= 0)
            close(fd_);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    bool good() const { return memory_ != nullptr && start_ != MAP_FAILED; }
    rknn_tensor_mem* memory() const { return memory_; }
    float* floats() const { return static_cast<float*>(start_); }
    bool sync(rknn_mem_sync_mode mode) const {
        return rknn_mem_sync(context_, memory_, mode) == RKNN_SUCC;
    }

 private:
    rknn_context context_;
    size_t size_;
    int fd_;
    void* start_ = MAP_FAILED;
    rknn_tensor_mem* memory_ = nullptr;
};

rknn_tensor_attr attr_of(rknn_context context, rknn_query_cmd query) {
    rknn_tensor_attr attr{};
    rknn_query(context, query, &attr, sizeof(attr));
    attr.type = RKNN_TENSOR_FLOAT32;
    return attr;
}

std::optional<std::vector<float>> run(rknn_context context, const std::vector<float>& input,
                                      const MakeMemory& make) {
    rknn_mem_size sizes{};
    if (rknn_query(context, RKNN_QUERY_MEM_SIZE, &sizes, sizeof(sizes)) != RKNN_SUCC)
        return std::nullopt;
    auto in_attr = attr_of(context, RKNN_QUERY_INPUT_ATTR);
    auto out_attr = attr_of(context, RKNN_QUERY_OUTPUT_ATTR);
    const Buffer weights(context, sizes.total_weight_size, make);
    const Buffer internal(context, sizes.total_internal_size, make);
    const Buffer in(context, input.size() * sizeof(float), make);
    const Buffer out(context, out_attr.n_elems * sizeof(float), make);
    for (const auto* buffer : {&weights, &internal, &in, &out}) {
        if (!buffer->good())
            return std::nullopt;
    }
    std::memcpy(in.floats(), input.data(), input.size() * sizeof(float));
    const bool ran = in.sync(RKNN_MEMORY_SYNC_TO_DEVICE) &&
                     rknn_set_weight_mem(context, weights.memory()) == RKNN_SUCC &&
                     rknn_set_internal_mem(context, internal.memory()) == RKNN_SUCC &&
                     rknn_set_io_mem(context, in.memory(), &in_attr) == RKNN_SUCC &&
                     rknn_set_io_mem(context, out.memory(), &out_attr) == RKNN_SUCC &&
                     rknn_run(context, nullptr) == RKNN_SUCC &&
                     out.sync(RKNN_MEMORY_SYNC_FROM_DEVICE);
    if (!ran)
        return std::nullopt;
    return std::vector<float>(out.floats(), out.floats() + out_attr.n_elems);
}

}  // namespace

std::optional<std::vector<float>> run_on_descriptors(const std::vector<std::byte>& file,
                                                     const std::vector<float>& input,
                                                     const MakeMemory& make) {
    setenv("RKNPU_DEVICE", "drm", 1);
    auto copy = file;
    rknn_context context = 0;
    if (rknn_init(&context, copy.data(), static_cast<uint32_t>(copy.size()),
                  RKNN_FLAG_MEM_ALLOC_OUTSIDE, nullptr) != RKNN_SUCC)
        return std::nullopt;
    auto out = run(context, input, make);
    rknn_destroy(context);
    return out;
}

}  // namespace rknpu::test
