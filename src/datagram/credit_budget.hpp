// SPDX-License-Identifier: BSD-3-Clause
// Receiver's credit: divides a socket's receive buffer among those who send, so that what all of them may have on
// the way together always fits. A promise is a number of datagrams that may still come from a peer; it never
// shrinks but by datagrams that came, or by silence: a peer not answered for lease_ns has lost what was
// promised beyond the allowance that everybody has unasked (its own side gives it up after half that time,
// SendCredit). The sum of all promises and allowances never exceeds the budget, as long as two datagrams for every
// possible sender fit in half of it. Knows neither wire nor sockets. One thread, no allocation.
// Tests: tests/unit/datagram/credit_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

// What a datagram of that many bytes (UDP payload) occupies in a socket's receive buffer, rather too much.
[[nodiscard]] std::uint32_t true_bytes(std::uint32_t datagram_bytes) noexcept;

// What every sender may send unasked: clamp(budget / (2 * senders), 2, 16) datagrams. Both sides reckon it from
// what they know of the job: settings must agree on receive_bytes and nodes, or RESP tells it.
[[nodiscard]] std::uint32_t unscheduled_datagrams(std::uint64_t receive_bytes,
                                                  std::uint32_t senders,
                                                  std::uint32_t datagram_bytes) noexcept;

class CreditBudget;

// One peer's part. Must not move while it belongs to a budget.
class CreditShare {
public:
    CreditShare() = default;
    ~CreditShare();  // leaves the budget
    CreditShare(const CreditShare&) = delete;
    CreditShare& operator=(const CreditShare&) = delete;

    // Datagrams that may still come beyond the unscheduled allowance.
    [[nodiscard]] std::uint32_t promised() const noexcept { return promised_; }

private:
    friend class CreditBudget;
    CreditBudget* budget_ = nullptr;  // nullptr: idle, holds nothing
    CreditShare* older_ = nullptr;    // in the order of their last grant
    CreditShare* newer_ = nullptr;
    Time granted_at_ = 0;
    std::uint32_t promised_ = 0;
    std::uint32_t each_ = 0;  // true bytes of one datagram of this peer
};

class CreditBudget {
public:
    static constexpr Time lease_ns = 1'000'000'000;

    //   receive_bytes   of the socket's buffer, in the kernel's accounting
    //   senders         all that may ever send: nodes of the job - 1; at least 1
    //   datagram_bytes  what senders send at first
    CreditBudget(std::uint64_t receive_bytes,
                 std::uint32_t senders,
                 std::uint32_t datagram_bytes) noexcept;
    ~CreditBudget();
    CreditBudget(const CreditBudget&) = delete;
    CreditBudget& operator=(const CreditBudget&) = delete;

    [[nodiscard]] std::uint32_t unscheduled() const noexcept { return unscheduled_; }

    // New content came from this peer: DuplicateWindow said fresh.
    void on_received(CreditShare& share) noexcept;

    // For an acknowledgement: how many datagrams may still come, never fewer than unscheduled(). What goes on the
    // wire is min(this + DuplicateWindow::beyond(), DuplicateWindow::span).
    //   datagram_bytes  the longest this peer sends now
    [[nodiscard]] std::uint32_t grant(Time now,
                                      CreditShare& share,
                                      std::uint32_t datagram_bytes) noexcept;

    void leave(CreditShare& share) noexcept;  // severed, or of no interest any more

    [[nodiscard]] std::uint32_t active() const noexcept { return active_; }

    [[nodiscard]] std::uint64_t promised_bytes() const noexcept { return promised_bytes_; }

    [[nodiscard]] std::uint64_t shared_bytes() const noexcept { return shared_bytes_; }

private:
    void expire(Time now) noexcept;
    void append(CreditShare& share) noexcept;
    void unlink(CreditShare& share) noexcept;

    std::uint64_t shared_bytes_;  // the budget without all allowances
    std::uint64_t promised_bytes_ = 0;
    std::uint32_t unscheduled_;
    std::uint32_t active_ = 0;
    CreditShare* oldest_ = nullptr;
    CreditShare* newest_ = nullptr;
};

}  // namespace acp::datagram
