// SPDX-License-Identifier: BSD-3-Clause
// Shared pages of 64 pages, on one node or on several (TEST_NODES=several).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {

inline constexpr std::size_t page = 4096;
inline constexpr std::size_t window = 64 * page;

inline bool has_several_nodes() {
    return std::getenv("TEST_NODES") != nullptr;
}

// Whether the kernel refuses what ACP_DSM_FAULTS names, to this user.
inline bool is_refused_here() {
    static const bool is_refused = [] {
        if (acp_init_dsm(page) != 0) return acp_errno() == ACP_ERR_UNSUPPORTED;
        EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        return false;
    }();
    return is_refused;
}

class DsmTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        if (is_refused_here()) GTEST_SKIP() << acp_error_message();
        ASSERT_EQ(acp_init_dsm(window), 0) << acp_error_message();
    }

    void TearDown() override {
        if (!is_refused_here()) {
            EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    static std::uint64_t* words(std::size_t bytes) {
        return static_cast<std::uint64_t*>(acp_alloc_dsm(bytes));
    }

    static acp_stats_dsm_t stats() {
        acp_stats_dsm_t now;
        EXPECT_EQ(acp_query_stats_dsm(&now, sizeof now), 0) << acp_error_message();
        return now;
    }
};

// A fixture with locks to which bytes are bound.
template <typename Fixture>
class WithLocks : public Fixture {
protected:
    // A lock in the heap of a rank, known to all ranks.
    acp_lock_t make_lock(int home) const {
        acp_lock_t lock{ACP_GA_NULL};
        if (this->rank_ == home) lock = acp_create_lock(home);
        lock.ga = exchange(lock.ga)[static_cast<std::size_t>(home)];
        EXPECT_NE(lock.ga, ACP_GA_NULL) << acp_error_message();
        return lock;
    }

    static void bind(acp_lock_t lock, const void* address, std::size_t bytes) {
        ASSERT_EQ(acp_bind_dsm(lock, address, bytes), 0) << acp_error_message();
    }

    void end(acp_lock_t lock, int home) const {
        EXPECT_EQ(acp_bind_dsm(lock, nullptr, 0), 0) << acp_error_message();
        if (this->rank_ == home) {
            EXPECT_EQ(acp_free_lock(lock), 0) << acp_error_message();
        }
        sync_ranks();
    }
};

// Two threads of rank 0 make two calls at a time. The other ranks join the one that was not refused.

}  // namespace acp::test
