// SPDX-License-Identifier: BSD-3-Clause
// What scenes of structures in a shared heap have in common: a victim that is struck while it does steps, a survivor who recovers what it
// left, and a helper that is killed while it recovers. Main thread only.
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
//   user(number)                   a participant's way to the structure
//   own                            the survivor's
//   is_shown(dead, block)          whether a dead participant's record names a block that it was allocating
//   recover_structure(by, dead)    finishes what a dead one did there; false: another one that is dead did so before
template <typename Scene, typename SharedHeap>
struct KillScene {
    explicit KillScene(std::uint64_t participants_bytes) : participants(participants_bytes) {}

    // Finishes what a dead participant did, in the heap and in the structure.
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

    // The helper died too, of which the victim's recovery may be in need.
    void recover_both() {
        recover(scene().own, helper, false);
        recover(scene().own, victim);
        recover(scene().own, helper);
    }

    // What the state must be after the steps that were done, and with the next one too: a strike in a step leaves either.
    template <typename Model, typename Steps, typename Apply>
    [[nodiscard]] std::array<Model, 2> models(const Steps& steps, const Apply& apply) const {
        Model model{};
        for (std::uint64_t i = 0; i < done->load(); ++i) apply(model, steps[i]);
        Model next = model;
        if (done->load() < steps.size()) apply(next, steps[done->load()]);
        return {model, next};
    }

    // For a scene that wants to know of the victim, dead or stopped, before anybody recovers it.
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

// Kills the victim, and then the helper in its recovery; the survivor recovers both. Calls check(scene, when).
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
            scene.recover_both();
            check(scene, first.when() + ", its recovery before " + std::to_string(second.at()));
        },
        of_scene...);
}

}  // namespace acp::test
