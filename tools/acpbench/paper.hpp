// SPDX-License-Identifier: BSD-3-Clause
// What the papers report, as data: for rows and for the report page. Read off their text, on their
// machines (paper 000: two Xeon E5520, 2.27 GHz). Constants; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "row.hpp"

namespace acp::bench {

// Paper 000, section 4: one direction under one implementation.
struct Paper000 {
    std::string_view direction;
    std::string_view mode;      // as Row::mode: "old", "new", "new+bypass"
    double latency_us;          // small messages
    double bandwidth_mb_per_s;  // large messages; local-to-local at 512 KiB
    std::string_view latency_figure;
    std::string_view bandwidth_figure;
};

[[nodiscard]] std::span<const Paper000> paper_000();

// nullptr when the paper has no such measurement.
[[nodiscard]] const Paper000* paper_000_for(std::string_view direction, std::string_view mode);

// The figure to print beside a copy of that size: the latency at the smallest size the paper used,
// the bandwidth where it reports it, else nothing.
[[nodiscard]] std::optional<PaperFigure> paper_000_at(std::string_view direction,
                                                      std::string_view mode,
                                                      std::uint64_t bytes);

// The figure of paper 001 for a row of the experiments message (PM messages), rma and dsm; else
// nothing. Its machine: Pentium III 933 MHz, RHiNET-2. A round trip's half where the row is half a
// round trip.
[[nodiscard]] std::optional<PaperFigure> paper_001_at(std::string_view experiment,
                                                      std::string_view name,
                                                      std::uint64_t bytes);

// The speedup of LAPLACE on shared pages over one process that paper 001 states for 2 and 4 nodes,
// unit "x"; else nothing.
[[nodiscard]] std::optional<PaperFigure> paper_001_speedup(int nodes);

// The mean time of one call that paper 002 states for acp_malloc ("malloc") and acp_free ("free")
// of 1024 blocks, on the own rank or on another node; else nothing.
[[nodiscard]] std::optional<PaperFigure> paper_002_at(std::string_view call, bool is_remote);

// The time that paper 003 states for one of its patterns ("EW", "NS", "4", "DG", "8") under a
// scheduler ("RR4", "BL4", "orig") on its largest grid; what it states as a ratio, in us; else
// nothing.
[[nodiscard]] std::optional<PaperFigure> paper_003_at(std::string_view pattern,
                                                      std::string_view scheduler,
                                                      std::uint32_t grid_size);

// The bandwidth that paper 004 states as the most for messages between its host and its vector
// engine by what the system offers, for the longest ones of the experiments ipc-hd and ipc-dh; else
// nothing.
[[nodiscard]] std::optional<PaperFigure> paper_004_at(std::string_view experiment,
                                                      std::uint64_t bytes);

}  // namespace acp::bench
