// SPDX-License-Identifier: BSD-3-Clause
// The calls of ACP 3.0 on containers: the bytes lie at global addresses, results show failures as
// 3.0 did, and a call that fails sets acp_errno() and changes nothing.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include <acp.h>

// Here the names are those of acp.h.
#define ACP_COMPAT3_KEEPS_NAMES
#include <acp/compat3_hashed.h>
#include <acp/compat3_list.h>
#include <acp/compat3_sequence.h>

#include "unit/api/one_rank_job.hpp"
#include "unit/api/sequence_calls.hpp"

namespace acp::api::test {
namespace {

class Compat3Test : public OneRankJob {
protected:
    void SetUp() override {
        OneRankJob::SetUp();
        text_ = acp_malloc(64, 0);
        ASSERT_NE(text_, ACP_GA_NULL);
        std::memcpy(acp_query_address(text_), "0123456789abcdefghij", 20);
        acp_clear_errno();
    }

    void TearDown() override {
        EXPECT_EQ(acp_free(text_), 0);
        expect_unchanged();
    }

    // Bytes of "0123456789abcdefghij", by their address.
    [[nodiscard]] acp_element_t text(std::size_t from, std::size_t size) const {
        return {text_ + from, size};
    }

    // The code of the last failed call, which is forgotten.
    static int code() {
        const int last = acp_errno();
        acp_clear_errno();
        return last;
    }

    acp_ga_t text_ = ACP_GA_NULL;
};

TEST_F(Compat3Test, bytes_at_addresses_are_pushed_and_inserted) {
    acp_vector_t vector = acp_create_vector(0, 0);
    acp_deque_t deque = acp_create_deque(0, 0);
    acp3_push_back_vector(vector, text_, 3);
    acp3_push_back_vector(vector, text_, 0);
    acp3_push_back_vector(vector, ACP_GA_NULL, 0);
    EXPECT_EQ(content_of<VectorCalls>(vector), "012");
    EXPECT_EQ(acp3_insert_vector({vector, 1}, text_ + 10, 2).index, 1);
    EXPECT_EQ(content_of<VectorCalls>(vector), "0ab12");
    acp3_push_back_deque(deque, text_, 3);
    acp3_push_front_deque(deque, text_ + 10, 2);
    EXPECT_EQ(content_of<DequeCalls>(deque), "ab012");
    EXPECT_EQ(acp3_insert_deque({deque, 5}, text_ + 19, 1).index, 5);
    EXPECT_EQ(content_of<DequeCalls>(deque), "ab012j");
    EXPECT_EQ(code(), ACP_OK);
    EXPECT_EQ(acp_destroy_vector(vector), 0);
    EXPECT_EQ(acp_destroy_deque(deque), 0);
}

// An address of no memory, and sizes that no memory has.
TEST_F(Compat3Test, bytes_that_cannot_be_fetched_change_nothing) {
    const acp_vector_t vector = made<VectorCalls>("abc");
    const acp_deque_t deque = made<DequeCalls>("abc");
    const acp_list_t list = acp_create_list(0);
    const acp_set_t set = acp_create_set(1, nullptr, 1, 0);
    const acp_multiset_t multiset = acp_create_multiset(1, nullptr, 1, 0);
    const acp_map_t map = acp_create_map(1, nullptr, 1, 0);

    struct Row {
        acp_element_t element;
        int code;
    };

    for (const Row& row :
         {Row{{ACP_GA_NULL, 3}, ACP_ERR_ADDRESS}, Row{{starter_end_, 3}, ACP_ERR_ADDRESS},
          Row{{text_, SIZE_MAX}, ACP_ERR_MEMORY},
          Row{{text_, std::size_t{1} << 63}, ACP_ERR_MEMORY}}) {
        SCOPED_TRACE(row.element.size);
        const acp_ga_t ga = row.element.ga;
        const std::size_t size = row.element.size;
        const acp_pair_t as_key{row.element, text(0, 1)}, as_value{text(0, 1), row.element};
        const auto failed = [&](const char* call, bool is_result = true) {
            EXPECT_TRUE(is_result) << call;
            EXPECT_NE(std::string(acp_error_message()).find(call), std::string::npos)
                << acp_error_message();
            EXPECT_EQ(code(), row.code) << call << ": " << acp_error_message();
        };
        acp3_push_back_vector(vector, ga, size);
        failed("acp_push_back_vector");
        failed("acp_insert_vector", acp3_insert_vector({vector, 1}, ga, size).index == 1);
        acp3_push_back_deque(deque, ga, size);
        failed("acp_push_back_deque");
        acp3_push_front_deque(deque, ga, size);
        failed("acp_push_front_deque");
        failed("acp_insert_deque", acp3_insert_deque({deque, 1}, ga, size).index == 1);
        acp3_push_back_list(list, row.element, 0);
        failed("acp_push_back_list");
        acp3_push_front_list(list, row.element, 0);
        failed("acp_push_front_list");
        acp3_remove_list(list, row.element);
        failed("acp_remove_list");
        (void)acp3_insert_list(acp_end_list(list), row.element, 0);
        failed("acp_insert_list");
        failed("acp_insert_set", acp3_insert_set(set, row.element) == 0);
        failed("acp_insert_multiset", acp3_insert_multiset(multiset, row.element) == 0);
        failed("acp_insert_map", acp3_insert_map(map, as_key) == 0);
        failed("acp_insert_map", acp3_insert_map(map, as_value) == 0);
        failed("acp_find_set", acp3_find_set(set, row.element).elem == ACP_GA_NULL);
        failed("acp_find_multiset", acp3_find_multiset(multiset, row.element).elem == ACP_GA_NULL);
        failed("acp_find_map", acp3_find_map(map, row.element).elem == ACP_GA_NULL);
        failed("acp_retrieve_multiset", acp3_retrieve_multiset(multiset, row.element) == 0);
        failed("acp_retrieve_map", acp3_retrieve_map(map, as_key) == 0);
        acp3_remove_set(set, row.element);
        failed("acp_remove_set");
        acp3_remove_multiset(multiset, row.element);
        failed("acp_remove_multiset");
        acp3_remove_all_multiset(multiset, row.element);
        failed("acp_remove_all_multiset");
        acp3_remove_map(map, row.element);
        failed("acp_remove_map");
    }
    EXPECT_EQ(content_of<VectorCalls>(vector), "abc");
    EXPECT_EQ(content_of<DequeCalls>(deque), "abc");
    EXPECT_EQ(
        acp_size_list(list) + acp_size_set(set) + acp_size_multiset(multiset) + acp_size_map(map),
        0U);
    EXPECT_EQ(acp_destroy_vector(vector), 0);
    EXPECT_EQ(acp_destroy_deque(deque), 0);
    EXPECT_EQ(acp_destroy_list(list), 0);
    EXPECT_EQ(acp_destroy_set(set), 0);
    EXPECT_EQ(acp_destroy_multiset(multiset), 0);
    EXPECT_EQ(acp_destroy_map(map), 0);
}

// What a call on a range returns and leaves of "abcde"; the range (from, to) is of "abcde" itself.
TEST_F(Compat3Test, ranges_that_are_none_are_ignored) {
    struct Row {
        std::int64_t from, to;
        const char* erased;            // after an erase of the range
        std::int64_t vector_returned;  // the index that the erase returns
        const char* inserted;          // after an insertion of the range at 1
        const char* assigned;          // after an assignment of the range
    };

    for (const Row& row :
         {Row{1, 3, "ade", 1, "abcbcde", "bc"}, Row{0, 5, "", 0, "aabcdebcde", "abcde"},
          Row{2, 2, "abcde", 2, "abcde", ""}, Row{3, 1, "abcde", 1, "abcde", "abcde"},
          Row{-1, 2, "abcde", 2, "abcde", "abcde"}, Row{4, 9, "abcd", 4, "aebcde", "e"}}) {
        SCOPED_TRACE(std::to_string(row.from) + " to " + std::to_string(row.to));
        acp_clear_errno();
        const auto a = made<VectorCalls>("abcde"), b = made<VectorCalls>("abcde"),
                   c = made<VectorCalls>("abcde");
        EXPECT_EQ(acp3_erase_range_vector({a, row.from}, {a, row.to}).index, row.vector_returned);
        EXPECT_EQ(content_of<VectorCalls>(a), row.erased);
        EXPECT_EQ(acp3_insert_range_vector({b, 1}, {b, row.from}, {b, row.to}).index, 1);
        EXPECT_EQ(content_of<VectorCalls>(b), row.inserted);
        acp3_assign_range_vector(c, {c, row.from}, {c, row.to});
        EXPECT_EQ(content_of<VectorCalls>(c), row.assigned);
        const auto d = made<DequeCalls>("abcde"), e = made<DequeCalls>("abcde"),
                   f = made<DequeCalls>("abcde");
        EXPECT_EQ(acp3_erase_range_deque({d, row.from}, {d, row.to}).index, row.vector_returned);
        EXPECT_EQ(content_of<DequeCalls>(d), row.erased);
        const bool is_range = row.from >= 0 && row.from < row.to;
        EXPECT_EQ(acp3_insert_range_deque({e, 1}, {e, row.from}, {e, row.to}).index,
                  is_range ? 1 : row.to)
            << "of an empty range `end` is returned";
        EXPECT_EQ(content_of<DequeCalls>(e), row.inserted);
        acp3_assign_range_deque(f, {f, row.from}, {f, row.to});
        EXPECT_EQ(content_of<DequeCalls>(f), row.assigned);
        // Ranges of two containers.
        acp3_assign_range_vector(c, {a, 0}, {b, 1});
        acp3_assign_range_deque(f, {d, 0}, {e, 1});
        EXPECT_EQ(content_of<VectorCalls>(c), row.assigned);
        EXPECT_EQ(content_of<DequeCalls>(f), row.assigned);
        EXPECT_EQ(code(), ACP_OK) << "what is ignored is no failure";
        for (const acp_vector_t vector : {a, b, c}) EXPECT_EQ(acp_destroy_vector(vector), 0);
        for (const acp_deque_t deque : {d, e, f}) EXPECT_EQ(acp_destroy_deque(deque), 0);
    }
}

TEST_F(Compat3Test, lists_take_elements_from_addresses_and_advance_only_forward) {
    const acp_list_t list = acp_create_list(0), other = acp_create_list(0);
    EXPECT_EQ(acp3_empty_list(list), 1);
    acp3_push_back_list(list, text(0, 1), 0);
    acp3_push_front_list(list, text(10, 2), 0);
    (void)acp3_insert_list(acp_end_list(list), text(0, 1), 0);
    EXPECT_EQ(acp3_size_list(list), 3U);
    EXPECT_EQ(acp3_empty_list(list), 0);
    const acp_list_it_t begin = acp_begin_list(list), end = acp_end_list(list);
    for (const auto& [steps, place] : {std::pair{0, 0}, std::pair{1, 1}, std::pair{3, 3},
                                       std::pair{9, 3}, std::pair{-1, 0}, std::pair{INT32_MIN, 0}})
        EXPECT_EQ(acp3_distance_list_it(begin, acp3_advance_list_it(begin, steps)), place) << steps;
    EXPECT_EQ(acp3_distance_list_it(begin, end), 3);
    EXPECT_EQ(acp3_distance_list_it(begin, acp_end_list(other)), 0) << "of two lists";
    std::array<char, 4> room{};
    EXPECT_EQ(acp_read_list(begin, room.data(), 4), 2);
    EXPECT_STREQ(room.data(), "ab");
    acp3_remove_list(list, text(0, 1));
    EXPECT_EQ(acp3_size_list(list), 1U);
    EXPECT_EQ(acp_destroy_list(other), 0);
    EXPECT_EQ(acp_destroy_list(list), 0);
    EXPECT_EQ(acp3_size_list(list), 0U) << "after a failure";
    EXPECT_EQ(code(), ACP_ERR_STALE);
    EXPECT_EQ(acp3_empty_list(list), 1) << "after a failure";
    EXPECT_EQ(code(), ACP_ERR_STALE);
}

TEST_F(Compat3Test, keys_at_addresses_are_inserted_found_and_removed) {
    const acp_set_t set = acp_create_set(1, nullptr, 1, 0);
    EXPECT_EQ(acp3_insert_set(set, text(0, 0)), 0) << "a key of 0 bytes is not stored";
    EXPECT_EQ(acp3_empty_set(set), 1);
    EXPECT_EQ(acp3_insert_set(set, text(0, 4)), 1);
    EXPECT_EQ(acp3_insert_set(set, text(0, 4)), 1) << "it has the key now";
    EXPECT_EQ(acp3_size_set(set), 1U);
    EXPECT_EQ(acp3_size_local_set(set), 1U);
    EXPECT_EQ(acp3_empty_local_set(set), 0);
    EXPECT_NE(acp3_find_set(set, text(0, 4)).elem, ACP_GA_NULL);
    EXPECT_EQ(acp3_find_set(set, text(0, 3)).elem, ACP_GA_NULL);
    acp3_remove_set(set, text(0, 3));
    EXPECT_EQ(acp3_size_set(set), 1U);
    acp3_remove_set(set, text(0, 4));
    EXPECT_EQ(acp3_empty_set(set), 1);
    acp3_destroy_set(set);
    EXPECT_EQ(code(), ACP_OK);
    EXPECT_EQ(acp3_insert_set(set, text(0, 4)), 0);
    EXPECT_EQ(code(), ACP_ERR_STALE);
    EXPECT_EQ(acp3_size_set(set), 0U);
    EXPECT_EQ(acp3_empty_set(set), 0) << "a failure is not empty";
}

TEST_F(Compat3Test, an_insertion_into_a_multiset_that_fails_returns_0) {
    const acp_multiset_t set = acp_create_multiset(1, nullptr, 1, 0);
    EXPECT_EQ(acp3_insert_multiset(set, text(0, 0)), 0) << "a key of 0 bytes is not stored";
    EXPECT_EQ(acp3_insert_multiset(set, text(0, 4)), 1);
    EXPECT_EQ(acp3_insert_multiset(set, text(0, 4)), 1);
    EXPECT_EQ(acp3_retrieve_multiset(set, text(0, 4)), 2U);
    EXPECT_EQ(acp3_retrieve_multiset(set, text(1, 4)), 0U);
    EXPECT_EQ(acp_add_multiset(set, "0123", 4, UINT64_MAX - 3), UINT64_MAX - 1)
        << "the largest count";
    EXPECT_EQ(code(), ACP_OK);
    EXPECT_EQ(acp3_insert_multiset(set, text(0, 4)), 0);
    EXPECT_EQ(code(), ACP_ERR_ARGUMENT);
    EXPECT_EQ(acp3_retrieve_multiset(set, text(0, 4)), UINT64_MAX - 1);
    acp3_remove_multiset(set, text(0, 4));
    EXPECT_EQ(acp3_retrieve_multiset(set, text(0, 4)), UINT64_MAX - 2);
    EXPECT_NE(acp3_find_multiset(set, text(0, 4)).elem, ACP_GA_NULL);
    acp3_remove_all_multiset(set, text(0, 4));
    EXPECT_EQ(acp3_find_multiset(set, text(0, 4)).elem, ACP_GA_NULL);
    acp3_destroy_multiset(set);
    EXPECT_EQ(code(), ACP_OK);
    EXPECT_EQ(acp3_insert_multiset(set, text(0, 4)), 0);
    EXPECT_EQ(code(), ACP_ERR_STALE);
    EXPECT_EQ(acp3_retrieve_multiset(set, text(0, 4)), 0U);
    EXPECT_EQ(code(), ACP_ERR_STALE);
}

TEST_F(Compat3Test, values_are_copied_to_an_address_as_far_as_there_is_room) {
    const acp_map_t map = acp_create_map(1, nullptr, 1, 0);
    EXPECT_EQ(acp3_insert_map(map, {text(0, 0), text(4, 4)}), 0)
        << "a key of 0 bytes is not stored";
    EXPECT_EQ(acp3_insert_map(map, {text(0, 2), text(4, 4)}), 1);
    EXPECT_EQ(acp3_insert_map(map, {text(0, 2), text(5, 4)}), 0) << "its value stays";
    EXPECT_EQ(acp3_insert_map(map, {text(2, 2), text(0, 0)}), 1) << "a value of 0 bytes";
    const acp_ga_t room = acp_malloc(8, 0);
    char* const at = static_cast<char*>(acp_query_address(room));
    for (const auto& [size, got] : std::vector<std::pair<std::size_t, std::string>>{
             {0, ""}, {1, "4"}, {3, "456"}, {4, "4567"}, {5, "4567"}, {8, "4567"}}) {
        SCOPED_TRACE(size);
        std::memset(at, '?', 8);
        EXPECT_EQ(acp3_retrieve_map(map, {text(0, 2), {room, size}}), got.size());
        EXPECT_EQ(std::string(at, 8), got + std::string(8 - got.size(), '?'));
    }
    EXPECT_EQ(acp3_retrieve_map(map, {text(2, 2), {room, 8}}), 0U);
    EXPECT_EQ(acp3_retrieve_map(map, {text(4, 2), {room, 8}}), 0U) << "an absent key";
    EXPECT_EQ(code(), ACP_OK);
    EXPECT_EQ(acp3_retrieve_map(map, {text(0, 2), {ACP_GA_NULL, 8}}), 0U);
    EXPECT_EQ(code(), ACP_ERR_ADDRESS);
    EXPECT_NE(acp3_find_map(map, text(0, 2)).elem, ACP_GA_NULL);
    acp3_remove_map(map, text(0, 2));
    EXPECT_EQ(acp3_find_map(map, text(0, 2)).elem, ACP_GA_NULL);
    const std::string large(5000, 'v');
    EXPECT_EQ(acp_insert_if_absent_map(map, "01", 2, large.data(), large.size()), 1);
    const acp_ga_t wide = acp_malloc(5000, 0);
    EXPECT_EQ(acp3_retrieve_map(map, {text(0, 2), {wide, 5000}}), 5000U)
        << "more than the first try";
    EXPECT_EQ(std::memcmp(acp_query_address(wide), large.data(), 5000), 0);
    EXPECT_EQ(acp_free(wide), 0);
    EXPECT_EQ(acp_free(room), 0);
    acp3_destroy_map(map);
}

}  // namespace
}  // namespace acp::api::test
