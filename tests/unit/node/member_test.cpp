// SPDX-License-Identifier: BSD-3-Clause
// Joining, meeting, changing ranks and leaving, and the barrier below: several members are threads
// of this process.
#include "node/member.hpp"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

#include "node/death.hpp"
#include "os/process.hpp"

#include "support/effort.hpp"

namespace acp::node {
namespace {

Segment make_segment(std::uint32_t procs) {
    Shape shape;
    shape.procs = shape.local_procs = shape.machine_procs = procs;
    shape.starter_bytes = 4096;
    shape.datagram_bytes = 1408;
    auto made = Segment::create(shape);
    EXPECT_TRUE(made.is_ok()) << made.failure().message();
    return std::move(made).value();
}

class MemberTest : public testing::Test {
protected:
    static constexpr std::uint32_t procs = 4;

    void SetUp() override {
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            members_.push_back(std::make_unique<Member>(segment_.share(), slot));
            ASSERT_TRUE(members_[slot]->take_slot().is_ok());
        }
    }

    // Runs a body for each of the first `count` members, in threads of their own.
    template <typename Body>
    void for_each(Body body, std::uint32_t count = procs) {
        std::vector<std::thread> threads;
        for (std::uint32_t i = 0; i < count; ++i) {
            threads.emplace_back([&, i] { body(*members_[i]); });
        }
        for (std::thread& thread : threads) thread.join();
    }

    Segment segment_ = make_segment(procs);
    std::vector<std::unique_ptr<Member>> members_;
};

TEST_F(MemberTest, no_process_leaves_a_meeting_before_all_have_entered) {
    constexpr int rounds = 200;
    std::atomic<int> arrived{0};
    std::atomic<bool> is_early{false};
    for_each([&](Member& member) {
        for (int round = 1; round <= rounds; ++round) {
            arrived.fetch_add(1, std::memory_order_relaxed);
            ASSERT_TRUE(member.synchronize().is_ok());
            if (arrived.load(std::memory_order_relaxed) < round * static_cast<int>(procs)) {
                is_early.store(true, std::memory_order_relaxed);
            }
        }
    });
    EXPECT_FALSE(is_early.load(std::memory_order_relaxed));
}

TEST_F(MemberTest, a_call_that_fails_in_one_fails_in_all_with_one_verdict) {
    for_each([&](Member& member) {
        for (int round = 0; round < 50; ++round) {
            EXPECT_TRUE(member.conclude({}).is_ok());
            base::Status own;
            if (member.slot_index() == 1) own = {base::Code::limit, "mine"};
            const base::Status status = member.conclude(std::move(own));
            EXPECT_EQ(status.code(), base::Code::limit);
            EXPECT_NE(status.message().find(member.slot_index() == 1 ? "mine" : "rank 1 failed"),
                      std::string::npos);
        }
    });
}

// The words of the last two meetings are kept, whatever that process brought to the other one.
TEST_F(MemberTest, a_process_in_another_call_is_no_part_of_a_conclusion) {
    for_each([&](Member& member) {
        for (int round = 0; round < 4; ++round) {
            for (int calls = 0; calls < round; ++calls) EXPECT_TRUE(member.conclude({}).is_ok());
            if (member.slot_index() == 1) {
                EXPECT_TRUE(member.synchronize().is_ok());
                continue;
            }
            const base::Status status = member.conclude({});
            EXPECT_EQ(status.code(), base::Code::state);
            EXPECT_NE(status.message().find("some ranks have come to another call"),
                      std::string::npos)
                << status.message();
        }
    });
}

TEST_F(MemberTest, a_meeting_publishes_what_was_written_before_it) {
    std::uint64_t words[procs] = {};  // plain: only the meeting orders them
    for_each([&](Member& member) {
        words[member.slot_index()] = member.slot_index() + 1;
        ASSERT_TRUE(member.synchronize().is_ok());
        for (std::uint32_t i = 0; i < procs; ++i) EXPECT_EQ(words[i], i + 1);
    });
}

TEST_F(MemberTest, a_death_ends_this_meeting_and_every_later_one_with_its_name) {
    std::thread killer([&] {
        while (Barrier::arrivals(segment_).load(std::memory_order_acquire) < 3) {
            std::this_thread::yield();
        }
        mark_dead(segment_, 3, 9);
    });
    for_each(
        [](Member& member) {
            for (int round = 0; round < 2; ++round) {
                const base::Status status = member.synchronize();
                EXPECT_EQ(status.code(), base::Code::peer);
                EXPECT_NE(status.message().find("rank 3"), std::string::npos) << status.message();
            }
        },
        3);
    killer.join();
}

TEST_F(MemberTest, a_second_arrival_after_a_death_does_not_count_for_the_dead) {
    std::thread first([&] {
        EXPECT_EQ(members_[0]->synchronize().code(), base::Code::peer);
        EXPECT_EQ(members_[0]->synchronize().code(), base::Code::peer);
    });
    while (Barrier::arrivals(segment_).load(std::memory_order_acquire) < 1) {
        std::this_thread::yield();
    }
    mark_dead(segment_, 3, 9);
    first.join();
    for_each([](Member& member) { EXPECT_EQ(member.synchronize().code(), base::Code::peer); }, 3);
}

// All others have arrived before the death is published, and the last of them has not released them
// yet.
TEST_F(MemberTest, a_death_after_the_last_arrival_does_not_fail_the_meeting) {
    std::thread last([&] {
        while (Barrier::arrivals(segment_).load(std::memory_order_acquire) < 2) {
            std::this_thread::yield();
        }
        Barrier::arrivals(segment_).fetch_add(2, std::memory_order_acq_rel);
        mark_dead(segment_, 3, 9);
    });
    for_each(
        [](Member& member) {
            const base::Status status = member.synchronize();
            EXPECT_TRUE(status.is_ok()) << status.message();
            EXPECT_EQ(member.synchronize().code(), base::Code::peer) << "the next one fails";
        },
        2);
    last.join();
}

TEST_F(MemberTest, an_arrival_after_others_have_given_up_is_not_the_last_one) {
    SharedU32& arrivals = Barrier::arrivals(segment_);
    arrivals.fetch_add(1, std::memory_order_acq_rel);  // the arrival of the process that dies
    std::thread killer([&] {
        while (arrivals.load(std::memory_order_acquire) < 3) std::this_thread::yield();
        mark_dead(segment_, 3, 9);
    });
    for_each([](Member& member) { EXPECT_EQ(member.synchronize().code(), base::Code::peer); }, 2);
    killer.join();
    // An arrival of a process that had checked for deaths before there was one.
    EXPECT_LT(arrivals.fetch_add(1, std::memory_order_acq_rel) + 1, procs);
}

// A process arrives, and is killed then or before it has released the others; the others detect
// that in any order.
TEST_F(MemberTest, a_meeting_fails_for_all_survivors_or_for_none) {
    const int rounds = acp::test::effort(400, 100);
    for (int round = 0; round < rounds; ++round) {
        const Segment segment = make_segment(procs);
        std::vector<std::unique_ptr<Member>> members;
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            members.push_back(std::make_unique<Member>(segment.share(), slot));
            ASSERT_TRUE(members[slot]->take_slot().is_ok());
        }
        constexpr std::uint32_t before = 5;  // meetings that go well
        std::array<std::uint32_t, procs> met{};
        std::vector<std::thread> threads;
        for (std::uint32_t slot = 0; slot + 1 < procs; ++slot) {
            threads.emplace_back([&, slot] {
                while (members[slot]->synchronize().is_ok()) ++met[slot];
            });
        }
        threads.emplace_back([&] {
            for (std::uint32_t i = 0; i < before; ++i) {
                EXPECT_TRUE(members[procs - 1]->synchronize().is_ok());
            }
            Barrier::arrivals(segment).fetch_add(1, std::memory_order_acq_rel);
            mark_dead(segment, procs - 1, 9);
        });
        for (std::thread& thread : threads) thread.join();
        for (std::uint32_t slot = 0; slot + 1 < procs; ++slot) {
            EXPECT_GE(met[slot], before);
            EXPECT_EQ(met[slot], met[0]) << "in round " << round;
        }
    }
}

TEST_F(MemberTest, a_process_that_gives_up_ends_the_waits_of_the_others) {
    std::thread quitter([&] { members_[3]->give_up(); });
    for_each([](Member& member) { EXPECT_EQ(member.synchronize().code(), base::Code::peer); }, 3);
    quitter.join();
}

TEST_F(MemberTest, ranks_change_places_when_all_agree) {
    for_each([&](Member& member) {
        const std::uint32_t wanted = (member.rank() + 1) % procs;
        ASSERT_TRUE(member.agree_on_rank(wanted).is_ok());
        member.take_rank(wanted);
        ASSERT_TRUE(member.synchronize().is_ok());
        EXPECT_EQ(member.rank(), wanted);
    });
    for (std::uint32_t rank = 0; rank < procs; ++rank) {
        EXPECT_EQ(segment_.process_of(rank), (rank + 3) % procs);
        EXPECT_EQ(segment_.rank_of(segment_.process_of(rank)), rank);
    }
}

TEST_F(MemberTest, a_rank_asked_for_twice_or_out_of_range_fails_everywhere_and_changes_nothing) {
    for (const std::uint32_t bad : {0U, procs, ~0U}) {
        for_each([&](Member& member) {
            const std::uint32_t wanted = member.slot_index() == 2 ? bad : member.slot_index();
            EXPECT_EQ(member.agree_on_rank(wanted).code(), base::Code::argument) << bad;
            EXPECT_EQ(member.rank(), member.slot_index());
        });
    }
    for_each(
        [](Member& member) { EXPECT_TRUE(member.synchronize().is_ok()) << "the members go on"; });
}

TEST_F(MemberTest, a_slot_is_taken_once_and_again_after_it_was_left) {
    segment_.slot(1).pid.fetch_add(1, std::memory_order_relaxed);  // now another process's
    EXPECT_EQ(members_[1]->take_slot().code(), base::Code::state);
    members_[1]->leave();
    EXPECT_TRUE(members_[1]->take_slot().is_ok());
    mark_dead(segment_, 1, 9);
    EXPECT_EQ(members_[1]->take_slot().code(), base::Code::peer);
}

}  // namespace
}  // namespace acp::node
