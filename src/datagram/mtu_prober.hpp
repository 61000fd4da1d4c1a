// SPDX-License-Identifier: BSD-3-Clause
// Path MTU discovery in the manner of DPLPMTUD (RFC 8899): the longest datagram of one path. Begins with a length that every
// path carries, tries longer ones by padded probes that must not be fragmented, and falls back when long datagrams stop
// arriving (black hole). A probe may be lost by chance, or declared lost because a thread was late. So tries are spaced out, a
// probe acknowledged late still counts, and the search is repeated at growing intervals. Knows packets by their numbers, and
// neither sends nor times anything itself. One thread.
// Tests: tests/unit/datagram/mtu_prober_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "datagram/ack_frame.hpp"
#include "datagram/endpoint.hpp"

namespace acp::datagram {

class MtuProber {
public:
    static constexpr std::uint32_t tries_max = 3;  // probes of one length
    // After so many losses of long datagrams without one arriving, the path falls back to least().
    static constexpr std::uint32_t silent_losses = 4;
    // Pause after the first probe; then ten times that.
    static constexpr Time try_gap_ns = 10'000'000;
    static constexpr Time again_min_ns = 1'000'000'000;    // pause after all lengths were tried
    static constexpr Time again_max_ns = 600'000'000'000;  // it doubles up to this
    static constexpr Time again_cut_ns = 30'000'000'000;   // least pause after a fallback
    // Lengths tried after the longest: of frames of about half the size, of Ethernet's, and of tunnels inside Ethernet.
    static constexpr std::array<std::uint32_t, 3> shorter = {4058, 1452, 1372};

    MtuProber() noexcept = default;

    //   least  the length that every path carries
    //   most   the longest length to probe for, >= least
    MtuProber(std::uint32_t least, std::uint32_t most) noexcept
        : least_(least), most_(most), current_(least), goal_(most) {}

    // WIRE-75: the longest datagram that may be sent now, unfragmented.
    [[nodiscard]] std::uint32_t current() const noexcept { return current_; }

    [[nodiscard]] std::uint32_t least() const noexcept { return least_; }

    // The length to probe now, longest first; 0: none.
    [[nodiscard]] std::uint32_t wanted(Time now) const noexcept {
        if (is_probing_ || current_ >= most_ || now < next_at_) return 0;
        return goal_ <= current_ ? most_ : goal_;
    }

    // A probe of this length was sent.
    void on_sent(std::uint32_t bytes, PacketNumber number) noexcept {
        is_probing_ = true;
        goal_ = bytes;
        number_ = number;
        ++tries_;
    }

    // A probe of this length was acknowledged: the path carries it.
    void on_acknowledged(std::uint32_t bytes) noexcept {
        is_probing_ = false;
        tries_ = 0;
        given_up_ = 0;
        if (bytes > current_) current_ = bytes;
    }

    // WIRE-76: the probe was lost. After three tries of a length the next shorter one is tried.
    void on_lost(Time now) noexcept {
        is_probing_ = false;
        lost_[given_up_++ % tries_max] = {number_, goal_};
        next_at_ = now + (tries_ <= 1 ? try_gap_ns : 10 * try_gap_ns);
        if (tries_ < tries_max) return;
        tries_ = 0;
        goal_ = after(goal_);
        if (goal_ <= current_) rest(now, again_min_ns);
    }

    // Looks for probes declared lost that an acknowledgement names after all. Returns true if there is one and the path is
    // longer now.
    [[nodiscard]] bool recognise(const AckFrame& ack) noexcept {
        for (std::uint32_t i = 0; i < std::min(given_up_, tries_max); ++i) {
            if (lost_[i].bytes <= current_ || !ack.contains(lost_[i].number)) continue;
            on_acknowledged(lost_[i].bytes);
            return true;
        }
        return false;
    }

    // A datagram longer than least() was lost while later, shorter ones arrived; silence alone says nothing about length.
    // Losses of datagrams sent before the previous loss was detected count together with it. Returns true if the path fell back
    // to least().
    [[nodiscard]] bool on_long_lost(Time now, Time sent, PacketNumber number) noexcept {
        if (current_ <= least_ || number < long_came_ || sent < counted_at_) return false;
        counted_at_ = now;
        // WIRE-77
        if (++losses_ < silent_losses) return false;
        losses_ = 0;
        tries_ = 0;
        given_up_ = 0;
        is_probing_ = false;
        current_ = least_;
        goal_ = current_;
        rest(now, again_cut_ns);
        return true;
    }

    // A datagram longer than least() was acknowledged.
    void on_long_acknowledged(PacketNumber number) noexcept {
        long_came_ = std::max(long_came_, number);
        losses_ = 0;
    }

private:
    struct Probe {
        PacketNumber number = 0;
        std::uint32_t bytes = 0;
    };

    // The length to try after this one failed; current_ if there is none.
    [[nodiscard]] std::uint32_t after(std::uint32_t bytes) const noexcept {
        for (const std::uint32_t next : shorter) {
            if (next < bytes && next > current_) return next;
        }
        return current_;
    }

    void rest(Time now, Time at_least) noexcept {
        pause_ = std::clamp(2 * pause_, at_least, again_max_ns);
        next_at_ = now + pause_;
    }

    std::uint32_t least_ = 0;
    std::uint32_t most_ = 0;
    std::uint32_t current_ = 0;
    std::uint32_t goal_ = 0;      // next length to try; <= current_: all were tried
    std::uint32_t tries_ = 0;     // probes of goal_ sent
    std::uint32_t losses_ = 0;    // losses of long datagrams in a row
    std::uint32_t given_up_ = 0;  // probes lost since one was acknowledged
    bool is_probing_ = false;
    PacketNumber number_ = 0;              // number of the last probe
    PacketNumber long_came_ = 0;           // largest number of a long datagram acknowledged
    Time counted_at_ = 0;                  // when the last of losses_ was detected
    Time next_at_ = 0;                     // no probe before this time
    Time pause_ = 0;                       // current interval between searches
    std::array<Probe, tries_max> lost_{};  // the last probes declared lost
};

}  // namespace acp::datagram
