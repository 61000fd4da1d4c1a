// SPDX-License-Identifier: BSD-3-Clause
// The program whose last rank dies after it has put elements on itself into lists of rank 0 and of rank 2, its node's other one. What
// takes them says that they cannot be read, and leaves them; what pops them or destroys the lists takes them out. Of 4 ranks on 2
// nodes. Prints "done".
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>

#include <acp.h>

#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr int victim = 3;
const std::string text(5'000, 't');

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "rank %d: %s: %s\n", acp_rank(), what, acp_error_message());
    std::fflush(stderr);
    _exit(3);
}

void must(bool is_so, const char* what) {
    if (!is_so) give_up(what);
}

// At the start of each rank's starter memory.
struct Start {
    std::array<acp_list_t, 2> lists;
    volatile std::uint64_t is_over;
};

Start& start_of_own() {
    return *static_cast<Start*>(acp_query_address(acp_query_starter_ga(acp_rank())));
}

bool is_dead_noticed() {
    std::uint64_t word = 0;
    return acp_wait(acp_get(&word, acp_query_starter_ga(victim), sizeof word, ACP_HANDLE_NULL),
                    -1) != ACP_OK;
}

// The element before those of the dead can be taken, theirs cannot, and the list goes on.
void expect_kept(acp_list_t list) {
    std::array<char, 8'000> room;  // NOLINT: written as far as read
    must(acp_take_front_list(list, room.data(), room.size()) == 5 &&
             std::memcmp(room.data(), "first", 5) == 0,
         "taking what is there");
    for (int i = 0; i < 2; ++i) {
        must(acp_take_front_list(list, room.data(), room.size()) == -1 &&
                 acp_errno() == ACP_ERR_PEER &&
                 std::string(acp_error_message()).find("stays in the list") != std::string::npos,
             "taking what cannot be read");
        must(acp_size_list(list) == 4, "the element stays");
    }
    must(acp_push_front_list(list, "again", 5, 0) == 0, "pushing to the list");
    must(acp_take_front_list(list, room.data(), room.size()) == 5, "taking that");
    must(acp_take_back_list(list, room.data(), room.size()) == 4 &&
             std::memcmp(room.data(), "last", 4) == 0,
         "taking the last");
    must(acp_take_back_list(list, room.data(), room.size()) == -1, "taking back what is not there");
    must(acp_size_list(list) == 3, "three stay");
    must(acp_pop_front_list(list) == 0 && acp_size_list(list) == 2, "popping the first");
    const acp_list_it_t next = acp_erase_list(acp_begin_list(list));
    must(next.elem != ACP_GA_NULL && acp_size_list(list) == 1, "erasing the second");
    must(acp_destroy_list(list) == 0, "destroying the list");
}

void end_others() {
    const std::uint64_t one = 1;
    for (const int rank : {1, 2}) {
        must(acp_wait(acp_put(acp_query_starter_ga(rank) + offsetof(Start, is_over), &one,
                              sizeof one, ACP_HANDLE_NULL),
                      -1) == ACP_OK,
             "acp_put");
    }
}

int run() {
    Start& start = start_of_own();
    start.is_over = 0;
    must(acp_sync() == 0, "acp_sync");
    if (acp_rank() == victim) {
        for (const int home : {0, 2}) {
            acp_list_t& list = start.lists[home == 0 ? 0 : 1];
            list = acp_create_list(home);
            must(acp_push_back_list(list, "first", 5, home) == 0, "pushing to the list");
            for (int i = 0; i < 3; ++i) {
                must(acp_push_back_list(list, text.data(), text.size(), victim) == 0,
                     "pushing to the list");
            }
            must(acp_push_back_list(list, "last", 4, home) == 0, "pushing to the list");
        }
        must(acp_wait(acp_put(acp_query_starter_ga(0), &start.lists, sizeof start.lists,
                              ACP_HANDLE_NULL),
                      -1) == ACP_OK,
             "acp_put");
    }
    must(acp_sync() == 0, "acp_sync");
    if (acp_rank() == victim) raise(SIGKILL);
    if (acp_rank() != 0) {
        while (start.is_over == 0) usleep(100);  // lint: a pause between looks
        (void)acp_finalize();
        return 0;
    }
    while (!is_dead_noticed()) usleep(100);  // lint: a pause between looks
    for (const acp_list_t list : start.lists) expect_kept(list);
    end_others();
    std::printf("done\n");
    std::fflush(stdout);
    (void)acp_finalize();
    return 0;
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    acp::test::arm_watchdog(60, "lists with elements on a dead rank");
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "%s\n", acp_error_message());
        return 1;
    }
    return acp::test::run();
}
