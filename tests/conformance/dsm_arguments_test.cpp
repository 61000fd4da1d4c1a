// SPDX-License-Identifier: BSD-3-Clause
// Arguments of a few bytes that lie in absent shared pages of several nodes: lists, sizes, names and
// places for results. Each call of the headers that takes such a pointer reads or writes the right
// bytes, or refuses it by a sentence. None hangs, and none raises a signal that the program sees. A
// parameter of a header that this file does not name fails. (dsm_pointers_test.cpp: keys, buffers.)
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <initializer_list>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <acp/device.h>
#include <acp/offload.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t pages_of_rank = 256;

// "acp_test_ch size"
std::string parameter(const std::string& call, const std::string& name) {
    return call + " " + name;
}

class DsmArgumentsTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        const std::size_t window = pages_of_rank * page * static_cast<std::size_t>(procs_);
        ASSERT_EQ(acp_init_dsm(window), 0) << acp_error_message();
        auto* const bytes = static_cast<char*>(acp_alloc_dsm(window));
        ASSERT_NE(bytes, nullptr) << acp_error_message();
        // Pages whose home is the node of this rank, for the rank beside it.
        const int user = (rank_ + procs_ / 2) % procs_;
        pages_ = bytes + pages_of_rank * page * static_cast<std::size_t>(user);
        other_ = (rank_ + 1) % procs_;
    }

    void TearDown() override {
        EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        RankedTest::TearDown();
    }

    // A page that was not given yet, at another distance from the last one each time: the library
    // fetches no page of a stream ahead.
    char* next_page() {
        const std::size_t number = used_ * (used_ + 1) / 2 % pages_of_rank;
        EXPECT_LT(used_, pages_of_rank);
        ++used_;
        return pages_ + number * page;
    }

    // The values, in a page that this node has not.
    template <typename Value>
    Value* absent(std::initializer_list<Value> values) {
        char* const place = next_page();
        const acp_ga_t home = acp_query_ga_dsm(place);
        EXPECT_NE(home, ACP_GA_NULL) << acp_error_message();
        expect_done(acp_put(home, values.begin(), values.size() * sizeof(Value), ACP_HANDLE_NULL));
        return reinterpret_cast<Value*>(place);
    }

    char* absent(std::string_view text) {
        char* const place = next_page();
        const std::string ended(text);
        expect_done(
            acp_put(acp_query_ga_dsm(place), ended.c_str(), ended.size() + 1, ACP_HANDLE_NULL));
        return place;
    }

    // The call with this parameter in an absent page had the result that it has elsewhere.
    void takes(const std::string& call, const std::string& name, bool is_right) {
        named_.insert(parameter(call, name));
        EXPECT_TRUE(is_right) << call << ", " << name << ": " << acp_error_message();
    }

    //   is_refused  whether the result says so
    void refuses(const std::string& call, const std::string& name, bool is_refused) {
        named_.insert(parameter(call, name));
        EXPECT_TRUE(is_refused) << call << " takes " << name;
        if (is_refused) expect_error(ACP_ERR_UNSUPPORTED, {call, "shared pages"});
    }

    void copies();
    void channels();
    void patterns();
    void plans();
    void heaps();
    void hashed_options();
    void maps();
    void other_hashed();
    void messages();
    void teams();
    void devices();

    char* pages_ = nullptr;  // homed on another node, used by this rank alone
    std::size_t used_ = 0;
    int other_ = 0;
    std::set<std::string> named_;
};

void DsmArgumentsTest::copies() {
    const acp_ga_t heap = acp_malloc(64, other_);
    ASSERT_NE(heap, ACP_GA_NULL) << acp_error_message();
    const acp_ga_t own = acp_query_starter_ga(rank_);
    auto* const words = static_cast<std::uint64_t*>(acp_query_address(own));
    std::uint64_t got[2] = {0, 0};
    words[0] = 11;
    words[1] = 12;
    expect_done(acp_copy_v(absent<acp_copy_range_t>({{heap, own, 8}, {heap + 8, own + 8, 8}}), 2,
                           ACP_HANDLE_NULL));
    expect_done(acp_get(got, heap, 16, ACP_HANDLE_NULL));
    takes("acp_copy_v", "ranges", got[0] == 11 && got[1] == 12);
    words[0] = 21;
    words[1] = 22;
    expect_done(acp_copy_strided(heap, absent<std::ptrdiff_t>({16}), own,
                                 absent<std::ptrdiff_t>({8}), 8, absent<std::size_t>({2}), 1,
                                 ACP_HANDLE_NULL));
    expect_done(acp_get(&got[1], heap + 16, 8, ACP_HANDLE_NULL));
    for (const char* const name : {"target_strides", "source_strides", "counts"})
        takes("acp_copy_strided", name, got[1] == 22);
    EXPECT_EQ(acp_free(heap), 0) << acp_error_message();
    acp_heap_stat_t* const stat = absent<acp_heap_stat_t>({{}});
    takes("acp_heap_stat", "stat", acp_heap_stat(other_, stat) == 0 && stat->limit != 0);
    acp_stats_dsm_t* const pages = absent<acp_stats_dsm_t>({{}});
    takes("acp_query_stats_dsm", "stats",
          acp_query_stats_dsm(pages, sizeof *pages) == 0 && pages->allocations == 1);
}

void DsmArgumentsTest::channels() {
    const int before = (rank_ + procs_ - 1) % procs_;
    const acp_ch_t to = acp_create_ch(rank_, other_);
    const acp_ch_t from = acp_create_ch(before, rank_);
    std::uint64_t sent = 7;
    std::uint64_t got = 0;
    const auto receive = [&] {
        const acp_request_t sending = acp_nbsend_ch(to, &sent, 8);
        const acp_request_t receiving = acp_nbrecv_ch(from, &got, 8);
        EXPECT_EQ(acp_wait_ch(sending), 0U) << acp_error_message();
        return receiving;
    };
    std::size_t* size = absent<std::size_t>({0});
    takes("acp_wait_ch_timeout", "size",
          acp_wait_ch_timeout(receive(), size, -1) == ACP_OK && *size == 8);
    size = absent<std::size_t>({0});
    acp_request_t request = receive();
    int is_done = 0;
    while (is_done == 0) is_done = acp_test_ch(request, size);
    takes("acp_test_ch", "size", is_done == 1 && *size == 8);
    size = absent<std::size_t>({0});
    request = receive();
    const acp_request_t* const requests = absent<acp_request_t>({request});
    const bool is_right = acp_waitall_ch(requests, 1, size) == 0 && *size == 8;
    takes("acp_waitall_ch", "requests", is_right);
    takes("acp_waitall_ch", "sizes", is_right);
    for (const acp_request_t freed : {acp_nbfree_ch(to), acp_nbfree_ch(from)})
        EXPECT_EQ(acp_wait_ch(freed), 0U) << acp_error_message();
}

void DsmArgumentsTest::patterns() {
    const acp_pattern_t pattern = acp_create_pattern(acp_world_team());
    std::array<std::uint64_t, 8> memory{};
    const acp_grid_t* const grid =
        absent<acp_grid_t>({{1, absent<int>({procs_}), absent<int>({1}), absent<std::size_t>({2}),
                             absent<std::size_t>({1}), 8, 1}});
    takes("acp_add_halo_pattern", "grid", acp_add_halo_pattern(pattern, memory.data(), grid) == 0);
    const auto list = [&](std::size_t offset) {
        return absent<acp_neighbours_t>(
            {{1, absent<int>({1}), absent<std::size_t>({8}), absent<std::size_t>({offset})}});
    };
    const auto from = absent<acp_neighbours_t>(
        {{1, absent<int>({-1}), absent<std::size_t>({8}), absent<std::size_t>({8})}});
    const bool is_added =
        acp_add_alltoallv_pattern(pattern, &memory[4], list(0), &memory[4], from) == 0;
    takes("acp_add_alltoallv_pattern", "to", is_added);
    takes("acp_add_alltoallv_pattern", "from", is_added);
    EXPECT_EQ(acp_free_pattern(pattern), 0) << acp_error_message();
}

void DsmArgumentsTest::plans() {
    const acp_pattern_t pattern = acp_create_pattern(acp_world_team());
    std::uint64_t sent = 40 + static_cast<std::uint64_t>(rank_);
    std::uint64_t got = 0;
    EXPECT_EQ(acp_add_send_pattern(pattern, 1, &sent, 8), 0) << acp_error_message();
    EXPECT_EQ(acp_add_recv_pattern(pattern, -1, &got, 8), 0) << acp_error_message();
    const std::string network = "torus 5000 " + std::to_string(procs_);
    const acp_plan_t plan = acp_compile_pattern(pattern, absent(network));
    takes("acp_compile_pattern", "network", plan != ACP_PLAN_NULL);
    char* const text = absent(std::string_view(""));
    takes("acp_explain_plan", "text",
          acp_explain_plan(plan, text, 64) > 0 && std::strlen(text) == 63);
    const std::string path = ::testing::TempDir() + "dsm_arguments." + std::to_string(getpid()) +
                             "." + std::to_string(rank_) + ".plan";
    takes("acp_save_plan", "path", acp_save_plan(plan, absent(path)) == 0);
    const acp_plan_t loaded = acp_load_plan(pattern, absent(path));
    takes("acp_load_plan", "path", loaded != ACP_PLAN_NULL);
    std::filesystem::remove(path);
    EXPECT_EQ(acp_start_plan(loaded), 0) << acp_error_message();
    EXPECT_EQ(acp_wait_plan(loaded), 0) << acp_error_message();
    EXPECT_EQ(got, 40U + static_cast<unsigned>((rank_ + procs_ - 1) % procs_));
    for (const acp_plan_t one : {plan, loaded}) EXPECT_EQ(acp_free_plan(one), 0);
    EXPECT_EQ(acp_free_pattern(pattern), 0) << acp_error_message();
}

// Threads of the library read these lists under a lock that the fault would wait for.
void DsmArgumentsTest::heaps() {
    std::array<std::uint64_t, 2> own{8, 8};
    std::uint64_t* const there = absent<std::uint64_t>({8, 8});
    refuses("acp_malloc_many", "sizes", acp_malloc_many(2, there, other_, own.data()) == -1);
    refuses("acp_malloc_many", "addresses", acp_malloc_many(2, own.data(), other_, there) == -1);
    refuses("acp_free_many", "addresses", acp_free_many(2, there) == -1);
    std::uint64_t word = 5;
    ASSERT_LE(procs_, 4);
    acp_ga_t* const addresses = absent<acp_ga_t>({0, 0, 0, 0});
    acp_atkey_t* const key = absent<acp_atkey_t>({ACP_ATKEY_NULL});
    const bool is_right = acp_register_all(&word, 8, 0, addresses, key) == 0 &&
                          acp_query_ga(*key, &word) == addresses[rank_];
    takes("acp_register_all", "addresses", is_right);
    takes("acp_register_all", "key", is_right);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(acp_unregister_memory(*key), 0) << acp_error_message();
}

void DsmArgumentsTest::hashed_options() {
    const auto options = [&] {
        return absent<acp_hashed_options_t>(
            {{absent<int>({rank_}), 1, rank_, 8, ACP_HASH_XXH3, 0, 0}});
    };
    const auto expect_one = [&](const char* call, const char* name, auto made, auto insert,
                                auto destroy) {
        std::uint64_t key = 1;
        insert(made, &key);
        takes(call, name, made.num_ranks == 1 && made.ga != ACP_GA_NULL);
        destroy(made);
    };
    const auto in_map = [](acp_map_t map, std::uint64_t* key) {
        EXPECT_EQ(acp_insert_or_assign_map(map, key, 8, key, 8), 1) << acp_error_message();
    };
    expect_one("acp_create_map", "ranks", acp_create_map(1, absent<int>({rank_}), 8, rank_), in_map,
               acp_destroy_map);
    expect_one("acp_create_map_with", "options", acp_create_map_with(options()), in_map,
               acp_destroy_map);
    const auto in_multimap = [](acp_multimap_t map, std::uint64_t* key) {
        (void)acp_insert_multimap(map, key, 8, key, 8);
        EXPECT_EQ(acp_count_multimap(map, key, 8), 1) << acp_error_message();
    };
    expect_one("acp_create_multimap", "ranks",
               acp_create_multimap(1, absent<int>({rank_}), 8, rank_), in_multimap,
               acp_destroy_multimap);
    expect_one("acp_create_multimap_with", "options", acp_create_multimap_with(options()),
               in_multimap, acp_destroy_multimap);
    const auto in_multiset = [](acp_multiset_t set, std::uint64_t* key) {
        EXPECT_EQ(acp_add_multiset(set, key, 8, 3), 3U) << acp_error_message();
    };
    expect_one("acp_create_multiset", "ranks",
               acp_create_multiset(1, absent<int>({rank_}), 8, rank_), in_multiset,
               acp_destroy_multiset);
    expect_one("acp_create_multiset_with", "options", acp_create_multiset_with(options()),
               in_multiset, acp_destroy_multiset);
    const auto in_set = [](acp_set_t set, std::uint64_t* key) {
        EXPECT_EQ(acp_insert_if_absent_set(set, key, 8), 1) << acp_error_message();
    };
    expect_one("acp_create_set", "ranks", acp_create_set(1, absent<int>({rank_}), 8, rank_), in_set,
               acp_destroy_set);
    expect_one("acp_create_set_with", "options", acp_create_set_with(options()), in_set,
               acp_destroy_set);
}

void DsmArgumentsTest::maps() {
    const acp_map_t map = acp_create_map(1, &other_, 8, other_);
    const std::uint64_t key = 5;
    const std::uint64_t six = 6;
    EXPECT_EQ(acp_insert_or_assign_map(map, &key, 8, &six, 8), 1) << acp_error_message();
    std::uint64_t* word = absent<std::uint64_t>({0});
    takes("acp_fetch_add_map", "old", acp_fetch_add_map(map, &key, 8, 4, word) >= 0 && *word == 6);
    word = absent<std::uint64_t>({9});
    takes("acp_compare_exchange_map", "expected",
          acp_compare_exchange_map(map, &key, 8, word, 1) == 0 && *word == 10);
    word = absent<std::uint64_t>({8});
    std::uint64_t value = 0;
    takes("acp_retrieve_map", "value_size",
          acp_retrieve_map(map, &key, 8, &value, word) == 1 && *word == 8 && value == 10);
    acp_entry_t entry{&key, 8, const_cast<std::uint64_t*>(&six), 8, 1, 0};
    acp_reply_t reply{};
    auto* const there = reinterpret_cast<acp_reply_t*>(absent<std::uint64_t>({0}));
    refuses("acp_start_retrieve_map", "reply",
            acp_start_retrieve_map(map, &key, 8, there) == ACP_HANDLE_NULL);
    refuses("acp_start_insert_map", "reply",
            acp_start_insert_map(map, &entry, there) == ACP_HANDLE_NULL);
    refuses("acp_start_assign_map", "reply",
            acp_start_assign_map(map, &entry, there) == ACP_HANDLE_NULL);
    refuses("acp_start_remove_map", "reply",
            acp_start_remove_map(map, &key, 8, there) == ACP_HANDLE_NULL);
    refuses("acp_start_fetch_add_map", "reply",
            acp_start_fetch_add_map(map, &entry, there) == ACP_HANDLE_NULL);
    takes("acp_result_of_reply", "reply", acp_result_of_reply(there, nullptr, nullptr) == -1);
    expect_done(acp_start_retrieve_map(map, &key, 8, &reply));
    word = absent<std::uint64_t>({0});
    takes("acp_result_of_reply", "value_size",
          acp_result_of_reply(&reply, nullptr, word) == 1 && *word == 8);
    acp_map_it_t* const it = absent<acp_map_it_t>({acp_begin_map(map)});
    std::array<char, 64> room{};
    takes("acp_scan_map", "it",
          acp_scan_map(it, 1, &entry, room.data(), room.size()) == 1 && entry.value_size == 8);
    acp_destroy_map(map);
}

void DsmArgumentsTest::other_hashed() {
    const std::uint64_t key = 5;
    acp_entry_t entry{};
    std::array<char, 64> room{};
    const acp_multimap_t multimap = acp_create_multimap(1, &other_, 8, other_);
    const acp_multimap_it_t at = acp_insert_multimap(multimap, &key, 8, &key, 8);
    std::size_t* const size = absent<std::size_t>({8});
    takes("acp_read_multimap_it", "value_size",
          acp_read_multimap_it(at, room.data(), size) == 1 && *size == 8);
    takes("acp_scan_multimap", "it",
          acp_scan_multimap(absent<acp_multimap_it_t>({acp_begin_multimap(multimap)}), 1, &entry,
                            room.data(), room.size()) == 1);
    acp_destroy_multimap(multimap);
    const acp_multiset_t multiset = acp_create_multiset(1, &other_, 8, other_);
    EXPECT_EQ(acp_add_multiset(multiset, &key, 8, 2), 2U) << acp_error_message();
    takes("acp_scan_multiset", "it",
          acp_scan_multiset(absent<acp_multiset_it_t>({acp_begin_multiset(multiset)}), 1, &entry,
                            room.data(), room.size()) == 1 &&
              entry.number == 2);
    acp_destroy_multiset(multiset);
    const acp_set_t set = acp_create_set(1, &other_, 8, other_);
    EXPECT_EQ(acp_insert_if_absent_set(set, &key, 8), 1) << acp_error_message();
    takes("acp_scan_set", "it",
          acp_scan_set(absent<acp_set_it_t>({acp_begin_set(set)}), 1, &entry, room.data(),
                       room.size()) == 1);
    acp_destroy_set(set);
}

void DsmArgumentsTest::messages() {
    const acp_pm_t pm = acp_open_pm(4);
    ASSERT_NE(pm, ACP_PM_NULL) << acp_error_message();
    ASSERT_EQ(acp_sync_team(acp_world_team()), 0) << acp_error_message();
    void* buffer = nullptr;
    while (acp_get_buffer_pm(pm, other_, 8, &buffer) == 0) {
    }
    ASSERT_NE(buffer, nullptr) << acp_error_message();
    std::memcpy(buffer, &rank_, sizeof rank_);
    EXPECT_EQ(acp_send_pm(pm), 0) << acp_error_message();
    EXPECT_EQ(acp_wait_pm(pm, -1), 1) << acp_error_message();
    std::size_t* const size = absent<std::size_t>({0});
    int* const source = absent<int>({-1});
    const void* data = nullptr;
    const bool is_received = acp_receive_pm(pm, &data, size, source) == 1 && *size == 8 &&
                             *source == (rank_ + procs_ - 1) % procs_;
    takes("acp_receive_pm", "size", is_received);
    takes("acp_receive_pm", "source", is_received);
    EXPECT_EQ(acp_release_pm(pm), 0) << acp_error_message();
    int* const descriptor = absent<int>({-1});
    takes("acp_before_select_pm", "descriptor",
          acp_before_select_pm(pm, descriptor) >= 0 && *descriptor >= 0);
    EXPECT_EQ(acp_after_select_pm(pm), 0) << acp_error_message();
    std::uint64_t word = 3;
    acp_ga_t* const first = absent<acp_ga_t>({ACP_GA_NULL});
    takes("acp_lock_pm", "first", acp_lock_pm(pm, &word, 8, first) == 0 && *first != ACP_GA_NULL);
    EXPECT_EQ(acp_unlock_pm(pm, *first), 0) << acp_error_message();
    ASSERT_EQ(acp_sync_team(acp_world_team()), 0) << acp_error_message();
    EXPECT_EQ(acp_close_pm(pm), 0) << acp_error_message();
}

void DsmArgumentsTest::teams() {
    const acp_team_t world = acp_world_team();
    const acp_team_t pair = acp_create_team(world, absent<int>({0, procs_ - 1}), 2);
    const bool is_member = rank_ == 0 || rank_ == procs_ - 1;
    takes("acp_create_team", "ranks",
          (pair != ACP_TEAM_NULL && pair != ACP_TEAM_NONE) == is_member);
    if (is_member) {
        const std::uint64_t notice = 17;
        std::vector<char> notices(2 * ACP_NOTICE_BYTES);
        std::size_t* const sizes = absent<std::size_t>({0, 0});
        takes("acp_sync_team_notices", "sizes",
              acp_sync_team_notices(pair, &notice, 8, notices.data(), sizes) == 0 &&
                  sizes[0] == 8 && sizes[1] == 8);
        const std::array<std::uint64_t, 2> send{1, 2};
        std::array<std::uint64_t, 2> recv{0, 0};
        const auto list = [&](std::size_t a, std::size_t b) { return absent<std::size_t>({a, b}); };
        const auto expected = rank_ == 0 ? std::uint64_t{1} : std::uint64_t{2};
        const bool is_right = acp_alltoallv_team(pair, send.data(), list(8, 8), list(0, 8),
                                                 recv.data(), list(8, 8), list(0, 8)) == 0 &&
                              recv[0] == expected && recv[1] == expected;
        const acp_team_request_t request = acp_nballtoallv_team(
            pair, send.data(), list(8, 8), list(0, 8), recv.data(), list(8, 8), list(0, 8));
        const bool is_right_later = acp_wait_team(request) == 0 && recv[1] == expected;
        for (const char* const name :
             {"send_sizes", "send_offsets", "recv_sizes", "recv_offsets"}) {
            takes("acp_alltoallv_team", name, is_right);
            takes("acp_nballtoallv_team", name, is_right_later);
        }
        EXPECT_EQ(acp_free_team(pair), 0) << acp_error_message();
    } else {
        named_.insert(parameter("acp_sync_team_notices", "sizes"));
        for (const char* const name :
             {"send_sizes", "send_offsets", "recv_sizes", "recv_offsets"}) {
            named_.insert(parameter("acp_alltoallv_team", name));
            named_.insert(parameter("acp_nballtoallv_team", name));
        }
    }
}

// A call of a function of the C library in the process of a device.
void DsmArgumentsTest::devices() {
    const bool is_made = acp_create_process(0, absent("/no/such/program")) != ACP_PROCESS_NULL;
    takes("acp_create_process", "program", !is_made && acp_errno() == ACP_ERR_ARGUMENT);
    const acp_process_t process = acp_create_process(0, nullptr);
    ASSERT_NE(process, ACP_PROCESS_NULL) << acp_error_message();
    const int library = acp_load_library(process, absent("libc.so.6"));
    takes("acp_load_library", "path", library > 0);
    const std::uint64_t function = acp_find_symbol(process, library, absent("labs"));
    takes("acp_find_symbol", "name", function != UINT64_MAX);
    const acp_context_t context = acp_open_context(process);
    const acp_args_t args = acp_create_args();
    EXPECT_EQ(acp_set_int_args(args, 0, -5), 0) << acp_error_message();
    std::uint64_t* const waited = absent<std::uint64_t>({0});
    const std::int64_t first = acp_begin_call(context, function, args);
    takes("acp_wait_call", "result",
          acp_wait_call(context, first, waited) == ACP_CALL_RETURNED && *waited == 5);
    std::uint64_t* const tested = absent<std::uint64_t>({0});
    const std::int64_t second = acp_begin_call(context, function, args);
    int end = ACP_NONE;
    while (end == ACP_NONE) end = acp_test_call(context, second, tested);
    takes("acp_test_call", "result", end == ACP_CALL_RETURNED && *tested == 5);
    std::uint64_t* const called = absent<std::uint64_t>({0});
    const acp_handle_t handle = acp_call(context, function, args, called, ACP_HANDLE_NULL);
    refuses("acp_call", "result", acp_wait(handle, -1) == ACP_ERR_UNSUPPORTED);
    takes("acp_query_device", "info", acp_query_device(0, absent<acp_device_info_t>({{}})) == 0);
    EXPECT_EQ(acp_free_args(args), 0) << acp_error_message();
    EXPECT_EQ(acp_destroy_process(process), 0) << acp_error_message();
}

// The parameters of the installed headers that are pointers to no bytes, keys or entries.
std::set<std::string> parameters_of_headers() {
    std::set<std::string> found;
    const std::filesystem::path folder(std::getenv("TEST_INCLUDE"));
    const std::regex comment(R"(/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)");
    const std::regex call(R"(ACP_API\b[^;(]*?\b(acp_\w+)\s*\(([^;]*)\);)");
    const std::regex pointer(R"(([^,]*\*+)\s*(\w+)\s*(?:,|$))");
    for (const auto& header : std::filesystem::directory_iterator(folder / "acp")) {
        if (!header.is_regular_file()) continue;
        std::ifstream file(header.path());
        std::string text(std::istreambuf_iterator<char>(file), {});
        text = std::regex_replace(text, comment, "");
        for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
            const std::string parameters = (*at)[2];
            for (std::sregex_iterator one(parameters.begin(), parameters.end(), pointer);
                 one != end; ++one) {
                const std::string type = (*one)[1];
                if (type.find("void*") == std::string::npos &&
                    type.find("acp_entry_t*") == std::string::npos) {
                    found.insert(parameter((*at)[1], (*one)[2]));
                }
            }
        }
    }
    return found;
}

TEST_F(DsmArgumentsTest, every_call_takes_or_refuses_arguments_in_absent_pages) {
    copies();
    channels();
    patterns();
    plans();
    heaps();
    hashed_options();
    maps();
    other_hashed();
    messages();
    teams();
    devices();
    ASSERT_EQ(acp_sync_team(acp_world_team()), 0) << acp_error_message();
    // No shared pages before the first; the third ends the process; the last: dsm_pointers_test.cpp.
    named_.insert({"acp_init argc", "acp_init argv", "acp_abort text", "acp_sys_open path",
                   "acp_sys_unlink path"});
    const std::set<std::string> known = parameters_of_headers();
    EXPECT_GT(known.size(), 50U);
    for (const std::string& one : known) {
        EXPECT_EQ(named_.count(one), 1U) << one << ": no test gives it an absent shared page";
    }
}

}  // namespace
}  // namespace acp::test
