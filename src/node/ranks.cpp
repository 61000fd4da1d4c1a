// SPDX-License-Identifier: BSD-3-Clause
// Collects, judges and applies the requests of a reset. All accesses are relaxed: meetings order
// them.
#include "node/ranks.hpp"

#include <algorithm>
#include <string>

namespace acp::node {

void Ranks::collect() noexcept {
    SharedU32* table = segment_.wanted_table();
    for (std::uint32_t i = 0; i < segment_.shape().local_procs; ++i) {
        table[segment_.shape().first_process + i].store(
            segment_.slot(i).wanted_rank.load(std::memory_order_relaxed),
            std::memory_order_relaxed);
    }
}

void Ranks::write(std::span<const std::uint32_t> wanted) noexcept {
    SharedU32* table = segment_.wanted_table();
    const std::size_t count = std::min<std::size_t>(wanted.size(), segment_.shape().procs);
    for (std::size_t i = 0; i < count; ++i) {
        table[i].store(wanted[i], std::memory_order_relaxed);
    }
}

std::uint32_t Ranks::wanted(std::uint32_t process) const noexcept {
    return segment_.wanted_table()[process].load(std::memory_order_relaxed);
}

void Ranks::keep(RankVerdict verdict, std::uint32_t process, std::uint32_t other) noexcept {
    ControlBlock& control = segment_.control();
    control.verdict.store(verdict, std::memory_order_relaxed);
    control.verdict_process.store(process, std::memory_order_relaxed);
    control.verdict_other.store(other, std::memory_order_relaxed);
}

// Needs no memory of its own, which could be refused in the middle of a collective call: a taken
// rank is marked in the word of the process with that index, and the marks are cleared before
// another process reads the table.
void Ranks::judge() {
    constexpr std::uint32_t mark = 1U << 31;
    const std::uint32_t procs = segment_.shape().procs;
    static_assert(memory::process_bits_max < 31);
    for (std::uint32_t process = 0; process < procs; ++process) {
        if (wanted(process) >= procs) {
            return keep(out_of_range, process, process);
        }
    }
    SharedU32* table = segment_.wanted_table();
    std::uint32_t taken_again = procs;
    for (std::uint32_t process = 0; process < procs && taken_again == procs; ++process) {
        SharedU32& place = table[wanted(process) & ~mark];
        const std::uint32_t word = place.load(std::memory_order_relaxed);
        if ((word & mark) != 0) {
            taken_again = process;
        }
        place.store(word | mark, std::memory_order_relaxed);
    }
    for (std::uint32_t process = 0; process < procs; ++process) {
        table[process].store(wanted(process) & ~mark, std::memory_order_relaxed);
    }
    if (taken_again == procs) {
        return keep(good, 0, 0);
    }
    std::uint32_t other = 0;
    while (wanted(other) != wanted(taken_again)) ++other;
    keep(taken, taken_again, other);
}

base::Status Ranks::verdict() const {
    const ControlBlock& control = segment_.control();
    const std::uint32_t verdict = control.verdict.load(std::memory_order_relaxed);
    if (verdict == good) {
        return {};
    }
    const std::uint32_t process = control.verdict_process.load(std::memory_order_relaxed);
    const std::string who = "rank " + std::to_string(segment_.rank_of(process)) +
                            " asked to become rank " +
                            std::to_string(static_cast<std::int32_t>(wanted(process)));
    if (verdict == out_of_range) {
        return {base::Code::argument, who + ", but ranks are 0 to " +
                                          std::to_string(segment_.shape().procs - 1) +
                                          "; nothing was changed"};
    }
    const std::uint32_t other = control.verdict_other.load(std::memory_order_relaxed);
    return {base::Code::argument, who + ", and so did rank " +
                                      std::to_string(segment_.rank_of(other)) +
                                      ", or one of the two is in another collective call; nothing "
                                      "was changed"};
}

void Ranks::apply() noexcept {
    for (std::uint32_t process = 0; process < segment_.shape().procs; ++process) {
        const std::uint32_t rank = wanted(process);
        segment_.rank_table()[process].store(rank, std::memory_order_relaxed);
        segment_.process_table()[rank].store(process, std::memory_order_relaxed);
    }
    // release: partner is Segment::rank_of
    segment_.control().are_ranks_set.store(1, std::memory_order_release);
}

}  // namespace acp::node
