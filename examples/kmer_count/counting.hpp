// SPDX-License-Identifier: BSD-3-Clause
// The work of a rank: takes units from the work list until none is left, cuts its share of each file into
// k-mers and hands them to the counter. Run by the main thread only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "job.hpp"
#include "kmer.hpp"
#include "kmer_counter.hpp"
#include "work_list.hpp"

namespace kmer {

// What one rank has read; a read is counted by one of those who share its file.
struct ReadTotals {
    std::uint64_t reads = 0;
    std::uint64_t bases = 0;  // letters of sequence, N and others too
};

// Picks one share out of a file's sequences. The file's letters, counted through all its records, form
// blocks; block b is in share b mod shares, and a k-mer belongs to the block of its last letter. Before a
// block of its own the window also slides over the k-1 letters in front.
class ShareReader {
public:
    ShareReader(int k, std::uint32_t share, std::uint32_t shares)
        : window_(k), lead_(static_cast<std::size_t>(k) - 1), shares_(shares), turn_(share) {}

    void begin_record() { window_.reset(); }

    // Takes a stretch of the current record; calls visit(hash) for each k-mer of this share in it.
    // Returns how many of the letters are in this share.
    template <typename Visit>
    std::size_t take(std::string_view letters, Visit&& visit);

private:
    static constexpr std::size_t block_letters = std::size_t{1} << 14;

    Window window_;
    std::size_t lead_;
    std::uint32_t shares_;
    std::uint32_t turn_;  // how many blocks of others come before the next own one, 0 within it
    std::size_t left_ = block_letters;  // in the current block
};

template <typename Visit>
std::size_t ShareReader::take(std::string_view letters, Visit&& visit) {
    std::size_t own = 0;
    while (!letters.empty()) {
        const std::string_view part = letters.substr(0, left_);
        if (turn_ == 0) {
            window_.slide(part, visit);
            own += part.size();
        } else if (turn_ == 1 && left_ - part.size() < lead_) {
            // The block's last k-1 letters, as far as they are in this part.
            const std::size_t skipped = left_ > lead_ ? left_ - lead_ : 0;
            window_.slide(part.substr(skipped), [](std::uint64_t) {});
        }
        letters.remove_prefix(part.size());
        left_ -= part.size();
        if (left_ == 0) {
            left_ = block_letters;
            turn_ = (turn_ + shares_ - 1) % shares_;
            if (turn_ != 0) window_.reset();
        }
    }
    return own;
}

// Takes units until the list is empty; the counter then has all their k-mers. Adds what is read to
// rank 0's bytes_read as it goes. Throws Failure for bad input, Stopped.
ReadTotals read_units(Job& job,
                      KmerCounter& counter,
                      int k,
                      const std::vector<std::string>& files,
                      const std::vector<WorkUnit>& units);

}  // namespace kmer
