// SPDX-License-Identifier: BSD-3-Clause
// A deque has a front, and its content may lie in two pieces of memory: the calls of that, and the
// addresses of bytes of both kinds.
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include <acp.h>

#include "unit/api/one_rank_job.hpp"
#include "unit/api/sequence_calls.hpp"

namespace acp::api::test {
namespace {

class DequeEndsTest : public OneRankJob {
protected:
    // The bytes of an element, by its address.
    static std::string bytes_at(const acp_element_t& element) {
        if (element.size == 0) return "";
        return {static_cast<const char*>(acp_query_address(element.ga)), element.size};
    }
};

TEST_F(DequeEndsTest, a_new_vector_has_its_size_in_zero_bytes_and_a_new_deque_has_room_for_it) {
    for (const std::size_t size : {0U, 1U, 7U, 64U, 1000U, 100'000U}) {
        SCOPED_TRACE(size);
        const acp_vector_t vector = acp_create_vector(size, 0);
        ASSERT_NE(vector.ga, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(content_of<VectorCalls>(vector), std::string(size, '\0'));
        EXPECT_EQ(acp_empty_vector(vector), size == 0 ? 1 : 0);
        EXPECT_GE(acp_capacity_vector(vector), size);
        const acp_deque_t deque = acp_create_deque(size, 0);
        ASSERT_NE(deque.ga, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(acp_size_deque(deque), 0U);
        EXPECT_EQ(acp_empty_deque(deque), 1);
        EXPECT_GE(acp_capacity_deque(deque), size);
        EXPECT_EQ(acp_destroy_vector(vector), 0);
        EXPECT_EQ(acp_destroy_deque(deque), 0);
    }
    expect_unchanged();
}

TEST_F(DequeEndsTest, bytes_are_added_and_removed_at_the_front) {
    using H = acp_deque_t;
    std::string many;
    while (many.size() < 200) many += "front";
    std::string before_abc = many;
    before_abc += "abc";
    expect_changes<DequeCalls>({
        {"push_front 0 bytes", "abc", [](H h) { return acp_push_front_deque(h, nullptr, 0); }, 0, 0,
         "abc"},
        {"push_front 1 byte", "", [](H h) { return acp_push_front_deque(h, "x", 1); }, 0, 0, "x"},
        {"push_front 3 bytes", "abc", [](H h) { return acp_push_front_deque(h, "xyz", 3); }, 0, 0,
         "xyzabc"},
        {"push_front 200 bytes", "abc",
         [&](H h) { return acp_push_front_deque(h, many.data(), many.size()); }, 0, 0, before_abc},
        {"pop_front 0 bytes", "abc", [](H h) { return acp_pop_front_deque(h, 0); }, 0, 0, "abc"},
        {"pop_front 1 byte", "abc", [](H h) { return acp_pop_front_deque(h, 1); }, 0, 0, "bc"},
        {"pop_front all bytes", "abc", [](H h) { return acp_pop_front_deque(h, 3); }, 0, 0, ""},
        {"pop_front one byte too many", "abc", [](H h) { return acp_pop_front_deque(h, 4); }, 0, 0,
         ""},
        {"pop_front SIZE_MAX bytes", "abc", [](H h) { return acp_pop_front_deque(h, SIZE_MAX); }, 0,
         0, ""},
        {"pop_front", "", [](H h) { return acp_pop_front_deque(h, 1); }, 0, 0, ""},
        {"append behind a new front", "abc",
         [](H h) {
             EXPECT_EQ(acp_push_front_deque(h, "xy", 2), 0);
             return acp_append_deque(h, "de", 2);
         },
         5, 0, "xyabcde"},
    });
    expect_unchanged();
}

TEST_F(DequeEndsTest, a_take_at_the_front_returns_the_first_bytes_in_their_order) {
    struct Row {
        const char* before;
        std::size_t size;
        const char* taken;
        const char* after;
    };

    for (const Row& row : {Row{"", 0, "", ""}, Row{"", 3, "", ""}, Row{"abc", 0, "", "abc"},
                           Row{"abc", 1, "a", "bc"}, Row{"abcde", 2, "ab", "cde"},
                           Row{"abc", 3, "abc", ""}, Row{"abc", 4, "abc", ""}}) {
        SCOPED_TRACE(std::to_string(row.size) + " of \"" + row.before + "\"");
        const acp_deque_t deque = made<DequeCalls>(row.before);
        std::string room(8, '?');
        const std::string taken = row.taken;
        EXPECT_EQ(acp_take_front_deque(deque, row.size == 0 ? nullptr : room.data(), row.size),
                  static_cast<std::int64_t>(taken.size()));
        EXPECT_EQ(room, taken + std::string(8 - taken.size(), '?')) << "a byte too many";
        EXPECT_EQ(content_of<DequeCalls>(deque), row.after);
        EXPECT_EQ(acp_destroy_deque(deque), 0);
    }
    expect_unchanged();
}

// A full deque whose begin walks once through all places of its memory: every range is in one piece
// or in two, which together have its bytes.
TEST_F(DequeEndsTest, a_range_that_wraps_around_has_two_pieces) {
    const acp_deque_t deque = acp_create_deque(64, 0);
    const std::size_t capacity = acp_capacity_deque(deque);
    std::string model;
    while (model.size() < capacity) model += static_cast<char>('a' + model.size() % 26);
    ASSERT_EQ(acp_push_back_deque(deque, model.data(), capacity), 0);
    std::size_t wrapped = 0;
    for (std::size_t turn = 0; turn < capacity; ++turn) {
        char moved = 0;
        ASSERT_EQ(acp_take_front_deque(deque, &moved, 1), 1);
        ASSERT_EQ(acp_push_back_deque(deque, &moved, 1), 0);
        ASSERT_EQ(moved, model.front());
        model = model.substr(1) + moved;
        ASSERT_EQ(acp_capacity_deque(deque), capacity);
        for (const std::size_t index : {std::size_t{0}, capacity / 2, capacity - 1}) {
            for (const std::size_t size : {std::size_t{1}, capacity / 3, capacity, 2 * capacity}) {
                const acp_pair_t pieces =
                    acp_dereference_deque_it({deque, static_cast<std::int64_t>(index)}, size);
                ASSERT_EQ(bytes_at(pieces.first) + bytes_at(pieces.second),
                          model.substr(index, size));
                ASSERT_EQ(pieces.first.ga, acp_at_deque(deque, static_cast<std::int64_t>(index)));
                ASSERT_EQ(pieces.second.ga == ACP_GA_NULL, pieces.second.size == 0);
                if (pieces.second.size != 0) ++wrapped;
            }
        }
        ASSERT_EQ(content_of<DequeCalls>(deque), model);
    }
    EXPECT_GE(wrapped, capacity - 1) << "the whole content has wrapped in all places but one";
    EXPECT_EQ(acp_destroy_deque(deque), 0);
    expect_unchanged();
}

TEST_F(DequeEndsTest, calls_on_content_that_wraps_around_keep_its_order) {
    using C = DequeCalls;
    const auto wrapped = [](std::size_t kept) {
        const acp_deque_t deque = acp_create_deque(64, 0);
        const std::size_t capacity = acp_capacity_deque(deque);
        EXPECT_EQ(acp_push_back_deque(deque, std::string(capacity, '-').data(), capacity), 0);
        EXPECT_EQ(acp_pop_front_deque(deque, capacity - kept), 0);
        EXPECT_EQ(acp_push_back_deque(deque, "0123456789", 10), 0);
        EXPECT_EQ(acp_pop_front_deque(deque, kept), 0);
        return deque;
    };
    for (std::size_t kept = 0; kept < 12; ++kept) {
        SCOPED_TRACE(kept);
        const acp_deque_t deque = wrapped(kept), second = wrapped(kept);
        ASSERT_EQ(content_of<C>(deque), "0123456789");
        EXPECT_EQ(C::of(C::insert(C::at(deque, 5), "XY", 2)).ga, deque.ga);
        EXPECT_EQ(content_of<C>(deque), "01234XY56789");
        EXPECT_EQ(C::of(C::erase(C::at(second, 3), 4)).ga, second.ga);
        EXPECT_EQ(content_of<C>(second), "012789");
        EXPECT_EQ(acp_swap_deque(deque, second), 0);
        EXPECT_EQ(content_of<C>(second), "01234XY56789");
        EXPECT_EQ(acp_push_front_deque(second, "<", 1), 0);
        EXPECT_EQ(acp_write_deque(second, 8, "ab", 2), 0);
        EXPECT_EQ(content_of<C>(second), "<01234XYab789");
        EXPECT_EQ(acp_destroy_deque(deque), 0);
        EXPECT_EQ(acp_destroy_deque(second), 0);
    }
    expect_unchanged();
}

TEST_F(DequeEndsTest, addresses_are_those_of_the_bytes_and_there_is_none_at_the_end) {
    const std::string content = "abcde";
    const acp_vector_t vector = made<VectorCalls>(content);
    const acp_deque_t deque = made<DequeCalls>(content);
    for (std::int64_t index = 0; index < 5; ++index) {
        SCOPED_TRACE(index);
        const auto byte = [](acp_ga_t ga) {
            return *static_cast<const char*>(acp_query_address(ga));
        };
        EXPECT_EQ(byte(acp_at_vector(vector, index)), content.at(static_cast<std::size_t>(index)));
        EXPECT_EQ(acp_dereference_vector_it({vector, index}), acp_at_vector(vector, index));
        EXPECT_EQ(byte(acp_at_deque(deque, index)), content.at(static_cast<std::size_t>(index)));
    }
    const auto refused = [](acp_ga_t ga) {
        EXPECT_EQ(ga, ACP_GA_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
        acp_clear_errno();
    };
    for (const std::int64_t index :
         {std::int64_t{5}, std::int64_t{6}, INT64_MAX, std::int64_t{-1}}) {
        SCOPED_TRACE(index);
        refused(acp_at_vector(vector, index));
        refused(acp_dereference_vector_it({vector, index}));
        refused(acp_at_deque(deque, index));
        const acp_pair_t none = acp_dereference_deque_it({deque, index}, 1);
        refused(none.first.ga);
        EXPECT_EQ(none.first.size, 0U);
        EXPECT_EQ(none.second.ga, ACP_GA_NULL);
        EXPECT_EQ(none.second.size, 0U);
    }
    refused(acp_dereference_deque_it({deque, 0}, 0).first.ga);
    EXPECT_EQ(acp_destroy_vector(vector), 0);
    EXPECT_EQ(acp_destroy_deque(deque), 0);
    expect_unchanged();
}

TEST_F(DequeEndsTest, a_put_to_an_address_changes_the_content_in_place) {
    const acp_vector_t vector = made<VectorCalls>("0123456789abcdef");
    const acp_ga_t fourth = acp_at_vector(vector, 4);
    ASSERT_EQ(acp_complete(acp_put(fourth, "XY", 2, ACP_HANDLE_NULL)), 0) << acp_error_message();
    EXPECT_EQ(content_of<VectorCalls>(vector), "0123XY6789abcdef");
    EXPECT_EQ(acp_destroy_vector(vector), 0);
    expect_unchanged();
}

// Calls on both ends beside a std::deque, at the sizes where the memory of a deque is full.
TEST_F(DequeEndsTest, a_deque_is_a_queue_from_either_end) {
    const acp_deque_t deque = acp_create_deque(0, 0);
    std::deque<char> model;
    for (int step = 0; step < 5000; ++step) {
        const char byte = static_cast<char>(step % 101);
        char taken = 0;
        switch (step * 7 % 13 % 4) {
            case 0:
                ASSERT_EQ(acp_push_front_deque(deque, &byte, 1), 0);
                model.push_front(byte);
                break;
            case 1:
                ASSERT_EQ(acp_push_back_deque(deque, &byte, 1), 0);
                model.push_back(byte);
                break;
            case 2:
                ASSERT_EQ(acp_take_front_deque(deque, &taken, 1), model.empty() ? 0 : 1);
                if (model.empty()) break;
                ASSERT_EQ(taken, model.front());
                model.pop_front();
                break;
            default:
                ASSERT_EQ(acp_push_back_deque(deque, "ab", 2), 0);
                model.push_back('a');
                model.push_back('b');
                break;
        }
        ASSERT_EQ(acp_size_deque(deque), model.size());
    }
    EXPECT_EQ(content_of<DequeCalls>(deque), std::string(model.begin(), model.end()));
    EXPECT_EQ(acp_destroy_deque(deque), 0);
    expect_unchanged();
}

}  // namespace
}  // namespace acp::api::test
