// SPDX-License-Identifier: BSD-3-Clause
// Drawing of the bar. See progress_bar.hpp.
#include "progress_bar.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

namespace kmer {

namespace {

constexpr unsigned columns_usual = 80;
constexpr std::chrono::milliseconds redraw_interval{100};
constexpr const char* erase_line = "\r\033[K";

bool color_is_wanted() {
    // https://no-color.org
    const char* no_color =
        std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
    return no_color == nullptr || *no_color == '\0';
}

}  // namespace

unsigned terminal_columns() {
    const char* text =
        std::getenv("ACP_TERMINAL");  // NOLINT(concurrency-mt-unsafe): nobody sets it
    if (text != nullptr) {
        unsigned columns = 0;
        std::from_chars(text, text + std::strlen(text), columns);
        return columns;
    }
    if (isatty(STDERR_FILENO) == 0) return 0;
    winsize size{};
    const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
    return is_known ? size.ws_col : columns_usual;
}

ProgressBar::ProgressBar(unsigned columns, std::uint64_t& done, std::uint64_t total)
    : columns_(columns),
      done_(done),
      total_(std::max<std::uint64_t>(total, 1)),
      has_color_(color_is_wanted()) {
    if (columns_ != 0) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

ProgressBar::~ProgressBar() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
    std::fputs(erase_line, stderr);
}

void ProgressBar::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    do {
        std::fputs(draw().c_str(), stderr);
    } while (!wakeup_.wait_for(lock, stop, redraw_interval, [&] { return stop.stop_requested(); }));
}

// "counting  57 % [===============>           ] of 4.6 MB", as wide as the terminal.
std::string ProgressBar::draw() const {
    // Relaxed: a number to look at, from which nothing else follows.
    const std::uint64_t done = std::atomic_ref(done_).load(std::memory_order_relaxed);
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    char before[32];
    char after[32];
    std::snprintf(before, sizeof before, "counting %3.0f %% ", 100 * part);
    std::snprintf(after, sizeof after, " of %.1f MB", static_cast<double>(total_) / 1e6);
    const std::size_t used = std::strlen(before) + std::strlen(after) + 3;  // brackets, last column
    std::string text = std::string(erase_line) + before;
    if (used < columns_) {
        const std::size_t width = columns_ - used;
        const auto filled = static_cast<std::size_t>(part * static_cast<double>(width));
        const std::string bar = std::string(filled, '=') + std::string(filled < width ? 1 : 0, '>');
        text += '[' + (has_color_ ? "\033[32m" + bar + "\033[0m" : bar) +
                std::string(width - bar.size(), ' ') + ']' + after;
    }
    return text;
}

}  // namespace kmer
