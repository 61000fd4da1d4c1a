// SPDX-License-Identifier: BSD-3-Clause
// The papers' figures. Constants; any thread.
#include "paper.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t smallest_bytes = 4;
constexpr std::uint64_t largest_bytes = 4 << 20;
constexpr std::uint64_t local_bandwidth_bytes = 512 << 10;

constexpr Paper000 figures[] = {
    {"remote-to-remote", "old", 43, 140, "figure 1", "figure 2"},
    {"remote-to-remote", "new", 26, 450, "figure 1", "figure 2"},
    {"remote-to-local", "old", 13, 190, "figure 3", "figure 4"},
    {"remote-to-local", "new", 5, 620, "figure 3", "figure 4"},
    {"local-to-remote", "old", 14, 180, "figure 5", "figure 6"},
    {"local-to-remote", "new", 6, 590, "figure 5", "figure 6"},
    {"local-to-local", "old", 1.3, 9000, "figure 7", "figure 8"},
    {"local-to-local", "new", 4.9, 7300, "figure 7", "figure 8"},
    {"local-to-local", "new+bypass", 0.5, 8900, "figure 7", "figure 8"},
};

struct Paper001 {
    std::string_view experiment;
    std::string_view name;
    std::uint64_t bytes;
    double value;
    std::string_view unit;
    std::string_view source;
};

constexpr Paper001 messages_and_copies[] = {
    {"message", "to and fro, PM", 8, 8, "us", "half of 16 us"},
    {"message", "one way, PM", 8192, 297, "MB/s", "section 4.2"},
    {"rma", "write", 1 << 20, 469, "MB/s", "section 4.3"},
    {"rma", "read", 1 << 20, 185, "MB/s", "section 4.3"},
    {"rma", "read, one at a time", 4096, 101, "MB/s", "firmware PULL"},
    {"dsm", "fault, peer waiting", 4096, 101, "MB/s", "firmware PULL"},
    {"dsm", "prefetch of 16 pages", 65536, 328, "MB/s", "hardware PULL"},
};

struct Paper002 {
    std::string_view call;
    bool is_remote;
    double us;
};

constexpr Paper002 allocations[] = {
    {"malloc", false, 13},
    {"malloc", true, 413},
    {"free", false, 137},
    {"free", true, 4771},
};

constexpr std::uint32_t largest_grid = 872;

struct Paper003 {
    std::string_view pattern;
    std::string_view schedulers;  // separated by blanks
    double us;
    std::string_view figure;
};

constexpr Paper003 exchanges[] = {
    {"EW", "RR2 RR4 BL1 BL2 BL4", 72, "figure 4"},
    {"EW", "RR1", 126, "figure 4"},
    {"NS", "RR4", 64, "figure 6"},
    {"NS", "BL1 BL2 BL4", 74, "figure 6"},
    {"NS", "RR2", 108, "figure 6"},
    {"NS", "RR1", 130, "figure 6"},
    {"4", "BL1 BL2 BL4", 86, "figure 8"},
    {"4", "orig", 172, "figure 8"},
};

}  // namespace

std::optional<PaperFigure> paper_001_at(std::string_view experiment,
                                        std::string_view name,
                                        std::uint64_t bytes) {
    for (const Paper001& its : messages_and_copies) {
        if (its.experiment == experiment && its.name == name && its.bytes == bytes) {
            return PaperFigure{"paper 001, " + std::string(its.source), its.value,
                               std::string(its.unit)};
        }
    }
    return {};
}

std::optional<PaperFigure> paper_001_speedup(int nodes) {
    if (nodes != 2 && nodes != 4) return {};
    return PaperFigure{"paper 001, figure 5", nodes == 2 ? 1.32 : 2.57, "x"};
}

std::optional<PaperFigure> paper_002_at(std::string_view call, bool is_remote) {
    for (const Paper002& its : allocations) {
        if (its.call == call && its.is_remote == is_remote)
            return PaperFigure{"paper 002, figure 10", its.us, "us"};
    }
    return {};
}

std::optional<PaperFigure> paper_003_at(std::string_view pattern,
                                        std::string_view scheduler,
                                        std::uint32_t grid_size) {
    for (const Paper003& its : exchanges) {
        const bool is_it = its.pattern == pattern && grid_size == largest_grid &&
                           its.schedulers.find(scheduler) != std::string_view::npos;
        if (is_it) return PaperFigure{"paper 003, " + std::string(its.figure), its.us, "us"};
    }
    return {};
}

std::optional<PaperFigure> paper_004_at(std::string_view experiment, std::uint64_t bytes) {
    constexpr std::uint64_t longest = 100'000'000;
    const bool is_between = experiment == "ipc-hd" || experiment == "ipc-dh";
    if (!is_between || bytes != longest) return {};
    return PaperFigure{"paper 004, section 4.2 (at most)", 500, "MB/s"};
}

std::span<const Paper000> paper_000() {
    return figures;
}

const Paper000* paper_000_for(std::string_view direction, std::string_view mode) {
    for (const Paper000& figure : figures) {
        if (figure.direction == direction && figure.mode == mode) return &figure;
    }
    return nullptr;
}

std::optional<PaperFigure> paper_000_at(std::string_view direction,
                                        std::string_view mode,
                                        std::uint64_t bytes) {
    const Paper000* figure = paper_000_for(direction, mode);
    if (figure == nullptr) return {};
    const std::string source = "paper 000, ";
    if (bytes == smallest_bytes) {
        return PaperFigure{source + std::string(figure->latency_figure), figure->latency_us, "us"};
    }
    if (bytes == (direction == "local-to-local" ? local_bandwidth_bytes : largest_bytes)) {
        return PaperFigure{source + std::string(figure->bandwidth_figure),
                           figure->bandwidth_mb_per_s, "MB/s"};
    }
    return {};
}

}  // namespace acp::bench
