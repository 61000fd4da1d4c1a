// SPDX-License-Identifier: BSD-3-Clause
// The barrier of a node: every process adds one to an arrival counter; the last one publishes the barrier's
// number on a release word that the others await, so nobody sleeps more than once per barrier. The counter
// only grows (modulo 2^32) and is never reset. With few processes it lies beside the release word, which the
// last to arrive then has in its cache when it publishes; with many, who waits must not disturb who arrives.
// A process that dies makes this and every later barrier fail everywhere, but not one that all had come to; a stopped one
// delays it, as it must. Who gives a barrier up because of a death takes its arrival back in the step that sees that not all have come, so
// none is the last one afterwards: on a node it fails for all or for none. Where all have come, whoever hears of the death publishes the
// number, for the last one may be the one that died. Between nodes a node has come when its last one has told the gateway.
// In a job of several nodes the last to arrive on a node asks the node's gateway to meet the other nodes, and the
// gateway publishes the number: the agent's (node/gateway_port.hpp) or, where it can, that of this process
// (node/own_meetings.hpp).
// One thread of a process at a time, which api/life.hpp sees to.
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

// What else the process has to do while its thread waits: work that goes on, and carrying commands to other nodes, where it does so itself.
class Helper {
public:
    Helper() = default;
    virtual ~Helper() = default;
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;

    // The caller is about to wait, and polls until it rests or leaves.
    virtual void enter() = 0;

    // Makes progress. true when something moved. Any thread: what another one does just now is not done.
    virtual bool poll() = 0;

    // The caller is about to sleep: others see to what comes, or it is to sleep so long at most, in ns, and to poll again.
    virtual std::int64_t rest() = 0;

    // The wait is over.
    virtual void leave() = 0;
};

class Barrier {
public:
    // Up to so many processes arrive beside the release word.
    static constexpr std::uint32_t few = 8;

    // The arrival counter of a node.
    [[nodiscard]] static SharedU32& arrivals(const Segment& segment) noexcept;

    //   segment, waiter  must outlive the barrier
    Barrier(const Segment& segment, std::uint32_t slot, Waiter& waiter) noexcept;

    // What to poll while waiting. Must outlive the barrier's waits; nullptr, as at first: nothing.
    void set_helper(Helper* helper) noexcept { helper_ = helper; }

    // Who brings the following meetings to the other nodes, all ranks alike: these, or with nullptr, as at first, the
    // agent. Must outlive them.
    void set_own_meetings(OwnMeetings* meetings) noexcept {
        own_meetings_ = meetings;
        has_awaited_news_ = false;
    }

    [[nodiscard]] bool has_own_meetings() const noexcept { return own_meetings_ != nullptr; }

    // The call of the interface on whose behalf the next waits are, for whoever asks what this process waits for.
    void set_call(AwaitedCall call) noexcept { call_ = call; }

    // Release and acquire among all processes of the job.
    //   gathers  what the nodes bring together, in a job of several; nothing with own meetings
    // Errors: peer, naming the dead; with own meetings state (ranks have made different calls). Blocks.
    base::Status wait(Gathers gathers = Gathers::nothing);

    // The number of the next meeting: the same on all processes of the node that have come to as many.
    [[nodiscard]] std::uint32_t next_number() const noexcept { return number_ + 1; }

private:
    void arrive_last(Gathers gathers) noexcept;
    [[nodiscard]] bool has_come_or_withdraws(std::uint32_t all) noexcept;
    void end_after_death(std::uint32_t number, std::uint32_t all) noexcept;
    void await_late_end(std::uint32_t number) noexcept;
    [[nodiscard]] base::Status blocked_by_death() const;
    [[nodiscard]] base::Status outcome(bool is_released);
    void await_news() const noexcept;

    // Whether a meeting can end no more.
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
    AwaitedCall call_ = AwaitedCall::sync;
    std::uint32_t number_;  // of the last barrier this process arrived at
};

// Names the call for the waits of a scope; afterwards they are acp_sync's again. The thread that makes collective calls.
class BarrierCall {
public:
    BarrierCall(Barrier& barrier, AwaitedCall call) noexcept : barrier_(barrier) {
        barrier_.set_call(call);
    }

    ~BarrierCall() { barrier_.set_call(AwaitedCall::sync); }

    BarrierCall(const BarrierCall&) = delete;
    BarrierCall& operator=(const BarrierCall&) = delete;

private:
    Barrier& barrier_;
};

}  // namespace acp::node
