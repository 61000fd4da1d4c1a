// SPDX-License-Identifier: BSD-3-Clause
// Compares the memory held with the memory expected.
#include "sim/memory_judge.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace acp::sim {

namespace {

constexpr std::size_t doubts_tried_max = 12;  // with more doubtful additions the sum is not checked

// Whether any subset of the numbers adds up to the sum.
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

MemoryJudge::MemoryJudge(const Workplan& work, Memory& memory, Judge& judge)
    : work_(&work), memory_(&memory), judge_(&judge) {}

void MemoryJudge::begin_round() {
    ++round_;
    word_starts_.clear();
    for (const SharedWord& word : work_->words) {
        word_starts_.push_back(load(memory_->held(word.range)));
    }
    counts_.assign(work_->words.size(), Count{});
}

memory::Command MemoryJudge::command_of(const ProgramStep& step) const noexcept {
    memory::Command command = step.command;
    if (command.operation == memory::Operation::swap && step.kind == StepKind::count) {
        command.operand ^= base::mix64(round_);
    }
    return command;
}

void MemoryJudge::check(const ProgramStep& step, const CommandName& name) {
    if (step.kind == StepKind::copy) check_copy(step, name);
    if (step.kind == StepKind::atomic) check_atomic(step, name);
    if (step.kind == StepKind::count) check_count(step, name);
}

void MemoryJudge::check_copy(const ProgramStep& step, const CommandName& name) {
    if (!memory_->is_known(step.source) || !memory_->is_known(step.target)) {
        return memory_->forget(step.target);
    }
    const std::span<std::byte> from = memory_->expected(step.source);
    std::copy(from.begin(), from.end(), memory_->expected(step.target).begin());
    std::string difference;
    if (!memory_->is_as_expected(step.target, difference)) {
        judge_->fail("completed before its bytes were in place, or with wrong ones: " +
                     name.text() + ": " + difference);
    }
}

void MemoryJudge::check_atomic(const ProgramStep& step, const CommandName& name) {
    if (!memory_->is_known(step.source) || !memory_->is_known(step.target)) {
        memory_->forget(step.source);
        return memory_->forget(step.target);
    }
    const std::uint64_t old = load(memory_->expected(step.source));
    store(memory_->expected(step.source), apply(step.command, old));
    store(memory_->expected(step.target), old);
    std::string difference;
    if (!memory_->is_as_expected(step.source, difference)) {
        judge_->fail("changed its word wrongly: " + name.text() + ": " + difference);
    } else if (!memory_->is_as_expected(step.target, difference)) {
        judge_->fail("completed before its old value was in place, or with a wrong one: " +
                     name.text() + ": " + difference);
    }
}

void MemoryJudge::check_count(const ProgramStep& step, const CommandName& name) {
    Count& count = counts_[step.word];
    if (!memory_->is_known(step.target)) {
        memory_->forget(step.target);
        count.unseen.push_back(command_of(step).operand);
        return;
    }
    const std::uint64_t old = load(memory_->held(step.target));
    store(memory_->expected(step.target), old);
    for (const auto& seen : count.seen) {
        if (seen.first == old)
            return judge_->fail("returned the old value of another command: " + name.text());
    }
    count.seen.emplace_back(old, command_of(step).operand);
}

void MemoryJudge::doubt(const ProgramStep& step) {
    if (step.kind == StepKind::invoke) return;
    if (step.kind == StepKind::bad) {
        // A command with one wrong address must write nothing at all.
        return;
    }
    memory_->forget(step.target);
    if (step.kind == StepKind::atomic) memory_->forget(step.source);
    if (step.kind == StepKind::count)
        counts_[step.word].doubtful.push_back(command_of(step).operand);
}

void MemoryJudge::check_word(std::size_t word) {
    const Range& range = work_->words[word].range;
    const std::string name = "the shared word of process " + std::to_string(range.process);
    const std::uint64_t end = load(memory_->held(range));
    // The word's final value is checked here, not by the comparison of memory.
    store(memory_->expected(range), end);
    if (work_->words[word].is_swapped) {
        check_swaps(word, end, name);
    } else {
        check_additions(word, end, name);
    }
}

void MemoryJudge::check_swaps(std::size_t word, std::uint64_t end, const std::string& name) {
    const Count& count = counts_[word];
    // Each value put into the word can leave it only once: as the old value of one swap, or as the
    // final value.
    std::set<std::uint64_t> possible{word_starts_[word]};
    for (const auto& seen : count.seen) possible.insert(seen.second);
    possible.insert(count.unseen.begin(), count.unseen.end());
    possible.insert(count.doubtful.begin(), count.doubtful.end());
    for (const auto& seen : count.seen) {
        if (possible.erase(seen.first) == 0)
            judge_->fail(name + " returned a value that it never had");
    }
    if (possible.erase(end) == 0) judge_->fail(name + " has a final value that no command wrote");
    if (count.unseen.empty() && count.doubtful.empty() && !possible.empty()) {
        judge_->fail(name + " lost a value");
    }
}

void MemoryJudge::check_additions(std::size_t word, std::uint64_t end, const std::string& name) {
    Count& count = counts_[word];
    const std::uint64_t start = word_starts_[word];
    // Sorted by old value, each addition must begin where the one before ended, unless one between
    // them was not seen.
    std::uint64_t surplus = end - start;
    for (auto& seen : count.seen) {
        seen.first -= start;  // relative to the start, so that sorting works despite wrap-around
        surplus -= seen.second;
    }
    for (const std::uint64_t operand : count.unseen) surplus -= operand;
    std::sort(count.seen.begin(), count.seen.end());
    const bool is_exact = count.unseen.empty() && count.doubtful.empty();
    for (std::size_t i = 0; i + 1 < count.seen.size(); ++i) {
        const std::uint64_t next = count.seen[i].first + count.seen[i].second;
        if (next > count.seen[i + 1].first || (is_exact && next != count.seen[i + 1].first)) {
            return judge_->fail(name + ": an addition returned an impossible old value");
        }
    }
    if (!is_some_sum(count.doubtful, surplus)) {
        judge_->fail(name + " is off by " + std::to_string(static_cast<std::int64_t>(surplus)) +
                     " from the sum of all additions");
    }
}

void MemoryJudge::look_at_all() {
    for (std::size_t word = 0; word < work_->words.size(); ++word) check_word(word);
    for (std::uint32_t process = 0; process < work_->memory_bytes.size(); ++process) {
        std::string difference;
        if (!memory_->is_as_expected({process, 0, memory_->bytes_of(process)}, difference)) {
            return judge_->fail("memory has wrong bytes at the end: " + difference);
        }
    }
}

}  // namespace acp::sim
