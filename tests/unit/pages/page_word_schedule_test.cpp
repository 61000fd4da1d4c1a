// SPDX-License-Identifier: BSD-3-Clause
// Processes of a node that touch and drop the same pages, under the seeded scheduler and its weak
// memory: no page has two holders, its bytes are seen in full by each process that maps it, and a
// process that is killed or stopped before any of its operations keeps none from the page.
#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "pages/page_word.hpp"
#include "support/interleave.hpp"
#include "support/random.hpp"

namespace acp::pages {
namespace {

namespace sched = test::sched;

constexpr std::uint64_t pages_count = 2;
constexpr SlotNumber slots = 3;

struct PageScene {
    std::array<sched::Atomic<std::uint64_t>, pages_count> memory{};
    PageWords<sched::Atomic> words{memory.data(), pages_count};
    sched::Atomic<std::uint32_t> dead{0};  // slot + 1; set when all others wait
    std::array<std::array<std::uint64_t, 2>, pages_count> contents{};
    std::array<std::uint32_t, pages_count> deaths{};
    std::array<std::uint32_t, pages_count> holders{};  // slot + 1; a dead holder's is zero
    std::uint32_t fetches = 0;

    [[nodiscard]] auto is_dead() const {
        return [this](SlotNumber slot) { return dead.load(std::memory_order_acquire) == slot + 1; };
    }

    // The end of a process orders its writes before all that follows, which the model of memory does
    // not know: the bytes of a page that it held lie elsewhere from then on.
    [[nodiscard]] std::uint64_t& content(PageNumber page) { return contents[page][deaths[page]]; }

    // The holder alone writes the bytes.
    void move(PageNumber page, SlotNumber slot, std::uint64_t value) {
        EXPECT_EQ(holders[page], 0U) << "two processes hold the page";
        holders[page] = slot + 1;
        sched::note_write(&content(page));
        content(page) = value;
        sched::pause();
        EXPECT_EQ(holders[page], slot + 1) << "two processes hold the page";
        holders[page] = 0;
    }

    void touch(PageNumber page, SlotNumber slot) {
        for (;;) {
            const PageAccess what = words.access(page, slot, is_dead());
            if (what == PageAccess::map) break;
            if (what == PageAccess::fetch) {
                ++fetches;
                move(page, slot, page + 1);
                EXPECT_TRUE(words.end_fetch(page, slot, true));
                sched::wake_all(&memory[page]);
                break;
            }
            wait(page);
        }
        sched::note_read(&content(page));
        EXPECT_EQ(content(page), page + 1) << "bytes that are not the page's";
    }

    void wait(PageNumber page) {
        const std::uint64_t seen = memory[page].peek();
        const PageWord now = PageWord::unpacked(seen);
        sched::before_operation();
        if (now.state != PageState::held || dead.peek() == now.who) return;
        sched::sleep_while(&memory[page], memory[page].peek() == seen && dead.peek() != now.who);
    }

    void drop(PageNumber page, SlotNumber slot) {
        if (!words.begin_drop(page, slot, is_dead())) return;
        move(page, slot, 0);
        EXPECT_TRUE(words.abandon(page, slot));
        sched::wake_all(&memory[page]);
    }

    void act(SlotNumber slot, std::uint64_t seed) {
        test::Random random(seed * 3 + slot);
        for (int i = 0; i < 4; ++i) {
            const PageNumber page = random.below(pages_count);
            touch(page, slot);
            words.note_write(page, random.below(5));
            if (random.chance(60)) drop(page, slot);
        }
    }

    // The watcher after a death: it publishes the death and wakes all waiting processes.
    void bury(SlotNumber slot) {
        if (dead.peek() != 0) return;
        for (PageNumber page = 0; page < pages_count; ++page) {
            if (!PageWord::unpacked(memory[page].peek()).is_held_by(slot)) continue;
            holders[page] = 0;
            deaths[page] = 1;
        }
        dead.store(slot + 1, std::memory_order_release);
        for (const auto& word : memory) sched::wake_all(&word);
    }

    std::vector<std::function<void()>> processes(std::uint64_t seed) {
        std::vector<std::function<void()>> all;
        for (SlotNumber slot = 0; slot < slots; ++slot) {
            all.emplace_back([this, slot, seed] { act(slot, seed); });
        }
        return all;
    }
};

TEST(PageWordSchedule, gives_each_page_one_holder_and_its_bytes_to_all) {
    std::uint32_t drops = 0;
    sched::for_each_seed(4000, [&](std::uint64_t seed) {
        PageScene scene;
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, scene.processes(seed)).failure, "");
        drops += scene.fetches > pages_count ? 1 : 0;
    });
    EXPECT_GT(drops, 0U) << "no page was fetched again";
}

TEST(PageWordSchedule, outlives_a_process_that_is_killed_or_stopped_before_any_operation) {
    sched::for_each_death(0, 60, [](const sched::Options& options) {
        PageScene scene;
        sched::Options mine = options;
        mine.on_stall = [&] {
            if (!options.is_victim_resumed) scene.bury(0);
        };
        const sched::Outcome outcome = sched::run(mine, scene.processes(options.seed));
        EXPECT_EQ(outcome.failure, "");
        if (outcome.is_victim_hit && !options.is_victim_resumed) {
            scene.bury(0);
            // A survivor gets every page, however the victim left it.
            for (PageNumber page = 0; page < pages_count; ++page) scene.touch(page, 1);
        }
        return outcome.is_victim_hit;
    });
}

// Two threads of one process have one slot: the second one waits for the first one's fetch.
TEST(PageWordSchedule, lets_two_threads_of_a_process_fetch_once) {
    sched::for_each_seed(2000, [](std::uint64_t seed) {
        PageScene scene;
        sched::Options options;
        options.seed = seed;
        const auto thread = [&] { scene.touch(0, 1); };
        EXPECT_EQ(sched::run(options, {thread, thread, thread}).failure, "");
        EXPECT_EQ(scene.fetches, 1U);
    });
}

// A process drops a page that it alone maps while others note writes of an older epoch.
TEST(PageWordSchedule, loses_no_epoch_to_a_change_of_state) {
    sched::for_each_seed(2000, [](std::uint64_t seed) {
        PageScene scene;
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {[&] {
                                           scene.touch(0, 0);
                                           scene.drop(0, 0);
                                       },
                                       [&] { scene.words.note_write(0, 9); },
                                       [&] { scene.words.note_write(0, 4); }})
                      .failure,
                  "");
        EXPECT_EQ(scene.words.read(0).epoch, 9U);
    });
}

}  // namespace
}  // namespace acp::pages
