// SPDX-License-Identifier: BSD-3-Clause
// Asks for shared pages of a size, and prints the message of a refusal.
//   dsm_heap_probe BYTES [CHECK...]  the values of ACP_DSM_CHECK of rank 0, 1, ...
#include <cstdio>
#include <cstdlib>

#include <acp.h>

#include "support/watchdog.hpp"

int main(int argc, char** argv) {
    acp::test::arm_watchdog(60, "dsm_heap_probe");
    const char* const rank = std::getenv("ACP_RANK");
    const int place = rank == nullptr ? 0 : 2 + std::atoi(rank);
    if (place != 0 && place < argc) setenv("ACP_DSM_CHECK", argv[place], 1);
    if (acp_init(&argc, &argv) != 0 || argc < 2) return 3;
    const bool is_open = acp_init_dsm(std::strtoull(argv[1], nullptr, 0)) == 0;
    std::printf("rank %d: error %d: %s\n", acp_rank(), is_open ? 0 : acp_errno(),
                is_open ? "the pages are open" : acp_error_message());
    std::fflush(stdout);
    return acp_finalize();
}
