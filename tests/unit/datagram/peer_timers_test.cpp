// SPDX-License-Identifier: BSD-3-Clause
// The deadlines of a peer, and that its alarm never rings later than the earliest of them.
#include "datagram/peer_timers.hpp"

#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

constexpr Time s = 1'000'000'000;
constexpr Time begin = 100 * s;

struct PeerTimersTest : testing::Test {
    PeerTimersTest() {
        timers.reserve(1);
        peer.state = Peer::State::connected;
        peer.life.heard = peer.life.active = begin;
    }

    Settings settings;
    SentPool records{4};
    Peer peer{1, settings, records};
    PeerTimers timers{settings};
};

// WIRE-87
TEST_F(PeerTimersTest, count_silence_from_the_last_unanswered_or_received_datagram) {
    EXPECT_EQ(timers.silence_deadline(peer), never);
    peer.life.owing_since = begin + s;
    EXPECT_EQ(timers.silence_deadline(peer), begin + s + settings.peer_timeout_ns);
    peer.life.heard = begin + 3 * s;
    EXPECT_EQ(timers.silence_deadline(peer), begin + 3 * s + settings.peer_timeout_ns);
}

// WIRE-87
TEST_F(PeerTimersTest, do_not_count_time_in_which_the_process_was_stopped) {
    peer.life.owing_since = begin;
    timers.arm(peer, begin);
    const Time due = timers.next();
    timers.note_time(due + PeerTimers::stopped_after_ns - 1);
    EXPECT_EQ(timers.silence_deadline(peer), begin + settings.peer_timeout_ns) << "late, no more";
    const Time resumed = due + PeerTimers::stopped_after_ns;
    timers.note_time(resumed);
    EXPECT_EQ(timers.silence_deadline(peer), resumed + settings.peer_timeout_ns);
}

// WIRE-86, WIRE-19
TEST_F(PeerTimersTest, do_not_count_time_in_which_the_process_was_stopped_during_a_handshake) {
    settings.connect_timeout_ns = 10 * s;
    peer.state = Peer::State::connecting;
    peer.handshake.began = begin;
    peer.handshake.next_init = begin + s;
    timers.arm(peer, begin);
    const Time resumed = begin + 80 * s;
    EXPECT_EQ(timers.connect_deadline(peer), begin + 10 * s);
    const Time kept = timers.half_open_deadline(peer) - timers.connect_deadline(peer);
    timers.note_time(resumed);
    EXPECT_EQ(timers.connect_deadline(peer), resumed + 10 * s);
    EXPECT_EQ(timers.half_open_deadline(peer), resumed + 10 * s + kept);
}

// WIRE-85
TEST_F(PeerTimersTest, ring_for_a_ping_of_a_watched_peer_only) {
    EXPECT_EQ(PeerTimers::ping_deadline(peer), never);
    peer.life.watchers = 1;
    EXPECT_EQ(PeerTimers::ping_deadline(peer), begin + PeerTimers::ping_after_ns);
    timers.arm(peer, begin);
    EXPECT_EQ(timers.ring(begin + PeerTimers::ping_after_ns - 1), nullptr);
    EXPECT_EQ(timers.ring(begin + PeerTimers::ping_after_ns), &peer);
    EXPECT_EQ(timers.next(), never);
}

TEST_F(PeerTimersTest, do_not_ring_again_at_the_time_at_which_they_were_set) {
    peer.ack.at = begin - s;
    timers.arm(peer, begin);
    EXPECT_EQ(timers.ring(begin), nullptr);
    EXPECT_EQ(timers.ring(begin + 1), &peer);
}

// WIRE-90
TEST_F(PeerTimersTest, ring_for_folding_when_no_answer_is_expected) {
    EXPECT_EQ(timers.fold_deadline(peer), begin + settings.idle_fold_ns);
    timers.arm(peer, begin);
    EXPECT_EQ(timers.next(), begin + settings.idle_fold_ns);
    peer.life.owing_since = begin;
    EXPECT_EQ(timers.fold_deadline(peer), never);
}

// WIRE-19
TEST_F(PeerTimersTest, keep_a_half_open_peer_as_long_as_its_initiator_would_try) {
    peer.state = Peer::State::half_open;
    peer.handshake.began = begin;
    EXPECT_EQ(
        timers.half_open_deadline(peer),
        begin + settings.connect_timeout_ns + settings.peer_timeout_ns + settings.initial_rtt_ns);
    settings.peer_timeout_ns = 0;
    EXPECT_EQ(timers.half_open_deadline(peer), never);
}

}  // namespace
}  // namespace acp::datagram
