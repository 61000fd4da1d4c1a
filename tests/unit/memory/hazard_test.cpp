// SPDX-License-Identifier: BSD-3-Clause
// Hazard lines on a memory as weak as C++ allows: an owner that unregisters memory and a thread
// that makes one access after the other, in seeded schedules.
#include "memory/hazard.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>

#include "support/interleave.hpp"

namespace acp::memory {
namespace {

namespace sched = acp::test::sched;

constexpr GlobalAddress taken_back = 0x1000;
constexpr GlobalAddress other = 0x2000;

// A line, the table's word for the memory that is unregistered, and that memory.
struct Scene {
    HazardLineOf<sched::Atomic> line;
    sched::Atomic<std::uint64_t> is_registered{1};
    char memory = 0;
};

// One access: names both ends, tests whether the first one is still registered, reads it, leaves.
void access(Scene& scene, GlobalAddress target, GlobalAddress source) {
    enter<HazardFence::processor>(scene.line, target, source);
    const bool is_used = target == taken_back || source == taken_back;
    if (is_used && scene.is_registered.load(std::memory_order_seq_cst) != 0) {
        sched::note_read(&scene.memory);
    }
    leave(scene.line);
}

// Unregisters, waits until no line names the memory, and writes it as its own.
void take_back(Scene& scene) {
    scene.is_registered.store(0, std::memory_order_seq_cst);
    sched::fence();
    while (is_named_by(scene.line, [](GlobalAddress address) { return address == taken_back; })) {
        sched::pause();
    }
    sched::note_write(&scene.memory);
}

TEST(HazardLine, an_owner_that_sees_the_next_source_knows_that_the_access_before_is_over) {
    sched::for_each_seed(20'000, [](std::uint64_t seed) {
        Scene scene;
        sched::Options options;
        options.seed = seed;
        const auto outcome =
            sched::run(options, {[&scene] {
                                     access(scene, other, taken_back);  // named as source
                                     access(scene, other, other);
                                 },
                                 [&scene] { take_back(scene); }});
        EXPECT_EQ(outcome.failure, "");
    });
}

TEST(HazardLine, an_owner_that_sees_the_next_target_knows_that_the_access_before_is_over) {
    sched::for_each_seed(20'000, [](std::uint64_t seed) {
        Scene scene;
        sched::Options options;
        options.seed = seed;
        const auto outcome = sched::run(options, {[&scene] {
                                                      access(scene, taken_back, other);
                                                      access(scene, other, other);
                                                  },
                                                  [&scene] { take_back(scene); }});
        EXPECT_EQ(outcome.failure, "");
    });
}

// namespace acp::memory
}  // namespace
}  // namespace acp::memory
