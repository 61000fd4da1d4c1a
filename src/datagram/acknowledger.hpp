// SPDX-License-Identifier: BSD-3-Clause
// Acknowledgements of what came from a peer: when one is due (WIRE-44), what it tells, and how much credit it gives.
// Seals nothing: it writes a control frame where the caller has room. One thread.
// Tests: tests/unit/datagram/endpoint_delivery_test.cpp, endpoint_life_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/credit_budget.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/peer.hpp"

namespace acp::datagram {

class Acknowledger {
public:
    static constexpr Time ack_delay_ns = 500'000;  // WIRE-44

    // Both outlive it.
    Acknowledger(const Settings& settings, CreditBudget& budget) noexcept
        : settings_(settings), budget_(budget) {}

    // A datagram came that wants an acknowledgement: at once when something is amiss, or much has come; else soon, for an
    // answer may take it along.   true: one is due now
    [[nodiscard]] bool want(AckState& ack,
                            std::uint32_t bytes,
                            bool at_once,
                            Time now) const noexcept;

    // Writes an acknowledgement when one is wanted and there is room. Returns its bytes.
    [[nodiscard]] std::uint32_t append(Peer& peer, MutableBytes room, Time now) noexcept;

private:
    const Settings& settings_;
    CreditBudget& budget_;
};

}  // namespace acp::datagram
