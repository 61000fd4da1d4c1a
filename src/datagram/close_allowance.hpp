// SPDX-License-Identifier: BSD-3-Clause
// Limits the CLOSEs that answer unauthenticated data. Such data can be forged, and without a limit
// the endpoint would be a reflector. Each node has a token bucket of its own for its own addresses,
// which forged requests in other nodes' names do not use up; all other addresses share one small
// bucket. Knows no packet. One thread.
// Tests: tests/unit/datagram/close_allowance_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "datagram/endpoint.hpp"

namespace acp::datagram {

// WIRE-82
class CloseAllowance {
public:
    static constexpr Time every_ns = 1'000'000;        // each bucket gains one token per tick
    static constexpr std::uint32_t node_at_once = 16;  // bucket size: the addresses of one node
    // Bucket size: all addresses outside the book.
    static constexpr std::uint32_t other_at_once = 64;
    static constexpr std::uint32_t all_every = 8;      // tokens per every_ns, all nodes together
    static constexpr std::uint32_t all_at_once = 256;  // bucket size: all nodes together

    explicit CloseAllowance(NodeId nodes) : spent_until_(nodes) {}

    // Takes a token. Returns false if there is none: the CLOSE must not be sent.
    //   is_listed  the destination is one of the node's addresses in the book
    [[nodiscard]] bool take(Time now, NodeId node, bool is_listed) noexcept {
        const auto tick = static_cast<std::uint32_t>(now / every_ns);
        if (!is_listed) return take_from(other_until_, tick, other_at_once);
        const auto fine = static_cast<std::uint32_t>(now / (every_ns / all_every));
        return take_from(spent_until_[node], tick, node_at_once) &&
               take_from(all_until_, fine, all_at_once);
    }

private:
    // A bucket is stored as the tick at which it will be full again. Taking a token moves that mark
    // one tick ahead; a mark in the past counts as now, so at most `at_once` tokens are saved up.
    // Ticks wrap around; a mark is never more than `at_once` ahead.
    static bool take_from(std::uint32_t& until,
                          std::uint32_t tick,
                          std::uint32_t at_once) noexcept {
        const auto ahead = static_cast<std::int32_t>(until - tick);
        if (ahead >= static_cast<std::int32_t>(at_once)) return false;
        until = ahead > 0 ? until + 1 : tick + 1;
        return true;
    }

    std::vector<std::uint32_t> spent_until_;  // per node, in ticks
    std::uint32_t other_until_ = 0;
    std::uint32_t all_until_ = 0;  // the unit is an eighth of a tick
};

}  // namespace acp::datagram
