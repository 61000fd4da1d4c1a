// SPDX-License-Identifier: BSD-3-Clause
// A nap is due after many yields in a row that let others run, and the rarer the less it helped.
#include "node/company.hpp"

#include <gtest/gtest.h>

namespace acp::node {
namespace {

class CompanyTest : public testing::Test {
protected:
    // Yields beside somebody until a nap is due, a microsecond each; returns the time since the last one.
    std::uint64_t ns_until_nap() {
        const std::uint64_t from = now_ns_;
        do {
            now_ns_ += 1'000;
        } while (!company_.note(true, now_ns_));
        return now_ns_ - from;
    }

    std::uint64_t now_ns_ = 1'000'000'000;
    Company company_;
};

TEST_F(CompanyTest, none_is_due_while_some_yields_meet_nobody) {
    for (int i = 0; i < 1000; ++i) {
        EXPECT_FALSE(
            company_.note(i % static_cast<int>(Company::company_max) != 0, now_ns_ += 1'000));
    }
}

TEST_F(CompanyTest, one_is_due_after_enough_yields_in_a_row) {
    for (std::uint32_t i = 1; i < Company::company_max; ++i) {
        EXPECT_FALSE(company_.note(true, now_ns_ += 1'000));
    }
    EXPECT_TRUE(company_.note(true, now_ns_ += 1'000));
}

TEST_F(CompanyTest, those_that_do_not_help_become_rare) {
    ns_until_nap();
    std::uint64_t gap = Company::gap_min_ns;
    for (int i = 0; i < 10; ++i) {
        const std::uint64_t waited = ns_until_nap();
        EXPECT_GE(waited, gap);
        EXPECT_LE(waited, gap + Company::company_max * 1'000);
        gap = std::min(2 * gap, Company::gap_max_ns);
    }
}

TEST_F(CompanyTest, one_that_helped_starts_anew) {
    for (int i = 0; i < 5; ++i) ns_until_nap();
    now_ns_ += Company::gap_max_ns;
    EXPECT_FALSE(company_.note(false, now_ns_));
    ns_until_nap();
    EXPECT_LE(ns_until_nap(), Company::gap_min_ns + Company::company_max * 1'000);
}

}  // namespace
}  // namespace acp::node
