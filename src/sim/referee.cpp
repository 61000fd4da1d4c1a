// SPDX-License-Identifier: BSD-3-Clause
// The part of the referee that runs programs and hears of meetings and deaths. One thread.
#include "sim/referee.hpp"

#include <algorithm>
#include <array>

namespace acp::sim {

namespace {

constexpr Time retry_ns = 20 * us;
constexpr std::size_t run_max = 16;  // handed over at once
constexpr std::size_t waiting_max =
    64;  // commands that wait for their order: a program waits at more
constexpr std::uint64_t invoke_id_bytes = 8;

std::uint64_t invoke_id(std::uint32_t process, std::uint32_t index) noexcept {
    return (std::uint64_t{process} << 32) | index;
}

// The arguments of an invoke: its name, then what follows from it.
std::span<const std::byte> arguments_of(std::uint64_t id,
                                        std::uint32_t bytes,
                                        std::array<std::byte, router::invoke_bytes_max>& room) {
    const std::span<std::byte> arguments = std::span(room).first(bytes);
    for (std::uint32_t at = 0; at < bytes; at += 8) {
        const std::uint64_t word = at == 0 ? id : base::mix64(id + at);
        store(arguments.subspan(at, std::min<std::size_t>(8, bytes - at)), word);
    }
    return arguments;
}

}  // namespace

std::uint32_t wanted_value(std::uint64_t seed, std::uint32_t number, std::uint32_t process) {
    return static_cast<std::uint32_t>(base::mix64(seed ^ (std::uint64_t{number} << 32) ^ process));
}

Referee::Referee(const Plan& plan, const Workplan& work, Memory& memory, Judge& judge)
    : plan_(&plan),
      work_(&work),
      memory_(&memory),
      judge_(&judge),
      initiators_(plan.procs()),
      meetings_(plan.nodes),
      dead_(plan.procs()),
      broken_(plan.nodes),
      began_anew_(plan.nodes),
      heard_(plan.nodes, std::vector<std::uint8_t>(plan.procs())) {
    begin_round(0);
}

void Referee::begin_round(Time now) {
    ++round_;
    base::Random random(base::mix64(plan_->seed ^ 0x726566U) + now);
    for (std::uint32_t process = 0; process < plan_->procs(); ++process) {
        Initiator& initiator = initiators_[process];
        if (initiator.is_gone) continue;
        initiator = Initiator{};
        initiator.steps.resize(work_->programs[process].size());
        initiator.next_call = now + random.below(plan_->gap_ns_max + 1);
        left_ += initiator.steps.size();
    }
    for (Met& met : meetings_)
        met.next_call = now + random.below(plan_->gap_ns_max * plan_->steps + 1);
    meetings_goal_ += plan_->meetings;
    come_.resize(meetings_goal_);
    word_starts_.clear();
    for (const SharedWord& word : work_->words) {
        word_starts_.push_back(load(memory_->held(word.range)));
    }
    counts_of_words_.assign(work_->words.size(), Count{});
}

std::string Referee::name_of(std::uint32_t process, std::uint32_t index) const {
    const Step& step = step_of(process, index);
    constexpr const char* names[] = {"copy", "atomic", "count", "invoke", "bad copy"};
    std::string text = std::string(names[static_cast<std::size_t>(step.kind)]) + " " +
                       std::to_string(index) + " of process " + std::to_string(process);
    if (step.kind == StepKind::invoke) return text + " at process " + std::to_string(step.process);
    return text + " (" + std::to_string(step.command.bytes) + " B, process " +
           std::to_string(step.source.process) + "+" + std::to_string(step.source.offset) +
           " to process " + std::to_string(step.target.process) + "+" +
           std::to_string(step.target.offset) + ")";
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
    Time next = datagram::never;
    meet(node, now, router);
    if (meetings_[node].called < meetings_goal_ &&
        meetings_[node].called == meetings_[node].ended && are_meetings_due()) {
        next = std::max(now + 1, meetings_[node].next_call);
    }
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

memory::Command Referee::command_of(const Step& step) const noexcept {
    memory::Command command = step.command;
    if (command.operation == memory::Operation::swap && step.kind == StepKind::count) {
        command.operand ^= base::mix64(round_);
    }
    return command;
}

// Those from here that may begin now, by one call: an invoke alone; none if the first may not.
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

// How many were taken.
std::size_t Referee::submit(std::uint32_t process,
                            std::span<const std::uint32_t> run,
                            Time now,
                            router::Router& router) {
    Initiator& initiator = initiators_[process];
    std::array<memory::Command, run_max> commands;
    std::array<memory::NumberedCommand, run_max> numbered;
    for (std::size_t i = 0; i < run.size(); ++i) {
        initiator.steps[run[i]].state = State::issued;  // it may end within the call
        commands[i] = command_of(step_of(process, run[i]));
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
                         name_of(process, run[i]).c_str());
        }
    }
    return taken;
}

bool Referee::invoke(std::uint32_t process, std::uint32_t index, Time now, router::Router& router) {
    const Step& step = step_of(process, index);
    std::array<std::byte, router::invoke_bytes_max> room{};
    const auto arguments = arguments_of(invoke_id(process, index), step.argument_bytes, room);
    return router.invoke(now, process, 2 * std::uint64_t{index} + 2, step.operation, step.process,
                         arguments);
}

void Referee::meet(NodeId node, Time now, router::Router& router) {
    Met& met = meetings_[node];
    if (met.called == meetings_goal_ || met.called != met.ended || now < met.next_call ||
        !are_meetings_due()) {
        return;
    }
    const std::uint32_t number = met.called++;
    ++come_[number];
    judge_->tell("node %u comes to meeting %u", node, number);
    if (gathers_in(number) == router::Meeting::Gathers::least) {
        return router.meet_for_least(number, words_of(node, number));
    }
    std::vector<std::uint32_t> wanted;
    if (gathers_in(number) == router::Meeting::Gathers::table) {
        for (std::uint32_t process = plan_->first_process[node];
             process < plan_->first_process[node + 1]; ++process) {
            wanted.push_back(wanted_value(plan_->seed, number, process));
        }
    }
    router.meet(number, wanted);
}

router::Meeting::Gathers Referee::gathers_in(std::uint32_t number) const noexcept {
    using Gathers = router::Meeting::Gathers;
    const std::uint64_t kind = (plan_->seed + number) % 6;
    if (kind % 3 != 0) return Gathers::table;
    return kind == 0 ? Gathers::least : Gathers::nothing;
}

router::Meeting::Words Referee::words_of(NodeId node, std::uint32_t number) const noexcept {
    const std::uint32_t value = wanted_value(plan_->seed, number, plan_->first_process[node]);
    return {value, ~value, node};
}

void Referee::check_least(NodeId node, std::uint32_t number, std::span<const std::uint32_t> least) {
    std::array<std::uint32_t, router::Meeting::least_words> expected = words_of(0, number);
    for (NodeId other = 1; other < plan_->nodes; ++other) {
        const auto words = words_of(other, number);
        for (std::size_t i = 0; i < words.size(); ++i)
            expected[i] = std::min(expected[i], words[i]);
    }
    if (std::equal(least.begin(), least.end(), expected.begin(), expected.end())) return;
    judge_->fail("the least words of meeting " + std::to_string(number) + " at node " +
                 std::to_string(node) + " are wrong");
}

void Referee::on_met(NodeId node, std::uint32_t number, std::span<const std::uint32_t> table) {
    Met& met = meetings_[node];
    judge_->note((std::uint64_t{node} << 32) | number);
    judge_->tell("node %u: meeting %u is over", node, number);
    if (met.called != number + 1 || met.ended != number) {
        return judge_->fail("node " + std::to_string(node) + " hears of the end of meeting " +
                            std::to_string(number) + ", which it is not in");
    }
    met.ended = number + 1;
    met.next_call = judge_->now() + plan_->gap_ns_max;
    if (come_[number] != plan_->nodes) {
        return judge_->fail("meeting " + std::to_string(number) + " is over before all nodes came");
    }
    const auto gathers = gathers_in(number);
    if (gathers == router::Meeting::Gathers::least) return check_least(node, number, table);
    const bool has_table = gathers == router::Meeting::Gathers::table;
    if (table.size() != (has_table ? plan_->procs() : 0)) {
        return judge_->fail("the table of meeting " + std::to_string(number) + " has " +
                            std::to_string(table.size()) + " values");
    }
    for (std::uint32_t process = 0; process < table.size(); ++process) {
        if (table[process] == wanted_value(plan_->seed, number, process)) continue;
        return judge_->fail("the table of meeting " + std::to_string(number) + " at node " +
                            std::to_string(node) + " is wrong for process " +
                            std::to_string(process));
    }
}

void Referee::on_process_dead(NodeId node, std::uint32_t process, std::uint32_t wait_status) {
    judge_->note((std::uint64_t{node} << 40) ^ process);
    judge_->tell("node %u hears that process %u is dead", node, process);
    if (process >= plan_->procs() || dead_[process] == 0) {
        return judge_->fail("node " + std::to_string(node) + " hears of the death of process " +
                            std::to_string(process) + ", which lives");
    }
    if (wait_status != process + 1) return judge_->fail("a death came with a wrong wait status");
    if (heard_[node][process]++ != 0) {
        judge_->fail("node " + std::to_string(node) + " hears twice that process " +
                     std::to_string(process) + " is dead");
    }
}

void Referee::on_node_dead(NodeId node, NodeId dead) {
    judge_->note((std::uint64_t{node} << 41) ^ dead);
    judge_->tell("node %u hears that node %u is dead", node, dead);
    // Who began anew missed what came before: a meeting under way makes no sense to it (WIRE-104).
    if (dead >= plan_->nodes || (broken_[dead] == 0 && began_anew_[node] == 0)) {
        judge_->fail("node " + std::to_string(node) + " hears of the death of node " +
                     std::to_string(dead) + ", which nobody has severed");
    }
}

void Referee::on_invoked(std::uint32_t process, std::span<const std::byte> arguments) {
    const std::uint64_t id = arguments.size() < invoke_id_bytes ? ~0ULL : load(arguments.first(8));
    const auto initiator = static_cast<std::uint32_t>(id >> 32);
    const auto index = static_cast<std::uint32_t>(id);
    if (initiator >= initiators_.size() || index >= initiators_[initiator].steps.size()) {
        return judge_->fail("an operation ran that nobody asked for");
    }
    const Step& step = step_of(initiator, index);
    std::array<std::byte, router::invoke_bytes_max> room{};
    const auto wanted = arguments_of(id, step.argument_bytes, room);
    Progress& progress = initiators_[initiator].steps[index];
    if (step.kind != StepKind::invoke || step.process != process ||
        !std::equal(wanted.begin(), wanted.end(), arguments.begin(), arguments.end())) {
        return judge_->fail("an operation ran with other arguments than asked: " +
                            name_of(initiator, index));
    }
    if (progress.invoked++ != 0) judge_->fail("ran twice: " + name_of(initiator, index));
    if (progress.state != State::issued && !initiators_[initiator].is_gone &&
        progress.state != State::badly) {
        judge_->fail("ran when it was not outstanding: " + name_of(initiator, index));
    }
}

void Referee::abandon(std::uint32_t process) {
    Initiator& initiator = initiators_[process];
    if (initiator.is_gone) return;
    initiator.is_gone = true;
    initiator.waiting.clear();
    for (std::uint32_t index = 0; index < initiator.steps.size(); ++index) {
        const State state = initiator.steps[index].state;
        if (state == State::issued) doubt(step_of(process, index));
        if (state != State::well && state != State::badly) --left_;
    }
}

void Referee::kill(std::uint32_t process) {
    if (dead_[process] != 0) return;
    judge_->tell("process %u dies", process);
    dead_[process] = 1;
    is_any_dead_ = true;
    heard_[plan_->node_of(process)][process] = 1;
    abandon(process);
}

void Referee::restart(NodeId node) {
    broken_[node] = 1;
    began_anew_[node] = 1;
    is_any_cut_ = true;
    for (std::uint32_t process = plan_->first_process[node];
         process < plan_->first_process[node + 1]; ++process) {
        abandon(process);
    }
    std::fill(heard_[node].begin(), heard_[node].end(), std::uint8_t{0});
}

void Referee::cut(NodeId a, NodeId b) {
    broken_[a] = 1;
    broken_[b] = 1;
    is_any_cut_ = true;
}

bool Referee::is_done() const {
    if (left_ != 0) return false;
    if (is_any_cut_) return true;
    if (are_meetings_due()) {
        return std::all_of(meetings_.begin(), meetings_.end(),
                           [this](const Met& met) { return met.ended == meetings_goal_; });
    }
    return std::all_of(heard_.begin(), heard_.end(),
                       [this](const auto& heard) { return heard == dead_; });
}

bool Referee::is_meeting_stuck() const {
    return std::any_of(meetings_.begin(), meetings_.end(),
                       [](const Met& met) { return met.called != met.ended; });
}

std::string Referee::unfinished() const {
    std::string text = std::to_string(left_) + " commands";
    for (std::uint32_t process = 0; process < initiators_.size(); ++process) {
        const Initiator& initiator = initiators_[process];
        if (initiator.is_gone) continue;
        for (std::uint32_t index = 0; index < initiator.steps.size(); ++index) {
            const State state = initiator.steps[index].state;
            if (state == State::well || state == State::badly) continue;
            return text + ", first " + name_of(process, index) +
                   (state == State::issued ? ", issued" : ", not issued");
        }
    }
    for (NodeId node = 0; node < plan_->nodes; ++node) {
        if (are_meetings_due() && meetings_[node].ended < meetings_goal_) {
            return text + ", meeting " + std::to_string(meetings_[node].ended) + " at node " +
                   std::to_string(node);
        }
        for (std::uint32_t process = 0; process < plan_->procs() && is_any_dead_; ++process) {
            if (heard_[node][process] == dead_[process]) continue;
            return text + ", the death of process " + std::to_string(process) +
                   " is unknown to node " + std::to_string(node);
        }
    }
    return text;
}

}  // namespace acp::sim
