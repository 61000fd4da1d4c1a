// SPDX-License-Identifier: BSD-3-Clause
// Sender's credit: how much new content one peer has room for. Before its first acknowledgement, and after a silence
// of half the receiver's lease, that is the unscheduled allowance. Content sent before may always be sent again.
// Knows no clock. One thread.
// Tests: tests/unit/datagram/credit_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class SendCredit {
public:
    static constexpr Time lease_ns = 500'000'000;  // half of CreditBudget's

    //   first  serial number of the first content
    SendCredit(Dsn first, std::uint32_t unscheduled) noexcept
        : cumulative_(first), unscheduled_(unscheduled) {}

    // An acknowledgement came. An old one, overtaken by a newer, changes nothing.
    //   next  serial number of the next new content: a `cumulative` beyond it is refused. Returns false then.
    bool on_ack(Time now, Dsn cumulative, std::uint32_t credit, Dsn next) noexcept;

    // New datagrams that may be sent from serial number `next` on.
    [[nodiscard]] std::uint32_t left(Time now, Dsn next) const noexcept;

    // The serial number from which on nothing may be sent now.
    [[nodiscard]] Dsn limit(Time now) const noexcept;

    // Datagrams have become longer or shorter: how many may be sent unasked.
    void set_allowance(std::uint32_t unscheduled) noexcept { unscheduled_ = unscheduled; }

    [[nodiscard]] Dsn cumulative() const noexcept { return cumulative_; }

private:
    [[nodiscard]] bool is_stale(Time now) const noexcept;

    Dsn cumulative_;  // all before came
    std::uint32_t unscheduled_;
    Dsn limit_ = 0;  // where the promised end
    Time heard_ = 0;
    bool has_heard_ = false;
};

}  // namespace acp::datagram
