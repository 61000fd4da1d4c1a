// SPDX-License-Identifier: BSD-3-Clause
// K-mers into the map, and their numbers out of it. See map_counter.hpp.
#include "map_counter.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace kmer {

namespace {

// What is filled while the entries of this rank are visited.
struct Visited {
    SpectrumMaker spectrum;
    std::uint64_t kmers = 0;
    std::uint64_t distinct = 0;
};

int visit(const void*, std::size_t, const void* value, std::size_t, void* argument) {
    auto& visited = *static_cast<Visited*>(argument);
    std::uint64_t number = 0;
    std::memcpy(&number, value, sizeof number);
    visited.spectrum.add(number);
    visited.kmers += number;
    ++visited.distinct;
    return 0;
}

[[noreturn]] void fail() {
    throw Failure(std::string("the map of k-mers: ") + acp_error_message());
}

}  // namespace

// Rank 0 makes the map, and all others copy the struct that names it.
void MapCounter::begin() {
    if (job_.is_first()) {
        acp_hashed_options_t options{};  // on all ranks, and growing with what comes
        map_ = acp_create_map_with(&options);
        if (map_.ga == ACP_GA_NULL) fail();
        job_.board().map = map_;
    }
    job_.checkpoint();
    acp_complete(
        acp_get(&map_, Job::board_ga(0, offsetof(Board, map)), sizeof map_, ACP_HANDLE_NULL));
}

void MapCounter::add(std::span<const std::uint64_t> hashes) {
    while (!hashes.empty()) {
        const std::size_t count = std::min(hashes.size(), entries_.size());
        for (std::size_t i = 0; i < count; ++i) {
            entries_[i] = {&hashes[i], sizeof hashes[i], nullptr, 0, 1, 0};
        }
        if (acp_fetch_add_many_map(map_, count, entries_.data()) < 0) fail();
        hashes = hashes.subspan(count);
    }
}

void MapCounter::finish() {
    job_.checkpoint();
}

Counted MapCounter::counted() {
    Visited visited;
    if (acp_for_each_local_map(map_, visit, &visited) < 0) fail();
    return {visited.spectrum.take(), visited.kmers, visited.distinct};
}

}  // namespace kmer
