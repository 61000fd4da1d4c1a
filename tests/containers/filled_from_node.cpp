// SPDX-License-Identifier: BSD-3-Clause
// A heap takes about as many blocks of a process of another node as of its own rank, although the
// threads of that rank take turns as the gateway. The last rank of the job and rank 0 fill the heap
// of rank 0 with blocks of the same random sizes, one after the other, until acp_malloc fails; then all
// ranks of the last nodes fill it at once.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <acp.h>

#include "containers/model.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr std::uint64_t seeds = 6;
constexpr std::uint64_t bytes_most = 4'096;
// The fill of a heap of 1 MiB with blocks of these sizes that acp_malloc(3) promises.
constexpr std::uint64_t bytes_together_most = 1'024;
constexpr std::size_t percent_least = 64;

// Allocates blocks until one finds no room.
std::vector<acp_ga_t> fill(std::uint64_t seed, std::uint64_t most) {
    Random random(seed);
    std::vector<acp_ga_t> blocks;
    for (;;) {
        const acp_ga_t block = acp_malloc(random.between(1, most), 0);
        if (block == ACP_GA_NULL) break;
        blocks.push_back(block);
    }
    must(acp_errno() == ACP_ERR_MEMORY, "acp_malloc");
    return blocks;
}

void free_all(const std::vector<acp_ga_t>& blocks) {
    for (const acp_ga_t block : blocks) must(acp_free(block) == 0, "acp_free");
}

// The number of blocks until one finds no room; they are freed again.
std::uint64_t fill_and_free(std::uint64_t seed) {
    const std::vector<acp_ga_t> blocks = fill(seed, bytes_most);
    free_all(blocks);
    return blocks.size();
}

// All ranks but those of the first node fill the heap of rank 0 at once.
void fill_together() {
    const int first_far = (acp_procs() + 1) / 2;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        std::vector<acp_ga_t> blocks;
        acp_sync();
        if (acp_rank() >= first_far)
            blocks = fill(seed * 100 + static_cast<std::uint64_t>(acp_rank()), bytes_together_most);
        acp_sync();
        if (acp_rank() == 0) {
            acp_heap_stat_t stat{};
            must(acp_heap_stat(0, &stat) == 0, "acp_heap_stat");
            const std::size_t percent = stat.allocated * 100 / stat.limit;
            std::printf("together, seed %llu: %zu %% of the heap\n",
                        static_cast<unsigned long long>(seed), percent);
            must(percent >= percent_least, "the heap takes less than the page promises");
        }
        acp_sync();
        free_all(blocks);
        acp_sync();
    }
}

// Each rank writes the number of its blocks into the starter memory of rank 0.
void compare() {
    const int far = acp_procs() - 1;
    auto* const counts = static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(0)));
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        if (acp_rank() == far) {
            const std::uint64_t count = fill_and_free(seed);
            const acp_handle_t put =
                acp_put(acp_query_starter_ga(0), &count, sizeof count, ACP_HANDLE_NULL);
            must(acp_wait(put, -1) == 0, "acp_put");
        }
        acp_sync();
        if (acp_rank() == 0) {
            const std::uint64_t from_far = counts[0];
            const std::uint64_t from_own = fill_and_free(seed);
            std::printf("seed %llu: %llu blocks from rank %d, %llu from rank 0\n",
                        static_cast<unsigned long long>(seed),
                        static_cast<unsigned long long>(from_far), far,
                        static_cast<unsigned long long>(from_own));
            must(from_far * 10 >= from_own * 9,
                 "the other node fills the heap as its own rank does");
        }
        acp_sync();
    }
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    acp::test::arm_watchdog(150, "filling a heap from another node");
    if (acp_init(&argc, &argv) != 0) return 1;
    try {
        acp::test::compare();
        acp::test::fill_together();
    } catch (const acp::test::Mismatch& mismatch) {
        std::printf("rank %d: %s\n", acp_rank(), mismatch.what.c_str());
        acp_abort("a heap takes fewer blocks of another node");
        return 1;
    }
    return acp_finalize() == 0 ? 0 : 1;
}
