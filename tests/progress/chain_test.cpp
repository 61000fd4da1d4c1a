// SPDX-License-Identifier: BSD-3-Clause
// The initiator need not help either: ordered chains over every pair of paths finish while their
// initiator only spins on plain loads, or sleeps, and every owner sleeps, too.
#include <atomic>
#include <ctime>
#include <functional>
#include <string>
#include <tuple>

#include "progress/owners.hpp"
#include "support/mode.hpp"

namespace acp::test {
namespace {

// The path by which the value moves; the names are the paths of the automatic mode.
enum class Way { direct, direct_big, attach, attach_big, mailbox };

const char* name_of(Way way) {
    constexpr const char* names[] = {"direct", "direct_big", "attach", "attach_big", "mailbox"};
    return names[static_cast<std::size_t>(way)];
}

constexpr std::size_t big_bytes = 1024 * 1024;
constexpr std::size_t flag_place = 0;
constexpr std::size_t one_place = 8;
constexpr std::size_t result_place = 16;

void spin_until(std::uint64_t& word, std::uint64_t value) {
    while (std::atomic_ref(word).load(std::memory_order_acquire) != value) {
    }
}

class ChainTest : public ProgressTest {
protected:
    // All memory that a chain uses. Collective.
    struct Places {
        Arena shared{Kind::starter, 2 * big_bytes, arenas_begin};
        Arena registered{Kind::registered, 2 * big_bytes};
        Arena own{Kind::starter, 64, arenas_begin + 2 * big_bytes};
    };

    static acp_handle_t issue(Way way, const Places& places, acp_handle_t order) {
        const Arena& shared = places.shared;
        const Arena& registered = places.registered;
        switch (way) {
            case Way::direct:
                return acp_copy(shared.at(1, big_bytes), shared.at(2), 8, order);
            case Way::direct_big:
                return acp_copy(shared.at(1, big_bytes), shared.at(2), big_bytes, order);
            case Way::attach:
                return acp_copy(registered.at(1, big_bytes), registered.at(2), 8, order);
            case Way::attach_big:
                return acp_copy(registered.at(1, big_bytes), registered.at(2), big_bytes, order);
            default:
                return acp_add8(places.own.at(0, result_place), registered.at(1), 1, order);
        }
    }

    static bool is_possible(Way way) {
        return way == Way::direct || way == Way::direct_big || mode().reaches_private_memory();
    }

    static void prepare(const Places& places) {
        fill_pattern(places.shared.local().first(big_bytes), 1, acp_rank());
        fill_pattern(places.registered.local().first(big_bytes), 2, acp_rank());
        places.own.word<std::uint64_t>(flag_place) = 0;
        places.own.word<std::uint64_t>(one_place) = 1;
        sync_ranks();
    }

    // Checks that the last byte is in place, on its owner or on the initiator.
    void expect_moved(Way way, const Places& places) const {
        if (rank_ != 1 || way == Way::mailbox) {
            return;
        }
        const bool is_shared = way == Way::direct || way == Way::direct_big;
        const bool is_big = way == Way::direct_big || way == Way::attach_big;
        const std::size_t last = is_big ? big_bytes - 1 : 7;
        const Arena& arena = is_shared ? places.shared : places.registered;
        EXPECT_EQ(arena.local()[big_bytes + last], pattern(is_shared ? 1 : 2, 2, last));
    }
};

class PairOfPathsTest : public ChainTest,
                        public ::testing::WithParamInterface<std::tuple<Way, Way>> {};

TEST_P(PairOfPathsTest, finishes_while_the_initiator_spins_on_plain_loads) {
    const auto [first, second] = GetParam();
    if (!is_possible(first) || !is_possible(second)) {
        GTEST_SKIP() << "this mode does not reach another rank's registered memory";
    }
    const Places places;
    prepare(places);
    while_owners_are(Absence::sleeping, [&, ways = GetParam()] {
        const acp_handle_t earlier = issue(std::get<0>(ways), places, ACP_HANDLE_NULL);
        const acp_handle_t later = issue(std::get<1>(ways), places, earlier);
        acp_copy(places.own.at(0, flag_place), places.own.at(0, one_place), 8, later);
        spin_until(places.own.word<std::uint64_t>(flag_place), 1);
    });
    expect_moved(first, places);
    expect_moved(second, places);
    if (rank_ == 0) {
        expect_done(ACP_HANDLE_ALL);
    }
}

constexpr Way all_ways[] = {Way::direct, Way::direct_big, Way::attach, Way::attach_big,
                            Way::mailbox};

INSTANTIATE_TEST_SUITE_P(paths,
                         PairOfPathsTest,
                         ::testing::Combine(::testing::ValuesIn(all_ways),
                                            ::testing::ValuesIn(all_ways)),
                         [](const ::testing::TestParamInfo<std::tuple<Way, Way>>& each) {
                             return std::string(name_of(std::get<0>(each.param))) + "_then_" +
                                    name_of(std::get<1>(each.param));
                         });

TEST_F(ChainTest, of_hundreds_of_commands_finishes_while_the_initiator_spins_on_plain_loads) {
    const Places places;
    prepare(places);
    constexpr int steps = 300;
    while_owners_are(Absence::sleeping, [&] {
        constexpr Way small_ways[] = {Way::direct, Way::attach, Way::mailbox};
        acp_handle_t previous = ACP_HANDLE_NULL;
        for (int step = 0; step < steps; ++step) {
            const Way way = small_ways[step % 3];
            if (is_possible(way)) {
                previous = issue(way, places, previous);
            }
        }
        acp_copy(places.own.at(0, flag_place), places.own.at(0, one_place), 8, previous);
        spin_until(places.own.word<std::uint64_t>(flag_place), 1);
    });
    if (rank_ == 0) {
        expect_done(ACP_HANDLE_ALL);
    }
}

TEST_F(ChainTest, finishes_while_the_initiator_sleeps_and_another_rank_spins) {
    const Places places;
    prepare(places);
    constexpr std::uint64_t flag_value = 1;
    if (rank_ == 0) {
        acp_handle_t previous = ACP_HANDLE_NULL;
        for (const Way way : all_ways) {
            if (is_possible(way)) {
                previous = issue(way, places, previous);
            }
        }
        acp_copy(places.own.at(1, flag_place), places.own.at(0, one_place), 8, previous);
        // Rank 1 ends this by a plain store, which this rank polls between short sleeps.
        while (std::atomic_ref(common_word()).load(std::memory_order_acquire) == 0) {
            const timespec nap = {0, 2'000'000};
            nanosleep(&nap, nullptr);  // lint: a pause between looks
        }
        expect_done(ACP_HANDLE_ALL);
    } else if (rank_ == 1) {
        spin_until(places.own.word<std::uint64_t>(flag_place), flag_value);
        std::atomic_ref(common_word()).store(1, std::memory_order_release);
    }
    sync_ranks();
}

class LoneCommandTest : public ChainTest, public ::testing::WithParamInterface<Way> {};

TEST_P(LoneCommandTest, finishes_without_being_waited_for) {
    if (!is_possible(GetParam())) {
        GTEST_SKIP() << "this mode does not reach another rank's registered memory";
    }
    const Places places;
    prepare(places);
    places.registered.word<std::uint64_t>() = 41;
    sync_ranks();
    while_owners_are(Absence::sleeping, [&] {
        if (GetParam() == Way::mailbox) {
            acp_add8(places.own.at(0, result_place), places.registered.at(1), 1, ACP_HANDLE_NULL);
            spin_until(places.own.word<std::uint64_t>(result_place), 41);
            return;
        }
        // Fetches a large block, and polls its last word.
        const bool is_shared = GetParam() == Way::direct || GetParam() == Way::direct_big;
        const Arena& source = is_shared ? places.shared : places.registered;
        std::uint64_t wanted = 0;
        for (std::size_t index = 0; index < 8; ++index) {
            const std::size_t offset = big_bytes - 8 + index;
            reinterpret_cast<std::byte*>(&wanted)[index] = pattern(is_shared ? 1 : 2, 2, offset);
        }
        acp_copy(places.shared.at(0, big_bytes), source.at(2), big_bytes, ACP_HANDLE_NULL);
        spin_until(places.shared.word<std::uint64_t>(2 * big_bytes - 8), wanted);
    });
    if (rank_ == 0) {
        expect_done(ACP_HANDLE_ALL);
    }
}

INSTANTIATE_TEST_SUITE_P(paths,
                         LoneCommandTest,
                         ::testing::Values(Way::direct_big, Way::attach_big, Way::mailbox),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace acp::test
