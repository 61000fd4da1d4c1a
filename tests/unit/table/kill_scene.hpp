// SPDX-License-Identifier: BSD-3-Clause
// A heap whose tables are used by a process that is killed or stopped before a given access to one
// of their words, and by a survivor.
#pragma once

#include <csignal>
#include <string>

#include "support/kill_scene.hpp"
#include "unit/table/table_memory.hpp"

namespace acp::table {

using test::SteppedAtomic;
using test::StruckChild;
using Stepped = User<SteppedAtomic>;

[[nodiscard]] inline std::string key_number(std::uint32_t number) {
    return "key " + std::to_string(number);
}

// The common part of scenes of tables; Scene has the tables and the steps.
template <typename Scene>
struct TableScene : test::KillScene<Scene, SharedHeap> {
    explicit TableScene(std::uint32_t batch_of_all)
        : test::KillScene<Scene, SharedHeap>(Participants<SteppedAtomic>::bytes(participants_max)),
          batch(batch_of_all) {}

    [[nodiscard]] Stepped user(std::uint32_t number) const {
        return {this->shared, this->participants.data(), number, batch};
    }

    [[nodiscard]] bool is_shown(std::uint32_t dead, heap::Offset block) const {
        const Participants<SteppedAtomic> all{this->participants.data(), participants_max};
        return all[dead].has_made(number_of(block));
    }

    static bool recover_structure(Stepped& by, std::uint32_t dead) {
        return by.table.recover(dead, TableScene::is_dead);
    }

    // One step of a participant towards the growth of a table.
    void advance(Stepped& by, std::uint32_t number, BlockNumber table) const {
        const Ground<SteppedAtomic> ground(by.blocks, {this->participants.data(), participants_max},
                                           number, batch);
        const Changing<SteppedAtomic> changing(ground, table);
        NextArray<SteppedAtomic>(ground).advance_if_due(ground.head(table));
    }

    std::uint32_t batch;
    Stepped own = user(test::survivor);
};

}  // namespace acp::table
