// SPDX-License-Identifier: BSD-3-Clause
// Collects the verdict of a run: the first violation, a hash over all events (two runs of one seed
// must have the same), and on request the story, a log line per event. Knows no rule itself. One
// run, one thread.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "base/random.hpp"
#include "datagram/endpoint.hpp"

namespace acp::sim {

using datagram::NodeId;
using datagram::Time;

inline constexpr Time us = 1'000;
inline constexpr Time ms = 1'000'000;
inline constexpr Time s = 1'000'000'000;

class Judge {
public:
    //   story  the file for the story; nullptr: none
    explicit Judge(std::FILE* story = nullptr) noexcept : story_(story) {}

    void set_now(Time now) noexcept { now_ = now; }

    [[nodiscard]] Time now() const noexcept { return now_; }

    // Reports a violation. Only the first one is kept.
    void fail(const std::string& what) {
        if (!violation_.empty()) return;
        char at[32];
        std::snprintf(at, sizeof at, "%.6f s: ", static_cast<double>(now_) / 1e9);
        violation_ = at + what;
        tell("VIOLATION %s", what.c_str());
    }

    [[nodiscard]] bool has_failed() const noexcept { return !violation_.empty(); }

    [[nodiscard]] const std::string& violation() const noexcept { return violation_; }

    // Adds a word to the hash of the run.
    void note(std::uint64_t word) noexcept { hash_ = base::mix64(hash_ ^ word); }

    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

    [[nodiscard]] bool is_telling() const noexcept { return story_ != nullptr; }

    // Writes one line of the story, after the virtual time in seconds.
    [[gnu::format(printf, 2, 3)]] void tell(const char* format, ...) noexcept {
        if (story_ == nullptr) return;
        std::fprintf(story_, "%14.6f  ", static_cast<double>(now_) / 1e9);
        std::va_list arguments;
        va_start(arguments, format);
        std::vfprintf(story_, format, arguments);
        va_end(arguments);
        std::fputc('\n', story_);
    }

private:
    std::FILE* story_;
    Time now_ = 0;
    std::uint64_t hash_ = 0;
    std::string violation_;
};

}  // namespace acp::sim
