// SPDX-License-Identifier: BSD-3-Clause
// Decides when an acknowledgement for a peer is due (WIRE-44), what it reports, and how much credit
// it grants. It writes a control frame into room that the caller provides, and seals nothing. One
// thread.
// Tests: tests/unit/datagram/endpoint_delivery_test.cpp, endpoint_life_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/credit_budget.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/peer.hpp"

namespace acp::datagram {

class Acknowledger {
public:
    static constexpr Time ack_delay_ns = 500'000;  // WIRE-44: the longest an acknowledgement waits

    // Both arguments must outlive it.
    Acknowledger(const Settings& settings, CreditBudget& budget) noexcept
        : settings_(settings), budget_(budget) {}

    // Notes an ack-eliciting datagram. An acknowledgement is due at once if `at_once` is set or
    // enough datagrams or bytes are unacknowledged; otherwise within ack_delay_ns, so that data on
    // the way back can carry it.
    //   at_once  something is amiss: a hole, a duplicate
    // Returns true if an acknowledgement is due now.
    [[nodiscard]] bool want(AckState& ack,
                            std::uint32_t bytes,
                            bool at_once,
                            Time now) const noexcept;

    // Writes an acknowledgement if one is wanted and fits. Returns its bytes; 0: nothing was
    // written.
    [[nodiscard]] std::uint32_t append(Peer& peer, MutableBytes room, Time now) noexcept;

private:
    const Settings& settings_;
    CreditBudget& budget_;
};

}  // namespace acp::datagram
