// SPDX-License-Identifier: BSD-3-Clause
// The part of the referee that judges how commands end. One thread.
#include <algorithm>
#include <set>

#include "sim/referee.hpp"

namespace acp::sim {

namespace {

constexpr std::size_t doubts_tried_max = 12;  // shared words with more are only checked for doubles

// Whether some of the numbers add up to the sum.
bool is_some_sum(const std::vector<std::uint64_t>& numbers, std::uint64_t sum) {
    if (numbers.size() > doubts_tried_max) return true;
    for (std::uint32_t chosen = 0; chosen < (1U << numbers.size()); ++chosen) {
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if ((chosen >> i & 1U) != 0) total += numbers[i];
        }
        if (total == sum) return true;
    }
    return false;
}

}  // namespace

bool Referee::find(NodeId node,
                   std::uint32_t initiator,
                   std::uint64_t token,
                   std::uint32_t& index) {
    const bool is_known = initiator < plan_->procs() && plan_->node_of(initiator) == node &&
                          token >= 2 && token % 2 == 0 &&
                          token / 2 - 1 < initiators_[initiator].steps.size();
    if (!is_known) {
        judge_->fail("node " + std::to_string(node) +
                     " tells the end of a command nobody gave: process " +
                     std::to_string(initiator) + " token " + std::to_string(token));
        return false;
    }
    index = static_cast<std::uint32_t>(token / 2 - 1);
    if (initiators_[initiator].steps[index].state != State::issued) {
        judge_->fail("ended when it was not outstanding (twice?): " + name_of(initiator, index));
        return false;
    }
    return true;
}

void Referee::on_completion(NodeId node, const router::Completion& completion) {
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
    const Step& step = step_of(initiator, index);
    Progress& progress = initiators_[initiator].steps[index];
    if (step.kind != StepKind::invoke || progress.has_result) {
        return judge_->fail("a result came twice, or of no invoke: " + name_of(initiator, index));
    }
    progress.has_result = true;
    progress.result_bytes = static_cast<std::uint32_t>(result.size());
    std::vector<std::byte> arguments(step.argument_bytes);
    const std::uint64_t id = (std::uint64_t{initiator} << 32) | index;
    for (std::uint32_t at = 0; at < step.argument_bytes; at += 8) {
        store(std::span(arguments).subspan(at, std::min<std::size_t>(8, step.argument_bytes - at)),
              at == 0 ? id : base::mix64(id + at));
    }
    std::vector<std::byte> wanted(router::invoke_bytes_max);
    wanted.resize(echo(arguments, wanted));
    if (!std::equal(wanted.begin(), wanted.end(), result.begin(), result.end())) {
        judge_->fail("a wrong result: " + name_of(initiator, index));
    }
}

void Referee::end_one(std::uint32_t process,
                      std::uint32_t index,
                      const router::Completion& completion) {
    Initiator& initiator = initiators_[process];
    const bool is_well = completion.code == base::Code::ok;
    if (judge_->is_telling()) {
        judge_->tell("node %u: code %d ends %s", plan_->node_of(process),
                     static_cast<int>(completion.code), name_of(process, index).c_str());
    }
    if (is_well) {
        end_well(process, index);
    } else {
        end_badly(process, index, completion);
    }
    initiator.steps[index].state = is_well ? State::well : State::badly;
    if (!initiator.is_gone) --left_;
    while (initiator.prefix < initiator.steps.size() &&
           (initiator.steps[initiator.prefix].state == State::well ||
            initiator.steps[initiator.prefix].state == State::badly)) {
        ++initiator.prefix;
    }
}

void Referee::end_well(std::uint32_t process, std::uint32_t index) {
    const Step& step = step_of(process, index);
    const Name name{this, process, index};
    ++counts_.ended_well;
    if (initiators_[process].is_gone) return;  // what it did was given up on when its process went
    switch (step.kind) {
        case StepKind::copy:
            initiators_[process].bytes += step.command.bytes;
            return check_copy(step, name);
        case StepKind::atomic:
            return check_atomic(step, name);
        case StepKind::count:
            return check_count(step, name);
        case StepKind::invoke:
            return check_invoke(process, index, name);
        case StepKind::bad:
            return judge_->fail("ended well with a wrong address: " + name.text());
    }
}

void Referee::check_copy(const Step& step, const Name& name) {
    counts_.bytes += step.command.bytes;
    if (!memory_->is_known(step.source) || !memory_->is_known(step.target)) {
        return memory_->forget(step.target);
    }
    const std::span<std::byte> from = memory_->expected(step.source);
    std::copy(from.begin(), from.end(), memory_->expected(step.target).begin());
    std::string difference;
    if (!memory_->is_as_expected(step.target, difference)) {
        judge_->fail("ended before its bytes were in place, or with wrong ones: " + name.text() +
                     ": " + difference);
    }
}

void Referee::check_atomic(const Step& step, const Name& name) {
    if (!memory_->is_known(step.source) || !memory_->is_known(step.target)) {
        memory_->forget(step.source);
        return memory_->forget(step.target);
    }
    const std::uint64_t old = load(memory_->expected(step.source));
    store(memory_->expected(step.source), apply(step.command, old));
    store(memory_->expected(step.target), old);
    std::string difference;
    if (!memory_->is_as_expected(step.source, difference)) {
        judge_->fail("did not change its word as it must: " + name.text() + ": " + difference);
    } else if (!memory_->is_as_expected(step.target, difference)) {
        judge_->fail("ended before its old value was in place, or with a wrong one: " +
                     name.text() + ": " + difference);
    }
}

void Referee::check_count(const Step& step, const Name& name) {
    Count& count = counts_of_words_[step.word];
    if (!memory_->is_known(step.target)) {
        memory_->forget(step.target);
        count.unseen.push_back(command_of(step).operand);
        return;
    }
    const std::uint64_t old = load(memory_->held(step.target));
    store(memory_->expected(step.target), old);
    for (const auto& seen : count.seen) {
        if (seen.first == old)
            return judge_->fail("returned what another had returned: " + name.text());
    }
    count.seen.emplace_back(old, command_of(step).operand);
}

void Referee::check_invoke(std::uint32_t process, std::uint32_t index, const Name& name) {
    const Progress& progress = initiators_[process].steps[index];
    if (step_of(process, index).operation != operation_echo) {
        return judge_->fail("an unknown operation ended well: " + name.text());
    }
    if (progress.invoked != 1 || !progress.has_result) {
        judge_->fail("ended well and " +
                     std::string(progress.invoked == 1 ? "brought no result: " : "never ran: ") +
                     name.text());
    }
}

bool Referee::may_fail(std::uint32_t process, const Step& step) const {
    const std::uint32_t source = step.kind == StepKind::invoke ? step.process : step.source.process;
    const std::uint32_t target = step.kind == StepKind::invoke ? step.process : step.target.process;
    for (const std::uint32_t involved : {process, source, target}) {
        if (dead_[involved] != 0 || broken_[plan_->node_of(involved)] != 0) return true;
    }
    return false;
}

void Referee::end_badly(std::uint32_t process,
                        std::uint32_t index,
                        const router::Completion& completion) {
    const Step& step = step_of(process, index);
    ++counts_.ended_badly;
    if (initiators_[process].is_gone) return;
    doubt(step);
    if (completion.code == base::Code::peer) {
        if (!may_fail(process, step)) {
            judge_->fail("failed by a peer though nobody it involves was severed or died: " +
                         name_of(process, index));
        }
        return;
    }
    if (step.kind == StepKind::bad) {
        const router::End end = step.is_bad_target ? router::End::target : router::End::source;
        const bool is_code =
            completion.code == base::Code::stale || completion.code == base::Code::address;
        // Where one node holds both ends, it need not say which is wrong.
        const bool is_one_place =
            plan_->node_of(step.source.process) == plan_->node_of(step.target.process);
        const bool is_end =
            completion.end == end || (is_one_place && completion.end == router::End::none);
        if (!is_code || !is_end) {
            judge_->fail("a wrong address was reported wrongly (code " +
                         std::to_string(static_cast<int>(completion.code)) + ", end " +
                         std::to_string(static_cast<int>(completion.end)) +
                         "): " + name_of(process, index));
        }
        return;
    }
    if (step.kind == StepKind::invoke && step.operation != operation_echo &&
        completion.code == base::Code::unsupported) {
        return;
    }
    judge_->fail("failed with code " + std::to_string(static_cast<int>(completion.code)) +
                 " for no reason: " + name_of(process, index));
}

void Referee::doubt(const Step& step) {
    if (step.kind == StepKind::invoke) return;
    if (step.kind == StepKind::bad) {
        // Nothing of it may ever be placed, at its right end neither.
        return;
    }
    memory_->forget(step.target);
    if (step.kind == StepKind::atomic) memory_->forget(step.source);
    if (step.kind == StepKind::count)
        counts_of_words_[step.word].doubtful.push_back(command_of(step).operand);
}

void Referee::check_word(std::size_t word) {
    Count& count = counts_of_words_[word];
    const Range& range = work_->words[word].range;
    const std::string name = "the shared word of process " + std::to_string(range.process);
    const std::uint64_t end = load(memory_->held(range));
    store(memory_->expected(range), end);
    const std::uint64_t start = word_starts_[word];
    if (work_->words[word].is_swapped) {
        std::set<std::uint64_t> possible{start};
        for (const auto& seen : count.seen) possible.insert(seen.second);
        possible.insert(count.unseen.begin(), count.unseen.end());
        possible.insert(count.doubtful.begin(), count.doubtful.end());
        for (const auto& seen : count.seen) {
            if (possible.erase(seen.first) == 0)
                judge_->fail(name + " gave back what was never in it");
        }
        if (possible.erase(end) == 0) judge_->fail(name + " holds what nobody left in it");
        if (count.unseen.empty() && count.doubtful.empty() && !possible.empty()) {
            judge_->fail(name + " lost a value");
        }
        return;
    }
    std::uint64_t surplus = end - start;
    for (auto& seen : count.seen) {
        seen.first -= start;  // from here on small numbers
        surplus -= seen.second;
    }
    for (const std::uint64_t operand : count.unseen) surplus -= operand;
    std::sort(count.seen.begin(), count.seen.end());
    const bool is_exact = count.unseen.empty() && count.doubtful.empty();
    for (std::size_t i = 0; i + 1 < count.seen.size(); ++i) {
        const std::uint64_t next = count.seen[i].first + count.seen[i].second;
        if (next > count.seen[i + 1].first || (is_exact && next != count.seen[i + 1].first)) {
            return judge_->fail(name + ": an addition saw what it could not see");
        }
    }
    if (!is_some_sum(count.doubtful, surplus)) {
        judge_->fail(name + " is off by " + std::to_string(static_cast<std::int64_t>(surplus)) +
                     " from the sum of what was added");
    }
}

void Referee::look_at_all() {
    for (std::size_t word = 0; word < work_->words.size(); ++word) check_word(word);
    for (std::uint32_t process = 0; process < plan_->procs(); ++process) {
        std::string difference;
        if (!memory_->is_as_expected({process, 0, memory_->bytes_of(process)}, difference)) {
            return judge_->fail("memory is not as it must be at the end: " + difference);
        }
    }
}

}  // namespace acp::sim
