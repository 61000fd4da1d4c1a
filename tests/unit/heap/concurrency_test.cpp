// SPDX-License-Identifier: BSD-3-Clause
// Several caches at once: under the seeded scheduler, whose memory is as weak as C++ allows, and as
// processes that write into their blocks. No block is allocated twice at once, and freed blocks are
// reused.
#include <array>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "heap/heap.hpp"

#include "heap_memory.hpp"
#include "support/interleave.hpp"
#include "support/random.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::heap {
namespace {

namespace sched = test::sched;

// Few blocks of two kinds, so that caches contend: spans open and close, and the heap is full now
// and then.
constexpr std::uint64_t sizes[] = {30'000, 30'000, 200'000};

struct ScheduledScene {
    static constexpr HeapShape shape{1, 4};

    ScheduledScene()
        : memory(Control<sched::Atomic>::bytes(shape) / sizeof(std::uint64_t) + 1),
          heap(reinterpret_cast<char*>(memory.data()), shape, keeps_memory) {}

    void act(CacheNumber number, std::uint64_t seed) {
        test::Random random(seed * 3 + number);
        ThreadCache cache(number);
        std::vector<Offset> mine;
        for (int i = 0; i < 25; ++i) {
            if (mine.size() < 4 && random.below(3) != 0) {
                const Offset block = heap.allocate(cache, sizes[random.below(3)]);
                if (block == no_block) continue;
                heap.keep(cache);
                sched::note_write(&content[block >> unit_shift]);
                EXPECT_FALSE(is_owned[block / granule_bytes]) << block;
                is_owned[block / granule_bytes] = true;
                mine.push_back(block);
            } else if (!mine.empty()) {
                const Offset block = mine.back();
                mine.pop_back();
                sched::note_write(&content[block >> unit_shift]);
                is_owned[block / granule_bytes] = false;
                EXPECT_EQ(heap.free(cache, block), Freed::done);
            }
        }
        for (const Offset block : mine) {
            is_owned[block / granule_bytes] = false;
            EXPECT_EQ(heap.free(cache, block), Freed::done);
        }
        heap.let_go(cache);
    }

    // Recovers a process that had no blocks: it visits all units while others claim them.
    void recover() {
        ThreadCache cache(3);
        for (int i = 0; i < 3; ++i) {
            EXPECT_TRUE(heap.recover(
                cache, {3, 1}, [](CacheNumber) { return true; }, [](Offset) { return false; }));
        }
    }

    std::vector<std::uint64_t> memory;
    Heap<sched::Atomic> heap;
    std::array<std::uint64_t, area_units> content{};  // plain data that each owner of a unit writes
    std::vector<bool> is_owned = std::vector<bool>(area_bytes / granule_bytes);
};

TEST(Concurrency, caches_of_a_weak_memory_get_blocks_of_their_own) {
    sched::for_each_seed(6000, [](std::uint64_t seed) {
        ScheduledScene scene;
        sched::Options options;
        options.seed = seed;
        const sched::Outcome outcome =
            sched::run(options, {[&] { scene.act(0, seed); }, [&] { scene.act(1, seed); },
                                 [&] { scene.act(2, seed); }, [&] { scene.recover(); }});
        EXPECT_EQ(outcome.failure, "");
        for (const std::string& finding : findings_of(scene.heap.control())) {
            ADD_FAILURE() << finding << ", seed " << seed;
        }
        EXPECT_EQ(usage_of(scene.heap.control()).blocks, 0U) << "seed " << seed;
        ThreadCache cache(0);
        EXPECT_NE(scene.heap.allocate(cache, area_bytes), no_block) << "seed " << seed;
    });
}

// All free memory lies in the spans of an idle cache, and suffices for both allocations.
TEST(Concurrency, all_caches_that_take_spans_from_others_at_once_find_room) {
    constexpr std::uint64_t large_bytes = 3 * unit_bytes;
    sched::for_each_seed(2000, [](std::uint64_t seed) {
        ScheduledScene scene;
        ThreadCache idle(2);
        for (std::uint64_t bytes = 16; bytes <= 32'768; bytes *= 2) {
            const Offset block = scene.heap.allocate(idle, bytes);
            ASSERT_NE(block, no_block);
            scene.heap.keep(idle);
            ASSERT_EQ(scene.heap.free(idle, block), Freed::done);
        }
        ThreadCache filler(3);
        const std::uint64_t free_bytes = area_bytes - usage_of(scene.heap.control()).unit_bytes;
        ASSERT_NE(scene.heap.allocate(filler, free_bytes), no_block);
        scene.heap.keep(filler);
        const auto take = [&](CacheNumber number) {
            return [&, number] {
                ThreadCache cache(number);
                const Offset block = scene.heap.allocate(cache, large_bytes);
                EXPECT_NE(block, no_block) << "seed " << seed << ", cache " << number;
                scene.heap.keep(cache);
            };
        };
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {take(0), take(1)}).failure, "");
    });
}

TEST(Concurrency, processes_find_in_their_blocks_what_they_wrote) {
    const test::ScopedWatchdog watchdog("four processes allocate and free");
    constexpr HeapShape shape{64, 4};
    constexpr std::uint32_t exchanged = 512;
    const SharedPages control(Control<>::bytes(shape));
    const SharedPages blocks(shape.areas * area_bytes);
    const SharedPages shelf_pages(exchanged * sizeof(std::uint64_t));
    auto* shelf = reinterpret_cast<std::atomic<std::uint64_t>*>(shelf_pages.data());
    const auto give_back = [](void* start, std::uint64_t offset, std::uint64_t bytes) noexcept {
        madvise(static_cast<char*>(start) + offset, bytes, MADV_REMOVE);
    };
    const Heap<> heap(control.data(), shape, {give_back, blocks.data()});
    // Each process fills blocks with their own offset, leaves them on a shelf, and checks and frees
    // blocks that others left there.
    const auto act = [&](CacheNumber number) {
        test::Random random(number + 1);
        ThreadCache cache(number);
        for (int i = 0; i < 60'000; ++i) {
            const std::uint64_t bytes = random.below(50) == 0 ? 100'000 : 16 + random.below(3'000);
            const Offset mine = heap.allocate(cache, bytes);
            if (mine == no_block) return 5;
            heap.keep(cache);
            for (std::uint64_t at = 0; at + 8 <= bytes; at += 512) {
                *reinterpret_cast<std::uint64_t*>(blocks.data() + mine + at) = mine + at;
            }
            const std::uint64_t theirs =
                shelf[random.below(exchanged)].exchange((mine + 1) << 20 | bytes);
            if (theirs == 0) continue;
            const Offset block = (theirs >> 20) - 1;
            for (std::uint64_t at = 0; at + 8 <= (theirs & 0xfffff); at += 512) {
                if (*reinterpret_cast<std::uint64_t*>(blocks.data() + block + at) != block + at)
                    return 6;
            }
            if (heap.free(cache, block) != Freed::done) return 7;
        }
        heap.let_go(cache);
        return 0;
    };
    std::vector<pid_t> children;
    for (CacheNumber number = 0; number < shape.caches; ++number) {
        const pid_t child = fork();
        if (child == 0) _exit(act(number));
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    ThreadCache cache(0);
    for (std::uint32_t i = 0; i < exchanged; ++i) {
        if (shelf[i] != 0) {
            EXPECT_EQ(heap.free(cache, (shelf[i] >> 20) - 1), Freed::done);
        }
    }
    heap.let_go(cache);
    for (const std::string& finding : findings_of(heap.control())) ADD_FAILURE() << finding;
    EXPECT_EQ(usage_of(heap.control()).unit_bytes, 0U);
}

}  // namespace
}  // namespace acp::heap
