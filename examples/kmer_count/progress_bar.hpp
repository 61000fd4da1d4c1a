// SPDX-License-Identifier: BSD-3-Clause
// A progress bar on stderr, for a terminal only. A thread of its own redraws it ten times a second from a
// counter that other ranks add to, so it moves while the main thread waits. Makes no ACP call.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace kmer {

// The columns of the terminal that stderr leads to, 0 when to none: acprun tells in ACP_TERMINAL, for a
// rank's own stderr is a pipe.
unsigned terminal_columns();

class ProgressBar {
public:
    // Draws until destroyed, then leaves an empty line.
    //   columns  of the terminal; with 0 nothing is drawn
    //   done     bytes read so far, added to by anybody with atomics
    //   total    bytes there are
    ProgressBar(unsigned columns, std::uint64_t& done, std::uint64_t total);

    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;
    ~ProgressBar();

private:
    void run(const std::stop_token& stop);
    [[nodiscard]] std::string draw() const;

    const unsigned columns_;
    std::uint64_t& done_;
    const std::uint64_t total_;
    const bool has_color_;
    std::mutex mutex_;
    std::condition_variable_any wakeup_;
    std::jthread thread_;  // last: it uses the members above
};

}  // namespace kmer
