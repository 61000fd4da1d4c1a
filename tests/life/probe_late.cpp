// SPDX-License-Identifier: BSD-3-Clause
// Scenarios: calls while a thread or the process ends, forked children, descriptors that the
// program closed, and accesses after acp_finalize has returned.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <pthread.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "life/probe.hpp"

namespace acp::test {

namespace {

constexpr acp_handle_t now = ACP_HANDLE_NULL;

void expect_copies(const char* when) {
    // Each use has a pair of words of its own.
    static std::atomic<std::uint64_t> uses{0};
    const std::uint64_t pair = 16 + 2 * (uses.fetch_add(1) % 1000);
    const acp_ga_t first = acp_query_starter_ga(acp_rank()) + 8 * pair;
    std::atomic<std::uint64_t>* words = words_of(acp_rank()) + pair;
    words[0].store(4711);
    words[1].store(0);
    for (int round = 0; round < 3;
         // Only the first round takes the slow path.
         ++round) {
        const acp_handle_t copied = acp_copy(first + 8, first, 8, now);
        check(acp_wait(copied, -1) == ACP_OK && words[1].load() == 4711, when);
    }
    std::vector<std::uint64_t> memory(8, 5);
    const acp_atkey_t key = acp_register_memory(memory.data(), 64, 0);
    const acp_handle_t read = acp_copy(first + 8, acp_query_ga(key, memory.data()), 8, now);
    check(acp_wait(read, -1) == ACP_OK && words[1].load() == 5, when);
    check(acp_unregister_memory(key) == 0, when);
}

// Opens a context of PM messages and prepares a sleep in poll(2) if the scenario's argument asks
// for that: then the library has a thread. ACP_PM_NULL: it does not ask.
acp_pm_t armed_context() {
    if (argument(0) != "poll") return ACP_PM_NULL;
    const acp_pm_t pm = acp_open_pm(0);
    check(pm != ACP_PM_NULL, "acp_open_pm");
    int descriptor = -1;
    check(acp_before_select_pm(pm, &descriptor) == 1, "acp_before_select_pm");
    return pm;
}

// Checks that a message of a rank to itself ends its sleep in poll(2).
void expect_poll_wakes(acp_pm_t pm, const char* when) {
    if (pm == ACP_PM_NULL) return;
    check(acp_after_select_pm(pm) == 0, when);
    int descriptor = -1;
    while (acp_before_select_pm(pm, &descriptor) == 0) check(acp_after_select_pm(pm) == 0, when);
    void* room = nullptr;
    check(acp_wait_buffer_pm(pm, acp_rank(), 8, &room, -1) == 1 && acp_send_pm(pm) == 0, when);
    pollfd wanted{descriptor, POLLIN, 0};
    check(poll(&wanted, 1, 60'000) == 1, when);
    check(acp_after_select_pm(pm) == 0, when);
    const void* data = nullptr;
    check(acp_receive_pm(pm, &data, nullptr, nullptr) == 1 && acp_release_pm(pm) == 0, when);
}

// Constructed before the first use of the library, so it is destroyed after all objects that the
// library has made since.
struct CallsWhenDestroyed {
    const char* when;
    bool is_last = false;

    ~CallsWhenDestroyed() {
        if (acp_initialized() == 0) return;
        expect_copies(when);
        if (is_last) check(acp_finalize() == 0, "acp_finalize in a static destructor");
        if (wrong_count != 0) _exit(1);
    }
};

pthread_key_t late_key;

void call_in_key_destructor(void* rounds) {
    expect_copies("in a pthread-key destructor");
    auto* left = static_cast<int*>(rounds);
    if (--*left > 0) pthread_setspecific(late_key, rounds);
}

thread_local CallsWhenDestroyed t_calls{"in a destructor of a thread_local object"};

void thread_that_calls_late(int* rounds, bool does_call_before) {
    pthread_setspecific(late_key, rounds);
    (void)t_calls.when;
    if (does_call_before) expect_copies("in a thread");
}

// The main thread ends by exit(): atexit handlers and static destructors make calls, and leave the
// job.
void calls_while_ending() {
    static CallsWhenDestroyed static_calls{"in a static destructor", true};
    (void)t_calls.when;
    pthread_key_create(&late_key, call_in_key_destructor);
    join();
    std::atexit([] { expect_copies("in an atexit handler"); });
    for (int rounds = 1; rounds <= 4; ++rounds) {
        for (const bool does_call_before : {false, true}) {
            int left = rounds;
            std::thread(thread_that_calls_late, &left, does_call_before).join();
            check(left == 0, "key destructors ran as often as they asked for");
        }
    }
    expect_copies("in the main thread");
    std::exit(wrong_count == 0 ? 0 : 1);
}

// The main thread ends first, and another one leaves the job.
void main_thread_exits() {
    join();
    expect_copies("in the main thread");
    static const pthread_t main_thread = pthread_self();
    std::thread([] {
        pthread_join(main_thread, nullptr);
        expect_copies("in the thread that is left");
        check(acp_finalize() == 0, "acp_finalize");
        std::exit(wrong_count == 0 ? 0 : 1);
    }).detach();
    pthread_exit(nullptr);
}

// All threads of one rank end, but its process does not. The other ranks get an error.
void all_threads_exit() {
    join();
    expect_copies("in the main thread");
    std::atexit([] { expect_copies("in an atexit handler"); });
    if (acp_rank() != 1) {
        check(acp_sync() == -1, "acp_sync");
        std::_Exit(3);
    }
    (void)armed_context();
    static const pthread_t main_thread = pthread_self();
    std::thread([] { pthread_join(main_thread, nullptr); }).detach();  // makes no call
    pthread_exit(nullptr);
}

// Children of a process whose other threads use hazard lines all the time end in every possible
// way.
void children_that_end() {
    join();
    const acp_pm_t pm = armed_context();
    std::atomic<bool> is_over{false};
    std::thread busy([&] {
        while (!is_over.load()) std::thread([] { expect_copies("in a thread"); }).join();
    });
    static const pid_t parent = getpid();
    std::atexit([] {
        const bool is_child = getpid() != parent;
        if (is_child && (acp_sync() != -1 || acp_errno() != ACP_ERR_FORKED)) _exit(1);
    });
    for (int round = 0; round < 60; ++round) {
        std::thread([round, pm] {
            expect_copies("before a fork");
            expect_poll_wakes(pm, "a sleep in poll before a fork");
            const pid_t child = fork();
            if (child == 0) {
                alarm(10);
                switch (round % 3) {
                    case 0:
                        std::exit(0);
                    case 1:
                        pthread_exit(nullptr);
                    default:
                        _exit(acp_wait(1, 0) == ACP_ERR_FORKED ? 0 : 1);
                }
            }
            int status = -1;
            waitpid(child, &status, 0);
            check(status == 0,
                  "child " + std::to_string(round) + " ends with " + std::to_string(status));
            expect_copies("after a fork");
        }).join();
    }
    is_over.store(true);
    busy.join();
    expect_poll_wakes(pm, "a sleep in poll after the forks");
    check(acp_sync() == 0, "acp_sync");
    check(acp_finalize() == 0, "acp_finalize");
}

// Counts this process's descriptors that belong to the library.
int count_library_descriptors() {
    int count = 0;
    DIR* folder = opendir("/proc/self/fd");
    for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
        char target[256] = {};
        const ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        if (length > 0 && std::strstr(target, "acp-") != nullptr) ++count;
    }
    closedir(folder);
    return count;
}

void descriptors_of_a_started_program() {
    if (argument(0) == "inner") {
        check(count_library_descriptors() == 0, "a program started by a rank has its descriptors");
        return;
    }
    join();
    check(count_library_descriptors() > 0, "the rank has them itself");
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "life_probe", "descriptors", "inner", nullptr);
        _exit(9);
    }
    int status = -1;
    waitpid(child, &status, 0);
    check(status == 0, "the program that was started");
    check(acp_finalize() == 0, "acp_finalize");
}

// The program closes all descriptors and opens a file of its own under every number: no epoch uses
// one of them.
void closed_descriptors() {
    join();
    const acp_pm_t pm = armed_context();
    char name[] = "/tmp/life-probe-XXXXXX";
    const int user_file = mkstemp(name);
    unlink(name);
    const std::string content(1 << 20, 'u');
    check(write(user_file, content.data(), content.size()) == static_cast<ssize_t>(content.size()),
          "write");
    const int kept = fcntl(user_file, F_DUPFD, 500);
    for (int number = 3; number < 500; ++number) close(number);
    for (int number = 3; number < 64; ++number) check(dup2(kept, number) == number, "dup2");
    expect_poll_wakes(pm, "a sleep in poll after the descriptors were closed");
    for (int round = 0; round < 3; ++round) {
        check(acp_reset(acp_procs() - 1 - acp_rank()) == 0, "acp_reset");
        expect_copies("after the descriptors were closed");
        check(acp_sync() == 0, "acp_sync");
    }
    check(acp_finalize() == 0, "acp_finalize");
    std::string after(content.size() + 1, ' ');
    check(pread(kept, after.data(), after.size(), 0) == static_cast<ssize_t>(content.size()),
          "the size of the program's file");
    after.resize(content.size());
    check(after == content, "the program's file was written");
}

// The program closes its standard streams, as a daemon does, and uses the library: none of the
// library's descriptors takes their numbers, and none is passed to a program that is started.
void closed_streams() {
    // Errors are printed here.
    const int told = fcntl(2, F_DUPFD_CLOEXEC, 600);
    for (int stream = 0; stream < 3; ++stream) close(stream);
    std::vector<bool> was_open(600);
    for (std::size_t number = 3; number < was_open.size(); ++number) {
        was_open[number] = fcntl(static_cast<int>(number), F_GETFD) >= 0;
    }
    int wrong = 0;
    const auto look = [&](const char* when) {
        for (int number = 0; number < 600; ++number) {
            const int flags = fcntl(number, F_GETFD);
            const bool is_inherited = number >= 3 && was_open[static_cast<std::size_t>(number)];
            if (flags < 0 || is_inherited || (number >= 3 && (flags & FD_CLOEXEC) != 0)) continue;
            dprintf(told, "wrong: %s, descriptor %d is open, flags %d\n", when, number, flags);
            ++wrong;
        }
    };
    join();
    look("after acp_init");
    const acp_pm_t pm = armed_context();
    const acp_ga_t block = acp_malloc(100'000, (acp_rank() + 1) % acp_procs());
    check(block != ACP_GA_NULL, "acp_malloc");
    check(acp_wait(acp_copy(block, acp_query_starter_ga(acp_rank()), 4096, now), -1) == ACP_OK,
          "acp_copy");
    expect_copies("with closed streams");
    look("after copies");
    expect_poll_wakes(pm, "with closed streams");
    check(acp_reset(acp_procs() - 1 - acp_rank()) == 0, "acp_reset");
    expect_copies("with closed streams, after acp_reset");
    look("after acp_reset");
    check(acp_finalize() == 0, "acp_finalize");
    look("after acp_finalize");
    dup2(told, 2);
    check(wrong == 0 && wrong_count == 0, "descriptors with closed streams");
}

// The program closes its descriptors before it joins: without an agent acp_init fails with that
// reason, and maps nothing; with an agent it gets new ones.
void closed_before_init() {
    char name[] = "/tmp/life-probe-XXXXXX";
    const int user_file = mkstemp(name);
    unlink(name);
    for (int number = 3; number < 20; ++number) {
        if (number != user_file) dup2(user_file, number);
    }
    const char* given = std::getenv("ACP_NODE_SOCKET");
    check(given != nullptr, "a socket of the agent");
    const std::string socket = given != nullptr ? given : "";
    unsetenv("ACP_NODE_SOCKET");
    check(acp_init(nullptr, nullptr) == -1, "acp_init without an agent");
    check(acp_errno() == ACP_ERR_STATE, "its error");
    check(std::strstr(acp_error_message(), "before acp_init") != nullptr, "its message");
    setenv("ACP_NODE_SOCKET", socket.c_str(), 1);
    check(acp_init(nullptr, nullptr) == 0, "acp_init with an agent");
    check(acp_finalize() == 0, "acp_finalize");

    struct stat status {};

    check(fstat(user_file, &status) == 0 && status.st_size == 0, "the program's file");
}

// Rank 2 dies, rank 0 leaves and reuses its memory, while rank 1 keeps copying into it.
void memory_after_finalize() {
    join();
    constexpr std::size_t bytes = 1 << 20;
    std::atomic<std::uint64_t>* words = words_of(0);
    const int rank = acp_rank();
    if (rank == 2) {
        // Copies are in flight.
        await(words[1], 10);
        _exit(7);
    }
    if (rank == 0) {
        std::vector<unsigned char> memory(bytes, 1);
        const acp_atkey_t key = acp_register_memory(memory.data(), bytes, 0);
        words[0].store(acp_query_ga(key, memory.data()));
        check(acp_sync() == -1, "acp_sync after the death");
        check(acp_finalize() == -1 && acp_errno() == ACP_ERR_PEER, "acp_finalize after the death");
        std::memset(memory.data(), 0x3c, bytes);
        for (int look = 0; look < 200 && wrong_count == 0; ++look) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
            for (const unsigned char byte : memory) {
                if (byte == 0x3c) continue;
                check(false, "a byte was written after acp_finalize had returned");
                break;
            }
        }
        return;
    }
    await(words[0], 1);
    const acp_ga_t target = words[0].load();
    static std::vector<unsigned char> source(bytes, 0xff);
    const acp_atkey_t key = acp_register_memory(source.data(), bytes, 0);
    const acp_ga_t from = acp_query_ga(key, source.data());
    int code = ACP_OK;
    while (code == ACP_OK) {
        code = acp_wait(acp_copy(target, from, bytes, now), -1);
        words[1].fetch_add(1);
    }
    const auto expect_left = [](int its_code) {
        const std::string told = acp_error_message();
        const bool is_why_told =
            told.find("rank 0 ") != std::string::npos &&
            told.find("has left the job, whose ranks could not meet any more: rank 2 ") !=
                std::string::npos &&
            told.find("exited with code 7") != std::string::npos;
        check(its_code == ACP_ERR_PEER && is_why_told, told.c_str());
    };
    expect_left(code);
    const acp_ga_t starter = acp_query_starter_ga(0);
    expect_left(acp_wait(acp_copy(from, starter, 8, now), -1));
    expect_left(acp_wait(acp_add8(from, starter, 1, now), -1));
    check(acp_finalize() == -1, "acp_finalize");
}

}  // namespace

bool run_late(const std::string& name) {
    const std::map<std::string, void (*)()> scenarios = {
        {"ending", calls_while_ending},
        {"main_thread_exits", main_thread_exits},
        {"all_threads_exit", all_threads_exit},
        {"children", children_that_end},
        {"descriptors", descriptors_of_a_started_program},
        {"closed", closed_descriptors},
        {"closed_streams", closed_streams},
        {"closed_before_init", closed_before_init},
        {"memory_after_finalize", memory_after_finalize},
    };
    const auto found = scenarios.find(name);
    if (found == scenarios.end()) return false;
    found->second();
    return true;
}

}  // namespace acp::test
