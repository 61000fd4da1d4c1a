// SPDX-License-Identifier: BSD-3-Clause
// Vectors on every rank, from every rank: they keep their content, many ranks change one at once,
// and every misuse is refused and changes nothing.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "support/heap_ranks.hpp"
#include "support/nodes.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

class VectorTest : public HeapRankedTest {
protected:
    static std::string content(acp_vector_t vector) {
        std::string read(acp_size_vector(vector) + 1, '\0');
        const std::int64_t count = acp_read_vector(vector, 0, read.data(), read.size());
        EXPECT_GE(count, 0) << acp_error_message();
        read.resize(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
        return read;
    }

    static acp_vector_t make(const std::string& text, int owner) {
        const acp_vector_t vector = acp_create_vector(0, owner);
        EXPECT_NE(vector.ga, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(acp_push_back_vector(vector, text.data(), text.size()), 0) << acp_error_message();
        return vector;
    }

    static void expect_refused(int code, const std::vector<std::string>& parts) {
        expect_error(code, parts);
    }

    // The vector that rank 0 makes and all ranks use.
    acp_vector_t shared(int owner) {
        const acp_vector_t mine = rank_ == 0 ? acp_create_vector(0, owner) : acp_vector_t{};
        return {exchange(mine.ga)[0]};
    }
};

TEST_F(VectorTest, does_what_a_string_does_on_every_rank) {
    Random random(static_cast<std::uint64_t>(rank_) + 5);
    for (int owner = 0; owner < procs_; ++owner) {
        std::string model(7, '\0');
        const acp_vector_t vector = acp_create_vector(7, owner);
        ASSERT_NE(vector.ga, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(acp_query_rank(vector.ga), owner);
        for (int i = 0; i < 150; ++i) {
            // Some texts are longer than one operation carries.
            const std::string text(random.below(random.chance(10) ? 5'000 : 60),
                                   static_cast<char>('a' + i % 26));
            const std::size_t at = random.below(model.size() + 1);
            const std::size_t count = random.below(50);
            const acp_vector_it_t it =
                acp_advance_vector_it(acp_begin_vector(vector), static_cast<std::int64_t>(at));
            switch (random.below(7)) {
                case 0:
                case 1:
                    EXPECT_EQ(acp_append_vector(vector, text.data(), text.size()),
                              static_cast<std::int64_t>(model.size()));
                    model += text;
                    break;
                case 2:
                    EXPECT_EQ(acp_insert_vector(it, text.data(), text.size()).index, it.index);
                    model.insert(at, text);
                    break;
                case 3:
                    EXPECT_EQ(acp_erase_vector(it, count).index, it.index);
                    model.erase(at, count);
                    break;
                case 4: {
                    std::string taken(count, '\0');
                    const std::size_t expected = std::min(count, model.size());
                    EXPECT_EQ(acp_take_back_vector(vector, taken.data(), count),
                              static_cast<std::int64_t>(expected));
                    EXPECT_EQ(taken.substr(0, expected), model.substr(model.size() - expected));
                    model.resize(model.size() - expected);
                    break;
                }
                case 5: {
                    const std::size_t bytes = std::min(text.size(), model.size() - at);
                    EXPECT_EQ(acp_write_vector(vector, it.index, text.data(), bytes), 0)
                        << acp_error_message();
                    model.replace(at, bytes, text.substr(0, bytes));
                    break;
                }
                default:
                    EXPECT_EQ(acp_pop_back_vector(vector, count), 0);
                    model.resize(model.size() - std::min(count, model.size()));
            }
            if (i % 10 == 0) {
                EXPECT_TRUE(content(vector) == model) << i;
            }
        }
        EXPECT_TRUE(content(vector) == model);
        EXPECT_EQ(acp_size_vector(vector), model.size());
        EXPECT_GE(acp_capacity_vector(vector), model.size());
        EXPECT_EQ(acp_end_vector(vector).index, static_cast<std::int64_t>(model.size()));
        EXPECT_EQ(acp_destroy_vector(vector), 0) << acp_error_message();
    }
}

TEST_F(VectorTest, ranges_assignments_and_exchanges_between_ranks) {
    const int next = (rank_ + 1) % procs_;
    const acp_vector_t one = make("the first", rank_);
    const acp_vector_t two = make(std::string(3'000, 'x') + "second", next);
    const acp_vector_it_t start = acp_advance_vector_it(acp_begin_vector(two), 3'000);
    EXPECT_EQ(acp_insert_range_vector(acp_advance_vector_it(acp_begin_vector(one), 4), start,
                                      acp_end_vector(two))
                  .index,
              4);
    EXPECT_EQ(content(one), "the secondfirst");
    EXPECT_EQ(acp_erase_range_vector(acp_advance_vector_it(acp_begin_vector(one), 4),
                                     acp_advance_vector_it(acp_begin_vector(one), 10))
                  .index,
              4);
    EXPECT_EQ(content(one), "the first");
    EXPECT_EQ(acp_swap_vector(one, two), 0) << acp_error_message();
    EXPECT_EQ(content(two), "the first");
    EXPECT_EQ(content(one), std::string(3'000, 'x') + "second");
    EXPECT_EQ(acp_query_rank(one.ga), rank_);
    EXPECT_EQ(acp_assign_range_vector(two, acp_advance_vector_it(acp_begin_vector(one), 2'999),
                                      acp_end_vector(one)),
              0);
    EXPECT_EQ(content(two), "xsecond");
    EXPECT_EQ(acp_assign_vector(one, two), 0);
    EXPECT_EQ(content(one), "xsecond");
    EXPECT_EQ(acp_assign_vector(one, one), 0);
    EXPECT_EQ(acp_swap_vector(one, one), 0);
    EXPECT_EQ(content(one), "xsecond");
    EXPECT_EQ(acp_reserve_vector(one, 5'000), 0);
    const std::size_t capacity = acp_capacity_vector(one);
    EXPECT_GE(capacity, 5'000U);
    EXPECT_EQ(acp_clear_vector(one), 0);
    EXPECT_EQ(acp_empty_vector(one), 1);
    EXPECT_EQ(acp_empty_vector(two), 0);
    EXPECT_EQ(acp_capacity_vector(one), capacity);
    EXPECT_EQ(acp_distance_vector_it(acp_begin_vector(two), acp_end_vector(two)), 7);
    EXPECT_EQ(acp_destroy_vector(one), 0);
    EXPECT_EQ(acp_destroy_vector(two), 0);
}

TEST_F(VectorTest, bytes_can_be_reached_in_place) {
    for (int owner = 0; owner < procs_; ++owner) {
        const acp_vector_t vector = acp_create_vector(64, owner);
        const std::uint64_t number = 40;
        EXPECT_EQ(acp_write_vector(vector, 8, &number, sizeof number), 0);
        const acp_ga_t place = acp_at_vector(vector, 8);
        ASSERT_NE(place, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(acp_dereference_vector_it({vector, 8}), place);
        EXPECT_EQ(acp_fetch_add8(place, 2), 40U);
        std::uint64_t read = 0;
        EXPECT_EQ(acp_read_vector(vector, 8, &read, sizeof read), 8);
        EXPECT_EQ(read, 42U);
        EXPECT_EQ(acp_destroy_vector(vector), 0);
    }
}

TEST_F(VectorTest, all_ranks_and_threads_append_to_one_at_once) {
    constexpr std::uint64_t each = 300;
    for (int owner = 0; owner < procs_; ++owner) {
        const acp_vector_t vector = shared(owner);
        std::atomic<int> wrong{0};
        std::vector<std::thread> threads;
        for (std::uint64_t t = 0; t < 2; ++t) {
            threads.emplace_back([&, t] {
                for (std::uint64_t i = 0; i < each; ++i) {
                    const std::uint64_t word =
                        (static_cast<std::uint64_t>(rank_) * 2 + t) << 32 | i;
                    const std::int64_t index = acp_append_vector(vector, &word, sizeof word);
                    std::uint64_t read = 0;
                    const std::int64_t count = acp_read_vector(vector, index, &read, sizeof read);
                    if (index % 8 != 0 || count != 8 || read != word) ++wrong;
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(wrong, 0) << acp_error_message();
        sync_ranks();
        if (rank_ == 0) {
            const std::string all = content(vector);
            std::vector<std::uint64_t> words(all.size() / 8);
            std::memcpy(words.data(), all.data(), all.size());
            EXPECT_EQ(words.size(), each * 2 * static_cast<std::uint64_t>(procs_));
            std::vector<std::uint64_t> next(static_cast<std::size_t>(procs_) * 2);
            for (const std::uint64_t word : words) {
                ASSERT_LT(word >> 32, next.size());
                EXPECT_EQ(next[word >> 32]++, word & 0xffffffff) << "each thread's in its order";
            }
            EXPECT_EQ(acp_destroy_vector(vector), 0);
        }
        sync_ranks();
    }
}

TEST_F(VectorTest, a_megabyte_goes_in_and_out) {
    std::string text(1 << 20, '\0');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + i / 251);
    for (int owner = 0; owner < procs_; ++owner) {
        const acp_vector_t vector = make(text, owner);
        const acp_vector_it_t middle = acp_advance_vector_it(acp_begin_vector(vector), 1'000);
        EXPECT_EQ(acp_insert_vector(middle, text.data(), text.size()).index, 1'000);
        std::string expected = text;
        expected.insert(1'000, text);
        EXPECT_TRUE(content(vector) == expected);
        std::string taken(3 << 20, '\0');
        EXPECT_EQ(acp_take_back_vector(vector, taken.data(), taken.size()), 2 << 20);
        taken.resize(2 << 20);
        EXPECT_TRUE(taken == expected);
        EXPECT_EQ(acp_destroy_vector(vector), 0);
    }
}

TEST_F(VectorTest, misuse_is_refused_and_changes_nothing) {
    // Ranks take turns: the block of a vector that one rank has destroyed could be another rank's
    // block by the next call.
    for (int turn = 0; turn < procs_ * procs_; ++turn) {
        sync_ranks();
        if (turn / procs_ != rank_) continue;
        const int owner = turn % procs_;
        const acp_vector_t vector = make("content", owner);
        const acp_vector_t other = make("other", owner);
        char byte = 'b';
        const std::string long_text(100, 'l');
        for (const std::int64_t index :
             {std::int64_t{-1}, std::int64_t{7}, std::numeric_limits<std::int64_t>::max(),
              std::numeric_limits<std::int64_t>::min()}) {
            const std::string named = "index " + std::to_string(index);
            const std::string on_owner = " on rank " + std::to_string(owner) + ", ";
            EXPECT_EQ(acp_at_vector(vector, index), ACP_GA_NULL);
            expect_refused(ACP_ERR_ARGUMENT, {"acp_at_vector", on_owner + named});
            EXPECT_EQ(acp_dereference_vector_it({vector, index}), ACP_GA_NULL);
            EXPECT_EQ(acp_write_vector(vector, index, &byte, 1), -1);
            expect_refused(ACP_ERR_ARGUMENT, {"acp_write_vector"});
            if (index == 7) continue;
            EXPECT_EQ(acp_read_vector(vector, index, &byte, 1), -1);
            expect_refused(ACP_ERR_ARGUMENT, {"acp_read_vector", on_owner + named + ", 1 byte)"});
        }
        EXPECT_EQ(acp_read_vector(vector, 7, &byte, 1), 0);
        EXPECT_EQ(acp_write_vector(vector, 5, long_text.data(), 3), -1);
        // Sizes beyond the room in the owner's heap.
        for (const std::size_t bytes :
             {std::size_t{1} << 50, std::numeric_limits<std::size_t>::max() - 4}) {
            EXPECT_EQ(acp_write_vector(vector, 5, long_text.data(), bytes), -1);
            expect_refused(ACP_ERR_ARGUMENT,
                           {"acp_write_vector", "not inside the content, which has 7 bytes"});
        }
        EXPECT_EQ(acp_clear_vector({ACP_GA_NULL}), -1);
        expect_refused(ACP_ERR_ADDRESS, {"acp_clear_vector(0x0) by rank "});
        EXPECT_EQ(acp_insert_vector({vector, -1}, "x", 1).vector.ga, ACP_GA_NULL);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_insert_vector", "negative"});
        EXPECT_EQ(acp_erase_vector({vector, -5}, 1).vector.ga, ACP_GA_NULL);
        EXPECT_EQ(acp_insert_range_vector({vector, 0}, {other, 0}, {vector, 2}).vector.ga,
                  ACP_GA_NULL);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_insert_range_vector", "two containers"});
        EXPECT_EQ(acp_erase_range_vector({vector, 3}, {vector, 2}).vector.ga, ACP_GA_NULL);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_erase_range_vector", "before it begins"});
        EXPECT_EQ(acp_assign_range_vector(vector, {other, 0}, {vector, 1}), -1);
        EXPECT_EQ(acp_push_back_vector(vector, nullptr, 1), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_push_back_vector", "ptr is NULL, and size is "});
        EXPECT_EQ(acp_take_back_vector(vector, nullptr, 1), -1);
        EXPECT_EQ(acp_read_vector(vector, 0, nullptr, 1), -1);
        EXPECT_EQ(acp_push_back_vector(vector, nullptr, 0), 0);
        EXPECT_EQ(acp_take_back_vector(vector, nullptr, 0), 0);
        EXPECT_EQ(acp_insert_vector({vector, 3}, nullptr, 0).index, 3);
        EXPECT_EQ(acp_insert_vector({vector, 1'000}, "end", 3).index, 7)
            << "before what it inserted";
        EXPECT_EQ(acp_insert_range_vector({vector, 1'000}, {vector, 0}, {vector, 2}).index, 10);
        EXPECT_EQ(acp_erase_vector({vector, 7}, 5).index, 7);
        EXPECT_EQ(acp_erase_vector({vector, 1'000'000}, 5).index, 1'000'000) << "nothing is there";
        EXPECT_EQ(content(vector), "content");
        EXPECT_EQ(acp_destroy_vector({vector.ga + 64}), -1);
        EXPECT_EQ(acp_destroy_deque({vector.ga}), -1);
        EXPECT_EQ(acp_destroy_vector(other), 0);
        EXPECT_EQ(acp_push_back_vector(other, "x", 1), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_STALE) << acp_error_message();
        EXPECT_EQ(acp_size_vector(other), SIZE_MAX);
        EXPECT_EQ(acp_capacity_vector(other), SIZE_MAX);
        EXPECT_EQ(acp_empty_vector(other), -1);
        EXPECT_EQ(acp_end_vector(other).vector.ga, ACP_GA_NULL);
        EXPECT_EQ(acp_assign_vector(vector, other), -1);
        EXPECT_EQ(acp_swap_vector(vector, other), -1);
        EXPECT_EQ(acp_destroy_vector(other), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_STALE) << acp_error_message();
        EXPECT_EQ(content(vector), "content");
        EXPECT_EQ(acp_destroy_vector(vector), 0);
    }
    const acp_vector_t null{ACP_GA_NULL};
    EXPECT_EQ(acp_push_back_vector(null, "x", 1), -1);
    expect_refused(ACP_ERR_ADDRESS, {"acp_push_back_vector"});
    EXPECT_EQ(acp_capacity_vector({~ACP_GA_NULL}), SIZE_MAX);
    expect_refused(ACP_ERR_ADDRESS, {"acp_capacity_vector"});
    for (int owner = 0; owner < procs_; ++owner) {
        EXPECT_EQ(acp_push_back_vector({acp_query_starter_ga(owner)}, "x", 1), -1);
        expect_refused(ACP_ERR_ADDRESS, {"acp_push_back_vector", "no heap is there"});
        EXPECT_EQ(acp_destroy_deque({acp_query_starter_ga(owner)}), -1);
        expect_refused(ACP_ERR_ADDRESS, {"acp_destroy_deque", "no heap is there"});
    }
    for (const int wrong : {-1, procs_}) {
        EXPECT_EQ(acp_create_vector(8, wrong).ga, ACP_GA_NULL);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_create_vector", "is not one of 0 to"});
    }
    EXPECT_EQ(acp_create_vector(std::numeric_limits<std::size_t>::max(), rank_).ga, ACP_GA_NULL);
    expect_refused(ACP_ERR_MEMORY, {"acp_create_vector", "no room"});
}

TEST_F(VectorTest, a_full_heap_refuses_and_the_vector_stays) {
    sync_ranks();
    if (rank_ == 0) {
        const int owner = procs_ - 1;
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(owner, &stat), 0);
        const std::string text(1 << 20, 't');
        const acp_vector_t vector = make("start", owner);
        std::size_t pushed = 0;
        while (acp_push_back_vector(vector, text.data(), text.size()) == 0) ++pushed;
        expect_refused(ACP_ERR_MEMORY, {"acp_push_back_vector", "no room", "--heap-size"});
        EXPECT_GE(pushed, stat.limit / 3 / text.size()) << "old and new body must both have room";
        EXPECT_EQ(acp_reserve_vector(vector, stat.limit), -1);
        EXPECT_EQ(acp_insert_vector(acp_begin_vector(vector), text.data(), text.size()).vector.ga,
                  ACP_GA_NULL);
        EXPECT_EQ(acp_size_vector(vector), 5 + pushed * text.size());
        char start[6] = "";
        EXPECT_EQ(acp_read_vector(vector, 0, start, 5), 5);
        EXPECT_EQ(std::string(start), "start");
        EXPECT_EQ(acp_clear_vector(vector), 0);
        EXPECT_EQ(acp_push_back_vector(vector, text.data(), text.size()), 0);
        EXPECT_EQ(acp_destroy_vector(vector), 0);
        const std::size_t most = stat.limit / 3 * 2;
        const acp_vector_t large = acp_create_vector(most, owner);
        const std::string half(stat.limit / 2, 'h');
        EXPECT_EQ(acp_write_vector(large, 0, half.data(), half.size()), -1);
        expect_refused(ACP_ERR_MEMORY, {"acp_write_vector", "no room"});
        EXPECT_EQ(
            acp_write_vector(large, static_cast<std::int64_t>(most) - 1, half.data(), half.size()),
            -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_write_vector", "not inside the content, which has " +
                                                                  std::to_string(most) + " bytes"});
        EXPECT_EQ(acp_destroy_vector(large), 0);
    }
    sync_ranks();
}

// A second thread makes the content grow beyond an index and shrink again.
TEST_F(VectorTest, a_full_heap_can_be_read_and_a_long_read_from_another_node_fails_with_memory) {
    if (rank_ == 0) {
        const int owner = procs_ - 1;
        const acp_vector_t vector = make(std::string(4096, 'v'), owner);
        std::vector<acp_ga_t> blocks;
        for (std::size_t bytes = std::size_t{1} << 40; bytes != 0; bytes /= 2) {
            for (acp_ga_t block = 0; (block = acp_malloc(bytes, owner)) != ACP_GA_NULL;)
                blocks.push_back(block);
        }
        std::array<char, 4096> read{};
        EXPECT_EQ(acp_read_vector(vector, 0, read.data(), 944), 944) << acp_error_message();
        EXPECT_EQ(read[943], 'v');
        if (is_near(owner)) {
            EXPECT_EQ(acp_read_vector(vector, 0, read.data(), read.size()), 4096)
                << acp_error_message();
        } else {
            EXPECT_EQ(acp_read_vector(vector, 0, read.data(), read.size()), -1);
            expect_refused(ACP_ERR_MEMORY, {"acp_read_vector", "pass through a block of its heap",
                                            "no room for 4096 bytes in the heap of rank"});
        }
        for (const acp_ga_t block : blocks) acp_free(block);
        EXPECT_EQ(acp_destroy_vector(vector), 0) << acp_error_message();
    }
}

TEST_F(VectorTest, a_read_returns_the_end_at_the_time_of_the_read) {
    for (const int owner : {rank_, (rank_ + 1) % procs_, procs_ - 1}) {
        const acp_vector_t vector = make("first", owner);
        char room[10];
        std::atomic<bool> is_over{false};
        std::thread other([&] {
            const std::string more(25, 'm');
            while (!is_over) {
                EXPECT_EQ(acp_push_back_vector(vector, more.data(), more.size()), 0);
                EXPECT_EQ(acp_pop_back_vector(vector, more.size()), 0);
            }
        });
        for (int i = 0; i < 5'000; ++i) {
            const std::int64_t count = acp_read_vector(vector, 8, room, sizeof room);
            EXPECT_TRUE(count == sizeof room || count == -1) << count;
        }
        is_over = true;
        other.join();
        EXPECT_EQ(acp_read_vector(vector, 5, room, 0), 0);
        EXPECT_EQ(acp_read_vector(vector, 6, room, 0), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"index 6 is behind the end", "5 bytes"});
        EXPECT_EQ(acp_destroy_vector(vector), 0);
    }
}

}  // namespace
}  // namespace acp::test
