// SPDX-License-Identifier: BSD-3-Clause
// The effects of a run's faults on nodes and processes, and a check of the reports about them: each
// router reports each death once, and only of processes that died; a node that is reported as lost
// was severed or restarted. Knows no command and no router. One thread.
// Tests: tests/unit/sim/world_test.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/process_end.hpp"
#include "sim/judge.hpp"
#include "sim/plan.hpp"

namespace acp::sim {

class Casualties {
public:
    // Both arguments must outlive it.
    Casualties(const Plan& plan, Judge& judge);

    // Note what a fault did. kill() returns false if the process was dead already.
    bool kill(std::uint32_t process);
    void restart(NodeId node);
    void cut(NodeId a, NodeId b);  // one of the two has severed the other

    // Judge what the router of a node reports.
    void on_process_dead(NodeId node, std::uint32_t process, const base::ProcessEnd& end);

    // The end that a simulated process reports, different for each process.
    [[nodiscard]] static base::ProcessEnd end_of(std::uint32_t process) noexcept {
        constexpr std::uint32_t first_number = 4711;
        return {process + 1, first_number + process,
                static_cast<std::uint8_t>(process % base::ProcessEnd::states_at_end)};
    }

    void on_node_dead(NodeId node, NodeId dead);

    [[nodiscard]] bool is_dead(std::uint32_t process) const noexcept { return dead_[process] != 0; }

    [[nodiscard]] const std::vector<std::uint8_t>& dead() const noexcept { return dead_; }

    // Whether any node has severed this one, it has severed any node, or it was restarted.
    [[nodiscard]] bool is_broken(NodeId node) const noexcept { return broken_[node] != 0; }

    [[nodiscard]] bool is_any_cut() const noexcept { return is_any_cut_; }

    // Whether no node was severed and no process died.
    [[nodiscard]] bool is_job_whole() const noexcept { return !is_any_cut_ && !is_any_dead_; }

    // Whether one of these processes is dead, or on a broken node.
    [[nodiscard]] bool is_any_lost(std::initializer_list<std::uint32_t> processes) const;

    // Whether every node's router has reported every death.
    [[nodiscard]] bool are_all_heard_of() const;

    // Names a death that this node's router has not reported, for a message; empty: none.
    [[nodiscard]] std::string unheard(NodeId node) const;

private:
    const Plan* plan_;
    Judge* judge_;
    std::vector<std::uint8_t> dead_;        // per process: nonzero if it died
    std::vector<std::uint8_t> broken_;      // per node: severed, severing, or restarted
    std::vector<std::uint8_t> began_anew_;  // per node: nonzero if restarted
    // [node][process]: nonzero: the router has reported the death
    std::vector<std::vector<std::uint8_t>> heard_;
    bool is_any_cut_ = false;
    bool is_any_dead_ = false;
};

}  // namespace acp::sim
