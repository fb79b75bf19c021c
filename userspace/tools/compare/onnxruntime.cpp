// SPDX-License-Identifier: MIT
// onnxruntime has no package for C or C++ in Debian; where it is installed it is Python's. Model,
// inputs and results go through a folder.
#include "onnxruntime.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "cpu/onnx/onnx_model.hpp"
#include "npy.hpp"

extern char** environ;

namespace rknpu::tools {
namespace {

// inputs.txt names the inputs, one a line; the program names the tensors it wrote in tensors.txt.
constexpr const char* kProgram = R"python(
import sys
import numpy as np
import onnxruntime as ort
folder = sys.argv[1] + "/"
options = ort.SessionOptions()
options.log_severity_level = 3
session = ort.InferenceSession(folder + "model.onnx", options, providers=["CPUExecutionProvider"])
types = {"tensor(float)": "f4", "tensor(float16)": "f2", "tensor(double)": "f8",
         "tensor(int64)": "i8", "tensor(int32)": "i4", "tensor(int8)": "i1",
         "tensor(uint8)": "u1", "tensor(bool)": "?"}
wanted = {value.name: types[value.type] for value in session.get_inputs()}
names = open(folder + "inputs.txt").read().split("\n")[:-1]
feed = {name: np.load("%sin%d.npy" % (folder, i)).astype(wanted[name])
        for i, name in enumerate(names)}
with open(folder + "tensors.txt", "w") as listing:
    outputs = [value.name for value in session.get_outputs()]
    for i, value in enumerate(session.run(outputs, feed)):
        np.save("%sout%d.npy" % (folder, i), np.ascontiguousarray(value, dtype="<f4").reshape(-1))
        listing.write(outputs[i] + "\n")
)python";

/// A new folder that goes when the object does.
class Folder {
 public:
    Folder() {
        auto name = (std::filesystem::temp_directory_path() / "rknn-compare-").string();
        name.append(6, 'X');
        path_ = mkdtemp(name.data()) != nullptr ? name : "";
    }
    ~Folder() {
        std::error_code ignored;
        if (!path_.empty())
            std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
    std::string path_;
};

/// Runs python3 -c program with one argument; `quiet` drops what it prints. True if it ends with 0.
bool python(const char* program, const std::string& argument, bool quiet) {
    std::string name = "python3";
    std::string option = "-c";
    std::string text = program;
    std::string last = argument;
    char* const arguments[] = {name.data(), option.data(), text.data(), last.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int descriptor : {1, 2}) {
        if (quiet || descriptor == 1)  // stdout is the table's
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0);
    }
    pid_t child = 0;
    const int failed = posix_spawnp(&child, "python3", &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    return failed == 0 && waitpid(child, &status, 0) == child && status == 0;
}

bool write_text(const std::string& path, const std::string& text) {
    return write_bytes(path, std::as_bytes(std::span(text)));
}

std::optional<Golden> read_results(const Folder& folder, std::string& error) {
    const auto listing = read_bytes(folder.file("tensors.txt"));
    if (!listing) {
        error = cannot(folder.file("tensors.txt"), "read");
        return std::nullopt;
    }
    Golden out;
    out.executor = "onnxruntime";
    std::string name;
    size_t index = 0;
    for (const std::byte byte : *listing) {
        if (byte != std::byte{'\n'}) {
            name += static_cast<char>(byte);
            continue;
        }
        const auto array = read_npy(folder.file(fmt::format("out{}.npy", index++)), error);
        if (!array)
            return std::nullopt;
        std::vector<float> values(array->elements());
        std::copy_n(array->data.begin(), values.size() * sizeof(float),
                    std::as_writable_bytes(std::span(values)).begin());
        out.tensors.emplace(name, std::move(values));
        name.clear();
    }
    return out;
}

}  // namespace

bool has_onnxruntime() {
    return python("import onnxruntime, numpy", "", true);
}

std::optional<Golden> run_onnxruntime(std::span<const std::byte> model,
                                      const std::vector<OnnxruntimeInput>& inputs,
                                      std::string& error) {
    const Folder folder;
    std::vector<std::byte> all;
    if (const auto status = cpu::expose_all_tensors(model, all); !status.ok()) {
        error = status.text();
        return std::nullopt;
    }
    bool written = !folder.path().empty() && write_bytes(folder.file("model.onnx"), all);
    std::string names;
    for (size_t i = 0; i < inputs.size() && written; ++i) {
        const std::vector<uint32_t> shape(inputs[i].dims.begin(), inputs[i].dims.end());
        written = write_npy(folder.file(fmt::format("in{}.npy", i)), "<f4", shape,
                            std::as_bytes(inputs[i].values));
        names += inputs[i].name + "\n";
    }
    if (!written || !write_text(folder.file("inputs.txt"), names)) {
        error = cannot(folder.path(), "written");
        return std::nullopt;
    }
    if (!python(kProgram, folder.path(), false)) {
        error = "onnxruntime (python3) did not run the graph; --executor own does without it";
        return std::nullopt;
    }
    auto out = read_results(folder, error);
    for (size_t i = 0; out && i < inputs.size(); ++i)
        out->tensors.emplace(inputs[i].name,
                             std::vector<float>(inputs[i].values.begin(), inputs[i].values.end()));
    return out;
}

}  // namespace rknpu::tools
