// SPDX-License-Identifier: MIT
#include "rknpu_compiler/network_json.hpp"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

namespace rknpu::compiler {

namespace {

using nlohmann::json;

class Parser {
 public:
    Parser(const json& root, std::span<const std::byte> weights) : root_(root), weights_(weights) {}
    Result<Graph> run();

 private:
    void parse_inputs();
    void parse_layer(const json& node);
    void parse_window(const json& node, Layer& layer);
    void parse_weights(const json& node, Layer& layer);
    void parse_outputs();

    void fail(const std::string& text) {
        if (error_.empty()) {
            error_ = where_.empty() ? text : where_ + ": " + text;
        }
    }
    /// Member of an object, or null with an error when it is missing and `required`.
    const json& member(const json& node, const char* name, bool required = true);
    std::string string_member(const json& node, const char* name);
    std::vector<double> numbers(const json& node, const char* name, size_t count,
                                std::vector<double> fallback);
    std::vector<uint32_t> sizes(const json& node, const char* name, size_t count,
                                std::vector<double> fallback);
    Range range(const json& node);
    uint32_t tensor(const std::string& name);
    std::vector<float> floats(const json& node, const char* name);

    const json& root_;
    std::span<const std::byte> weights_;
    Graph graph_;
    std::map<std::string, uint32_t> names_;
    std::string where_;  // what is being parsed, for messages
    std::string error_;
};

const json& Parser::member(const json& node, const char* name, bool required) {
    static const json kNull;
    if (node.is_object()) {
        const auto found = node.find(name);
        if (found != node.end()) {
            return *found;
        }
    }
    if (required) {
        fail(std::string("\"") + name + "\" is missing; add it");
    }
    return kNull;
}

std::string Parser::string_member(const json& node, const char* name) {
    const json& value = member(node, name);
    if (!value.is_string()) {
        fail(std::string("\"") + name + "\" must be a string");
        return {};
    }
    return value.get<std::string>();
}

std::vector<double> Parser::numbers(const json& node, const char* name, size_t count,
                                    std::vector<double> fallback) {
    const json& value = member(node, name, fallback.empty());
    if (value.is_null()) {
        return fallback.empty() ? std::vector<double>(count) : fallback;
    }
    std::vector<double> out;
    if (value.is_array()) {
        for (const json& item : value) {
            out.push_back(item.is_number() ? item.get<double>() : 0);
            if (!item.is_number()) {
                fail(std::string("\"") + name + "\" must hold numbers only");
            }
        }
    }
    if (out.size() != count) {
        fail(std::string("\"") + name + "\" must be an array of " + std::to_string(count) +
             " numbers");
        out.resize(count);
    }
    return out;
}

std::vector<uint32_t> Parser::sizes(const json& node, const char* name, size_t count,
                                    std::vector<double> fallback) {
    constexpr double kMost = 1 << 20;
    std::vector<uint32_t> out;
    for (const double value : numbers(node, name, count, std::move(fallback))) {
        const bool good = value >= 0 && value <= kMost && value == static_cast<uint32_t>(value);
        if (!good) {
            fail(std::string("\"") + name + "\" must hold whole numbers from 0 to 1048576");
        }
        out.push_back(good ? static_cast<uint32_t>(value) : 0);
    }
    return out;
}

Range Parser::range(const json& node) {
    const auto values = numbers(node, "range", 2, {});
    return {static_cast<float>(values[0]), static_cast<float>(values[1])};
}

uint32_t Parser::tensor(const std::string& name) {
    const auto [found, added] =
        names_.try_emplace(name, static_cast<uint32_t>(graph_.tensors.size()));
    if (added) {
        graph_.tensors.push_back({name, 0, 0, 0, {}});
    }
    return found->second;
}

std::vector<float> Parser::floats(const json& node, const char* name) {
    const json& value = member(node, name);
    const auto offset =
        sizes(json{{"offset", json::array({member(value, "offset")})}}, "offset", 1, {})[0];
    const json& dims = member(value, "dims");
    uint64_t count = dims.is_array() ? 1 : 0;
    for (size_t i = 0; dims.is_array() && i < dims.size(); i++) {
        const uint64_t dim = dims[i].is_number_unsigned() ? dims[i].get<uint64_t>() : 0;
        count = dim != 0 && count <= weights_.size() / dim ? count * dim : 0;
    }
    if (count == 0 || offset > weights_.size() || count > (weights_.size() - offset) / 4) {
        fail(std::string("\"") + name + "\" does not lie inside the weights file (" +
             std::to_string(weights_.size()) + " bytes); export both files together");
        return {};
    }
    std::vector<float> out(count);
    std::memcpy(out.data(), weights_.data() + offset, count * sizeof(float));
    return out;
}

void Parser::parse_inputs() {
    const json& inputs = member(root_, "inputs");
    for (size_t i = 0; inputs.is_array() && i < inputs.size(); i++) {
        where_ = "inputs[" + std::to_string(i) + "]";
        const json& node = inputs[i];
        InputInfo info;
        info.tensor = tensor(string_member(node, "name"));
        const auto dims = sizes(node, "dims", 4, {});
        if (dims[0] != 1) {
            fail("the batch size must be 1");
        }
        TensorInfo& t = graph_.tensors[info.tensor];
        t.channels = dims[1];
        t.height = dims[2];
        t.width = dims[3];
        t.range = range(node);
        const std::vector<double> zeros(dims[1], 0.0);
        const std::vector<double> ones(dims[1], 1.0);
        for (const double value : numbers(node, "mean", dims[1], zeros)) {
            info.mean.push_back(static_cast<float>(value));
        }
        for (const double value : numbers(node, "std", dims[1], ones)) {
            if (!(value > 0)) {
                fail("\"std\" must be positive");
            }
            info.std.push_back(static_cast<float>(value));
        }
        graph_.inputs.push_back(std::move(info));
    }
    where_.clear();
}

void Parser::parse_window(const json& node, Layer& layer) {
    const auto kernel = sizes(node, "kernel", 2, {});
    const auto strides = sizes(node, "strides", 2, {1, 1});
    const auto pads = sizes(node, "pads", 4, {0, 0, 0, 0});
    const auto dilations = sizes(node, "dilations", 2, {1, 1});
    layer.window = {kernel[0], kernel[1], strides[0],   strides[1],
                    pads[0],   pads[1],   dilations[0], dilations[1]};
    layer.pad_bottom = pads[2];
    layer.pad_right = pads[3];
}

void Parser::parse_weights(const json& node, Layer& layer) {
    layer.weights = floats(node, "weights");
    if (!member(node, "bias", false).is_null()) {
        layer.bias = floats(node, "bias");
    }
}

void Parser::parse_layer(const json& node) {
    static const std::map<std::string, OpType> kTypes{{"Conv", OpType::kConv},
                                                      {"Dense", OpType::kConv},
                                                      {"DepthwiseConv", OpType::kDepthwiseConv},
                                                      {"MaxPool", OpType::kMaxPool},
                                                      {"AveragePool", OpType::kAveragePool},
                                                      {"Add", OpType::kAdd}};
    Layer layer;
    layer.name = string_member(node, "name");
    where_ = "layer \"" + layer.name + "\"";
    const std::string op = string_member(node, "op");
    const auto type = kTypes.find(op);
    if (type == kTypes.end()) {
        fail("unknown op \"" + op +
             "\"; known are Conv, Dense, DepthwiseConv, MaxPool, AveragePool, Add");
        return;
    }
    layer.type = type->second;
    const json& inputs = member(node, "inputs");
    for (size_t i = 0; inputs.is_array() && i < inputs.size(); i++) {
        layer.inputs.push_back(tensor(inputs[i].is_string() ? inputs[i].get<std::string>() : ""));
    }
    layer.output = tensor(string_member(node, "output"));
    const json& relu = member(node, "relu", false);
    layer.relu = relu.is_boolean() && relu.get<bool>();
    const json& clip = member(node, "clip", false);
    if (clip.is_number()) {
        layer.clip = clip.get<float>();
    }
    if (layer.type != OpType::kMaxPool) {
        graph_.tensors[layer.output].range = range(node);
    }
    if (op == "Dense" && !layer.inputs.empty()) {
        // A kernel as large as its input; earlier layers have fixed that size.
        const std::optional<Error> error = infer_shapes_so_far(graph_);
        if (error) {
            where_.clear();
            fail(error->text);
        }
        const TensorInfo& in = graph_.tensors[layer.inputs[0]];
        layer.window.height = in.height;
        layer.window.width = in.width;
    } else if (layer.type != OpType::kAdd) {
        parse_window(node, layer);
    }
    if (layer.type == OpType::kConv || layer.type == OpType::kDepthwiseConv) {
        parse_weights(node, layer);
    }
    graph_.layers.push_back(std::move(layer));
}

void Parser::parse_outputs() {
    where_ = "outputs";
    const json& outputs = member(root_, "outputs");
    for (size_t i = 0; outputs.is_array() && i < outputs.size(); i++) {
        const std::string name = outputs[i].is_string() ? outputs[i].get<std::string>() : "";
        if (!names_.contains(name)) {
            fail("\"" + name + "\" is no tensor of the network");
            continue;
        }
        graph_.outputs.push_back(names_[name]);
    }
}

Result<Graph> Parser::run() {
    graph_.name = root_.is_object() ? root_.value("name", "network") : "network";
    parse_inputs();
    const json& layers = member(root_, "layers");
    for (size_t i = 0; layers.is_array() && i < layers.size() && error_.empty(); i++) {
        where_ = "layers[" + std::to_string(i) + "]";
        parse_layer(layers[i]);
    }
    if (error_.empty()) {
        parse_outputs();
    }
    if (!error_.empty()) {
        return Error{error_};
    }
    if (auto error = infer_shapes(graph_)) {
        return *error;
    }
    return std::move(graph_);
}

}  // namespace

Result<Graph> parse_network(std::string_view text, std::span<const std::byte> weights) {
    const json root = json::parse(text, nullptr, false);
    if (root.is_discarded()) {
        return Error{"the network description is no valid JSON; check it with a JSON tool"};
    }
    return Parser(root, weights).run();
}

std::string weights_file_of(std::string_view text) {
    const json root = json::parse(text, nullptr, false);
    const auto found = root.is_object() ? root.find("weights_file") : root.end();
    return found != root.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

}  // namespace rknpu::compiler
