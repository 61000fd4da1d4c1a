// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests of PM messages: a context that all ranks open before the test and close
// after it.
#pragma once

#include <gtest/gtest.h>
#include <string>

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {

class PmFixture : public RankedTest {
protected:
    //   number  of the context, the same on all ranks
    explicit PmFixture(int number) : number_(number) {}

    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(170);
        pm_ = acp_open_pm(number_);
        ASSERT_NE(pm_, ACP_PM_NULL) << acp_error_message();
        sync_ranks();
    }

    // A test that has closed the context itself sets pm_ to ACP_PM_NULL.
    void TearDown() override {
        sync_ranks();
        if (pm_ != ACP_PM_NULL) {
            EXPECT_EQ(acp_close_pm(pm_), 0) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    void flush() {
        while (acp_test_sent_pm(pm_) == 0) {
        }
    }

    static void expect_refused(int result, int code, const std::string& part) {
        EXPECT_EQ(result, -1);
        expect_error(code, {part});
    }

    const int number_;
    acp_pm_t pm_ = ACP_PM_NULL;
};

}  // namespace acp::test
