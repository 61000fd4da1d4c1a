// SPDX-License-Identifier: BSD-3-Clause
// Scenarios: acp_register_all, acp_put, acp_get and acp_put_signal in a job in which a rank dies.
#include <algorithm>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

#include "life/probe.hpp"

namespace acp::test {

namespace {

constexpr int victim = 2;
constexpr int victims_code = 7;
constexpr std::size_t longest = 1'000'000;

bool names_the_victim() {
    return std::string(acp_error_message()).find("rank 2") != std::string::npos;
}

// One rank ends instead of calling acp_register_all.
void register_all_without_a_rank() {
    join();
    if (acp_rank() == victim) _exit(victims_code);
    std::vector<char> memory(4096);
    std::vector<acp_ga_t> addresses(static_cast<std::size_t>(acp_procs()), 7);
    acp_atkey_t key = 7;
    check(acp_register_all(memory.data(), memory.size(), 0, addresses.data(), &key) == -1,
          "acp_register_all without a rank");
    check(acp_errno() == ACP_ERR_PEER && names_the_victim(),
          std::string("what acp_register_all said: ") + acp_error_message());
    check(key == 7 && addresses[0] == 7, "something was written");
    const acp_atkey_t own = acp_register_memory(memory.data(), memory.size(), 0);
    check(own != ACP_ATKEY_NULL && acp_unregister_memory(own) == 0, "registering alone");
    check(acp_finalize() == -1, "acp_finalize");
}

void expect_peer(acp_handle_t handle, const std::string& what) {
    const int code = acp_wait(handle, -1);
    check(code == ACP_ERR_PEER && names_the_victim(),
          what + " ended with " + acp_strerror(code) + ": " + acp_error_message());
}

// Uses registered memory: starter memory of a dead rank stays usable on its node.
void use_memory_of_the_dead(acp_ga_t dead) {
    std::vector<char> memory(longest, 'm');
    for (const std::size_t size : {std::size_t{8}, std::size_t{900}, std::size_t{5000}, longest}) {
        const std::string bytes = std::to_string(size) + " bytes";
        expect_peer(acp_put(dead + 8, memory.data(), size, ACP_HANDLE_NULL), "a put of " + bytes);
        expect_peer(acp_get(memory.data(), dead + 8, size, ACP_HANDLE_NULL), "a get of " + bytes);
        expect_peer(acp_put_signal(dead + 8, memory.data(), size, dead, 1, ACP_HANDLE_NULL),
                    "a put and signal of " + bytes);
        check(acp_wait(ACP_HANDLE_ALL, -1) == ACP_OK, "more than one failure of " + bytes);
    }
    check(
        std::count(memory.begin(), memory.end(), 'm') == static_cast<std::ptrdiff_t>(memory.size()),
        "a failed get changed memory");
}

void pointers_to_a_dead_rank() {
    join();
    std::vector<char> memory(longest + 64);
    std::vector<acp_ga_t> addresses(static_cast<std::size_t>(acp_procs()));
    acp_atkey_t key = ACP_ATKEY_NULL;
    check(acp_register_all(memory.data(), memory.size(), 0, addresses.data(), &key) == 0,
          "acp_register_all");
    if (acp_rank() == victim) {
        // Both others have got all addresses.
        await(words_of(victim)[1], 2);
        _exit(victims_code);
    }
    // The victim ends after both have added to its word: the second addition may stay unanswered.
    (void)acp_wait(acp_add8(ACP_GA_NULL, acp_query_starter_ga(victim) + 8, 1, ACP_HANDLE_NULL), -1);
    while (acp_wait(acp_add8(ACP_GA_NULL, addresses[victim], 1, ACP_HANDLE_NULL), -1) == ACP_OK) {
    }
    use_memory_of_the_dead(addresses[victim]);
    // Survivors still reach each other.
    const std::uint64_t sent = 4711;
    std::uint64_t seen = 0;
    const acp_ga_t other = addresses[static_cast<std::size_t>(1 - acp_rank())] +
                           8 * static_cast<acp_ga_t>(acp_rank() + 1);
    check(acp_wait(acp_put(other, &sent, 8, ACP_HANDLE_NULL), -1) == ACP_OK, "a put to the living");
    check(acp_wait(acp_get(&seen, other, 8, ACP_HANDLE_NULL), -1) == ACP_OK && seen == sent,
          "a get from the living");
    // Each survivor waits until the other one is done. The other one may leave after it has seen
    // the word and before it has answered.
    (void)acp_wait(acp_add8(ACP_GA_NULL, acp_query_starter_ga(1 - acp_rank()), 1, ACP_HANDLE_NULL),
                   -1);
    await(words_of(acp_rank())[0], 1);
    check(acp_finalize() == -1, "acp_finalize");
}

}  // namespace

bool run_pointers(const std::string& name) {
    const std::map<std::string, void (*)()> scenarios = {
        {"register_all_without_a_rank", register_all_without_a_rank},
        {"pointers_to_a_dead_rank", pointers_to_a_dead_rank},
    };
    const auto found = scenarios.find(name);
    if (found == scenarios.end()) return false;
    found->second();
    return true;
}

}  // namespace acp::test
