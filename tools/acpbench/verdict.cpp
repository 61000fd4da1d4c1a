// SPDX-License-Identifier: BSD-3-Clause
// What can be true, what was set out to be reached, and the verdict of both. Pure; any thread.
#include "verdict.hpp"

#include <cstdio>
#include <optional>
#include <string_view>

#include "number.hpp"

namespace acp::bench {

namespace {

// A yardstick and the least share of its time that can be true.
struct Credible {
    std::string_view yardstick;
    double least;
};

constexpr double contained = 0.8;  // the row's operation contains the yardstick's

constexpr Credible credible[] = {
    {"bare UDP round trip", contained},
    {"half a bare UDP round trip", contained},
    {"bare UDP, the same bytes", contained},
    {"bare GSO+GRO stream", contained},
    {"process_vm_readv", contained},
    {"process_vm_writev", contained},
    {"the CPU's instruction", contained},
    {"the delay itself", 0.95},
    // A copy of the same bytes may use faster instructions than memcpy.
    {"memcpy", 0.5},
    // A barrier of two: each rank's word travels to the other, both at the same time.
    {"cache-line round trip", 0.4},
    {"half a cache-line round trip", contained},
    // One crossing where the yardstick has two, and one call of the kernel where it has two.
    {"get, then put", 0.25},
    {"process_vm_readv+writev", 0.25},
};

bool is_rate(const std::string& unit) {
    return unit == "MB/s" || unit == "M/s";
}

// The share of the yardstick's time that the row takes.
std::optional<double> time_ratio(const Row& row) {
    if (!row.yardstick || !row.ratio) return {};
    if (!is_rate(row.yardstick->unit)) return *row.ratio;
    if (*row.ratio <= 0) return {};
    return 1 / *row.ratio;
}

// Test / yardstick of what the row shows; nothing where its ratio is made of something else.
std::optional<double> shown_ratio(const Row& row) {
    if (!row.yardstick || row.yardstick->value <= 0) return {};
    const std::string& experiment = row.experiment;
    if (experiment != "copy" && experiment != "net" && experiment != "net-sizes" &&
        experiment != "sync")
        return {};
    if (row.yardstick->unit == "MB/s") return row.bandwidth_mb_per_s / row.yardstick->value;
    const double time = experiment == "sync" ? row.latency_us.mean : row.latency_us.median;
    return time / row.yardstick->value;
}

bool are_apart(double a, double b) {
    return a > b * ratios_apart_max || b > a * ratios_apart_max;
}

std::string why_disturbed(const Row& row) {
    if (row.name.starts_with("stream of ") && !row.yardstick)
        return "nothing of its yardstick's bare stream was counted in time";
    if (row.distance == Distance::shared && row.yardstick &&
        row.yardstick->name.ends_with("cache-line round trip"))
        return "the two processes of its yardstick took turns on one core";
    char text[160];
    constexpr double least_cpu_share = 0.9;
    const double share = extra_of(row, "ranks_per_cpu") > 1 ? 0 : extra_of(row, "cpu_share");
    if (share > 0 && share < least_cpu_share) {
        std::snprintf(text, sizeof text,
                      "other programs used the CPUs: a rank that computed had %.0f %% of one",
                      100 * share);
        return text;
    }
    const std::optional<double> ratio = time_ratio(row);
    if (!ratio) return {};
    if (const double least = least_credible(row); *ratio < least) {
        std::snprintf(text, sizeof text,
                      "ACP took %.2g of the time of its yardstick, which is a part of it", *ratio);
        return text;
    }
    if (const auto shown = shown_ratio(row); shown && are_apart(*shown, *row.ratio)) {
        std::snprintf(text, sizeof text, "the ratio is %.2g turn by turn, but %.2g of the medians",
                      *row.ratio, *shown);
        return text;
    }
    return {};
}

struct Target {
    std::string text;
    bool is_reached = false;
};

std::optional<Target> ratio_at_most(const Row& row, double most, const char* text) {
    if (!row.ratio) return {};
    return Target{std::string("ratio \u2264 ") + text, *row.ratio <= most};
}

// A rank alone on its node, not one of several that share its cores.
bool is_alone(const Row& row) {
    return row.ranks == row.nodes;
}

// Of the exchanges of two ranks on a node, by grid; and of what is hidden behind a computation
// where each node has a core more than ranks that compute.
std::optional<Target> halo_target_of(const Row& row) {
    if (const double hidden = extra_of(row, "hidden"); hidden != 0) {
        const bool has_cores = extra_of(row, "cores") >= extra_of(row, "computing") + row.nodes;
        if (row.nodes == 1 || !has_cores) return {};
        return Target{"0.95 hidden", hidden >= 0.95};
    }
    if (row.ranks != 2 || row.nodes != 1) return {};
    if (extra_of(row, "k") == 60) return Target{"3 \u00b5s", row.latency_us.median <= 3};
    if (extra_of(row, "k") == 872) return Target{"25 \u00b5s", row.latency_us.median <= 25};
    return {};
}

// Messages of one cache line and of a page beside two bare copies, long ones beside memcpy, and
// reads beside writes. The ratio is of times below 4 KiB.
std::optional<Target> message_target_of(const Row& row) {
    constexpr double reads_of_writes = 0.9;
    constexpr std::uint64_t one_page_bytes = 4096;
    constexpr std::uint64_t mega_bytes = 1 << 20;
    if (row.name == "read" && row.ratio) {
        const double share = is_rate(row.yardstick->unit) ? *row.ratio : 1 / *row.ratio;
        return Target{"0.9 of the writes", share >= reads_of_writes};
    }
    constexpr std::uint64_t long_write_bytes_min = 64ULL * 1024;
    if (row.name == "write" && row.nodes == 1 && row.bytes >= long_write_bytes_min && row.ratio)
        return Target{"0.9 of the path", *row.ratio >= 0.9};
    if (row.name == "stream of writes" && row.ratio) {
        const double share = extra_of(row, "of_bare_and_cipher");
        return Target{"0.9 of the path", (share > 0 ? share : *row.ratio) >= 0.9};
    }
    // Two ranks that take turns on one core show how they wait, and not what a message costs.
    const bool has_cores = row.nodes == 1 && row.distance != Distance::shared;
    if (!has_cores || !row.ratio) return {};
    if (row.name == "one way" && row.bytes == small_bytes)
        return Target{"100 M/s", extra_of(row, "M/s") >= 100};
    if (row.name == "to and fro, mapped" && row.bytes == 4 * mega_bytes)
        return Target{"ratio \u2265 1.5", *row.ratio >= 1.5};
    if (row.name == "to and fro" && row.bytes == mega_bytes)
        return Target{"ratio \u2265 1", *row.ratio >= 1};
    if (row.name != "to and fro" && row.name != "to and fro, PM") return {};
    if (row.bytes == small_bytes) return ratio_at_most(row, 1.3, "1.3");
    if (row.bytes == one_page_bytes) return Target{"ratio \u2265 0.8", *row.ratio >= 0.8};
    return {};
}

// LAPLACE on shared pages: on a node as fast as without communication, between nodes a share of the speed
// of puts by hand. Ranks that share a CPU show how the scheduler divides it.
std::optional<Target> laplace_target_of(const Row& row) {
    if (extra_of(row, "ranks_per_cpu") > 1) return {};
    if (row.nodes == 1 && row.name == "shared pages") return ratio_at_most(row, 1 / 0.97, "1.03");
    if (row.nodes == 1) return {};
    const double share = extra_of(row, "of_by_hand");
    if (row.name == "shared pages") return Target{"0.5 of by hand", share >= 0.5};
    if (row.name == "shared pages, learned") return Target{"0.9 of by hand", share >= 0.9};
    if (row.name == "shared pages, flush hints") return Target{"0.95 of by hand", share >= 0.95};
    return {};
}

// Rows that name their own target: the ratio, or another figure, is at most that.
std::optional<Target> own_target_of(const Row& row) {
    const double most = extra_of(row, "at_most");
    if (most <= 0 || !row.ratio) return {};
    return Target{"ratio \u2264 " + number(most, 2), *row.ratio <= most};
}

// What was set out to be reached between nodes, by exchanges and by messages; elsewhere nothing
// was.
std::optional<Target> target_of(const Row& row) {
    if (row.experiment == "message" || row.experiment == "rma") return message_target_of(row);
    if (row.experiment == "halo") return halo_target_of(row);
    if (row.experiment == "laplace") return laplace_target_of(row);
    if (row.experiment.starts_with("dsm")) return own_target_of(row);
    if (row.experiment == "heap-full" && row.name.starts_with("own rank"))
        return Target{"p99.9 50 \u00b5s of CPU", extra_of(row, "p99.9_cpu_us") <= 50};
    if (row.experiment != "net") return {};
    const std::string_view name = row.name;
    constexpr std::uint64_t long_copy_bytes_min = 64ULL * 1024;
    if ((name == "put" || name == "get") && is_alone(row)) return ratio_at_most(row, 1.25, "1.25");
    if (name == "third-party copy" && row.bytes == 8) return ratio_at_most(row, 2.6, "2.6");
    if (name == "third-party copy" && row.bytes >= long_copy_bytes_min)
        return ratio_at_most(row, 0.6, "0.6");
    if (const double share = extra_of(row, "of_bare_and_cipher"); share > 0)
        return Target{"0.85 of bare and cipher", share >= 0.85};
    if (const double rate = extra_of(row, "M/s"); rate > 0 && is_alone(row))
        return Target{"10 M/s", rate >= 10};
    if (name == "all ranks copy 1 KiB" && !is_alone(row)) {
        return Target{"40 \u00b5s, p99 200 \u00b5s, slowest 0.8 of fastest",
                      row.latency_us.median <= 40 && row.latency_us.p99 <= 200 &&
                          extra_of(row, "slowest_of_fastest") >= 0.8};
    }
    if (name == "copy 1 KiB to a rank that computes")
        return Target{"40 \u00b5s", row.latency_us.median <= 40};
    return {};
}

}  // namespace

double least_credible(const Row& row) {
    if (!row.yardstick) return 0;
    // The library may carry several streamed copies by one call; a yardstick is one call per copy.
    if (row.name.ends_with(" streamed") && row.yardstick->name != "memcpy") return 0;
    // Both ranks copy, and one core makes the yardstick.
    if (row.name.ends_with(", mapped")) return 0.25;
    for (const Credible& one : credible) {
        if (one.yardstick == row.yardstick->name) return one.least;
    }
    return 0;
}

Judgement judge(const Row& row) {
    const std::optional<Target> target = target_of(row);
    Judgement result;
    if (target) result.target = target->text;
    result.reason = why_disturbed(row);
    if (!result.reason.empty()) {
        result.verdict = Verdict::disturbed;
    } else if (target) {
        result.verdict = target->is_reached ? Verdict::met : Verdict::missed;
    }
    return result;
}

const char* name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::met:
            return "met";
        case Verdict::missed:
            return "missed";
        case Verdict::disturbed:
            return "disturbed";
        case Verdict::none:
            break;
    }
    return "";
}

Row measure_credibly(const std::function<Row()>& measure, int tries) {
    Row row = measure();
    int done = 1;
    while (done < tries && judge(row).verdict == Verdict::disturbed) {
        row = measure();
        ++done;
    }
    if (done > 1) row.extra.emplace_back("tries", done);
    return row;
}

}  // namespace acp::bench
