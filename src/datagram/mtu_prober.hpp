// SPDX-License-Identifier: BSD-3-Clause
// How long a datagram of one path may be, in the manner of RFC 8899: begin with what every path carries, try longer
// ones by padded probes that must not be fragmented, and fall back when long datagrams stop arriving. A probe may
// be lost by chance, or be taken for lost because somebody was late: tries keep apart, one acknowledged late
// counts, and the search begins anew, ever more rarely. Knows packets by their numbers and no timer; it is told of
// both. One thread. Tests: tests/unit/datagram/mtu_prober_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "datagram/ack_frame.hpp"
#include "datagram/endpoint.hpp"

namespace acp::datagram {

class MtuProber {
public:
    static constexpr std::uint32_t tries_max = 3;  // of one length
    static constexpr std::uint32_t silent_losses =
        4;  // of long datagrams, one after the other: fall back
    static constexpr Time try_gap_ns = 10'000'000;         // after the first try; then ten times it
    static constexpr Time again_min_ns = 1'000'000'000;    // after all lengths have been tried
    static constexpr Time again_max_ns = 600'000'000'000;  // twice as long each time
    static constexpr Time again_cut_ns = 30'000'000'000;   // at least, after a path was cut back
    // Tried after the longest: of frames of about half the size, of Ethernet's, and of tunnels inside Ethernet.
    static constexpr std::array<std::uint32_t, 3> shorter = {4058, 1452, 1372};

    MtuProber() noexcept = default;

    //   least  what every path carries; most  what is probed for, >= least
    MtuProber(std::uint32_t least, std::uint32_t most) noexcept
        : least_(least), most_(most), current_(least), goal_(most) {}

    // WIRE-75: the longest datagram that may be sent now.
    [[nodiscard]] std::uint32_t current() const noexcept { return current_; }

    [[nodiscard]] std::uint32_t least() const noexcept { return least_; }

    // The length to probe now; 0: none. The longest first, then the shorter ones.
    [[nodiscard]] std::uint32_t wanted(Time now) const noexcept {
        if (is_probing_ || current_ >= most_ || now < next_at_) return 0;
        return goal_ <= current_ ? most_ : goal_;
    }

    void on_sent(std::uint32_t bytes, PacketNumber number) noexcept {
        is_probing_ = true;
        goal_ = bytes;
        number_ = number;
        ++tries_;
    }

    void on_acknowledged(std::uint32_t bytes) noexcept {
        is_probing_ = false;
        tries_ = 0;
        given_up_ = 0;
        if (bytes > current_) current_ = bytes;
    }

    // WIRE-76: after three tries of a length the next shorter one.
    void on_lost(Time now) noexcept {
        is_probing_ = false;
        lost_[given_up_++ % tries_max] = {number_, goal_};
        next_at_ = now + (tries_ <= 1 ? try_gap_ns : 10 * try_gap_ns);
        if (tries_ < tries_max) return;
        tries_ = 0;
        goal_ = after(goal_);
        if (goal_ <= current_) rest(now, again_min_ns);
    }

    // An acknowledgement that may name a probe taken for lost.   true: it does, and the path is longer
    [[nodiscard]] bool recognise(const AckFrame& ack) noexcept {
        for (std::uint32_t i = 0; i < std::min(given_up_, tries_max); ++i) {
            if (lost_[i].bytes <= current_ || !ack.contains(lost_[i].number)) continue;
            on_acknowledged(lost_[i].bytes);
            return true;
        }
        return false;
    }

    // A datagram longer than least() was lost while later, shorter ones arrived; silence alone says nothing of length.
    // Those sent before the last such loss was found tell no more than it did.   true: cut back to least()
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

    // A datagram longer than least() got through.
    void on_long_acknowledged(PacketNumber number) noexcept {
        long_came_ = std::max(long_came_, number);
        losses_ = 0;
    }

private:
    struct Probe {
        PacketNumber number = 0;
        std::uint32_t bytes = 0;
    };

    // The length to try when this one did not get through; current_: there is none.
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
    std::uint32_t goal_ = 0;  // <= current_: all tried
    std::uint32_t tries_ = 0;
    std::uint32_t losses_ = 0;
    std::uint32_t given_up_ = 0;  // probes since one came
    bool is_probing_ = false;
    PacketNumber number_ = 0;     // of the last probe
    PacketNumber long_came_ = 0;  // the largest of a long datagram
    Time counted_at_ = 0;         // when the last of losses_ was found
    Time next_at_ = 0;
    Time pause_ = 0;
    std::array<Probe, tries_max> lost_{};  // the last taken for lost
};

}  // namespace acp::datagram
