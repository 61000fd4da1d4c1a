// SPDX-License-Identifier: BSD-3-Clause
// Plans of the ranks of one node: each round delivers its own bytes, a sender is two rounds ahead at
// most, patterns that do not fit together make no plan on any member and leave nothing in any heap,
// and a call in the wrong state changes nothing.
#include "execution/plans.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "support/scoped_watchdog.hpp"
#include "unit/execution/plan_node.hpp"

namespace acp::execution::test {
namespace {

using base::Code;
using base::Status;

class PlansTest : public testing::Test {
protected:
    static constexpr std::uint32_t procs = 3;

    // Every rank sends `bytes` bytes to the next one.
    [[nodiscard]] std::vector<PlanHandle> ring(std::uint64_t bytes) {
        sent_.assign(procs, std::vector<char>(bytes + 1));
        received_.assign(procs, std::vector<char>(bytes + 1, '.'));
        return node_.compile([&](std::uint32_t rank, Pattern& pattern) {
            Status status = pattern.add_send(1, sent_[rank].data(), bytes);
            if (status.is_ok()) status = pattern.add_receive(-1, received_[rank].data(), bytes);
            return status;
        });
    }

    [[nodiscard]] std::vector<std::uint64_t> used() {
        std::vector<std::uint64_t> all;
        for (std::uint32_t rank = 0; rank < procs; ++rank) all.push_back(node_.used(rank));
        return all;
    }

    // Tests a plan until its round has ended.
    void end_round(std::uint32_t rank, PlanHandle plan) {
        for (;;) {
            auto ended = node_.plans(rank).test(plan);
            ASSERT_TRUE(ended.is_ok()) << ended.failure().message();
            if (ended.value()) return;
        }
    }

    [[nodiscard]] bool has_ended(std::uint32_t rank, PlanHandle plan) {
        auto ended = node_.plans(rank).test(plan);
        EXPECT_TRUE(ended.is_ok()) << ended.failure().message();
        return ended.is_ok() && ended.value();
    }

    acp::test::ScopedWatchdog watchdog_{"plans of three ranks"};
    PlanNode node_{procs};
    std::vector<std::vector<char>> sent_, received_;
};

// A message of a test: from `from` to the rank `shift` behind it.
struct Sent {
    std::uint64_t bytes;
    int shift;
    bool is_shared;  // from and to memory that the node has mapped
};

TEST_F(PlansTest, each_round_delivers_its_own_bytes) {
    // Both sides of a line, and of the length that is read in place; a message to oneself.
    std::vector<Sent> messages;
    for (const std::uint64_t bytes :
         {0U, 1U, 63U, 64U, 65U, 127U, 128U, 2047U, 2048U, 2049U, 100'000U}) {
        messages.push_back({bytes, 1, false});
        messages.push_back({bytes, -1, true});
        messages.push_back({bytes, 0, bytes % 2 == 0});
    }
    std::vector<std::vector<char*>> from(procs), to(procs);
    std::vector<std::vector<std::vector<char>>> memory(procs);
    for (std::uint32_t rank = 0; rank < procs; ++rank) {
        for (const Sent& message : messages) {
            for (auto* const places : {&from[rank], &to[rank]}) {
                if (message.is_shared) {
                    places->push_back(node_.shared(rank, message.bytes + 1));
                } else {
                    memory[rank].emplace_back(message.bytes + 1);
                    places->push_back(memory[rank].back().data());
                }
            }
        }
    }
    const auto plans = node_.compile([&](std::uint32_t rank, Pattern& pattern) {
        Status status;
        for (std::size_t i = 0; i < messages.size() && status.is_ok(); ++i)
            status = pattern.add_send(messages[i].shift, from[rank][i], messages[i].bytes);
        for (std::size_t i = 0; i < messages.size() && status.is_ok(); ++i)
            status = pattern.add_receive(-messages[i].shift, to[rank][i], messages[i].bytes);
        return status;
    });
    node_.on_all([&](std::uint32_t rank) {
        for (std::uint64_t round = 1; round <= 9; ++round) {
            for (std::size_t i = 0; i < messages.size(); ++i) {
                for (std::uint64_t k = 0; k < messages[i].bytes; ++k)
                    from[rank][i][k] = byte_of(rank, round + i, k);
                to[rank][i][messages[i].bytes] = '!';
            }
            ASSERT_TRUE(node_.plans(rank).start(plans[rank]).is_ok());
            const Status end = node_.plans(rank).wait(plans[rank]);
            ASSERT_TRUE(end.is_ok()) << end.message();
            for (std::size_t i = 0; i < messages.size(); ++i) {
                const auto source = static_cast<std::uint32_t>(
                    (static_cast<int>(rank + procs) - messages[i].shift) % static_cast<int>(procs));
                for (std::uint64_t k = 0; k < messages[i].bytes; ++k)
                    ASSERT_EQ(to[rank][i][k], byte_of(source, round + i, k))
                        << "byte " << k << " of message " << i << " in round " << round;
                ASSERT_EQ(to[rank][i][messages[i].bytes], '!') << "written behind message " << i;
            }
        }
    });
    node_.free(plans);
}

TEST_F(PlansTest, a_sender_is_two_rounds_ahead_and_no_more) {
    std::vector<char> sent(200), received(200, '.');
    const auto plans = node_.compile([&](std::uint32_t rank, Pattern& pattern) {
        if (rank == 0) return pattern.add_send(1, sent.data(), sent.size());
        return rank == 1 ? pattern.add_receive(-1, received.data(), received.size()) : Status();
    });
    for (const char letter : {'a', 'b'}) {
        std::fill(sent.begin(), sent.end(), letter);
        ASSERT_TRUE(node_.plans(0).start(plans[0]).is_ok());
        EXPECT_TRUE(has_ended(0, plans[0])) << "its bytes are in the outbox";
    }
    std::fill(sent.begin(), sent.end(), 'c');
    ASSERT_TRUE(node_.plans(0).start(plans[0]).is_ok());
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(has_ended(0, plans[0])) << "the outbox is in use";
    for (const char letter : {'a', 'b', 'c'}) {
        ASSERT_TRUE(node_.plans(1).start(plans[1]).is_ok());
        if (letter == 'b') {
            EXPECT_TRUE(has_ended(0, plans[0])) << "round 1 was consumed";
        }
        end_round(1, plans[1]);
        EXPECT_EQ(received, std::vector<char>(200, letter));
    }
    node_.free(plans);
}

TEST_F(PlansTest, a_round_whose_bytes_are_read_in_place_ends_after_its_receiver) {
    char* const sent = node_.shared(0, 4096);
    std::fill(sent, sent + 4096, 'a');
    std::vector<char> received(4096);
    const auto plans = node_.compile([&](std::uint32_t rank, Pattern& pattern) {
        if (rank == 0) return pattern.add_send(1, sent, 4096);
        return rank == 1 ? pattern.add_receive(-1, received.data(), 4096) : Status();
    });
    for (const char letter : {'a', 'b', 'c'}) {
        std::fill(sent, sent + 4096, letter);
        ASSERT_TRUE(node_.plans(0).start(plans[0]).is_ok());
        for (int i = 0; i < 10; ++i)
            EXPECT_FALSE(has_ended(0, plans[0])) << "the receiver may still read the buffer";
        ASSERT_TRUE(node_.plans(1).start(plans[1]).is_ok());
        end_round(1, plans[1]);
        EXPECT_EQ(received, std::vector<char>(4096, letter));
        EXPECT_TRUE(has_ended(0, plans[0]));
    }
    auto text = node_.plans(0).explain(plans[0]);
    ASSERT_TRUE(text.is_ok());
    EXPECT_NE(text.value().find("to member 1 on this node: 1 message of 4096 bytes, 1 in place\n"),
              std::string::npos)
        << text.value();
    node_.free(plans);
}

TEST_F(PlansTest, a_call_in_the_wrong_state_changes_nothing) {
    const auto plans = ring(8);
    Plans& own = node_.plans(0);
    EXPECT_EQ(own.test(plans[0]).failure().code(), Code::state);
    EXPECT_EQ(own.wait(plans[0]).code(), Code::state);
    node_.on_all([&](std::uint32_t rank) {
        Plans& its = node_.plans(rank);
        ASSERT_TRUE(its.start(plans[rank]).is_ok());
        EXPECT_EQ(its.start(plans[rank]).code(), Code::state);
        EXPECT_EQ(its.free_plan(plans[rank]).code(), Code::state);
        ASSERT_TRUE(its.wait(plans[rank]).is_ok());
        EXPECT_EQ(its.wait(plans[rank]).code(), Code::state);
    });
    node_.free(plans);
    for (const PlanHandle none : {plans[0], PlanHandle{0}, ~PlanHandle{0}, PlanHandle{1}}) {
        EXPECT_EQ(own.start(none).code(), Code::stale);
        EXPECT_EQ(own.test(none).failure().code(), Code::stale);
        EXPECT_EQ(own.wait(none).code(), Code::stale);
        EXPECT_EQ(own.explain(none).failure().code(), Code::stale);
        EXPECT_EQ(own.save(none, "/dev/null").code(), Code::stale);
        EXPECT_EQ(own.free_plan(none).code(), Code::stale);
        EXPECT_EQ(own.free_pattern(none).code(), Code::stale);
        EXPECT_EQ(own.compile(none, nullptr).failure().code(), Code::stale);
        EXPECT_EQ(own.load(none, "/dev/null").failure().code(), Code::stale);
    }
    const PatternHandle pattern = node_.pattern(0, [](Pattern&) { return Status(); });
    EXPECT_EQ(own.start(pattern).code(), Code::stale) << "a pattern is no plan";
    EXPECT_TRUE(own.free_pattern(pattern).is_ok());
    EXPECT_EQ(own.free_pattern(pattern).code(), Code::stale);
    EXPECT_EQ(own.make_pattern(team::no_team).failure().code(), Code::stale);
}

TEST_F(PlansTest, patterns_that_do_not_fit_make_no_plan_and_leave_no_memory) {
    std::vector<char> memory(1024);

    struct Row {
        const char* words;
        Code code;
        PlanNode::Fill fill;
    };

    char* const at = memory.data();
    const auto only = [](std::uint32_t who, const auto& add) {
        return [=](std::uint32_t rank, Pattern& pattern) {
            return rank == who ? add(pattern) : Status();
        };
    };
    const std::vector<Row> rows{
        {"sends 1 messages to this one, which expects 0", Code::mismatch,
         only(0, [=](Pattern& p) { return p.add_send(1, at, 8); })},
        {"sends nothing to this one, which expects 1", Code::mismatch,
         only(2, [=](Pattern& p) { return p.add_receive(1, at, 8); })},
        {"sends 8 bytes as its message 0 to this one, which expects 9", Code::mismatch,
         [=](std::uint32_t rank, Pattern& p) {
             return rank == 0   ? p.add_send(1, at, 8)
                    : rank == 1 ? p.add_receive(-1, at, 9)
                                : Status();
         }},
        {"sends 1 messages to this one, which expects 2", Code::mismatch,
         [=](std::uint32_t rank, Pattern& p) {
             if (rank == 0) return p.add_send(1, at, 8);
             if (rank != 1) return Status();
             Status status = p.add_receive(-1, at, 8);
             return status.is_ok() ? p.add_receive(-1, at + 8, 8) : std::move(status);
         }},
        {"byte 7 of message 0 from member 0 (rank 0) comes to the same place as byte 0 of message "
         "1 from member 0",
         Code::argument,
         [=](std::uint32_t rank, Pattern& p) {
             Status status;
             for (const int which : {0, 1}) {
                 if (rank == 0) status = p.add_send(1, at, 8);
                 if (rank == 1) status = p.add_receive(-1, at + 100 + 7 * which, 8);
                 if (!status.is_ok()) return status;
             }
             return status;
         }},
    };
    const auto before = used();
    for (const Row& row : rows) {
        bool is_told = false;
        for (const CompiledPlan& each : node_.try_compile(row.fill)) {
            EXPECT_EQ(each.code, row.code) << each.words;
            const bool is_own = each.words.find(row.words) != std::string::npos;
            is_told = is_told || is_own;
            EXPECT_TRUE(is_own ||
                        each.words.find("could not make its part of the plan") != std::string::npos)
                << each.words;
        }
        EXPECT_TRUE(is_told) << row.words;
        EXPECT_EQ(used(), before) << "blocks of a plan that was not made stay: " << row.words;
    }
    node_.free(ring(8));  // the team is whole
    EXPECT_EQ(used(), before) << "blocks of a freed plan stay";
}

TEST_F(PlansTest, receives_side_by_side_and_empty_ones_do_not_overlap) {
    std::vector<char> sent(64, 's'), received(64, '.');
    const auto plans = node_.compile([&](std::uint32_t rank, Pattern& pattern) {
        Status status;
        for (std::uint64_t i = 0; i < 4 && status.is_ok(); ++i) {
            if (rank == 0) status = pattern.add_send(1, sent.data(), i == 2 ? 0 : 16);
            if (rank == 1) {
                status = pattern.add_receive(-1, received.data() + (i == 2 ? 8 : 16 * i),
                                             i == 2 ? 0 : 16);
            }
        }
        return status;
    });
    node_.free(plans);
}

TEST_F(PlansTest, a_member_without_room_fails_the_plan_on_all) {
    std::vector<memory::GlobalAddress> filling;
    data::Allocator& heap = *node_.ranks()[1].allocator;
    for (std::uint64_t bytes = 64 * 1024; bytes >= 64; bytes /= 2) {
        for (;;) {
            auto block = heap.allocate(1, bytes, 64);
            if (!block.is_ok()) break;
            filling.push_back(block.value());
        }
    }
    const auto before = used();
    std::vector<char> memory(4096);
    const auto fill = [&](std::uint32_t rank, Pattern& pattern) {
        return rank == 1   ? pattern.add_send(1, memory.data(), memory.size())
               : rank == 2 ? pattern.add_receive(-1, memory.data(), memory.size())
                           : Status();
    };
    for (const CompiledPlan& each : node_.try_compile(fill))
        EXPECT_EQ(each.code, Code::memory) << each.words;
    EXPECT_EQ(used(), before);
    for (const memory::GlobalAddress block : filling) EXPECT_TRUE(heap.free(block).is_ok());
    node_.free(node_.compile(fill));
}

TEST_F(PlansTest, a_wrong_network_or_file_of_one_member_fails_the_plan_on_all) {
    const auto before = used();
    const auto none = [](std::uint32_t, Pattern&) { return Status(); };
    for (const char* const network : {"no network", "network 1"}) {
        for (const CompiledPlan& each : node_.try_compile(none, network))
            EXPECT_EQ(each.code, Code::argument) << network << ": " << each.words;
    }
    for (const char* const path : {static_cast<const char*>(nullptr), "/nowhere/plan", "/"}) {
        node_.on_all([&](std::uint32_t rank) {
            const PatternHandle pattern = node_.pattern(rank, [](Pattern&) { return Status(); });
            // Only rank 1 has a file at all that cannot be read; the others compile.
            auto made = rank == 1 ? node_.plans(rank).load(pattern, path)
                                  : node_.plans(rank).compile(pattern, nullptr);
            EXPECT_FALSE(made.is_ok());
            EXPECT_TRUE(node_.plans(rank).free_pattern(pattern).is_ok());
        });
    }
    EXPECT_EQ(used(), before);
    node_.free(ring(8));
}

TEST_F(PlansTest, a_saved_plan_is_loaded_for_the_same_messages_alone) {
    char path[] = "/tmp/acp-plan-XXXXXX";
    ASSERT_GE(::mkstemp(path), 0);
    const auto plans = ring(1000);
    const std::vector<std::string> paths{path, std::string(path) + ".1", std::string(path) + ".2"};
    for (std::uint32_t rank = 0; rank < procs; ++rank) {
        const Status saved = node_.plans(rank).save(plans[rank], paths[rank].c_str());
        ASSERT_TRUE(saved.is_ok()) << saved.message();
    }
    EXPECT_EQ(node_.plans(0).save(plans[0], nullptr).code(), Code::argument);
    EXPECT_FALSE(node_.plans(0).save(plans[0], "/nowhere/plan").is_ok());
    node_.free(plans);
    // With the same messages, then with others, then with the file of another member.
    const auto load = [&](std::uint64_t bytes, std::uint32_t shift) {
        std::vector<CompiledPlan> made(procs);
        node_.on_all([&](std::uint32_t rank) {
            const PatternHandle pattern = node_.pattern(rank, [&](Pattern& own) {
                Status status = own.add_send(1, sent_[rank].data(), bytes);
                return status.is_ok() ? own.add_receive(-1, received_[rank].data(), bytes)
                                      : std::move(status);
            });
            made[rank].set(node_.plans(rank).load(pattern, paths[(rank + shift) % procs].c_str()));
            EXPECT_TRUE(node_.plans(rank).free_pattern(pattern).is_ok());
        });
        return made;
    };
    const auto before = used();
    for (const CompiledPlan& each : load(999, 0))
        EXPECT_EQ(each.code, Code::mismatch) << each.words;
    for (const CompiledPlan& each : load(1000, 1))
        EXPECT_EQ(each.code, Code::mismatch) << each.words;
    EXPECT_EQ(used(), before);
    std::vector<PlanHandle> loaded;
    for (const CompiledPlan& each : load(1000, 0)) {
        ASSERT_EQ(each.code, Code::ok) << each.words;
        loaded.push_back(each.plan);
    }
    node_.on_all([&](std::uint32_t rank) {
        std::fill(sent_[rank].begin(), sent_[rank].end(), static_cast<char>('a' + rank));
        ASSERT_TRUE(node_.plans(rank).start(loaded[rank]).is_ok());
        ASSERT_TRUE(node_.plans(rank).wait(loaded[rank]).is_ok());
        EXPECT_EQ(received_[rank][999], static_cast<char>('a' + (rank + procs - 1) % procs));
    });
    node_.free(loaded);
    for (const std::string& each : paths) EXPECT_EQ(std::remove(each.c_str()), 0);
}

TEST_F(PlansTest, after_a_death_all_others_get_peer_and_may_free_the_plan) {
    const auto plans = ring(100);
    ASSERT_TRUE(node_.plans(0).start(plans[0]).is_ok());
    EXPECT_FALSE(has_ended(0, plans[0]));
    node_.ranks().die(2);
    EXPECT_EQ(node_.plans(0).wait(plans[0]).code(), Code::peer);
    EXPECT_EQ(node_.plans(0).start(plans[0]).code(), Code::peer) << "a broken plan stays broken";
    // The round of rank 1 needs nothing of the dead rank; the next one lacks the message of rank 0.
    ASSERT_TRUE(node_.plans(1).start(plans[1]).is_ok());
    (void)node_.plans(1).wait(plans[1]);
    (void)node_.plans(1).start(plans[1]);
    EXPECT_EQ(node_.plans(1).wait(plans[1]).code(), Code::peer);
    for (const std::uint32_t rank : {0U, 1U}) {
        EXPECT_EQ(node_.plans(rank).free_plan(plans[rank]).code(), Code::peer);
        EXPECT_EQ(node_.plans(rank).start(plans[rank]).code(), Code::stale);
    }
}

TEST_F(PlansTest, other_threads_make_progress_on_a_plan_while_its_owner_waits) {
    const auto plans = ring(5000);
    std::atomic<std::uint32_t> running{procs};
    node_.on_all([&](std::uint32_t rank) {
        std::thread helper([&] {
            bool is_thorough = false;
            while (running.load() != 0) node_.plans(rank).go_on(is_thorough = !is_thorough);
        });
        for (std::uint64_t round = 1; round <= 200; ++round) {
            for (std::uint64_t i = 0; i < 5000; ++i) sent_[rank][i] = byte_of(rank, round, i);
            EXPECT_TRUE(node_.plans(rank).start(plans[rank]).is_ok());
            EXPECT_TRUE(node_.plans(rank).wait(plans[rank]).is_ok());
            const std::uint32_t from = (rank + procs - 1) % procs;
            for (std::uint64_t i = 0; i < 5000; ++i) {
                if (received_[rank][i] == byte_of(from, round, i)) continue;
                ADD_FAILURE() << "byte " << i << " of round " << round;
                break;
            }
        }
        --running;
        helper.join();
    });
    node_.free(plans);
}

}  // namespace
}  // namespace acp::execution::test
