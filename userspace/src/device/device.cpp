// SPDX-License-Identifier: MIT
#include "device/device.hpp"

#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "core/process_wide.hpp"
#include "device/drm_device.hpp"
#include "device/sim_device.hpp"

namespace rknpu {

std::string_view to_string(DeviceKind kind) {
    return kind == DeviceKind::kDrm ? "drm" : "sim";
}

std::optional<DeviceKind> device_kind_from(std::string_view text) {
    if (text == "drm")
        return DeviceKind::kDrm;
    if (text == "sim")
        return DeviceKind::kSim;
    return std::nullopt;
}

Result<DeviceKind> default_device_kind() {
    const char* text = std::getenv("RKNPU_DEVICE");
    if (text == nullptr || *text == '\0')
        return DeviceKind::kDrm;
    if (const auto kind = device_kind_from(text))
        return *kind;
    return Status::failure(
        Error::kInvalidArgument,
        "RKNPU_DEVICE is '{}'; it may be drm (/dev/dri) or sim (NPU model inside "
        "the process).",
        text);
}

namespace {

/// One open file per process and kind, as the tokens of the driver belong to an open file.
struct OpenDevices {
    std::mutex mutex;  // protects the members below
    std::weak_ptr<Device> slots[2];
    pid_t owner = getpid();

    /// After fork(): threads and the driver's objects stayed with the parent.
    void adopt() {
        if (owner == getpid())
            return;
        for (auto& slot : slots)
            slot.reset();
        owner = getpid();
    }
};

}  // namespace

void Device::use(DeviceKind kind, const std::shared_ptr<Device>& device) {
    auto& all = process_wide<OpenDevices>();
    const std::lock_guard lock(all.mutex);
    all.adopt();
    all.slots[static_cast<size_t>(kind)] = device;
}

Result<std::shared_ptr<Device>> Device::open_default() {
    const auto kind = default_device_kind();
    if (!kind.ok())
        return kind.status();
    return open(kind.value());
}

Result<std::shared_ptr<Device>> Device::open(DeviceKind kind) {
    auto& all = process_wide<OpenDevices>();
    const std::lock_guard lock(all.mutex);
    all.adopt();
    auto& slot = all.slots[static_cast<size_t>(kind)];
    if (auto device = slot.lock()) {
        if (auto status = kind == DeviceKind::kSim ? check_sim_soc(*device) : Status();
            !status.ok())
            return status;
        return device;
    }
    auto device = kind == DeviceKind::kDrm ? open_drm_device() : open_sim_device();
    if (device.ok())
        slot = device.value();
    return device;
}

}  // namespace rknpu
