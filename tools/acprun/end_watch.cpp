// SPDX-License-Identifier: BSD-3-Clause
// Asks the agents for signs of life until the job is over.
#include "end_watch.hpp"

#include "base/words.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"

namespace acp::run {

void EndWatch::ask(std::span<AgentLink> agents) {
    for (AgentLink& agent : agents) {
        if (!agent.can_answer() || agent.owes_sign_of_life) continue;
        agent.owes_sign_of_life = true;
        agent.send("alive?");
    }
    if (deadline_ns_ == os::poll_forever) deadline_ns_ = os::now_ns() + answer_ns;
}

std::vector<std::uint32_t> EndWatch::take_silent(std::span<AgentLink> agents) {
    std::vector<std::uint32_t> silent;
    if (os::now_ns() < deadline_ns_) return silent;
    for (std::uint32_t node = 0; node < agents.size(); ++node) {
        if (agents[node].can_answer() && agents[node].owes_sign_of_life) {
            ++agents[node].silences;
            silent.push_back(node);
        }
    }
    deadline_ns_ = os::poll_forever;
    ask(agents);
    return silent;
}

std::optional<std::string> EndWatch::poll_stopped(std::span<const AgentLink> agents,
                                                  std::uint64_t now_ns) {
    if (now_ns < stops_.deadline_ns()) return std::nullopt;
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t node = 0; node < agents.size(); ++node) {
        const AgentLink& agent = agents[node];
        if (agent.is_running() && os::is_stopped(agent.local_process())) nodes.push_back(node);
    }
    return stops_.note(nodes.empty() ? agent::StopWatch::none : base::rank_ranges(nodes), now_ns);
}

}  // namespace acp::run
