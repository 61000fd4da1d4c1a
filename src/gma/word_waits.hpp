// SPDX-License-Identifier: BSD-3-Clause
// Waits until a word of this process's memory satisfies a comparison with a value, whichever thread
// or process writes it. The waiting thread makes progress like every waiting thread, and sleeps on
// the bell of its process. Writers ring that bell when a thread sleeps for a word
// (node/word_sleepers.hpp), except plain stores and copies of the inline path; for these the
// sleeper naps and polls (gma/nap_pacer.hpp). Any thread. Reasons: ADR 0033. Tests:
// tests/unit/gma/word_waits_test.cpp, tests/conformance/wait_word_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "gma/gma.hpp"
#include "node/gone_reports.hpp"

namespace acp::gma {

struct AwaitedWord {
    const volatile void* place = nullptr;  // aligned to `bytes`, mapped as long as the wait lasts
    std::uint32_t bytes = 8;               // 1, 2, 4 or 8
    node::WordComparison comparison = node::WordComparison::equal;
    std::uint64_t value = 0;  // has `bytes` bytes; compared as an unsigned number

    // acquire: the writer's earlier writes are visible; partner: the writer's release
    [[nodiscard]] std::uint64_t load() const noexcept;

    [[nodiscard]] bool is_met() const noexcept;

    // "its word of 8 bytes at 0x7f03a040 is at least 3 (it held 2)"
    [[nodiscard]] std::string describe() const;
};

class WordWaits {
public:
    //   gma  outlives this. Throws std::bad_alloc.
    explicit WordWaits(Gma& gma);
    WordWaits(const WordWaits&) = delete;
    WordWaits& operator=(const WordWaits&) = delete;
    ~WordWaits() = default;

    // Called once, by a thread that has waited for long_wait_ns, with the description of the word.
    using LongWordWait = std::function<void(const std::string& word)>;
    static constexpr std::int64_t long_wait_ns = 2'000'000'000;

    //   timeout_ns      0: polls once; < 0: for ever
    //   tell_long_wait  nullptr: no call
    // Errors: timeout; interrupted (a signal handler ran while it waited); peer (a rank is gone
    // that no call of this process has reported: all calls in flight report it, or else the next
    // one does; the message names one of these ranks, and says how many others there are). The word has priority: a call that finds the comparison true returns ok.
    base::Status wait(const AwaitedWord& word,
                      std::int64_t timeout_ns,
                      const LongWordWait* tell_long_wait = nullptr);

private:
    class WordCondition;

    // Polls before signals are held back, which costs as much as a message between two ranks.
    static constexpr int looks_at_once = 64;
    // Loads of the word alone between two polls of everything else, so that a change is seen as
    // soon as by a loop of loads.
    static constexpr int looks_between = 8;

    [[nodiscard]] std::uint32_t count_gone() const noexcept;
    [[nodiscard]] bool looks_at_once_find(const AwaitedWord& word) const noexcept;
    node::Outcome wait_until(WordCondition& condition,
                             std::int64_t timeout_ns,
                             const LongWordWait* tell_long_wait);
    base::Status peer_gone(const AwaitedWord& word);
    std::string report_gone();

    Gma& gma_;
    const node::Segment& segment_;
    // True: the word changes only while this process polls its gateway, or the answer takes as
    // long.
    bool is_look_dear_;
    // The number of lost ranks that calls of this process have reported.
    std::atomic<std::uint32_t> gone_told_;
    std::mutex mutex_;  // guards the rest
    node::GoneReports reported_;
    // the process that the last report named; nullopt: the first that died
    std::optional<std::uint32_t> last_named_;
};

}  // namespace acp::gma
