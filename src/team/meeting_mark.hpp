// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK: a word that each process has in its board of the team of all ranks. It says whether the
// process is in a call of all ranks (acp_sync, acp_finalize and kin), whose name stands beside it. A
// process that waits for another in a collective call on a team, or for a plan, reads that process's
// word: each of the two may be waiting for the other. The high bits of a word count the calls. A bit
// says that the process may still take part in calls on teams: it has non-blocking calls in flight,
// or other threads of the program, which may make such calls at any time. Written by the thread that
// makes the call, read by any thread of any process of the job.
// Tests: tests/conformance/team_check_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/public_call.hpp"
#include "node/segment.hpp"
#include "team/board.hpp"

namespace acp::team {

// The content of the word.
class ShownMeeting {
public:
    explicit ShownMeeting(std::uint64_t word) noexcept : word_(word) {}

    [[nodiscard]] std::uint64_t word() const noexcept { return word_; }

    // Whether the process is in a call of all ranks.
    [[nodiscard]] bool is_in_call() const noexcept { return (word_ & in_call_bit) != 0; }

    // Whether a process that waits for the owner of this word, in a call on a team or for a plan,
    // waits in vain. So it is if the owner is in the last call of its epoch; or if the owner takes
    // part in no other call before this one ends, and the waiting process has no other thread that
    // could join this call.
    //   has_other_threads  of the waiting process
    [[nodiscard]] bool keeps_waiting(bool has_other_threads) const noexcept {
        return (word_ & last_bit) != 0 || ((word_ & going_on_bit) == 0 && !has_other_threads);
    }

    // The next word, when the process enters a call.
    //   is_last  the call ends the epoch
    [[nodiscard]] ShownMeeting enter(bool is_last, bool may_go_on) const noexcept {
        return ShownMeeting(next() | in_call_bit | (is_last ? last_bit : 0) |
                            (may_go_on ? going_on_bit : 0));
    }

    // The next word, when it leaves one.
    [[nodiscard]] ShownMeeting leave() const noexcept { return ShownMeeting(next()); }

private:
    static constexpr std::uint64_t in_call_bit = 1;
    static constexpr std::uint64_t last_bit = 2;
    static constexpr std::uint64_t going_on_bit = 4;
    static constexpr std::uint64_t number_step = 0x10000;

    [[nodiscard]] std::uint64_t next() const noexcept {
        return (word_ & ~(number_step - 1)) + number_step;
    }

    std::uint64_t word_;
};

// The place of a process of this node; nullptr: the job has one process, which has no board.
[[nodiscard]] inline BoardMeeting* meeting_place(const node::Segment& segment,
                                                 std::uint32_t slot) noexcept {
    if (segment.shape().claims.bytes(world_board) == 0) return nullptr;
    return &reinterpret_cast<BoardBlock*>(segment.claimed(slot, world_board))->meeting;
}

// Shows, while it lives, the call that the thread is in (node/public_call.hpp).
class MeetingMark {
public:
    //   place    of this process; must outlive this; nullptr: shows nothing
    //   is_last  the call ends the epoch
    MeetingMark(BoardMeeting* place, bool is_last, bool may_go_on) noexcept : place_(place) {
        if (place_ == nullptr) return;
        place_->call.store(node::PublicCall::name());
        show(shown().enter(is_last, may_go_on));
    }

    MeetingMark(const MeetingMark&) = delete;
    MeetingMark& operator=(const MeetingMark&) = delete;

    ~MeetingMark() {
        if (place_ != nullptr) show(shown().leave());
    }

private:
    // relaxed: only this thread writes it
    [[nodiscard]] ShownMeeting shown() const noexcept {
        return ShownMeeting(place_->word.load(std::memory_order_relaxed));
    }

    // release: earlier publications on boards, and the call's name, are visible before the word;
    // partner: MeetingWatch::look()
    void show(ShownMeeting meeting) noexcept {
        place_->word.store(meeting.word(), std::memory_order_release);
    }

    BoardMeeting* place_;
};

}  // namespace acp::team
