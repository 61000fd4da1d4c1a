// SPDX-License-Identifier: BSD-3-Clause
// Measured exchanges as text: read, and refused with the line.
#include "exchange_study/measured_text.hpp"

#include <gtest/gtest.h>
#include <string>

#include "exchange/network_presets.hpp"

namespace acp::exchange_study {
namespace {

const exchange::NetworkModel& torus() {
    static const exchange::NetworkModel model = exchange::preset_network("tofu").value();
    return model;
}

std::string refusal_of(const std::string& text, const exchange::NetworkModel& model = torus()) {
    const auto read = measured_from_text(text, model);
    return read.is_ok() ? "it was read" : std::string(read.failure().message());
}

TEST(MeasuredText, reads_exchanges_of_a_torus_with_the_queues_of_a_scheduler) {
    const auto read = measured_from_text(
        "# first\nexchange RR2\nsend 1 0 4096 x 3\nsend 0 1 8\ntook 20.5 21 # noisy\n\n"
        "exchange BL4\r\npaper 8 60\r\ntook 37.3\r\n",
        torus());
    ASSERT_TRUE(read.is_ok()) << read.failure().message();
    ASSERT_EQ(read.value().size(), 2U);
    const MeasuredExchange& first = read.value()[0];
    EXPECT_EQ(first.name, "line 2, RR2");
    EXPECT_EQ(first.seen_us, (std::vector<double>{20.5, 21}));
    EXPECT_EQ(first.problem->messages().size(), 4U);
    EXPECT_EQ(first.queues.of[0].size(), 2U);
    EXPECT_EQ(first.queues.of[1].size(), 2U);
    EXPECT_EQ(read.value()[1].queues.pieces(), 14U);
}

TEST(MeasuredText, reads_copies_between_single_nodes_in_the_order_of_their_engines) {
    const auto read = measured_from_text(
        "exchange copies\ncopy 0 1 5 any 4096\ncopy 2 0 5 3 8\ncopy 0 1 6 0 16\ntook 9\n", torus());
    ASSERT_TRUE(read.is_ok()) << read.failure().message();
    const auto& queues = read.value()[0].copies;
    ASSERT_EQ(queues.size(), 2U);
    EXPECT_EQ(queues[0].engine, 1U);
    ASSERT_EQ(queues[0].commands.size(), 2U);
    EXPECT_EQ(queues[0].commands[0].receive_engine, any_receive_engine);
    EXPECT_EQ(queues[0].commands[1].target, 6U);
    EXPECT_EQ(queues[1].commands[0].receive_engine, 3U);
    EXPECT_FALSE(read.value()[0].problem.has_value());
}

// A scheduler whose time grows with the square of the number of messages would take very long for
// more of them.
TEST(MeasuredText, schedules_as_many_messages_as_take_no_long_time) {
    const std::string one = "exchange BL4\nsend 1 0 4096 x 4096\ntook 20.5\n";
    EXPECT_EQ(refusal_of(one), "it was read");
    EXPECT_NE(refusal_of("exchange BL4\nsend 1 0 4096 x 4096\nsend 0 1 8\ntook 1\n")
                  .find("at most 4096 messages of one exchange"),
              std::string::npos);
    std::string many;
    for (int i = 0; i < 17; ++i) many += "exchange RR1\nsend 1 0 4096 x 4096\ntook 20.5\n";
    EXPECT_NE(refusal_of(many).find("65536 of all"), std::string::npos) << refusal_of(many);
}

TEST(MeasuredText, names_the_line_that_it_refuses) {
    EXPECT_EQ(refusal_of("\ntook 5"), "line 2: an exchange begins with \"exchange\"");
    for (const char* line : {"exchange", "exchange standard", "exchange BL4 2"}) {
        EXPECT_EQ(refusal_of(line), "line 1: exchange RR1|RR2|RR4|BL1|BL2|BL4|hop-aware|copies")
            << line;
    }
    EXPECT_EQ(refusal_of("exchange BL4\npaper 8 60\nexchange BL4"),
              "line 3: the exchange before has no \"took\"");
    EXPECT_EQ(refusal_of("exchange BL4\npaper 8 60\n"),
              "the exchange of line 1 does not end with \"took\"");
    for (const char* times : {"took", "took 0", "took -1", "took soon", "took 5 nan"}) {
        EXPECT_EQ(refusal_of("exchange BL4\npaper 8 60\n" + std::string(times)),
                  "line 3: took MICROSECONDS ...")
            << times;
    }
    for (const char* copy : {"copy 0 0 5 any", "copy 0 0 5 any -8", "copy 0 0 5 some 8",
                             "send 1 0 8", "copy 0 0 5 any 8 8"}) {
        EXPECT_EQ(refusal_of("exchange copies\n" + std::string(copy)),
                  "line 2: copy SOURCE ENGINE TARGET ENGINE|any BYTES")
            << copy;
    }
}

TEST(MeasuredText, refuses_exchanges_that_the_network_cannot_make) {
    EXPECT_EQ(refusal_of("exchange copies\ntook 5"), "the exchange of line 1: nothing was copied");
    EXPECT_EQ(refusal_of("\nexchange BL4\nsend 1 2 3 4\ntook 5").substr(0, 24),
              "the exchange of line 2: ");
    EXPECT_NE(refusal_of("exchange copies\ncopy 0 0 99 any 8\ntook 5").find("99"),
              std::string::npos);
    EXPECT_NE(
        refusal_of("exchange BL4\nsend 1 8\ntook 5", exchange::preset_network("four-nic").value()),
        "it was read");
}

}  // namespace
}  // namespace acp::exchange_study
