// SPDX-License-Identifier: BSD-3-Clause
// The verdict of acpbench on a row, at the borders between its values;
// the figures of the page's head; and repeated measurements. Rows are made up.
#include "acpbench/verdict.hpp"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>

#include "acpbench/effects.hpp"
#include "acpbench/glance.hpp"
#include "acpbench/page.hpp"
#include "acpbench/papers_table.hpp"

namespace acp::bench {
namespace {

Row put(double ratio) {
    Row row;
    row.experiment = "net";
    row.name = "put";
    row.mode = "auto";
    row.ranks = 2;
    row.nodes = 2;
    row.bytes = 8;
    row.latency_us = {1, 20, 20, 40, 100};
    row.yardstick = Yardstick{"bare UDP round trip", 20 / ratio, "us"};
    row.ratio = ratio;
    return row;
}

Row stream(double ratio, double of_bare_and_cipher) {
    Row row = put(1);
    row.name = "stream of puts";
    row.bytes = 1 << 20;
    row.bandwidth_mb_per_s = 1000;
    row.yardstick = Yardstick{"bare GSO+GRO stream", 1000 / ratio, "MB/s"};
    row.ratio = ratio;
    row.extra.emplace_back("cipher_MB/s", 2000);
    row.extra.emplace_back("of_bare_and_cipher", of_bare_and_cipher);
    return row;
}

// A halo exchange behind a computation.
Row hidden_row(double hidden, double computing, double cores, int nodes) {
    Row row = put(1);
    row.experiment = "halo";
    row.nodes = nodes;
    row.extra.emplace_back("hidden", hidden);
    row.extra.emplace_back("cores", cores);
    row.extra.emplace_back("computing", computing);
    return row;
}

Row copy_of(const char* mode, double us, Distance distance) {
    Row row;
    row.experiment = "copy";
    row.name = "remote-to-remote starter";
    row.mode = mode;
    row.ranks = 3;
    row.bytes = 4;
    row.distance = distance;
    row.latency_us = {us, us, us, us, 10};
    row.bandwidth_mb_per_s = 4 / us;
    return row;
}

// A row of `message` or `rma`.
Row message_row(const char* name, std::uint64_t bytes, double ratio, const char* unit) {
    Row row = put(1);
    row.experiment = "message";
    row.name = name;
    row.nodes = 1;
    row.bytes = bytes;
    row.yardstick = Yardstick{"two bare copies", 1, unit};
    row.ratio = ratio;
    return row;
}

Verdict verdict_of(const Row& row) {
    return judge(row).verdict;
}

TEST(Verdict, a_stream_whose_bare_stream_was_not_counted_is_disturbed) {
    for (const char* const name : {"stream of puts", "stream of writes"}) {
        Row row = stream(0.9, 0.9);
        row.name = name;
        row.yardstick.reset();
        row.ratio.reset();
        EXPECT_EQ(verdict_of(row), Verdict::disturbed) << name;
    }
}

TEST(Verdict, messages_are_held_to_two_bare_copies_and_to_memcpy) {
    EXPECT_EQ(verdict_of(message_row("to and fro, PM", 8, 1.3, "us")), Verdict::met);
    EXPECT_EQ(verdict_of(message_row("to and fro, PM", 8, 1.31, "us")), Verdict::missed);
    EXPECT_EQ(verdict_of(message_row("to and fro, PM", 4096, 0.8, "MB/s")), Verdict::met);
    EXPECT_EQ(verdict_of(message_row("to and fro, PM", 4096, 0.79, "MB/s")), Verdict::missed);
    EXPECT_EQ(verdict_of(message_row("to and fro, PM", 64, 2, "us")), Verdict::none);
    EXPECT_EQ(verdict_of(message_row("to and fro", 8, 2, "us")), Verdict::missed);
    EXPECT_EQ(verdict_of(message_row("to and fro", 8, 1.3, "us")), Verdict::met);
    EXPECT_EQ(verdict_of(message_row("to and fro", 1 << 20, 1, "MB/s")), Verdict::met);
    EXPECT_EQ(verdict_of(message_row("to and fro", 1 << 20, 0.99, "MB/s")), Verdict::missed);
    EXPECT_EQ(verdict_of(message_row("to and fro, mapped", 4 << 20, 1.5, "MB/s")), Verdict::met);
    EXPECT_EQ(verdict_of(message_row("to and fro, mapped", 4 << 20, 1.49, "MB/s")),
              Verdict::missed);
    EXPECT_EQ(verdict_of(message_row("one way, mapped", 1 << 20, 3, "MB/s")), Verdict::none);
    Row burst = message_row("one way", 8, 1, "us");
    burst.extra.emplace_back("M/s", 100);
    EXPECT_EQ(verdict_of(burst), Verdict::met);
    burst.extra.back().second = 99;
    EXPECT_EQ(verdict_of(burst), Verdict::missed);
    Row far = message_row("to and fro, PM", 8, 2, "us");
    far.nodes = 2;
    EXPECT_EQ(verdict_of(far), Verdict::none);
    Row shared = message_row("to and fro, PM", 8, 0.1, "us");
    shared.distance = Distance::shared;
    EXPECT_EQ(verdict_of(shared), Verdict::none);
}

TEST(Verdict, reads_are_held_to_writes) {
    EXPECT_EQ(verdict_of(message_row("read", 64, 1.1, "us")), Verdict::met);
    EXPECT_EQ(verdict_of(message_row("read", 64, 1.12, "us")), Verdict::missed);
    EXPECT_EQ(verdict_of(message_row("read", 8192, 0.9, "MB/s")), Verdict::met);
    EXPECT_EQ(verdict_of(message_row("read", 8192, 0.89, "MB/s")), Verdict::missed);
    EXPECT_EQ(verdict_of(message_row("write", 8192, 0.1, "MB/s")), Verdict::none);
}

TEST(Verdict, of_an_exchange_behind_a_computation_needs_a_core_more_for_each_node) {
    EXPECT_EQ(verdict_of(hidden_row(0.95, 2, 4, 2)), Verdict::met);
    EXPECT_EQ(verdict_of(hidden_row(0.94, 2, 4, 2)), Verdict::missed);
    EXPECT_EQ(verdict_of(hidden_row(0.94, 2, 3, 2)), Verdict::none);
    EXPECT_EQ(verdict_of(hidden_row(0.94, 1, 3, 2)), Verdict::missed);
    EXPECT_EQ(verdict_of(hidden_row(0.94, 2, 8, 1)), Verdict::none) << "the ranks copy themselves";
}

TEST(Verdict, is_disturbed_where_a_put_takes_a_hundredth_of_the_datagrams_it_is_made_of) {
    EXPECT_EQ(verdict_of(put(0.0131)), Verdict::disturbed);
    EXPECT_NE(judge(put(0.0131)).reason, "");
}

TEST(Verdict, changes_at_the_limit_of_belief) {
    EXPECT_DOUBLE_EQ(least_credible(put(1)), 0.8);
    EXPECT_EQ(verdict_of(put(0.7999)), Verdict::disturbed);
    EXPECT_EQ(verdict_of(put(0.8)), Verdict::met);
    EXPECT_EQ(judge(put(0.8)).reason, "");
}

TEST(Verdict, changes_at_the_target) {
    EXPECT_EQ(verdict_of(put(1.25)), Verdict::met);
    EXPECT_EQ(verdict_of(put(1.2501)), Verdict::missed);
}

TEST(Verdict, of_a_bandwidth_is_disturbed_above_what_the_network_carries) {
    EXPECT_EQ(verdict_of(stream(1.2501, 2)), Verdict::disturbed);
    EXPECT_EQ(verdict_of(stream(1.25, 2)), Verdict::met);
    EXPECT_EQ(verdict_of(stream(0.5, 0.85)), Verdict::met);
    EXPECT_EQ(verdict_of(stream(0.5, 0.8499)), Verdict::missed);
}

TEST(Verdict, is_none_without_a_target) {
    Row row = put(5);
    row.name = "add8";
    EXPECT_EQ(verdict_of(row), Verdict::none);
    row.ratio = 0.5;
    EXPECT_EQ(verdict_of(row), Verdict::disturbed);
}

TEST(Verdict, of_a_stream_whose_bare_datagrams_were_not_counted_is_disturbed) {
    Row row = stream(0.5, 0.9);
    row.yardstick.reset();
    row.ratio.reset();
    EXPECT_EQ(verdict_of(row), Verdict::disturbed);
    const std::vector<Figure> figures = glance_at({row});
    ASSERT_EQ(figures.size(), 1U);
    EXPECT_EQ(figures[0].limit, "unknown");
}

TEST(Verdict, does_not_doubt_what_has_no_yardstick_or_does_less_than_it) {
    Row row = put(1);
    row.yardstick.reset();
    row.ratio.reset();
    EXPECT_EQ(verdict_of(row), Verdict::none);
    Row streamed = put(0.1);  // sixteen copies by one call
    streamed.experiment = "copy";
    streamed.name = "remote-to-local registered streamed";
    streamed.yardstick->name = "process_vm_readv";
    EXPECT_EQ(verdict_of(streamed), Verdict::none);
}

TEST(Verdict, is_disturbed_where_the_ratio_by_rounds_differs_from_that_of_the_medians) {
    Row row = stream(0.5, 0.9);
    row.bandwidth_mb_per_s = 1000 * ratios_apart_max;
    EXPECT_EQ(verdict_of(row), Verdict::met);
    row.bandwidth_mb_per_s = 1000 * ratios_apart_max + 1;
    EXPECT_EQ(verdict_of(row), Verdict::disturbed);
    row.bandwidth_mb_per_s = 1000 / ratios_apart_max - 1;
    EXPECT_EQ(verdict_of(row), Verdict::disturbed);
}

TEST(Verdict, of_ranks_that_took_turns_on_one_core_is_disturbed_where_the_yardstick_needs_two) {
    Row row = put(1);
    row.experiment = "sync";
    row.distance = Distance::shared;
    EXPECT_EQ(verdict_of(row), Verdict::none);
    row.yardstick->name = "cache-line round trip";
    EXPECT_EQ(verdict_of(row), Verdict::disturbed);
}

TEST(MeasureCredibly, takes_the_first_row_that_can_be_believed) {
    int calls = 0;
    const Row row = measure_credibly([&] { return put(++calls == 1 ? 0.0131 : 1.1); });
    EXPECT_EQ(calls, 2);
    EXPECT_DOUBLE_EQ(*row.ratio, 1.1);
    ASSERT_EQ(row.extra.size(), 1U);
    EXPECT_EQ(row.extra[0].first, "tries");
    EXPECT_DOUBLE_EQ(row.extra[0].second, 2);
}

TEST(MeasureCredibly, measures_what_is_believed_once) {
    int calls = 0;
    const Row row = measure_credibly([&] { return put(++calls); });
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(row.extra.empty());
}

TEST(MeasureCredibly, measures_the_given_number_of_times) {
    int calls = 0;
    const auto disturbed = [&] {
        ++calls;
        return put(0.0131);
    };
    EXPECT_TRUE(measure_credibly(disturbed, 1).extra.empty());
    EXPECT_EQ(calls, 1);
}

TEST(MeasureCredibly, gives_up_after_its_tries_and_claims_nothing) {
    int calls = 0;
    const Row row = measure_credibly([&] {
        ++calls;
        return put(0.0131);
    });
    EXPECT_EQ(calls, tries_max);
    EXPECT_EQ(verdict_of(row), Verdict::disturbed);
}

TEST(Effect, between_a_job_whose_ranks_shared_a_core_and_one_with_two_is_disturbed) {
    const std::vector<Row> rows{copy_of("old", 40, Distance::shared),
                                copy_of("new", 5, Distance::near)};
    const Effect effect = effects_of(rows, "starter").at(0);
    EXPECT_TRUE(effect.is_disturbed);
    EXPECT_EQ(effect.outcome(), Outcome::unknown);
    const std::vector<Row> quiet{copy_of("old", 40, Distance::near),
                                 copy_of("new", 5, Distance::near)};
    EXPECT_EQ(effects_of(quiet, "starter").at(0).outcome(), Outcome::reached);
}

TEST(Glance, shows_value_limit_and_ratio_of_each_measurement) {
    const std::vector<Figure> figures = glance_at({put(1.1), stream(0.5, 0.95)});
    ASSERT_EQ(figures.size(), 2U);
    EXPECT_EQ(figures[0].ours, "20 \u00b5s");
    EXPECT_EQ(figures[0].limit, "18.2 \u00b5s");
    EXPECT_EQ(figures[0].ratio, "1.1 \u00d7 the limit");
    EXPECT_EQ(figures[1].ours, "1 GB/s");
    EXPECT_EQ(figures[1].limit, "1 GB/s");  // the bare copy and the cipher have 2 GB/s each
    EXPECT_EQ(figures[1].ratio, "100 % of the limit");
    EXPECT_TRUE(glance_at({}).empty());
}

TEST(Glance, claims_no_ratio_of_a_disturbed_run) {
    const std::string table = glance_table(glance_at({put(0.0131)}));
    EXPECT_NE(table.find("disturbed"), std::string::npos);
    EXPECT_EQ(table.find("\u00d7 the limit"), std::string::npos);
}

TEST(Glance, leaves_targets_to_the_rows) {
    const std::vector<Row> rows{put(2)};
    EXPECT_EQ(judge(rows[0]).verdict, Verdict::missed);
    EXPECT_EQ(glance_table(glance_at(rows)).find("missed"), std::string::npos);
    const std::string page = make_page({}, rows);
    const std::size_t cards = page.find("<div class=\"glance\">");
    ASSERT_NE(cards, std::string::npos);
    EXPECT_GT(page.find("pill bad", cards), page.find("</section>", cards));
}

TEST(Page, shows_a_price_that_is_not_paid_as_good_and_each_table_in_one_unit) {
    const auto local = [](const char* mode, double us) {
        Row row = copy_of(mode, us, Distance::near);
        row.name = "local-to-local starter";
        return row;
    };
    const std::string page = make_page({}, {local("old", 7.7), local("new", 0.682)});
    EXPECT_NE(page.find("<span class=\"pill good\">costs nothing</span>"), std::string::npos);
    EXPECT_EQ(page.find("not reached"), std::string::npos);
    EXPECT_NE(page.find("latency, \u00b5s"), std::string::npos);
    EXPECT_NE(page.find("7.70 \u2192 0.682"), std::string::npos);
}

TEST(PapersTable, sets_each_papers_figure_beside_ours) {
    Row row = put(1);
    row.paper = PaperFigure{"paper 001, abstract", 40, "us"};
    Row rate = stream(0.5, 0.9);
    rate.paper = PaperFigure{"paper 001, abstract", 500, "MB/s"};
    const std::string table = papers_table({row, rate, put(1)});
    EXPECT_NE(table.find("40.0 us"), std::string::npos);
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);  // heading, two rows
    EXPECT_NE(table.find("2.00"), std::string::npos);  // 40 us beside 20, 500 MB/s beside 1000
    EXPECT_TRUE(papers_table({put(1)}).empty());
}

TEST(Page, colours_only_a_missed_target_red) {
    EXPECT_NE(verdict_html(judge(put(2))).find("pill bad"), std::string::npos);
    EXPECT_EQ(verdict_html(judge(put(0.0131))).find("pill bad"), std::string::npos);
    EXPECT_EQ(verdict_html(judge(put(1))).find("pill bad"), std::string::npos);
    EXPECT_EQ(verdict_html(Judgement{}), "");
}

TEST(Page, begins_with_how_fast_it_is_here) {
    const std::string page = make_page({}, {put(1.1), stream(0.5, 0.9)});
    const std::size_t glance = page.find("<h2>How fast here</h2>");
    ASSERT_NE(glance, std::string::npos);
    EXPECT_EQ(page.find("<h2>"), glance);
}

}  // namespace
}  // namespace acp::bench
