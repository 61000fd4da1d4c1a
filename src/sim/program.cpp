// SPDX-License-Identifier: BSD-3-Clause
// Makes programs. Each process owns a few blocks of memory, on its own node and on others; its
// copies and atomics run between them. Pure; any thread.
#include "sim/program.hpp"

#include <algorithm>

namespace acp::sim {

namespace {

constexpr std::uint64_t guard_bytes = 24;  // between blocks; no command may write there
constexpr std::uint32_t blocks_per_process = 4;
constexpr std::uint64_t block_bytes_min = 64;
constexpr std::uint64_t short_bytes_max = 64;  // longest copy after which similar ones may follow
// Steps that are searched for conflicts. A step is ordered after all steps before these.
constexpr std::size_t conflict_window = 48;
constexpr std::uint32_t argument_bytes_max = 1024;

std::uint64_t aligned(std::uint64_t bytes) noexcept {
    return (bytes + 7) / 8 * 8;
}

class Author {
public:
    Author(const Plan& plan, Workplan& work)
        : plan_(plan), work_(work), random_(base::mix64(plan.seed ^ 0x70726f67U)) {}

    void write() {
        work_.memory_bytes.assign(plan_.procs(), guard_bytes);
        work_.programs.resize(plan_.procs());
        for (std::uint32_t process = 0; process < plan_.procs(); ++process) {
            if (random_.below(2) != 0) continue;
            work_.words.push_back({reserve(process, 8), random_.below(3) == 0});
        }
        for (std::uint32_t process = 0; process < plan_.procs(); ++process) write_one(process);
        for (std::uint64_t& bytes : work_.memory_bytes) bytes = aligned(bytes);
    }

private:
    Range reserve(std::uint32_t process, std::uint64_t bytes) {
        std::uint64_t& end = work_.memory_bytes[process];
        end = aligned(end);
        const Range range{process, end, bytes};
        end += bytes + guard_bytes;
        return range;
    }

    void choose_blocks(std::uint32_t self) {
        blocks_.clear();
        for (std::uint32_t i = 0; i < blocks_per_process; ++i) {
            std::uint32_t where = self;
            if (i > 0) where = static_cast<std::uint32_t>(random_.below(plan_.procs()));
            if (i == 1 && is_near(self, where)) where = elsewhere(self);
            const std::uint64_t bytes = log_uniform(
                random_, block_bytes_min, std::max(block_bytes_min, plan_.copy_bytes_max));
            blocks_.push_back(reserve(where, aligned(bytes)));
        }
    }

    [[nodiscard]] bool is_near(std::uint32_t self, std::uint32_t process) const {
        return plan_.node_of(process) == plan_.node_of(self);
    }

    std::uint32_t elsewhere(std::uint32_t self) {
        std::uint32_t process = self;
        while (is_near(self, process)) {
            process = static_cast<std::uint32_t>(random_.below(plan_.procs()));
        }
        return process;
    }

    // Chooses a part of one of the blocks.
    Range part(std::uint64_t bytes_max, std::uint64_t alignment) {
        const Range& block = blocks_[random_.below(blocks_.size())];
        Range range = block;
        range.bytes = std::min(bytes_max, block.bytes);
        range.offset += random_.below((block.bytes - range.bytes) / alignment + 1) * alignment;
        return range;
    }

    // Chooses two disjoint parts of equal length, at least one of them on another node.
    void choose_ends(ProgramStep& step,
                     std::uint32_t self,
                     std::uint64_t bytes,
                     std::uint64_t alignment) {
        do {
            step.source = part(bytes, alignment);
            step.target = part(step.source.bytes, alignment);
            step.source.bytes = step.target.bytes;
        } while (step.source.meets(step.target) ||
                 (is_near(self, step.source.process) && is_near(self, step.target.process)));
    }

    void make_copy(ProgramStep& step, std::uint32_t self) {
        step.kind = StepKind::copy;
        const std::uint64_t small = std::min(plan_.copy_bytes_max, short_bytes_max);
        const std::uint64_t bytes = random_.below(3) == 0
                                        ? log_uniform(random_, 1, small)
                                        : log_uniform(random_, 1, plan_.copy_bytes_max);
        choose_ends(step, self, bytes, 1);
        step.command.operation = memory::Operation::copy;
        step.command.bytes = step.source.bytes;
    }

    // Makes another copy similar to the one before it, between the same processes, so that both may
    // run side by side.
    bool make_alike(ProgramStep& step, const ProgramStep& before) {
        constexpr int tries = 8;
        if (before.kind != StepKind::copy || before.source.bytes > short_bytes_max) return false;
        for (int i = 0; i < tries; ++i) {
            const Range target = part(before.source.bytes, 1);
            if (target.process != before.target.process || target.bytes != before.source.bytes ||
                target.meets(before.target) || target.meets(before.source)) {
                continue;
            }
            step = before;
            step.target = target;
            return true;
        }
        return false;
    }

    void make_atomic(ProgramStep& step, std::uint32_t self) {
        step.kind = StepKind::atomic;
        const std::uint8_t width = random_.below(2) == 0 ? 4 : 8;
        choose_ends(step, self, width, width);
        step.command.operation =
            static_cast<memory::Operation>(1 + random_.below(memory::atomic_count));
        set_operands(step, width);
        if (!memory::row_of(step.command.operation).has_expected) step.command.expected = 0;
        if (random_.below(4) == 0 && !is_near(self, step.source.process)) {
            // The command does not return the old value.
            step.target = {step.source.process, step.source.offset, 0};
        }
    }

    void set_operands(ProgramStep& step, std::uint8_t width) {
        const std::uint64_t mask = width == 4 ? 0xffffffffU : ~0ULL;
        step.command.width = width;
        step.command.bytes = width;
        step.command.operand = random_() & mask;
        step.command.expected = random_() & mask;
    }

    bool make_count(ProgramStep& step, std::uint32_t self) {
        if (work_.words.empty()) return false;
        step.kind = StepKind::count;
        step.word = static_cast<std::uint32_t>(random_.below(work_.words.size()));
        const SharedWord& word = work_.words[step.word];
        step.source = word.range;
        step.target = part(8, 8);
        if (step.target.bytes != 8 ||
            (is_near(self, step.source.process) && is_near(self, step.target.process))) {
            return false;
        }
        set_operands(step, 8);
        step.command.operation = word.is_swapped ? memory::Operation::swap : memory::Operation::add;
        if (!word.is_swapped) step.command.operand = 1 + random_.below(1U << 20);
        return true;
    }

    void make_invoke(ProgramStep& step, std::uint32_t self) {
        step.kind = StepKind::invoke;
        step.process = elsewhere(self);
        step.operation = random_.below(20) == 0 ? 99 : 1;
        step.argument_bytes =
            static_cast<std::uint32_t>(log_uniform(random_, 16, argument_bytes_max));
        step.command.bytes = 0;
    }

    bool make_bad(ProgramStep& step, std::uint32_t self) {
        make_copy(step, self);
        step.is_bad_target = random_.below(2) == 0;
        // The wrong end must be on another node: in a job a wrong address on the own node is
        // refused before the router is called.
        const Range& end = step.is_bad_target ? step.target : step.source;
        if (is_near(self, end.process)) return false;
        step.kind = StepKind::bad;
        return true;
    }

    void make_step(ProgramStep& step, std::uint32_t self) {
        const std::uint64_t kind = random_.below(100);
        if (plan_.has_bad_addresses && kind >= 92 && make_bad(step, self)) return;
        if (kind >= 80 && kind < 92) return make_invoke(step, self);
        if (kind >= 65 && kind < 80 && make_count(step, self)) return;
        if (kind >= 50 && kind < 65) return make_atomic(step, self);
        make_copy(step, self);
    }

    static bool conflict(const ProgramStep& earlier, const ProgramStep& later) {
        if (earlier.kind == StepKind::invoke || later.kind == StepKind::invoke) return false;
        const auto writes_source = [](const ProgramStep& step) {
            return step.kind == StepKind::atomic;
        };
        if (earlier.target.meets(later.target)) return true;
        if (later.kind != StepKind::count && earlier.target.meets(later.source)) return true;
        if (earlier.kind != StepKind::count && earlier.source.meets(later.target)) return true;
        return (writes_source(earlier) || writes_source(later)) &&
               earlier.source.meets(later.source);
    }

    // Orders a step after the newest step that it conflicts with, sometimes after a later step.
    std::uint32_t order_of(const std::vector<ProgramStep>& steps, const ProgramStep& step) {
        const std::size_t oldest =
            steps.size() > conflict_window ? steps.size() - conflict_window : 0;
        std::uint32_t after = oldest == 0 ? no_step : static_cast<std::uint32_t>(oldest - 1);
        for (std::size_t i = steps.size(); i > oldest; --i) {
            if (!conflict(steps[i - 1], step)) continue;
            after = static_cast<std::uint32_t>(i - 1);
            break;
        }
        const std::uint32_t first = after == no_step ? 0 : after;
        const auto count = static_cast<std::uint32_t>(steps.size());
        if (count > first && random_.below(8) == 0) {
            after = first + static_cast<std::uint32_t>(random_.below(count - first));
        }
        return after;
    }

    void write_one(std::uint32_t self) {
        choose_blocks(self);
        std::vector<ProgramStep>& steps = work_.programs[self];
        for (std::uint32_t i = 0; i < plan_.steps; ++i) {
            ProgramStep step;
            const bool is_alike = i != 0 && random_.below(2) == 0 && make_alike(step, steps.back());
            if (!is_alike) make_step(step, self);
            step.after = order_of(steps, step);
            step.gap_ns = is_alike ? 0 : random_.below(plan_.gap_ns_max + 1);
            steps.push_back(step);
        }
    }

    const Plan& plan_;
    Workplan& work_;
    base::Random random_;
    std::vector<Range> blocks_;
};

}  // namespace

Workplan make_workplan(const Plan& plan) {
    Workplan work;
    Author(plan, work).write();
    return work;
}

void address_all(Workplan& work, const Memory& memory) {
    for (std::vector<ProgramStep>& steps : work.programs) {
        for (ProgramStep& step : steps) {
            if (step.kind == StepKind::invoke) continue;
            step.command.source = memory.address(step.source.process, step.source.offset);
            step.command.target = step.target.bytes == 0
                                      ? 0
                                      : memory.address(step.target.process, step.target.offset);
            if (step.kind != StepKind::bad) continue;
            const Range& end = step.is_bad_target ? step.target : step.source;
            // Alternates between an older generation of the segment and bytes beyond its end.
            const bool is_stale = (step.source.offset + step.command.bytes) % 2 == 0;
            const memory::GlobalAddress address =
                is_stale ? memory.stale_address(end.process, end.offset)
                         : memory.address(end.process, memory.bytes_of(end.process));
            (step.is_bad_target ? step.command.target : step.command.source) = address;
        }
    }
}

}  // namespace acp::sim
