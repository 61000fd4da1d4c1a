// SPDX-License-Identifier: BSD-3-Clause
// Runs programs, and checks the completions of their commands.
#include "sim/referee.hpp"

#include <algorithm>
#include <array>

namespace acp::sim {

namespace {

constexpr Time retry_ns = 20 * us;
constexpr std::size_t run_max = 16;  // commands given to the router in one call
// Most commands of a process that wait for their order; with more the program pauses.
constexpr std::size_t waiting_max = 64;
constexpr std::uint64_t invoke_id_bytes = 8;

std::uint64_t invoke_id(std::uint32_t process, std::uint32_t index) noexcept {
    return (std::uint64_t{process} << 32) | index;
}

// The arguments of an invoke: its id, then bytes that follow from the id.
std::vector<std::byte> arguments_of(std::uint64_t id, std::uint32_t bytes) {
    std::vector<std::byte> arguments(bytes);
    for (std::uint32_t at = 0; at < bytes; at += 8) {
        const std::uint64_t word = at == 0 ? id : base::mix64(id + at);
        store(std::span(arguments).subspan(at, std::min<std::size_t>(8, bytes - at)), word);
    }
    return arguments;
}

}  // namespace

Referee::Referee(const Plan& plan, const Workplan& work, Memory& memory, Judge& judge)
    : plan_(&plan),
      work_(&work),
      judge_(&judge),
      casualties_(plan, judge),
      meetings_(plan, casualties_, judge),
      memory_(work, memory, judge),
      initiators_(plan.procs()) {
    begin_round(0);
}

void Referee::begin_round(Time now) {
    base::Random random(base::mix64(plan_->seed ^ 0x726566U) + now);
    for (std::uint32_t process = 0; process < plan_->procs(); ++process) {
        Initiator& initiator = initiators_[process];
        if (initiator.is_gone) continue;
        initiator = Initiator{};
        initiator.steps.resize(work_->programs[process].size());
        initiator.next_call = now + random.below(plan_->gap_ns_max + 1);
        left_ += initiator.steps.size();
    }
    meetings_.begin_round(now, random);
    memory_.begin_round();
}

void Referee::call(std::uint32_t process, Time now) {
    Initiator& initiator = initiators_[process];
    while (initiator.called < initiator.steps.size() && initiator.next_call <= now &&
           initiator.waiting.size() < waiting_max) {
        initiator.steps[initiator.called].state = State::waiting;
        initiator.waiting.push_back(initiator.called);
        ++initiator.called;
        if (initiator.called < initiator.steps.size()) {
            initiator.next_call += step_of(process, initiator.called).gap_ns;
        }
    }
}

Time Referee::issue(NodeId node, Time now, router::Router& router) {
    Time next = meetings_.issue(node, now, router);
    for (std::uint32_t process = plan_->first_process[node];
         process < plan_->first_process[node + 1]; ++process) {
        Initiator& initiator = initiators_[process];
        if (initiator.is_gone) continue;
        call(process, now);
        bool is_full = false;
        std::size_t kept = 0;
        for (std::size_t at = 0; at < initiator.waiting.size();) {
            const auto run = run_at(process, at);
            const std::size_t taken =
                run.empty() || is_full ? 0 : submit(process, run, now, router);
            is_full = is_full || taken < run.size();
            const std::size_t end = at + std::max<std::size_t>(run.size(), 1);
            for (at += taken; at < end; ++at) initiator.waiting[kept++] = initiator.waiting[at];
        }
        initiator.waiting.resize(kept);
        if (is_full) next = std::min(next, now + retry_ns);
        if (initiator.called < initiator.steps.size() && initiator.waiting.size() < waiting_max) {
            next = std::min(next, initiator.next_call);
        }
    }
    return next;
}

// The waiting steps from `first` on that may be issued now in one call; an invoke is issued alone.
// Empty if the step `first` may not begin.
std::span<const std::uint32_t> Referee::run_at(std::uint32_t process, std::size_t first) const {
    const Initiator& initiator = initiators_[process];
    const auto may_begin = [&](std::size_t at) {
        const std::uint32_t after = step_of(process, initiator.waiting[at]).after;
        return after == no_step || after < initiator.prefix;
    };
    const auto is_invoke = [&](std::size_t at) {
        return step_of(process, initiator.waiting[at]).kind == StepKind::invoke;
    };
    const std::size_t end = std::min(first + run_max, initiator.waiting.size());
    std::size_t last = first;
    while (last < end && may_begin(last) && (last == first || !is_invoke(last))) {
        ++last;
        if (is_invoke(last - 1)) break;
    }
    return std::span(initiator.waiting).subspan(first, last - first);
}

// Gives a run of steps to the router. Returns how many it took.
std::size_t Referee::submit(std::uint32_t process,
                            std::span<const std::uint32_t> run,
                            Time now,
                            router::Router& router) {
    Initiator& initiator = initiators_[process];
    std::array<memory::Command, run_max> commands;
    std::array<memory::NumberedCommand, run_max> numbered;
    for (std::size_t i = 0; i < run.size(); ++i) {
        // Stored before the call, because the command may complete within it.
        initiator.steps[run[i]].state = State::issued;
        commands[i] = memory_.command_of(step_of(process, run[i]));
        // Tokens are even and follow from the step, so that they name it.
        numbered[i] = {2 * std::uint64_t{run[i]} + 2, &commands[i]};
    }
    const bool is_invoke = step_of(process, run.front()).kind == StepKind::invoke;
    const std::size_t taken =
        is_invoke ? std::size_t{invoke(process, run.front(), now, router)}
                  : router.submit_all(now, process, std::span(numbered).first(run.size()));
    for (std::size_t i = 0; i < run.size(); ++i) {
        if (i >= taken) {
            initiator.steps[run[i]].state = State::waiting;
            continue;
        }
        judge_->note(invoke_id(process, run[i]));
        if (judge_->is_telling()) {
            judge_->tell("node %u issues %s", plan_->node_of(process),
                         name_of(process, run[i]).text().c_str());
        }
    }
    return taken;
}

bool Referee::invoke(std::uint32_t process, std::uint32_t index, Time now, router::Router& router) {
    const ProgramStep& step = step_of(process, index);
    std::vector<std::byte>& arguments = initiators_[process].steps[index].arguments;
    arguments = arguments_of(invoke_id(process, index), step.argument_bytes);
    return router.invoke(now, {2 * std::uint64_t{index} + 2, process, step.operation, step.process},
                         arguments);
}

bool Referee::find(NodeId node,
                   std::uint32_t initiator,
                   std::uint64_t token,
                   std::uint32_t& index) {
    const bool is_known = initiator < plan_->procs() && plan_->node_of(initiator) == node &&
                          token >= 2 && token % 2 == 0 &&
                          token / 2 - 1 < initiators_[initiator].steps.size();
    if (!is_known) {
        judge_->fail("node " + std::to_string(node) +
                     " reports the completion of an unknown command: process " +
                     std::to_string(initiator) + " token " + std::to_string(token));
        return false;
    }
    index = static_cast<std::uint32_t>(token / 2 - 1);
    if (initiators_[initiator].steps[index].state != State::issued) {
        judge_->fail("completed when it was not outstanding (twice?): " +
                     name_of(initiator, index).text());
        return false;
    }
    return true;
}

void Referee::on_completion(NodeId node, const router::CommandEnd& completion) {
    for (std::uint32_t i = 0; i < completion.count; ++i) {
        std::uint32_t index = 0;
        if (!find(node, completion.initiator, completion.token + 2ULL * i, index)) return;
        judge_->note((std::uint64_t{completion.initiator} << 32) ^ index ^
                     (static_cast<std::uint64_t>(completion.code) << 56));
        end_one(completion.initiator, index, completion);
    }
}

void Referee::on_result(NodeId node,
                        std::uint32_t initiator,
                        std::uint64_t token,
                        std::span<const std::byte> result) {
    std::uint32_t index = 0;
    if (!find(node, initiator, token, index)) return;
    const ProgramStep& step = step_of(initiator, index);
    StepProgress& progress = initiators_[initiator].steps[index];
    if (step.kind != StepKind::invoke || progress.has_result) {
        return judge_->fail("a result arrived twice, or for a command without one: " +
                            name_of(initiator, index).text());
    }
    progress.has_result = true;
    progress.result_bytes = static_cast<std::uint32_t>(result.size());
    std::vector<std::byte> wanted(router::invoke_bytes_max);
    wanted.resize(echo(progress.arguments, wanted));
    if (!std::equal(wanted.begin(), wanted.end(), result.begin(), result.end())) {
        judge_->fail("a wrong result: " + name_of(initiator, index).text());
    }
}

void Referee::end_one(std::uint32_t process,
                      std::uint32_t index,
                      const router::CommandEnd& completion) {
    Initiator& initiator = initiators_[process];
    const bool is_well = completion.code == base::Code::ok;
    if (judge_->is_telling()) {
        judge_->tell("node %u: completes with code %d: %s", plan_->node_of(process),
                     static_cast<int>(completion.code), name_of(process, index).text().c_str());
    }
    if (is_well) {
        end_well(process, index);
    } else {
        end_badly(process, index, completion);
    }
    initiator.steps[index].state = is_well ? State::well : State::badly;
    initiator.steps[index].arguments = {};
    if (!initiator.is_gone) --left_;
    while (initiator.prefix < initiator.steps.size() &&
           (initiator.steps[initiator.prefix].state == State::well ||
            initiator.steps[initiator.prefix].state == State::badly)) {
        ++initiator.prefix;
    }
}

void Referee::end_well(std::uint32_t process, std::uint32_t index) {
    const ProgramStep& step = step_of(process, index);
    ++counts_.ended_well;
    if (initiators_[process].is_gone) return;  // its effects became unknown when the process ended
    if (step.kind == StepKind::bad) {
        return judge_->fail("succeeded with a wrong address: " + name_of(process, index).text());
    }
    if (step.kind == StepKind::invoke) return check_invoke(process, index);
    if (step.kind == StepKind::copy) {
        initiators_[process].bytes += step.command.bytes;
        counts_.bytes += step.command.bytes;
    }
    memory_.check(step, name_of(process, index));
}

void Referee::check_invoke(std::uint32_t process, std::uint32_t index) {
    const StepProgress& progress = initiators_[process].steps[index];
    if (step_of(process, index).operation != operation_echo) {
        return judge_->fail("an unknown operation succeeded: " + name_of(process, index).text());
    }
    if (progress.invoked != 1 || !progress.has_result) {
        judge_->fail("succeeded and " +
                     std::string(progress.invoked == 1 ? "returned no result: " : "never ran: ") +
                     name_of(process, index).text());
    }
}

bool Referee::may_fail(std::uint32_t process, const ProgramStep& step) const {
    const bool is_invoke = step.kind == StepKind::invoke;
    const std::uint32_t source = is_invoke ? step.process : step.source.process;
    const std::uint32_t target = is_invoke ? step.process : step.target.process;
    return casualties_.is_any_lost({process, source, target});
}

void Referee::end_badly(std::uint32_t process,
                        std::uint32_t index,
                        const router::CommandEnd& completion) {
    const ProgramStep& step = step_of(process, index);
    ++counts_.ended_badly;
    if (initiators_[process].is_gone) return;
    memory_.doubt(step);
    if (completion.code == base::Code::peer) {
        if (!may_fail(process, step)) {
            judge_->fail(
                "failed with the peer's code though all of its nodes and processes live: " +
                name_of(process, index).text());
        }
        return;
    }
    if (step.kind == StepKind::bad) return check_bad(process, index, completion);
    if (step.kind == StepKind::invoke && step.operation != operation_echo &&
        completion.code == base::Code::unsupported) {
        return;
    }
    judge_->fail("failed with code " + std::to_string(static_cast<int>(completion.code)) +
                 " for no reason: " + name_of(process, index).text());
}

// Checks that a command with a wrong address failed with the right code, and that the completion
// names the wrong end.
void Referee::check_bad(std::uint32_t process,
                        std::uint32_t index,
                        const router::CommandEnd& completion) {
    const ProgramStep& step = step_of(process, index);
    const router::BlamedAddress end =
        step.is_bad_target ? router::BlamedAddress::target : router::BlamedAddress::source;
    const bool is_code =
        completion.code == base::Code::stale || completion.code == base::Code::address;
    // If both ends are on one node, the completion need not name the wrong one.
    const bool is_one_place =
        plan_->node_of(step.source.process) == plan_->node_of(step.target.process);
    const bool is_end = completion.blamed == end ||
                        (is_one_place && completion.blamed == router::BlamedAddress::none);
    if (is_code && is_end) return;
    judge_->fail("a wrong address was reported with a wrong code or end (code " +
                 std::to_string(static_cast<int>(completion.code)) + ", end " +
                 std::to_string(static_cast<int>(completion.blamed)) +
                 "): " + name_of(process, index).text());
}

void Referee::on_invoked(std::uint32_t process, std::span<const std::byte> arguments) {
    const std::uint64_t id = arguments.size() < invoke_id_bytes ? ~0ULL : load(arguments.first(8));
    const auto initiator = static_cast<std::uint32_t>(id >> 32);
    const auto index = static_cast<std::uint32_t>(id);
    if (initiator >= initiators_.size() || index >= initiators_[initiator].steps.size()) {
        return judge_->fail("an operation ran without a request");
    }
    const ProgramStep& step = step_of(initiator, index);
    const std::vector<std::byte> wanted = arguments_of(id, step.argument_bytes);
    StepProgress& progress = initiators_[initiator].steps[index];
    if (step.kind != StepKind::invoke || step.process != process ||
        !std::equal(wanted.begin(), wanted.end(), arguments.begin(), arguments.end())) {
        return judge_->fail("an operation ran with other arguments than those of its request: " +
                            name_of(initiator, index).text());
    }
    if (progress.invoked++ != 0) judge_->fail("ran twice: " + name_of(initiator, index).text());
    if (progress.state != State::issued && !initiators_[initiator].is_gone &&
        progress.state != State::badly) {
        judge_->fail("ran when it was not outstanding: " + name_of(initiator, index).text());
    }
}

void Referee::abandon(std::uint32_t process) {
    Initiator& initiator = initiators_[process];
    if (initiator.is_gone) return;
    initiator.is_gone = true;
    initiator.waiting.clear();
    for (std::uint32_t index = 0; index < initiator.steps.size(); ++index) {
        const State state = initiator.steps[index].state;
        // Commands in flight may still run, and no completion reports how.
        if (state == State::issued) memory_.doubt(step_of(process, index));
        if (state != State::well && state != State::badly) --left_;
    }
}

void Referee::kill(std::uint32_t process) {
    if (casualties_.kill(process)) abandon(process);
}

void Referee::restart(NodeId node) {
    casualties_.restart(node);
    for (std::uint32_t process = plan_->first_process[node];
         process < plan_->first_process[node + 1]; ++process) {
        abandon(process);
    }
}

bool Referee::is_done() const {
    if (left_ != 0) return false;
    // After a cut meetings cannot end, and reports of deaths may not reach every node.
    if (casualties_.is_any_cut()) return true;
    return casualties_.is_job_whole() ? meetings_.is_done() : casualties_.are_all_heard_of();
}

std::string Referee::unfinished() const {
    std::string text = std::to_string(left_) + " commands";
    for (std::uint32_t process = 0; process < initiators_.size(); ++process) {
        const Initiator& initiator = initiators_[process];
        if (initiator.is_gone) continue;
        for (std::uint32_t index = 0; index < initiator.steps.size(); ++index) {
            const State state = initiator.steps[index].state;
            if (state == State::well || state == State::badly) continue;
            return text + ", first " + name_of(process, index).text() +
                   (state == State::issued ? ", issued" : ", not issued");
        }
    }
    for (NodeId node = 0; node < plan_->nodes; ++node) {
        std::string what = meetings_.unfinished(node);
        if (what.empty()) what = casualties_.unheard(node);
        if (!what.empty()) return text.append(", ").append(what);
    }
    return text;
}

}  // namespace acp::sim
