// SPDX-License-Identifier: BSD-3-Clause
// The right to poll the forwarder has one holder, which notices if another thread has tried to take
// it; under the seeded scheduler.
#include "gma/driver_role.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <stdexcept>

#include "support/interleave.hpp"

namespace acp::gma {
namespace {

namespace sched = acp::test::sched;
using Role = DriverRole<sched::Atomic>;

// Mail that a holder must see after it arrived, and whether a holder was asked to poll again.
struct Scene {
    Role role;
    sched::Atomic<std::uint32_t> mail{0};
    sched::Atomic<std::uint32_t> looked{0};
    char polled = 0;  // plain data, which only the holder accesses
    bool is_told = false;

    // Polls if it gets the right. False: another fiber has it, and this one may sleep.
    bool poll() {
        Role::Hold hold(role);
        if (!hold) return false;
        sched::note_write(&polled);
        if (mail.load(std::memory_order_seq_cst) != 0) looked.store(1, std::memory_order_relaxed);
        if (hold.give()) is_told = true;
        return true;
    }
};

TEST(DriverRole, a_thread_that_found_the_role_taken_is_served_by_the_driver) {
    sched::for_each_seed(20'000, [](std::uint64_t seed) {
        Scene scene;
        bool has_left = false;
        sched::Options options;
        options.seed = seed;
        const auto outcome =
            sched::run(options, {[&scene] { scene.poll(); },
                                 [&scene, &has_left] {
                                     scene.mail.store(1, std::memory_order_seq_cst);
                                     has_left = !scene.poll();
                                 }});
        EXPECT_EQ(outcome.failure, "");
        if (has_left) {
            EXPECT_TRUE(scene.is_told || scene.looked.peek() != 0) << "seed " << seed;
        }
    });
}

TEST(DriverRole, belongs_to_one_at_a_time) {
    sched::for_each_seed(5'000, [](std::uint64_t seed) {
        Scene scene;
        sched::Options options;
        options.seed = seed;
        const auto work = [&scene] {
            for (int i = 0; i < 3; ++i) scene.poll();
        };
        EXPECT_EQ(sched::run(options, {work, work, work}).failure, "");
    });
}

TEST(DriverRole, is_free_again_when_something_is_thrown_past_its_holder) {
    DriverRole<> role;
    EXPECT_THROW(
        {
            const DriverRole<>::Hold hold(role);
            throw std::runtime_error("past the holder");
        },
        std::runtime_error);
    EXPECT_FALSE(role.is_held());
    const DriverRole<>::Hold next(role);
    EXPECT_TRUE(next);
}

}  // namespace
}  // namespace acp::gma
