// SPDX-License-Identifier: BSD-3-Clause
// The processes of the job that are gone (dead, or lost with their node) and that a call of this
// process has reported to the program: each end is reported once. One thread at a time.
// Tests: tests/unit/node/gone_reports_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "node/loss.hpp"
#include "node/segment.hpp"

namespace acp::node {

class GoneReports {
public:
    //   segment  must outlive this
    explicit GoneReports(const Segment& segment) noexcept : segment_(segment) {}

    // Allocates memory for all processes. Called before note(). Throws std::bad_alloc.
    void reserve() { reported_.resize(segment_.shape().procs); }

    // Whether memory was allocated: only calls that find a process gone do so.
    [[nodiscard]] bool is_reserved() const noexcept { return !reported_.empty(); }

    // The first process from `first` on that is gone and not noted; nullopt: there is none.
    [[nodiscard]] std::optional<std::uint32_t> find_new(std::uint32_t first = 0) const noexcept {
        for (std::uint32_t process = first; process < segment_.shape().procs; ++process) {
            if (!has(process) && is_gone(segment_, process)) return process;
        }
        return std::nullopt;
    }

    void note(std::uint32_t process) noexcept { reported_[process] = true; }

    // Whether a process is noted.
    [[nodiscard]] bool has(std::uint32_t process) const noexcept {
        return process < reported_.size() && reported_[process];
    }

    // The number of processes that are noted.
    [[nodiscard]] std::uint32_t count() const noexcept {
        std::uint32_t noted = 0;
        for (const bool is_noted : reported_) noted += is_noted ? 1 : 0;
        return noted;
    }

private:
    const Segment& segment_;
    std::vector<bool> reported_;  // by process; empty: none is noted
};

}  // namespace acp::node
