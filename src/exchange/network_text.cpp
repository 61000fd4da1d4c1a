// SPDX-License-Identifier: BSD-3-Clause
// Reads each statement by the function of its first word. Any thread.
#include "exchange/network_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/parse.hpp"
#include "exchange/network_presets.hpp"

namespace acp::exchange {

using base::Code;
using base::Result;
using base::Status;

namespace {

using Words = std::span<const std::string_view>;

constexpr std::size_t words_max = 3 + route_links_max;
constexpr std::size_t quoted_max = 60;  // characters of a statement in a message

std::vector<std::string_view> split(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::vector<std::string_view> words;
    constexpr std::string_view blanks = " \t\r";
    for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
        const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(blanks, end);
        if (words.size() > words_max) break;
    }
    return words;
}

std::optional<std::uint32_t> whole_number(std::string_view word) {
    const auto value = base::parse_unsigned(word);
    if (!value || *value > 0xFFFF'FFFFU) return std::nullopt;
    return static_cast<std::uint32_t>(*value);
}

std::optional<double> number(std::string_view word) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

std::optional<std::vector<std::uint32_t>> whole_numbers(Words words) {
    std::vector<std::uint32_t> values;
    for (const std::string_view word : words) {
        const auto value = whole_number(word);
        if (!value) return std::nullopt;
        values.push_back(*value);
    }
    return values;
}

struct RateField {
    std::string_view name;
    double NodeRates::*field;
};

constexpr RateField rate_fields[] = {
    {"engine_rate", &NodeRates::engine_rate},       {"injection_rate", &NodeRates::injection_rate},
    {"reception_rate", &NodeRates::reception_rate}, {"start_us", &NodeRates::start_us},
    {"command_us", &NodeRates::command_us},         {"stair_us", &NodeRates::stair_us},
    {"link_loss", &NodeRates::link_loss},
};

// The error in a statement; "": none.
using Complaint = std::string;

Complaint form(const std::string& words) {
    return "the form of this statement is \"" + words + "\"";
}

Complaint begin(NetworkModel& model, Result<NetworkModel>&& begun) {
    if (!begun.is_ok()) return std::string(begun.failure().message());
    if (model.nodes != 0) return "the network has begun already";
    begun.value().node = model.node;
    model = std::move(begun).value();
    return {};
}

Complaint read_preset(NetworkModel& model, Words words) {
    const auto sizes = words.empty() ? std::nullopt : whole_numbers(words.subspan(1));
    if (!sizes) return form("preset NAME SIZE ...");
    auto begun = preset_network(words[0], *sizes);
    // A preset sets its rates, which later statements may change.
    if (begun.is_ok()) model.node = begun.value().node;
    return begin(model, std::move(begun));
}

Complaint read_torus(NetworkModel& model, Words words) {
    const auto rate = words.empty() ? std::nullopt : number(words[0]);
    const auto sizes = rate ? whole_numbers(words.subspan(1)) : std::nullopt;
    if (!sizes) return form("torus RATE SIZE ...");
    return begin(model, make_torus(*sizes, *rate, {}));
}

Complaint read_count(std::uint32_t& count, Words words, bool is_free) {
    const auto value = words.size() == 1 ? whole_number(words[0]) : std::nullopt;
    if (!value || *value == 0 || *value > model_nodes_max)
        return "a number 1 .. " + std::to_string(model_nodes_max) + " follows";
    if (!is_free) return "the network has begun already";
    count = *value;
    return {};
}

Complaint read_link(NetworkModel& model, Words words) {
    const auto ends = words.size() == 3 ? whole_numbers(words.first(2)) : std::nullopt;
    const auto rate = ends ? number(words[2]) : std::nullopt;
    if (!rate) return form("link FROM TO RATE");
    if (!model.torus.empty()) return "a torus has its links";
    if (model.links.size() == model_links_max)
        return "at most " + std::to_string(model_links_max) + " links";
    model.links.push_back({ends->at(0), ends->at(1), *rate});
    return {};
}

Complaint read_rate(NetworkModel& model, Words words) {
    const auto link = words.size() == 2 ? whole_number(words[0]) : std::nullopt;
    const auto rate = link ? number(words[1]) : std::nullopt;
    if (!rate) return form("rate LINK RATE");
    if (*link >= model.links.size())
        return "the network has " + std::to_string(model.links.size()) + " links so far";
    model.links[*link].rate = *rate;
    return {};
}

Complaint read_route(NetworkModel& model, Words words) {
    const auto numbers = words.size() >= 3 ? whole_numbers(words) : std::nullopt;
    if (!numbers) return form("route SOURCE TARGET LINK ...");
    if (model.routes.size() == model_routes_max)
        return "at most " + std::to_string(model_routes_max) + " routes";
    const bool is_new =
        model.routes
            .try_emplace({numbers->at(0), numbers->at(1)}, numbers->begin() + 2, numbers->end())
            .second;
    return is_new ? Complaint{} : "this route has been listed already";
}

Complaint read_field(NetworkModel& model, std::string_view name, Words words) {
    if (name == "engines") {
        const auto count = words.size() == 1 ? whole_number(words[0]) : std::nullopt;
        if (!count) return form("engines COUNT");
        model.node.engines = *count;
        return {};
    }
    for (const RateField& field : rate_fields) {
        if (field.name != name) continue;
        const auto value = words.size() == 1 ? number(words[0]) : std::nullopt;
        if (!value) return form(std::string(name) + " NUMBER");
        model.node.*field.field = *value;
        return {};
    }
    return "there is no statement \"" + std::string(name.substr(0, 40)) + "\"";
}

Complaint read_statement(NetworkModel& model, Words words) {
    const std::string_view name = words[0];
    const Words rest = words.subspan(1);
    if (name == "preset") return read_preset(model, rest);
    if (name == "torus") return read_torus(model, rest);
    if (name == "nodes") return read_count(model.nodes, rest, model.nodes == 0);
    if (name == "switches" && model.nodes == 0) return "\"nodes COUNT\" comes first";
    if (name == "switches") return read_count(model.switches, rest, model.switches == 0);
    if (name == "link") return read_link(model, rest);
    if (name == "rate") return read_rate(model, rest);
    if (name == "route") return read_route(model, rest);
    return read_field(model, name, rest);
}

// The shortest text that is read back as the same number.
std::string shown(double value) {
    char text[64];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value);
    return error == std::errc() ? std::string(text, end) : std::string("0");
}

}  // namespace

Result<NetworkModel> network_from_text(std::string_view text) {
    if (text.size() > network_text_bytes_max) {
        return Status(Code::limit, "the text of a network has at most " +
                                       std::to_string(network_text_bytes_max) + " bytes");
    }
    NetworkModel model;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view statement = text.substr(0, end);
        const auto words = split(statement);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (words.empty()) continue;
        const Complaint wrong =
            words.size() > words_max ? "too many words" : read_statement(model, words);
        if (!wrong.empty()) {
            return Status(Code::argument, "line " + std::to_string(line) + ", \"" +
                                              std::string(statement.substr(0, quoted_max)) +
                                              (statement.size() > quoted_max ? "...\": " : "\": ") +
                                              wrong);
        }
    }
    if (model.nodes == 0) {
        return Status(Code::argument,
                      "no statement begins a network: \"nodes COUNT\", \"torus RATE SIZE ...\" and "
                      "\"preset NAME SIZE ...\" do");
    }
    Status status = check(model);
    if (!status.is_ok()) return status;
    return model;
}

std::string text_of(const NetworkModel& model) {
    std::string text;
    const double common = model.links.empty() ? 1 : model.links.front().rate;
    if (model.torus.empty()) {
        text += "nodes " + std::to_string(model.nodes) + "\n";
        if (model.switches != 0) text += "switches " + std::to_string(model.switches) + "\n";
    } else {
        text += "torus " + shown(common);
        for (const std::uint32_t size : model.torus) text += " " + std::to_string(size);
        text += "\n";
    }
    text += "engines " + std::to_string(model.node.engines) + "\n";
    for (const RateField& field : rate_fields)
        text += std::string(field.name) + " " + shown(model.node.*field.field) + "\n";
    for (std::size_t i = 0; i < model.links.size(); ++i) {
        const ModelLink& link = model.links[i];
        if (model.torus.empty()) {
            text += "link " + std::to_string(link.from) + " " + std::to_string(link.to) + " " +
                    shown(link.rate) + "\n";
        } else if (link.rate != common) {
            text += "rate " + std::to_string(i) + " " + shown(link.rate) + "\n";
        }
    }
    for (const auto& [ends, links] : model.routes) {
        text += "route " + std::to_string(ends.first) + " " + std::to_string(ends.second);
        for (const ModelLinkIndex link : links) text += " " + std::to_string(link);
        text += "\n";
    }
    return text;
}

}  // namespace acp::exchange
