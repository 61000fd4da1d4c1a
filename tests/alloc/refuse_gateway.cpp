// SPDX-License-Identifier: BSD-3-Clause
// With support/refuse_memory.cpp beside it loaded into every process of a job (LD_PRELOAD): refuses memory to the
// gateway's thread of an agent, from its request number REFUSE_FIRST on, REFUSE_COUNT times (0: for ever). Other threads,
// and the ranks, have what they ask for.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>

#include "support/refuse_memory.hpp"

namespace {

std::uint64_t number_of(const char* name) noexcept {
    const char* text = std::getenv(name);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

bool is_gateway() noexcept {
    char name[16] = {};
    return prctl(PR_GET_NAME, name) == 0 && std::strcmp(name, "acp-gateway") == 0;
}

// Until the process ends, which it must not: others may ask for memory after it.
[[gnu::constructor]] void begin() noexcept {
    const std::uint64_t count = number_of("REFUSE_COUNT");
    acp::test::refuse_for_good(number_of("REFUSE_FIRST"),
                               count == 0 ? acp::test::all_from_there : count, is_gateway);
}

}  // namespace
