// SPDX-License-Identifier: BSD-3-Clause
// Deques on every rank, used by every rank: both ends, random access, and a deque as a queue of
// work for all ranks.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "support/heap_ranks.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

class DequeTest : public HeapRankedTest {
protected:
    static std::string content(acp_deque_t deque) {
        std::string read(acp_size_deque(deque) + 1, '\0');
        const std::int64_t count = acp_read_deque(deque, 0, read.data(), read.size());
        EXPECT_GE(count, 0) << acp_error_message();
        read.resize(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
        return read;
    }

    static std::string at(const acp_element_t& piece) {
        std::string read(piece.size, '\0');
        if (piece.size != 0)
            expect_done(acp_get(read.data(), piece.ga, piece.size, ACP_HANDLE_NULL));
        return read;
    }

    static std::string take(acp_deque_t deque, bool is_front, std::size_t bytes) {
        std::string taken(bytes, '\0');
        const std::int64_t count = is_front ? acp_take_front_deque(deque, taken.data(), bytes)
                                            : acp_take_back_deque(deque, taken.data(), bytes);
        EXPECT_GE(count, 0) << acp_error_message();
        taken.resize(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
        return taken;
    }

    acp_deque_t shared(int owner) {
        const acp_deque_t mine = rank_ == 0 ? acp_create_deque(0, owner) : acp_deque_t{};
        return {exchange(mine.ga)[0]};
    }
};

TEST_F(DequeTest, does_what_a_string_does_at_both_ends_on_every_rank) {
    Random random(static_cast<std::uint64_t>(rank_) + 9);
    for (int owner = 0; owner < procs_; ++owner) {
        std::string model;
        const acp_deque_t deque = acp_create_deque(100, owner);
        ASSERT_NE(deque.ga, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(acp_size_deque(deque), 0U);
        EXPECT_GE(acp_capacity_deque(deque), 100U);
        for (int i = 0; i < 200; ++i) {
            const std::string text(random.below(random.chance(10) ? 5'000 : 60),
                                   static_cast<char>('a' + i % 26));
            const std::size_t count = std::min<std::size_t>(random.below(80), model.size());
            const std::size_t at = random.below(model.size() + 1);
            const acp_deque_it_t it{deque, static_cast<std::int64_t>(at)};
            switch (random.below(9)) {
                case 0:
                    EXPECT_EQ(acp_push_back_deque(deque, text.data(), text.size()), 0);
                    model += text;
                    break;
                case 1:
                case 2:
                    EXPECT_EQ(acp_push_front_deque(deque, text.data(), text.size()), 0);
                    model.insert(0, text);
                    break;
                case 3:
                    EXPECT_EQ(acp_append_deque(deque, text.data(), text.size()),
                              static_cast<std::int64_t>(model.size()));
                    model += text;
                    break;
                case 4:
                    EXPECT_EQ(take(deque, true, count), model.substr(0, count));
                    model.erase(0, count);
                    break;
                case 5:
                    EXPECT_EQ(take(deque, false, count), model.substr(model.size() - count));
                    model.resize(model.size() - count);
                    break;
                case 6:
                    EXPECT_EQ(acp_pop_front_deque(deque, count), 0);
                    EXPECT_EQ(acp_pop_back_deque(deque, count), 0);
                    model.erase(0, count);
                    model.resize(model.size() - std::min(count, model.size()));
                    break;
                case 7:
                    EXPECT_EQ(acp_insert_deque(it, text.data(), text.size()).index, it.index);
                    model.insert(at, text);
                    break;
                default:
                    EXPECT_EQ(acp_erase_deque(it, count).index, it.index);
                    model.erase(at, count);
            }
            if (i % 10 != 0) continue;
            EXPECT_TRUE(content(deque) == model) << i;
            const acp_pair_t pieces = acp_dereference_deque_it(it, model.size());
            EXPECT_TRUE(DequeTest::at(pieces.first) + DequeTest::at(pieces.second) ==
                        model.substr(std::min(at, model.size())))
                << i;
            if (at < model.size()) {
                EXPECT_EQ(acp_at_deque(deque, it.index), pieces.first.ga);
            }
        }
        EXPECT_TRUE(content(deque) == model);
        EXPECT_EQ(acp_destroy_deque(deque), 0) << acp_error_message();
    }
}

TEST_F(DequeTest, goes_around_the_end_in_two_pieces) {
    for (int owner = 0; owner < procs_; ++owner) {
        const acp_deque_t deque = acp_create_deque(64, owner);
        EXPECT_EQ(acp_push_back_deque(deque, "0123456789", 10), 0);
        EXPECT_EQ(acp_push_front_deque(deque, "abcdef", 6), 0);
        const acp_pair_t pieces = acp_dereference_deque_it(acp_begin_deque(deque), 100);
        EXPECT_EQ(at(pieces.first), "abcdef");
        EXPECT_EQ(at(pieces.second), "0123456789");
        const acp_pair_t inside = acp_dereference_deque_it({deque, 2}, 3);
        EXPECT_EQ(at(inside.first), "cde");
        EXPECT_EQ(inside.second.ga, ACP_GA_NULL);
        EXPECT_EQ(inside.second.size, 0U);
        EXPECT_EQ(acp_dereference_deque_it({deque, 16}, 1).first.ga, ACP_GA_NULL);
        EXPECT_EQ(acp_dereference_deque_it({deque, 2}, 0).first.ga, ACP_GA_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
        EXPECT_EQ(acp_dereference_deque_it({deque, -1}, 1).first.ga, ACP_GA_NULL);
        EXPECT_EQ(acp_distance_deque_it(acp_begin_deque(deque), acp_end_deque(deque)), 16);
        EXPECT_EQ(acp_destroy_deque(deque), 0);
    }
}

TEST_F(DequeTest, ranges_assignments_and_exchanges) {
    const acp_deque_t one = acp_create_deque(0, rank_);
    const acp_deque_t two = acp_create_deque(0, (rank_ + 1) % procs_);
    EXPECT_EQ(acp_push_back_deque(one, "one", 3), 0);
    EXPECT_EQ(acp_push_back_deque(two, "another", 7), 0);
    EXPECT_EQ(acp_insert_range_deque(acp_end_deque(one), {two, 2}, {two, 5}).index, 3);
    EXPECT_EQ(content(one), "oneoth");
    EXPECT_EQ(acp_erase_range_deque({one, 0}, {one, 3}).index, 0);
    EXPECT_EQ(content(one), "oth");
    EXPECT_EQ(acp_swap_deque(one, two), 0);
    EXPECT_EQ(content(two), "oth");
    EXPECT_EQ(acp_assign_range_deque(two, {one, 1}, {one, 4}), 0);
    EXPECT_EQ(content(two), "not");
    EXPECT_EQ(acp_assign_deque(two, one), 0);
    EXPECT_EQ(content(two), "another");
    EXPECT_EQ(acp_write_deque(two, 2, "XYZ", 3), 0);
    EXPECT_EQ(content(two), "anXYZer");
    EXPECT_EQ(acp_reserve_deque(two, 3'000), 0);
    EXPECT_GE(acp_capacity_deque(two), 3'000U);
    EXPECT_EQ(acp_clear_deque(two), 0);
    EXPECT_EQ(acp_empty_deque(two), 1);
    EXPECT_EQ(take(two, true, 5), "") << "nothing is no failure";
    EXPECT_EQ(take(two, false, 2'000), "");
    EXPECT_EQ(acp_destroy_deque(one), 0);
    EXPECT_EQ(acp_destroy_deque(two), 0);
    EXPECT_EQ(acp_push_front_deque(two, "x", 1), -1);
    EXPECT_EQ(acp_size_deque(two), SIZE_MAX);
    EXPECT_EQ(acp_capacity_deque(two), SIZE_MAX);
    EXPECT_EQ(acp_empty_deque(two), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_STALE);
    EXPECT_EQ(acp_pop_front_deque(two, 1), -1);
    EXPECT_EQ(acp_take_front_deque(two, nullptr, 3), -1);
    EXPECT_EQ(acp_create_deque(10, procs_).ga, ACP_GA_NULL);
}

// The messages are the same on every rank, whether the deque is on its node or on another one.
TEST_F(DequeTest, failures_name_the_call_the_deque_and_the_size) {
    const auto expect_told = [](int code, const std::vector<std::string>& parts) {
        const std::string message = acp_error_message();
        EXPECT_EQ(acp_errno(), code) << message;
        for (const std::string& part : parts)
            EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
        EXPECT_EQ(message.find("operation"), std::string::npos) << message;
    };
    for (int home = 0; home < procs_; ++home) {
        const acp_deque_t deque = acp_create_deque(0, home);
        EXPECT_EQ(acp_reserve_deque(deque, std::size_t{1} << 50), -1);
        expect_told(ACP_ERR_MEMORY, {"acp_reserve_deque", "no room for 1125899906842624 bytes"});
        EXPECT_EQ(acp_destroy_deque(deque), 0);
        // A destroyed deque's block may hold another rank's next deque.
        sync_ranks();
        EXPECT_EQ(acp_push_back_deque(deque, "x", 1), -1);
        expect_told(ACP_ERR_STALE, {"acp_push_back_deque", "no deque is at global address"});
        EXPECT_EQ(acp_destroy_deque(deque), -1);
        expect_told(ACP_ERR_STALE, {"acp_destroy_deque", "no deque is at global address"});
        EXPECT_EQ(acp_take_front_deque(deque, nullptr, 3), -1);
        EXPECT_EQ(acp_reserve_deque(deque, 100), -1);
        expect_told(ACP_ERR_STALE, {"acp_reserve_deque", "no deque is at global address"});
        sync_ranks();
    }
}

TEST_F(DequeTest, ranges_of_two_deques_and_places_that_are_none_are_refused) {
    for (int home = 0; home < procs_; ++home) {
        const acp_deque_t deque = acp_create_deque(0, home);
        const acp_deque_t other = acp_create_deque(0, home);
        EXPECT_EQ(acp_push_back_deque(deque, "content", 7), 0);
        EXPECT_EQ(acp_push_back_deque(other, "other", 5), 0);
        const acp_deque_it_t start{deque, 0};
        const acp_deque_it_t end_of_other{other, 2};
        EXPECT_EQ(acp_insert_range_deque(start, start, end_of_other).deque.ga, ACP_GA_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
        EXPECT_EQ(acp_erase_range_deque(start, end_of_other).deque.ga, ACP_GA_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
        EXPECT_EQ(acp_assign_range_deque(deque, start, end_of_other), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
        EXPECT_EQ(acp_erase_range_deque({deque, 3}, {deque, 2}).deque.ga, ACP_GA_NULL);
        EXPECT_EQ(acp_insert_deque({deque, -1}, "x", 1).deque.ga, ACP_GA_NULL);
        EXPECT_EQ(acp_write_deque(deque, 5, "long", 4), -1);
        EXPECT_EQ(acp_at_deque(deque, 7), ACP_GA_NULL);
        EXPECT_EQ(acp_push_front_deque(deque, nullptr, 1), -1);
        EXPECT_EQ(acp_destroy_vector({deque.ga}), -1);
        EXPECT_EQ(content(deque), "content");
        EXPECT_EQ(content(other), "other");
        EXPECT_EQ(acp_destroy_deque(deque), 0);
        EXPECT_EQ(acp_destroy_deque(other), 0);
        sync_ranks();
    }
}

// All ranks push and pop tasks; each task is popped once, and the tasks of one rank in their order.
TEST_F(DequeTest, is_a_queue_of_work_for_all_ranks) {
    constexpr std::uint64_t each = 400;
    for (int owner = 0; owner < procs_; ++owner) {
        const acp_deque_t queue = shared(owner);
        std::vector<std::uint64_t> next(static_cast<std::size_t>(procs_));
        std::uint64_t sum = 0, done = 0;
        bool is_ordered = true;
        const auto work = [&](std::uint64_t least) {
            for (;;) {
                std::uint64_t task = 0;
                const std::int64_t count = acp_take_front_deque(queue, &task, sizeof task);
                if (count != 8) return count == 0 && least == 0;
                const std::uint64_t from = task >> 32;
                is_ordered = is_ordered && from < next.size() && next[from] <= (task & 0xffffffff);
                if (from < next.size()) next[from] = (task & 0xffffffff) + 1;
                sum += task & 0xffffffff;
                ++done;
                if (least != 0 && --least == 0) return true;
            }
        };
        for (std::uint64_t i = 0; i < each; ++i) {
            const std::uint64_t task = static_cast<std::uint64_t>(rank_) << 32 | i;
            EXPECT_EQ(acp_push_back_deque(queue, &task, sizeof task), 0) << acp_error_message();
            if (i % 2 == 1) (void)work(1);
        }
        sync_ranks();
        EXPECT_TRUE(work(0)) << acp_error_message();
        EXPECT_TRUE(is_ordered);
        const auto sums = exchange(sum);
        const auto counts = exchange(done);
        std::uint64_t all = 0, count = 0;
        for (const std::uint64_t one : sums) all += one;
        for (const std::uint64_t one : counts) count += one;
        EXPECT_EQ(count, each * static_cast<std::uint64_t>(procs_));
        EXPECT_EQ(all, each * (each - 1) / 2 * static_cast<std::uint64_t>(procs_));
        if (rank_ == 0) {
            EXPECT_EQ(acp_destroy_deque(queue), 0);
        }
        sync_ranks();
    }
}

// A second thread pushes whole records while the first one takes all that are there.
TEST_F(DequeTest, records_are_taken_whole_while_others_are_pushed) {
    constexpr std::int64_t record_bytes = 24;
    constexpr std::size_t pushed_bytes = std::size_t{500} * record_bytes;
    for (const int owner : {rank_, (rank_ + 1) % procs_, procs_ - 1}) {
        const acp_deque_t deque = acp_create_deque(0, owner);
        std::atomic<bool> is_over{false};
        std::thread pusher([&] {
            const std::vector<char> records(pushed_bytes);
            while (!is_over) {
                if (acp_size_deque(deque) >= 20 * pushed_bytes) continue;
                EXPECT_EQ(acp_push_back_deque(deque, records.data(), records.size()), 0)
                    << acp_error_message();
            }
        });
        std::vector<char> taken(1'000 * pushed_bytes);
        for (int i = 0; i < 700; ++i) {
            const std::int64_t count = acp_take_front_deque(deque, taken.data(), taken.size());
            EXPECT_TRUE(count >= 0 && count % record_bytes == 0) << count;
        }
        is_over = true;
        pusher.join();
        EXPECT_EQ(acp_destroy_deque(deque), 0) << acp_error_message();
    }
}

}  // namespace
}  // namespace acp::test
