// SPDX-License-Identifier: BSD-3-Clause
// The curve of CUBIC: it reaches the window of the last congestion after K seconds, is flat there,
// and never below Reno. One thread.
#include "datagram/cubic_curve.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

constexpr Time ms = 1'000'000;

// The window after a time, with one acknowledgement per round trip.
double after(CubicCurve& curve, double window, Time rtt, Time span) {
    for (Time now = 0; now < span; now += rtt) window = curve.grow(1'000 * ms + now, rtt, window);
    return window;
}

TEST(CubicCurve, is_back_where_congestion_was_met_after_k_seconds_on_a_long_path) {
    CubicCurve curve;
    EXPECT_FALSE(curve.is_active());
    curve.begin(10'000, 7'000);
    EXPECT_TRUE(curve.is_active());
    const double k = std::cbrt(3'000 / CubicCurve::aggressiveness);
    const Time reached = static_cast<Time>(k * 1e9);
    const double half_way = after(curve, 7'000, 100 * ms, reached / 2);
    EXPECT_GT(half_way, 9'000);
    CubicCurve again;
    again.begin(10'000, 7'000);
    EXPECT_NEAR(after(again, 7'000, 100 * ms, reached), 10'000, 50);
}

TEST(CubicCurve, grows_as_reno_does_where_that_is_faster) {
    CubicCurve curve;
    curve.begin(100, 70);
    // K is 4.2 s; Reno of the same mean adds 30 datagrams in 57 round trips
    EXPECT_NEAR(after(curve, 70, 1 * ms, 57 * ms), 100, 2);
}

TEST(CubicCurve, leaves_room_to_others_when_it_meets_congestion_earlier_than_before) {
    CubicCurve curve;
    curve.begin(1'000, 700);
    curve.begin(800, 560);
    CubicCurve fresh;
    fresh.begin(800, 560);
    const Time rtt = 50 * ms;
    EXPECT_LT(after(curve, 560, rtt, 5'000 * ms), after(fresh, 560, rtt, 5'000 * ms));
}

TEST(CubicCurve, never_grows_by_more_than_half_per_round_trip_and_never_shrinks) {
    CubicCurve curve;
    curve.begin(100'000, 10);
    EXPECT_LE(curve.grow(0, 1'000 * ms, 10), 15);
    EXPECT_GE(curve.grow(1'000'000 * ms, 1 * ms, 1'000'000), 1'000'000);
    curve.end();
    EXPECT_FALSE(curve.is_active());
}

}  // namespace
}  // namespace acp::datagram
