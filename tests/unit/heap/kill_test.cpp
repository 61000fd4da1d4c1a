// SPDX-License-Identifier: BSD-3-Clause
// A process is killed or stopped before each access to the heap's words: others make progress, and
// after recovery the heap has exactly the blocks that some process has stored.
#include <csignal>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "heap/heap.hpp"

#include "heap_memory.hpp"
#include "support/stepped_atomic.hpp"

namespace acp::heap {
namespace {

using test::signal_at_step;
using test::step;
using test::SteppedAtomic;
using test::steps_left;

// The blocks of all processes, in shared memory: a process stores a block here before it is kept,
// and removes it after it was freed.
struct Ledger {
    static constexpr std::uint32_t places = 256;
    std::atomic<std::uint64_t> blocks[places];    // offset + 1; 0: none
    std::atomic<std::uint32_t> is_freed[places];  // 1: about to be freed
};

class Actor {
public:
    using TheHeap = Heap<SteppedAtomic>;

    Actor(const TheHeap& heap, Ledger& ledger, CacheNumber number)
        : heap_(heap), ledger_(ledger), cache_(number) {}

    bool allocate(std::uint32_t place, std::uint64_t bytes) {
        const Offset block = heap_.allocate(cache_, bytes);
        if (block == no_block) return false;
        step();
        ledger_.blocks[place].store(block + 1);
        heap_.keep(cache_);
        return true;
    }

    bool free(std::uint32_t place) { return free(place, heap_); }

    //   heap  of the same memory as the actor's
    bool free(std::uint32_t place, const TheHeap& heap) {
        const std::uint64_t block = ledger_.blocks[place].load();
        ledger_.is_freed[place].store(1);
        if (heap.free(cache_, block - 1) != Freed::done) return false;
        step();
        ledger_.blocks[place].store(0);
        ledger_.is_freed[place].store(0);
        return true;
    }

    ThreadCache& cache() { return cache_; }

private:
    const TheHeap& heap_;
    Ledger& ledger_;
    ThreadCache cache_;
};

struct Scene {
    static constexpr HeapShape shape{12, 4};

    Scene()
        : control(Control<SteppedAtomic>::bytes(shape)),
          knowledge(sizeof(Ledger)),
          heap(control.data(), shape, keeps_memory),
          ledger(*reinterpret_cast<Ledger*>(knowledge.data())) {}

    SharedPages control;
    SharedPages knowledge;
    Actor::TheHeap heap;
    Ledger& ledger;
};

// Opens, fills, empties and closes spans; large blocks; memory that is returned to the kernel; a
// full heap.
void act(Actor& actor, const Actor::TheHeap& heap, std::uint32_t first_place) {
    bool is_well = true;
    for (std::uint32_t i = 0; i < 20; ++i) {
        is_well = actor.allocate(first_place + i, 30'000) && is_well;
    }
    for (std::uint32_t i = 0; i < 20; i += 2) is_well = actor.free(first_place + i) && is_well;
    is_well = actor.allocate(first_place + 30, 200) && is_well;
    heap.let_go(actor.cache());
    is_well = actor.allocate(first_place + 0, 30'000) && is_well;
    for (std::uint32_t i = 1; i < 20; i += 2) is_well = actor.free(first_place + i) && is_well;
    is_well = actor.free(first_place + 0) && is_well;
    is_well = actor.allocate(first_place + 40, 100'000) && is_well;
    is_well = actor.allocate(first_place + 41, 20) && is_well;
    is_well = actor.free(first_place + 40) && is_well;
    heap.let_go(actor.cache());
    if (!is_well) _exit(3);
}

// If the survivor was faster, there may be no room.
void act_large(Actor& actor, const Actor::TheHeap& heap, std::uint32_t first_place) {
    if (actor.allocate(first_place, 10 * area_bytes + 5) && !actor.free(first_place)) _exit(3);
    heap.let_go(actor.cache());
}

// Frees two such blocks, and gives their memory back later.
void act_large_and_give_back(Actor& actor, const Actor::TheHeap& heap, std::uint32_t first_place) {
    // The first word of the heap's memory.
    auto* const memory = reinterpret_cast<char*>(&heap.control().idle_areas());
    Actor::TheHeap later(memory, Scene::shape, keeps_memory);
    later.give_back_later();
    const bool is_first = actor.allocate(first_place, 7 * area_bytes + 5);
    const bool is_second = actor.allocate(first_place + 1, 3 * area_bytes);
    if (is_first && !actor.free(first_place, later)) _exit(3);
    if (is_second && !actor.free(first_place + 1, later)) _exit(3);
    while (later.has_to_give_back()) later.idle_memory().give_back_one(actor.cache(), 0);
    heap.let_go(actor.cache());
}

// A block for which there is hardly ever room: spans are taken from idle caches.
void want_all(Actor& actor, const Actor::TheHeap& heap) {
    const Offset all = heap.allocate(actor.cache(), heap.limit_bytes());
    if (all != no_block && heap.free(actor.cache(), all) != Freed::done) _exit(3);
}

// The calls of a survivor that has not detected the death.
void live_on(Actor& survivor, const Actor::TheHeap& heap) {
    want_all(survivor, heap);
    for (std::uint32_t i = 0; i < 12; ++i) {
        ASSERT_TRUE(survivor.allocate(200 + i, i % 3 == 0 ? 30'000 : 150));
    }
    for (std::uint32_t i = 0; i < 12; i += 3) ASSERT_TRUE(survivor.free(200 + i));
}

bool is_dead_cache(CacheNumber cache) {
    return cache != 1;
}

void recover(const Scene& scene, ThreadCache& cache, CacheNumber dead) {
    const auto is_stored = [&](Offset block) {
        for (const auto& each : scene.ledger.blocks) {
            if (each.load() == block + 1) return true;
        }
        return false;
    };
    if (!scene.heap.recover(cache, {dead, 1}, is_dead_cache, is_stored)) _exit(4);
}

bool is_known_elsewhere(const Ledger& ledger, std::uint32_t place) {
    for (std::uint32_t i = 0; i < Ledger::places; ++i) {
        if (i != place && ledger.blocks[i].load() == ledger.blocks[place].load()) return true;
    }
    return false;
}

// The index has every span with free blocks that no cache holds.
void expect_room_noted(const Scene& scene, const std::string& when) {
    const auto& control = scene.heap.control();
    for (std::uint32_t unit = 0; unit < Scene::shape.units(); ++unit) {
        const UnitWord word =
            UnitWord::unpacked(control.unit(unit).load(std::memory_order_relaxed));
        if (word.state != UnitState::span || word.holder != 0) continue;
        const SizeClass& size = control.size(word.size_class);
        std::uint64_t bits = control.blocks(unit)[0].load(std::memory_order_relaxed);
        const std::uint32_t place = unit / control.units_per_room_bit();
        const std::uint64_t noted =
            control.room(word.size_class, place / 64).load(std::memory_order_relaxed);
        if (static_cast<std::uint32_t>(std::popcount(bits)) >= size.room) {
            EXPECT_NE(noted >> (place % 64) & 1, 0U) << when << ": span " << unit;
        }
    }
}

// Frees the block that the victim was about to free, unless it was freed and is in use again. Then
// compares the heap with the ledger.
void expect_exact(const Scene& scene, Actor& survivor, const std::string& when) {
    Blocks blocks;
    for (std::uint32_t i = 0; i < Ledger::places; ++i) {
        const std::uint64_t block = scene.ledger.blocks[i].load();
        if (block == 0) continue;
        const std::uint64_t usable = scene.heap.usable_bytes(block - 1);
        if (scene.ledger.is_freed[i].load() != 0) {
            if (usable != 0 && !is_known_elsewhere(scene.ledger, i)) {
                EXPECT_EQ(scene.heap.free(survivor.cache(), block - 1), Freed::done) << when;
            }
            continue;
        }
        EXPECT_NE(usable, 0U) << when << ": place " << i << ", block " << block - 1;
        EXPECT_TRUE(blocks.add(block - 1, usable, scene.heap.limit_bytes())) << when;
    }
    for (const std::string& finding : findings_of(scene.heap.control())) {
        ADD_FAILURE() << when << ": " << finding;
    }
    EXPECT_EQ(usage_of(scene.heap.control()).blocks, blocks.all().size()) << when;
    // With all of them freed the heap is one free run: no memory has leaked.
    for (const auto& each : blocks.all()) {
        EXPECT_EQ(scene.heap.free(survivor.cache(), each.first), Freed::done) << when;
    }
    scene.heap.let_go(survivor.cache());
    EXPECT_EQ(usage_of(scene.heap.control()).unit_bytes, 0U) << when;
    EXPECT_NE(scene.heap.allocate(survivor.cache(), scene.heap.limit_bytes()), no_block) << when;
}

// Runs `what` in a child that gets the signal before its access number `at`. False: it ended
// before.
template <typename What>
bool child_hit(std::uint64_t at, int signal, pid_t& child, const What& what) {
    child = fork();
    if (child == 0) {
        signal_at_step = signal;
        steps_left = at;
        what();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    if (WIFEXITED(status)) {
        EXPECT_EQ(WEXITSTATUS(status), 0) << "access " << at;
        return false;
    }
    return true;
}

using Act = void (*)(Actor&, const Actor::TheHeap&, std::uint32_t);

//   is_survivor_busy  the survivor allocates before it detects the death
bool kill_before_access(Act what, std::uint64_t at, bool is_survivor_busy) {
    Scene scene;
    Actor survivor(scene.heap, scene.ledger, 1);
    pid_t child = 0;
    const bool is_hit = child_hit(at, SIGKILL, child, [&] {
        Actor victim(scene.heap, scene.ledger, 0);
        what(victim, scene.heap, 0);
    });
    const std::string when = "killed before access " + std::to_string(at);
    if (is_survivor_busy) {
        recover(scene, survivor.cache(),
                3);  // the recovery of another process finds what the victim has freed
        live_on(survivor, scene.heap);
    }
    recover(scene, survivor.cache(), 0);
    expect_room_noted(scene, when);
    expect_exact(scene, survivor, when);
    return is_hit;
}

void kill_before_every_access(Act what, std::uint64_t stride) {
    for (const bool is_survivor_busy : {false, true}) {
        for (std::uint64_t at = 1; kill_before_access(what, at, is_survivor_busy); at += stride) {
            if (testing::Test::HasFailure()) return;
        }
    }
}

TEST(Kill, before_any_access_of_small_blocks_loses_nothing) {
    kill_before_every_access(act, 1);
}

TEST(Kill, before_any_access_of_large_blocks_loses_nothing) {
    kill_before_every_access(act_large, 7);
}

TEST(Kill, before_any_access_of_large_blocks_whose_memory_is_given_back_later_loses_nothing) {
    kill_before_every_access(act_large_and_give_back, 7);
}

TEST(Kill, before_any_access_of_a_recovery_loses_nothing) {
    // The first one is killed while spans are opened, filled, released or closed, or in a large
    // block.
    for (std::uint64_t first = 5; first < 1500; first += 151) {
        for (std::uint64_t at = 1;; at += 3) {
            Scene scene;
            Actor survivor(scene.heap, scene.ledger, 1);
            pid_t child = 0;
            const bool is_first_hit = child_hit(first, SIGKILL, child, [&] {
                Actor victim(scene.heap, scene.ledger, 0);
                act(victim, scene.heap, 0);
            });
            const bool is_hit = child_hit(at, SIGKILL, child, [&] {
                ThreadCache cache(2);
                recover(scene, cache, 0);
            });
            recover(scene, survivor.cache(), 2);
            recover(scene, survivor.cache(), 0);
            expect_exact(scene, survivor,
                         "killed before access " + std::to_string(first) +
                             ", its recovery before " + std::to_string(at));
            if (testing::Test::HasFailure() || !is_first_hit) return;
            if (!is_hit) break;
        }
    }
}

void stop_before_every_access(Act what, std::uint64_t stride) {
    for (std::uint64_t at = 1;; at += stride) {
        Scene scene;
        Actor survivor(scene.heap, scene.ledger, 1);
        pid_t child = 0;
        const bool is_hit = child_hit(at, SIGSTOP, child, [&] {
            Actor victim(scene.heap, scene.ledger, 0);
            what(victim, scene.heap, 0);
            scene.heap.let_go(victim.cache());
        });
        live_on(survivor, scene.heap);
        if (is_hit) {
            (void)kill(child, SIGCONT);
            int status = 0;
            waitpid(child, &status, 0);
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << at;
        }
        expect_exact(scene, survivor, "stopped before access " + std::to_string(at));
        if (!is_hit || testing::Test::HasFailure()) break;
    }
}

// One cache has spans with and without blocks, and is idle; another one needs their room.
struct Theft : Scene {
    Theft() : holder(heap, ledger, 2) {
        for (std::uint32_t i = 0; i < 6; ++i) EXPECT_TRUE(holder.allocate(i, 100 + i * 5'000));
        EXPECT_TRUE(holder.free(0));
        EXPECT_TRUE(holder.free(3));
    }

    Actor holder;
};

// A thief was killed after it had cleared a bit, and a thread has acquired the span in between.
TEST(Theft, a_recovery_notes_the_spans_that_caches_hold) {
    Theft scene;
    const auto& control = scene.heap.control();
    const auto noted = [&control] {
        std::vector<std::uint64_t> words;
        for (std::uint32_t area = 0; area < Scene::shape.areas; ++area)
            words.push_back(control.held(area).load(std::memory_order_relaxed));
        words.push_back(control.held_areas(0).load(std::memory_order_relaxed));
        return words;
    };
    const std::vector<std::uint64_t> before = noted();
    ASSERT_NE(before[0], 0U);
    for (std::uint32_t area = 0; area < Scene::shape.areas; ++area)
        control.held(area).store(0, std::memory_order_relaxed);
    control.held_areas(0).store(0, std::memory_order_relaxed);
    Actor survivor(scene.heap, scene.ledger, 1);
    recover(scene, survivor.cache(), 0);
    EXPECT_EQ(noted(), before);
}

TEST(Theft, leaves_the_blocks_and_takes_the_rest) {
    Theft scene;
    Actor thief(scene.heap, scene.ledger, 1);
    const std::uint64_t held = usage_of(scene.heap.control()).unit_bytes;
    want_all(thief, scene.heap);
    EXPECT_LT(usage_of(scene.heap.control()).unit_bytes, held);
    EXPECT_EQ(usage_of(scene.heap.control()).blocks, 4U);
    for (std::uint32_t i = 10; i < 20; ++i) ASSERT_TRUE(scene.holder.allocate(i, 100));
    scene.heap.let_go(scene.holder.cache());
    expect_exact(scene, thief, "after a theft");
}

TEST(Theft, spares_a_cache_at_work_or_with_a_block_that_is_not_kept) {
    for (const bool is_at_work : {false, true}) {
        Theft scene;
        Actor thief(scene.heap, scene.ledger, 1);
        CacheRecord<SteppedAtomic>& holder = scene.heap.control().cache(2);
        (is_at_work ? holder.is_at_work : holder.pending).store(1, std::memory_order_relaxed);
        const std::uint64_t held = usage_of(scene.heap.control()).unit_bytes;
        want_all(thief, scene.heap);
        EXPECT_EQ(usage_of(scene.heap.control()).unit_bytes, held);
        (is_at_work ? holder.is_at_work : holder.pending).store(0, std::memory_order_relaxed);
    }
}

TEST(Theft, whose_thief_is_killed_before_any_access_loses_nothing) {
    for (std::uint64_t at = 1;; ++at) {
        Theft scene;
        Actor survivor(scene.heap, scene.ledger, 1);
        pid_t child = 0;
        const bool is_hit = child_hit(at, SIGKILL, child, [&] {
            Actor thief(scene.heap, scene.ledger, 0);
            want_all(thief, scene.heap);
        });
        for (std::uint32_t i = 10; i < 14; ++i) ASSERT_TRUE(scene.holder.allocate(i, 5'000));
        recover(scene, survivor.cache(), 0);
        scene.heap.let_go(scene.holder.cache());
        want_all(survivor,
                 scene.heap);  // what the thief had marked, and its holder therefore forgot
        expect_exact(scene, survivor, "thief killed before access " + std::to_string(at));
        if (!is_hit || testing::Test::HasFailure()) break;
    }
}

TEST(Theft, that_stops_while_the_holder_continues_loses_nothing) {
    for (std::uint64_t at = 1;; ++at) {
        Theft scene;
        Actor survivor(scene.heap, scene.ledger, 1);
        pid_t child = 0;
        const bool is_hit = child_hit(at, SIGSTOP, child, [&] {
            Actor thief(scene.heap, scene.ledger, 0);
            want_all(thief, scene.heap);
            scene.heap.let_go(thief.cache());
        });
        for (std::uint32_t i = 10; i < 14; ++i) ASSERT_TRUE(scene.holder.allocate(i, 5'000));
        want_all(survivor, scene.heap);
        if (is_hit) {
            (void)kill(child, SIGCONT);
            int status = 0;
            waitpid(child, &status, 0);
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << at;
        }
        for (std::uint32_t i = 14; i < 18; ++i) ASSERT_TRUE(scene.holder.allocate(i, 100));
        scene.heap.let_go(scene.holder.cache());
        want_all(survivor, scene.heap);  // what a thief gave back to a holder that had let go
        expect_exact(scene, survivor, "thief stopped before access " + std::to_string(at));
        if (!is_hit || testing::Test::HasFailure()) break;
    }
}

TEST(Stop, before_any_access_of_small_blocks_delays_no_other_cache) {
    stop_before_every_access(act, 1);
}

TEST(Stop, before_any_access_of_large_blocks_delays_no_other_cache) {
    // the survivor needs room beside what the stopped one claimed
    stop_before_every_access(act_large, 11);
    stop_before_every_access(act_large_and_give_back, 11);
}

TEST(Recover, is_left_to_a_cache_that_lives) {
    Scene scene;
    ThreadCache cache(1);
    ThreadCache other(3);
    scene.heap.control().cache(0).recoverer.store(1 + 1, std::memory_order_relaxed);
    const auto is_stored = [](Offset) { return false; };
    EXPECT_FALSE(scene.heap.recover(other, {0, 1}, is_dead_cache, is_stored));
    scene.heap.control().cache(0).recoverer.store(2 + 1, std::memory_order_relaxed);
    EXPECT_TRUE(scene.heap.recover(cache, {0, 1}, is_dead_cache, is_stored));
}

// A process has a cache for each of its threads.
TEST(Recover, finds_what_each_thread_of_a_process_held) {
    Scene scene;
    ThreadCache survivor(3);
    ThreadCache threads[] = {ThreadCache(0), ThreadCache(1), ThreadCache(2)};
    for (ThreadCache& each : threads) {
        EXPECT_NE(scene.heap.allocate(each, 100), no_block);
        EXPECT_NE(scene.heap.allocate(each, 100'000),
                  no_block);  // no process has stored the last block
    }
    EXPECT_EQ(usage_of(scene.heap.control()).blocks, 6U);
    EXPECT_TRUE(scene.heap.recover(
        survivor, {0, 3}, [](CacheNumber number) { return number < 3; },
        [](Offset) { return false; }));
    EXPECT_EQ(usage_of(scene.heap.control()).blocks, 3U);
    const std::uint64_t units = usage_of(scene.heap.control()).unit_bytes;
    for (int i = 0; i < 300; ++i) EXPECT_NE(scene.heap.allocate(survivor, 100), no_block);
    EXPECT_EQ(usage_of(scene.heap.control()).unit_bytes, units) << "in the spans of the dead";
}

}  // namespace
}  // namespace acp::heap
