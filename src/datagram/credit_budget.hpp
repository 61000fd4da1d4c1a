// SPDX-License-Identifier: BSD-3-Clause
// Receiver's credit: divides a socket's receive buffer among those who talk, so that what they may have on the way
// together fits. A promise is a number of datagrams that may still come from a peer; it never shrinks but by datagrams
// that came, or by silence: a peer not answered for lease_ns has lost what was promised beyond the allowance that
// everybody has unasked (its own side gives it up after half that time, SendCredit). The allowances of those who are
// silent share a reserve: all of them where that is a quarter of the budget, else a quarter; those of peers who talk are
// counted in full. Of the rest, whoever has lately sent talker_datagrams or more has an equal part, and others a few
// datagrams each. Promises are counted in datagrams and held to bytes: what was promised to a peer before its datagrams
// grew longer is counted as short, and its sender keeps it so (PathState::long_from). Knows neither wire nor sockets. One
// thread, no allocation.
// Tests: tests/unit/datagram/credit_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

// What a datagram of that many bytes (UDP payload) occupies in a socket's receive buffer, rather too much.
[[nodiscard]] std::uint32_t true_bytes(std::uint32_t datagram_bytes) noexcept;

// Of a socket's buffer, what may be promised. The kernel takes what was read off its account only when that is
// a quarter of the buffer or nothing is left to read; and acknowledgements, which no credit counts, lie there too.
[[nodiscard]] constexpr std::uint64_t usable_bytes(std::uint64_t receive_bytes) noexcept {
    return receive_bytes / 8 * 5;
}

// What every sender may send unasked: clamp(budget / (4 * senders), 2, 16) datagrams of the length all begin with.
[[nodiscard]] std::uint32_t unscheduled_datagrams(std::uint64_t receive_bytes,
                                                  std::uint32_t senders,
                                                  std::uint32_t datagram_bytes) noexcept;

// As many bytes in longer datagrams, but one at least.
//   unscheduled  datagrams of `least` bytes
[[nodiscard]] std::uint32_t allowance_of(std::uint32_t unscheduled,
                                         std::uint32_t least,
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
    std::uint32_t each_ = 0;        // true bytes of one datagram of this peer, as of its last grant
    std::uint32_t short_ = 0;       // of promised_, the first: made when its datagrams were shorter
    std::uint32_t short_each_ = 0;  // true bytes of one of those
    std::uint32_t came_ = 0;        // datagrams, up to CreditBudget::early_datagrams
    std::uint64_t slice_ = 0;       // of time, in which of_slice_ datagrams came
    std::uint32_t of_slice_ = 0;
    bool is_talker_ = false;
};

class CreditBudget {
public:
    static constexpr Time lease_ns = 1'000'000'000;
    // What is promised for short datagrams stays with them: not much, before a longer path could be found.
    static constexpr std::uint32_t early_datagrams = 512;
    static constexpr std::uint32_t early_promise = 64;

    // A peer talks when so many datagrams came from it within a slice of time or the one before. Who does not is promised
    // as much beyond its allowance at most, and only of what is left when all nodes of the job have their allowance.
    static constexpr std::uint32_t talker_datagrams = 16;
    static constexpr Time slice_ns = 250'000'000;
    static constexpr std::uint64_t reserve_share =
        4;  // of the budget, for allowances of silent peers, at most

    //   receive_bytes   of the socket's buffer, in the kernel's accounting
    //   senders         all that may ever send: nodes of the job - 1; at least 1
    //   least           bytes of the datagrams all begin with
    //   most            bytes of the longest they may find a path for
    CreditBudget(std::uint64_t receive_bytes,
                 std::uint32_t senders,
                 std::uint32_t least,
                 std::uint32_t most) noexcept;
    ~CreditBudget();
    CreditBudget(const CreditBudget&) = delete;
    CreditBudget& operator=(const CreditBudget&) = delete;

    [[nodiscard]] std::uint32_t unscheduled() const noexcept { return unscheduled_; }

    // The longest datagram there is room for: one for every sender unasked, and a path probe of each.
    [[nodiscard]] std::uint32_t longest() const noexcept { return longest_; }

    // New content came from this peer: DuplicateWindow said fresh. Counted as talk with the next grant.
    void on_received(CreditShare& share) noexcept;

    // For an acknowledgement: how many datagrams may still come, never fewer than the allowance. What goes on the
    // wire is min(this + DuplicateWindow::beyond(), DuplicateWindow::span).
    //   datagram_bytes  the longest this peer sends now; never less than before
    [[nodiscard]] std::uint32_t grant(Time now,
                                      CreditShare& share,
                                      std::uint32_t datagram_bytes) noexcept;

    void leave(CreditShare& share) noexcept;  // severed, or of no interest any more

    [[nodiscard]] std::uint32_t active() const noexcept { return active_; }

    [[nodiscard]] std::uint64_t promised_bytes() const noexcept { return promised_bytes_; }

    // What may be promised beyond allowances as things stand.
    [[nodiscard]] std::uint64_t shared_bytes() const noexcept;

    [[nodiscard]] std::uint32_t talkers() const noexcept { return talkers_; }

private:
    [[nodiscard]] std::uint64_t part_of(const CreditShare& share) const noexcept;
    [[nodiscard]] static std::uint64_t bytes_of(const CreditShare& share) noexcept;
    [[nodiscard]] static bool lengthen(CreditShare& share, std::uint32_t each) noexcept;
    void expire(Time now) noexcept;
    void judge_talk(Time now, CreditShare& share) noexcept;
    void set_talker(CreditShare& share, bool is_talker) noexcept;
    void append(CreditShare& share) noexcept;
    void unlink(CreditShare& share) noexcept;

    std::uint64_t usable_bytes_;    // the budget
    std::uint64_t each_bytes_ = 0;  // the allowance and the path probe of one peer
    std::uint64_t reserve_bytes_ = 0;
    std::uint64_t certain_bytes_ = 0;  // free even if all nodes of the job began to talk at once
    std::uint64_t promised_bytes_ = 0;
    std::uint32_t least_;
    std::uint32_t longest_;
    std::uint32_t unscheduled_;
    std::uint32_t active_ = 0;
    std::uint32_t talkers_ = 0;
    CreditShare* oldest_ = nullptr;
    CreditShare* newest_ = nullptr;
};

}  // namespace acp::datagram
