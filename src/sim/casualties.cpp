// SPDX-License-Identifier: BSD-3-Clause
// Notes deaths, cuts and restarts, and checks the reports of them.
#include "sim/casualties.hpp"

#include <algorithm>

namespace acp::sim {

Casualties::Casualties(const Plan& plan, Judge& judge)
    : plan_(&plan),
      judge_(&judge),
      dead_(plan.procs()),
      broken_(plan.nodes),
      began_anew_(plan.nodes),
      heard_(plan.nodes, std::vector<std::uint8_t>(plan.procs())) {}

bool Casualties::kill(std::uint32_t process) {
    if (dead_[process] != 0) return false;
    judge_->tell("process %u dies", process);
    dead_[process] = 1;
    is_any_dead_ = true;
    heard_[plan_->node_of(process)][process] = 1;
    return true;
}

void Casualties::restart(NodeId node) {
    broken_[node] = 1;
    began_anew_[node] = 1;
    is_any_cut_ = true;
    std::fill(heard_[node].begin(), heard_[node].end(), std::uint8_t{0});
}

void Casualties::cut(NodeId a, NodeId b) {
    broken_[a] = 1;
    broken_[b] = 1;
    is_any_cut_ = true;
}

void Casualties::on_process_dead(NodeId node, std::uint32_t process, const base::ProcessEnd& end) {
    judge_->note((std::uint64_t{node} << 40) ^ process);
    judge_->tell("node %u is notified of the death of process %u", node, process);
    if (process >= plan_->procs() || dead_[process] == 0) {
        return judge_->fail("node " + std::to_string(node) +
                            " is notified of the death of process " + std::to_string(process) +
                            ", which lives");
    }
    if (end != end_of(process))
        return judge_->fail("a notification of a death reports another end of the process");
    if (heard_[node][process]++ != 0) {
        judge_->fail("node " + std::to_string(node) +
                     " is notified twice of the death of process " + std::to_string(process));
    }
}

void Casualties::on_node_dead(NodeId node, NodeId dead) {
    judge_->note((std::uint64_t{node} << 41) ^ dead);
    judge_->tell("node %u is notified of the loss of node %u", node, dead);
    // A restarted node has lost the state of a meeting that is in progress, so it severs the other
    // nodes (WIRE-104).
    if (dead >= plan_->nodes || (broken_[dead] == 0 && began_anew_[node] == 0)) {
        judge_->fail("node " + std::to_string(node) + " is notified of the loss of node " +
                     std::to_string(dead) + ", which no node has severed");
    }
}

bool Casualties::is_any_lost(std::initializer_list<std::uint32_t> processes) const {
    return std::any_of(processes.begin(), processes.end(), [this](std::uint32_t process) {
        return dead_[process] != 0 || broken_[plan_->node_of(process)] != 0;
    });
}

bool Casualties::are_all_heard_of() const {
    return std::all_of(heard_.begin(), heard_.end(),
                       [this](const auto& heard) { return heard == dead_; });
}

std::string Casualties::unheard(NodeId node) const {
    for (std::uint32_t process = 0; process < plan_->procs() && is_any_dead_; ++process) {
        if (heard_[node][process] == dead_[process]) continue;
        return "the death of process " + std::to_string(process) + " is unknown to node " +
               std::to_string(node);
    }
    return {};
}

}  // namespace acp::sim
