// SPDX-License-Identifier: BSD-3-Clause
// Calls on vectors, deques, lists and locks with handles of no such container, and with arguments
// that no container can serve. Each call has its code and a message with its name and the value, and
// changes nothing.
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include "base/format.hpp"

#include <acp.h>

#include "unit/api/called.hpp"
#include "unit/api/one_rank_job.hpp"
#include "unit/api/refused_handles.hpp"

namespace acp::api::test {
namespace {

class RefusedSequences : public OneRankJob {
protected:
    void SetUp() override {
        OneRankJob::SetUp();
        memory_.fill('m');
        ASSERT_EQ(acp_push_back_vector(some_.vector, "vector", 6), 0);
        ASSERT_EQ(acp_push_back_deque(some_.deque, "deque", 5), 0);
        ASSERT_EQ(acp_push_back_list(some_.list, "list", 4, 0), 0);
        ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    }

    void TearDown() override {
        EXPECT_EQ(acp_size_vector(some_.vector), 6U);
        EXPECT_EQ(acp_size_deque(some_.deque), 5U);
        EXPECT_EQ(acp_size_list(some_.list), 1U);
        for (const char byte : memory_) ASSERT_EQ(byte, 'm') << "a refused call wrote";
        expect_unchanged();
    }

    void expect_all(const std::vector<RefusedCall>& rows) {
        for (const RefusedCall& row : rows) expect_refused(row);
    }

    SomeContainers some_;
    std::array<char, 64> memory_{};
    char* const buf_ = memory_.data();
};

TEST_F(RefusedSequences, handles_of_no_vector) {
    const acp_vector_t gone = acp_create_vector(0, 0);
    ASSERT_EQ(acp_destroy_vector(gone), 0);
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    for (const RefusedHandle& bad : some_.all_but(some_.vector.ga, gone.ga)) {
        SCOPED_TRACE(bad.what);
        const acp_vector_t handle{bad.address};
        const acp_vector_t good = some_.vector;
        const acp_vector_it_t it{handle, 0};
        const acp_vector_it_t begin = acp_begin_vector(good);
        const int code = bad.code;
        const std::string text = base::hex(bad.address);
        const char* const value = text.c_str();
        expect_all({
            ACP_REFUSED(acp_destroy_vector, code, value, handle),
            ACP_REFUSED(acp_push_back_vector, code, value, handle, buf_, 8),
            ACP_REFUSED(acp_append_vector, code, value, handle, buf_, 8),
            ACP_REFUSED(acp_pop_back_vector, code, value, handle, 8),
            ACP_REFUSED(acp_take_back_vector, code, value, handle, buf_, 8),
            ACP_REFUSED(acp_read_vector, code, value, handle, 0, buf_, 8),
            ACP_REFUSED(acp_write_vector, code, value, handle, 0, buf_, 8),
            ACP_REFUSED_IT(acp_insert_vector, vector, code, value, it, buf_, 8),
            ACP_REFUSED_IT(acp_insert_range_vector, vector, code, value, it, begin, begin),
            ACP_REFUSED_IT(acp_insert_range_vector, vector, code, value, begin, it, it),
            ACP_REFUSED_IT(acp_erase_vector, vector, code, value, it, 8),
            ACP_REFUSED_IT(acp_erase_range_vector, vector, code, value, it, it),
            ACP_REFUSED(acp_assign_vector, code, value, handle, good),
            ACP_REFUSED(acp_assign_vector, code, value, good, handle),
            ACP_REFUSED(acp_assign_range_vector, code, value, handle, begin, begin),
            ACP_REFUSED(acp_assign_range_vector, code, value, good, it, it),
            ACP_REFUSED(acp_swap_vector, code, value, handle, good),
            ACP_REFUSED(acp_swap_vector, code, value, good, handle),
            ACP_REFUSED(acp_clear_vector, code, value, handle),
            ACP_REFUSED(acp_reserve_vector, code, value, handle, 128),
            ACP_REFUSED(acp_size_vector, code, value, handle),
            ACP_REFUSED(acp_capacity_vector, code, value, handle),
            ACP_REFUSED(acp_empty_vector, code, value, handle),
            ACP_REFUSED_BY_0(acp_at_vector, code, value, handle, 0),
            ACP_REFUSED_BY_0(acp_dereference_vector_it, code, value, it),
            ACP_REFUSED_IT(acp_end_vector, vector, code, value, handle),
        });
    }
}

TEST_F(RefusedSequences, handles_of_no_deque) {
    const acp_deque_t gone = acp_create_deque(0, 0);
    ASSERT_EQ(acp_destroy_deque(gone), 0);
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    for (const RefusedHandle& bad : some_.all_but(some_.deque.ga, gone.ga)) {
        SCOPED_TRACE(bad.what);
        const acp_deque_t handle{bad.address};
        const acp_deque_t good = some_.deque;
        const acp_deque_it_t it{handle, 0};
        const acp_deque_it_t begin = acp_begin_deque(good);
        const int code = bad.code;
        const std::string text = base::hex(bad.address);
        const char* const value = text.c_str();
        expect_all({
            ACP_REFUSED(acp_destroy_deque, code, value, handle),
            ACP_REFUSED(acp_push_back_deque, code, value, handle, buf_, 8),
            ACP_REFUSED(acp_push_front_deque, code, value, handle, buf_, 8),
            ACP_REFUSED(acp_append_deque, code, value, handle, buf_, 8),
            ACP_REFUSED(acp_pop_back_deque, code, value, handle, 8),
            ACP_REFUSED(acp_pop_front_deque, code, value, handle, 8),
            ACP_REFUSED(acp_take_back_deque, code, value, handle, buf_, 8),
            ACP_REFUSED(acp_take_front_deque, code, value, handle, buf_, 8),
            ACP_REFUSED(acp_read_deque, code, value, handle, 0, buf_, 8),
            ACP_REFUSED(acp_write_deque, code, value, handle, 0, buf_, 8),
            ACP_REFUSED_IT(acp_insert_deque, deque, code, value, it, buf_, 8),
            ACP_REFUSED_IT(acp_insert_range_deque, deque, code, value, it, begin, begin),
            ACP_REFUSED_IT(acp_insert_range_deque, deque, code, value, begin, it, it),
            ACP_REFUSED_IT(acp_erase_deque, deque, code, value, it, 8),
            ACP_REFUSED_IT(acp_erase_range_deque, deque, code, value, it, it),
            ACP_REFUSED(acp_assign_deque, code, value, handle, good),
            ACP_REFUSED(acp_assign_deque, code, value, good, handle),
            ACP_REFUSED(acp_assign_range_deque, code, value, handle, begin, begin),
            ACP_REFUSED(acp_assign_range_deque, code, value, good, it, it),
            ACP_REFUSED(acp_swap_deque, code, value, handle, good),
            ACP_REFUSED(acp_swap_deque, code, value, good, handle),
            ACP_REFUSED(acp_clear_deque, code, value, handle),
            ACP_REFUSED(acp_reserve_deque, code, value, handle, 128),
            ACP_REFUSED(acp_size_deque, code, value, handle),
            ACP_REFUSED(acp_capacity_deque, code, value, handle),
            ACP_REFUSED(acp_empty_deque, code, value, handle),
            ACP_REFUSED_BY_0(acp_at_deque, code, value, handle, 0),
            ACP_REFUSED_IT(acp_dereference_deque_it, first, code, value, it, 8),
            ACP_REFUSED_IT(acp_end_deque, deque, code, value, handle),
        });
    }
}

TEST_F(RefusedSequences, handles_of_no_list) {
    const acp_list_t gone = acp_create_list(0);
    ASSERT_EQ(acp_destroy_list(gone), 0);
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    const acp_list_compare_t compare = [](const acp_element_t, const acp_element_t) { return 0; };
    for (const RefusedHandle& bad : some_.all_but(some_.list.ga, gone.ga)) {
        SCOPED_TRACE(bad.what);
        const acp_list_t handle{bad.address};
        const acp_list_t good = some_.list;
        const int code = bad.code;
        const std::string text = base::hex(bad.address);
        const char* const value = text.c_str();
        expect_all({
            ACP_REFUSED(acp_destroy_list, code, value, handle),
            ACP_REFUSED(acp_push_back_list, code, value, handle, buf_, 8, 0),
            ACP_REFUSED(acp_push_front_list, code, value, handle, buf_, 8, 0),
            ACP_REFUSED(acp_pop_back_list, code, value, handle),
            ACP_REFUSED(acp_pop_front_list, code, value, handle),
            ACP_REFUSED(acp_take_back_list, code, value, handle, buf_, 8),
            ACP_REFUSED(acp_take_front_list, code, value, handle, buf_, 8),
            ACP_REFUSED(acp_clear_list, code, value, handle),
            ACP_REFUSED(acp_assign_list, code, value, handle, good),
            ACP_REFUSED(acp_assign_list, code, value, good, handle),
            ACP_REFUSED(acp_merge_list, code, value, handle, good, compare),
            ACP_REFUSED(acp_merge_list, code, value, good, handle, compare),
            ACP_REFUSED(acp_remove_list, code, value, handle, buf_, 8),
            ACP_REFUSED(acp_unique_list, code, value, handle),
            ACP_REFUSED(acp_reverse_list, code, value, handle),
            ACP_REFUSED(acp_sort_list, code, value, handle, compare),
            ACP_REFUSED(acp_swap_list, code, value, handle, good),
            ACP_REFUSED(acp_swap_list, code, value, good, handle),
            ACP_REFUSED(acp_empty_list, code, value, handle),
            ACP_REFUSED(acp_size_list, code, value, handle),
            ACP_REFUSED_IT(acp_begin_list, list, code, value, handle),
        });
    }
}

TEST_F(RefusedSequences, handles_of_no_lock) {
    const acp_lock_t gone = acp_create_lock(0);
    ASSERT_EQ(acp_free_lock(gone), 0);
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    for (const RefusedHandle& bad : some_.all_but(some_.lock.ga, gone.ga, ACP_ERR_STALE)) {
        SCOPED_TRACE(bad.what);
        const acp_lock_t handle{bad.address};
        const int code = bad.code;
        const std::string text = base::hex(bad.address);
        const char* const value = text.c_str();
        expect_all({
            ACP_REFUSED(acp_free_lock, code, value, handle),
            ACP_REFUSED(acp_lock, code, value, handle),
            ACP_REFUSED(acp_try_lock, code, value, handle),
            ACP_REFUSED(acp_lock_timeout, code, value, handle, 1'000'000),
            ACP_REFUSED(acp_unlock, code, value, handle),
        });
    }
}

TEST_F(RefusedSequences, ranks_and_sizes_of_new_containers) {
    for (const int rank : {-1, 1, 2147483647, -2147483647 - 1}) {
        const std::string text = std::to_string(rank);
        const char* const value = text.c_str();
        expect_all({
            ACP_REFUSED(acp_create_vector, ACP_ERR_ARGUMENT, value, 8, rank),
            ACP_REFUSED(acp_create_deque, ACP_ERR_ARGUMENT, value, 8, rank),
            ACP_REFUSED(acp_create_list, ACP_ERR_ARGUMENT, value, rank),
            ACP_REFUSED(acp_create_lock, ACP_ERR_ARGUMENT, value, rank),
            ACP_REFUSED(acp_push_back_list, ACP_ERR_ARGUMENT, value, some_.list, buf_, 8, rank),
            ACP_REFUSED(acp_push_front_list, ACP_ERR_ARGUMENT, value, some_.list, buf_, 8, rank),
        });
    }
    constexpr std::size_t all = SIZE_MAX;
    constexpr std::size_t heaps = std::size_t{1} << 40;
    expect_all({
        ACP_REFUSED(acp_create_vector, ACP_ERR_MEMORY, "1099511627776", heaps, 0),
        ACP_REFUSED(acp_create_deque, ACP_ERR_MEMORY, "1099511627776", heaps, 0),
        ACP_REFUSED(acp_create_vector, ACP_ERR_MEMORY, "18446744073709551615", all, 0),
        ACP_REFUSED(acp_create_deque, ACP_ERR_MEMORY, "18446744073709551615", all, 0),
        ACP_REFUSED(acp_reserve_vector, ACP_ERR_MEMORY, "1099511627776", some_.vector, heaps),
        ACP_REFUSED(acp_reserve_deque, ACP_ERR_MEMORY, "1099511627776", some_.deque, heaps),
        ACP_REFUSED(acp_reserve_vector, ACP_ERR_MEMORY, "18446744073709551615", some_.vector, all),
        ACP_REFUSED(acp_reserve_deque, ACP_ERR_MEMORY, "18446744073709551615", some_.deque, all),
    });
}

TEST_F(RefusedSequences, pointers_that_are_null) {
    constexpr int code = ACP_ERR_ARGUMENT;
    const acp_vector_it_t in_vector = acp_begin_vector(some_.vector);
    const acp_deque_it_t in_deque = acp_begin_deque(some_.deque);
    const acp_list_it_t in_list = acp_begin_list(some_.list);
    expect_all({
        ACP_REFUSED(acp_push_back_vector, code, "NULL", some_.vector, nullptr, 8),
        ACP_REFUSED(acp_append_vector, code, "NULL", some_.vector, nullptr, 8),
        ACP_REFUSED(acp_take_back_vector, code, "NULL", some_.vector, nullptr, 1),
        ACP_REFUSED(acp_read_vector, code, "NULL", some_.vector, 0, nullptr, 1),
        ACP_REFUSED(acp_write_vector, code, "NULL", some_.vector, 0, nullptr, 1),
        ACP_REFUSED_IT(acp_insert_vector, vector, code, "NULL", in_vector, nullptr, 1),
        ACP_REFUSED(acp_push_back_deque, code, "NULL", some_.deque, nullptr, 8),
        ACP_REFUSED(acp_push_front_deque, code, "NULL", some_.deque, nullptr, 8),
        ACP_REFUSED(acp_append_deque, code, "NULL", some_.deque, nullptr, 8),
        ACP_REFUSED(acp_take_back_deque, code, "NULL", some_.deque, nullptr, 1),
        ACP_REFUSED(acp_take_front_deque, code, "NULL", some_.deque, nullptr, 1),
        ACP_REFUSED(acp_read_deque, code, "NULL", some_.deque, 0, nullptr, 1),
        ACP_REFUSED(acp_write_deque, code, "NULL", some_.deque, 0, nullptr, 1),
        ACP_REFUSED_IT(acp_insert_deque, deque, code, "NULL", in_deque, nullptr, 1),
        ACP_REFUSED(acp_push_back_list, code, "NULL", some_.list, nullptr, 8, 0),
        ACP_REFUSED(acp_push_front_list, code, "NULL", some_.list, nullptr, 8, 0),
        ACP_REFUSED(acp_take_back_list, code, "NULL", some_.list, nullptr, 1),
        ACP_REFUSED(acp_take_front_list, code, "NULL", some_.list, nullptr, 1),
        ACP_REFUSED_IT(acp_insert_list, list, code, "NULL", in_list, nullptr, 1, 0),
        ACP_REFUSED(acp_remove_list, code, "NULL", some_.list, nullptr, 1),
        ACP_REFUSED(acp_read_list, code, "NULL", in_list, nullptr, 1),
        ACP_REFUSED(acp_sort_list, code, "NULL", some_.list, nullptr),
        ACP_REFUSED(acp_merge_list, code, "NULL", some_.list, some_.list, nullptr),
    });
}

// The vector has 6 bytes, and the deque 5.
TEST_F(RefusedSequences, indexes_and_sizes_behind_the_end) {
    const acp_vector_t vector = some_.vector;
    const acp_deque_t deque = some_.deque;
    for (const std::int64_t index : {std::int64_t{-1}, std::int64_t{7}, INT64_MAX, INT64_MIN}) {
        const std::string text = std::to_string(index);
        const char* const value = text.c_str();
        expect_all({
            ACP_REFUSED(acp_read_vector, ACP_ERR_ARGUMENT, value, vector, index, buf_, 1),
            ACP_REFUSED(acp_write_vector, ACP_ERR_ARGUMENT, value, vector, index, buf_, 1),
            ACP_REFUSED_BY_0(acp_at_vector, ACP_ERR_ARGUMENT, value, vector, index),
            ACP_REFUSED(acp_read_deque, ACP_ERR_ARGUMENT, value, deque, index, buf_, 1),
            ACP_REFUSED(acp_write_deque, ACP_ERR_ARGUMENT, value, deque, index, buf_, 1),
            ACP_REFUSED_BY_0(acp_at_deque, ACP_ERR_ARGUMENT, value, deque, index),
        });
    }
    for (const std::int64_t index : {std::int64_t{-1}, INT64_MIN}) {
        const std::string text = std::to_string(index);
        const char* const value = text.c_str();
        const acp_vector_it_t it{vector, index};
        const acp_deque_it_t deque_it{deque, index};
        expect_all({
            ACP_REFUSED_IT(acp_insert_vector, vector, ACP_ERR_ARGUMENT, value, it, buf_, 1),
            ACP_REFUSED_IT(acp_erase_vector, vector, ACP_ERR_ARGUMENT, value, it, 1),
            ACP_REFUSED_IT(acp_insert_deque, deque, ACP_ERR_ARGUMENT, value, deque_it, buf_, 1),
            ACP_REFUSED_IT(acp_erase_deque, deque, ACP_ERR_ARGUMENT, value, deque_it, 1),
        });
    }
    expect_all({
        ACP_REFUSED(acp_write_vector, ACP_ERR_ARGUMENT, "7 bytes", vector, 0, buf_, 7),
        ACP_REFUSED(acp_write_deque, ACP_ERR_ARGUMENT, "6 bytes", deque, 0, buf_, 6),
    });
}

}  // namespace
}  // namespace acp::api::test
