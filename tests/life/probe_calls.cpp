// SPDX-License-Identifier: BSD-3-Clause
// Scenarios: each call of the interface in a wrong state, calls that fail, and calls of two threads
// at once.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "life/probe.hpp"

namespace acp::test {

namespace {

std::uint64_t some_word = 7;
acp_ga_t some_addresses = 0;
acp_atkey_t some_key = 0;
constexpr acp_ga_t some_ga = 0x0100'0000'0000'0000;
constexpr acp_handle_t now = ACP_HANDLE_NULL;

const std::map<std::string, std::function<void()>>& calls() {
    static const std::map<std::string, std::function<void()>> all = {
        {"acp_copy", [] { (void)acp_copy(some_ga, some_ga, 8, now); }},
        {"acp_put", [] { (void)acp_put(some_ga, &some_word, 8, now); }},
        {"acp_get", [] { (void)acp_get(&some_word, some_ga, 8, now); }},
        {"acp_put_signal", [] { (void)acp_put_signal(some_ga, &some_word, 8, some_ga, 1, now); }},
        {"acp_cas4", [] { (void)acp_cas4(some_ga, some_ga, 1, 2, now); }},
        {"acp_cas8", [] { (void)acp_cas8(some_ga, some_ga, 1, 2, now); }},
        {"acp_swap4", [] { (void)acp_swap4(some_ga, some_ga, 1, now); }},
        {"acp_swap8", [] { (void)acp_swap8(some_ga, some_ga, 1, now); }},
        {"acp_add4", [] { (void)acp_add4(some_ga, some_ga, 1, now); }},
        {"acp_add8", [] { (void)acp_add8(some_ga, some_ga, 1, now); }},
        {"acp_xor4", [] { (void)acp_xor4(some_ga, some_ga, 1, now); }},
        {"acp_xor8", [] { (void)acp_xor8(some_ga, some_ga, 1, now); }},
        {"acp_or4", [] { (void)acp_or4(some_ga, some_ga, 1, now); }},
        {"acp_or8", [] { (void)acp_or8(some_ga, some_ga, 1, now); }},
        {"acp_and4", [] { (void)acp_and4(some_ga, some_ga, 1, now); }},
        {"acp_and8", [] { (void)acp_and8(some_ga, some_ga, 1, now); }},
        {"acp_min4", [] { (void)acp_min4(some_ga, some_ga, 1, now); }},
        {"acp_min8", [] { (void)acp_min8(some_ga, some_ga, 1, now); }},
        {"acp_max4", [] { (void)acp_max4(some_ga, some_ga, 1, now); }},
        {"acp_max8", [] { (void)acp_max8(some_ga, some_ga, 1, now); }},
        {"acp_fetch_cas4", [] { (void)acp_fetch_cas4(some_ga, 1, 2); }},
        {"acp_fetch_cas8", [] { (void)acp_fetch_cas8(some_ga, 1, 2); }},
        {"acp_fetch_swap4", [] { (void)acp_fetch_swap4(some_ga, 1); }},
        {"acp_fetch_swap8", [] { (void)acp_fetch_swap8(some_ga, 1); }},
        {"acp_fetch_add4", [] { (void)acp_fetch_add4(some_ga, 1); }},
        {"acp_fetch_add8", [] { (void)acp_fetch_add8(some_ga, 1); }},
        {"acp_fetch_xor4", [] { (void)acp_fetch_xor4(some_ga, 1); }},
        {"acp_fetch_xor8", [] { (void)acp_fetch_xor8(some_ga, 1); }},
        {"acp_fetch_or4", [] { (void)acp_fetch_or4(some_ga, 1); }},
        {"acp_fetch_or8", [] { (void)acp_fetch_or8(some_ga, 1); }},
        {"acp_fetch_and4", [] { (void)acp_fetch_and4(some_ga, 1); }},
        {"acp_fetch_and8", [] { (void)acp_fetch_and8(some_ga, 1); }},
        {"acp_fetch_min4", [] { (void)acp_fetch_min4(some_ga, 1); }},
        {"acp_fetch_min8", [] { (void)acp_fetch_min8(some_ga, 1); }},
        {"acp_fetch_max4", [] { (void)acp_fetch_max4(some_ga, 1); }},
        {"acp_fetch_max8", [] { (void)acp_fetch_max8(some_ga, 1); }},
        {"acp_complete", [] { acp_complete(1); }},
        {"acp_inquire", [] { (void)acp_inquire(1); }},
        {"acp_path", [] { (void)acp_path(some_ga, some_ga); }},
        {"acp_sync", [] { (void)acp_sync(); }},
        {"acp_reset", [] { (void)acp_reset(0); }},
        {"acp_finalize", [] { (void)acp_finalize(); }},
        {"acp_rank", [] { (void)acp_rank(); }},
        {"acp_procs", [] { (void)acp_procs(); }},
        {"acp_query_starter_ga", [] { (void)acp_query_starter_ga(0); }},
        {"acp_starter_size", [] { (void)acp_starter_size(); }},
        {"acp_register_memory", [] { (void)acp_register_memory(&some_word, 8, 0); }},
        {"acp_register_all",
         [] { (void)acp_register_all(&some_word, 8, 0, &some_addresses, &some_key); }},
        {"acp_unregister_memory", [] { (void)acp_unregister_memory(1); }},
        {"acp_query_ga", [] { (void)acp_query_ga(1, &some_word); }},
        {"acp_query_address", [] { (void)acp_query_address(some_ga); }},
        {"acp_query_rank", [] { (void)acp_query_rank(some_ga); }},
        {"acp_query_color", [] { (void)acp_query_color(some_ga); }},
        {"acp_colors", [] { (void)acp_colors(); }},
    };
    return all;
}

// Makes a call in a child process and returns its status; the driver checks what it prints on
// stderr.
int status_of_child(const std::function<void()>& body) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

void expect_all_end_the_process(const std::string& when) {
    for (const auto& [name, call] : calls()) {
        const int status = status_of_child(call);
        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, name + " was silent " + when);
    }
    const int reported = status_of_child([] {
        if (acp_wait(1, 0) != ACP_ERR_STATE || acp_initialized() != 0) _exit(1);
    });
    check(reported == 0 || when == "in a forked child", "acp_wait reports " + when);
}

void before_init() {
    expect_all_end_the_process("before acp_init");
}

// In children again: they are forked before acp_init, so they may use the library.
void after_finalize() {
    for (const auto& [name, call] : calls()) {
        const int status = status_of_child([&call = call] {
            join();
            if (acp_finalize() != 0) _exit(1);
            call();
        });
        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, name + " was silent afterwards");
    }
}

void forked() {
    join();
    expect_all_end_the_process("in a forked child");
    const int status = status_of_child([] {
        if (acp_wait(1, 0) != ACP_ERR_FORKED || acp_initialized() != 0) _exit(1);
        if (acp_init(nullptr, nullptr) != -1 || acp_errno() != ACP_ERR_FORKED) _exit(1);
    });
    check(status == 0, "acp_wait and acp_init report in a forked child");
    check(acp_sync() == 0, "acp_sync of the parent succeeds");
    check(acp_finalize() == 0, "acp_finalize");
}

// Rank 1 ends without leaving; if the others were not notified they would wait for ever.
void sync_after_a_death() {
    join();
    if (acp_rank() == 1) _exit(7);
    for (int round = 0; round < 3; ++round) (void)acp_sync();
    std::puts("went on through dead barriers");
}

// The calls return their errors. Memory of the node stays usable, and leaving works.
// The only rank of another node was its gateway, so its memory is lost with it.
//   argument 0: nodes
void sync_after_a_death_returned() {
    join();
    const int rank = acp_rank();
    if (rank == 1) _exit(7);
    check(acp_sync() == -1 && acp_errno() == ACP_ERR_PEER, "acp_sync");
    check(std::strstr(acp_error_message(), "rank 1") != nullptr, "the message names the rank");
    const acp_ga_t own = acp_query_starter_ga(rank);
    check(acp_wait(acp_copy(own, acp_query_starter_ga(1), 8, now), -1) ==
              (argument(0) == "1" ? ACP_OK : ACP_ERR_PEER),
          "starter memory of the dead");
    check(acp_reset(rank) == -1 && acp_errno() == ACP_ERR_PEER, "acp_reset");
    check(acp_initialized() == 1 && acp_rank() == rank, "nothing was changed by acp_reset");
    check(acp_finalize() == -1 && acp_errno() == ACP_ERR_PEER, "acp_finalize");
    check(acp_initialized() == 0, "this process has left all the same");
    check(acp_init(nullptr, nullptr) == -1 && acp_errno() == ACP_ERR_PEER,
          "acp_init after a death");
}

void bad_arguments_do_not_end_it() {
    join();
    check(acp_query_starter_ga(-1) == ACP_GA_NULL && acp_errno() == ACP_ERR_ARGUMENT, "starter_ga");
    check(acp_query_address(ACP_GA_NULL) == nullptr, "query_address");
    check(acp_register_memory(nullptr, 0, 0) == ACP_ATKEY_NULL, "register_memory");
    check(acp_reset(acp_procs()) == -1 && acp_errno() == ACP_ERR_ARGUMENT, "acp_reset");
    check(acp_init(nullptr, nullptr) == -1 && acp_errno() == ACP_ERR_STATE, "a second acp_init");
    check(acp_wait(acp_copy(ACP_GA_NULL, ACP_GA_NULL, 8, now), -1) == ACP_ERR_ADDRESS, "acp_wait");
    check(acp_finalize() == 0, "acp_finalize");
}

// Rank 1 enters the barrier after one of two threads of rank 0 was refused.
void two_threads_in_sync() {
    join();
    std::atomic<std::uint64_t>& told = *words_of(0);
    std::atomic<int> met{0};
    const auto synchronize = [&] {
        if (acp_sync() == 0) {
            met.fetch_add(1);
            return;
        }
        check(acp_errno() == ACP_ERR_STATE, "a second thread in acp_sync");
        const std::string message = acp_error_message();
        check(message.starts_with("acp_sync by rank " + std::to_string(acp_rank()) + " on ") &&
                  message.find(" while acp_sync is under way") != std::string::npos,
              "the message names the call and the rank");
        const acp_ga_t own = acp_query_starter_ga(0);
        check(acp_wait(acp_copy(own + 64, own + 72, 8, now), -1) == ACP_OK,
              "other calls may be made meanwhile");
        told.store(1, std::memory_order_release);
    };
    if (acp_rank() == 0) {
        std::thread second(synchronize);
        synchronize();
        second.join();
        check(met.load() == 1, "one of them has met rank 1");
    } else {
        await(told, 1);
        check(acp_sync() == 0, "acp_sync");
    }
    check(acp_finalize() == 0, "acp_finalize");
}

// A thread that waits for all commands gets the failure; a wait for that very command gets it too,
// each once.
void failure_of_two_threads() {
    join();
    const acp_handle_t bad = acp_copy(ACP_GA_NULL, acp_query_starter_ga(acp_rank()), 8, now);
    std::thread([] {
        check(acp_wait(ACP_HANDLE_ALL, -1) == ACP_ERR_ADDRESS,
              "acp_wait for all handles returns the failure");
        check(acp_wait(ACP_HANDLE_ALL, -1) == ACP_OK,
              "acp_wait for all handles returns the failure once");
    }).join();
    check(acp_wait(ACP_HANDLE_ALL, -1) == ACP_OK, "it was reported");
    check(acp_wait(bad, -1) == ACP_ERR_ADDRESS,
          "acp_wait for the failed handle returns the failure");
    check(acp_wait(bad, -1) == ACP_OK, "acp_wait for the failed handle returns the failure once");
    check(acp_finalize() == 0, "acp_finalize");
}

// Rank 0 calls acp_finalize while the others call acp_sync, and ends; the others' next barrier can
// never be complete.
void others_meet_once_more() {
    join();
    if (acp_rank() != 0) check(acp_sync() == 0, "acp_sync meets an acp_finalize");
    const bool is_first = acp_rank() == 0;
    const int result = acp_finalize();
    check(result == (is_first ? 0 : -1), "acp_finalize");
    check(is_first || acp_errno() == ACP_ERR_STATE, "the code of acp_finalize");
    check(is_first ||
              std::strstr(acp_error_message(), "not made the same collective calls") != nullptr,
          "the message names the fault");
}

// Where ranks carry their meetings themselves, all of them get the error at once, and no rank waits
// for the next meeting.
void one_finalizes_while_others_meet() {
    join();
    const int result = acp_rank() == 0 ? acp_finalize() : acp_sync();
    check(result == -1, "calls that do not belong together");
    check(acp_errno() == ACP_ERR_STATE, "the code");
    check(std::strstr(acp_error_message(),
                      "some ranks have called acp_sync and some acp_finalize") != nullptr,
          "the message names the call and its rank");
    if (acp_rank() != 0) check(acp_finalize() == -1, "one has left");
}

bool is_asleep(pid_t thread) {
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    const std::string text(std::istreambuf_iterator<char>(stat), {});
    return text.find(") S ") != std::string::npos;
}

// The other ranks enter the barrier after rank 0's waiting thread was cancelled; the cancellation
// takes effect when its call has ended.
void cancelled_in_a_call() {
    join();
    std::atomic<std::uint64_t>& told = *words_of(acp_rank());
    const acp_ga_t own = acp_query_starter_ga(0);
    if (acp_rank() == 0) {
        std::atomic<pid_t> in_call{0};
        int met = -2;
        std::thread waiting([&] {
            in_call.store(gettid());
            met = acp_sync();
            for (;;) pthread_testcancel();
        });
        while (in_call.load() == 0 || !is_asleep(in_call.load())) std::this_thread::yield();
        pthread_cancel(waiting.native_handle());
        for (int other = 1; other < acp_procs(); ++other) {
            acp_complete(acp_add8(own + 64, acp_query_starter_ga(other), 1, now));
        }
        waiting.join();
        check(met == 0, "the call of a cancelled thread ends as ever");
    } else {
        await(told, 1);
        check(acp_sync() == 0, "acp_sync");
    }
    check(acp_sync() == 0 && acp_finalize() == 0, "acp_sync and acp_finalize succeed afterwards");
}

}  // namespace

bool run_calls(const std::string& name) {
    const std::map<std::string, void (*)()> scenarios = {
        {"before_init", before_init},
        {"after_finalize", after_finalize},
        {"forked", forked},
        {"sync_after_a_death", sync_after_a_death},
        {"sync_after_a_death_returned", sync_after_a_death_returned},
        {"bad_arguments", bad_arguments_do_not_end_it},
        {"two_threads_in_sync", two_threads_in_sync},
        {"failure_of_two_threads", failure_of_two_threads},
        {"others_meet_once_more", others_meet_once_more},
        {"one_finalizes_while_others_meet", one_finalizes_while_others_meet},
        {"cancelled_in_a_call", cancelled_in_a_call},
    };
    const auto found = scenarios.find(name);
    if (found == scenarios.end()) return false;
    found->second();
    return true;
}

}  // namespace acp::test
