// SPDX-License-Identifier: BSD-3-Clause
// Reads whole files. Main thread only.
#include "files.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

#include "exchange/network_text.hpp"

namespace acp::sim_tool {

std::optional<std::string> content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (file || !text.empty()) return text;
    complain(path, "cannot be read");
    return std::nullopt;
}

std::optional<exchange::NetworkModel> network_in(const std::string& path) {
    const auto text = content_of(path);
    if (!text) return std::nullopt;
    auto network = exchange::network_from_text(*text);
    if (network.is_ok()) return std::move(network).value();
    complain(path, network.failure().message());
    return std::nullopt;
}

void complain(const std::string& path, std::string_view complaint) {
    std::fprintf(stderr, "acpsim: %s: %s\n", path.c_str(), std::string(complaint).c_str());
}

std::string decimal(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

}  // namespace acp::sim_tool
