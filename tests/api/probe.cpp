// SPDX-License-Identifier: BSD-3-Clause
// Small programs, one per scenario, for cases that cannot be tested inside a running test: calls in
// a wrong state, fatal errors, limits. Started by lifecycle_test.cpp as "api_probe SCENARIO"; ends
// with 0 if the behaviour was as documented, and else prints the difference. Alone or under acprun.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <acp.h>

#include "support/counted_check.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

std::uint64_t some_word = 7;

// Every call that needs the library in use, and whether it returned its failure value.
struct Call {
    const char* name;
    std::function<bool()> is_refused;
};

std::vector<Call> access_calls() {
    const acp_ga_t ga = 0x0100'0000'0000'0000;
    const acp_handle_t now = ACP_HANDLE_NULL;
    return {
        {"acp_copy", [=] { return acp_copy(ga, ga + 8, 8, now) == ACP_HANDLE_NULL; }},
        {"acp_put", [=] { return acp_put(ga, &some_word, 8, now) == ACP_HANDLE_NULL; }},
        {"acp_get", [=] { return acp_get(&some_word, ga, 8, now) == ACP_HANDLE_NULL; }},
        {"acp_put_signal",
         [=] { return acp_put_signal(ga, &some_word, 8, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_cas4", [=] { return acp_cas4(ga, ga, 1, 2, now) == ACP_HANDLE_NULL; }},
        {"acp_cas8", [=] { return acp_cas8(ga, ga, 1, 2, now) == ACP_HANDLE_NULL; }},
        {"acp_swap4", [=] { return acp_swap4(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_swap8", [=] { return acp_swap8(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_add4", [=] { return acp_add4(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_add8", [=] { return acp_add8(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_xor4", [=] { return acp_xor4(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_xor8", [=] { return acp_xor8(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_or4", [=] { return acp_or4(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_or8", [=] { return acp_or8(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_and4", [=] { return acp_and4(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_and8", [=] { return acp_and8(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_min4", [=] { return acp_min4(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_min8", [=] { return acp_min8(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_max4", [=] { return acp_max4(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_max8", [=] { return acp_max8(ga, ga, 1, now) == ACP_HANDLE_NULL; }},
        {"acp_fetch_cas4", [=] { return acp_fetch_cas4(ga, 1, 2) == 0; }},
        {"acp_fetch_cas8", [=] { return acp_fetch_cas8(ga, 1, 2) == 0; }},
        {"acp_fetch_swap4", [=] { return acp_fetch_swap4(ga, 1) == 0; }},
        {"acp_fetch_swap8", [=] { return acp_fetch_swap8(ga, 1) == 0; }},
        {"acp_fetch_add4", [=] { return acp_fetch_add4(ga, 1) == 0; }},
        {"acp_fetch_add8", [=] { return acp_fetch_add8(ga, 1) == 0; }},
        {"acp_fetch_xor4", [=] { return acp_fetch_xor4(ga, 1) == 0; }},
        {"acp_fetch_xor8", [=] { return acp_fetch_xor8(ga, 1) == 0; }},
        {"acp_fetch_or4", [=] { return acp_fetch_or4(ga, 1) == 0; }},
        {"acp_fetch_or8", [=] { return acp_fetch_or8(ga, 1) == 0; }},
        {"acp_fetch_and4", [=] { return acp_fetch_and4(ga, 1) == 0; }},
        {"acp_fetch_and8", [=] { return acp_fetch_and8(ga, 1) == 0; }},
        {"acp_fetch_min4", [=] { return acp_fetch_min4(ga, 1) == 0; }},
        {"acp_fetch_min8", [=] { return acp_fetch_min8(ga, 1) == 0; }},
        {"acp_fetch_max4", [=] { return acp_fetch_max4(ga, 1) == 0; }},
        {"acp_fetch_max8", [=] { return acp_fetch_max8(ga, 1) == 0; }},
        {"acp_complete", [=] { return acp_complete(1) == -1; }},
        {"acp_inquire", [=] { return acp_inquire(1) == -1; }},
    };
}

std::vector<Call> other_calls() {
    const acp_ga_t ga = 0x0100'0000'0000'0000;
    return {
        {"acp_finalize", [] { return acp_finalize() == -1; }},
        {"acp_reset", [] { return acp_reset(0) == -1; }},
        {"acp_sync", [] { return acp_sync() == -1; }},
        {"acp_rank", [] { return acp_rank() == -1; }},
        {"acp_procs", [] { return acp_procs() == -1; }},
        {"acp_query_starter_ga", [] { return acp_query_starter_ga(0) == ACP_GA_NULL; }},
        {"acp_starter_size", [] { return acp_starter_size() == SIZE_MAX; }},
        {"acp_register_memory",
         [] { return acp_register_memory(&some_word, 8, 0) == ACP_ATKEY_NULL; }},
        {"acp_register_all",
         [] {
             acp_ga_t address = 7;
             acp_atkey_t key = 7;
             return acp_register_all(&some_word, 8, 0, &address, &key) == -1 && address == 7 &&
                    key == 7;
         }},
        {"acp_unregister_memory", [] { return acp_unregister_memory(1) == -1; }},
        {"acp_query_ga", [] { return acp_query_ga(1, &some_word) == ACP_GA_NULL; }},
        {"acp_query_address", [=] { return acp_query_address(ga) == nullptr; }},
        {"acp_query_rank", [=] { return acp_query_rank(ga) == -1; }},
        {"acp_query_color", [=] { return acp_query_color(ga) == -1; }},
        {"acp_colors", [] { return acp_colors() == -1; }},
    };
}

// Checks that all calls fail with the code, and that the wait returns it.
void expect_all_refused(int code) {
    std::vector<Call> calls = access_calls();
    for (Call& call : other_calls()) {
        calls.push_back(std::move(call));
    }
    for (const Call& call : calls) {
        check(call.is_refused(), std::string(call.name) + " was not refused");
        check(acp_errno() == code,
              std::string(call.name) + " gave another error than " + acp_strerror(code));
        check(std::strlen(acp_error_message()) > 0, std::string(call.name) + " has no message");
    }
    check(acp_wait(1, 0) == code, "acp_wait");
    check(acp_initialized() == 0, "acp_initialized");
    check(std::strncmp(acp_version(), "4.", 2) == 0, "acp_version");
    check(std::strcmp(acp_path(1, 1).name, "none") == 0, "acp_path");
    check(some_word == 7, "memory was touched");
}

void before_init() {
    expect_all_refused(ACP_ERR_STATE);
    join();
    check(acp_finalize() == 0, "acp_finalize");
}

void after_finalize() {
    join();
    check(acp_finalize() == 0, "acp_finalize");
    expect_all_refused(ACP_ERR_STATE);
    join();
    check(acp_rank() == 0 || acp_procs() > 1, "a second epoch");
    check(acp_finalize() == 0, "second acp_finalize");
    expect_all_refused(ACP_ERR_STATE);
}

void forked() {
    join();
    const pid_t child = fork();
    if (child == 0) {
        expect_all_refused(ACP_ERR_FORKED);
        check(acp_init(nullptr, nullptr) == -1, "acp_init in the child");
        check(acp_errno() == ACP_ERR_FORKED, "acp_init in the child gave another error");
        _exit(wrong_count == 0 ? 0 : 1);
    }
    int status = -1;
    check(waitpid(child, &status, 0) == child && status == 0, "the child");
    const acp_ga_t own = acp_query_starter_ga(acp_rank());
    check(acp_wait(acp_copy(own, own + 8, 8, ACP_HANDLE_NULL), -1) == ACP_OK,
          "a copy after the fork");
    check(acp_sync() == 0, "acp_sync after the fork");
    check(acp_finalize() == 0, "acp_finalize after the fork");
}

// A child that execs another program of its own is outside the library altogether.
void forked_exec() {
    join();
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "true", static_cast<char*>(nullptr));
        _exit(9);
    }
    int status = -1;
    check(waitpid(child, &status, 0) == child && status == 0, "the child");
    check(acp_finalize() == 0, "acp_finalize");
}

void second_init() {
    join();
    const int rank = acp_rank();
    check(acp_init(nullptr, nullptr) == -1, "a second acp_init");
    check(acp_errno() == ACP_ERR_STATE, "a second acp_init gave another error");
    check(acp_initialized() == 1 && acp_rank() == rank, "the library is still in use");
    const acp_ga_t own = acp_query_starter_ga(rank);
    check(acp_wait(acp_copy(own, own + 8, 8, ACP_HANDLE_NULL), -1) == ACP_OK, "a copy");
    check(acp_sync() == 0, "acp_sync");
    check(acp_finalize() == 0, "acp_finalize");
}

// Ends the process if ACP_ON_ERROR is fatal.
void complete_a_bad_copy() {
    join();
    const acp_ga_t own = acp_query_starter_ga(acp_rank());
    acp_complete(acp_copy(own + acp_starter_size(), own, 8, ACP_HANDLE_NULL));
    check(acp_errno() == ACP_ERR_ADDRESS, "acp_complete");
    check(acp_finalize() == 0, "acp_finalize");
}

void run_and_leave() {
    join();
    check(acp_sync() == 0, "acp_sync");
    std::vector<std::uint64_t> memory(1024);
    const acp_atkey_t key = acp_register_memory(memory.data(), 8192, 0);
    if (key != ACP_ATKEY_NULL) {
        const acp_ga_t own = acp_query_starter_ga(acp_rank());
        check(acp_wait(acp_copy(acp_query_ga(key, memory.data()), own, 8, ACP_HANDLE_NULL), -1) ==
                  ACP_OK,
              "a copy");
    }
    check(acp_finalize() == 0, "acp_finalize");
}

// Writes to all of the starter memory.
void fill_starter_memory() {
    join();
    auto* bytes = static_cast<char*>(acp_query_address(acp_query_starter_ga(acp_rank())));
    std::memset(bytes, 1, acp_starter_size());
    check(acp_finalize() == 0, "acp_finalize");
}

int run(int argc, char** argv) {
    // A table without allocations: under a limit without memory the library's message counts.
    static constexpr std::array<std::pair<std::string_view, void (*)()>, 8> scenarios = {{
        {"before_init", before_init},
        {"after_finalize", after_finalize},
        {"forked", forked},
        {"forked_exec", forked_exec},
        {"second_init", second_init},
        {"complete_a_bad_copy", complete_a_bad_copy},
        {"run_and_leave", run_and_leave},
        {"fill_starter_memory", fill_starter_memory},
    }};
    for (const auto& [name, scenario] : scenarios) {
        if (argc == 2 && name == argv[1]) {
            scenario();
            return wrong_count == 0 ? 0 : 1;
        }
    }
    std::fprintf(stderr, "api_probe: no such scenario\n");
    return 2;
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    acp::test::arm_watchdog(60, argc > 1 ? argv[1] : "api_probe");
    return acp::test::run(argc, argv);
}
