// SPDX-License-Identifier: BSD-3-Clause
// Four ranks on two nodes, of which something is stopped while the others use shared pages.
//   dsm_stop_probe rank   rank 3: the others fetch, write and prefetch pages, also those whose home is
//                         its node, while a copy of theirs waits for its help (ACP_ATTACH=off); the
//                         barrier that they enter then ends when rank 3 continues
//   dsm_stop_probe agent  the agent of ranks 2 and 3, which is the gateway of their node: the barriers
//                         of both nodes fail, and copies of its pages stay readable
// Each rank prints what it finds.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <unistd.h>

#include <acp.h>

#include "support/job.hpp"
#include "support/watchdog.hpp"

namespace {

constexpr std::size_t page_words = 4096 / 8;
constexpr std::size_t pages = 64;
constexpr int last = 3;

void give(int rank, int place, std::uint64_t word) {
    const acp_ga_t ga = acp_query_starter_ga(rank) + static_cast<acp_ga_t>(place) * 8;
    acp_complete(acp_put_copied(ga, &word, sizeof word, ACP_HANDLE_NULL));
}

// The word that another rank gives this one.
std::uint64_t take(int place) {
    const auto* const word = static_cast<const volatile std::uint64_t*>(
                                 acp_query_address(acp_query_starter_ga(acp_rank()))) +
                             place;
    while (*word == 0)  // the wait returns when a rank has died, too
        acp_wait_word(word, sizeof *word, ACP_WORD_NOT_EQUAL, 0, -1);
    return *word;
}

// The word of a page that a rank writes in a round, of which none reads it before a barrier.
std::size_t place_of(std::size_t page, int rank, std::uint64_t round) {
    return page * page_words + static_cast<std::size_t>(rank) * 16 + round;
}

// Each rank writes a word of each page.
void write(volatile std::uint64_t* words, std::uint64_t round) {
    for (std::size_t page = 0; page < pages; ++page)
        words[place_of(page, acp_rank(), round)] = round + page;
}

// Whether the first pages have what all ranks wrote in a round.
bool is_written(const volatile std::uint64_t* words, std::size_t count, std::uint64_t round) {
    for (std::size_t page = 0; page < count; ++page)
        for (int rank = 0; rank < 4; ++rank)
            if (words[place_of(page, rank, round)] != round + page) return false;
    return true;
}

void print(const char* text, bool is_so) {
    std::printf("rank %d: %s: %s\n", acp_rank(), text, is_so ? "yes" : "no");
    std::fflush(stdout);
}

// Copies from the word of rank 3 need the help of that rank.
std::uint64_t private_word = 17;

int with_stopped_rank(volatile std::uint64_t* words) {
    std::uint64_t copied = 0;
    acp_handle_t copy = ACP_HANDLE_NULL;
    if (acp_rank() == last) {
        write(words, 2);
        const acp_atkey_t key = acp_register_memory(&private_word, sizeof private_word, 0);
        for (int rank = 0; rank < last; ++rank) {
            give(rank, 4, acp_query_ga(key, &private_word));
            give(rank, 0, static_cast<std::uint64_t>(getpid()));
        }
        raise(SIGSTOP);
    } else {
        const auto process = static_cast<pid_t>(take(0));
        acp::test::await_state(process, "T");
        copy = acp_get(&copied, take(4), sizeof copied, ACP_HANDLE_NULL);
        print("waits for rank 3", acp_inquire(copy) != 0);
        print("reads while rank 3 is stopped", is_written(words, pages, 1));
        print("still waits for rank 3", acp_inquire(copy) != 0);
        print("prefetches while rank 3 is stopped",
              acp_prefetch_dsm(const_cast<std::uint64_t*>(words), pages * 4096) == 0);
        write(words, 2);
        if (acp_rank() != 0) {
            give(0, acp_rank(), 1);
        } else {
            take(1);
            take(2);
            kill(process, SIGCONT);
        }
    }
    print("passes the barrier", acp_barrier_dsm() == 0);
    acp_complete(copy);
    print("has what rank 3 copied", acp_rank() == last || copied == 17);
    print("reads all", is_written(words, pages, 2));
    return acp_finalize_dsm() == 0 && acp_finalize() == 0 ? 0 : 4;
}

int with_stopped_agent(volatile std::uint64_t* words) {
    // Node 1 is the home of the second half, of which all ranks read one page.
    const volatile std::uint64_t& copy = words[place_of(40, 0, 1)];
    const std::uint64_t kept = copy;
    if (acp_rank() == last) {
        give(0, 0, static_cast<std::uint64_t>(getppid()));
        take(0);
        kill(getppid(), SIGSTOP);
        acp::test::await_state(getppid(), "T");
    } else if (acp_rank() == 0) {
        const auto agent = static_cast<pid_t>(take(0));
        give(last, 0, 1);
        acp::test::await_state(agent, "T");
        print("is refused by the barrier", acp_barrier_dsm() != 0 && acp_errno() == ACP_ERR_PEER);
        std::printf("%s\n", acp_error_message());
        print("keeps its pages", copy == kept && is_written(words, pages / 2, 1));
        std::fflush(stdout);
        kill(agent, SIGCONT);
    }
    // What node 0 had sent before may still arrive when the agent continues: then the ranks of node 1
    // pass this barrier, and not the next one.
    if (acp_rank() != 0) {
        const bool is_refused = acp_barrier_dsm() != 0 || acp_barrier_dsm() != 0;
        print("is refused by the barrier", is_refused && acp_errno() == ACP_ERR_PEER);
    }
    print("reads its copy", copy == kept);
    acp_finalize();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    acp::test::arm_watchdog(120, "dsm_stop_probe");
    if (acp_init(&argc, &argv) != 0 || argc != 2 || acp_init_dsm(pages * 4096) != 0) return 3;
    auto* const words = static_cast<volatile std::uint64_t*>(acp_alloc_dsm(pages * 4096));
    if (words == nullptr) return 3;
    write(words, 1);
    if (acp_barrier_dsm() != 0) return 3;
    return std::strcmp(argv[1], "rank") == 0 ? with_stopped_rank(words) : with_stopped_agent(words);
}
