// SPDX-License-Identifier: BSD-3-Clause
// Counts in one map that is spread over all ranks: the hash of a k-mer is the key, its number the value. Whoever reads a
// k-mer adds 1 to it, many k-mers in one call; the library finds the rank that stores it. Ranks meet only when all is read.
// Used by the main thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <acp.h>

#include "job.hpp"
#include "kmer_counter.hpp"

namespace kmer {

class MapCounter : public KmerCounter {
public:
    //   batch  k-mers in a call, >= 1
    MapCounter(Job& job, std::size_t batch) : job_(job), entries_(batch) {}

    void begin() override;
    void add(std::span<const std::uint64_t> hashes) override;
    void finish() override;
    [[nodiscard]] Counted counted() override;

private:
    Job& job_;
    acp_map_t map_{};  // freed with all else that lies in the heaps, by acp_finalize
    std::vector<acp_entry_t> entries_;
};

}  // namespace kmer
