// SPDX-License-Identifier: BSD-3-Clause
// Notices that all ranks that still run on this node are stopped, by a signal or a debugger: then
// they may be all that keeps the job alive. Two looks in a row must find the same ranks, so that a
// rank which is stopped for a moment is not reported. Reports the ranks after each look as long as
// they are stopped, and once that they are not: acprun needs to know what is so now. One thread.
// Tests: tests/tools/acprun_stopped_test.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/poll_set.hpp"

namespace acp::agent {

class StopWatch {
public:
    static constexpr std::uint64_t look_every_ns = 2'500'000'000;
    static constexpr const char* none = "none";

    // Starts watching, or starts again.
    void start(std::uint64_t now_ns) noexcept { deadline_ns_ = now_ns + look_every_ns; }

    // Stops watching, until start().
    void pause() noexcept { deadline_ns_ = os::poll_forever; }

    // When note() is due; poll_forever where nothing is watched.
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }

    // Takes what a look found, and returns what is to be reported.
    //   stopped  the ranks that run, "1,4-5", if all of them are stopped; else `none`
    [[nodiscard]] std::optional<std::string> note(std::string stopped, std::uint64_t now_ns) {
        start(now_ns);
        const bool is_told = stopped == none ? told_ != none : stopped == found_;
        found_ = std::move(stopped);
        if (!is_told) return std::nullopt;
        told_ = found_;
        return told_;
    }

private:
    std::uint64_t deadline_ns_ = os::poll_forever;
    std::string found_ = none;
    std::string told_ = none;
};

}  // namespace acp::agent
