// SPDX-License-Identifier: BSD-3-Clause
// Asks for shared pages of a size, and prints the message of a refusal.
//   dsm_heap_probe BYTES
#include <cstdio>
#include <cstdlib>

#include <acp.h>

#include "support/watchdog.hpp"

int main(int argc, char** argv) {
    acp::test::arm_watchdog(60, "dsm_heap_probe");
    if (acp_init(&argc, &argv) != 0 || argc != 2) return 3;
    const bool is_open = acp_init_dsm(std::strtoull(argv[1], nullptr, 0)) == 0;
    std::printf("%s\n", is_open ? "the pages are open" : acp_error_message());
    std::fflush(stdout);
    return acp_finalize();
}
