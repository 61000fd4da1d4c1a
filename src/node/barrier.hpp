// SPDX-License-Identifier: BSD-3-Clause
// The barrier of a node: every process adds one to an arrival counter; the last one publishes the barrier's
// number on a release word that the others await, so nobody sleeps more than once per barrier. The counter
// only grows (modulo 2^32) and is never reset. With few processes it lies beside the release word, which the
// last to arrive then has in its cache when it publishes; with many, who waits must not disturb who arrives.
// A process that dies makes this and every later barrier fail everywhere; a stopped one delays it, as it must.
// One thread of a process at a time.
// Tests: tests/unit/node/member_test.cpp. Source: experiments recorded in ADR 0004.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "node/segment.hpp"
#include "node/wait.hpp"

namespace acp::node {

class Barrier {
public:
    // Up to so many processes arrive beside the release word.
    static constexpr std::uint32_t few = 8;

    // The arrival counter of a node.
    [[nodiscard]] static SharedU32& arrivals(const Segment& segment) noexcept;

    //   segment, waiter  must outlive the barrier
    Barrier(const Segment& segment, std::uint32_t slot, Waiter& waiter) noexcept;

    // After how long a wait says on stderr who is missing; 0 = never. Default: never.
    void set_hang_warning(std::uint64_t warning_ns) noexcept { hang_warning_ns_ = warning_ns; }

    // Release and acquire among all processes of the node.
    // Errors: peer, naming the dead. Blocks.
    base::Status wait();

    // Ranks that have not arrived at the barrier this process waits in; "" when none is missing.
    [[nodiscard]] std::string missing() const;

private:
    [[nodiscard]] base::Status blocked_by_death() const;
    void say_who_is_missing(std::uint64_t waited_ns) const;

    const Segment& segment_;
    Waiter& waiter_;
    SharedU32& arrived_;
    std::uint32_t slot_;
    std::uint64_t hang_warning_ns_ = 0;
    std::uint32_t number_;  // of the last barrier this process arrived at
};

}  // namespace acp::node
