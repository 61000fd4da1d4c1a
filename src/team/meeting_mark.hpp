// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK: a word that each process has in its board of the team of all ranks. It says which call
// of all ranks (acp_sync, acp_finalize, acp_reset and kin) the process is in. A process that waits
// for another in a collective call on a team, or for a plan, reads that process's word: each of the
// two may be waiting for the other. The low bits of a word name the call, the high bits count the
// calls, and one bit between them says that the process may still take part in calls on teams: it
// has non-blocking calls in flight, or other threads of the program, which may make such calls at
// any time. Written by the thread that makes the call, read by any thread of any process of the
// job.
// Tests: tests/conformance/team_check_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/awaited.hpp"
#include "node/segment.hpp"
#include "team/board.hpp"

namespace acp::team {

// The content of the word.
class ShownMeeting {
public:
    explicit ShownMeeting(std::uint64_t word) noexcept : word_(word) {}

    [[nodiscard]] std::uint64_t word() const noexcept { return word_; }

    // The call; none: the process is in no such call.
    [[nodiscard]] node::AwaitedCall call() const noexcept {
        return static_cast<node::AwaitedCall>(word_ & call_mask);
    }

    // Whether a process that waits for the owner of this word, in a call on a team or for a plan,
    // waits in vain. So it is if the owner is in the last call of its epoch; or if the owner takes
    // part in no other call before this one ends, and the waiting process has no other thread that
    // could join this call.
    //   has_other_threads  of the waiting process
    [[nodiscard]] bool keeps_waiting(bool has_other_threads) const noexcept {
        if (call() == node::AwaitedCall::finalize || call() == node::AwaitedCall::reset) {
            return true;
        }
        return (word_ & going_on_bit) == 0 && !has_other_threads;
    }

    // The next word, when the process enters or leaves a call.
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

// The word of a process of this node; nullptr: the job has one process, which has no board.
[[nodiscard]] inline std::atomic<std::uint64_t>* meeting_word(const node::Segment& segment,
                                                              std::uint32_t slot) noexcept {
    if (segment.shape().claims.bytes(world_board) == 0) return nullptr;
    return &reinterpret_cast<BoardBlock*>(segment.claimed(slot, world_board))->meeting;
}

// Shows a call while it lives.
class MeetingMark {
public:
    //   word  of this process; must outlive this; nullptr: shows nothing
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
        // relaxed: only this thread writes it
        const ShownMeeting before(word_->load(std::memory_order_relaxed));
        // release: earlier publications on boards are visible before the word; partner:
        // MeetingWatch::look()
        word_->store(before.next(call, may_go_on).word(), std::memory_order_release);
    }

    std::atomic<std::uint64_t>* word_;
};

}  // namespace acp::team
