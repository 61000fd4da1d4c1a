// SPDX-License-Identifier: BSD-3-Clause
// The ends of commands with loans.
#include "gma/commands.hpp"

#include <algorithm>
#include <bit>

namespace acp::gma {

// The loan first: when the command has ended, a get's bytes are in the caller's memory.
void Commands::finish_with_loans(std::uint64_t number, base::Status status) noexcept {
    if (queue.is_outstanding(number) && queue.command(number).loan() != 0) {
        local_ends.on_end(queue.command(number), status.is_ok());
    }
    queue.finish(number, std::move(status), ready);
    take_lapsed_loans();
}

void Commands::give_back_lapsed() noexcept {
    const LoanTally::Set lapsed = queue.loans().take_lapsed();
    for (std::uint32_t word = 0; word < lapsed.size(); ++word) {
        for (std::uint64_t bits = lapsed[word]; bits != 0; bits &= bits - 1) {
            local_ends.give_back(64 * word + static_cast<std::uint32_t>(std::countr_zero(bits)));
        }
    }
}

Command Commands::as_written(const Command& command) noexcept {
    Command written = command;
    const memory::PointerEnd pointer = command.is_copy()
                                           ? memory::pointer_end_of(command.issued_by())
                                           : memory::PointerEnd::neither;
    if (pointer == memory::PointerEnd::neither) return written;
    memory::GlobalAddress& end =
        pointer == memory::PointerEnd::source ? written.source : written.target;
    const char* memory = nullptr;
    if (command.loan() != 0) {
        memory = local_ends.memory_at(command.loan(), end);
    } else {
        const node::Segment& segment = member_.segment();
        const memory::GaLayout layout(segment.shape().procs);
        memory = segment.starter(member_.slot_index()) +
                 (end - layout.segment_start(layout.process(end), 0, layout.generation(end)));
    }
    end = reinterpret_cast<std::uintptr_t>(memory);
    return written;
}

std::uint64_t Commands::next_reader(std::uint64_t after, std::uint64_t last) const noexcept {
    const node::Segment& segment = member_.segment();
    const memory::GaLayout layout(segment.shape().procs);
    const std::uint64_t own = segment.shape().first_process + member_.slot_index();
    const std::uint64_t newest = std::min(last, queue.issued());
    for (std::uint64_t number = std::max(after, queue.done()) + 2; number <= newest; number += 2) {
        if (!queue.is_outstanding(number)) continue;
        const Command& command = queue.command(number);
        if (command.is_copy() && command.bytes != 0 && !LocalEnds::is_block(command.loan()) &&
            layout.process(command.source) == own) {
            return number;
        }
    }
    return 0;
}

void Commands::end_watch_of_sources(std::uint64_t last) noexcept {
    SourceWatch* const watch = local_ends.watch();
    if (watch == nullptr) return;
    const std::uint64_t newest = std::min(last, queue.issued());
    for (std::uint64_t number = queue.done() + 2; number <= newest; number += 2) {
        if (!queue.is_outstanding(number)) continue;
        const Command& command = queue.command(number);
        if (command.is_copy() && command.loan() != 0) watch->end(command.loan());
    }
}

}  // namespace acp::gma
