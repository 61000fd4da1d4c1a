// SPDX-License-Identifier: BSD-3-Clause
// A walk that is interrupted before each of its accesses, twice: an interruption erases, replaces
// and inserts entries, whose blocks are reused, and migrates buckets. Entries that stay are visited
// once, and all visited entries are whole. The changes run in a handler of a signal that the only
// thread sends to itself before an access.
#include <csignal>
#include <functional>
#include <map>

#include "support/stepped_atomic.hpp"
#include "table_memory.hpp"

#if defined(__SANITIZE_THREAD__)
// The handler may allocate: the thread sends itself the signal outside of the C and C++ libraries.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() {
    return "report_signal_unsafe=0";
}
#endif

namespace acp::table {
namespace {

using test::SteppedAtomic;
using Stepped = User<SteppedAtomic>;

std::string key_number(std::uint32_t number) {
    return "key " + std::to_string(number);
}

// The changes of both interruptions, and the access before which each runs; the second counts from
// the first.
struct Interruptions {
    std::uint64_t second_after = 0;
    std::function<void()> first;
    std::function<void()> second;
    int count = 0;
};

Interruptions* interruptions = nullptr;

void on_signal(int /*signal*/) {
    test::steps_left = 0;
    if (++interruptions->count == 1) {
        interruptions->first();
        test::steps_left = interruptions->second_after;
    } else {
        interruptions->second();
    }
}

class WalkInterruptTest : public testing::Test {
protected:
    void SetUp() override {
        struct sigaction action {};

        action.sa_handler = on_signal;
        action.sa_flags = SA_NODEFER;
        ASSERT_EQ(sigaction(SIGUSR1, &action, &before_), 0);
        test::signal_at_step = SIGUSR1;
    }

    void TearDown() override {
        test::steps_left = 0;
        test::signal_at_step = SIGKILL;
        EXPECT_EQ(sigaction(SIGUSR1, &before_, nullptr), 0);
    }

    struct sigaction before_ {};
};

// A table of one bucket with keys that stay and keys that do not.
struct Course {
    //   keys  the number of keys at the start; the odd ones stay
    explicit Course(std::uint32_t keys) : there(keys) {
        table = other.table.make({.slots = 1, .may_grow = true, .has_many = false, .id = 0});
        other.table.keep();
        for (std::uint32_t i = 0; i < there; ++i) put(i);
    }

    // All values have one length, so that freed blocks are reused.
    void put(std::uint32_t key) {
        const std::string text = key_number(key);
        EXPECT_EQ(other.table.assign(table, key_of(text), value_of("value of " + text)),
                  Effect::done);
    }

    void erase(std::uint32_t key) {
        EXPECT_EQ(other.table.erase(table, key_of(key_number(key))), Effect::done);
    }

    // The walk stops after each entry, and continues from its place.
    void walk() {
        WalkPlace after;
        while (walker.table.walk(table, after, [&](const VisitedEntry& entry) {
            const std::string key(entry.key, entry.key_bytes);
            EXPECT_EQ(std::string(entry.value, entry.value_bytes), "value of " + key);
            ++seen[key];
            return Visited::stop_here;
        }) == Walked::more) {
        }
    }

    void expect_kept_once(const std::string& when) {
        for (std::uint32_t key = 1; key < there; key += 2) {
            EXPECT_EQ(seen[key_number(key)], 1) << when << ": " << key_number(key);
        }
        EXPECT_TRUE(other.table.destroy(table, 0));
        other.table.reclaim();
        walker.table.reclaim();
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    std::uint32_t there;
    SharedHeap shared;
    SharedPages participants{Participants<SteppedAtomic>::bytes(participants_max)};
    Stepped walker{shared, participants.data(), 0, 1};
    Stepped other{shared, participants.data(), 1, 1};
    BlockNumber table = 0;
    std::map<std::string, int> seen;
};

// Walks with interruptions before each access, and before each `step`th after it.
template <typename First, typename Second>
void interrupt_everywhere(std::uint32_t keys,
                          std::uint64_t step,
                          const First& first,
                          const Second& second) {
    for (std::uint64_t at = 1; !testing::Test::HasFailure(); ++at) {
        bool is_first_reached = false;
        for (std::uint64_t after = 1; !testing::Test::HasFailure(); after += step) {
            Course course(keys);
            Interruptions all{after, [&] { first(course); }, [&] { second(course); }, 0};
            interruptions = &all;
            test::steps_left = at;
            course.walk();
            test::steps_left = 0;
            course.expect_kept_once("interrupted before access " + std::to_string(at) + ", and " +
                                    std::to_string(after) + " later");
            is_first_reached = all.count != 0;
            if (all.count < 2) break;
        }
        if (!is_first_reached) return;
    }
}

TEST_F(WalkInterruptTest, comes_once_to_an_entry_that_is_replaced_in_the_block_of_one_erased) {
    interrupt_everywhere(
        6, 5,
        [](Course& course) {
            course.erase(2);
            course.put(5);
            course.erase(0);
            course.put(1);
        },
        [](Course& course) {
            course.put(2);
            course.put(3);
        });
}

// The interruption frees the array that the walk reads, and overwrites its memory.
TEST_F(WalkInterruptTest, comes_once_to_entries_whose_buckets_move) {
    constexpr std::uint32_t keys = 10;
    interrupt_everywhere(
        keys, 40,
        [](Course& course) {
            EXPECT_EQ(course.other.table.buckets(course.table), 2U);
            for (std::uint32_t key = 20; key < 36; ++key) course.put(key);
            EXPECT_GE(course.other.table.buckets(course.table), 4U) << "the table grows";
            course.other.table.reclaim();
            course.erase(4);
            course.put(3);
        },
        [](Course& course) {
            course.put(4);
            course.put(5);
            course.erase(20);
        });
}

}  // namespace
}  // namespace acp::table
