// SPDX-License-Identifier: BSD-3-Clause
// Tells the user how far the start of a job has come: which nodes have answered. On a terminal it
// keeps one line up to date and removes it in the end; in a file or a pipe it says one line when
// the start takes long. In both it names the nodes that are missing when that lasts as long as
// ACP_HANG_TIMEOUT. It decides nothing about the job, and takes the time as an argument. Main
// thread.
#pragma once

#include <cstdint>
#include <string>

#include "os/clock.hpp"
#include "os/poll_set.hpp"

namespace acp::run {

class StartProgress {
public:
    static constexpr std::uint64_t first_shown_ns = 1'000'000'000;
    static constexpr std::uint64_t shown_again_ns = 100'000'000;
    static constexpr std::uint64_t first_said_ns = 5'000'000'000;

    struct Settings {
        std::uint32_t nodes = 1;
        bool is_terminal = false;
        bool is_quiet = false;              // acprun -q: prints no progress
        std::uint64_t hang_timeout_ns = 0;  // 0: never
    };

    void begin(const Settings& settings, std::uint64_t now_ns) noexcept;

    // Whether look() may print a line now.
    [[nodiscard]] bool is_due(std::uint64_t now_ns) const noexcept { return now_ns >= due_ns_; }

    // When look() must be called; poll_forever before begin() and after end().
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return due_ns_; }

    // Prints the line that is due, if any.
    //   started  nodes whose agents were started
    //   ready    nodes that have answered, of `started`
    //   missing  names of the nodes that were started and have not answered
    void look(std::uint64_t now_ns,
              std::uint32_t started,
              std::uint32_t ready,
              const std::string& missing);

    // Removes the line from the terminal, so that others can be printed; the next look() shows it
    // again.
    void clear() noexcept;

    // Removes the line and prints no further one: all nodes are ready, or the start has failed.
    void end() noexcept;

private:
    void settle_due(std::uint64_t now_ns) noexcept;

    Settings settings_;
    std::uint64_t begin_ns_ = 0;
    std::uint64_t due_ns_ = os::poll_forever;
    bool is_shown_ = false;  // the terminal's last line is ours
    bool has_said_ = false;
    bool has_warned_ = false;
};

}  // namespace acp::run
