// SPDX-License-Identifier: BSD-3-Clause
// Words of lines, and ranks as ranges. One thread.
#include "base/words.hpp"

#include <gtest/gtest.h>

namespace acp::base::test {
namespace {

TEST(WordsTest, words_end_at_blanks_and_the_last_takes_the_rest) {
    using Words = std::vector<std::string_view>;
    EXPECT_EQ(words_of("a b c d", 3), (Words{"a", "b", "c d"}));
    EXPECT_EQ(words_of("a", 3), (Words{"a"}));
    EXPECT_EQ(words_of("a ", 2), (Words{"a", ""}));
    EXPECT_EQ(words_of("", 1), (Words{""}));
}

TEST(WordsTest, ranks_are_written_as_ranges) {
    EXPECT_EQ(rank_ranges({}), "none");
    EXPECT_EQ(rank_ranges({5}), "5");
    EXPECT_EQ(rank_ranges({0, 1, 2, 4, 7, 8}), "0-2,4,7-8");
}

TEST(WordsTest, ranges_are_read_as_they_were_written) {
    using Ranks = std::vector<std::uint32_t>;
    EXPECT_EQ(ranks_from("none"), Ranks());
    EXPECT_EQ(ranks_from("0-2,4,7-8"), (Ranks{0, 1, 2, 4, 7, 8}));
    EXPECT_EQ(ranks_from("3,x,4"), Ranks{3});
    EXPECT_EQ(ranks_from("0-99999999999"), Ranks());
}

}  // namespace
}  // namespace acp::base::test
