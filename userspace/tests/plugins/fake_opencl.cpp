// SPDX-License-Identifier: MIT
// An OpenCL library that knows one device and computes nothing: the runtime's use of it is under
// test. FAKE_OPENCL_FAIL=build makes builds fail.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define API extern "C" __attribute__((visibility("default")))

namespace {

// Handles are addresses of these; live objects are counted.
char platform, device, context, queue, program, kernel;
int live = 0;

bool fails(const char* what) {
    const char* text = std::getenv("FAKE_OPENCL_FAIL");
    return text != nullptr && std::strcmp(text, what) == 0;
}

void* make(char& object, int32_t* error) {
    *error = 0;
    ++live;
    return &object;
}

int32_t release() {
    --live;
    return 0;
}

}  // namespace

API int fake_opencl_live() {
    return live;
}

API int32_t clGetPlatformIDs(uint32_t, void** out, uint32_t* count) {
    *out = &platform;
    *count = 1;
    return 0;
}

API int32_t clGetDeviceIDs(void*, uint64_t, uint32_t, void** out, uint32_t* count) {
    *out = &device;
    *count = fails("device") ? 0 : 1;
    return 0;
}

API void* clCreateContext(const intptr_t*, uint32_t, void* const*, void*, void*, int32_t* error) {
    return make(context, error);
}

API void* clCreateCommandQueue(void*, void*, uint64_t, int32_t* error) {
    return make(queue, error);
}

API void* clCreateProgramWithSource(void*, uint32_t, const char** text, const size_t* length,
                                    int32_t* error) {
    const bool good = *length >= 6 && std::strncmp(*text, "kernel", 6) == 0;
    *error = -44;
    return good ? make(program, error) : nullptr;
}

API int32_t clBuildProgram(void*, uint32_t, void* const*, const char*, void*, void*) {
    return fails("build") ? -11 : 0;
}

API int32_t clGetProgramBuildInfo(void*, void*, uint32_t, size_t size, void* out, size_t* needed) {
    const char text[] = "line 1: no such word";
    if (needed != nullptr)
        *needed = sizeof(text);
    if (out != nullptr && size >= sizeof(text))
        std::memcpy(out, text, sizeof(text));
    return 0;
}

API void* clCreateKernel(void*, const char* name, int32_t* error) {
    *error = -46;
    return std::strcmp(name, "twice") == 0 ? make(kernel, error) : nullptr;
}

API int32_t clReleaseKernel(void*) {
    return release();
}
API int32_t clReleaseProgram(void*) {
    return release();
}
API int32_t clReleaseCommandQueue(void*) {
    return release();
}
API int32_t clReleaseContext(void*) {
    return release();
}
