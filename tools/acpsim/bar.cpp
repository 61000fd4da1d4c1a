// SPDX-License-Identifier: BSD-3-Clause
// Draws the bar, ten times a second at most. Main thread only.
#include "bar.hpp"

#include <cstdio>
#include <unistd.h>
#include <utility>

namespace acp::sim_tool {

namespace {

constexpr std::uint64_t columns = 40;
constexpr auto pause_between = std::chrono::milliseconds(100);

}  // namespace

Bar::Bar(std::string title, bool is_wanted)
    : title_(std::move(title)), is_shown_(is_wanted && ::isatty(STDERR_FILENO) == 1) {}

Bar::~Bar() {
    if (is_shown_) std::fputs("\r\033[K", stderr);
}

void Bar::show(std::uint64_t done, std::uint64_t all, const std::string& note) {
    const auto now = std::chrono::steady_clock::now();
    if (!is_shown_ || now - last_ < pause_between) return;
    last_ = now;
    const std::uint64_t filled = all == 0 ? 0 : done * columns / all;
    std::string bar(filled, '#');
    bar.resize(columns, '.');
    std::fprintf(stderr, "\r\033[K%s [%s] %3llu %%  %s", title_.c_str(), bar.c_str(),
                 static_cast<unsigned long long>(all == 0 ? 0 : done * 100 / all), note.c_str());
}

}  // namespace acp::sim_tool
