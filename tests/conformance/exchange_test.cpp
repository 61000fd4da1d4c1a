// SPDX-License-Identifier: BSD-3-Clause
// Patterns that are compiled to plans and executed round by round; and refused patterns and calls.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

#include "conformance/exchange_fixture.hpp"
#include "support/nodes.hpp"

namespace acp::test {
namespace {

TEST_F(ExchangeTest, a_ring_carries_messages_of_all_sizes_from_all_memory) {
    int number = 0;
    for (const std::size_t bytes :
         std::initializer_list<std::size_t>{0, 1, 60, 999, 1001, 2047, 2048, 28032, 300000}) {
        for (const auto kind : {Buffer::Kind::own, Buffer::Kind::heap}) {
            add_send(next(), number, kind, bytes);
            add_receive(before(), number, kind, bytes);
            ++number;
        }
    }
    const acp_plan_t plan = compile();
    run_rounds(plan, 7);
    free_plan(plan);
}

// Several rails connect the nodes: messages between nodes are split, and each round follows the
// bandwidths that the rounds before have measured.
TEST_F(ExchangeTest, long_messages_use_all_rails_and_the_plan_prints_their_rates) {
    add_send(next(), 0, Buffer::Kind::own, 1'300'007);
    add_send(next(), 1, Buffer::Kind::heap, 700'001);
    add_send(next(), 2, Buffer::Kind::own, 99);
    for (const int number : {0, 1, 2})
        add_receive(before(), number, Buffer::Kind::own,
                    sent_[static_cast<std::size_t>(number)].buffer.bytes());
    const acp_plan_t plan = compile();
    run_rounds(plan, 12);
    std::array<char, 4000> text{};
    ASSERT_GE(acp_explain_plan(plan, text.data(), text.size()), 0) << acp_error_message();
    const char* const rails = std::getenv("ACP_RAILS");
    const bool has_rails = rails != nullptr && std::atoi(rails) > 1 && !is_near(next());
    EXPECT_EQ(std::string(text.data()).find("rails, by how fast") != std::string::npos, has_rails)
        << text.data();
    free_plan(plan);
}

TEST_F(ExchangeTest, members_exchange_random_messages) {
    Random random = common_random();
    const auto kind = [&] { return random.chance(50) ? Buffer::Kind::own : Buffer::Kind::heap; };
    for (int from = 0; from < procs_; ++from) {
        for (int to = 0; to < procs_; ++to) {
            const auto messages = static_cast<int>(random.below(5));
            for (int number = 0; number < messages; ++number) {
                const std::size_t bytes = random.below(random.chance(20) ? 100'000 : 1200);
                const auto send_kind = kind();
                const auto receive_kind = kind();
                if (from == rank_) add_send(to, number, send_kind, bytes);
                if (to == rank_) add_receive(from, number, receive_kind, bytes);
            }
        }
    }
    const acp_plan_t plan = compile();
    run_rounds(plan, 20);
    free_plan(plan);
}

TEST_F(ExchangeTest, several_plans_of_one_pattern_go_at_once) {
    add_send(next(), 0, Buffer::Kind::own, 100);
    add_receive(before(), 0, Buffer::Kind::own, 100);
    const acp_plan_t first = compile();
    add_send(before(), 1, Buffer::Kind::heap, 5000);
    add_receive(next(), 1, Buffer::Kind::heap, 5000);
    const acp_plan_t second = compile();
    run_rounds(second, 3);
    fill(9);
    std::memset(received_[1].buffer.data(), 0, 1);
    ASSERT_EQ(acp_start_plan(first), 0);
    ASSERT_EQ(acp_wait_plan(first), 0) << acp_error_message();
    EXPECT_EQ(received_[0].buffer.data()[0], byte_of(before(), rank_, 0, 0, 9));
    EXPECT_EQ(received_[1].buffer.data()[0], 0) << "it is of the second plan alone";
    free_plan(second);
    // acp_finalize frees this plan
    run_rounds(compile(), 1);
    free_plan(first);
}

// Copies go to addresses in all kinds of memory; the owner adds no messages.
TEST_F(ExchangeTest, copies_go_to_addresses) {
    constexpr std::size_t bytes = 3000;
    const Buffer heap(Buffer::Kind::heap, bytes);
    std::vector<std::uint8_t> registered(bytes);
    const acp_atkey_t key = acp_register_memory(registered.data(), bytes, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
    const acp_ga_t starter = acp_query_starter_ga(rank_);
    const std::array<acp_ga_t, 3> own{heap.address(), acp_query_ga(key, registered.data()),
                                      starter};
    std::vector<std::uint8_t> source(bytes);
    for (std::size_t i = 0; i < own.size(); ++i) {
        const acp_ga_t target = exchange(own[i])[static_cast<std::size_t>(next())];
        ASSERT_EQ(acp_add_copy_pattern(pattern_, target, source.data(), bytes), 0)
            << acp_error_message();
    }
    const acp_plan_t plan = compile();
    for (int round = 0; round < 3; ++round) {
        std::fill(source.begin(), source.end(), byte_of(rank_, 0, 0, 0, round));
        ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
        ASSERT_EQ(acp_wait_plan(plan), 0) << acp_error_message();
        const std::vector<std::uint8_t> expected(bytes, byte_of(before(), 0, 0, 0, round));
        EXPECT_EQ(std::memcmp(heap.data(), expected.data(), bytes), 0) << "heap";
        EXPECT_EQ(registered, expected);
        EXPECT_EQ(std::memcmp(acp_query_address(starter), expected.data(), bytes), 0) << "starter";
    }
    free_plan(plan);
    EXPECT_EQ(acp_unregister_memory(key), 0);
    std::memset(acp_query_address(starter), 0, bytes);
}

// No copy reaches the owner's memory before the owner has started the round, and the sender is at
// most two rounds ahead of it.
TEST_F(ExchangeTest, the_owner_of_the_target_of_a_copy_starts_and_waits_as_often_as_the_sender) {
    if (procs_ == 1) return;  // the sender is the owner
    constexpr int rounds = 3;
    constexpr int owner = 1;
    const Buffer target(Buffer::Kind::heap, 60);
    std::memset(target.data(), 0, target.bytes());
    std::vector<std::uint8_t> source(target.bytes());
    const acp_ga_t address = exchange(target.address())[owner];
    if (rank_ == 0) {
        ASSERT_EQ(acp_add_copy_pattern(pattern_, address, source.data(), source.size()), 0);
    }
    const acp_plan_t plan = compile();
    for (int round = 1; round <= rounds && rank_ == 0; ++round) {
        std::fill(source.begin(), source.end(), static_cast<std::uint8_t>(round));
        ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
        if (round == rounds) continue;
        ASSERT_EQ(acp_wait_plan(plan), 0) << acp_error_message();
    }
    if (rank_ == 0) {
        EXPECT_EQ(acp_test_plan(plan), 0) << "three rounds ahead";
    }
    sync_ranks();
    for (int round = 1; round <= rounds && rank_ == owner; ++round) {
        const auto has = [&](int byte) {
            std::uint8_t* const end = target.data() + target.bytes();
            return std::count(target.data(), end, static_cast<std::uint8_t>(byte)) ==
                   end - target.data();
        };
        EXPECT_TRUE(has(round - 1)) << "before it starts round " << round;
        ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
        EXPECT_TRUE(has(round - 1)) << "before it waits for round " << round;
        ASSERT_EQ(acp_wait_plan(plan), 0) << acp_error_message();
        EXPECT_TRUE(has(round)) << "after round " << round;
    }
    if (rank_ == 0) {
        ASSERT_EQ(acp_wait_plan(plan), 0) << acp_error_message();
    }
    free_plan(plan);
}

TEST_F(ExchangeTest, a_copy_that_is_read_in_place_lasts_until_the_owner_of_its_target_waits) {
    constexpr int owner = 1;
    if (procs_ == 1 || node_of(0) != node_of(owner)) return;
    const Buffer target(Buffer::Kind::heap, 4000);
    const Buffer source(Buffer::Kind::heap, target.bytes());
    std::memset(target.data(), 0, target.bytes());
    std::memset(source.data(), 1, source.bytes());
    const acp_ga_t address = exchange(target.address())[owner];
    if (rank_ == 0) {
        ASSERT_EQ(acp_add_copy_pattern(pattern_, address, source.data(), source.bytes()), 0);
    }
    const acp_plan_t plan = compile();
    if (rank_ == 0) {
        ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
        EXPECT_EQ(acp_test_plan(plan), 0);
    }
    sync_ranks();
    if (rank_ == owner) {
        ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
        EXPECT_EQ(target.data()[0], 0);
    }
    if (rank_ <= owner) {
        ASSERT_EQ(acp_wait_plan(plan), 0) << acp_error_message();
    }
    if (rank_ == owner) {
        EXPECT_EQ(target.data()[target.bytes() - 1], 1);
    }
    free_plan(plan);
}

TEST_F(ExchangeTest, a_member_without_messages_takes_part) {
    if (rank_ == 0) add_send(0, 0, Buffer::Kind::own, 10);
    if (rank_ == 0) add_receive(0, 0, Buffer::Kind::own, 10);
    const acp_plan_t plan = compile();
    run_rounds(plan, 3);
    const std::string text = explained(plan);
    EXPECT_NE(text.find(rank_ == 0 ? "sends 1 message of 10 bytes" : "sends 0 messages"),
              std::string::npos)
        << text;
    free_plan(plan);
}

// A sender of short messages completes two rounds before its receiver has started the first.
TEST_F(ExchangeTest, senders_go_ahead_of_receivers) {
    if (procs_ == 1) return;
    if (rank_ == 0) add_send(procs_ - 1, 0, Buffer::Kind::own, 500);
    if (rank_ == procs_ - 1) add_receive(0, 0, Buffer::Kind::own, 500);
    const acp_plan_t plan = compile();
    for (int turn = 0; turn < 3; ++turn) {
        const int first = 2 * turn;
        if (rank_ == 0) {
            for (int round = first; round < first + 2; ++round) {
                fill(round);
                ASSERT_EQ(acp_start_plan(plan), 0);
                ASSERT_EQ(acp_wait_plan(plan), 0) << acp_error_message();
            }
        }
        sync_ranks();
        if (rank_ == procs_ - 1) {
            for (int round = first; round < first + 2; ++round) {
                fill(round);
                ASSERT_EQ(acp_start_plan(plan), 0);
                ASSERT_EQ(acp_wait_plan(plan), 0) << acp_error_message();
                check(round);
            }
        }
        sync_ranks();
    }
    free_plan(plan);
}

TEST_F(ExchangeTest, a_team_in_another_order_has_its_own_neighbours) {
    const acp_team_t team = acp_split_team(world_, 0, -rank_);
    ASSERT_NE(team, ACP_TEAM_NULL);
    const acp_pattern_t pattern = acp_create_pattern(team);
    std::uint64_t mine = 100 + static_cast<std::uint64_t>(rank_);
    std::uint64_t got = 0;
    ASSERT_EQ(acp_add_send_pattern(pattern, procs_ > 1 ? 1 : 0, &mine, sizeof mine), 0);
    ASSERT_EQ(acp_add_recv_pattern(pattern, procs_ > 1 ? -1 : 0, &got, sizeof got), 0);
    const acp_plan_t plan = acp_compile_pattern(pattern, nullptr);
    ASSERT_NE(plan, ACP_PLAN_NULL) << acp_error_message();
    EXPECT_EQ(acp_free_pattern(pattern), 0);
    ASSERT_EQ(acp_start_plan(plan), 0);
    ASSERT_EQ(acp_wait_plan(plan), 0);
    EXPECT_EQ(got, 100 + static_cast<std::uint64_t>(next()));
    free_plan(plan);
    free_team(team);
}

// The planner splits and orders the messages, and the explanation has its prediction.
TEST_F(ExchangeTest, a_network_decides_the_order) {
    for (const int number : {0, 1, 2}) {
        add_send(next(), number, Buffer::Kind::heap, 200'000);
        add_receive(before(), number, Buffer::Kind::own, 200'000);
    }
    const std::string network = "torus 5000 " + std::to_string(procs_);
    const acp_plan_t plan = compile(network.c_str());
    run_rounds(plan, 3);
    const std::string text = explained(plan);
    EXPECT_EQ(text.find("predicted: ") != std::string::npos, procs_ > 1) << text;
    free_plan(plan);
    expect_none(acp_compile_pattern(pattern_, "torus 5000 2 50"), ACP_ERR_ARGUMENT, "100 nodes");
    expect_none(acp_compile_pattern(pattern_, "nonsense"), ACP_ERR_ARGUMENT, "line 1");
}

// A plan can be loaded only by the members that saved it and for the same messages, else all fail.
TEST_F(ExchangeTest, a_plan_is_saved_and_loaded) {
    add_send(next(), 0, Buffer::Kind::heap, 200'000);
    add_receive(before(), 0, Buffer::Kind::own, 200'000);
    const std::string network = "torus 5000 " + std::to_string(procs_);
    const acp_plan_t planned = compile(network.c_str());
    const std::string path = ::testing::TempDir() + "acp_plan_" +
                             std::to_string(exchange(static_cast<std::uint64_t>(getpid()))[0]) +
                             "_" + std::to_string(rank_);
    ASSERT_EQ(acp_save_plan(planned, path.c_str()), 0) << acp_error_message();
    const acp_plan_t loaded = acp_load_plan(pattern_, path.c_str());
    ASSERT_NE(loaded, ACP_PLAN_NULL) << acp_error_message();
    EXPECT_EQ(explained(loaded),
              // Equal only before the first round: rounds add measurements of rails.
              explained(planned));
    run_rounds(loaded, 3);
    free_plan(loaded);
    expect_refused(acp_save_plan(planned, "/nowhere/plan"), ACP_ERR_SYSTEM, "/nowhere/plan");
    free_plan(planned);
    if (rank_ == 0) {
        EXPECT_EQ(truncate(path.c_str(), 30), 0);
    }
    expect_none(acp_load_plan(pattern_, path.c_str()), ACP_ERR_ARGUMENT,
                rank_ == 0 ? "not of a saved plan" : "member 0 (rank 0)");
    EXPECT_EQ(unlink(path.c_str()), 0);
    expect_none(acp_load_plan(pattern_, path.c_str()), ACP_ERR_SYSTEM, path);
}

// The saved plan belongs to a job with other messages.
TEST_F(ExchangeTest, a_plan_of_other_messages_is_refused) {
    std::array<std::uint64_t, 2> words{};
    ASSERT_EQ(acp_add_send_pattern(pattern_, 0, &words[0], 8), 0);
    ASSERT_EQ(acp_add_recv_pattern(pattern_, 0, &words[1], 8), 0);
    const acp_plan_t plan = compile();
    const std::string path = ::testing::TempDir() + "acp_plan_" + std::to_string(getpid());
    ASSERT_EQ(acp_save_plan(plan, path.c_str()), 0) << acp_error_message();
    free_plan(plan);
    const acp_pattern_t other = acp_create_pattern(world_);
    ASSERT_EQ(acp_add_send_pattern(other, 0, &words[0], 4), 0);
    ASSERT_EQ(acp_add_recv_pattern(other, 0, &words[1], 4), 0);
    expect_none(acp_load_plan(other, path.c_str()), ACP_ERR_MISMATCH, "for other messages");
    EXPECT_EQ(acp_free_pattern(other), 0);
    EXPECT_EQ(unlink(path.c_str()), 0);
}

TEST_F(ExchangeTest, bad_messages_are_refused_when_they_are_added) {
    char byte = 0;
    expect_refused(acp_add_send_pattern(pattern_, procs_, &byte, 1), ACP_ERR_ARGUMENT,
                   "reaches no member");
    expect_refused(acp_add_recv_pattern(pattern_, -procs_, &byte, 1), ACP_ERR_ARGUMENT,
                   "reaches no member");
    expect_refused(acp_add_send_pattern(pattern_, 0, nullptr, 1), ACP_ERR_ARGUMENT, "NULL");
    expect_refused(acp_add_recv_pattern(pattern_, 0, nullptr, 1), ACP_ERR_ARGUMENT, "NULL");
    expect_refused(acp_add_send_pattern(pattern_, 0, &byte, std::size_t{1} << 50), ACP_ERR_ARGUMENT,
                   "2^50");
    expect_refused(acp_add_copy_pattern(pattern_, ACP_GA_NULL, &byte, 1), ACP_ERR_ADDRESS,
                   "no member");
    for (int rank = 0; rank < procs_; ++rank) {
        const acp_ga_t starter = acp_query_starter_ga(rank);
        expect_refused(acp_add_copy_pattern(pattern_, starter, &byte, std::size_t{1} << 36),
                       ACP_ERR_ADDRESS, "of a segment of");
    }
    std::array<char, 64> memory{};
    const acp_atkey_t key = acp_register_memory(memory.data(), memory.size(), 0);
    const acp_ga_t address = acp_query_ga(key, memory.data());
    EXPECT_EQ(acp_unregister_memory(key), 0);
    expect_refused(acp_add_copy_pattern(pattern_, address, &byte, 1), ACP_ERR_STALE,
                   "was unregistered");
    expect_refused(acp_add_send_pattern(ACP_PATTERN_NULL, 0, &byte, 1), ACP_ERR_STALE,
                   "no such pattern");
    EXPECT_EQ(acp_create_pattern(ACP_TEAM_NULL), ACP_PATTERN_NULL);
    EXPECT_EQ(acp_errno(), ACP_ERR_STALE);
    const acp_plan_t plan = compile();  // nothing was added
    run_rounds(plan, 2);
    free_plan(plan);
}

TEST_F(ExchangeTest, calls_out_of_turn_are_refused) {
    add_send(next(), 0, Buffer::Kind::heap, 4000);
    add_receive(before(), 0, Buffer::Kind::heap, 4000);
    const acp_plan_t plan = compile();
    expect_refused(acp_wait_plan(plan), ACP_ERR_STATE, "not started");
    expect_refused(acp_test_plan(plan), ACP_ERR_STATE, "not started");
    fill(0);
    ASSERT_EQ(acp_start_plan(plan), 0);
    expect_refused(acp_start_plan(plan), ACP_ERR_STATE, "it was started");
    expect_refused(acp_free_plan(plan), ACP_ERR_STATE, "it was started");
    ASSERT_EQ(acp_wait_plan(plan), 0);
    check(0);
    expect_refused(acp_explain_plan(plan, nullptr, 7), ACP_ERR_ARGUMENT, "NULL");
    std::array<char, 8> start{};
    EXPECT_GT(acp_explain_plan(plan, start.data(), start.size()), 8);
    EXPECT_STREQ(start.data(), "sends 1");
    free_plan(plan);
    expect_refused(acp_start_plan(plan), ACP_ERR_STALE, "no such plan");
    expect_refused(acp_free_plan(plan), ACP_ERR_STALE, "no such plan");
}

// The pattern also has messages without bytes: they take numbers too.
TEST_F(ExchangeTest, messages_of_two_members_that_overlap_are_both_named) {
    if (procs_ < 3) return;
    std::array<char, 100> bytes{};
    if (rank_ == 1 || rank_ == 2) {
        acp_add_send_pattern(pattern_, -rank_, bytes.data(), 0);
        acp_add_send_pattern(pattern_, -rank_, bytes.data(), 30);
    }
    for (const int sender : {1, 2}) {
        if (rank_ != 0) continue;
        acp_add_recv_pattern(pattern_, sender, bytes.data(), 0);
        acp_add_recv_pattern(pattern_, sender, bytes.data() + 25 * (2 - sender), 30);
    }
    const acp_plan_t plan = acp_compile_pattern(pattern_, nullptr);
    const char* const both =
        "byte 25 of message 1 from member 2 (rank 2) comes to the same place as byte 0 of message "
        "1 from member 1 (rank 1)";
    expect_none(plan, ACP_ERR_ARGUMENT, rank_ == 0 ? both : "member 0 (rank 0)");
}

// All members fail, the affected one with the details; and the heap is as before.
TEST_F(ExchangeTest, patterns_that_do_not_fit_are_refused_on_all_members) {
    std::array<char, 100> bytes{};
    const auto expect_refusal = [&](int code, const char* detail) {
        const acp_plan_t plan = acp_compile_pattern(pattern_, nullptr);
        expect_none(plan, code, rank_ == 0 ? detail : "member 0 (rank 0)");
        EXPECT_EQ(acp_free_pattern(pattern_), 0);
        pattern_ = acp_create_pattern(world_);
    };
    if (rank_ == 0) acp_add_recv_pattern(pattern_, 0, bytes.data(), 10);
    expect_refusal(ACP_ERR_MISMATCH, "sends nothing");
    if (rank_ == 0) acp_add_recv_pattern(pattern_, 0, bytes.data(), 10);
    if (rank_ == 0) acp_add_send_pattern(pattern_, 0, bytes.data() + 50, 11);
    expect_refusal(ACP_ERR_MISMATCH, "sends 11 bytes as its message 0");
    if (rank_ == procs_ - 1) acp_add_send_pattern(pattern_, 1 - procs_, bytes.data(), 10);
    expect_refusal(ACP_ERR_MISMATCH, "sends 1 messages to this one, which expects 0");
    for (const int place : {0, 9}) {
        if (rank_ == 0) acp_add_recv_pattern(pattern_, 1 - procs_, bytes.data() + place, 10);
        if (rank_ == procs_ - 1 && procs_ > 1)
            acp_add_send_pattern(pattern_, 1 - procs_, bytes.data() + place, 10);
        if (procs_ == 1) acp_add_send_pattern(pattern_, 0, bytes.data() + place, 10);
    }
    if (procs_ <= 2) {
        const std::string sender =
            "member " + std::to_string(procs_ - 1) + " (rank " + std::to_string(procs_ - 1) + ")";
        const std::string both = "overlap in this one's memory: byte 9 of message 0 from " +
                                 sender + " comes to the same place as byte 0 of message 1 from " +
                                 sender;
        expect_refusal(ACP_ERR_ARGUMENT, both.c_str());
    }
    if (procs_ <= 2) {
        std::array<char, 64> memory{};
        const acp_atkey_t key = acp_register_memory(memory.data(), memory.size(), 0);
        const acp_ga_t address = exchange(acp_query_ga(key, memory.data()))[0];
        if (rank_ == procs_ - 1) acp_add_copy_pattern(pattern_, address, bytes.data(), 10);
        sync_ranks();
        EXPECT_EQ(acp_unregister_memory(key), 0);
        expect_refusal(ACP_ERR_STALE, "copies to");
    }
}

TEST_F(ExchangeTest, a_pattern_has_a_million_messages_and_no_more) {
    std::vector<std::uint64_t> from(ACP_PATTERN_MESSAGES_MAX);
    std::vector<std::uint64_t> to(rank_ == procs_ - 1 ? from.size() : 0);
    for (std::size_t i = 0; i < from.size() && rank_ == 0; ++i) {
        from[i] = i;
        ASSERT_EQ(acp_add_send_pattern(pattern_, procs_ - 1, &from[i], 8), 0);
        // Its receives count too.
        if (procs_ == 1) break;
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        ASSERT_EQ(acp_add_recv_pattern(pattern_, 1 - procs_, &to[i], 8), 0);
        if (procs_ == 1) break;
    }
    if (rank_ == 0 && procs_ > 1) {
        expect_refused(acp_add_send_pattern(pattern_, 0, from.data(), 8), ACP_ERR_LIMIT,
                       "1048576 messages");
    }
    const acp_plan_t plan = compile();
    ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
    ASSERT_EQ(acp_wait_plan(plan), 0) << acp_error_message();
    for (std::size_t i = 0; i < to.size() && procs_ > 1; ++i) ASSERT_EQ(to[i], i);
    free_plan(plan);
}

TEST_F(ExchangeTest, a_heap_without_room_is_reported) {
    std::vector<char> large(rank_ == 0 ? 200U << 20 : 0);
    EXPECT_EQ(acp_add_send_pattern(pattern_, 0, large.data(), large.size()), 0);
    expect_none(acp_compile_pattern(pattern_, nullptr), ACP_ERR_MEMORY,
                rank_ == 0 ? "heap" : "member 0 (rank 0)");
}

// A freed plan leaves nothing in the heap.
TEST_F(ExchangeTest, plans_that_come_and_go_leave_nothing) {
    add_send(next(), 0, Buffer::Kind::own, 40'000);
    add_receive(before(), 0, Buffer::Kind::own, 40'000);
    free_plan(compile());
    const auto used = [] {
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(acp_rank(), &stat), 0) << acp_error_message();
        return stat.blocks;
    };
    sync_ranks();
    const auto before_all = used();
    for (int life = 0; life < 50; ++life) {
        const acp_plan_t plan = compile();
        run_rounds(plan, 1);
        free_plan(plan);
    }
    sync_ranks();
    EXPECT_EQ(used(), before_all);
}

// All members fail, and the message has the plan that each of them has freed.
TEST_F(ExchangeTest, members_that_free_different_plans_fail) {
    if (procs_ == 1) GTEST_SKIP() << "needs two ranks";
    const acp_team_t team = acp_split_team(world_, 0, rank_);
    ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
    const acp_pattern_t empty = acp_create_pattern(team);
    const acp_plan_t first = acp_compile_pattern(empty, nullptr);
    const acp_plan_t second = acp_compile_pattern(empty, nullptr);
    ASSERT_NE(second, ACP_PLAN_NULL) << acp_error_message();
    EXPECT_EQ(acp_sync(), 0);  // all have both plans before one breaks the team
    expect_refused(acp_free_plan(rank_ == 0 ? first : second), ACP_ERR_MISMATCH,
                   "acp_free_plan of the team's ");
    EXPECT_EQ(acp_free_plan(rank_ == 0 ? second : first), -1);  // the team is broken
    EXPECT_EQ(acp_free_pattern(empty), 0);
    free_team(team);
}

}  // namespace
}  // namespace acp::test
