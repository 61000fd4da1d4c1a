// SPDX-License-Identifier: BSD-3-Clause
// Small programs, one per scenario, for the edges of the library's life. The drivers start them as
// "life_probe SCENARIO [ARGUMENT...]", alone or under acprun; a program ends with 0 if every check
// held, and else prints the others.
#include "life/probe.hpp"

#include <cstdio>
#include <sys/resource.h>
#include <vector>

#include "support/watchdog.hpp"

namespace acp::test {

namespace {

std::vector<std::string> arguments;

}  // namespace

std::atomic<std::uint64_t>* words_of(int rank) {
    return static_cast<std::atomic<std::uint64_t>*>(acp_query_address(acp_query_starter_ga(rank)));
}

void await(const std::atomic<std::uint64_t>& word, std::uint64_t value) {
    while (word.load(std::memory_order_acquire) < value) {
    }
}

std::string argument(int index) {
    const auto at = static_cast<std::size_t>(index);
    return at < arguments.size() ? arguments[at] : "";
}

}  // namespace acp::test

int main(int argc, char** argv) {
    namespace test = acp::test;
    if (argc < 2) return 2;
    test::arm_watchdog(60, argv[1]);
    const rlimit no_core = {0, 0};
    // Many of these end by SIGABRT, as documented.
    setrlimit(RLIMIT_CORE, &no_core);
    test::arguments.assign(argv + 2, argv + argc);
    const std::string name = argv[1];
    if (!test::run_calls(name) && !test::run_refusals(name) && !test::run_late(name) &&
        !test::run_pointers(name)) {
        std::fprintf(stderr, "life_probe: no scenario \"%s\"\n", argv[1]);
        return 2;
    }
    return test::wrong_count == 0 ? 0 : 1;
}
