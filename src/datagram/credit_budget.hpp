// SPDX-License-Identifier: BSD-3-Clause
// Credit-based flow control, receiver's side: divides a socket's receive buffer among the peers
// that send, so that all datagrams they may have in flight fit into it together.
//
// A promise is a number of datagrams that may still come from a peer. It shrinks only when
// datagrams arrive, or after silence: a peer that was granted nothing for lease_ns loses all beyond
// its allowance (its own side gives that up after half the time, SendCredit). The allowance is what
// every sender may send unasked. The allowances of silent peers share a reserve: their sum, but at
// most a quarter of the budget; those of active peers are counted in full. What remains is divided:
// peers that have recently sent talker_datagrams or more get equal parts, all others a few
// datagrams each.
//
// Promises are counted in datagrams but charged in bytes: a promise made before the peer's
// datagrams grew longer is charged as short, and its sender keeps such datagrams short
// (PathState::long_from).
//
// Knows neither wire format nor sockets. One thread, no allocation.
// Tests: tests/unit/datagram/credit_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

// Bytes that a datagram with this UDP payload is charged in a socket's receive buffer; an upper
// bound.
[[nodiscard]] std::uint32_t true_bytes(std::uint32_t datagram_bytes) noexcept;

// The part of a receive buffer that may be promised. The rest is needed for two reasons: the kernel
// returns the charge of datagrams already read only when they make up a quarter of the buffer, or
// nothing is left to read; and acknowledgements occupy the buffer but are covered by no credit.
[[nodiscard]] constexpr std::uint64_t usable_bytes(std::uint64_t receive_bytes) noexcept {
    return receive_bytes / 8 * 5;
}

// The allowance of every sender, in datagrams of the initial length: clamp(budget / (4 * senders),
// 2, 16).
[[nodiscard]] std::uint32_t unscheduled_datagrams(std::uint64_t receive_bytes,
                                                  std::uint32_t senders,
                                                  std::uint32_t datagram_bytes) noexcept;

// Converts an allowance to longer datagrams: its bytes stay the same, and it is at least one
// datagram.
//   unscheduled  the allowance in datagrams of `least` bytes
[[nodiscard]] std::uint32_t allowance_of(std::uint32_t unscheduled,
                                         std::uint32_t least,
                                         std::uint32_t datagram_bytes) noexcept;

class CreditBudget;

// One peer's share of a budget. Must not move while it belongs to one, which links to it.
class CreditShare {
public:
    CreditShare() = default;
    ~CreditShare();  // leaves the budget
    CreditShare(const CreditShare&) = delete;
    CreditShare& operator=(const CreditShare&) = delete;

    // Datagrams that were promised beyond the allowance and have not arrived yet.
    [[nodiscard]] std::uint32_t promised() const noexcept { return promised_; }

private:
    friend class CreditBudget;
    CreditBudget* budget_ = nullptr;  // nullptr: the peer is idle and holds nothing
    CreditShare* older_ = nullptr;    // neighbours in the order of the last grant
    CreditShare* newer_ = nullptr;
    Time granted_at_ = 0;
    std::uint32_t promised_ = 0;
    std::uint32_t each_ = 0;        // true_bytes() of one of its datagrams, as of the last grant
    std::uint32_t short_ = 0;       // the first of promised_: made when datagrams were shorter
    std::uint32_t short_each_ = 0;  // true_bytes() of one of those
    std::uint32_t came_ = 0;        // datagrams received, counted up to early_datagrams
    std::uint64_t slice_ = 0;       // number of the time slice in which of_slice_ was counted
    std::uint32_t of_slice_ = 0;    // datagrams received since that slice began
    bool is_talker_ = false;
};

class CreditBudget {
public:
    static constexpr Time lease_ns = 1'000'000'000;
    // Promises for short datagrams hold a sender to short datagrams. So a peer is promised at most
    // early_promise datagrams until early_datagrams have arrived, by when a longer path could be
    // found.
    static constexpr std::uint32_t early_datagrams = 512;
    static constexpr std::uint32_t early_promise = 64;

    // A peer is a talker if at least talker_datagrams came from it within the current time slice or
    // the one before. Any other peer is promised at most that many beyond its allowance, and only
    // from what is left when all nodes of the job have their allowance.
    static constexpr std::uint32_t talker_datagrams = 16;
    static constexpr Time slice_ns = 250'000'000;
    // The reserve for allowances of silent peers is at most the budget divided by reserve_share.
    static constexpr std::uint64_t reserve_share = 4;

    //   receive_bytes   size of the socket's buffer, as the kernel accounts it
    //   senders         how many nodes may ever send: nodes of the job - 1; at least 1
    //   least           length of the datagrams that all peers begin with
    //   most            length of the longest datagrams that they may probe for
    CreditBudget(std::uint64_t receive_bytes,
                 std::uint32_t senders,
                 std::uint32_t least,
                 std::uint32_t most) noexcept;
    ~CreditBudget();
    CreditBudget(const CreditBudget&) = delete;
    CreditBudget& operator=(const CreditBudget&) = delete;

    [[nodiscard]] std::uint32_t unscheduled() const noexcept { return unscheduled_; }

    // The longest datagram that this node can receive: the buffer holds one of every sender
    // unasked, and one path probe of each.
    [[nodiscard]] std::uint32_t longest() const noexcept { return longest_; }

    // Counts new content from this peer (DuplicateWindow called it fresh). The next grant() judges
    // by it whether the peer talks.
    void on_received(CreditShare& share) noexcept;

    // Returns the credit for an acknowledgement: how many datagrams may still come, never fewer
    // than the allowance. The caller sends min(this + DuplicateWindow::beyond(),
    // DuplicateWindow::span).
    //   datagram_bytes  the longest datagram that this peer sends now; never less than before
    [[nodiscard]] std::uint32_t grant(Time now,
                                      CreditShare& share,
                                      std::uint32_t datagram_bytes) noexcept;

    // Takes back all promises of a peer that was severed or folded.
    void leave(CreditShare& share) noexcept;

    [[nodiscard]] std::uint32_t active() const noexcept { return active_; }

    [[nodiscard]] std::uint64_t promised_bytes() const noexcept { return promised_bytes_; }

    // Bytes that may be promised beyond the allowances, with the peers that are active now.
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

    std::uint64_t usable_bytes_;        // the budget: usable_bytes() of the buffer
    std::uint64_t each_bytes_ = 0;      // allowance and path probe of one peer
    std::uint64_t reserve_bytes_ = 0;   // kept for the allowances of silent peers
    std::uint64_t certain_bytes_ = 0;   // free even if all nodes of the job began to talk at once
    std::uint64_t promised_bytes_ = 0;  // sum of all promises beyond the allowances
    std::uint32_t least_;
    std::uint32_t longest_;
    std::uint32_t unscheduled_;
    std::uint32_t active_ = 0;  // shares in the list
    std::uint32_t talkers_ = 0;
    CreditShare* oldest_ = nullptr;  // the list of active shares, by their last grant
    CreditShare* newest_ = nullptr;
};

}  // namespace acp::datagram
