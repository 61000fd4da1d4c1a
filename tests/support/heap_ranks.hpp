// SPDX-License-Identifier: BSD-3-Clause
// The fixture of ranked tests that allocate: after each test the own heap is consistent and has no
// block.
#pragma once

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {

class HeapRankedTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(120);
    }

    void TearDown() override {
        sync_ranks();
        EXPECT_EQ(acp_heap_check(rank_), 0) << acp_error_message();
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(rank_, &stat), 0) << acp_error_message();
        EXPECT_EQ(stat.blocks, 0U) << "a test left blocks";
        RankedTest::TearDown();
    }
};

}  // namespace acp::test
