// SPDX-License-Identifier: BSD-3-Clause
// How many CLOSE may answer what anybody may have made up: some for each node, to its own addresses, however much is asked for in the names of
// others; and few to all other addresses together. Knows no packet. One thread. Tests:
// tests/unit/datagram/close_allowance_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "datagram/endpoint.hpp"

namespace acp::datagram {

// WIRE-82
class CloseAllowance {
public:
    static constexpr Time every_ns = 1'000'000;         // one more each, for a node
    static constexpr std::uint32_t node_at_once = 16;   // to the addresses of one node
    static constexpr std::uint32_t other_at_once = 64;  // to addresses that are in no book
    static constexpr std::uint32_t all_every = 8;       // per every_ns, to all nodes
    static constexpr std::uint32_t all_at_once = 256;

    explicit CloseAllowance(NodeId nodes) : spent_until_(nodes) {}

    // Takes one, if there is one.
    //   is_listed  the address it goes to is one of the node's own
    [[nodiscard]] bool take(Time now, NodeId node, bool is_listed) noexcept {
        const auto tick = static_cast<std::uint32_t>(now / every_ns);
        if (!is_listed) return take_from(other_until_, tick, other_at_once);
        const auto fine = static_cast<std::uint32_t>(now / (every_ns / all_every));
        return take_from(spent_until_[node], tick, node_at_once) &&
               take_from(all_until_, fine, all_at_once);
    }

private:
    // Each one taken moves the mark one tick on; what lies behind now is forgotten, so that at most `at_once` are
    // saved up. Ticks wrap; a mark is never further ahead than `at_once`.
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
    std::uint32_t all_until_ = 0;  // in eighths of a tick
};

}  // namespace acp::datagram
