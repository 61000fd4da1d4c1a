// SPDX-License-Identifier: BSD-3-Clause
// Iterators of lists: steps in both directions, also while other threads erase elements.
#include <atomic>
#include <thread>
#include <vector>

#include <acp.h>

#include "list_fixture.hpp"

namespace acp::test {
namespace {

class ListIteratorTest : public ListContainerTest {};

TEST_F(ListIteratorTest, iterators_step_in_both_directions_and_count) {
    for (const int home : homes()) {
        const acp_list_t list = made(home, {"a", "b", "c"});
        const acp_list_it_t end = acp_end_list(list);
        const acp_list_it_t first = acp_begin_list(list);
        EXPECT_EQ(end.elem, list.ga);
        EXPECT_EQ(acp_increment_list_it(end).elem, end.elem);
        EXPECT_EQ(read(acp_decrement_list_it(end)), "c");
        EXPECT_EQ(acp_decrement_list_it(first).elem, first.elem);
        EXPECT_EQ(read(acp_advance_list_it(first, 2)), "c");
        EXPECT_EQ(acp_advance_list_it(first, 3).elem, end.elem);
        EXPECT_EQ(acp_advance_list_it(first, 100).elem, end.elem);
        EXPECT_EQ(read(acp_advance_list_it(end, -2)), "b");
        EXPECT_EQ(acp_advance_list_it(end, -100).elem, first.elem);
        EXPECT_EQ(acp_distance_list_it(first, end), 3);
        EXPECT_EQ(acp_distance_list_it(first, first), 0);
        EXPECT_EQ(acp_distance_list_it(end, first), -1);
        expect_failure_of(ACP_ERR_ARGUMENT, "begins at the end");
        EXPECT_EQ(acp_distance_list_it(acp_increment_list_it(first), first), -1);
        expect_failure_of(ACP_ERR_ARGUMENT, "does not come behind");
        EXPECT_EQ(acp_destroy_list(list), 0);
    }
}

// The memory of an erased element becomes that of a later one of the list: iterators of both have
// one address.
TEST_F(ListIteratorTest, a_range_does_not_end_at_another_element_in_the_place_of_its_end) {
    const acp_list_t list = made(rank_);
    for (const char* text : {"a", "b", "c"}) push(list, text, rank_);
    const acp_list_it_t first = acp_begin_list(list);
    const acp_list_it_t erased = at(list, 1);
    acp_erase_list(erased);
    acp_list_it_t later = acp_insert_list(acp_end_list(list), "d", 1, rank_);
    for (int i = 0; i < 20'000 && later.elem != erased.elem; ++i) {
        acp_erase_list(later);
        later = acp_insert_list(acp_end_list(list), "d", 1, rank_);
    }
    EXPECT_EQ(later.elem, erased.elem) << "no block was used again";
    EXPECT_EQ(acp_distance_list_it(first, later), 2);
    for (const acp_list_it_t& from : {first, later}) {
        EXPECT_EQ(acp_distance_list_it(from, erased), -1);
        expect_failure_of(ACP_ERR_STALE, "was erased, or is in another list");
        EXPECT_EQ(acp_erase_range_list(from, erased).elem, ACP_GA_NULL);
        expect_failure_of(ACP_ERR_STALE, "acp_erase_range_list");
    }
    EXPECT_EQ(texts(list), (Texts{"a", "c", "d"}));
    EXPECT_EQ(acp_destroy_list(list), 0);
}

// An operation visits 20 to 40 elements; another thread replaces the elements at which such an
// operation ends, one after the other.
TEST_F(ListIteratorTest, step_past_elements_that_others_erase) {
    constexpr int changed_first = 20;
    constexpr int changed_end = 40;
    constexpr int steps = 100;
    for (const int home : homes()) {
        const acp_list_t list = acp_create_list(home);
        std::vector<acp_list_it_t> its;
        for (int i = 0; i < 2 * steps; ++i)
            its.push_back(acp_insert_list(acp_end_list(list), &i, sizeof i, home));
        std::atomic<bool> is_over{false};
        std::thread other([&] {
            for (int i = changed_first; !is_over; i = i + 1 < changed_end ? i + 1 : changed_first) {
                acp_list_it_t& it = its[static_cast<std::size_t>(i)];
                EXPECT_NE(acp_erase_list(it).elem, ACP_GA_NULL) << acp_error_message();
                it = acp_insert_list(its[static_cast<std::size_t>(i) + 1], &i, sizeof i, home);
            }
        });
        bool is_well = true;
        for (int i = 0; i < 2'000 && is_well; ++i) {
            const acp_list_it_t reached = acp_advance_list_it(its.front(), steps);
            int value = 0;
            is_well = acp_read_list(reached, &value, sizeof value) == sizeof value;
            EXPECT_TRUE(is_well) << acp_error_message();
            // The iterator gets one element further for each element that was just erased.
            EXPECT_TRUE(value >= steps && value < steps + changed_end - changed_first) << value;
        }
        is_over = true;
        other.join();
        EXPECT_EQ(acp_destroy_list(list), 0);
    }
}

}  // namespace
}  // namespace acp::test
