// SPDX-License-Identifier: BSD-3-Clause
// The life of the library in one process: a state, the steps between states, and the message why a
// call cannot be made in a state. docs/life.md is the table of states and events. Knows neither
// ranks nor memory. Threads that make collective calls take steps; any thread may read the state.
// Tests: tests/unit/api/life_test.cpp, tests/life.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"

namespace acp::api {

enum class LifeState : std::uint32_t {
    not_initialised,  // no acp_init yet, or the last one failed
    joining,          // inside acp_init
    in_use,           // calls may be made
    meeting,          // inside acp_sync: other threads' calls may be made all the same
    resetting,        // inside acp_reset
    leaving,          // inside acp_finalize
    over,             // after acp_finalize
    given_up,  // acp_reset failed when the old epoch was over: acp_finalize and acp_init are left
    forked,    // a forked child of a process that had joined
};

inline constexpr std::uint32_t life_state_count = 9;

enum class Step : std::uint32_t {
    join,         // acp_init begins
    joined,       // it succeeded
    refuse,       // it failed
    synchronize,  // acp_sync begins
    reset,        // acp_reset begins
    go_on,        // acp_sync or acp_reset ends, or acp_finalize is refused, and calls may be made
    give_up,      // acp_reset fails with nothing left to go back to
    leave,        // acp_finalize begins
    left,         // it ends
    fork,         // this process is a forked child
};

inline constexpr std::uint32_t step_count = 10;

inline constexpr std::size_t reason_bytes_max = 400;  // including the 0 at the end

using ReasonText = std::array<char, reason_bytes_max>;

class Life {
public:
    constexpr Life() noexcept = default;

    [[nodiscard]] LifeState state() const noexcept {
        return state_.load(std::memory_order_acquire);  // partner: take()
    }

    // Whether calls may be made.
    [[nodiscard]] bool is_usable() const noexcept {
        const LifeState now = state();
        return now == LifeState::in_use || now == LifeState::meeting;
    }

    // Takes a step. false, and nothing is changed, when none leads from the present state.
    bool take(Step step) noexcept;

    // Step::synchronize, and Step::go_on by the same thread: like take(), without a search, since a
    // barrier on a node takes less than 100 ns. While a thread is in a meeting, no other one can
    // take a step, so a store ends it. In a child that a signal handler of that thread forked
    // during the meeting, nothing changes.
    [[nodiscard]] bool begin_meeting() noexcept {
        LifeState now = LifeState::in_use;
        // acq_rel: see take()
        return state_.compare_exchange_strong(now, LifeState::meeting, std::memory_order_acq_rel,
                                              std::memory_order_relaxed);
    }

    void end_meeting() noexcept {
        if (state_.load(std::memory_order_relaxed) == LifeState::meeting) {
            state_.store(LifeState::in_use, std::memory_order_release);
        }
    }

    // Keeps the reason for the failures of later calls, before refuse or give_up is taken. Only by
    // the thread that took join or reset.
    void set_reason(base::Code code, std::string_view text) noexcept;

    // The message of the last failed acp_init or acp_reset. Only in a state that such a failure led
    // to. Any thread; during a new failure the old and the new message may be mixed.
    [[nodiscard]] ReasonText reason() const noexcept;

    [[nodiscard]] base::Code reason_code() const noexcept {
        return reason_code_.load(std::memory_order_relaxed);
    }

    // Why a call cannot be made in the present state. Allocates nothing.
    //   by    who calls, " by rank 2 on host"; "" if there is no memory for that
    //   into  at least 128 bytes; gets a text that ends with 0
    // Returns its code: state, forked, or that of the reset that failed.
    base::Code explain(const char* call, const char* by, std::span<char> into) const noexcept;

private:
    std::atomic<LifeState> state_{LifeState::not_initialised};
    // Written before the step that publishes them; atomic, for others may read while the next
    // failure is written.
    std::atomic<base::Code> reason_code_{base::Code::ok};
    std::array<std::atomic<char>, reason_bytes_max> reason_{};
};

// For messages and tests; static text.
[[nodiscard]] const char* name_of(LifeState state) noexcept;

}  // namespace acp::api
