// SPDX-License-Identifier: BSD-3-Clause
// A rank dies while others copy to and from memory of its device and run atomics there. Each
// survivor has commands in flight at that time; all of them end, and later ones fail at once.
#include <csignal>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

#include <acp.h>
#include <acp/device.h>

#include "faults/checked_rank.hpp"

namespace acp::test {
namespace {

constexpr int victim = 3;
constexpr std::size_t bytes = 500'000;
constexpr std::size_t in_flight = 8;

// A word of the victim's starter memory, which each survivor counts up once its commands run.
acp_ga_t running_word() {
    return acp_query_starter_ga(victim);
}

[[noreturn]] void die() {
    const void* const running = acp_query_address(running_word());
    must(acp_wait_word(running, 8, ACP_WORD_GREATER_EQUAL, victim, -1) == ACP_OK, "acp_wait_word");
    raise(SIGKILL);
    _exit(4);
}

void survive() {
    const acp_ga_t there = acp_malloc_device(bytes, victim, 1);
    const acp_ga_t here = acp_malloc_device(bytes, acp_rank(), 1);
    must(there != ACP_GA_NULL && here != ACP_GA_NULL, "acp_malloc_device");
    const std::vector<char> written(bytes, 'w');
    std::vector<char> read(bytes);
    bool is_counted = false;
    while (true) {
        std::vector<acp_handle_t> handles;
        for (std::size_t i = 0; i < in_flight; ++i) {
            handles.push_back(acp_put(there, written.data(), bytes, ACP_HANDLE_NULL));
            handles.push_back(acp_get(read.data(), there, bytes, ACP_HANDLE_NULL));
            handles.push_back(acp_copy(here, there, bytes, ACP_HANDLE_NULL));
            handles.push_back(acp_add8(ACP_GA_NULL, there, 1, ACP_HANDLE_NULL));
        }
        if (!is_counted) {
            must(acp_fetch_add8(running_word(), 1) < victim, "acp_fetch_add8");
            is_counted = true;
        }
        std::size_t failures = 0;
        for (const acp_handle_t handle : handles) {
            const int result = acp_wait(handle, -1);
            must(result == ACP_OK || result == ACP_ERR_PEER, "a command on a dead rank's device");
            if (result != ACP_OK) ++failures;
        }
        if (failures != 0) break;
    }
    must(acp_wait(acp_get(read.data(), there, 1, ACP_HANDLE_NULL), -1) == ACP_ERR_PEER, "acp_get");
    must(acp_malloc_device(8, victim, 1) == ACP_GA_NULL && acp_errno() == ACP_ERR_PEER,
         "acp_malloc_device on a dead rank");
    must(acp_free_device(there) == -1 && acp_errno() == ACP_ERR_PEER,
         "acp_free_device on a dead rank");
    must(acp_wait(acp_put(here, written.data(), bytes, ACP_HANDLE_NULL), -1) == ACP_OK, "acp_put");
    must(acp_wait(acp_get(read.data(), here, bytes, ACP_HANDLE_NULL), -1) == ACP_OK, "acp_get");
    must(read == written, "the bytes of the own device");
    must(acp_free_device(here) == 0, "acp_free_device");
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_checked(argc, argv, "a dead rank's device", [] {
        acp::test::must(acp_sync() == 0, "acp_sync");
        if (acp_rank() == acp::test::victim) acp::test::die();
        acp::test::survive();
    });
}
