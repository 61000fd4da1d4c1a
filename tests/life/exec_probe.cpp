// SPDX-License-Identifier: BSD-3-Clause
// A rank runs another program, which has memory at the same addresses, while other ranks copy into
// it without pause. That program is this one again: it is linked for a fixed address, so its areas
// lie at the same addresses. Rank 0 puts long copies, rank 2 short ones, rank 3 short ones many at
// a time; every word of a copy is the copy's number. Each writer prints its failed copies, and the
// new program the copies that it finds in its memory.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "support/watchdog.hpp"

namespace {

constexpr int victim = 1;
constexpr int ranks = 4;
constexpr std::size_t area_words = std::size_t{1} << 20;
constexpr std::uint64_t enough = 64;  // copies that a writer makes before the rank leaves

// One area per writer. In the new program they are zero without any store.
std::array<std::array<std::uint64_t, area_words>, ranks> areas;

void say(int rank, const char* what, const std::set<std::uint64_t>& numbers, std::size_t words) {
    std::string line =
        "writer " + std::to_string(rank) + " " + what + " " + std::to_string(words) + " words:";
    for (const std::uint64_t number : numbers) line += " " + std::to_string(number);
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

void end(const char* call) {
    std::fprintf(stderr, "wrong: %s: error %d: %s\n", call, acp_errno(), acp_error_message());
    std::exit(3);
}

// Returns when the process has ended.
void await_end_of(const std::string& process) {
    const auto opened = static_cast<int>(syscall(SYS_pidfd_open, std::stoi(process), 0));
    // It has ended.
    if (opened < 0) return;
    pollfd event{opened, POLLIN, 0};
    while (poll(&event, 1, -1) < 0 && errno == EINTR) {
    }
    close(opened);
}

// The new program, which has no part in the job.
//   writers  the process of each rank
void look_at_areas(char** writers) {
    for (int rank = 0; rank < ranks; ++rank) {
        if (rank == victim) continue;
        await_end_of(writers[rank]);
        std::set<std::uint64_t> numbers;
        std::size_t words = 0;
        for (const std::uint64_t word : areas[static_cast<std::size_t>(rank)]) {
            if (word == 0) continue;
            ++words;
            numbers.insert(word);
        }
        say(rank, "left", numbers, words);
    }
}

void run_another_program() {
    auto* words =
        static_cast<std::atomic<std::uint64_t>*>(acp_query_address(acp_query_starter_ga(victim)));
    std::vector<std::string> arguments = {"exec_probe", "stranger"};
    for (int rank = 0; rank < ranks; ++rank) {
        while (rank != victim && words[1 + rank].load(std::memory_order_acquire) == 0) {
        }
        arguments.push_back(std::to_string(words[1 + rank].load(std::memory_order_relaxed)));
    }
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    execv("/proc/self/exe", pointers.data());
    std::perror("wrong: execv");
    std::exit(3);
}

// Copies until one copy has failed by the end of the rank.
//   target  the writer's area
//   words, at_once  the length of a copy, and the number of copies in flight
void write(int rank, acp_ga_t target, std::size_t words, std::size_t at_once) {
    std::vector<std::uint64_t> source(words * at_once);
    const acp_atkey_t key = acp_register_memory(source.data(), source.size() * 8, 0);
    if (key == ACP_ATKEY_NULL) end("acp_register_memory");
    const acp_ga_t from = acp_query_ga(key, source.data());
    std::set<std::uint64_t> failed;
    bool is_over = false;
    std::uint64_t number = 0;
    bool is_told = false;
    while (!is_over) {
        std::vector<acp_handle_t> copies;
        const std::uint64_t first = number + 1;
        for (std::size_t i = 0; i < at_once; ++i) {
            std::fill_n(source.begin() + static_cast<std::ptrdiff_t>(i * words), words, ++number);
            copies.push_back(
                acp_copy(target + i * words * 8, from + i * words * 8, words * 8, ACP_HANDLE_NULL));
        }
        for (std::size_t i = 0; i < at_once; ++i) {
            const int code = acp_wait(copies[i], -1);
            if (code == ACP_OK) continue;
            failed.insert(first + i);
            is_over = is_over || code == ACP_ERR_PEER;
            if (code != ACP_ERR_PEER) {
                std::printf("wrong: copy %llu of rank %d ended with %d: %s\n",
                            static_cast<unsigned long long>(first + i), rank, code,
                            acp_error_message());
            }
        }
        if (!is_told && number >= enough) {
            is_told = true;
            const acp_ga_t word =
                acp_query_starter_ga(victim) + 8 * (1 + static_cast<std::uint64_t>(rank));
            acp_complete(
                acp_add8(ACP_GA_NULL, word, static_cast<std::uint64_t>(getpid()), ACP_HANDLE_NULL));
        }
    }
    say(rank, "failed", failed, 0);
}

void run_rank() {
    if (acp_init(nullptr, nullptr) != 0) end("acp_init");
    const int rank = acp_rank();
    auto* words = static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(rank)));
    if (rank == victim) {
        const acp_atkey_t key = acp_register_memory(areas.data(), sizeof areas, 0);
        if (key == ACP_ATKEY_NULL) end("acp_register_memory");
        words[0] = acp_query_ga(key, areas.data());
    }
    if (acp_sync() != 0) end("acp_sync");
    if (rank == victim) run_another_program();
    const acp_ga_t own = acp_query_starter_ga(rank);
    acp_complete(acp_copy(own + 64, acp_query_starter_ga(victim), 8, ACP_HANDLE_NULL));
    const acp_ga_t target = words[8] + static_cast<std::uint64_t>(rank) * sizeof(areas[0]);
    if (rank == 0) {
        std::printf("path %s\n", acp_path(target, own).name);
        write(rank, target, area_words, 1);
    } else {
        write(rank, target, 128, rank == 3 ? 64 : 1);
    }
}

}  // namespace

int main(int argc, char** argv) {
    acp::test::arm_watchdog(120, "exec_probe");
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (argc == 2 + ranks && std::strcmp(argv[1], "stranger") == 0) {
        look_at_areas(argv + 2);
    } else {
        run_rank();
    }
    std::fflush(stdout);
    _exit(0);
}
