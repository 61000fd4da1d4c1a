// SPDX-License-Identifier: BSD-3-Clause
// Two ranks, each a node: the second one kills itself, and the first one reads a page that it has,
// prefetches pages of its own beside lost ones, and then reads a page whose only bytes are gone.
#include <csignal>
#include <cstdint>
#include <cstdio>

#include <acp.h>

#include "support/watchdog.hpp"

int main(int argc, char** argv) {
    acp::test::arm_watchdog(60, "dsm_loss_probe");
    constexpr std::size_t page_words = 4096 / 8;
    if (acp_init(&argc, &argv) != 0 || acp_init_dsm(128 * 4096) != 0) return 3;
    auto* const words = static_cast<volatile std::uint64_t*>(acp_alloc_dsm(64 * 4096));
    // 20 pages of each node: one block of 16 has pages of both.
    const void* const mixed = acp_alloc_dsm(40 * 4096);
    if (words == nullptr || mixed == nullptr) return 3;
    // The second node is the home of the second half.
    volatile std::uint64_t* const kept = words + 40 * page_words;
    volatile std::uint64_t* const lost = words + 48 * page_words;
    if (acp_rank() == 1) {
        *kept = 5;
        *lost = 5;
    }
    // The first barrier behind a fetch, or the second one, drops the copy, for the home has not tracked
    // its writes before.
    for (int i = 0; i < 4; ++i) {
        if (acp_barrier_dsm() != 0) return 3;
        if (acp_rank() == 0 && *kept != 5) return 4;
    }
    // The second rank dies when the first one has left the last barrier, which needs the second one to
    // acknowledge its message.
    const acp_ga_t left = acp_query_starter_ga(1);
    if (acp_rank() == 1) {
        (void)acp_wait_word(acp_query_address(left), 8, ACP_WORD_EQUAL, 1, -1);
        raise(SIGKILL);
    }
    const std::uint64_t one = 1;
    (void)acp_complete(acp_put(left, &one, sizeof one, ACP_HANDLE_NULL));
    const bool is_refused = acp_barrier_dsm() != 0 && acp_errno() == ACP_ERR_PEER;
    std::printf("the barrier was %s: %s\n", is_refused ? "refused" : "not refused",
                acp_error_message());
    std::printf("the copy has %d\n", static_cast<int>(*kept));
    const int prefetched = acp_prefetch_dsm(mixed, 20 * std::size_t{4096});
    std::printf("the prefetch of own pages returns %d, error %d\n", prefetched,
                prefetched == 0 ? 0 : acp_errno());
    std::fflush(stdout);
    return static_cast<int>(*lost);
}
