// SPDX-License-Identifier: BSD-3-Clause
// Order: a command starts after the commands that its order argument names, whatever paths both
// take. Every chain moves a value through memory that held another value before, so that a command
// that runs too early is detected.
#include <string>
#include <vector>

#include "support/arena.hpp"
#include "support/mode.hpp"
#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

enum class Link { handle, all, cont };

const char* name_of(Link link) {
    constexpr const char* names[] = {"handle", "all", "cont"};
    return names[static_cast<std::size_t>(link)];
}

acp_handle_t order_of(Link link, acp_handle_t previous) {
    switch (link) {
        case Link::handle:
            return previous;
        case Link::all:
            return ACP_HANDLE_ALL;
        default:
            return ACP_HANDLE_CONT;
    }
}

class OrderTest : public RankedTest, public ::testing::WithParamInterface<Link> {};

// The places that a chain visits, in a fixed random order: every rank's memory of both kinds.
std::vector<acp_ga_t> stations(const Arena& starter, const Arena& registered, std::size_t stride) {
    Random random(42);
    std::vector<acp_ga_t> places;
    constexpr std::size_t length = 24;
    for (std::size_t index = 1; index <= length; ++index) {
        const int rank = static_cast<int>(random.below(static_cast<std::uint64_t>(acp_procs())));
        const bool is_registered =
            random.chance(50) && (mode().reaches_private_memory() || rank == acp_rank());
        places.push_back((is_registered ? registered : starter).at(rank, index * stride));
    }
    return places;
}

// Rank 0 issues all copies of a chain at once: from place to place, and back to itself.
void run_chain(Link link, std::size_t bytes) {
    const std::size_t arena_bytes = 26 * bytes;
    const Arena starter(Kind::starter, arena_bytes);
    const Arena registered(Kind::registered, arena_bytes);
    if (acp_rank() == 0) {
        fill_pattern(starter.local().first(bytes), bytes, 0);
        acp_handle_t previous = ACP_HANDLE_NULL;
        acp_ga_t from = starter.at(0);
        for (const acp_ga_t to : stations(starter, registered, bytes)) {
            previous = acp_copy(to, from, bytes, order_of(link, previous));
            from = to;
        }
        const acp_ga_t end = registered.at(0, 25 * bytes);
        expect_done(acp_copy(end, from, bytes, order_of(link, previous)));
        const auto seen = registered.local().subspan(25 * bytes, bytes);
        EXPECT_TRUE(std::equal(seen.begin(), seen.end(), starter.local().begin()))
            << "a copy of " << bytes << " bytes ran before its predecessor was complete";
    }
    sync_ranks();
}

TEST_P(OrderTest, carries_a_word_along_a_chain_over_all_ranks_and_paths) {
    for (int round = 0; round < 20; ++round) {
        run_chain(GetParam(), 8);
    }
}

TEST_P(OrderTest, carries_a_page_along_a_chain_over_all_ranks_and_paths) {
    run_chain(GetParam(), 5000);
}

TEST_P(OrderTest, carries_a_big_block_along_a_chain_over_all_ranks_and_paths) {
    run_chain(GetParam(), 140'000);
}

TEST_P(OrderTest, runs_a_small_command_after_a_big_one) {
    constexpr std::size_t bytes = 2 * 1024 * 1024;
    const Kind kind = mode().reaches_private_memory() ? Kind::registered : Kind::starter;
    const Arena source(kind, bytes);
    const Arena target(Kind::starter, bytes, kind == Kind::starter ? bytes : 0);
    const Arena words(Kind::starter, 64, 2 * bytes);
    fill_pattern(source.local(), 5, rank_);
    std::ranges::fill(target.local(), std::byte{0});
    sync_ranks();
    const int next = (rank_ + 1) % procs_;
    const acp_handle_t big = acp_copy(target.at(rank_), source.at(next), bytes, ACP_HANDLE_NULL);
    const acp_handle_t small =
        acp_copy(words.at(rank_), target.at(rank_, bytes - 8), 8, order_of(GetParam(), big));
    expect_done(small);
    std::uint64_t wanted = 0;
    for (std::size_t index = 0; index < 8; ++index) {
        reinterpret_cast<std::byte*>(&wanted)[index] = pattern(5, next, bytes - 8 + index);
    }
    EXPECT_EQ(words.word<std::uint64_t>(), wanted);
    sync_ranks();
}

TEST_P(OrderTest, alternates_atomics_and_copies) {
    const Arena counter(mode().reaches_private_memory() ? Kind::registered : Kind::starter, 64);
    const Arena log(Kind::starter, 4096, 64);
    counter.word<std::uint64_t>() = 0;
    sync_ranks();
    if (rank_ == 0) {
        const int owner = procs_ - 1;
        acp_handle_t previous = ACP_HANDLE_NULL;
        constexpr std::size_t steps = 100;
        for (std::size_t step = 0; step < steps; ++step) {
            previous = acp_add8(log.at(0, 2048), counter.at(owner), 3,
                                step == 0 ? ACP_HANDLE_NULL : order_of(GetParam(), previous));
            previous =
                acp_copy(log.at(0, 8 * step), counter.at(owner), 8, order_of(GetParam(), previous));
        }
        expect_done(previous);
        for (std::size_t step = 0; step < steps; ++step) {
            EXPECT_EQ(log.word<std::uint64_t>(8 * step), 3 * (step + 1));
        }
    }
    sync_ranks();
}

INSTANTIATE_TEST_SUITE_P(links,
                         OrderTest,
                         ::testing::Values(Link::handle, Link::all, Link::cont),
                         [](const auto& each) { return name_of(each.param); });

using PrefixTest = RankedTest;

// A handle as the order argument means that command and all before it, not that command alone.
TEST_F(PrefixTest, orders_after_all_commands_before_the_handle) {
    constexpr std::size_t bytes = 1024 * 1024;
    const Kind kind = mode().reaches_private_memory() ? Kind::registered : Kind::starter;
    const Arena source(kind, bytes);
    const Arena target(Kind::starter, bytes, kind == Kind::starter ? bytes : 0);
    const Arena words(Kind::starter, 64, 2 * bytes);
    fill_pattern(source.local(), 6, rank_);
    std::ranges::fill(target.local(), std::byte{0});
    sync_ranks();
    const int next = (rank_ + 1) % procs_;
    acp_copy(target.at(rank_), source.at(next), bytes, ACP_HANDLE_NULL);
    const acp_handle_t later =
        acp_copy(words.at(rank_, 8), words.at(rank_, 16), 8, ACP_HANDLE_NULL);
    expect_done(acp_copy(words.at(rank_), target.at(rank_, bytes - 8), 8, later));
    std::uint64_t wanted = 0;
    for (std::size_t index = 0; index < 8; ++index) {
        reinterpret_cast<std::byte*>(&wanted)[index] = pattern(6, next, bytes - 8 + index);
    }
    EXPECT_EQ(words.word<std::uint64_t>(), wanted);
    sync_ranks();
}

TEST_F(PrefixTest, completes_all_commands_before_the_handle) {
    constexpr std::size_t bytes = 512 * 1024;
    const Kind kind = mode().reaches_private_memory() ? Kind::registered : Kind::starter;
    const Arena source(kind, bytes);
    const Arena target(Kind::starter, bytes, kind == Kind::starter ? bytes : 0);
    const Arena words(Kind::starter, 64, 2 * bytes);
    fill_pattern(source.local(), 8, rank_);
    std::ranges::fill(target.local(), std::byte{0});
    sync_ranks();
    const int next = (rank_ + 1) % procs_;
    acp_copy(target.at(rank_), source.at(next), bytes, ACP_HANDLE_NULL);
    const acp_handle_t last = acp_copy(words.at(rank_, 8), words.at(rank_, 16), 8, ACP_HANDLE_NULL);
    acp_complete(last);
    EXPECT_EQ(target.local()[bytes - 1], pattern(8, next, bytes - 1));
    EXPECT_EQ(target.local()[0], pattern(8, next, 0));
    EXPECT_EQ(acp_inquire(last), 0);
    sync_ranks();
}

TEST_F(PrefixTest, takes_a_handle_that_completed_long_ago_as_order) {
    const Arena words(Kind::starter, 64);
    words.word<std::uint64_t>(8) = 11;
    const acp_handle_t old = acp_copy(words.at(rank_), words.at(rank_, 8), 8, ACP_HANDLE_NULL);
    expect_done(old);
    for (int count = 0; count < 70'000; ++count) {
        acp_copy(words.at(rank_, 16), words.at(rank_, 8), 8, ACP_HANDLE_NULL);
    }
    words.word<std::uint64_t>(8) = 12;
    expect_done(acp_copy(words.at(rank_), words.at(rank_, 8), 8, old));
    EXPECT_EQ(words.word<std::uint64_t>(), 12U);
    EXPECT_EQ(acp_inquire(old), 0);
}

TEST_F(PrefixTest, lets_thousands_of_commands_be_outstanding) {
    const std::size_t count = mode().is_slow() ? 3000 : 70'000;
    const Arena words(mode().reaches_private_memory() ? Kind::registered : Kind::starter, 8 * 1024);
    const Arena own(Kind::starter, 64, 8 * 1024);
    own.word<std::uint64_t>() = static_cast<std::uint64_t>(rank_);
    sync_ranks();
    const int next = (rank_ + 1) % procs_;
    for (std::size_t index = 0; index < count; ++index) {
        acp_copy(words.at(next, 8 * (index % 1024)), own.at(rank_), 8, ACP_HANDLE_NULL);
    }
    expect_done(ACP_HANDLE_ALL);
    sync_ranks();
    const auto previous = static_cast<std::uint64_t>((rank_ + procs_ - 1) % procs_);
    for (std::size_t index = 0; index < 1024; ++index) {
        ASSERT_EQ(words.word<std::uint64_t>(8 * index), previous);
    }
}

}  // namespace
}  // namespace acp::test
