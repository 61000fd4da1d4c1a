// SPDX-License-Identifier: BSD-3-Clause
// A lock, and fibers that take it under the seeded scheduler: one may be a process of another node.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sync/grant_word.hpp"
#include "sync/queued_lock.hpp"

#include "support/interleave.hpp"

namespace acp::sync::test {

namespace sched = acp::test::sched;

using Lock = QueuedLock<sched::Atomic>;

inline constexpr std::uint64_t seeds_of_death = 40;
inline constexpr std::uint32_t rounds = 2;
inline constexpr std::uint32_t places = 8;

// Each fiber is a process with one thread. A dead one is known to be so when no other can run, or
// from the start of the scene on.
struct LockScene {
    static constexpr std::uint32_t processes = 4;
    static constexpr std::uint32_t far_process = processes - 1;  // where work_far() runs
    static constexpr std::uint32_t far_rounds = 4;
    bool has_far_process = false;

    LockHead<sched::Atomic> head;
    std::array<LockPlace<sched::Atomic>, places> place;
    std::array<sched::Atomic<std::uint32_t>, processes> bell;
    std::array<sched::Atomic<std::uint64_t>, processes> grant_word;
    std::array<sched::Atomic<std::uint32_t>, processes> dead;
    // Plain data, which the lock orders; the next holder after a death uses another place.
    std::array<std::uint64_t, 2> guarded{};
    int inside = -1;
    std::uint32_t sections = 0;
    std::uint32_t deaths_told = 0;
    std::uint32_t left = 0;
    std::string wrong;

    LockScene() { Lock(head, place.data(), places).make(); }

    [[nodiscard]] Lock lock() { return {head, place.data(), places}; }

    [[nodiscard]] auto gone() {
        return [this](std::uint32_t process) {
            return process < processes && dead[process].load(std::memory_order_seq_cst) != 0;
        };
    }

    static LockParty party(std::uint32_t process, std::uint32_t round = 0) {
        return {process, process, round};
    }

    void notify(const LockGrant& grant) {
        if (grant.process == LockGrant::no_process) return;
        if (has_far_process && grant.process == far_process) {
            auto& word = grant_word[grant.process];
            const bool has_died = grant.died != 0;
            if (GrantWord<sched::Atomic>(word).grant(
                    GrantState::of_grant(grant.notice.number, has_died)))
                sched::wake_all(&word);
            return;
        }
        bell[grant.process].fetch_add(1, std::memory_order_seq_cst);
        sched::wake_all(&bell[grant.process]);
    }

    void note_wrong(const std::string& what) {
        if (wrong.empty()) wrong = what;
    }

    // Waits with a ticket; gives up after some looks if `is_hasty`.
    LockAnswer wait(const LockParty& me, std::uint32_t ticket, bool is_hasty) {
        for (int looks = 0;; ++looks) {
            const std::uint32_t value = bell[me.process].load(std::memory_order_seq_cst);
            LockAnswer answer = lock().poll(me, ticket, gone());
            notify(answer.grant);
            if (answer.outcome != LockOutcome::queued) return answer;
            if (is_hasty && looks == 1) {
                answer = lock().leave(me, ticket, gone());
                notify(answer.grant);
                if (answer.outcome != LockOutcome::queued) return answer;
            }
            sched::sleep_while_is(bell[me.process], value);
        }
    }

    void work(std::uint32_t process, bool is_hasty) {
        for (std::uint32_t round = 0; round < rounds; ++round) {
            const LockParty me = party(process, round);
            LockAnswer answer;
            if (Lock::take_if_free(head, me)) {
                answer.outcome = LockOutcome::taken;
            } else {
                answer = lock().take(me, true, {}, gone());
            }
            notify(answer.grant);
            if (answer.outcome == LockOutcome::again) {
                --round;
                sched::pause();
                continue;
            }
            if (answer.outcome == LockOutcome::queued) answer = wait(me, answer.ticket, is_hasty);
            if (answer.outcome == LockOutcome::left) {
                ++left;
                continue;
            }
            if (answer.outcome != LockOutcome::taken &&
                answer.outcome != LockOutcome::taken_from_dead) {
                note_wrong("outcome " + std::to_string(static_cast<int>(answer.outcome)));
                return;
            }
            critical_section(process, answer.outcome == LockOutcome::taken_from_dead);
            release(me);
        }
    }

    // A process of another node: it learns of its lock from its grant word alone.
    void work_far(bool is_hasty) {
        GrantWord<sched::Atomic> word(grant_word[far_process]);
        for (std::uint32_t round = 0; round < far_rounds; ++round) {
            const std::uint64_t number = word.begin();
            const LockParty me = party(far_process, static_cast<std::uint32_t>(number));
            LockAnswer answer = lock().take(me, true, {far_process + 1, number}, gone());
            notify(answer.grant);
            for (int looks = 0; answer.outcome == LockOutcome::queued; ++looks) {
                if (word.is_granted()) {
                    answer.outcome = LockOutcome::taken;
                } else if (is_hasty && looks == 2) {
                    answer = lock().leave(me, answer.ticket, gone());
                    notify(answer.grant);
                } else if (is_hasty) {
                    sched::pause();
                } else {
                    sched::sleep_while_is(grant_word[far_process], number << 2U);
                }
            }
            if (answer.outcome == LockOutcome::left) {
                ++left;
            } else if (answer.outcome == LockOutcome::taken) {
                critical_section(far_process, false);
                release(me);
            } else {
                note_wrong("outcome " + std::to_string(static_cast<int>(answer.outcome)));
                return;
            }
        }
    }

    void release(const LockParty& me) {
        if (Lock::release_if_alone(head, me)) return;
        LockAnswer answer;
        do {
            answer = lock().release(me, gone());
            notify(answer.grant);
        } while (answer.outcome == LockOutcome::again);
        if (answer.outcome != LockOutcome::released) note_wrong("no release");
    }

    LockAnswer take(std::uint32_t process, bool may_wait = true) {
        return lock().take(party(process), may_wait, {}, gone());
    }

    [[nodiscard]] LockPlace<sched::Atomic>& place_of(std::uint32_t ticket) {
        return place[ticket % places];
    }

    void critical_section(std::uint32_t process, bool is_from_dead) {
        deaths_told += is_from_dead ? 1 : 0;
        if (inside >= 0 && dead[static_cast<std::size_t>(inside)].peek() == 0)
            note_wrong(std::to_string(process) + " entered while " + std::to_string(inside) +
                       " was inside");
        inside = static_cast<int>(process);
        sched::note_write(&guarded[deaths_told]);
        ++guarded[deaths_told];
        sched::pause();
        sched::note_write(&guarded[deaths_told]);
        ++sections;
        inside = -1;
    }

    void announce_death(std::uint32_t process) {
        dead[process].store(1, std::memory_order_seq_cst);
        for (std::uint32_t other = 0; other < processes; ++other) {
            bell[other].fetch_add(1, std::memory_order_seq_cst);
            sched::wake_all(&bell[other]);
        }
    }
};

inline std::vector<std::function<void()>> workers(LockScene& scene, bool is_hasty) {
    std::vector<std::function<void()>> fibers;
    for (std::uint32_t process = 0; process < LockScene::processes; ++process) {
        fibers.emplace_back(
            [&scene, process, is_hasty] { scene.work(process, is_hasty && process % 2 == 1); });
    }
    return fibers;
}

inline void expect_free(LockScene& scene, std::uint64_t seed) {
    std::uint32_t holder = 0;
    EXPECT_TRUE(scene.lock().retire(holder, scene.gone()))
        << "holder " << holder << ", seed " << seed;
}

}  // namespace acp::sync::test
