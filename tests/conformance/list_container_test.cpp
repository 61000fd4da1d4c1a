// SPDX-License-Identifier: BSD-3-Clause
// Lists of any rank: every call is compared with std::list, elements lie on any rank, many ranks
// use one list, and every misuse is refused and leaves the list unchanged.
#include <algorithm>
#include <cstring>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "list_fixture.hpp"
#include "support/random.hpp"
#include "support/ranked.hpp"
#include "support/refuse_memory.hpp"

namespace acp::test {
namespace {

int compare_texts(const acp_element_t one, const acp_element_t other) {
    const auto text = [](const acp_element_t& element) {
        std::string bytes(element.size, '\0');
        acp_complete(acp_get(bytes.data(), element.ga, element.size, ACP_HANDLE_NULL));
        return bytes;
    };
    return text(one).compare(text(other));
}

int never_equal(const acp_element_t, const acp_element_t) {
    return 1;
}

TEST_F(ListContainerTest, does_what_std_list_does) {
    Random random(static_cast<std::uint64_t>(rank_) + 11);
    for (const int home : homes()) {
        const acp_list_t list = made(home);
        std::list<std::string> model;
        for (int i = 0; i < 250; ++i) {
            const auto where = static_cast<int>(random.below(model.size() + 1));
            const auto element = std::next(model.begin(), where);
            const std::size_t length =
                random.chance(10) ? 500 + random.below(3'000) : random.below(60);
            const std::string text = std::to_string(i) + std::string(length, 'x');
            const auto rank = static_cast<int>(random.below(static_cast<std::uint64_t>(procs_)));
            switch (random.below(8)) {
                case 0:
                case 1: {
                    const auto it =
                        acp_insert_list(at(list, where), text.data(), text.size(), rank);
                    ASSERT_NE(it.elem, ACP_GA_NULL) << acp_error_message();
                    EXPECT_EQ(read(it), text);
                    EXPECT_EQ(acp_query_rank(acp_dereference_list_it(it).ga), rank);
                    model.insert(element, text);
                    break;
                }
                case 2:
                    EXPECT_EQ(acp_push_front_list(list, text.data(), text.size(), rank), 0);
                    model.push_front(text);
                    break;
                case 3:
                    if (element == model.end()) break;
                    EXPECT_NE(acp_erase_list(at(list, where)).elem, ACP_GA_NULL);
                    model.erase(element);
                    break;
                case 4:
                    EXPECT_EQ(take_front(list), model.empty() ? "(empty)" : model.front());
                    if (!model.empty()) model.pop_front();
                    break;
                case 5:
                    EXPECT_EQ(acp_pop_back_list(list), 0);
                    if (!model.empty()) model.pop_back();
                    break;
                case 6: {
                    if (element == model.end()) break;
                    const auto to = static_cast<int>(random.below(model.size() + 1));
                    EXPECT_EQ(acp_splice_list(at(list, to), at(list, where)), 0)
                        << acp_error_message();
                    if (to != where) model.splice(std::next(model.begin(), to), model, element);
                    break;
                }
                default:
                    push(list, text, rank);
                    model.push_back(text);
            }
            if (i % 25 != 0) continue;
            ASSERT_EQ(texts(list), Texts(model.begin(), model.end()));
            EXPECT_EQ(acp_size_list(list), model.size());
            EXPECT_EQ(acp_empty_list(list), model.empty() ? 1 : 0);
        }
        EXPECT_EQ(texts(list), Texts(model.begin(), model.end()));
        EXPECT_EQ(acp_destroy_list(list), 0) << acp_error_message();
    }
}

TEST_F(ListContainerTest, elements_may_be_changed_in_place) {
    for (const int home : homes()) {
        const acp_list_t list = acp_create_list(home);
        std::uint64_t value = 40;
        EXPECT_EQ(acp_push_back_list(list, &value, sizeof value, procs_ - 1), 0);
        EXPECT_EQ(acp_push_back_list(list, &value, sizeof value, home), 0);
        for (acp_list_it_t it = acp_begin_list(list); it.elem != list.ga;
             it = acp_increment_list_it(it)) {
            const acp_element_t element = acp_dereference_list_it(it);
            EXPECT_EQ(element.size, sizeof value);
            EXPECT_EQ(element.ga % 8, 0U);
            const std::uint64_t changed = 42;
            expect_done(acp_put(element.ga, &changed, sizeof changed, ACP_HANDLE_NULL));
            EXPECT_EQ(acp_read_list(it, &value, sizeof value), 8);
            // A room whose size and the library's own bytes are more than SIZE_MAX together.
            EXPECT_EQ(acp_read_list(it, &value, SIZE_MAX), 8) << acp_error_message();
            EXPECT_EQ(value, changed);
        }
        EXPECT_EQ(acp_destroy_list(list), 0);
    }
}

TEST_F(ListContainerTest, ranges_and_whole_lists) {
    for (const int home : homes()) {
        const Texts five{"1", "2", std::string(2'000, '3'), "4", "5"};
        const acp_list_t list = made(home, five);
        const acp_list_t other = made((home + 1) % procs_, {"old"});
        EXPECT_EQ(acp_assign_list(other, list), 0) << acp_error_message();
        EXPECT_EQ(texts(other), five);
        EXPECT_EQ(acp_query_rank(acp_dereference_list_it(at(other, 3)).ga),
                  acp_query_rank(acp_dereference_list_it(at(list, 3)).ga));
        EXPECT_EQ(acp_assign_range_list(other, at(list, 1), at(list, 3)), 0);
        EXPECT_EQ(texts(other), (Texts{"2", five[2]}));
        EXPECT_EQ(read(acp_insert_range_list(at(other, 1), at(list, 3), acp_end_list(list))), "4");
        EXPECT_EQ(texts(other), (Texts{"2", "4", "5", five[2]}));
        const acp_list_it_t behind = acp_erase_range_list(at(other, 0), at(other, 2));
        EXPECT_EQ(behind.elem, at(other, 0).elem);
        EXPECT_EQ(texts(other), (Texts{"5", five[2]}));
        EXPECT_EQ(acp_splice_range_list(at(other, 1), at(list, 0), at(list, 2)), 0);
        EXPECT_EQ(texts(other), (Texts{"5", "1", "2", five[2]}));
        EXPECT_EQ(texts(list), (Texts{five[2], "4", "5"}));
        EXPECT_EQ(acp_splice_range_list(acp_end_list(list), at(list, 0), at(list, 2)), 0);
        EXPECT_EQ(texts(list), (Texts{"5", five[2], "4"}));
        EXPECT_EQ(acp_splice_range_list(at(list, 1), at(list, 0), at(list, 2)), -1);
        expect_failure_of(ACP_ERR_ARGUMENT, "lies in the range");
        EXPECT_EQ(acp_reverse_list(list), 0);
        EXPECT_EQ(texts(list), (Texts{"4", five[2], "5"}));
        EXPECT_EQ(acp_swap_list(list, other), 0);
        EXPECT_EQ(texts(list), (Texts{"5", "1", "2", five[2]}));
        EXPECT_EQ(texts(other), (Texts{"4", five[2], "5"}));
        EXPECT_EQ(acp_swap_list(list, list), 0);
        EXPECT_EQ(acp_clear_list(list), 0);
        EXPECT_EQ(acp_empty_list(list), 1);
        EXPECT_EQ(acp_clear_list(list), 0);
        EXPECT_EQ(acp_destroy_list(list), 0);
        EXPECT_EQ(acp_destroy_list(other), 0);
    }
}

TEST_F(ListContainerTest, sorts_merges_and_removes) {
    for (const int home : homes()) {
        const acp_list_t list = made(home, {"d", "a", "c", "a", "b", "a", "b"});
        const acp_list_it_t held = at(list, 2);
        EXPECT_EQ(acp_sort_list(list, compare_texts), 0) << acp_error_message();
        EXPECT_EQ(texts(list), (Texts{"a", "a", "a", "b", "b", "c", "d"}));
        EXPECT_EQ(read(held), "c");
        const acp_list_t other = made(rank_, {"aa", "c", "e"});
        EXPECT_EQ(acp_merge_list(list, other, compare_texts), 0) << acp_error_message();
        EXPECT_EQ(texts(list), (Texts{"a", "a", "a", "aa", "b", "b", "c", "c", "d", "e"}));
        EXPECT_EQ(acp_empty_list(other), 1);
        EXPECT_EQ(acp_unique_list(list), 0);
        EXPECT_EQ(texts(list), (Texts{"a", "aa", "b", "c", "d", "e"}));
        push(list, "a", procs_ - 1);
        EXPECT_EQ(acp_remove_list(list, "a", 1), 0);
        EXPECT_EQ(texts(list), (Texts{"aa", "b", "c", "d", "e"}));
        EXPECT_EQ(acp_remove_list(list, "not there", 9), 0);
        EXPECT_EQ(acp_sort_list(list, never_equal), 0) << "also where compare makes no sense";
        EXPECT_EQ(acp_size_list(list), 5U);
        EXPECT_EQ(acp_merge_list(list, list, compare_texts), 0);
        EXPECT_EQ(acp_destroy_list(list), 0);
        EXPECT_EQ(acp_destroy_list(other), 0);
    }
}

TEST_F(ListContainerTest, long_lists_take_many_operations) {
    const acp_list_t list = made(procs_ - 1);
    Texts all;
    for (int i = 0; i < 300; ++i) all.push_back(std::to_string(1'000 + i));
    for (const std::string& text : all) push(list, text, text.back() == '7' ? rank_ : procs_ - 1);
    EXPECT_EQ(acp_reverse_list(list), 0);
    EXPECT_EQ(acp_distance_list_it(acp_begin_list(list), acp_end_list(list)), 300);
    EXPECT_EQ(acp_sort_list(list, compare_texts), 0);
    EXPECT_EQ(texts(list), all);
    EXPECT_EQ(read(acp_advance_list_it(acp_begin_list(list), 150)), all[150]);
    const acp_list_it_t behind = acp_erase_range_list(at(list, 100), at(list, 299));
    EXPECT_EQ(behind.elem, at(list, 100).elem);
    EXPECT_EQ(acp_size_list(list), 101U);
    EXPECT_EQ(acp_destroy_list(list), 0);
}

TEST_F(ListContainerTest, elements_of_any_size) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{960},
                                   std::size_t{961}, std::size_t{1} << 20U}) {
        for (const int home : homes()) {
            const acp_list_t list = acp_create_list(home);
            std::string text(size, 'q');
            if (size != 0) text.back() = 'z';
            for (const int rank : {home, procs_ - 1}) {
                ASSERT_EQ(acp_push_back_list(list, text.data(), size, rank), 0)
                    << acp_error_message();
            }
            EXPECT_EQ(acp_dereference_list_it(acp_begin_list(list)).size, size);
            EXPECT_EQ(read(acp_begin_list(list)), text);
            std::string part(10, '-');
            EXPECT_EQ(acp_read_list(acp_begin_list(list), part.data(), 1),
                      static_cast<int64_t>(size));
            EXPECT_EQ(part.substr(1), "---------");
            std::string taken(size, '\0');
            EXPECT_EQ(acp_take_front_list(list, taken.data(), size), static_cast<int64_t>(size));
            EXPECT_EQ(taken, text);
            const bool is_cut = size > 1;
            EXPECT_EQ(acp_take_back_list(list, part.data(), 1),
                      is_cut ? -1 : static_cast<int64_t>(size));
            if (is_cut) {
                expect_failure_of(ACP_ERR_TRUNCATED, "acp_take_back_list");
                EXPECT_EQ(part[0], text.front());
            }
            EXPECT_EQ(part.substr(1), "---------");
            EXPECT_EQ(acp_take_back_list(list, part.data(), 1), ACP_NONE);
            EXPECT_EQ(acp_destroy_list(list), 0);
        }
    }
    EXPECT_EQ(acp_push_back_list(acp_list_t{ACP_GA_NULL}, nullptr, 0, 0), -1);
}

TEST_F(ListContainerTest, all_ranks_work_on_one_queue) {
    constexpr int each = 60;
    const std::uint64_t named = rank_ == 0 ? acp_create_list(procs_ - 1).ga : 0;
    const acp_list_t list{exchange(named)[0]};
    const auto act = [&](int number, std::vector<std::uint64_t>* taken) {
        for (int i = 0; i < each; ++i) {
            const auto value = static_cast<std::uint64_t>((rank_ * 2 + number) * each + i);
            if (acp_push_back_list(list, &value, sizeof value, i % procs_) != 0) return;
            std::uint64_t got = 0;
            const int64_t size = acp_take_front_list(list, &got, sizeof got);
            if (size == sizeof got) taken->push_back(got);
        }
    };
    std::vector<std::uint64_t> taken[2];
    std::thread second([&] { act(1, &taken[1]); });
    act(0, &taken[0]);
    second.join();
    std::uint64_t sum = 0;
    for (const auto& one : taken) {
        for (const std::uint64_t value : one) sum += value;
    }
    sync_ranks();
    std::uint64_t got = 0;
    while (rank_ == 0 && acp_take_front_list(list, &got, sizeof got) == sizeof got) sum += got;
    const auto sums = exchange(sum);
    std::uint64_t all = 0;
    for (const std::uint64_t one : sums) all += one;
    const auto count = static_cast<std::uint64_t>(2 * procs_ * each);
    EXPECT_EQ(all, count * (count - 1) / 2) << "each value goes to one taker, once";
    sync_ranks();
    if (rank_ == 0) {
        EXPECT_EQ(acp_destroy_list(list), 0) << acp_error_message();
    }
}

TEST_F(ListContainerTest, misuse_is_refused_and_changes_nothing) {
    for (const int home : homes()) {
        const acp_list_t list = made(home, {"a", "b"});
        const acp_list_t other = made(home, {"c"});
        const acp_list_it_t end = acp_end_list(list);
        const acp_list_it_t erased = acp_begin_list(list);
        const acp_list_it_t behind = acp_erase_list(erased);
        EXPECT_EQ(behind.elem, acp_begin_list(list).elem);
        acp_list_it_t foreign = acp_begin_list(other);
        foreign.list = list;
        for (const acp_list_it_t& wrong : {erased, foreign}) {
            EXPECT_EQ(acp_insert_list(wrong, "x", 1, home).elem, ACP_GA_NULL);
            expect_failure_of(ACP_ERR_STALE, "acp_insert_list");
            EXPECT_EQ(acp_insert_list(wrong, "x", 1, procs_ - 1 - home).elem, ACP_GA_NULL);
            EXPECT_EQ(acp_erase_list(wrong).elem, ACP_GA_NULL);
            expect_failure_of(ACP_ERR_STALE, "was erased, or is in another list");
            expect_failure_of(ACP_ERR_STALE, " on rank " + std::to_string(home) + ") by rank ");
            EXPECT_EQ(acp_increment_list_it(wrong).elem, ACP_GA_NULL);
            EXPECT_EQ(acp_decrement_list_it(wrong).elem, ACP_GA_NULL);
            EXPECT_EQ(acp_dereference_list_it(wrong).ga, ACP_GA_NULL);
            EXPECT_EQ(acp_read_list(wrong, nullptr, 0), -1);
            EXPECT_EQ(acp_splice_list(end, wrong), -1);
            expect_failure_of(ACP_ERR_STALE, "acp_splice_list");
            EXPECT_EQ(acp_splice_list(wrong, acp_begin_list(list)), -1);
            EXPECT_EQ(acp_splice_range_list(end, wrong, end), -1);
            EXPECT_EQ(acp_splice_range_list(wrong, end, end), -1);
            expect_failure_of(ACP_ERR_STALE, "acp_splice_range_list");
            EXPECT_EQ(acp_insert_range_list(wrong, end, end).elem, ACP_GA_NULL);
            expect_failure_of(ACP_ERR_STALE, "acp_insert_range_list");
            EXPECT_EQ(acp_erase_range_list(wrong, end).elem, ACP_GA_NULL);
            EXPECT_EQ(acp_distance_list_it(wrong, wrong), -1);
            expect_failure_of(ACP_ERR_STALE, "acp_distance_list_it");
            EXPECT_EQ(acp_erase_range_list(acp_begin_list(list), wrong).elem, ACP_GA_NULL);
            expect_failure_of(ACP_ERR_STALE, "acp_erase_range_list");
        }
        EXPECT_EQ(acp_erase_list(end).elem, ACP_GA_NULL);
        expect_failure_of(ACP_ERR_ARGUMENT, "is the end of the list");
        EXPECT_EQ(acp_dereference_list_it(end).ga, ACP_GA_NULL);
        EXPECT_EQ(acp_read_list(end, nullptr, 0), -1);
        EXPECT_EQ(acp_splice_list(end, end), -1);
        EXPECT_EQ(acp_distance_list_it(acp_begin_list(list), acp_end_list(other)), -1);
        expect_failure_of(ACP_ERR_ARGUMENT, "different lists");
        expect_failure_of(ACP_ERR_ARGUMENT, " on rank " + std::to_string(home) + " and 0x");
        EXPECT_EQ(acp_erase_range_list(acp_begin_list(list), acp_end_list(other)).elem,
                  ACP_GA_NULL);
        EXPECT_EQ(acp_push_back_list(list, nullptr, 1, home), -1);
        expect_failure_of(ACP_ERR_ARGUMENT, "ptr is NULL");
        EXPECT_EQ(acp_take_front_list(list, nullptr, 1), -1);
        EXPECT_EQ(acp_read_list(acp_begin_list(list), nullptr, 1), -1);
        EXPECT_EQ(acp_remove_list(list, nullptr, 1), -1);
        EXPECT_EQ(acp_swap_list(list, {ACP_GA_NULL}), -1);
        expect_failure_of(ACP_ERR_ADDRESS,
                          " on rank " + std::to_string(home) + ", list 0x0) by rank ");
        EXPECT_EQ(acp_splice_list(acp_end_list({ACP_GA_NULL}), acp_begin_list(list)), -1);
        expect_failure_of(ACP_ERR_ADDRESS, "acp_splice_list(list 0x0, list 0x");
        EXPECT_EQ(acp_sort_list(list, nullptr), -1);
        EXPECT_EQ(acp_merge_list(list, other, nullptr), -1);
        for (const int rank : {-1, procs_}) {
            EXPECT_EQ(acp_push_back_list(list, "x", 1, rank), -1);
            expect_failure_of(ACP_ERR_ARGUMENT, "is not one of 0 to");
            EXPECT_EQ(acp_insert_list(end, "x", 1, rank).elem, ACP_GA_NULL);
            EXPECT_EQ(acp_create_list(rank).ga, ACP_GA_NULL);
        }
        EXPECT_EQ(texts(list), Texts{"b"});
        EXPECT_EQ(texts(other), Texts{"c"});
        EXPECT_EQ(acp_destroy_list(list), 0);
        EXPECT_EQ(acp_destroy_list(other), 0);
    }
}

TEST_F(ListContainerTest, an_address_without_a_list_is_refused) {
    // Ranks take turns: a list that one rank has destroyed could be another rank's list by the next
    // call.
    for (int turn = 0; turn < procs_ * procs_; ++turn) {
        sync_ranks();
        if (turn / procs_ != rank_) continue;
        const int home = turn % procs_;
        const acp_list_t destroyed = made(home, {"a"});
        const acp_list_it_t at_element = acp_begin_list(destroyed);
        ASSERT_EQ(acp_destroy_list(destroyed), 0);
        const acp_list_t nothing{ACP_GA_NULL};
        const acp_list_t starter{acp_query_starter_ga(home)};
        const acp_list_t wild{~ACP_GA_NULL};
        for (const acp_list_t& wrong : {destroyed, nothing, starter, wild}) {
            const auto expect_told = [&] {
                EXPECT_TRUE(acp_errno() == ACP_ERR_STALE || acp_errno() == ACP_ERR_ADDRESS)
                    << acp_error_message();
            };
            EXPECT_EQ(acp_destroy_list(wrong), -1);
            expect_told();
            EXPECT_EQ(acp_push_back_list(wrong, "x", 1, home), -1);
            expect_told();
            EXPECT_EQ(acp_push_front_list(wrong, "x", 1, procs_ - 1), -1);
            EXPECT_EQ(acp_pop_back_list(wrong), -1);
            expect_told();
            EXPECT_EQ(acp_take_front_list(wrong, nullptr, 0), -1);
            EXPECT_EQ(acp_begin_list(wrong).elem, ACP_GA_NULL);
            expect_told();
            EXPECT_EQ(acp_size_list(wrong), SIZE_MAX);
            expect_told();
            if (wrong.ga == destroyed.ga) expect_failure_of(ACP_ERR_STALE, "no list is at global");
            EXPECT_EQ(acp_empty_list(wrong), -1);
            EXPECT_EQ(acp_clear_list(wrong), -1);
            EXPECT_EQ(acp_reverse_list(wrong) + acp_unique_list(wrong), -2);
            EXPECT_EQ(acp_sort_list(wrong, compare_texts), -1);
            EXPECT_EQ(acp_remove_list(wrong, "x", 1), -1);
            EXPECT_EQ(acp_swap_list(wrong, wrong), -1);
            EXPECT_EQ(acp_merge_list(wrong, wrong, compare_texts), -1);
            EXPECT_EQ(acp_assign_list(wrong, wrong), -1);
            EXPECT_EQ(
                acp_insert_list({wrong, at_element.elem, at_element.stamp}, "x", 1, home).elem,
                ACP_GA_NULL);
        }
    }
}

TEST_F(ListContainerTest, a_full_heap_is_reported_and_changes_nothing) {
    sync_ranks();
    if (rank_ == 0) {
        const int home = procs_ - 1;
        const acp_list_t list = made(home);
        const std::string text(900, 'x');
        std::vector<acp_ga_t> blocks;
        for (acp_ga_t block = acp_malloc(1 << 20, home); block != 0;
             block = acp_malloc(1 << 20, home)) {
            blocks.push_back(block);
        }
        std::size_t count = 0;
        while (acp_push_back_list(list, text.data(), text.size(), home) == 0) ++count;
        expect_failure_of(ACP_ERR_MEMORY, "no room");
        EXPECT_EQ(acp_size_list(list), count);
        const std::string large(1 << 20, 'y');
        EXPECT_EQ(acp_push_front_list(list, large.data(), large.size(), home), -1);
        expect_failure_of(ACP_ERR_MEMORY, "no room");
        EXPECT_EQ(acp_size_list(list), count);
        EXPECT_EQ(read(acp_begin_list(list)), text);
        EXPECT_EQ(acp_free_many(blocks.size(), blocks.data()), 0);
        EXPECT_EQ(acp_push_front_list(list, large.data(), large.size(), home), 0)
            << acp_error_message();
        EXPECT_EQ(acp_destroy_list(list), 0);
    }
    sync_ranks();
}

TEST_F(ListContainerTest, what_is_erased_is_freed_also_where_memory_is_refused) {
    sync_ranks();
    const auto blocks = [](int rank) {
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(rank, &stat), 0);
        return stat.blocks;
    };
    for (const int home : {0, procs_ - 1}) {
        if (rank_ != 0 || procs_ == 1) continue;
        const int other = procs_ - 1 - home;
        const acp_list_t list = made(home);
        const std::size_t before = blocks(other);
        std::uint64_t seen = 1;
        for (std::uint64_t first = 1; seen >= first && first < 100; ++first) {
            for (int i = 0; i < 3; ++i) push(list, std::string(2'000, 'x'), other);
            {
                const Refusal refusal(first);
                (void)acp_clear_list(list);
                seen = Refusal::seen();
            }
            EXPECT_EQ(acp_clear_list(list), 0) << acp_error_message();
        }
        EXPECT_EQ(blocks(other), before);
        EXPECT_EQ(acp_destroy_list(list), 0);
    }
    sync_ranks();
}

TEST_F(ListContainerTest, lists_leave_nothing_in_the_heaps) {
    sync_ranks();
    if (rank_ == 0) {
        for (int home = 0; home < procs_; ++home) {
            const acp_list_t list = made(home);
            for (int i = 0; i < 200; ++i)
                push(list, std::string(static_cast<std::size_t>(i) * 10, 'x'), i % procs_);
            EXPECT_EQ(acp_destroy_list(list), 0);
        }
    }
    sync_ranks();
    acp_heap_stat_t stat{};
    EXPECT_EQ(acp_heap_stat(rank_, &stat), 0);
    // Elements that were taken out wait to be reclaimed: at most one batch for each thread that
    // took some.
    EXPECT_LE(stat.blocks, 128U * 3 * static_cast<unsigned>(procs_ + 1));
    sync_ranks();
}

}  // namespace
}  // namespace acp::test
