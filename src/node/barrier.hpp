// SPDX-License-Identifier: BSD-3-Clause
// The barrier of a node. Every process increments an arrival counter; the last one publishes the
// barrier's number on a release word that the others await, so no process sleeps more than once per
// barrier. The counter only grows (modulo 2^32) and is never reset. With few processes it shares a
// cache line with the release word, which the last arriver then has in its cache when it publishes;
// with many, waiting processes must not disturb arriving ones.
// A death makes this and every later barrier fail on all processes, except a barrier at which all
// had arrived; a stopped process only delays it. A process that gives a barrier up after a death
// takes its arrival back in one step with the check that not all have arrived, so no process
// becomes the last one afterwards: on a node a barrier fails on all processes or on none. If all
// have arrived, each process that notices the death publishes the number, because the last arriver
// may be the dead one. Between nodes a node has arrived when its last process has notified the
// gateway.
// In a job of several nodes the last arriver of a node asks a gateway to start a meeting with the
// other nodes, and that gateway publishes the number: the agent's (node/gateway_port.hpp) or, where
// possible, this process's own (node/own_meetings.hpp).
// One thread of a process at a time, which api/life.hpp ensures.
// Tests: tests/unit/node/member_test.cpp. Source: experiments recorded in ADR 0004.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "node/awaited.hpp"
#include "node/own_meetings.hpp"
#include "node/segment.hpp"
#include "node/wait.hpp"

namespace acp::node {

// Work that a thread does for its process while it waits in a barrier: progress on commands, and
// carrying them to other nodes if the process does that itself.
class Helper {
public:
    Helper() = default;
    virtual ~Helper() = default;
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;

    // The caller begins to wait, and polls until it calls rest() or leave().
    virtual void enter() = 0;

    // Makes progress. True when something was done. Any thread: work that another thread is doing
    // at this moment is skipped.
    virtual bool poll() = 0;

    // The caller is about to sleep. Returns for how many nanoseconds it may sleep before it must
    // poll again; for_ever: other threads make progress.
    virtual std::int64_t rest() = 0;

    // The wait is over.
    virtual void leave() = 0;
};

class Barrier {
public:
    // Up to this number of processes the counter shares the release word's cache line.
    static constexpr std::uint32_t few = 8;

    // The arrival counter of a node.
    [[nodiscard]] static SharedU32& arrivals(const Segment& segment) noexcept;

    //   segment, waiter  must outlive the barrier
    Barrier(const Segment& segment, std::uint32_t slot, Waiter& waiter) noexcept;

    // Sets the helper that waits poll; nullptr, as at first: none. It must outlive the barrier's
    // waits.
    void set_helper(Helper* helper) noexcept { helper_ = helper; }

    // Selects, alike on all ranks, the carrier of the following meetings to other nodes: these own
    // meetings, or with nullptr, as at first, the agent. They must outlive the meetings.
    void set_own_meetings(OwnMeetings* meetings) noexcept {
        own_meetings_ = meetings;
        has_awaited_news_ = false;
    }

    [[nodiscard]] bool has_own_meetings() const noexcept { return own_meetings_ != nullptr; }

    // Sets the number of the collective call on whose behalf the next waits are: own meetings compare
    // the numbers of all ranks.
    void set_call(std::uint32_t call) noexcept { call_ = call; }

    // Waits for all processes of the job. Release and acquire among all of them.
    //   gathers  what the nodes exchange in a job of several; nothing with own meetings
    // Errors: peer, naming the dead; with own meetings state (ranks have made different calls).
    // Blocks.
    base::Status wait(Gathers gathers = Gathers::nothing);

    // The number of the next meeting: equal on all processes of the node that have arrived at as
    // many.
    [[nodiscard]] std::uint32_t next_number() const noexcept { return number_ + 1; }

private:
    void arrive_last(Gathers gathers) noexcept;
    [[nodiscard]] bool has_come_or_withdraws(std::uint32_t all) noexcept;
    void end_after_death(std::uint32_t number, std::uint32_t all) noexcept;
    void await_late_end(std::uint32_t number) noexcept;
    [[nodiscard]] base::Status blocked_by_death() const;
    [[nodiscard]] base::Status outcome(bool is_released);
    void await_news() const noexcept;

    // Whether no meeting can complete from now on.
    [[nodiscard]] bool is_blocked() const noexcept {
        // seq_cst: after the announcement of a sleep; partner: mark_dead
        return segment_.control().deaths.load(std::memory_order_seq_cst) != 0 ||
               (own_meetings_ != nullptr && own_meetings_->has_failed());
    }

    const Segment& segment_;
    Waiter& waiter_;
    SharedU32& arrived_;
    std::uint32_t slot_;
    Helper* helper_ = nullptr;
    OwnMeetings* own_meetings_ = nullptr;
    bool has_awaited_news_ = false;
    std::uint32_t call_ = OwnMeetings::no_call;
    std::uint32_t number_;  // number of the last barrier at which this process arrived
};

// Sets the call for the waits of a scope. Used by the thread that makes collective calls.
class BarrierCall {
public:
    BarrierCall(Barrier& barrier, std::uint32_t call) noexcept : barrier_(barrier) {
        barrier_.set_call(call);
    }

    ~BarrierCall() { barrier_.set_call(OwnMeetings::no_call); }

    BarrierCall(const BarrierCall&) = delete;
    BarrierCall& operator=(const BarrierCall&) = delete;

private:
    Barrier& barrier_;
};

}  // namespace acp::node
