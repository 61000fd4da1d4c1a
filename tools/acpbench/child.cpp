// SPDX-License-Identifier: BSD-3-Clause
// The started programs of child.hpp. Each process's main thread, and the hog's watcher of its
// input.
#include "child.hpp"

#include <cstdio>
#include <cstdlib>
#include <thread>

#include <acp.h>

#include "system.hpp"

namespace acp::bench {

namespace {

void wait_for_end_of_input() {
    while (std::getchar() != EOF) {
    }
}

int run_hog() {
    std::thread([] {
        wait_for_end_of_input();
        std::_Exit(0);
    }).detach();
    for (;;) asm volatile("");
}

int fail() {
    std::fprintf(stderr, "acpbench: %s\n", acp_error_message());
    return 1;
}

int run_start_child(int argc, char** argv, bool joins) {
    if (!joins) return 0;
    if (acp_init(&argc, &argv) != 0) return fail();
    return acp_finalize() == 0 ? 0 : fail();
}

int run_resident(int argc, char** argv, bool joins) {
    if (joins && acp_init(&argc, &argv) != 0) return fail();
    std::printf("resident %d\n", own_process_id());
    std::fflush(stdout);
    if (!joins) {
        wait_for_end_of_input();
        return 0;
    }
    if (acp_rank() == 0) wait_for_end_of_input();
    if (acp_sync() != 0 || acp_finalize() != 0) return fail();
    return 0;
}

}  // namespace

bool is_child_name(std::string_view argument) {
    return argument == child_hog || argument == child_start || argument == child_resident;
}

int run_child(int argc, char** argv) {
    const std::string_view name = argv[1];
    const bool joins = argc < 3 || std::string_view(argv[2]) != "without";
    if (name == child_start) return run_start_child(argc, argv, joins);
    if (name == child_resident) return run_resident(argc, argv, joins);
    return run_hog();
}

}  // namespace acp::bench
