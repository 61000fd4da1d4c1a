// SPDX-License-Identifier: BSD-3-Clause
// Pointers into absent shared pages of several nodes, given to every call that takes memory of the
// program: the copies of acp/access.h move the right bytes, and every other call refuses them with a
// sentence. None hangs, and none raises a signal that the program sees. A call of a header that this
// file does not name fails.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <vector>

#include <acp/device_side.h>
#include <acp/offload.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t window = 512 * page;

class DsmPointersTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        ASSERT_EQ(acp_init_dsm(window), 0) << acp_error_message();
        bytes_ = static_cast<char*>(acp_alloc_dsm(window));
        ASSERT_NE(bytes_, nullptr) << acp_error_message();
    }

    void TearDown() override {
        EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        RankedTest::TearDown();
    }

    // The page at this place is homed on another node.
    [[nodiscard]] char* absent() const { return bytes_ + (rank_ < procs_ / 2 ? window / 2 : 0); }

    char* bytes_ = nullptr;
};

TEST_F(DsmPointersTest, puts_and_gets_of_every_length_move_the_right_bytes) {
    constexpr std::size_t longest = window / 4;
    const std::size_t own = static_cast<std::size_t>(rank_) * longest;
    std::memset(bytes_ + own, 'a' + rank_, longest);
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    const auto other = static_cast<std::size_t>((rank_ + procs_ / 2) % procs_);
    const acp_ga_t heap = acp_malloc(2 * longest, static_cast<int>(other));
    ASSERT_NE(heap, ACP_GA_NULL) << acp_error_message();
    std::vector<char> got(longest);
    for (const std::size_t size : {std::size_t{1}, std::size_t{64}, std::size_t{5000}, longest}) {
        // From absent pages to another node, and back into pages of this rank.
        char* const source = bytes_ + other * longest;
        expect_done(acp_put(heap, source, size, ACP_HANDLE_NULL));
        expect_done(acp_get(got.data(), heap, size, ACP_HANDLE_NULL));
        EXPECT_EQ(std::count(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(size),
                             static_cast<char>('a' + other)),
                  static_cast<std::ptrdiff_t>(size));
        expect_done(acp_put_copied(heap, source, size, ACP_HANDLE_NULL));
        expect_done(
            acp_put_signal(heap, source, size, acp_query_starter_ga(rank_), 1, ACP_HANDLE_NULL));
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        expect_done(acp_get(bytes_ + own, heap, size, ACP_HANDLE_NULL));
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        EXPECT_EQ(bytes_[other * longest + size - 1], static_cast<char>('a' + rank_)) << size;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        std::memset(bytes_ + own, 'a' + rank_, size);
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
    EXPECT_EQ(acp_put(heap, bytes_ + window - 8, 16, ACP_HANDLE_NULL), ACP_HANDLE_NULL);
    expect_error(ACP_ERR_ARGUMENT, {"acp_put", "leaves the allocations", "16 bytes from address"});
    acp_free(heap);
}

// Calls with an argument in an absent page.
class Refusals {
public:
    explicit Refusals(char* place) : place_(place) {}

    //   is_refused  makes the call, and returns whether its result says so
    void expect(const std::string& call, bool is_refused) {
        named_.insert(call);
        EXPECT_TRUE(is_refused) << call << " takes it";
        if (is_refused) expect_error(ACP_ERR_UNSUPPORTED, {call, "shared pages"});
    }

    [[nodiscard]] char* place() const { return place_; }

    [[nodiscard]] acp_entry_t key_there() const { return {place_, 8, &own_, 8, 0, 0}; }

    [[nodiscard]] acp_entry_t value_there() const { return {&own_, 8, place_, 8, 0, 0}; }

    [[nodiscard]] const std::set<std::string>& named() const { return named_; }

    [[nodiscard]] void* own() const { return &own_; }

private:
    char* place_;
    mutable std::uint64_t own_ = 0;
    std::set<std::string> named_;
};

void refuse_in_channels_and_segments(Refusals& all) {
    void* const at = all.place();
    const int other = (acp_rank() + 1) % acp_procs();
    const acp_ch_t ch = acp_create_ch(acp_rank(), other);
    const acp_ch_t from = acp_create_ch((acp_rank() + acp_procs() - 1) % acp_procs(), acp_rank());
    all.expect("acp_send_ch", acp_send_ch(ch, at, 8) == -1);
    all.expect("acp_send_ch", acp_send_ch(ch, at, 100'000) == -1);
    all.expect("acp_recv_ch", acp_recv_ch(from, at, 8) == ~std::size_t{0});
    all.expect("acp_nbsend_ch", acp_nbsend_ch(ch, at, 8) == ACP_REQUEST_NULL);
    all.expect("acp_nbrecv_ch", acp_nbrecv_ch(from, at, 8) == ACP_REQUEST_NULL);
    for (const acp_request_t freed : {acp_nbfree_ch(ch), acp_nbfree_ch(from)})
        EXPECT_EQ(acp_wait_ch(freed), 0U) << acp_error_message();
    all.expect("acp_create_src_segbuf", acp_create_src_segbuf(other, at, 64, 4) == ACP_SEGBUF_NULL);
    all.expect("acp_create_dst_segbuf", acp_create_dst_segbuf(other, at, 64, 4) == ACP_SEGBUF_NULL);
    acp_ga_t first = 0;
    const acp_pm_t pm = acp_open_pm(4);
    EXPECT_NE(pm, ACP_PM_NULL) << acp_error_message();
    all.expect("acp_lock_pm", acp_lock_pm(pm, at, 8, &first) == -1);
    EXPECT_EQ(acp_close_pm(pm), 0) << acp_error_message();
    all.expect("acp_wait_word", acp_wait_word(at, 8, ACP_WORD_EQUAL, 0, 0) == ACP_ERR_UNSUPPORTED);
}

// Lists of blocks are read where commands are queued, under a lock that the fault of an absent page
// would wait for.
void refuse_in_lists_of_blocks(Refusals& all) {
    const int other = (acp_rank() + 1) % acp_procs();
    auto* const there = reinterpret_cast<std::uint64_t*>(all.place());
    std::array<std::uint64_t, 2> own{8, 8};
    all.expect("acp_malloc_many", acp_malloc_many(2, there, other, own.data()) == -1);
    all.expect("acp_malloc_many", acp_malloc_many(2, own.data(), other, there) == -1);
    all.expect("acp_free_many", acp_free_many(2, there) == -1);
}

void refuse_in_calls_of_devices(Refusals& all) {
    const acp_args_t args = acp_create_args();
    all.expect("acp_set_buffer_args",
               acp_set_buffer_args(args, 0, ACP_BUFFER_IN, all.place(), 8) == -1);
    auto* const word = reinterpret_cast<std::uint64_t*>(all.place());
    const acp_handle_t call = acp_call(ACP_CONTEXT_NULL, 0, args, word, ACP_HANDLE_NULL);
    all.expect("acp_call", acp_wait(call, -1) == ACP_ERR_UNSUPPORTED);
    EXPECT_EQ(acp_free_args(args), 0);
}

// They fail as read(2) and write(2) do. Returns the names of the calls.
std::set<std::string> fail_in_system_calls(char* at) {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    EXPECT_EQ(acp_sys_send(ends[1], "message", 7, 0), 7);
    const int file = memfd_create("absent", 0);
    EXPECT_EQ(acp_sys_write(file, "eight by", 8), 8);
    EXPECT_EQ(acp_sys_pwrite(file, at, 8, 0), -EFAULT);
    EXPECT_EQ(acp_sys_pread(file, at, 8, 0), -EFAULT);
    EXPECT_EQ(acp_sys_write(file, at, 8), -EFAULT);
    EXPECT_EQ(acp_sys_lseek(file, 0, SEEK_SET), 0);
    EXPECT_EQ(acp_sys_read(file, at, 8), -EFAULT);
    EXPECT_EQ(acp_sys_send(ends[0], at, 8, 0), -EFAULT);
    EXPECT_EQ(acp_sys_recv(ends[0], at, 8, 0), -EFAULT);
    EXPECT_EQ(acp_sys_bind(ends[0], at, 8), -EFAULT);
    EXPECT_EQ(acp_sys_connect(ends[0], at, 8), -EFAULT);
    EXPECT_EQ(acp_sys_open(at, 0, 0), -EFAULT);
    EXPECT_EQ(acp_sys_unlink(at), -EFAULT);
    for (const int descriptor : {ends[0], ends[1], file}) EXPECT_EQ(acp_sys_close(descriptor), 0);
    return {"acp_sys_read", "acp_sys_write", "acp_sys_pread", "acp_sys_pwrite",
            "acp_sys_send", "acp_sys_recv",  "acp_sys_bind",  "acp_sys_connect"};
}

void refuse_in_patterns(Refusals& all) {
    void* const at = all.place();
    const acp_pattern_t pattern = acp_create_pattern(acp_world_team());
    all.expect("acp_add_send_pattern", acp_add_send_pattern(pattern, 1, at, 8) == -1);
    all.expect("acp_add_recv_pattern", acp_add_recv_pattern(pattern, 1, at, 8) == -1);
    all.expect("acp_add_copy_pattern",
               acp_add_copy_pattern(pattern, acp_query_starter_ga(0), at, 8) == -1);
    const int members = acp_procs();
    const std::size_t points = 8;
    const std::size_t halo = 1;
    const acp_grid_t grid{1, &members, nullptr, &points, &halo, 8, 1};
    all.expect("acp_add_halo_pattern", acp_add_halo_pattern(pattern, at, &grid) == -1);
    const int shift = 1;
    const std::size_t size = 8;
    const std::size_t offset = 0;
    const acp_neighbours_t one{1, &shift, &size, &offset};
    all.expect("acp_add_alltoallv_pattern",
               acp_add_alltoallv_pattern(pattern, at, &one, all.own(), &one) == -1);
    all.expect("acp_add_alltoallv_pattern",
               acp_add_alltoallv_pattern(pattern, all.own(), &one, at, &one) == -1);
    EXPECT_EQ(acp_free_pattern(pattern), 0) << acp_error_message();
}

void combine(void* into, const void* from, std::size_t count, void* /*context*/) {
    std::memcpy(into, from, 8 * count);
}

void refuse_in_teams(Refusals& all) {
    const acp_team_t team = acp_world_team();
    void* const at = all.place();
    std::vector<std::uint64_t> own(static_cast<std::size_t>(acp_procs()) * 128);
    std::vector<std::size_t> sizes(static_cast<std::size_t>(acp_procs()), 8);
    const auto procs = static_cast<std::size_t>(acp_procs());
    // Each of two buffers lies there once.
    for (const bool is_send : {true, false}) {
        void* const send = is_send ? at : own.data();
        void* const recv = is_send ? own.data() : at;
        const auto root = acp_rank();
        all.expect("acp_sync_team_notices",
                   acp_sync_team_notices(team, send, 8, recv, sizes.data()) == -1);
        all.expect("acp_reduce_team",
                   acp_reduce_team(team, send, recv, 1, ACP_UINT64, ACP_SUM, root) == -1);
        all.expect("acp_allreduce_team",
                   acp_allreduce_team(team, send, recv, 1, ACP_UINT64, ACP_SUM) == -1);
        all.expect("acp_reduce_by_team",
                   acp_reduce_by_team(team, send, recv, 1, 8, combine, nullptr, root) == -1);
        all.expect("acp_allreduce_by_team",
                   acp_allreduce_by_team(team, send, recv, 1, 8, combine, nullptr) == -1);
        all.expect("acp_gather_team", acp_gather_team(team, send, 8, recv, root) == -1);
        all.expect("acp_allgather_team", acp_allgather_team(team, send, 8, recv) == -1);
        all.expect("acp_scatter_team", acp_scatter_team(team, send, 8, recv, root) == -1);
        all.expect("acp_alltoall_team", acp_alltoall_team(team, send, 8, recv) == -1);
        sizes.assign(procs, 8);
        std::vector<std::size_t> offsets(procs, 0);
        all.expect("acp_alltoallv_team",
                   acp_alltoallv_team(team, send, sizes.data(), offsets.data(), recv, sizes.data(),
                                      offsets.data()) == -1);
        all.expect("acp_scan_team", acp_scan_team(team, send, recv, 1, ACP_UINT64, ACP_SUM) == -1);
        all.expect("acp_scan_by_team",
                   acp_scan_by_team(team, send, recv, 1, 8, combine, nullptr) == -1);
        all.expect("acp_exscan_team",
                   acp_exscan_team(team, send, recv, 1, ACP_UINT64, ACP_SUM) == -1);
        all.expect("acp_exscan_by_team",
                   acp_exscan_by_team(team, send, recv, 1, 8, combine, nullptr) == -1);
        const acp_team_request_t none = ACP_TEAM_REQUEST_NULL;
        all.expect("acp_nbreduce_team",
                   acp_nbreduce_team(team, send, recv, 1, ACP_UINT64, ACP_SUM, root) == none);
        all.expect("acp_nballreduce_team",
                   acp_nballreduce_team(team, send, recv, 1, ACP_UINT64, ACP_SUM) == none);
        all.expect("acp_nbreduce_by_team",
                   acp_nbreduce_by_team(team, send, recv, 1, 8, combine, nullptr, root) == none);
        all.expect("acp_nballreduce_by_team",
                   acp_nballreduce_by_team(team, send, recv, 1, 8, combine, nullptr) == none);
        all.expect("acp_nbgather_team", acp_nbgather_team(team, send, 8, recv, root) == none);
        all.expect("acp_nballgather_team", acp_nballgather_team(team, send, 8, recv) == none);
        all.expect("acp_nbscatter_team", acp_nbscatter_team(team, send, 8, recv, root) == none);
        all.expect("acp_nballtoall_team", acp_nballtoall_team(team, send, 8, recv) == none);
        all.expect("acp_nballtoallv_team",
                   acp_nballtoallv_team(team, send, sizes.data(), offsets.data(), recv,
                                        sizes.data(), offsets.data()) == none);
        all.expect("acp_nbscan_team",
                   acp_nbscan_team(team, send, recv, 1, ACP_UINT64, ACP_SUM) == none);
        all.expect("acp_nbscan_by_team",
                   acp_nbscan_by_team(team, send, recv, 1, 8, combine, nullptr) == none);
        all.expect("acp_nbexscan_team",
                   acp_nbexscan_team(team, send, recv, 1, ACP_UINT64, ACP_SUM) == none);
        all.expect("acp_nbexscan_by_team",
                   acp_nbexscan_by_team(team, send, recv, 1, 8, combine, nullptr) == none);
    }
    all.expect("acp_broadcast_team", acp_broadcast_team(team, at, 8, 0) == -1);
    all.expect("acp_nbbroadcast_team",
               acp_nbbroadcast_team(team, at, 8, 0) == ACP_TEAM_REQUEST_NULL);
}

void refuse_in_sequences(Refusals& all) {
    void* const at = all.place();
    const int rank = acp_rank();
    const acp_vector_t vector = acp_create_vector(64, rank);
    all.expect("acp_push_back_vector", acp_push_back_vector(vector, at, 8) == -1);
    all.expect("acp_append_vector", acp_append_vector(vector, at, 8) == -1);
    all.expect("acp_take_back_vector", acp_take_back_vector(vector, at, 8) == -1);
    all.expect("acp_read_vector", acp_read_vector(vector, 0, at, 8) == -1);
    all.expect("acp_write_vector", acp_write_vector(vector, 0, at, 8) == -1);
    (void)acp_insert_vector(acp_begin_vector(vector), at, 8);
    all.expect("acp_insert_vector", acp_errno() == ACP_ERR_UNSUPPORTED);
    acp_destroy_vector(vector);
    const acp_deque_t deque = acp_create_deque(64, rank);
    all.expect("acp_push_back_deque", acp_push_back_deque(deque, at, 8) == -1);
    all.expect("acp_push_front_deque", acp_push_front_deque(deque, at, 8) == -1);
    all.expect("acp_append_deque", acp_append_deque(deque, at, 8) == -1);
    all.expect("acp_take_back_deque", acp_take_back_deque(deque, at, 8) == -1);
    all.expect("acp_take_front_deque", acp_take_front_deque(deque, at, 8) == -1);
    all.expect("acp_read_deque", acp_read_deque(deque, 0, at, 8) == -1);
    all.expect("acp_write_deque", acp_write_deque(deque, 0, at, 8) == -1);
    (void)acp_insert_deque(acp_begin_deque(deque), at, 8);
    all.expect("acp_insert_deque", acp_errno() == ACP_ERR_UNSUPPORTED);
    acp_destroy_deque(deque);
    const acp_list_t list = acp_create_list(rank);
    all.expect("acp_push_back_list", acp_push_back_list(list, at, 8, rank) == -1);
    all.expect("acp_push_front_list", acp_push_front_list(list, at, 8, rank) == -1);
    all.expect("acp_take_back_list", acp_take_back_list(list, at, 8) == -1);
    all.expect("acp_take_front_list", acp_take_front_list(list, at, 8) == -1);
    all.expect("acp_read_list", acp_read_list(acp_begin_list(list), at, 8) == -1);
    all.expect("acp_remove_list", acp_remove_list(list, at, 8) == -1);
    (void)acp_insert_list(acp_begin_list(list), at, 8, rank);
    all.expect("acp_insert_list", acp_errno() == ACP_ERR_UNSUPPORTED);
    acp_destroy_list(list);
}

void refuse_in_maps(Refusals& all) {
    const void* const at = all.place();
    void* const own = all.own();
    const int rank = acp_rank();
    const acp_map_t map = acp_create_map(1, &rank, 16, rank);
    EXPECT_EQ(acp_insert_or_assign_map(map, own, 8, own, 8), 1) << acp_error_message();
    for (const bool is_key : {true, false}) {
        const acp_entry_t entry = is_key ? all.key_there() : all.value_there();
        const auto [key, key_size, value, value_size, number, result] = entry;
        (void)acp_insert_map(map, key, key_size, value, value_size);
        all.expect("acp_insert_map", acp_errno() == ACP_ERR_UNSUPPORTED);
        all.expect("acp_insert_if_absent_map",
                   acp_insert_if_absent_map(map, key, key_size, value, value_size) == -1);
        all.expect("acp_insert_or_assign_map",
                   acp_insert_or_assign_map(map, key, key_size, value, value_size) == -1);
        all.expect("acp_replace_map", acp_replace_map(map, &entry, own, 8) == -1);
        std::size_t room = 8;
        all.expect("acp_retrieve_map", acp_retrieve_map(map, key, key_size, value, &room) == -1);
        for (acp_entry_t many = entry;
             auto* const call : {acp_find_many_map, acp_insert_many_map, acp_assign_many_map}) {
            const char* const name = call == acp_find_many_map     ? "acp_find_many_map"
                                     : call == acp_insert_many_map ? "acp_insert_many_map"
                                                                   : "acp_assign_many_map";
            all.expect(name, call(map, 1, &many) == -1);
        }
        acp_reply_t reply{};
        all.expect("acp_start_insert_map",
                   acp_start_insert_map(map, &entry, &reply) == ACP_HANDLE_NULL);
        all.expect("acp_start_assign_map",
                   acp_start_assign_map(map, &entry, &reply) == ACP_HANDLE_NULL);
    }
    acp_entry_t there = all.key_there();
    acp_reply_t reply{};
    std::uint64_t word = 0;
    all.expect("acp_replace_map", acp_replace_map(map, &there, at, 8) == -1);
    all.expect("acp_fetch_add_map", acp_fetch_add_map(map, at, 8, 1, &word) == -1);
    all.expect("acp_compare_exchange_map", acp_compare_exchange_map(map, at, 8, &word, 1) == -1);
    (void)acp_find_map(map, at, 8);
    all.expect("acp_find_map", acp_errno() == ACP_ERR_UNSUPPORTED);
    all.expect("acp_remove_map", acp_remove_map(map, at, 8) == -1);
    all.expect("acp_remove_many_map", acp_remove_many_map(map, 1, &there) == -1);
    all.expect("acp_fetch_add_many_map", acp_fetch_add_many_map(map, 1, &there) == -1);
    all.expect("acp_start_retrieve_map",
               acp_start_retrieve_map(map, at, 8, &reply) == ACP_HANDLE_NULL);
    all.expect("acp_start_remove_map", acp_start_remove_map(map, at, 8, &reply) == ACP_HANDLE_NULL);
    all.expect("acp_start_fetch_add_map",
               acp_start_fetch_add_map(map, &there, &reply) == ACP_HANDLE_NULL);
    acp_map_it_t it = acp_begin_map(map);
    all.expect("acp_scan_map", acp_scan_map(&it, 1, &there, all.place(), 64) == -1);
    acp_destroy_map(map);
}

void refuse_in_other_hashed_containers(Refusals& all) {
    const void* const at = all.place();
    void* const own = all.own();
    const int rank = acp_rank();
    acp_entry_t there = all.key_there();
    const acp_multimap_t multimap = acp_create_multimap(1, &rank, 16, rank);
    (void)acp_insert_multimap(multimap, at, 8, own, 8);
    all.expect("acp_insert_multimap", acp_errno() == ACP_ERR_UNSUPPORTED);
    (void)acp_insert_multimap(multimap, own, 8, at, 8);
    all.expect("acp_insert_multimap", acp_errno() == ACP_ERR_UNSUPPORTED);
    (void)acp_find_multimap(multimap, at, 8);
    all.expect("acp_find_multimap", acp_errno() == ACP_ERR_UNSUPPORTED);
    all.expect("acp_count_multimap", acp_count_multimap(multimap, at, 8) == -1);
    all.expect("acp_remove_multimap", acp_remove_multimap(multimap, at, 8) == -1);
    (void)acp_insert_multimap(multimap, own, 8, own, 8);
    acp_multimap_it_t multi = acp_begin_multimap(multimap);
    std::size_t room = 8;
    all.expect("acp_read_multimap_it", acp_read_multimap_it(multi, all.place(), &room) == -1);
    all.expect("acp_scan_multimap", acp_scan_multimap(&multi, 1, &there, all.place(), 64) == -1);
    acp_destroy_multimap(multimap);
    const acp_multiset_t multiset = acp_create_multiset(1, &rank, 16, rank);
    (void)acp_insert_multiset(multiset, at, 8);
    all.expect("acp_insert_multiset", acp_errno() == ACP_ERR_UNSUPPORTED);
    all.expect("acp_add_multiset", acp_add_multiset(multiset, at, 8, 1) == ~std::uint64_t{0});
    (void)acp_find_multiset(multiset, at, 8);
    all.expect("acp_find_multiset", acp_errno() == ACP_ERR_UNSUPPORTED);
    all.expect("acp_retrieve_multiset",
               acp_retrieve_multiset(multiset, at, 8) == ~std::uint64_t{0});
    all.expect("acp_remove_multiset", acp_remove_multiset(multiset, at, 8) == -1);
    all.expect("acp_remove_all_multiset", acp_remove_all_multiset(multiset, at, 8) == -1);
    all.expect("acp_add_many_multiset", acp_add_many_multiset(multiset, 1, &there) == -1);
    all.expect("acp_find_many_multiset", acp_find_many_multiset(multiset, 1, &there) == -1);
    acp_multiset_it_t counted = acp_begin_multiset(multiset);
    all.expect("acp_scan_multiset", acp_scan_multiset(&counted, 1, &there, all.place(), 64) == -1);
    acp_destroy_multiset(multiset);
    const acp_set_t set = acp_create_set(1, &rank, 16, rank);
    (void)acp_insert_set(set, at, 8);
    all.expect("acp_insert_set", acp_errno() == ACP_ERR_UNSUPPORTED);
    all.expect("acp_insert_if_absent_set", acp_insert_if_absent_set(set, at, 8) == -1);
    (void)acp_find_set(set, at, 8);
    all.expect("acp_find_set", acp_errno() == ACP_ERR_UNSUPPORTED);
    all.expect("acp_contains_set", acp_contains_set(set, at, 8) == -1);
    all.expect("acp_remove_set", acp_remove_set(set, at, 8) == -1);
    all.expect("acp_find_many_set", acp_find_many_set(set, 1, &there) == -1);
    all.expect("acp_insert_many_set", acp_insert_many_set(set, 1, &there) == -1);
    all.expect("acp_remove_many_set", acp_remove_many_set(set, 1, &there) == -1);
    acp_set_it_t in_set = acp_begin_set(set);
    all.expect("acp_scan_set", acp_scan_set(&in_set, 1, &there, all.place(), 64) == -1);
    acp_destroy_set(set);
}

// The functions of the installed headers that have a parameter "void*" or one of entries.
std::set<std::string> calls_with_memory() {
    std::set<std::string> found;
    const std::filesystem::path folder(std::getenv("TEST_INCLUDE"));
    for (const auto& header : std::filesystem::directory_iterator(folder / "acp")) {
        if (!header.is_regular_file()) continue;
        std::ifstream file(header.path());
        const std::string text(std::istreambuf_iterator<char>(file), {});
        const std::regex call(R"(ACP_API\b[^;(]*?\b(acp_\w+)\s*\(([^;]*)\);)");
        const std::regex memory(R"(void\*|acp_entry_t\*)");
        for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
            const std::string parameters = (*at)[2];
            if (std::regex_search(parameters, memory)) found.insert((*at)[1]);
        }
    }
    return found;
}

// Calls that take the memory, and those that only compare or return an address.
const std::set<std::string> takers = {"acp_put",
                                      "acp_get",
                                      "acp_put_copied",
                                      "acp_put_signal",
                                      "acp_free_dsm",
                                      "acp_bind_dsm",
                                      "acp_query_ga_dsm",
                                      "acp_prefetch_dsm",
                                      "acp_flush_dsm",
                                      "acp_fence_dsm",
                                      "acp_set_home_dsm",
                                      "acp_query_home_dsm",
                                      "acp_set_update_dsm",
                                      "acp_handle_fault_dsm",
                                      "acp_query_ga",
                                      "acp_register_memory",
                                      "acp_register_all",
                                      "acp_get_buffer_pm",
                                      "acp_wait_buffer_pm",
                                      "acp_receive_pm",
                                      "acp_result_of_reply"};

TEST_F(DsmPointersTest, every_other_call_refuses_absent_pages_by_a_sentence) {
    Refusals all(absent());
    refuse_in_channels_and_segments(all);
    refuse_in_lists_of_blocks(all);
    refuse_in_calls_of_devices(all);
    const std::set<std::string> system_calls = fail_in_system_calls(absent());
    refuse_in_patterns(all);
    refuse_in_teams(all);
    refuse_in_sequences(all);
    refuse_in_maps(all);
    refuse_in_other_hashed_containers(all);
    EXPECT_EQ(acp_register_memory(absent(), 8, 0), ACP_ATKEY_NULL);
    expect_error(ACP_ERR_ARGUMENT, {"acp_register_memory", "acp_query_ga_dsm"});
    ASSERT_EQ(acp_sync_team(acp_world_team()), 0) << acp_error_message();
    const std::set<std::string> known = calls_with_memory();
    EXPECT_GT(known.size(), 100U);
    for (const std::string& call : known) {
        const bool is_named = all.named().count(call) != 0 || takers.count(call) != 0 ||
                              system_calls.count(call) != 0 ||
                              call.find("for_each_local") != std::string::npos;
        EXPECT_TRUE(is_named) << call << " takes memory, and no test gives it shared pages";
    }
}

}  // namespace
}  // namespace acp::test
