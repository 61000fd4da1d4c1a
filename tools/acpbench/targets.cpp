// SPDX-License-Identifier: BSD-3-Clause
// What was set out to be reached between nodes, for the report page. Pure; any thread.
#include <string_view>

#include "page.hpp"

namespace acp::bench {

namespace {

double extra_of(const Row& row, std::string_view name) {
    for (const auto& [its_name, value] : row.extra) {
        if (its_name == name) return value;
    }
    return 0;
}

std::string judged(const std::string& text, bool is_met) {
    return text + (is_met ? ": met" : ": missed");
}

std::string ratio_at_most(const Row& row, double most, const std::string& text) {
    return row.ratio ? judged("ratio \u2264 " + text, *row.ratio <= most) : std::string();
}

// A rank alone on its node, or several that share its cores.
bool is_alone(const Row& row) {
    return row.ranks == row.nodes;
}

}  // namespace

std::string target_text(const Row& row) {
    if (row.experiment != "net") return {};
    const std::string_view name = row.name;
    constexpr std::uint64_t long_bytes = 64ULL * 1024;
    if ((name == "put" || name == "get") && is_alone(row)) return ratio_at_most(row, 1.25, "1.25");
    if (name == "third-party copy" && row.bytes == 8) return ratio_at_most(row, 2.6, "2.6");
    if (name == "third-party copy" && row.bytes >= long_bytes)
        return ratio_at_most(row, 0.6, "0.6");
    if (const double share = extra_of(row, "of_bare_and_cipher"); share > 0) {
        return judged("0.85 of bare and cipher", share >= 0.85);
    }
    if (const double rate = extra_of(row, "M/s"); rate > 0 && is_alone(row)) {
        return judged("10 M/s", rate >= 10);
    }
    if (name == "all ranks copy 1 KiB" && !is_alone(row)) {
        const bool is_met = row.latency_us.median <= 40 && row.latency_us.p99 <= 200 &&
                            extra_of(row, "slowest_of_fastest") >= 0.8;
        return judged("40 \u00b5s, p99 200 \u00b5s, slowest 0.8 of fastest", is_met);
    }
    if (name == "copy 1 KiB to a rank that computes") {
        return judged("40 \u00b5s", row.latency_us.median <= 40);
    }
    return {};
}

}  // namespace acp::bench
