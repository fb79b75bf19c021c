// SPDX-License-Identifier: MIT
// Function types and constants are those of the OpenCL 1.2 specification.
#include "api/opencl.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/runtime.hpp"

namespace rknpu::api {
namespace {

using Handle = void*;

constexpr uint64_t kDeviceGpu = 1 << 2;
constexpr uint32_t kBuildLog = 0x1183;

struct Functions {
    int32_t (*get_platforms)(uint32_t, Handle*, uint32_t*);
    int32_t (*get_devices)(Handle, uint64_t, uint32_t, Handle*, uint32_t*);
    Handle (*create_context)(const intptr_t*, uint32_t, const Handle*, Handle, Handle, int32_t*);
    Handle (*create_queue)(Handle, Handle, uint64_t, int32_t*);
    Handle (*create_program)(Handle, uint32_t, const char**, const size_t*, int32_t*);
    int32_t (*build_program)(Handle, uint32_t, const Handle*, const char*, Handle, Handle);
    int32_t (*get_build_info)(Handle, Handle, uint32_t, size_t, void*, size_t*);
    Handle (*create_kernel)(Handle, const char*, int32_t*);
    int32_t (*release_kernel)(Handle);
    int32_t (*release_program)(Handle);
    int32_t (*release_queue)(Handle);
    int32_t (*release_context)(Handle);
};

template <typename Function>
bool find(void* library, const char* name, Function& out) {
    out = reinterpret_cast<Function>(dlsym(library, name));
    return out != nullptr;
}

bool load(void* library, Functions& f) {
    return find(library, "clGetPlatformIDs", f.get_platforms) &&
           find(library, "clGetDeviceIDs", f.get_devices) &&
           find(library, "clCreateContext", f.create_context) &&
           find(library, "clCreateCommandQueue", f.create_queue) &&
           find(library, "clCreateProgramWithSource", f.create_program) &&
           find(library, "clBuildProgram", f.build_program) &&
           find(library, "clGetProgramBuildInfo", f.get_build_info) &&
           find(library, "clCreateKernel", f.create_kernel) &&
           find(library, "clReleaseKernel", f.release_kernel) &&
           find(library, "clReleaseProgram", f.release_program) &&
           find(library, "clReleaseCommandQueue", f.release_queue) &&
           find(library, "clReleaseContext", f.release_context);
}

/// Opened once, never closed: drivers do not survive that.
Result<const Functions*> functions() {
    static const auto loaded = []() -> const Functions* {
        static Functions all;
        for (const char* name : {"libOpenCL.so.1", "libOpenCL.so", "libmali.so.1", "libmali.so"}) {
            void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
            if (library != nullptr && load(library, all))
                return &all;
        }
        return nullptr;
    }();
    if (loaded == nullptr)
        return Status{Error::kDeviceUnavailable,
                      "there is no OpenCL library (libOpenCL.so or libmali.so)"};
    return loaded;
}

class Kernel final : public OpenClKernel {
 public:
    explicit Kernel(const Functions& functions) : f_(functions) {}
    ~Kernel() override {
        if (kernel_ != nullptr)
            f_.release_kernel(kernel_);
        if (program_ != nullptr)
            f_.release_program(program_);
        if (queue_ != nullptr)
            f_.release_queue(queue_);
        if (context_ != nullptr)
            f_.release_context(context_);
    }

    rknn_gpu_op_context handles() const override { return {context_, queue_, kernel_}; }

    Status open() {
        Handle platform = nullptr;
        uint32_t count = 0;
        if (f_.get_platforms(1, &platform, &count) != 0 || count == 0 ||
            f_.get_devices(platform, kDeviceGpu, 1, &device_, &count) != 0 || count == 0)
            return Status{Error::kDeviceUnavailable, "OpenCL knows no GPU"};
        int32_t error = 0;
        context_ = f_.create_context(nullptr, 1, &device_, nullptr, nullptr, &error);
        if (context_ == nullptr)
            return failed("clCreateContext", error);
        queue_ = f_.create_queue(context_, device_, 0, &error);
        return queue_ == nullptr ? failed("clCreateCommandQueue", error) : Status();
    }

    Status build(std::string_view source, const char* options, const char* name) {
        int32_t error = 0;
        const char* text = source.data();
        const size_t length = source.size();
        program_ = f_.create_program(context_, 1, &text, &length, &error);
        if (program_ == nullptr)
            return failed("clCreateProgramWithSource", error);
        error = f_.build_program(program_, 1, &device_, options, nullptr, nullptr);
        if (error != 0)
            return Status::failure(Error::kFail, "clBuildProgram returned {}: {}", error, log());
        kernel_ = f_.create_kernel(program_, name, &error);
        return kernel_ == nullptr ? failed("clCreateKernel", error) : Status();
    }

 private:
    static Status failed(std::string_view function, int32_t error) {
        return Status::failure(Error::kFail, "{} returned {}", function, error);
    }

    std::string log() const {
        size_t size = 0;
        f_.get_build_info(program_, device_, kBuildLog, 0, nullptr, &size);
        std::string out(size, '\0');
        f_.get_build_info(program_, device_, kBuildLog, size, out.data(), nullptr);
        return std::string(out.c_str());
    }

    const Functions& f_;
    Handle device_ = nullptr;
    Handle context_ = nullptr;
    Handle queue_ = nullptr;
    Handle program_ = nullptr;
    Handle kernel_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<OpenClKernel>> build_kernel(const rknn_custom_op& op) {
    const auto all = functions();
    if (!all.ok())
        return all.status();
    auto kernel = std::make_unique<Kernel>(*all.value());
    if (auto status = kernel->open(); !status.ok())
        return status;
    // An operator without source brings its own kernels; it gets context and queue only.
    if (op.cl_kernel_source == nullptr)
        return std::unique_ptr<OpenClKernel>(std::move(kernel));
    std::string_view source(op.cl_kernel_source, op.cl_source_size);
    std::shared_ptr<const std::vector<std::byte>> file;
    if (op.cl_source_size == 0) {
        auto read = read_file(op.cl_kernel_source, 0, 0);
        if (!read.ok())
            return read.status();
        file = std::move(read).value();
        source = {reinterpret_cast<const char*>(file->data()), file->size()};
    }
    const auto options =
        std::string(op.cl_build_options, strnlen(op.cl_build_options, sizeof(op.cl_build_options)));
    const auto name =
        std::string(op.cl_kernel_name, strnlen(op.cl_kernel_name, sizeof(op.cl_kernel_name)));
    if (auto s = kernel->build(source, options.c_str(), name.c_str()); !s.ok())
        return s;
    return std::unique_ptr<OpenClKernel>(std::move(kernel));
}

}  // namespace rknpu::api
