// SPDX-License-Identifier: BSD-3-Clause
// Requested ranks: a permutation is applied in both directions; other requests change nothing, and
// the message names the ranks and their requests. One thread.
#include "node/ranks.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <vector>

namespace acp::node {
namespace {

// The node of processes 4 and 5 of a job.
Segment make_segment(std::uint32_t procs) {
    Shape shape;
    shape.procs = procs;
    shape.first_process = 4;
    shape.local_procs = shape.machine_procs = 2;
    shape.starter_bytes = 64;
    shape.datagram_bytes = 1408;
    auto made = Segment::create(shape);
    EXPECT_TRUE(made.is_ok()) << made.failure().message();
    return std::move(made).value();
}

class RanksTest : public testing::Test {
protected:
    static constexpr std::uint32_t procs = 7;

    base::Status judge(const std::vector<std::uint32_t>& wanted) {
        ranks_.write(wanted);
        ranks_.judge();
        return ranks_.verdict();
    }

    void expect_ranks(const std::vector<std::uint32_t>& ranks) const {
        for (std::uint32_t process = 0; process < procs; ++process) {
            EXPECT_EQ(segment_.rank_of(process), ranks[process]);
            EXPECT_EQ(segment_.process_of(ranks[process]), process);
        }
    }

    Segment segment_ = make_segment(procs);
    Ranks ranks_{segment_};
};

TEST_F(RanksTest, a_permutation_is_carried_out_and_the_next_one_counts_from_processes) {
    ASSERT_TRUE(judge({1, 2, 3, 4, 5, 6, 0}).is_ok());
    expect_ranks({0, 1, 2, 3, 4, 5, 6});
    ranks_.apply();
    expect_ranks({1, 2, 3, 4, 5, 6, 0});
    ASSERT_TRUE(judge({6, 5, 4, 3, 2, 1, 0}).is_ok());
    ranks_.apply();
    expect_ranks({6, 5, 4, 3, 2, 1, 0});
}

TEST_F(RanksTest, a_rank_asked_for_twice_names_both_by_the_ranks_they_have) {
    ASSERT_TRUE(judge({1, 2, 3, 4, 5, 6, 0}).is_ok());
    ranks_.apply();
    const base::Status status = judge({0, 1, 2, 3, 4, 2, 6});
    EXPECT_EQ(status.code(), base::Code::argument);
    EXPECT_EQ(status.message(),
              "rank 6 asked to become rank 2, and so did rank 3, or one of the two is in "
              "another collective call; nothing was changed");
    expect_ranks({1, 2, 3, 4, 5, 6, 0});
}

TEST_F(RanksTest, a_rank_out_of_range_is_refused_at_its_edges) {
    EXPECT_EQ(judge({0, 1, 2, 3, 4, 5, 7}).message(),
              "rank 6 asked to become rank 7, but ranks are 0 to 6; nothing was changed");
    EXPECT_EQ(judge({~0U, 1, 2, 3, 4, 5, 6}).message(),
              "rank 0 asked to become rank -1, but ranks are 0 to 6; nothing was changed");
    EXPECT_TRUE(judge({6, 1, 2, 3, 4, 5, 0}).is_ok());
}

TEST_F(RanksTest, collects_the_wishes_of_this_node_and_leaves_the_others) {
    ranks_.write(std::vector<std::uint32_t>{0, 1, 2, 3, 0, 0, 6});
    segment_.slot(0).wanted_rank.store(5, std::memory_order_relaxed);
    segment_.slot(1).wanted_rank.store(4, std::memory_order_relaxed);
    ranks_.collect();
    ranks_.judge();
    EXPECT_TRUE(ranks_.verdict().is_ok());
    ranks_.apply();
    expect_ranks({0, 1, 2, 3, 5, 4, 6});
}

TEST(RanksMemoryTest, a_query_of_ranks_takes_no_memory_before_the_first_reset) {
    const Segment segment = make_segment(1U << 20);
    const auto taken = [&] {
        struct stat status {};

        EXPECT_EQ(fstat(segment.file(), &status), 0);
        return status.st_blocks;
    };
    const auto before = taken();
    for (std::uint32_t process = 0; process < segment.shape().procs; process += 1000) {
        EXPECT_EQ(segment.rank_of(process), process);
        EXPECT_EQ(segment.process_of(process), process);
    }
    EXPECT_EQ(taken(), before);
}

}  // namespace
}  // namespace acp::node
