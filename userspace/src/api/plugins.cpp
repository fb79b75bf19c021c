// SPDX-License-Identifier: MIT
#include "api/plugins.hpp"

#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "core/log.hpp"
#include "core/process_wide.hpp"

namespace rknpu::api {
namespace {

constexpr const char* kFolder = "/usr/lib/rknpu/op_plugins";
constexpr std::string_view kPrefix = "librkcst_";
constexpr std::string_view kSuffix = ".so";
constexpr const char* kEntry = "get_rknn_custom_op";

/// Sorted, so that the order does not depend on the file system. A missing folder is empty.
std::vector<std::string> plugins_in(const std::string& folder) {
    std::vector<std::string> out;
    DIR* directory = opendir(folder.c_str());
    if (directory == nullptr)
        return out;
    while (const dirent* entry = readdir(directory)) {
        const std::string_view name = entry->d_name;
        if (name.starts_with(kPrefix) && name.ends_with(kSuffix))
            out.push_back(folder + "/" + entry->d_name);
    }
    closedir(directory);
    std::sort(out.begin(), out.end());
    return out;
}

/// Libraries stay loaded: contexts call into them until the end of the process.
std::vector<rknn_custom_op> load(const std::string& folder) {
    std::vector<rknn_custom_op> out;
    for (const auto& path : plugins_in(folder)) {
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            log(LogLevel::kWarning, "plugin {}: {}", path, dlerror());
            continue;
        }
        const auto entry = reinterpret_cast<get_custom_op_func>(dlsym(library, kEntry));
        const rknn_custom_op* op = entry == nullptr ? nullptr : entry();
        if (op == nullptr) {
            log(LogLevel::kWarning, "plugin {}: {}", path,
                entry == nullptr ? "it does not export get_rknn_custom_op" : "it has no operator");
            continue;
        }
        log(LogLevel::kInfo, "plugin {}: operator '{}'", path,
            std::string_view(op->op_type, strnlen(op->op_type, sizeof(op->op_type))));
        out.push_back(*op);
    }
    return out;
}

struct Plugins {
    std::mutex mutex;                                          // protects known
    std::map<std::string, std::vector<rknn_custom_op>> known;  // by folder
};

}  // namespace

std::vector<rknn_custom_op> plugin_operators() {
    const char* text = std::getenv("RKNPU_OP_PLUGINS");
    if (text == nullptr || *text == '\0' || std::string_view(text) == "0")
        return {};
    const std::string folder = std::string_view(text) == "1" ? kFolder : text;
    auto& [mutex, known] = process_wide<Plugins>();
    const std::lock_guard lock(mutex);
    const auto found = known.find(folder);
    return found != known.end() ? found->second : known.emplace(folder, load(folder)).first->second;
}

}  // namespace rknpu::api
