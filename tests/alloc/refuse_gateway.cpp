// SPDX-License-Identifier: BSD-3-Clause
// Loaded into every process of a job (LD_PRELOAD) together with support/refuse_memory.cpp: refuses
// allocations of the gateway's thread of an agent, from its number REFUSE_FIRST on, REFUSE_COUNT
// times (0: for ever). Allocations of other threads, and of ranks, succeed.
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

// It stays until the process ends, since threads may allocate until then.
[[gnu::constructor]] void begin() noexcept {
    const std::uint64_t count = number_of("REFUSE_COUNT");
    acp::test::refuse_for_good(number_of("REFUSE_FIRST"),
                               count == 0 ? acp::test::all_from_there : count, is_gateway);
}

}  // namespace
