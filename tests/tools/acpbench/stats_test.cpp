// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of acpbench: percentiles, distances, comparisons within one distance, the paper's
// effects, and labels that must not overlap. Nothing is measured but made-up work for the
// calibration.
#include "acpbench/stats.hpp"

#include <gtest/gtest.h>

#include "os/clock.hpp"

#include "acpbench/effects.hpp"
#include "acpbench/plot.hpp"
#include "acpbench/slices.hpp"

namespace acp::bench {
namespace {

TEST(Percentile, lies_between_neighbours) {
    EXPECT_DOUBLE_EQ(percentile({4, 1, 3, 2}, 0.5), 2.5);
    EXPECT_DOUBLE_EQ(percentile({4, 1, 3, 2}, 0), 1);
    EXPECT_DOUBLE_EQ(percentile({4, 1, 3, 2}, 1), 4);
    EXPECT_DOUBLE_EQ(percentile({7}, 0.99), 7);
    EXPECT_DOUBLE_EQ(percentile({}, 0.5), 0);
}

TEST(Summary, has_count_extremes_median_mean_and_percentile) {
    EXPECT_EQ(summarize({}).count, 0U);
    const Summary summary = summarize({5, 1, 9});
    EXPECT_EQ(summary.count, 3U);
    EXPECT_DOUBLE_EQ(summary.min, 1);
    EXPECT_DOUBLE_EQ(summary.median, 5);
    EXPECT_DOUBLE_EQ(summary.mean, 5);
    EXPECT_NEAR(summary.p99, 8.92, 1e-9);
}

TEST(Distance, splits_a_machine_that_flips_in_two) {
    const double boundary = far_boundary_ns({110, 112, 500, 108, 505, 495});
    EXPECT_EQ(classify(111, boundary), Distance::near);
    EXPECT_EQ(classify(500, boundary), Distance::far);
}

TEST(Distance, of_a_steady_machine_is_one) {
    for (const auto& [level, expected] :
         {std::pair{100.0, Distance::near}, std::pair{480.0, Distance::far}}) {
        const double boundary = far_boundary_ns({level, level * 1.1, level * 0.95});
        EXPECT_EQ(classify(level, boundary), expected);
        EXPECT_EQ(classify(level * 1.3, boundary), expected);
    }
}

TEST(Distance, of_ranks_that_take_turns_is_neither) {
    const double boundary = far_boundary_ns({110, 9000, 105});
    EXPECT_EQ(classify(9000, boundary), Distance::shared);
    EXPECT_EQ(classify(110, boundary), Distance::near);
    EXPECT_EQ(classify(0, boundary), Distance::unknown);
}

Slice slice(double round_trip_ns, std::vector<double> test_ns, std::vector<double> yardstick_ns) {
    return {round_trip_ns, 10, std::move(test_ns), std::move(yardstick_ns)};
}

TEST(Comparison, leaves_out_slices_at_the_rarer_distance) {
    const Comparison result = compare(
        {slice(100, {20, 22}, {10, 11}), slice(500, {90}, {30}), slice(104, {24}, {12})}, 250);
    EXPECT_EQ(result.distance, Distance::near);
    EXPECT_NEAR(result.share, 2.0 / 3, 1e-9);
    EXPECT_DOUBLE_EQ(result.ratio, 2);
    EXPECT_DOUBLE_EQ(result.test_ns.median, 22);
    EXPECT_DOUBLE_EQ(result.difference_ns, 11);
    EXPECT_EQ(result.operations, 30U);
}

TEST(Comparison, takes_the_ratio_round_by_round) {
    // One disturbed round: the quotient of the medians would be 3.
    const Comparison result = compare({slice(0, {20, 30, 100}, {10, 15, 5})}, 250);
    EXPECT_DOUBLE_EQ(result.ratio, 2);
}

TEST(Comparison, takes_the_ratio_to_the_round_trip_slice_by_slice) {
    // The cores moved apart and both times grew: the quotient of the medians would be 2.5.
    const Comparison result =
        compare({slice(100, {200}, {}), slice(100, {250}, {}), slice(200, {400}, {})}, 250);
    EXPECT_DOUBLE_EQ(result.round_trip_ratio, 2);
}

TEST(Calibration, is_not_misled_by_slow_first_calls) {
    int calls = 0;
    Pair pair;
    pair.test = [&calls](std::uint64_t) {
        if (++calls > 3) return;
        // Cold caches: first as long as a whole round, then as long as half of one.
        const std::uint64_t until = os::now_ns() + (calls == 1 ? 100'000 : 60'000);
        while (os::now_ns() < until) {
        }
    };
    Plan plan;
    plan.slices = 1;
    plan.slice_ns = 1e6;
    plan.round_ns = 50e3;
    const std::vector<Slice> slices = measure(nullptr, pair, plan);
    ASSERT_EQ(slices.size(), 1U);
    EXPECT_GT(slices[0].test_operations, 100U);
}

TEST(Comparison, without_a_yardstick_has_no_ratio) {
    Row row;
    const Comparison result = compare({slice(0, {10}, {})}, 250);
    fill_yardstick(row, result, "nothing");
    EXPECT_FALSE(row.ratio);
    EXPECT_FALSE(row.yardstick);
}

TEST(Yardstick, is_a_time_below_four_kib_and_a_bandwidth_above) {
    const Comparison result = compare({slice(0, {2000}, {1000})}, 250);
    Row small;
    small.bytes = 8;
    fill_yardstick(small, result, "memcpy");
    EXPECT_EQ(small.yardstick->unit, "us");
    EXPECT_DOUBLE_EQ(small.yardstick->value, 1);
    EXPECT_DOUBLE_EQ(*small.ratio, 2);
    Row large;
    large.bytes = 8192;
    fill_yardstick(large, result, "memcpy");
    EXPECT_EQ(large.yardstick->unit, "MB/s");
    EXPECT_DOUBLE_EQ(large.yardstick->value, 8192);
    EXPECT_DOUBLE_EQ(*large.ratio, 0.5);
}

Effect effect(
    const char* unit, double paper_before, double paper_after, double before, double after) {
    return {"an effect", paper_before, paper_after, before, after, unit};
}

TEST(Effect, of_a_gain_is_reached_at_the_papers_ratio) {
    EXPECT_EQ(effect("us", 43, 26, 50, 20).outcome(), Outcome::reached);
    EXPECT_EQ(effect("us", 43, 26, 50, 40).outcome(), Outcome::missed);
    EXPECT_EQ(effect("MB/s", 140, 450, 100, 330).outcome(), Outcome::reached);
    EXPECT_EQ(effect("MB/s", 140, 450, 100, 200).outcome(), Outcome::missed);
}

TEST(Effect, of_a_loss_in_the_paper_is_a_cost_or_no_cost_and_never_missed) {
    EXPECT_EQ(effect("us", 1.3, 4.9, 2, 3).outcome(), Outcome::cost);
    EXPECT_EQ(effect("us", 1.3, 4.9, 2, 2).outcome(), Outcome::no_cost);
    EXPECT_EQ(effect("us", 1.3, 4.9, 2, 1).outcome(), Outcome::no_cost);
    EXPECT_EQ(effect("MB/s", 9000, 7300, 100, 200).outcome(), Outcome::no_cost);
}

TEST(Effect, of_about_equal_is_reached_when_nothing_is_lost) {
    EXPECT_EQ(effect("MB/s", 9000, 8900, 100, 150).outcome(), Outcome::reached);
    EXPECT_EQ(effect("MB/s", 9000, 8900, 100, 60).outcome(), Outcome::missed);
}

TEST(Effect, of_a_mode_that_was_not_run_is_unknown) {
    Effect unknown = effect("us", 43, 26, 50, 20);
    unknown.ours_after.reset();
    EXPECT_FALSE(unknown.our_ratio());
    EXPECT_EQ(unknown.outcome(), Outcome::unknown);
}

TEST(Spread, keeps_order_and_gap) {
    const std::vector<double> places = spread({10, 11, 12, 100}, 14, 0, 300);
    for (std::size_t i = 1; i < places.size(); ++i) EXPECT_GE(places[i] - places[i - 1], 14 - 1e-3);
    EXPECT_NEAR(places.back(), 100, 1e-6);
}

TEST(Spread, stays_inside) {
    const std::vector<double> places = spread({299, 299, 299}, 14, 0, 300);
    EXPECT_LE(places.back(), 300 + 1e-3);
    EXPECT_GE(places.back() - places.front(), 28 - 1e-2);
}

TEST(ShowValue, takes_the_unit_that_reads_well) {
    EXPECT_EQ(show_value(Axis::time, 0.0028), "2.80 ns");
    EXPECT_EQ(show_value(Axis::time, 43), "43 \u00b5s");
    EXPECT_EQ(show_value(Axis::time, 1500), "1.50 ms");
    EXPECT_EQ(show_value(Axis::rate, 450), "450 MB/s");
    EXPECT_EQ(show_value(Axis::rate, 8900), "8.90 GB/s");
}

TEST(EscapeHtml, leaves_nothing_that_a_browser_would_take_for_markup) {
    EXPECT_EQ(escape_html("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
}

TEST(ResultFile, survives_writing_and_reading) {
    Row row;
    row.experiment = "copy";
    row.name = "remote-to-local starter";
    row.mode = "old";
    row.distance = Distance::far;
    row.bytes = 8;
    row.iterations = 5;
    row.latency_us = {1, 2, 3, 4, 5};
    row.yardstick = Yardstick{"memcpy", 0.5, "us"};
    row.ratio = 4;
    row.paper = PaperFigure{"paper 000, figure 3", 13, "us"};
    row.extra.emplace_back("ns", 1.5);
    auto read = from_json(to_json({{"m", "k", "v", "d", "c", {{"ACP_BYPASS", "off"}}}, {row}}));
    ASSERT_TRUE(read.is_ok());
    const Row& back = read.value().rows.at(0);
    EXPECT_EQ(back.distance, Distance::far);
    EXPECT_DOUBLE_EQ(back.latency_us.p99, 4);
    EXPECT_EQ(back.yardstick->unit, "us");
    EXPECT_DOUBLE_EQ(back.paper->value, 13);
    EXPECT_EQ(back.extra.at(0).first, "ns");
    EXPECT_EQ(read.value().header.configuration.at(0).second, "off");
}

TEST(ResultFile, of_another_shape_is_refused) {
    EXPECT_FALSE(from_json("{\"rows\": []}").is_ok());
    EXPECT_FALSE(from_json("not json").is_ok());
}

}  // namespace
}  // namespace acp::bench
