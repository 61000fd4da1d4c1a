// SPDX-License-Identifier: BSD-3-Clause
// acp_put and acp_get: every size class, from and to every kind of memory of the caller, to and
// from memory of every kind on the next rank; in order; many at a time; and their failures with bad
// pointers and addresses.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "support/kind_test.hpp"

namespace acp::test {
namespace {

constexpr std::size_t sizes[] = {0,    1,      2,     3,       4,       7,      8,    9,
                                 64,   255,    256,   257,     1000,    1001,   4095, 4096,
                                 4097, 10'000, 65536, 262'144, 262'145, 600'000};
constexpr std::size_t longest = 600'000;
constexpr std::size_t guard = 64;
constexpr std::byte untouched{0x5a};

class PutTest : public KindTest {};

// Memory of the caller with guard bytes around it, at an offset from a multiple of 64.
class Local {
public:
    Local(std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {
        std::fill_n(memory_ - guard, bytes_ + 2 * guard, untouched);
    }

    [[nodiscard]] std::span<std::byte> bytes() const { return {memory_, bytes_}; }

    [[nodiscard]] bool is_guard_whole() const {
        const auto is_untouched = [](std::byte byte) { return byte == untouched; };
        return std::all_of(memory_ - guard, memory_, is_untouched) &&
               std::all_of(memory_ + bytes_, memory_ + bytes_ + guard, is_untouched);
    }

private:
    std::byte* memory_;
    std::size_t bytes_;
};

// Puts a pattern to the next rank's memory and gets it back, through one range of the caller's
// memory.
void go_there_and_back(const Local& local, const Arena& arena, int owner, std::uint64_t round) {
    const acp_ga_t there = arena.at(owner, guard + round % 8);
    fill_pattern(local.bytes(), round, acp_rank());
    const std::vector<std::byte> sent(local.bytes().begin(), local.bytes().end());
    expect_done(acp_put(there, local.bytes().data(), sent.size(), ACP_HANDLE_NULL));
    std::ranges::fill(local.bytes(), std::byte{0});
    expect_done(acp_get(local.bytes().data(), there, sent.size(), ACP_HANDLE_NULL));
    EXPECT_TRUE(std::ranges::equal(local.bytes(), sent)) << sent.size() << " bytes";
    EXPECT_TRUE(local.is_guard_whole()) << sent.size() << " bytes";
}

TEST_P(PutTest, moves_every_size_from_and_to_unregistered_heap_memory) {
    const Arena arena(GetParam(), longest + 2 * guard);
    std::uint64_t round = 0;
    for (const std::size_t size : sizes) {
        if (!reaches(next())) break;
        std::vector<std::byte> memory(size + 2 * guard + 8);
        go_there_and_back({memory.data() + guard + round % 8, size}, arena, next(), round);
        ++round;
    }
    sync_ranks();
}

TEST_P(PutTest, moves_from_and_to_the_stack) {
    const Arena arena(GetParam(), 8192);
    std::array<std::byte, 4200 + 2 * guard> memory;
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{8}, std::size_t{300}, std::size_t{4096}, std::size_t{4200}}) {
        if (reaches(next())) go_there_and_back({memory.data() + guard, size}, arena, next(), size);
    }
    sync_ranks();
}

TEST_P(PutTest, moves_from_and_to_memory_that_has_an_address_already) {
    const Arena arena(GetParam(), 20'000);
    for (const Kind kind : {Kind::registered, Kind::starter}) {
        // One starter arena at a time.
        if (kind == GetParam()) continue;
        const Arena own(kind, 12'000);
        for (const std::size_t size : {std::size_t{8}, std::size_t{100}, std::size_t{10'000}}) {
            if (reaches(next())) {
                go_there_and_back({own.local().data() + guard, size}, arena, next(), size);
            }
        }
        sync_ranks();
    }
}

TEST_P(PutTest, puts_from_memory_that_may_only_be_read) {
    const Arena arena(GetParam(), longest);
    for (const std::size_t size : {std::size_t{8}, std::size_t{4096}, std::size_t{300'000}}) {
        void* const pages =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(pages, MAP_FAILED);
        fill_pattern({static_cast<std::byte*>(pages), size}, size, rank_);
        ASSERT_EQ(mprotect(pages, size, PROT_READ), 0);
        if (reaches(next())) expect_done(acp_put(arena.at(next()), pages, size, ACP_HANDLE_NULL));
        sync_ranks();
        std::vector<std::byte> expected(size);
        fill_pattern(expected, size, previous());
        if (reaches(next())) {
            EXPECT_TRUE(std::equal(expected.begin(), expected.end(), arena.local().begin()));
        }
        sync_ranks();
        EXPECT_EQ(munmap(pages, size), 0);
    }
}

TEST_P(PutTest, takes_the_bytes_when_its_order_is_met) {
    const Arena arena(GetParam(), 26 * 5000);
    for (const std::size_t size : {std::size_t{8}, std::size_t{700}, std::size_t{5000}}) {
        for (const acp_handle_t link : {ACP_HANDLE_ALL, ACP_HANDLE_CONT, acp_handle_t{0}}) {
            std::vector<std::vector<std::byte>> hops(12, std::vector<std::byte>(size, untouched));
            std::vector<std::byte> sent(size);
            fill_pattern(sent, size, rank_);
            sync_ranks();
            if (rank_ == 0) {
                acp_handle_t last = acp_put(arena.at(0), sent.data(), size, ACP_HANDLE_NULL);
                const auto order = [&] { return link == 0 ? last : link; };
                acp_ga_t from = arena.at(0);
                for (std::size_t hop = 0; hop < hops.size(); ++hop) {
                    const int owner = static_cast<int>(hop + 1) % procs_;
                    if (!reaches(owner)) continue;
                    const acp_ga_t to = arena.at(owner, (hop + 1) * size);
                    last = acp_get(hops[hop].data(), from, size, order());
                    last = acp_put(to, hops[hop].data(), size, order());
                    from = to;
                }
                std::vector<std::byte> seen(size);
                expect_done(acp_get(seen.data(), from, size, order()));
                EXPECT_EQ(seen, sent) << size << " bytes, order " << link;
            }
            sync_ranks();
        }
    }
}

TEST_P(PutTest, allows_thousands_in_flight) {
    constexpr std::size_t count = 3000;
    const Arena arena(GetParam(), 8 * count);
    std::vector<std::uint64_t> sent(count);
    std::vector<std::uint64_t> seen(count);
    for (std::size_t i = 0; i < count; ++i) sent[i] = i * 977 + static_cast<std::uint64_t>(rank_);
    if (reaches(next())) {
        for (std::size_t i = 0; i < count; ++i) {
            (void)acp_put(arena.at(next(), 8 * i), &sent[i], 8, ACP_HANDLE_NULL);
        }
        expect_done(ACP_HANDLE_ALL);
        for (std::size_t i = 0; i < count; ++i) {
            (void)acp_get(&seen[i], arena.at(next(), 8 * i), 8, ACP_HANDLE_NULL);
        }
        expect_done(ACP_HANDLE_ALL);
        EXPECT_EQ(seen, sent);
    }
    sync_ranks();
}

TEST_P(PutTest, allows_hundreds_of_long_ones_in_flight) {
    constexpr std::size_t count = 300;
    constexpr std::size_t each = 5000;
    const Arena arena(GetParam(), each * count);
    std::vector<std::vector<std::byte>> sent(count, std::vector<std::byte>(each));
    std::vector<std::vector<std::byte>> seen(count, std::vector<std::byte>(each));
    if (reaches(next())) {
        acp_handle_t first = ACP_HANDLE_NULL;
        for (std::size_t i = 0; i < count; ++i) {
            fill_pattern(sent[i], i, rank_);
            const acp_handle_t put =
                acp_put(arena.at(next(), each * i), sent[i].data(), each, ACP_HANDLE_NULL);
            first = i == 0 ? put : first;
        }
        // All gets come after all puts.
        for (std::size_t i = 0; i < count; ++i) {
            (void)acp_get(seen[i].data(), arena.at(next(), each * i), each,
                          i == 0 ? ACP_HANDLE_ALL : first);
            if (i == 0) expect_done(ACP_HANDLE_ALL);
        }
        expect_done(ACP_HANDLE_ALL);
        EXPECT_EQ(seen, sent);
    }
    sync_ranks();
}

TEST_P(PutTest, gives_what_it_borrowed_back_where_nothing_ran) {
    const Arena arena(GetParam(), 8192);
    std::vector<std::byte> memory(5000);
    if (reaches(next())) {
        for (int i = 0; i < 700; ++i) {
            const std::size_t size = i % 2 == 0 ? 64 : memory.size();
            const acp_handle_t bad = acp_get(memory.data(), 1, size, ACP_HANDLE_NULL);
            const acp_handle_t after = acp_put(arena.at(next()), memory.data(), size, bad);
            EXPECT_EQ(acp_wait(bad, -1), ACP_ERR_ADDRESS);
            EXPECT_EQ(acp_wait(after, -1), ACP_ERR_ORDER);
        }
        go_there_and_back({memory.data() + guard, 4800}, arena, next(), 1);
    }
    sync_ranks();
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         PutTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

class BadPutTest : public RankedTest {};

TEST_F(BadPutTest, refuses_a_null_pointer_but_for_no_bytes) {
    const acp_ga_t mine = acp_query_starter_ga(rank_);
    expect_failure(acp_put(mine, nullptr, 8, ACP_HANDLE_NULL), ACP_ERR_ARGUMENT,
                   {"acp_put by rank " + std::to_string(rank_), "NULL", "8 bytes"});
    expect_failure(acp_get(nullptr, mine, 5000, ACP_HANDLE_NULL), ACP_ERR_ARGUMENT,
                   {"acp_get by rank", "NULL"});
    expect_done(acp_put(mine, nullptr, 0, ACP_HANDLE_NULL));
    expect_done(acp_get(nullptr, mine, 0, ACP_HANDLE_NULL));
}

TEST_F(BadPutTest, names_a_wild_address_and_leaves_the_memory_as_it_is) {
    for (const std::size_t size : {std::size_t{8}, std::size_t{5000}}) {
        std::vector<std::byte> memory(size, untouched);
        expect_failure(acp_put(1, memory.data(), size, ACP_HANDLE_NULL), ACP_ERR_ADDRESS,
                       {"acp_put by rank", "the target is"});
        expect_failure(acp_get(memory.data(), ACP_GA_NULL, size, ACP_HANDLE_NULL), ACP_ERR_ADDRESS,
                       {"acp_get by rank", "the source is", "null"});
        const int next = (rank_ + 1) % procs_;
        const acp_ga_t beyond = acp_query_starter_ga(next) + acp_starter_size() - size + 1;
        expect_failure(acp_get(memory.data(), beyond, size, ACP_HANDLE_NULL), ACP_ERR_ADDRESS,
                       {"acp_get by rank", "rank " + std::to_string(next)});
        EXPECT_EQ(memory, std::vector<std::byte>(size, untouched));
    }
    sync_ranks();
}

TEST_F(BadPutTest, fails_with_a_stale_address) {
    const int next = (rank_ + 1) % procs_;
    acp_ga_t stale = ACP_GA_NULL;
    {
        const Arena arena(Kind::registered, 8192);
        stale = arena.at(next);
    }
    sync_ranks();  // every rank has ended its registration
    for (const std::size_t size : {std::size_t{8}, std::size_t{8000}}) {
        std::vector<std::byte> memory(size, untouched);
        expect_failure(acp_get(memory.data(), stale, size, ACP_HANDLE_NULL), ACP_ERR_STALE,
                       {"acp_get by rank"});
        expect_failure(acp_put(stale, memory.data(), size, ACP_HANDLE_NULL), ACP_ERR_STALE,
                       {"acp_put by rank"});
        EXPECT_EQ(memory, std::vector<std::byte>(size, untouched));
    }
    sync_ranks();
}

TEST_F(BadPutTest, refuses_long_memory_that_is_not_mapped) {
    constexpr std::size_t size = 1'000'000;  // longer than what the calling thread moves
    void* const pages =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    const Arena arena(Kind::starter, size);
    ASSERT_EQ(mprotect(pages, size, PROT_READ), 0);
    expect_failure(acp_get(pages, arena.at(rank_), size, ACP_HANDLE_NULL), ACP_ERR_ARGUMENT,
                   {"acp_get by rank", "is not writable"});
    ASSERT_EQ(munmap(pages, size), 0);
    expect_failure(acp_put(arena.at(rank_), pages, size, ACP_HANDLE_NULL), ACP_ERR_ARGUMENT,
                   {"acp_put by rank", "is not mapped"});
}

TEST_F(BadPutTest, has_a_path_that_can_be_asked) {
    const Arena shared(Kind::starter, 64);
    const Arena registered(Kind::registered, 64);
    const int next = (rank_ + 1) % procs_;
    for (const acp_ga_t address : {shared.at(next), registered.at(next), shared.at(rank_)}) {
        const acp_path_t put = acp_path(address, ACP_GA_NULL);
        EXPECT_STREQ(put.name, acp_path(address, shared.at(rank_)).name);
        EXPECT_STREQ(put.name, acp_path(ACP_GA_NULL, address).name);
    }
    EXPECT_STREQ(acp_path(ACP_GA_NULL, ACP_GA_NULL).name, "none");
    sync_ranks();
}

}  // namespace
}  // namespace acp::test
