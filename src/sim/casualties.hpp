// SPDX-License-Identifier: BSD-3-Clause
// What the faults of a run have done to nodes and processes, and whether the news of it is right: a death is heard of once by
// each node, and only of the dead; a lost node is one that somebody has severed or that began anew. Knows no command and no
// router. One thread. Tests: tests/unit/sim/world_test.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "sim/judge.hpp"
#include "sim/plan.hpp"

namespace acp::sim {

class Casualties {
public:
    //   both must outlive it
    Casualties(const Plan& plan, Judge& judge);

    // What the faults did. kill() returns false when the process was dead already.
    bool kill(std::uint32_t process);
    void restart(NodeId node);
    void cut(NodeId a, NodeId b);  // one of them has severed the other

    // What the router of a node tells.
    void on_process_dead(NodeId node, std::uint32_t process, std::uint32_t wait_status);
    void on_node_dead(NodeId node, NodeId dead);

    [[nodiscard]] bool is_dead(std::uint32_t process) const noexcept { return dead_[process] != 0; }

    [[nodiscard]] const std::vector<std::uint8_t>& dead() const noexcept { return dead_; }

    // Some node has severed it, or it has severed some node, or it began anew.
    [[nodiscard]] bool is_broken(NodeId node) const noexcept { return broken_[node] != 0; }

    [[nodiscard]] bool is_any_cut() const noexcept { return is_any_cut_; }

    // No node is cut and no process dead.
    [[nodiscard]] bool is_job_whole() const noexcept { return !is_any_cut_ && !is_any_dead_; }

    // Whether one of the processes is dead, or on a broken node.
    [[nodiscard]] bool is_any_lost(std::initializer_list<std::uint32_t> processes) const;

    // Every node has heard of every death.
    [[nodiscard]] bool are_all_heard_of() const;

    // A death that some node has not heard of, for a message; empty: none.
    [[nodiscard]] std::string unheard(NodeId node) const;

private:
    const Plan* plan_;
    Judge* judge_;
    std::vector<std::uint8_t> dead_;        // per process
    std::vector<std::uint8_t> broken_;      // per node: some other has severed it, or it some other
    std::vector<std::uint8_t> began_anew_;  // per node
    std::vector<std::vector<std::uint8_t>> heard_;  // per node, per process: of its death
    bool is_any_cut_ = false;
    bool is_any_dead_ = false;
};

}  // namespace acp::sim
