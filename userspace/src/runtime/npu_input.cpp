// SPDX-License-Identifier: MIT
#include "runtime/npu_input.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/program.hpp"

namespace rknpu {
namespace {

constexpr uint32_t kBytes = 256;
constexpr uint32_t kLanes = 4;

/// CVT_CON0: unsigned data, multiply before the offset is added, the same shift for every lane.
/// A shift of 14 with a factor of 1 is what Mesa's driver writes for pictures in unsigned bytes.
constexpr uint32_t kLargestShift = 14;
constexpr uint32_t kAllChannels = 0xffff;  // CVT_CON5
constexpr uint16_t kCvtCon0 = 0x104c, kCvtCon1 = 0x1050, kCvtCon5 = 0x1180;

/// code = saturate(factor * byte + offset)
struct Ramp {
    int32_t factor = 0;
    int32_t offset = 0;
    bool operator==(const Ramp&) const = default;
};

using Codes = std::array<int8_t, kBytes>;

/// What the host makes of each byte, per channel.
std::vector<Codes> host_codes(const GraphTensor& tensor, const ChannelMap& map) {
    const auto channels = static_cast<uint32_t>(tensor.dims[1]);
    ElementView from;
    from.type = DataType::kUint8;
    from.layout = ImageLayout::plain(1, channels, 1, kBytes);
    ElementView to = view_of(tensor);
    to.layout = from.layout;
    std::vector<uint8_t> bytes(size_t{channels} * kBytes);
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<uint8_t>(i % kBytes);
    std::vector<Codes> codes(channels);
    convert_reference(from, std::as_bytes(std::span(bytes)), to,
                      std::as_writable_bytes(std::span(codes)), map);
    return codes;
}

std::optional<Ramp> ramp_of(const Codes& codes) {
    // Where neither of two neighbours is saturated their distance is the factor.
    const auto inside = [&](size_t i) { return codes[i] > -128 && codes[i] < 127; };
    size_t at = 0;
    while (at + 1 < kBytes && !(inside(at) && inside(at + 1)))
        ++at;
    if (at + 1 >= kBytes)
        return std::nullopt;
    Ramp ramp;
    ramp.factor = codes[at + 1] - codes[at];
    ramp.offset = codes[at] - ramp.factor * static_cast<int32_t>(at);
    for (size_t i = 0; i < kBytes; ++i) {
        const int32_t value = ramp.factor * static_cast<int32_t>(i) + ramp.offset;
        if (codes[i] != std::clamp(value, -128, 127))
            return std::nullopt;
    }
    const bool fits = ramp.factor >= 1 && ramp.offset >= INT16_MIN && ramp.offset <= INT16_MAX;
    return fits ? std::optional(ramp) : std::nullopt;
}

/// Values of CVT_CON0 to CVT_CON4.
std::array<uint32_t, 1 + kLanes> registers_of(const std::vector<Ramp>& ramps) {
    uint32_t shift = kLargestShift;
    for (const auto& ramp : ramps) {
        while ((ramp.factor << shift) > INT16_MAX)
            --shift;
    }
    std::array<uint32_t, 1 + kLanes> out{};
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const auto& ramp = ramps[std::min<size_t>(lane, ramps.size() - 1)];
        out[0] |= shift << (4 + 6 * lane);
        out[1 + lane] = static_cast<uint32_t>(ramp.factor << shift) << 16 |
                        (static_cast<uint32_t>(ramp.offset) & 0xffff);
    }
    return out;
}

bool fits(const JobGraph& graph, int32_t input, const ChannelMap& map) {
    const auto& tensor = graph.tensors[static_cast<size_t>(input)];
    const bool packed_codes = tensor.type == DataType::kInt8 && tensor.quantised &&
                              tensor.order == Order::kNhwc &&
                              static_cast<uint32_t>(tensor.dims[1]) <= kLanes;
    if (!packed_codes || !map.order.empty())
        return false;
    return std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNode& node) {
        const bool end = node.type == "InputOperator" || node.type == "OutputOperator";
        return !node.on_npu && !end &&
               std::any_of(node.inputs.begin(), node.inputs.end(), [&](int32_t it) {
                   return it == input || graph.tensors[static_cast<size_t>(it)].part_of == input;
               });
    });
}

}  // namespace

std::vector<WordPatch> npu_conversion(const JobGraph& graph, int32_t input, const ChannelMap& map) {
    std::vector<WordPatch> words;
    for (const auto& patch : graph.input_patches) {
        if (patch.tensor == input)
            words.insert(words.end(), patch.converter.begin(), patch.converter.end());
    }
    if (words.empty() || !fits(graph, input, map))
        return {};
    std::vector<Ramp> ramps;
    for (const auto& codes : host_codes(graph.tensors[static_cast<size_t>(input)], map)) {
        const auto ramp = ramp_of(codes);
        if (!ramp)
            return {};
        ramps.push_back(*ramp);
    }
    const auto values = registers_of(ramps);
    std::erase_if(words, [&](WordPatch& item) {
        const auto offset = static_cast<uint16_t>(graph.regcmd[item.word]);
        const bool scale = offset >= kCvtCon0 && offset <= kCvtCon1 + 4 * (kLanes - 1);
        if (scale)
            item.value = values[(offset - kCvtCon0) / 4];
        else if (offset == kCvtCon5)
            item.value = kAllChannels;
        return !scale && offset != kCvtCon5;
    });
    return words;
}

}  // namespace rknpu
