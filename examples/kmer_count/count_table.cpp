// SPDX-License-Identifier: BSD-3-Clause
// Open addressing with linear probing. See count_table.hpp.
#include "count_table.hpp"

namespace kmer {

CountTable::CountTable() : entries_(std::size_t{1} << first_bits) {}

// Fetches the entries of later hashes while it counts this one: a large table is in no cache.
void CountTable::add(std::span<const std::uint64_t> hashes) {
    // Room for all of them first, as if all were new, so that the loop need not look.
    while (used_ + hashes.size() > entries_.size() / 4 * 3) grow();
    for (std::size_t i = 0; i < hashes.size(); ++i) {
        if (i + prefetch_distance < hashes.size()) {
            __builtin_prefetch(&entries_[home(hashes[i + prefetch_distance])], 1);
        }
        Entry& entry = find(entries_, home(hashes[i]), hashes[i]);
        used_ += entry.count == 0 ? 1 : 0;
        entry.hash = hashes[i];
        ++entry.count;
    }
    total_ += hashes.size();
}

// The hash's entry, or the free one where it belongs.
CountTable::Entry& CountTable::find(std::vector<Entry>& entries,
                                    std::size_t home,
                                    std::uint64_t hash) {
    std::size_t at = home;
    while (entries[at].count != 0 && entries[at].hash != hash) at = (at + 1) & (entries.size() - 1);
    return entries[at];
}

void CountTable::grow() {
    std::vector<Entry> larger(entries_.size() * 2);
    --home_shift_;
    for (const Entry& entry : entries_) {
        if (entry.count != 0) find(larger, home(entry.hash), entry.hash) = entry;
    }
    entries_.swap(larger);
}

}  // namespace kmer
