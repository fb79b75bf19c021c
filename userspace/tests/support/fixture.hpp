// SPDX-License-Identifier: MIT
// Contexts for tests of the public interface, on the NPU model inside the process.
#pragma once

#include <rknn_api.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "support/cpu_model.hpp"
#include "support/files.hpp"

namespace rknpu::test {

inline std::string digits_path() {
    return models_dir() + "/digits/digits_int8_rk3588.rknn";
}

/// Pixels of the digit model's input.
inline std::vector<std::byte> digit_pixels(uint32_t seed = 1) {
    return noise(28 * 28, seed);
}

/// Sets a variable for one scope.
class Environment {
 public:
    Environment(const char* name, const char* value) : name_(name) {
        const char* old = std::getenv(name);
        had_ = old != nullptr;
        old_ = had_ ? old : "";
        setenv(name, value, 1);
    }
    ~Environment() {
        if (had_)
            setenv(name_, old_.c_str(), 1);
        else
            unsetenv(name_);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

 private:
    const char* name_;
    bool had_ = false;
    std::string old_;
};

/// Owns a context and the memory made for it.
class Net {
 public:
    explicit Net(const std::vector<std::byte>& file, uint32_t flags = 0,
                 rknn_init_extend* extend = nullptr) {
        setenv("RKNPU_DEVICE", "sim", 1);
        auto copy = file;
        code = rknn_init(&handle, copy.data(), static_cast<uint32_t>(copy.size()), flags, extend);
    }
    explicit Net(const FileModel& model, uint32_t flags = 0) : Net(write_file(model), flags) {}
    explicit Net(rknn_context context) : handle(context) {}
    ~Net() {
        for (auto* memory : memories_)
            rknn_destroy_mem(handle, memory);
        if (handle != 0)
            rknn_destroy(handle);
    }
    Net(const Net&) = delete;
    Net& operator=(const Net&) = delete;

    rknn_tensor_mem* memory(uint32_t size) {
        auto* out = rknn_create_mem(handle, size);
        REQUIRE(out != nullptr);
        std::memset(out->virt_addr, 0, size);
        memories_.push_back(out);
        return out;
    }

    rknn_tensor_attr attr(rknn_query_cmd command, uint32_t index = 0) const {
        rknn_tensor_attr out{};
        out.index = index;
        REQUIRE(rknn_query(handle, command, &out, sizeof(out)) == RKNN_SUCC);
        return out;
    }

    rknn_mem_size sizes() const {
        rknn_mem_size out{};
        REQUIRE(rknn_query(handle, RKNN_QUERY_MEM_SIZE, &out, sizeof(out)) == RKNN_SUCC);
        return out;
    }

    int set(const void* bytes, size_t size, rknn_tensor_type type,
            rknn_tensor_format format = RKNN_TENSOR_NHWC, bool pass_through = false) const {
        rknn_input input{0,
                         const_cast<void*>(bytes),
                         static_cast<uint32_t>(size),
                         static_cast<uint8_t>(pass_through ? 1 : 0),
                         type,
                         format};
        return rknn_inputs_set(handle, 1, &input);
    }

    int run() const { return rknn_run(handle, nullptr); }

    template <typename T>
    std::vector<T> result(bool want_float, uint32_t index = 0) const {
        rknn_output output{};
        output.index = index;
        output.want_float = want_float ? 1 : 0;
        REQUIRE(rknn_outputs_get(handle, 1, &output, nullptr) == RKNN_SUCC);
        const auto* start = static_cast<const T*>(output.buf);
        std::vector<T> out(start, start + output.size / sizeof(T));
        REQUIRE(rknn_outputs_release(handle, 1, &output) == RKNN_SUCC);
        return out;
    }

    /// The digit model's answer to pixels, through the general interface.
    std::vector<float> digit(const std::vector<std::byte>& pixels) const {
        REQUIRE(set(pixels.data(), pixels.size(), RKNN_TENSOR_UINT8) == RKNN_SUCC);
        REQUIRE(run() == RKNN_SUCC);
        return result<float>(true);
    }

    rknn_context handle = 0;
    int code = 0;

 private:
    std::vector<rknn_tensor_mem*> memories_;
};

/// The digit model.
inline std::vector<std::byte> digits_file() {
    return read_all(digits_path());
}

}  // namespace rknpu::test
