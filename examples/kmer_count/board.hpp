// SPDX-License-Identifier: BSD-3-Clause
// What lies at the start of every rank's starter memory: the words through which the ranks find each
// other and agree. Starter memory is zero when the program begins, is reached without its owner's
// help, and so is the place for counters that everybody adds to; the k-mers themselves go to
// registered memory (exchange.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <acp.h>

namespace kmer {

// What a rank has counted.
struct Report {
    acp_ga_t bars = ACP_GA_NULL;  // its part of the spectrum: an array of Bar in registered memory
    std::uint64_t bar_count = 0;
    std::uint64_t reads = 0;
    std::uint64_t bases = 0;
    std::uint64_t kmers = 0;
    std::uint64_t distinct = 0;
};

constexpr std::size_t failure_text_bytes = 512;

struct Board {
    // One per rank.
    acp_map_t map;              // on rank 0: written by it before the first k-mer, then read by all
    acp_ga_t inbox;             // written by the owner before the first batch, then read by all
    std::uint64_t slots_taken;  // of the owner's inbox in this round: all add, the owner resets
    Report report;              // written by the owner at the end, read by rank 0
    char failure[failure_text_bytes];  // written by the owner when it fails, read by rank 0
    std::uint64_t answer;   // scratch of the owner: where its atomics and copies deliver one word
    std::uint64_t ignored;  // scratch of the owner: where answers go that nobody reads

    // On rank 0 only, for all.
    std::uint64_t units_taken;      // of the work list: all add
    std::uint64_t unfinished[2];    // ranks that need another round, by the round's parity: all add
    std::uint64_t first_failed[2];  // 1 + the rank whose failure ends the job, by the parity of the
                                    // checkpoint where all learn of it; 0 while all is well
    std::uint64_t bytes_read;       // of all input, for the progress bar: all add
};

// The memory comes from ACP, zeroed: no constructor runs there.
static_assert(std::is_trivially_copyable_v<Board> && std::is_standard_layout_v<Board>);

}  // namespace kmer
