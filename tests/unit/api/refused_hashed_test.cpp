// SPDX-License-Identifier: BSD-3-Clause
// Calls on maps, multimaps, sets and multisets with handles of no such container, and with arguments
// that no container can serve. Each call has its code and a message with its name, and changes
// nothing.
#include <array>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <acp.h>

#include "unit/api/called.hpp"
#include "unit/api/one_rank_job.hpp"
#include "unit/api/refused_handles.hpp"

namespace acp::api::test {
namespace {

constexpr std::size_t too_long = std::size_t{1} << 32;

class RefusedHashed : public OneRankJob {
protected:
    void SetUp() override {
        OneRankJob::SetUp();
        ASSERT_NE(acp_insert_map(some_.map, "key", 3, "value", 5).map.ga, ACP_GA_NULL);
        ASSERT_NE(acp_insert_multimap(some_.multimap, "key", 3, "value", 5).map.ga, ACP_GA_NULL);
        ASSERT_NE(acp_insert_set(some_.set, "key", 3).set.ga, ACP_GA_NULL);
        ASSERT_NE(acp_insert_multiset(some_.multiset, "key", 3).set.ga, ACP_GA_NULL);
        entries_.fill({"key", 3, memory_.data(), 8, 1, 77});
        ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    }

    void TearDown() override {
        EXPECT_EQ(acp_size_map(some_.map), 1U);
        EXPECT_EQ(acp_size_multimap(some_.multimap), 1U);
        EXPECT_EQ(acp_size_set(some_.set), 1U);
        EXPECT_EQ(acp_size_multiset(some_.multiset), 1U);
        expect_unchanged();
    }

    void expect_all(const std::vector<RefusedCall>& rows) {
        for (const RefusedCall& row : rows) expect_refused(row);
    }

    // Handles of no container of this kind: `gone` is a destroyed one, `good` one of this kind.
    template <typename Handle>
    std::vector<std::pair<Handle, int>> bad_handles(Handle gone, Handle good) const {
        const acp_ga_t starter = acp_query_starter_ga(0);
        std::vector<std::pair<Handle, int>> handles{
            {Handle{}, ACP_ERR_ARGUMENT},
            {gone, ACP_ERR_STALE},
            {moved_to(good, starter + acp_starter_size()), ACP_ERR_ADDRESS},
            {moved_to(good, ~acp_ga_t{0}), ACP_ERR_ADDRESS},
            {moved_to(good, some_.block), ACP_ERR_STALE},
            {moved_to(good, starter), ACP_ERR_STALE},
        };
        for (const acp_ga_t other : {some_.vector.ga, some_.deque.ga, some_.list.ga, some_.map.ga,
                                     some_.multimap.ga, some_.set.ga, some_.multiset.ga}) {
            if (other != good.ga) handles.push_back({moved_to(good, other), ACP_ERR_ARGUMENT});
        }
        return handles;
    }

    template <typename Handle>
    static Handle moved_to(Handle handle, acp_ga_t address) {
        handle.ga = address;
        handle.id = 0;
        return handle;
    }

    SomeContainers some_;
    std::array<char, 64> memory_{};
    char* const buf_ = memory_.data();
    std::array<acp_entry_t, 2> entries_{};
    acp_reply_t reply_{};
    std::uint64_t number_ = 5;
    std::size_t size_ = 8;
};

// The calls that maps, multimaps, sets and multisets have in common, on the handle `bad`.
//   kind  as in acp_size_<kind>
#define ACP_CALLS_ON(kind, code, bad, good)                                                      \
    ACP_REFUSED(acp_destroy_##kind, code, "", bad), ACP_REFUSED(acp_size_##kind, code, "", bad), \
        ACP_REFUSED(acp_size_local_##kind, code, "", bad),                                       \
        ACP_REFUSED(acp_empty_##kind, code, "", bad),                                            \
        ACP_REFUSED(acp_empty_local_##kind, code, "", bad),                                      \
        ACP_REFUSED_IT(acp_begin_##kind, rank, code, "", bad),                                   \
        ACP_REFUSED_IT(acp_begin_local_##kind, rank, code, "", bad),                             \
        ACP_REFUSED(acp_clear_##kind, code, "", bad),                                            \
        ACP_REFUSED(acp_clear_local_##kind, code, "", bad),                                      \
        ACP_REFUSED(acp_assign_##kind, code, "", bad, good),                                     \
        ACP_REFUSED(acp_assign_##kind, code, "", good, bad),                                     \
        ACP_REFUSED(acp_assign_local_##kind, code, "", bad, good),                               \
        ACP_REFUSED(acp_assign_local_##kind, code, "", good, bad),                               \
        ACP_REFUSED(acp_merge_##kind, code, "", bad, good),                                      \
        ACP_REFUSED(acp_merge_##kind, code, "", good, bad),                                      \
        ACP_REFUSED(acp_merge_local_##kind, code, "", bad, good),                                \
        ACP_REFUSED(acp_merge_local_##kind, code, "", good, bad),                                \
        ACP_REFUSED(acp_move_##kind, code, "", bad, good),                                       \
        ACP_REFUSED(acp_move_##kind, code, "", good, bad),                                       \
        ACP_REFUSED(acp_move_local_##kind, code, "", bad, good),                                 \
        ACP_REFUSED(acp_move_local_##kind, code, "", good, bad),                                 \
        ACP_REFUSED(acp_swap_##kind, code, "", bad, good),                                       \
        ACP_REFUSED(acp_swap_##kind, code, "", good, bad)

TEST_F(RefusedHashed, handles_of_no_map) {
    const acp_map_t gone = acp_create_map(1, nullptr, 16, 0);
    ASSERT_EQ(acp_move_map(some_.map, gone), 0) << "the first move makes a block that stays";
    ASSERT_EQ(acp_destroy_map(gone), 0);
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    const acp_map_t good = some_.map;
    for (const auto& [bad, code] : bad_handles(gone, good)) {
        SCOPED_TRACE(bad.ga);
        const acp_map_t m = bad;
        const int c = code;
        expect_all({ACP_CALLS_ON(map, c, m, good)});
        expect_all({
            ACP_REFUSED_IT(acp_insert_map, rank, c, "", m, "k", 1, "v", 1),
            ACP_REFUSED(acp_insert_if_absent_map, c, "", m, "k", 1, "v", 1),
            ACP_REFUSED(acp_insert_or_assign_map, c, "", m, "k", 1, "v", 1),
            ACP_REFUSED(acp_fetch_add_map, c, "", m, "k", 1, 1, &number_),
            ACP_REFUSED(acp_compare_exchange_map, c, "", m, "k", 1, &number_, 1),
            ACP_REFUSED(acp_replace_map, c, "", m, entries_.data(), "v", 1),
            ACP_REFUSED_IT(acp_find_map, it.rank, c, "", m, "k", 1),
            ACP_REFUSED(acp_retrieve_map, c, "", m, "k", 1, buf_, &size_),
            ACP_REFUSED(acp_remove_map, c, "", m, "k", 1),
            ACP_REFUSED(acp_find_many_map, c, "", m, 2, entries_.data()),
            ACP_REFUSED(acp_insert_many_map, c, "", m, 2, entries_.data()),
            ACP_REFUSED(acp_assign_many_map, c, "", m, 2, entries_.data()),
            ACP_REFUSED(acp_remove_many_map, c, "", m, 2, entries_.data()),
            ACP_REFUSED(acp_fetch_add_many_map, c, "", m, 2, entries_.data()),
            ACP_REFUSED_BY_0(acp_start_retrieve_map, c, "", m, "k", 1, &reply_),
            ACP_REFUSED_BY_0(acp_start_insert_map, c, "", m, entries_.data(), &reply_),
            ACP_REFUSED_BY_0(acp_start_assign_map, c, "", m, entries_.data(), &reply_),
            ACP_REFUSED_BY_0(acp_start_remove_map, c, "", m, "k", 1, &reply_),
            ACP_REFUSED_BY_0(acp_start_fetch_add_map, c, "", m, entries_.data(), &reply_),
        });
    }
    EXPECT_EQ(number_, 5U);
}

TEST_F(RefusedHashed, handles_of_no_multimap) {
    const acp_multimap_t gone = acp_create_multimap(1, nullptr, 16, 0);
    ASSERT_EQ(acp_move_multimap(some_.multimap, gone), 0)
        << "the first move makes a block that stays";
    ASSERT_EQ(acp_destroy_multimap(gone), 0);
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    const acp_multimap_t good = some_.multimap;
    for (const auto& [bad, code] : bad_handles(gone, good)) {
        SCOPED_TRACE(bad.ga);
        const acp_multimap_t m = bad;
        const int c = code;
        expect_all({ACP_CALLS_ON(multimap, c, m, good)});
        expect_all({
            ACP_REFUSED_IT(acp_insert_multimap, rank, c, "", m, "k", 1, "v", 1),
            ACP_REFUSED_IT(acp_find_multimap, it.rank, c, "", m, "k", 1),
            ACP_REFUSED(acp_count_multimap, c, "", m, "k", 1),
            ACP_REFUSED(acp_remove_multimap, c, "", m, "k", 1),
        });
    }
}

TEST_F(RefusedHashed, handles_of_no_set) {
    const acp_set_t gone = acp_create_set(1, nullptr, 16, 0);
    ASSERT_EQ(acp_move_set(some_.set, gone), 0) << "the first move makes a block that stays";
    ASSERT_EQ(acp_destroy_set(gone), 0);
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    const acp_set_t good = some_.set;
    for (const auto& [bad, code] : bad_handles(gone, good)) {
        SCOPED_TRACE(bad.ga);
        const acp_set_t s = bad;
        const int c = code;
        expect_all({ACP_CALLS_ON(set, c, s, good)});
        expect_all({
            ACP_REFUSED_IT(acp_insert_set, rank, c, "", s, "k", 1),
            ACP_REFUSED(acp_insert_if_absent_set, c, "", s, "k", 1),
            ACP_REFUSED_IT(acp_find_set, it.rank, c, "", s, "k", 1),
            ACP_REFUSED(acp_contains_set, c, "", s, "k", 1),
            ACP_REFUSED(acp_remove_set, c, "", s, "k", 1),
            ACP_REFUSED(acp_find_many_set, c, "", s, 2, entries_.data()),
            ACP_REFUSED(acp_insert_many_set, c, "", s, 2, entries_.data()),
            ACP_REFUSED(acp_remove_many_set, c, "", s, 2, entries_.data()),
        });
    }
}

TEST_F(RefusedHashed, handles_of_no_multiset) {
    const acp_multiset_t gone = acp_create_multiset(1, nullptr, 16, 0);
    ASSERT_EQ(acp_move_multiset(some_.multiset, gone), 0)
        << "the first move makes a block that stays";
    ASSERT_EQ(acp_destroy_multiset(gone), 0);
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    const acp_multiset_t good = some_.multiset;
    for (const auto& [bad, code] : bad_handles(gone, good)) {
        SCOPED_TRACE(bad.ga);
        const acp_multiset_t s = bad;
        const int c = code;
        expect_all({ACP_CALLS_ON(multiset, c, s, good)});
        expect_all({
            ACP_REFUSED_IT(acp_insert_multiset, rank, c, "", s, "k", 1),
            ACP_REFUSED(acp_add_multiset, c, "", s, "k", 1, 2),
            ACP_REFUSED_IT(acp_find_multiset, it.rank, c, "", s, "k", 1),
            ACP_REFUSED(acp_retrieve_multiset, c, "", s, "k", 1),
            ACP_REFUSED(acp_remove_multiset, c, "", s, "k", 1),
            ACP_REFUSED(acp_remove_all_multiset, c, "", s, "k", 1),
            ACP_REFUSED(acp_add_many_multiset, c, "", s, 2, entries_.data()),
            ACP_REFUSED(acp_find_many_multiset, c, "", s, 2, entries_.data()),
        });
    }
}

template <typename Handle>
bool is_none(Handle handle) {
    return handle.ga == ACP_GA_NULL;
}

template <typename Create>
std::vector<RefusedCall> creations(const char* name, const Create& create) {
    static constexpr std::array<int, 2> twice{0, 0};
    static constexpr std::array<int, 1> beyond{1}, before{-1};
    const auto row = [&](int code, const char* value, int ranks, const int* list, int slots,
                         int rank) {
        return RefusedCall{name, code, value,
                           [=] { return is_none(create(ranks, list, slots, rank)); }};
    };
    return {
        row(ACP_ERR_ARGUMENT, "-1", 1, nullptr, 16, -1),
        row(ACP_ERR_ARGUMENT, "1", 1, nullptr, 16, 1),
        row(ACP_ERR_ARGUMENT, "2147483647", 1, nullptr, 16, 2147483647),
        row(ACP_ERR_ARGUMENT, "2", 2, nullptr, 16, 0),
        row(ACP_ERR_ARGUMENT, "-1", -1, nullptr, 16, 0),
        row(ACP_ERR_ARGUMENT, "0", 2, twice.data(), 16, 0),
        row(ACP_ERR_ARGUMENT, "1", 1, beyond.data(), 16, 0),
        row(ACP_ERR_ARGUMENT, "-1", 1, before.data(), 16, 0),
        row(ACP_ERR_ARGUMENT, "-1", 1, nullptr, -1, 0),
    };
}

TEST_F(RefusedHashed, ranks_and_slots_of_new_containers) {
    expect_all(creations("acp_create_map", acp_create_map));
    expect_all(creations("acp_create_multimap", acp_create_multimap));
    expect_all(creations("acp_create_set", acp_create_set));
    expect_all(creations("acp_create_multiset", acp_create_multiset));
}

TEST_F(RefusedHashed, keys_and_values_that_are_null_or_too_long) {
    constexpr int c = ACP_ERR_ARGUMENT;
    const acp_map_t m = some_.map;
    const acp_multimap_t mm = some_.multimap;
    const acp_set_t s = some_.set;
    const acp_multiset_t ms = some_.multiset;
    for (const auto& [key, bytes, value] :
         {std::tuple<const char*, std::size_t, const char*>{nullptr, 1, "NULL"},
          {"key", too_long, "4294967296"},
          {"key", SIZE_MAX, "18446744073709551615"}}) {
        const char* const k = key;
        const std::size_t n = bytes;
        const char* const text = value;
        expect_all({
            ACP_REFUSED_IT(acp_insert_map, rank, c, text, m, k, n, "v", 1),
            ACP_REFUSED(acp_insert_if_absent_map, c, text, m, k, n, "v", 1),
            ACP_REFUSED(acp_insert_or_assign_map, c, text, m, k, n, "v", 1),
            ACP_REFUSED(acp_fetch_add_map, c, text, m, k, n, 1, &number_),
            ACP_REFUSED(acp_compare_exchange_map, c, text, m, k, n, &number_, 1),
            ACP_REFUSED_IT(acp_find_map, it.rank, c, text, m, k, n),
            ACP_REFUSED(acp_retrieve_map, c, text, m, k, n, buf_, &size_),
            ACP_REFUSED(acp_remove_map, c, text, m, k, n),
            ACP_REFUSED_IT(acp_insert_map, rank, c, text, m, "k", 1, k, n),
            ACP_REFUSED(acp_insert_if_absent_map, c, text, m, "k", 1, k, n),
            ACP_REFUSED(acp_insert_or_assign_map, c, text, m, "k", 1, k, n),
            ACP_REFUSED_IT(acp_insert_multimap, rank, c, text, mm, k, n, "v", 1),
            ACP_REFUSED_IT(acp_insert_multimap, rank, c, text, mm, "k", 1, k, n),
            ACP_REFUSED_IT(acp_find_multimap, it.rank, c, text, mm, k, n),
            ACP_REFUSED(acp_count_multimap, c, text, mm, k, n),
            ACP_REFUSED(acp_remove_multimap, c, text, mm, k, n),
            ACP_REFUSED_IT(acp_insert_set, rank, c, text, s, k, n),
            ACP_REFUSED(acp_insert_if_absent_set, c, text, s, k, n),
            ACP_REFUSED_IT(acp_find_set, it.rank, c, text, s, k, n),
            ACP_REFUSED(acp_contains_set, c, text, s, k, n),
            ACP_REFUSED(acp_remove_set, c, text, s, k, n),
            ACP_REFUSED_IT(acp_insert_multiset, rank, c, text, ms, k, n),
            ACP_REFUSED(acp_add_multiset, c, text, ms, k, n, 1),
            ACP_REFUSED_IT(acp_find_multiset, it.rank, c, text, ms, k, n),
            ACP_REFUSED(acp_retrieve_multiset, c, text, ms, k, n),
            ACP_REFUSED(acp_remove_multiset, c, text, ms, k, n),
            ACP_REFUSED(acp_remove_all_multiset, c, text, ms, k, n),
        });
        entries_[1].key = k;
        entries_[1].key_size = n;
        expect_all({
            ACP_REFUSED(acp_find_many_map, c, text, m, 2, entries_.data()),
            ACP_REFUSED(acp_insert_many_map, c, text, m, 2, entries_.data()),
            ACP_REFUSED(acp_assign_many_map, c, text, m, 2, entries_.data()),
            ACP_REFUSED(acp_remove_many_map, c, text, m, 2, entries_.data()),
            ACP_REFUSED(acp_fetch_add_many_map, c, text, m, 2, entries_.data()),
            ACP_REFUSED(acp_find_many_set, c, text, s, 2, entries_.data()),
            ACP_REFUSED(acp_insert_many_set, c, text, s, 2, entries_.data()),
            ACP_REFUSED(acp_remove_many_set, c, text, s, 2, entries_.data()),
            ACP_REFUSED(acp_add_many_multiset, c, text, ms, 2, entries_.data()),
            ACP_REFUSED(acp_find_many_multiset, c, text, ms, 2, entries_.data()),
        });
        EXPECT_EQ(entries_[0].result, 77) << "a refused list changes no result";
    }
}

TEST_F(RefusedHashed, lists_and_results_that_are_null) {
    constexpr int c = ACP_ERR_ARGUMENT;
    expect_all({
        ACP_REFUSED(acp_find_many_map, c, "NULL", some_.map, 1, nullptr),
        ACP_REFUSED(acp_insert_many_map, c, "NULL", some_.map, 1, nullptr),
        ACP_REFUSED(acp_assign_many_map, c, "NULL", some_.map, 1, nullptr),
        ACP_REFUSED(acp_remove_many_map, c, "NULL", some_.map, 1, nullptr),
        ACP_REFUSED(acp_fetch_add_many_map, c, "NULL", some_.map, 1, nullptr),
        ACP_REFUSED(acp_find_many_set, c, "NULL", some_.set, 1, nullptr),
        ACP_REFUSED(acp_insert_many_set, c, "NULL", some_.set, 1, nullptr),
        ACP_REFUSED(acp_remove_many_set, c, "NULL", some_.set, 1, nullptr),
        ACP_REFUSED(acp_add_many_multiset, c, "NULL", some_.multiset, 1, nullptr),
        ACP_REFUSED(acp_find_many_multiset, c, "NULL", some_.multiset, 1, nullptr),
        ACP_REFUSED(acp_find_many_map, c, "18446744073709551615", some_.map, SIZE_MAX,
                    entries_.data()),
        ACP_REFUSED(acp_compare_exchange_map, c, "NULL", some_.map, "k", 1, nullptr, 1),
        ACP_REFUSED(acp_replace_map, c, "NULL", some_.map, nullptr, "v", 1),
        ACP_REFUSED(acp_for_each_local_map, c, "NULL", some_.map, nullptr, nullptr),
        ACP_REFUSED(acp_for_each_local_multimap, c, "NULL", some_.multimap, nullptr, nullptr),
        ACP_REFUSED(acp_for_each_local_set, c, "NULL", some_.set, nullptr, nullptr),
        ACP_REFUSED(acp_for_each_local_multiset, c, "NULL", some_.multiset, nullptr, nullptr),
        ACP_REFUSED(acp_scan_map, c, "NULL", nullptr, 1, entries_.data(), buf_, 64),
        ACP_REFUSED_BY_0(acp_start_retrieve_map, c, "NULL", some_.map, nullptr, 1, &reply_),
        ACP_REFUSED_BY_0(acp_start_remove_map, c, "NULL", some_.map, nullptr, 1, &reply_),
        ACP_REFUSED_BY_0(acp_start_retrieve_map, c, "NULL", some_.map, "k", 1, nullptr),
        ACP_REFUSED_BY_0(acp_start_retrieve_map, ACP_ERR_LIMIT, "4294967296", some_.map, "k",
                         too_long, &reply_),
        ACP_REFUSED_BY_0(acp_start_remove_map, ACP_ERR_LIMIT, "4294967296", some_.map, "k",
                         too_long, &reply_),
        ACP_REFUSED_BY_0(acp_start_insert_map, c, "NULL", some_.map, nullptr, &reply_),
        ACP_REFUSED_BY_0(acp_start_insert_map, c, "NULL", some_.map, entries_.data(), nullptr),
        ACP_REFUSED_BY_0(acp_start_assign_map, c, "NULL", some_.map, nullptr, &reply_),
        ACP_REFUSED_BY_0(acp_start_remove_map, c, "NULL", some_.map, "k", 1, nullptr),
        ACP_REFUSED_BY_0(acp_start_fetch_add_map, c, "NULL", some_.map, nullptr, &reply_),
    });
}

}  // namespace
}  // namespace acp::api::test
