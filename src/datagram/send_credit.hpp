// SPDX-License-Identifier: BSD-3-Clause
// Credit-based flow control, sender's side: how much new content the peer has room for. Before its
// first acknowledgement, and after a silence of half the receiver's lease, that is the unscheduled
// allowance. Content sent before may always be sent again. Knows no clock. One thread.
// Tests: tests/unit/datagram/credit_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class SendCredit {
public:
    // Half of CreditBudget::lease_ns: the sender gives credit up first.
    static constexpr Time lease_ns = 500'000'000;

    //   first        serial number of the first content
    //   unscheduled  the allowance, in datagrams
    SendCredit(Dsn first, std::uint32_t unscheduled) noexcept
        : cumulative_(first), unscheduled_(unscheduled) {}

    // Takes an acknowledgement. An older one that was overtaken changes nothing.
    //   credit  datagrams from `cumulative` on
    //   next    serial number of the next new content
    // Returns false if `cumulative` lies beyond `next`: the peer acknowledges what was never sent.
    bool on_ack(Time now, Dsn cumulative, std::uint32_t credit, Dsn next) noexcept;

    // How many new datagrams may be sent from serial number `next` on.
    [[nodiscard]] std::uint32_t left(Time now, Dsn next) const noexcept;

    // The first serial number that may not be sent now.
    [[nodiscard]] Dsn limit(Time now) const noexcept;

    // Sets the allowance, after the length of datagrams changed.
    void set_allowance(std::uint32_t unscheduled) noexcept { unscheduled_ = unscheduled; }

    [[nodiscard]] Dsn cumulative() const noexcept { return cumulative_; }

private:
    [[nodiscard]] bool is_stale(Time now) const noexcept;

    Dsn cumulative_;  // all content before it was received
    std::uint32_t unscheduled_;
    Dsn limit_ = 0;   // the first serial number beyond the promise
    Time heard_ = 0;  // when the last acknowledgement came
    bool has_heard_ = false;
};

}  // namespace acp::datagram
