// SPDX-License-Identifier: MIT
#include "model/patches.hpp"

#include <span>
#include <utility>

namespace rknpu {
namespace {

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

}  // namespace

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
