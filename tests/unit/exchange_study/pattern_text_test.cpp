// SPDX-License-Identifier: BSD-3-Clause
// Symmetric patterns as text: read, and refused.
#include "exchange_study/pattern_text.hpp"

#include <gtest/gtest.h>

#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange_study {
namespace {

std::string refusal_of(std::string_view text, std::size_t dimensions = 2) {
    const auto read = pattern_from_text(text, dimensions);
    return read.is_ok() ? "it was read" : std::string(read.failure().message());
}

TEST(PatternText, reads_messages_with_steps_in_each_dimension) {
    const auto read =
        pattern_from_text("# a halo\n\nsend 1 0 -2 4096\n\tsend 0 1 0 8 x 3 # small\r\n", 3);
    ASSERT_TRUE(read.is_ok());
    ASSERT_EQ(read.value().size(), 4U);
    EXPECT_EQ(read.value()[0].offset[0], 1);
    EXPECT_EQ(read.value()[0].offset[2], -2);
    EXPECT_EQ(read.value()[0].bytes, 4096U);
    EXPECT_EQ(read.value()[3].offset[1], 1);
    EXPECT_EQ(read.value()[3].bytes, 8U);
}

TEST(PatternText, has_the_patterns_of_the_paper) {
    for (const PaperPattern pattern : paper_patterns) {
        const auto read = pattern_from_text("paper " + std::string(name_of(pattern)) + " 109", 2);
        ASSERT_TRUE(read.is_ok());
        const auto expected = paper_messages(pattern, 109);
        ASSERT_EQ(read.value().size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(read.value()[i].offset, expected[i].offset);
            EXPECT_EQ(read.value()[i].bytes, expected[i].bytes);
        }
    }
}

TEST(PatternText, names_the_line_that_it_refuses) {
    const std::string send =
        "line 2: send, 2 steps, bytes, and \"x COUNT\" where there are several";
    for (const char* line :
         {"send", "send 1 0", "send 1 0 8 9", "send 1 0 8 x", "send 1 0 8 y 2", "send 1 0 8 x 0",
          "send one 0 8", "send 1 0 -8", "send 65537 0 8", "send 1 0 8 x 2 2",
          "send 1 0 99999999999999999999", "send 1 0 8 8 8 8 8 8 8 8 8 8 8 8 8 8"})
        EXPECT_EQ(refusal_of("# first\n" + std::string(line)), send) << line;
    EXPECT_EQ(refusal_of("send 1 0 8\nget 1 0 8\n"), "line 2: there is no statement \"get\"");
    for (const char* line :
         {"paper", "paper 8", "paper 7 60", "paper 8 0", "paper 8 60 60", "paper 8 2000000"})
        EXPECT_EQ(refusal_of(line), "line 1: paper EW|NS|4|DG|8 K") << line;
    EXPECT_EQ(refusal_of("paper 8 60", 3), "line 1: the paper has a torus of two dimensions");
    EXPECT_EQ(refusal_of("\n# nothing\n"), "a pattern has one message at least");
}

TEST(PatternText, has_as_many_messages_as_a_pattern_may_have) {
    EXPECT_EQ(pattern_from_text("send 1 0 8 x 1048576", 2).value().size(),
              exchange::pattern_messages_max);
    EXPECT_EQ(refusal_of("send 1 0 8\nsend 1 0 8 x 1048576"),
              "line 2: a pattern has at most 1048576 messages");
    EXPECT_EQ(refusal_of("send 1 0 8 x 1048577"), "line 1: a pattern has at most 1048576 messages");
}

}  // namespace
}  // namespace acp::exchange_study
