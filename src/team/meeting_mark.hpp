// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK: the call in which all ranks of the job meet (acp_sync, acp_finalize, acp_reset and kin) that a process is in, as a word which it
// shows in its board of the team of all ranks. Who waits for that process in a collective call on a team, or for a plan, looks at it: each of them
// may wait for the other. A word has the number of the call, which grows, above its name; what is in between says whether the process may take part
// in other calls meanwhile: it has some under way, or the program has other threads in it, which may make the calls, be it for the first time. Writing: the thread that makes the call. Reading: any thread of any process of the job.
// Tests: tests/conformance/team_check_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/awaited.hpp"
#include "node/segment.hpp"
#include "team/board.hpp"

namespace acp::team {

// What the word says.
class ShownMeeting {
public:
    explicit ShownMeeting(std::uint64_t word) noexcept : word_(word) {}

    [[nodiscard]] std::uint64_t word() const noexcept { return word_; }

    // none: it is in no such call.
    [[nodiscard]] node::AwaitedCall call() const noexcept {
        return static_cast<node::AwaitedCall>(word_ & call_mask);
    }

    // Whether a process that waits in a call on a team, or for a plan, for the one that shows this waits in vain: no such call of this epoch comes
    // after the meeting, or the one that shows this takes part in none before it, and the other one has no other thread which makes the meeting.
    //   has_other_threads  the process that waits
    [[nodiscard]] bool keeps_waiting(bool has_other_threads) const noexcept {
        if (call() == node::AwaitedCall::finalize || call() == node::AwaitedCall::reset) {
            return true;
        }
        return (word_ & going_on_bit) == 0 && !has_other_threads;
    }

    // The word that comes after this one, when the process makes another call.
    [[nodiscard]] ShownMeeting next(node::AwaitedCall call, bool may_go_on) const noexcept {
        const std::uint64_t number = (word_ & ~(number_step - 1)) + number_step;
        return ShownMeeting(number | (may_go_on ? going_on_bit : 0) |
                            static_cast<std::uint64_t>(call));
    }

private:
    static constexpr std::uint64_t call_mask = 0xff;
    static constexpr std::uint64_t going_on_bit = 0x100;
    static constexpr std::uint64_t number_step = 0x10000;

    std::uint64_t word_;
};

// The word of a process of this node; nullptr: the job has one process, and none has a board.
[[nodiscard]] inline std::atomic<std::uint64_t>* meeting_word(const node::Segment& segment,
                                                              std::uint32_t slot) noexcept {
    if (node::claim_bytes(node::Claim::world_board, segment.shape()) == 0) return nullptr;
    return &reinterpret_cast<BoardBlock*>(segment.claimed(slot, node::Claim::world_board))->meeting;
}

// Shows a call as long as it lives.
class MeetingMark {
public:
    //   word  of this process; outlives this; nullptr: shows nothing
    MeetingMark(std::atomic<std::uint64_t>* word, node::AwaitedCall call, bool may_go_on) noexcept
        : word_(word) {
        show(call, may_go_on);
    }

    MeetingMark(const MeetingMark&) = delete;
    MeetingMark& operator=(const MeetingMark&) = delete;

    ~MeetingMark() { show(node::AwaitedCall::none, false); }

private:
    void show(node::AwaitedCall call, bool may_go_on) noexcept {
        if (word_ == nullptr) return;
        // relaxed: this thread alone writes it
        const ShownMeeting before(word_->load(std::memory_order_relaxed));
        // release: what the process has published on boards comes before it; partner: MeetingWatch::look()
        word_->store(before.next(call, may_go_on).word(), std::memory_order_release);
    }

    std::atomic<std::uint64_t>* word_;
};

}  // namespace acp::team
