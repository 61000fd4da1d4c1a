// SPDX-License-Identifier: BSD-3-Clause
// The result: for every count, how many distinct k-mers occurred that often. Each rank makes the bars of
// its own k-mers; rank 0 fetches the others' and adds them up. Run by the main thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>

#include "board.hpp"
#include "job.hpp"

namespace kmer {

struct Bar {
    std::uint64_t count;
    std::uint64_t kmers;
};

using Spectrum = std::map<std::uint64_t, std::uint64_t>;  // from count to number of distinct k-mers

// Takes the counts of k-mers one by one.
class SpectrumMaker {
public:
    void add(std::uint64_t count) { ++(count < low_.size() ? low_[count] : rest_[count]); }

    // The spectrum of all that was added; nothing is left here.
    [[nodiscard]] Spectrum take();

private:
    std::array<std::uint64_t, 1024> low_{};  // most counts are small: no search for these
    Spectrum rest_;
};

// What a rank has counted.
struct Counted {
    Spectrum spectrum;
    std::uint64_t kmers = 0;
    std::uint64_t distinct = 0;
};

struct Result {
    Spectrum spectrum;
    Report totals;  // over all ranks; its bars are unused
};

// Puts together what the ranks have counted. Collective. Returns the result on rank 0, an empty one elsewhere.
//   high   greater counts all go into the bar of high + 1
//   reads, bases  what this rank has read
Result gather_result(
    Job& job, const Counted& counted, std::uint64_t high, std::uint64_t reads, std::uint64_t bases);

// Writes a line "count number" for every bar, as `jellyfish histo` does. False when writing failed.
bool write_spectrum(std::FILE* file, const Spectrum& spectrum);

}  // namespace kmer
