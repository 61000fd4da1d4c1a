// SPDX-License-Identifier: BSD-3-Clause
// Litmus programs on shared pages: rounds in which the roles go to other ranks and the variables to
// other pages, so that each has its home and copies at each node. TEST_ROUNDS sets the number of
// rounds.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t page_words = page_bytes / sizeof(std::uint64_t);

//   pages  of the window
template <std::size_t pages>
class DsmRoundsTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        const bool is_open = acp_init_dsm(pages * page_bytes) == 0;
        if (!is_open && acp_errno() == ACP_ERR_UNSUPPORTED) GTEST_SKIP() << acp_error_message();
        ASSERT_TRUE(is_open) << acp_error_message();
        words_ = static_cast<std::uint64_t*>(acp_alloc_dsm(pages * page_bytes));
        ASSERT_NE(words_, nullptr) << acp_error_message();
    }

    void TearDown() override {
        if (words_ != nullptr) {
            EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    // The number of rounds that the environment asks for.   usual  if it asks for none
    static std::uint64_t rounds_or(std::uint64_t usual) {
        const char* const text = std::getenv("TEST_ROUNDS");
        return text == nullptr ? usual : std::strtoull(text, nullptr, 0);
    }

    // Calls round(number), from 1 on, until a check fails on a rank.
    //   rounds   see rounds_or()
    //   seconds  the time that the test may take
    template <typename Round>
    void run_rounds(std::uint64_t rounds, std::uint64_t seconds, const Round& round) {
        allow_seconds(static_cast<unsigned>(seconds));
        for (std::uint64_t number = 1; number <= rounds; ++number) {
            SCOPED_TRACE("round " + std::to_string(number));
            ASSERT_NO_FATAL_FAILURE(round(number));
        }
    }

    static void meet() { ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message(); }

    // Whether this rank plays a role in a round. Roles of higher numbers than there are ranks go to
    // ranks that have others.
    [[nodiscard]] bool plays(std::uint64_t role, std::uint64_t round) const {
        return static_cast<std::uint64_t>(rank_) ==
               (role + round) % static_cast<std::uint64_t>(procs_);
    }

    // A variable: a word of a page of its own. It stays at its place for two rounds, so that one
    // rank writes it where another one has a copy.
    //   stride  the distance of two variables in pages
    [[nodiscard]] volatile std::uint64_t& word_of(std::uint64_t number,
                                                  std::uint64_t round,
                                                  std::uint64_t stride) const {
        const std::uint64_t turn = round / 2;
        return words_[(number * stride + turn) % pages * page_words + (turn + number) % page_words];
    }

    std::uint64_t* words_ = nullptr;
};

}  // namespace acp::test
