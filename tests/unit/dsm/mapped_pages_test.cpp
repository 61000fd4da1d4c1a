// SPDX-License-Identifier: BSD-3-Clause
// The states of a rank's pages: each transition, and under the seeded scheduler faults of two threads
// beside an eviction by a third one: no page is mapped while its bytes are dropped, and no write is
// forgotten.
#include "dsm/mapped_pages.hpp"

#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "pages/page_word.hpp"
#include "support/interleave.hpp"
#include "support/random.hpp"

namespace acp::dsm {
namespace {

namespace sched = test::sched;
using pages::PageAccess;
using pages::PageNumber;

constexpr std::array all_states = {MappedState::absent, MappedState::is_protected,
                                   MappedState::written, MappedState::untracked};

TEST(MappedPages, map_only_absent_pages_and_admit_writes_only_to_protected_ones) {
    for (const MappedState before : all_states) {
        for (const MappedState as : all_states) {
            MappedPages<> mapped(2);
            mapped.set(1, before);
            EXPECT_EQ(mapped.map(1, as), before);
            EXPECT_EQ(mapped.state(1), before == MappedState::absent ? as : before);
        }
        MappedPages<> mapped(2);
        mapped.set(1, before);
        EXPECT_EQ(mapped.admit_write(1), before);
        EXPECT_EQ(mapped.state(1),
                  before == MappedState::is_protected ? MappedState::written : before);
        EXPECT_EQ(mapped.state(0), MappedState::absent);
    }
}

TEST(MappedPages, keep_the_state_of_a_page_that_threads_enter_and_leave) {
    constexpr int threads = 16'383;  // more than a process has
    MappedPages<> mapped(1);
    mapped.set(0, MappedState::untracked);
    for (int i = 0; i < threads; ++i) {
        mapped.enter(0);
        ASSERT_EQ(mapped.state(0), MappedState::untracked);
    }
    EXPECT_EQ(mapped.admit_write(0), MappedState::untracked);
    for (int i = 0; i < threads; ++i) {
        ASSERT_FALSE(mapped.try_drop(0));
        mapped.leave(0);
    }
    EXPECT_TRUE(mapped.try_drop(0));
    EXPECT_EQ(mapped.state(0), MappedState::absent);
    EXPECT_TRUE(mapped.try_drop(0));
}

TEST(MappedPages, say_once_whether_a_fault_wanted_a_page_or_a_stream_fetched_it_ahead) {
    MappedPages<> mapped(1);
    EXPECT_FALSE(mapped.take_wanted(0));
    mapped.want(0);
    EXPECT_TRUE(mapped.take_wanted(0));
    EXPECT_FALSE(mapped.take_wanted(0));
    mapped.fetch_ahead(0);
    EXPECT_TRUE(mapped.take_ahead(0));
    EXPECT_FALSE(mapped.take_ahead(0));
    mapped.fetch_ahead(0);
    mapped.want(0);
    EXPECT_FALSE(mapped.take_ahead(0)) << "it was used";
    EXPECT_TRUE(mapped.take_wanted(0));
}

TEST(MappedPages, keep_a_credit_beside_the_state_until_it_is_taken_or_the_page_is_evicted) {
    MappedPages<> mapped(2);
    EXPECT_FALSE(mapped.has_credit(0));
    mapped.take_credit(0);
    EXPECT_FALSE(mapped.has_credit(0));
    mapped.give_credit(0);
    mapped.give_credit(0);
    mapped.enter(0);
    for (const MappedState state : all_states) {
        mapped.set(0, state);
        EXPECT_TRUE(mapped.has_credit(0));
        EXPECT_EQ(mapped.state(0), state);
    }
    for (std::uint32_t i = 0; i < MappedPages<>::credit_max; ++i) {
        EXPECT_TRUE(mapped.has_credit(0)) << i;
        mapped.take_credit(0);
    }
    EXPECT_FALSE(mapped.has_credit(0));
    EXPECT_EQ(mapped.state(0), all_states.back());
    EXPECT_FALSE(mapped.try_drop(0));
    mapped.leave(0);
    mapped.give_credit(0);
    EXPECT_TRUE(mapped.try_drop(0));
    EXPECT_FALSE(mapped.has_credit(0));
    EXPECT_FALSE(mapped.has_credit(1));
}

struct FiberFence {
    static void order() noexcept { sched::fence(); }
};

constexpr std::uint64_t pages_count = 2;
constexpr pages::SlotNumber slot = 0;

// One rank whose threads fault on pages and evict them, as the fault service and the eviction do.
// The mapping stands for the kernel's page table.
struct MappingScene {
    enum Mapping : std::uint32_t { unmapped, read_only, writable };

    std::array<sched::Atomic<std::uint64_t>, pages_count> memory{};
    pages::PageWords<sched::Atomic> words{memory.data(), pages_count};
    MappedPages<sched::Atomic, FiberFence> mapped{pages_count};
    std::array<sched::Atomic<std::uint32_t>, pages_count> mappings{};
    std::array<bool, pages_count> are_bytes_here{};
    std::array<bool, pages_count> are_bytes_changed{};
    int evictions = 0;
    int refusals = 0;

    static bool is_dead(pages::SlotNumber /*slot*/) noexcept { return false; }

    void bring(PageNumber page) {
        for (;;) {
            const PageAccess what = words.access(page, slot, is_dead);
            if (what == PageAccess::map) return;
            if (what == PageAccess::fetch) {
                are_bytes_here[page] = true;
                EXPECT_TRUE(words.end_fetch(page, slot, true));
                sched::wake_all(&memory[page]);
                return;
            }
            const std::uint64_t seen = memory[page].peek();
            sched::before_operation();
            const bool is_held = pages::PageWord::unpacked(seen).is_held_by(slot);
            sched::sleep_while(&memory[page], is_held && memory[page].peek() == seen);
        }
    }

    void fault(PageNumber page, bool is_write) {
        mapped.enter(page);
        bring(page);
        const MappedState as = is_write ? MappedState::written : MappedState::is_protected;
        bool may_write = is_write;
        if (mapped.map(page, as) != MappedState::absent) {
            if (is_write) (void)mapped.admit_write(page);
            may_write = mapped.state(page) == MappedState::written;
        }
        mappings[page].store(may_write ? writable : read_only, std::memory_order_relaxed);
        mapped.leave(page);
    }

    // An instruction of the program: it faults until the mapping allows it.
    void touch(PageNumber page, bool is_write) {
        for (int faults = 0; faults < 100; ++faults) {
            sched::pause();
            if (mappings[page].peek() >= (is_write ? writable : read_only)) {
                EXPECT_TRUE(are_bytes_here[page]) << "an access to a page without bytes";
                if (is_write) are_bytes_changed[page] = true;
                return;
            }
            fault(page, is_write);
        }
        ADD_FAILURE() << "a fault that repeats itself";
    }

    void evict(PageNumber page) {
        const auto before = words.begin_drop(page, slot, is_dead);
        if (!before) return;
        if (!mapped.try_drop(page)) {
            ++refusals;
            words.cancel_drop(page, slot, *before);
            sched::wake_all(&memory[page]);
            return;
        }
        ++evictions;
        mappings[page].store(unmapped, std::memory_order_relaxed);
        are_bytes_here[page] = false;
        are_bytes_changed[page] = false;
        sched::pause();
        EXPECT_EQ(mappings[page].peek(), unmapped) << "mapped while its bytes are dropped";
        EXPECT_TRUE(words.abandon(page, slot));
        sched::wake_all(&memory[page]);
    }
};

TEST(MappedPagesSchedule, map_no_page_whose_bytes_an_eviction_drops) {
    int evictions = 0;
    int refusals = 0;
    sched::for_each_seed(6000, [&](std::uint64_t seed) {
        MappingScene scene;
        sched::Options options;
        options.seed = seed;
        const auto toucher = [&scene, seed](std::uint64_t number) {
            test::Random random(seed * 2 + number);
            for (int i = 0; i < 4; ++i) scene.touch(random.below(pages_count), random.chance(50));
        };
        const auto evictor = [&scene, seed] {
            test::Random random(~seed);
            for (int i = 0; i < 4; ++i) scene.evict(random.below(pages_count));
        };
        EXPECT_EQ(sched::run(options, {[&] { toucher(0); }, [&] { toucher(1); }, evictor}).failure,
                  "");
        for (PageNumber page = 0; page < pages_count; ++page) {
            if (!scene.are_bytes_changed[page]) continue;
            EXPECT_EQ(scene.mapped.state(page), MappedState::written) << "a forgotten write";
        }
        evictions += scene.evictions;
        refusals += scene.refusals;
    });
    EXPECT_GT(evictions, 0);
    EXPECT_GT(refusals, 0) << "no eviction met a fault";
}

}  // namespace
}  // namespace acp::dsm
