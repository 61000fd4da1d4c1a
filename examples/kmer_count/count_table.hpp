// SPDX-License-Identifier: BSD-3-Clause
// How often this rank's k-mers occurred: a hash table with open addressing, whose keys are hashes already.
// Neighbouring keys lie in neighbouring places, so that growing is one pass through memory in order.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kmer {

class CountTable {
public:
    CountTable();

    // Counts each hash once more. Throws std::bad_alloc, after which the table is as it was.
    void add(std::span<const std::uint64_t> hashes);

    // How many hashes were added, and how many different ones.
    [[nodiscard]] std::uint64_t total() const { return total_; }

    [[nodiscard]] std::uint64_t distinct() const { return used_; }

    // Calls visit(count) once for every distinct k-mer, in no order.
    template <typename Visit>
    void for_each_count(Visit&& visit) const {
        for (const Entry& entry : entries_) {
            if (entry.count != 0) visit(entry.count);
        }
    }

private:
    struct Entry {
        std::uint64_t hash = 0;
        std::uint64_t count = 0;  // 0: free
    };

    [[nodiscard]] std::size_t home(std::uint64_t hash) const { return hash >> home_shift_; }

    void grow();
    static Entry& find(std::vector<Entry>& entries, std::size_t home, std::uint64_t hash);

    static constexpr unsigned first_bits = 14;  // 2^14 entries of 16 bytes to begin with
    static constexpr std::size_t prefetch_distance = 16;

    std::vector<Entry> entries_;
    unsigned home_shift_ = 64 - first_bits;
    std::size_t used_ = 0;
    std::uint64_t total_ = 0;
};

}  // namespace kmer
