// SPDX-License-Identifier: BSD-3-Clause
// Counts the k-mers of all ranks. There are two ways: one map that all ranks share (map_counter.hpp), and an exchange of
// batches by copies and atomics, behind which each rank counts in a table of its own (exchange.hpp). Both give the same
// result. Used by the main thread only.
#pragma once

#include <cstdint>
#include <span>

#include "spectrum.hpp"

namespace kmer {

class KmerCounter {
public:
    KmerCounter() = default;
    KmerCounter(const KmerCounter&) = delete;
    KmerCounter& operator=(const KmerCounter&) = delete;
    virtual ~KmerCounter() = default;

    // Prepares all ranks. Collective: a checkpoint.
    virtual void begin() = 0;

    // Counts each hash once more, sooner or later. Throws Failure, Stopped.
    virtual void add(std::span<const std::uint64_t> hashes) = 0;

    // Returns when every hash of every rank is counted. Collective.
    virtual void finish() = 0;

    // What is counted on this rank, once all is counted.
    [[nodiscard]] virtual Counted counted() = 0;
};

}  // namespace kmer
