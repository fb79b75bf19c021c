// SPDX-License-Identifier: MIT
#include "model/patches.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "model/task_registers.hpp"

namespace rknpu {
namespace {

constexpr uint16_t kFeatureAddress = 0x1070;
/// CVT_CON0 to CVT_CON5 of the CNA.
constexpr std::array<uint16_t, 6> kConverter = {0x104c, 0x1050, 0x1054, 0x1058, 0x105c, 0x1180};

constexpr uint64_t with_value(uint64_t word, uint64_t value) {
    return (word & ~(uint64_t{0xffffffff} << 16)) | value << 16;
}

/// A field of the table and the register it is about.
struct Field {
    const schema::Patch* patch;
    uint16_t register_offset;
};

/// False if a field is there and does not fit the commands.
bool take(const JobGraph& graph, std::span<const Field> fields, std::vector<WordPatch>& out) {
    for (const auto& field : fields) {
        if (field.patch == nullptr)
            continue;
        const uint32_t word = field.patch->word();
        if (word >= graph.regcmd.size() ||
            static_cast<uint16_t>(graph.regcmd[word]) != field.register_offset)
            return false;
        out.push_back({word, field.patch->value()});
    }
    return true;
}

bool take_geometry(const JobGraph& graph, const schema::GeometryPatch& from, InputPatch& to) {
    const Field fields[] = {{from.data_size0(), 0x1020},     {from.conv_con1(), 0x100c},
                            {from.line_stride(), 0x107c},    {from.surface_stride(), 0x1080},
                            {from.feature_offset(), 0x1070}, {from.cbuf_entries(), 0x1044}};
    return take(graph, fields, to.geometry);
}

bool take_converter(const JobGraph& graph, const schema::ConvertPatch& from, InputPatch& to) {
    const Field fields[] = {{from.cvt_con0(), 0x104c},      {from.cvt_con1(), 0x1050},
                            {from.cvt_con2(), 0x1054},      {from.cvt_con3(), 0x1058},
                            {from.cvt_con4(), 0x105c},      {from.cvt_con5(), 0x1180},
                            {from.clip_truncate(), 0x301c}, {from.weight_size2(), 0x1038}};
    return take(graph, fields, to.converter);
}

/// The tables of one input, which stand in the same order in both lists.
void take_input(const schema::GeometryPatches& geometry, const schema::ConvertPatches& converter,
                int32_t tensor, JobGraph& graph) {
    const auto* first = geometry.streams();
    const auto* second = converter.streams();
    if (first == nullptr || second == nullptr || first->size() != second->size())
        return;
    std::vector<InputPatch> patches;
    for (uint32_t i = 0; i < first->size(); ++i) {
        auto& patch = patches.emplace_back();
        patch.tensor = tensor;
        if (!take_geometry(graph, *first->Get(i), patch) ||
            !take_converter(graph, *second->Get(i), patch))
            return;
    }
    graph.input_patches.insert(graph.input_patches.end(), patches.begin(), patches.end());
}

/// Follows the tables of one input through the streams. The values of the commands are replaced by
/// what tells where a register came from: feature addresses by whether the input lies there,
/// converter commands by their number.
class PatchCheck {
 public:
    PatchCheck(const JobGraph& graph, int32_t tensor)
        : graph_(graph), words_(graph.regcmd), patched_(graph.regcmd.size(), false) {
        for (const auto& patch : graph.input_patches) {
            for (const auto& item : patch.converter)
                patched_[item.word] = patched_[item.word] || patch.tensor == tensor;
        }
        for (size_t i = 0; i < words_.size(); ++i) {
            const auto offset = static_cast<uint16_t>(words_[i]);
            if (std::find(kConverter.begin(), kConverter.end(), offset) != kConverter.end())
                words_[i] = with_value(words_[i], i + 1);
            else if (offset == kFeatureAddress)
                words_[i] = with_value(words_[i], 0);
        }
        for (const auto& item : graph.relocations) {
            const bool feature = static_cast<uint16_t>(words_[item.word]) == kFeatureAddress;
            if (item.tensor == tensor && feature)
                words_[item.word] = with_value(words_[item.word], 1);
            convolved_only_ = convolved_only_ && (item.tensor != tensor || feature);
        }
    }

    bool whole() const {
        bool good = convolved_only_;
        const auto look = [&](size_t, const TaskRegisters& state, uint32_t enable) {
            if ((enable & npusim::kEnableCna) != 0)
                good = good && fits(state.active().cna);
            return Status();
        };
        for (size_t stream = 0; stream < kStreams && good; ++stream)
            good = walk_stream(graph_, words_, stream, look).ok() && good;
        return good;
    }

 private:
    bool fits(const npusim::BlockRegs& cna) const {
        const bool reads = cna[kFeatureAddress] == 1;
        // Tasks that read something else look at CVT_CON0 only: it bypasses the converter.
        const auto decisive = std::span(kConverter).first(reads ? kConverter.size() : 1);
        return std::all_of(decisive.begin(), decisive.end(), [&](uint16_t offset) {
            const uint32_t from = cna[offset];
            return from != 0 && patched_[from - 1] == reads;
        });
    }

    const JobGraph& graph_;
    std::vector<uint64_t> words_;
    std::vector<bool> patched_;
    bool convolved_only_ = true;
};

}  // namespace

void keep_whole_input_patches(JobGraph& graph) {
    std::vector<int32_t> whole;
    for (const int32_t input : graph.inputs) {
        const bool has = std::any_of(graph.input_patches.begin(), graph.input_patches.end(),
                                     [&](const InputPatch& p) { return p.tensor == input; });
        if (has && PatchCheck(graph, input).whole())
            whole.push_back(input);
    }
    std::erase_if(graph.input_patches, [&](const InputPatch& patch) {
        return std::find(whole.begin(), whole.end(), patch.tensor) == whole.end();
    });
}

void read_input_patches(const schema::Graph& source, JobGraph& graph) {
    const auto* geometry = source.geometry_patches();
    const auto* converter = source.convert_patches();
    if (geometry == nullptr || converter == nullptr || geometry->size() != converter->size())
        return;
    for (uint32_t i = 0; i < geometry->size(); ++i) {
        const auto* name = geometry->Get(i)->input();
        const auto* other = converter->Get(i)->input();
        if (name == nullptr || other == nullptr || name->string_view() != other->string_view())
            continue;
        const int32_t tensor = find_tensor(graph, name->string_view());
        if (tensor >= 0 && graph.tensors[static_cast<size_t>(tensor)].kind == TensorKind::kInput)
            take_input(*geometry->Get(i), *converter->Get(i), tensor, graph);
    }
}

}  // namespace rknpu
