// SPDX-License-Identifier: BSD-3-Clause
// Asking, and the text.
#include "roll_call.hpp"

#include <utility>

#include "base/parse.hpp"
#include "base/words.hpp"
#include "os/clock.hpp"

#include "operations/operation_name.hpp"

namespace acp::run {

namespace {

constexpr std::uint64_t answer_within_ns = 2'000'000'000;

}  // namespace

void RollCall::ask(std::span<AgentLink> agents, std::string reason) {
    if (!reason_.empty()) return;
    reason_ = std::move(reason);
    until_ns_ = os::now_ns() + answer_within_ns;
    doings_.clear();
    const std::string line = "doings " + std::to_string(number_ = ++calls_);
    for (AgentLink& agent : agents) {
        agent.owes_doings = agent.is_running() && !agent.is_awaited();
        if (agent.owes_doings) agent.send(line);
    }
}

void RollCall::add(std::string_view answer) {
    const auto words = base::words_of(answer, 2);
    if (words.size() != 2 || !is_current(words[0])) return;
    if (auto doing = node::doing_from(words[1])) doings_.push_back(std::move(*doing));
}

void RollCall::note_told(AgentLink& agent, std::string_view number) const {
    if (is_current(number)) agent.owes_doings = false;
}

bool RollCall::is_current(std::string_view number) const noexcept {
    return base::parse_unsigned(number) == number_;
}

void RollCall::ask_about_hang(std::span<AgentLink> agents, std::uint64_t allowed_ns) {
    const std::uint64_t now_ns = os::now_ns();
    if (!reason_.empty() || (hang_told_ns_ != 0 && now_ns < hang_told_ns_ + allowed_ns)) return;
    hang_told_ns_ = now_ns;
    ask(agents,
        "a rank has waited for " + base::seconds_text(allowed_ns) + " s (ACP_HANG_TIMEOUT)");
}

std::optional<std::string> RollCall::take(std::span<const AgentLink> agents,
                                          const PlannedJob& job) {
    if (reason_.empty()) return std::nullopt;
    std::string silent;
    for (std::uint32_t node = 0; node < agents.size(); ++node) {
        if (!agents[node].is_running() || !agents[node].owes_doings) continue;
        if (os::now_ns() < until_ns_) return std::nullopt;
        silent += (silent.empty() ? "" : ", ") + job.nodes[node].name;
    }
    std::string text = std::exchange(reason_, {}) + ": ";
    until_ns_ = os::poll_forever;
    number_ = unasked;
    const std::string lines = take_lines();
    if (!lines.empty()) {
        return text + "the ranks do this" + lines +
               (silent.empty() ? "" : "\n  no answer from " + silent);
    }
    // ranks of an agent that did not answer may have called acp_init
    return text + (silent.empty() ? "no rank has called acp_init" : "no answer from " + silent);
}

void RollCall::give_up() {
    reason_.clear();
    until_ns_ = os::poll_forever;
    number_ = unasked;
    doings_.clear();
}

std::string RollCall::take_lines() {
    std::string text;
    for (const std::string& line :
         node::describe(std::exchange(doings_, {}), operations::name_of_operation))
        text += "\n  " + line;
    return text;
}

}  // namespace acp::run
