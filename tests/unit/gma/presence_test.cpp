// SPDX-License-Identifier: BSD-3-Clause
// Whether the service thread listens when the program has left the library: learned from the work
// that arrived in earlier absences.
#include "gma/presence.hpp"

#include <cstdint>
#include <gtest/gtest.h>

namespace acp::gma {
namespace {

constexpr bool for_a_moment = false;
constexpr bool to_sleep = true;
constexpr std::uint64_t left_at = 1'000'000;
constexpr std::uint64_t soon = left_at + Presence::short_absence_ns;
constexpr std::uint64_t later = soon + 1;

std::uint64_t now() {
    return left_at;
}

// One call of the library, after which no work arrives before the next. True: the service thread
// listens afterwards.
bool visit(Presence& presence) {
    presence.enter();
    return presence.leave(for_a_moment, now);
}

// Plays a program in whose absences no work arrived.
void make_trusted(Presence& presence) {
    for (std::uint32_t i = 0; i <= Presence::absences_to_listen; ++i) (void)visit(presence);
}

TEST(Presence, the_service_thread_naps_during_the_first_absence) {
    Presence presence(1.0);
    EXPECT_FALSE(presence.is_anybody_there());
    presence.enter();
    EXPECT_TRUE(presence.is_anybody_there());
    EXPECT_TRUE(presence.leave(for_a_moment, now));
    EXPECT_FALSE(presence.is_anybody_there());
}

TEST(Presence, absences_in_which_nothing_came_end_the_listening) {
    Presence presence(1.0);
    for (std::uint32_t i = 0; i < Presence::absences_to_listen; ++i)
        EXPECT_TRUE(visit(presence)) << i;
    EXPECT_FALSE(visit(presence));
    EXPECT_FALSE(presence.is_service_needed());
    EXPECT_TRUE(presence.is_anybody_there());
}

TEST(Presence, work_in_an_absence_makes_the_service_thread_nap_in_the_next_ones) {
    Presence presence(1.0);
    for (std::uint32_t i = 0; i < 10 * Presence::absences_to_listen; ++i) {
        EXPECT_TRUE(visit(presence));
        presence.note_work(later);
    }
}

TEST(Presence, what_came_after_the_program_was_back_does_not_count) {
    Presence presence(1.0);
    for (std::uint32_t i = 0; i < Presence::absences_to_listen; ++i) {
        presence.enter();
        presence.note_work(later);
        EXPECT_TRUE(presence.leave(for_a_moment, now));
    }
    EXPECT_FALSE(visit(presence));
}

TEST(Presence, what_woke_the_service_thread_counts_though_the_program_is_back_first) {
    Presence presence(1.0);
    for (std::uint32_t i = 0; i < 10 * Presence::absences_to_listen; ++i) {
        EXPECT_TRUE(visit(presence)) << i;
        presence.note_wake(true, later);
        presence.enter();  // the program has seen the placed work
        presence.note_work(later);
        EXPECT_TRUE(presence.leave(for_a_moment, now));
    }
}

TEST(Presence, a_wake_that_finds_nothing_to_do_does_not_count) {
    Presence presence(1.0);
    for (std::uint32_t i = 0; i < Presence::absences_to_listen; ++i) {
        EXPECT_TRUE(visit(presence)) << i;
        presence.note_wake(true, later);
        presence.note_wake(false, later);
    }
    presence.enter();
    presence.note_work(later);
    EXPECT_FALSE(presence.leave(for_a_moment, now));
}

TEST(Presence, what_came_as_soon_as_the_program_left_does_not_count) {
    Presence presence(1.0);
    for (std::uint32_t i = 0; i < Presence::absences_to_listen; ++i) {
        EXPECT_TRUE(visit(presence));
        presence.note_work(soon);
    }
    EXPECT_FALSE(visit(presence));
}

TEST(Presence, a_sleeping_thread_is_not_expected) {
    Presence presence(1.0);
    make_trusted(presence);
    presence.enter();
    EXPECT_TRUE(presence.leave(to_sleep, now));
    EXPECT_FALSE(presence.is_anybody_there());
    presence.note_work(later);  // the sleeper waits for it: no absence
    EXPECT_FALSE(presence.is_service_needed());
}

TEST(Presence, a_thread_that_did_not_return_is_polled_for_again) {
    Presence presence(1.0);
    make_trusted(presence);
    EXPECT_TRUE(presence.is_anybody_there());
    presence.expect_nobody();
    EXPECT_FALSE(presence.is_anybody_there());
    EXPECT_FALSE(presence.is_service_needed());  // no work has arrived yet
    presence.note_work(later);
    EXPECT_TRUE(visit(presence));
}

TEST(Presence, the_last_of_several_threads_counts) {
    Presence presence(1.0);
    presence.enter();
    presence.enter();
    EXPECT_FALSE(presence.leave(for_a_moment, now));
    EXPECT_TRUE(presence.is_anybody_there());
    EXPECT_TRUE(presence.leave(for_a_moment, now));
}

TEST(Presence, a_busy_program_is_trusted_at_once) {
    Presence presence(1.0);
    presence.note_busy();
    EXPECT_FALSE(visit(presence));
}

TEST(Presence, short_calls_are_visits) {
    Presence presence(1.0);
    const std::uint32_t before = presence.visits();
    presence.pass();
    EXPECT_NE(presence.visits(), before);
    for (std::uint32_t i = 0; i < Presence::absences_to_listen; ++i) {
        presence.enter();
        EXPECT_TRUE(presence.leave(for_a_moment, now));
        presence.pass();  // the program is back before work arrived
    }
    EXPECT_FALSE(presence.is_service_needed());
}

TEST(Presence, a_program_that_calls_between_two_pieces_of_work_must_run_before_the_next) {
    Presence presence(1.0);
    EXPECT_FALSE(presence.is_program_next());
    (void)visit(presence);
    presence.note_work(later);
    EXPECT_TRUE(presence.is_program_next());
}

TEST(Presence, a_program_in_the_library_or_asleep_there_need_not_run_outside) {
    Presence presence(1.0);
    (void)visit(presence);
    presence.note_work(later);
    presence.enter();
    EXPECT_FALSE(presence.is_program_next());
    (void)presence.leave(to_sleep, now);
    EXPECT_FALSE(presence.is_program_next());
    (void)visit(presence);
    EXPECT_TRUE(presence.is_program_next());
}

TEST(Presence, a_program_that_never_calls_while_work_comes_is_not_waited_for) {
    Presence presence(1.0);
    (void)visit(presence);
    presence.note_work(later);
    for (std::uint32_t i = 0; i < Presence::works_to_believe; ++i) {
        EXPECT_TRUE(presence.is_program_next()) << i;
        presence.note_work(later);
    }
    EXPECT_FALSE(presence.is_program_next());
}

}  // namespace
}  // namespace acp::gma
