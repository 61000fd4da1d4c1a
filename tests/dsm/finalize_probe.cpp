// SPDX-License-Identifier: BSD-3-Clause
// Four ranks, of which rank 1 kills itself: the barrier of the others fails. The rank whose heap has the
// pages of a node then gives them up, by acp_finalize_dsm or by its end with acp_finalize. Thereafter a
// rank of the other node, or on one node another rank, reads and writes pages that it did not have.
//   dsm_finalize_probe NODES finalize_dsm|finalize
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <acp.h>

#include "support/watchdog.hpp"

namespace {

constexpr std::size_t page_words = 4096 / 8;
constexpr std::size_t pages = 64;

void give(int rank, std::uint64_t word) {
    acp_complete(acp_put_copied(acp_query_starter_ga(rank), &word, sizeof word, ACP_HANDLE_NULL));
}

// The word that another rank gives this one.
std::uint64_t take() {
    const auto* const word = static_cast<const volatile std::uint64_t*>(
        acp_query_address(acp_query_starter_ga(acp_rank())));
    while (*word == 0)  // the wait returns when a rank has died, too
        acp_wait_word(word, sizeof *word, ACP_WORD_NOT_EQUAL, 0, -1);
    return *word;
}

bool await_end(pid_t process) {
    const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (descriptor < 0) return errno == ESRCH;
    pollfd ended{descriptor, POLLIN, 0};
    while (poll(&ended, 1, -1) < 0) {
    }
    return close(descriptor) == 0;
}

// Memory of the heap that the failed call freed would be this block.
int overwrite_free_memory() {
    constexpr std::size_t bytes = pages * page_words * 8;
    const acp_ga_t block = acp_malloc(bytes, acp_rank());
    if (block == ACP_GA_NULL) return 5;
    std::memset(acp_query_address(block), 0xff, bytes);
    return 0;
}

// The leader.
int give_up(const volatile std::uint64_t* words, int reader, bool ends_pages) {
    std::printf("free: %d, error %d\n", acp_free_dsm(const_cast<std::uint64_t*>(words)),
                acp_errno());
    int result = 0;
    if (ends_pages) {
        std::printf("finalize_dsm: %d, error %d\n", acp_finalize_dsm(), acp_errno());
        result = overwrite_free_memory();
    }
    std::fflush(stdout);
    give(reader, static_cast<std::uint64_t>(getpid()));
    if (ends_pages) take();
    acp_finalize();
    return result;
}

int read_and_write(volatile std::uint64_t* words, int leader, bool has_ended_pages) {
    const auto process = static_cast<pid_t>(take());
    if (!has_ended_pages && !await_end(process)) return 6;
    std::uint64_t sum = 0;
    for (std::size_t page = 0; page < pages; ++page) {
        sum += words[page * page_words];
        words[page * page_words + 1] = page;
        sum += words[page * page_words + 1];
    }
    std::printf("the pages have %llu\n", static_cast<unsigned long long>(sum));
    std::fflush(stdout);
    give(3, 1);
    if (has_ended_pages) give(leader, 1);
    acp_finalize();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    acp::test::arm_watchdog(60, "dsm_finalize_probe");
    if (acp_init(&argc, &argv) != 0 || argc != 3) return 3;
    const bool is_of_one_node = std::atoi(argv[1]) == 1;
    const int leader = is_of_one_node ? 0 : 2;
    const int reader = 2 - leader;
    if (acp_init_dsm(pages * 4096) != 0) return 3;
    auto* const words = static_cast<volatile std::uint64_t*>(acp_alloc_dsm(pages * 4096));
    if (words == nullptr) return 3;
    if (acp_rank() == leader)
        for (std::size_t page = 0; page < pages; ++page) words[page * page_words] = 5;
    if (acp_barrier_dsm() != 0) return 3;
    if (acp_rank() == 1) raise(SIGKILL);
    if (acp_barrier_dsm() == 0 || acp_errno() != ACP_ERR_PEER) return 4;
    const bool ends_pages = std::strcmp(argv[2], "finalize_dsm") == 0;
    if (acp_rank() == leader) return give_up(words, reader, ends_pages);
    if (acp_rank() == reader) return read_and_write(words, leader, ends_pages);
    take();
    acp_finalize();
    return 0;
}
