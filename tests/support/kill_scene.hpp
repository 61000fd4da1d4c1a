// SPDX-License-Identifier: BSD-3-Clause
// The common part of scenes with structures in a shared heap: a victim that is killed or stopped
// during its steps, a survivor that recovers the structure, and a helper that is killed while it
// recovers. Main thread only.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <unistd.h>

#include "heap/heap.hpp"

#include "support/struck_child.hpp"
#include "unit/heap/heap_memory.hpp"

namespace acp::test {

// The participants of a scene, by their numbers in heap and structure.
inline constexpr std::uint32_t victim = 0;
inline constexpr std::uint32_t survivor = 1;
inline constexpr std::uint32_t helper = 2;

// A derived Scene has besides
//   act()                          the victim's steps; counts each in `done`
//   user(number)                   the structure as a participant accesses it
//   own                            the survivor's
//   is_shown(dead, block)          whether a dead participant's record names a block that it was
//                                  allocating
//   recover_structure(by, dead)    completes the operation of a dead participant; false: another
//                                  dead one's recovery of it must be completed first
template <typename Scene, typename SharedHeap>
struct KillScene {
    explicit KillScene(std::uint64_t participants_bytes) : participants(participants_bytes) {}

    // Completes the operation of a dead participant, in the heap and in the structure.
    //   must_end  whether it must be possible now
    template <typename User>
    void recover(User& by, std::uint32_t dead, bool must_end = true) {
        const auto is_stored = [&](heap::Offset block) { return scene().is_shown(dead, block); };
        if (!shared.heap.recover(by.blocks.cache(), {dead, 1}, is_dead, is_stored) ||
            (!scene().recover_structure(by, dead) && must_end)) {
            _exit(4);
        }
    }

    void recover_victim() { recover(scene().own, victim); }

    // Recovers the victim and the helper. The recovery of the first one may need that of the other.
    void recover_both(std::uint32_t first = helper) {
        const std::uint32_t second = first == helper ? victim : helper;
        for (const bool must_end : {false, true}) {
            recover(scene().own, first, must_end);
            recover(scene().own, second, must_end);
        }
    }

    // The two states that are allowed: after the steps that the victim has counted, and after one
    // more, because it may be killed before it counts a step.
    template <typename Model, typename Steps, typename Apply>
    [[nodiscard]] std::array<Model, 2> models(const Steps& steps, const Apply& apply) const {
        Model model{};
        for (std::uint64_t i = 0; i < done->load(); ++i) apply(model, steps[i]);
        Model next = model;
        if (done->load() < steps.size()) apply(next, steps[done->load()]);
        return {model, next};
    }

    // Called when the victim is dead or stopped, before it is recovered. For scenes that override
    // it.
    void look_at_victim() {}

    static bool is_dead(std::uint32_t number) { return number != survivor; }

    SharedHeap shared;
    heap::SharedPages participants;
    heap::SharedPages progress{sizeof(std::uint64_t)};
    std::atomic<std::uint64_t>* done =
        reinterpret_cast<std::atomic<std::uint64_t>*>(progress.data());

private:
    [[nodiscard]] Scene& scene() { return static_cast<Scene&>(*this); }
};

// Kills the victim, and then the helper in its recovery; the survivor recovers both, in either
// order in turn. Calls check(scene, when).
template <typename Scene, typename Check, typename... Arguments>
void kill_recoveries(const Strikes& victims,
                     const Strikes& recoveries,
                     const Check& check,
                     const Arguments&... of_scene) {
    strike_twice<Scene>(
        victims, recoveries,
        [](Scene& scene) {
            auto by = scene.user(helper);
            scene.recover(by, victim);
        },
        [&check](Scene& scene, const StruckChild& first, const StruckChild& second) {
            scene.recover_both(second.at() % 2 == 0 ? helper : victim);
            check(scene, first.when() + ", its recovery before " + std::to_string(second.at()));
        },
        of_scene...);
}

}  // namespace acp::test
