// SPDX-License-Identifier: BSD-3-Clause
// Collecting, judging and carrying out the wishes of a reset. Plain relaxed words: meetings order everything.
#include "node/ranks.hpp"

#include <algorithm>
#include <string>
#include <vector>

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

void Ranks::keep(Verdict verdict, std::uint32_t process, std::uint32_t other) noexcept {
    ControlBlock& control = segment_.control();
    control.verdict.store(verdict, std::memory_order_relaxed);
    control.verdict_process.store(process, std::memory_order_relaxed);
    control.verdict_other.store(other, std::memory_order_relaxed);
}

void Ranks::judge() {
    const std::uint32_t procs = segment_.shape().procs;
    std::vector<bool> is_taken(procs);
    for (std::uint32_t process = 0; process < procs; ++process) {
        const std::uint32_t rank = wanted(process);
        if (rank >= procs) {
            return keep(out_of_range, process, process);
        }
        if (is_taken[rank]) {
            std::uint32_t other = 0;
            while (wanted(other) != rank) ++other;
            return keep(taken, process, other);
        }
        is_taken[rank] = true;
    }
    keep(good, 0, 0);
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
                                      "; nothing was changed"};
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
