// SPDX-License-Identifier: BSD-3-Clause
// Rows to JSON and back, and looking a further figure up. The only file of this program that knows
// the library for JSON. Any thread.
#include "row.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

namespace acp::bench {

using base::Code;
using base::Result;
using base::Status;
using Json = nlohmann::ordered_json;

namespace {

Json figure(const std::string& name_key,
            const std::string& name,
            double value,
            const std::string& unit) {
    return {{name_key, name}, {"value", value}, {"unit", unit}};
}

Json row_to_json(const Row& row) {
    Json json = {{"experiment", row.experiment},
                 {"case", row.name},
                 {"mode", row.mode},
                 {"distance", name_of(row.distance)},
                 {"distance_share", row.distance_share},
                 {"ranks", row.ranks},
                 {"nodes", row.nodes},
                 {"bytes", row.bytes},
                 {"iterations", row.iterations},
                 {"latency_us",
                  {{"min", row.latency_us.min},
                   {"median", row.latency_us.median},
                   {"mean", row.latency_us.mean},
                   {"p99", row.latency_us.p99},
                   {"samples", row.latency_us.count}}},
                 {"bandwidth_MBps", row.bandwidth_mb_per_s},
                 {"yardstick", nullptr},
                 {"ratio", nullptr},
                 {"paper", nullptr}};
    if (row.yardstick) {
        json["yardstick"] =
            figure("name", row.yardstick->name, row.yardstick->value, row.yardstick->unit);
    }
    if (row.ratio) json["ratio"] = *row.ratio;
    if (row.paper)
        json["paper"] = figure("source", row.paper->source, row.paper->value, row.paper->unit);
    if (!row.extra.empty()) {
        for (const auto& [name, value] : row.extra) json["extra"][name] = value;
    }
    if (row.picture)
        json["picture"] = {{"width", row.picture->width}, {"values", row.picture->values}};
    return json;
}

Distance distance_named(const std::string& name) {
    for (const Distance distance : {Distance::near, Distance::far, Distance::shared}) {
        if (name == name_of(distance)) return distance;
    }
    return Distance::unknown;
}

Row row_from_json(const Json& json) {
    Row row;
    row.experiment = json.at("experiment");
    row.name = json.at("case");
    row.mode = json.at("mode");
    row.distance = distance_named(json.value("distance", "-"));
    row.distance_share = json.value("distance_share", 1.0);
    row.ranks = json.at("ranks");
    row.nodes = json.at("nodes");
    row.bytes = json.at("bytes");
    row.iterations = json.at("iterations");
    const Json& latency = json.at("latency_us");
    row.latency_us.min = latency.at("min");
    row.latency_us.median = latency.at("median");
    row.latency_us.p99 = latency.at("p99");
    row.latency_us.mean = latency.value("mean", row.latency_us.median);
    row.latency_us.count = latency.value("samples", std::size_t{1});
    row.bandwidth_mb_per_s = json.at("bandwidth_MBps");
    if (const Json& it = json.at("yardstick"); !it.is_null()) {
        row.yardstick = Yardstick{it.at("name"), it.at("value"), it.value("unit", "us")};
    }
    if (const Json& it = json.at("ratio"); !it.is_null()) row.ratio = it.get<double>();
    if (json.contains("paper") && !json["paper"].is_null()) {
        const Json& it = json["paper"];
        row.paper = PaperFigure{it.at("source"), it.at("value"), it.at("unit")};
    }
    if (json.contains("extra")) {
        for (const auto& [name, value] : json["extra"].items()) row.extra.emplace_back(name, value);
    }
    if (json.contains("picture")) {
        const Json& it = json["picture"];
        row.picture = Picture{it.at("width"), it.at("values")};
    }
    return row;
}

}  // namespace

double extra_of(const Row& row, std::string_view name) {
    for (const auto& [its_name, value] : row.extra) {
        if (its_name == name) return value;
    }
    return 0;
}

std::string to_json(const ResultFile& file) {
    Json configuration = Json::object();
    for (const auto& [name, value] : file.header.configuration) configuration[name] = value;
    Json rows = Json::array();
    for (const Row& row : file.rows) rows.push_back(row_to_json(row));
    const Json json = {{"header",
                        {{"machine", file.header.machine},
                         {"kernel", file.header.kernel},
                         {"version", file.header.version},
                         {"date", file.header.date},
                         {"command", file.header.command},
                         {"configuration", configuration}}},
                       {"rows", rows}};
    return json.dump(1) + "\n";
}

Result<ResultFile> from_json(const std::string& text) {
    try {
        const Json json = Json::parse(text);
        ResultFile file;
        const Json& header = json.at("header");
        file.header.machine = header.at("machine");
        file.header.kernel = header.value("kernel", "");
        file.header.version = header.at("version");
        file.header.date = header.at("date");
        file.header.command = header.value("command", "");
        for (const auto& [name, value] : header.at("configuration").items()) {
            file.header.configuration.emplace_back(name, value);
        }
        for (const Json& row : json.at("rows")) file.rows.push_back(row_from_json(row));
        return file;
    } catch (const nlohmann::json::exception& failure) {
        return Status(Code::argument, std::string("not a file of acpbench: ") + failure.what());
    }
}

Status write_results(const std::string& path, const ResultFile& file) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code ignored;  // the open below says what is wrong
    if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
    std::ofstream out(path);
    out << to_json(file);
    out.close();
    if (!out) {
        return Status(Code::system,
                      "cannot write " + path + ": " + std::generic_category().message(errno));
    }
    return {};
}

Result<ResultFile> read_results(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) {
        return Status(Code::system,
                      "cannot read " + path + ": " + std::generic_category().message(errno));
    }
    Result<ResultFile> file = from_json(text.str());
    if (!file.is_ok()) return std::move(file).failure().within(path);
    return file;
}

}  // namespace acp::bench
