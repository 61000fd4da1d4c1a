// SPDX-License-Identifier: BSD-3-Clause
// Path MTU discovery in the manner of DPLPMTUD (RFC 8899): the longest datagram of one path. Begins
// with a length that every path carries, tries longer ones by padded probes that must not be
// fragmented (first base_bytes, which nearly every path carries, then the longest), and falls back
// step by step when long datagrams stop arriving (black hole). A probe may be lost by chance, or
// declared lost because a thread was late. So tries are spaced out, a probe acknowledged late still
// counts, and the search is repeated at growing intervals. Knows packets by their numbers, and
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
    // The number of consecutive losses of datagrams longer than below() after which the path length
    // falls back to below(). An acknowledged datagram of such a length ends the count.
    static constexpr std::uint32_t silent_losses = 4;
    // Pause after the first probe; then ten times that.
    static constexpr Time try_gap_ns = 10'000'000;
    static constexpr Time again_min_ns = 1'000'000'000;    // pause after all lengths were tried
    static constexpr Time again_max_ns = 600'000'000'000;  // it doubles up to this
    static constexpr Time again_cut_ns = 30'000'000'000;   // least pause after a fallback
    // What tunnels inside tunnels carry too (RFC 8899, 5.1.2, BASE_PLPMTU).
    static constexpr std::uint32_t base_bytes = 1200;
    // Lengths tried after the longest: of frames of about half the size, of Ethernet's, of tunnels
    // inside Ethernet, and of links with an MTU of 1000 and 768 bytes.
    static constexpr std::array<std::uint32_t, 6> shorter = {4058,       1452, 1372,
                                                             base_bytes, 972,  740};

    MtuProber() noexcept = default;

    //   least  the length that every path carries
    //   most   the longest length to probe for, >= least
    MtuProber(std::uint32_t least, std::uint32_t most) noexcept
        : least_(least),
          most_(most),
          current_(least),
          goal_(least < base_bytes ? std::min(base_bytes, most) : most) {}

    // WIRE-75: the longest datagram that may be sent now, unfragmented.
    [[nodiscard]] std::uint32_t current() const noexcept { return current_; }

    [[nodiscard]] std::uint32_t least() const noexcept { return least_; }

    // The length that the path falls back to: base_bytes from any longer one, and from there the
    // next shorter one tried.
    [[nodiscard]] std::uint32_t below() const noexcept {
        for (const std::uint32_t next : shorter) {
            if (next <= base_bytes && next < current_) return std::max(next, least_);
        }
        return least_;
    }

    // Whether this is the length that the path begins with, and another is being tried for the
    // first time: until then nothing is known of the path.
    [[nodiscard]] bool is_unproven() const noexcept { return current_ < base_bytes && pause_ == 0; }

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

    // Looks for probes declared lost that an acknowledgement names after all. Returns true if there
    // is one and the path is longer now.
    [[nodiscard]] bool recognise(const AckFrame& ack) noexcept {
        for (std::uint32_t i = 0; i < std::min(given_up_, tries_max); ++i) {
            if (lost_[i].bytes <= current_ || !ack.contains(lost_[i].number)) continue;
            on_acknowledged(lost_[i].bytes);
            return true;
        }
        return false;
    }

    // A datagram of content was lost while a later one arrived; silence alone says nothing about
    // length. Counts if it was longer than below() and none as long has arrived since. Losses of
    // datagrams sent before the previous loss was detected count together with it. Returns true if
    // the path fell back to below().
    [[nodiscard]] bool on_content_lost(Time now,
                                       Time sent,
                                       PacketNumber number,
                                       std::uint32_t bytes) noexcept {
        if (!is_telling(bytes) || sent < counted_at_) return false;
        if (number < long_came_.number && bytes <= long_came_.bytes) return false;
        counted_at_ = now;
        lost_bytes_ = losses_ == 0 ? bytes : std::min(lost_bytes_, bytes);
        // WIRE-77
        if (++losses_ < silent_losses) return false;
        losses_ = 0;
        tries_ = 0;
        given_up_ = 0;
        is_probing_ = false;
        long_came_ = {};
        current_ = below();
        goal_ = current_;
        rest(now, again_cut_ns);
        return true;
    }

    // A datagram of content was acknowledged. Ends the count of losses if it was as long as one of
    // those lost.
    void on_content_acknowledged(PacketNumber number, std::uint32_t bytes) noexcept {
        if (!is_telling(bytes)) return;
        if (bytes >= long_came_.bytes) long_came_ = {std::max(long_came_.number, number), bytes};
        if (bytes >= lost_bytes_) losses_ = 0;
    }

private:
    struct Probe {
        PacketNumber number = 0;
        std::uint32_t bytes = 0;
    };

    // Whether the fate of a datagram says whether the path still carries current(). Longer ones
    // travel in fragments.
    [[nodiscard]] bool is_telling(std::uint32_t bytes) const noexcept {
        return bytes > below() && bytes <= current_;
    }

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
    std::uint32_t goal_ = 0;        // next length to try; <= current_: all were tried
    std::uint32_t tries_ = 0;       // probes of goal_ sent
    std::uint32_t losses_ = 0;      // losses of long datagrams in a row
    std::uint32_t lost_bytes_ = 0;  // the shortest of those
    std::uint32_t given_up_ = 0;    // probes lost since one was acknowledged
    bool is_probing_ = false;
    PacketNumber number_ = 0;  // number of the last probe
    Probe long_came_;          // the last of the longest datagrams of content that arrived
    Time counted_at_ = 0;      // when the last of losses_ was detected
    Time next_at_ = 0;         // no probe before this time
    Time pause_ = 0;           // current interval between searches
    std::array<Probe, tries_max> lost_{};  // the last probes declared lost
};

}  // namespace acp::datagram
