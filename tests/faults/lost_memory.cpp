// SPDX-License-Identifier: BSD-3-Clause
// Ranks that use lists, and a map, of which elements or the whole are in memory that is gone: that
// of the last rank, which dies with its gateway, or whose node is lost. Calls that need that memory
// fail with ACP_ERR_PEER and leave the list as it is; all others work. Rank 0 uses lists of its own
// and of rank 1. Argument: "agent" where the last rank, alone on its node, stops the node's agent.
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <unistd.h>

#include <acp.h>

#include "faults/checked_rank.hpp"

namespace acp::test {
namespace {

const std::string lost_text(5'000, 't');
constexpr int lost_elements = 3;
constexpr int keys = 20;

int victim() {
    return acp_procs() - 1;
}

// The result of a call that failed for the lost rank. acp_errno() is ACP_OK after success.
void must_be_lost(bool has_failed, const std::string& what) {
    must(has_failed && acp_errno() == ACP_ERR_PEER, what + " did not fail with ACP_ERR_PEER");
}

// At the start of each rank's starter memory. Only rank 0's has the lists. Rank 0 sets is_over of
// rank 1; the victim counts in its own the ranks that have left acp_sync.
struct Start {
    std::array<acp_list_t, 2> lists;  // on ranks 0 and 1: "first", lost elements, "last"
    acp_list_t lost;                  // a list on the victim with one element on rank 0
    acp_list_it_t lost_element;       // of it
    acp_map_t map;                    // a map on the victim and rank 1
    pid_t agent;                      // the victim's
    std::uint64_t is_over;
};

Start& start_of_own() {
    return *static_cast<Start*>(acp_query_address(acp_query_starter_ga(acp_rank())));
}

//   is_by_agent  whether it stops its node's agent, which runs the gateway, and dies once rank 0
//                lets the agent run
[[noreturn]] void leave_lists_and_die(bool is_by_agent) {
    Start start{};
    for (const int home : {0, 1}) {
        acp_list_t& list = start.lists[static_cast<std::size_t>(home)];
        list = acp_create_list(home);
        must(acp_push_back_list(list, "first", 5, home) == 0, "pushing the first element");
        for (int i = 0; i < lost_elements; ++i) {
            must(acp_push_back_list(list, lost_text.data(), lost_text.size(), victim()) == 0,
                 "pushing an element on the victim");
        }
        must(acp_push_back_list(list, "last", 4, home) == 0, "pushing the last element");
    }
    start.lost = acp_create_list(victim());
    must(acp_push_back_list(start.lost, lost_text.data(), lost_text.size(), 0) == 0,
         "pushing to the victim's list");
    start.lost_element = acp_begin_list(start.lost);
    const std::array<int, 2> homes{victim(), 1};
    start.map = acp_create_map(2, homes.data(), 4, 0);
    for (int key = 0; key < keys; ++key) {
        must(acp_insert_if_absent_map(start.map, &key, sizeof key, &key, sizeof key) == 1,
             "acp_insert_if_absent_map");
    }
    start.agent = getppid();
    must(acp_wait(
             acp_put(acp_query_starter_ga(0), &start, offsetof(Start, is_over), ACP_HANDLE_NULL),
             -1) == ACP_OK,
         "acp_put");
    must(acp_sync() == 0, "acp_sync");
    // Until the others have left acp_sync.
    must(acp_wait_word(&start_of_own().is_over, 8, ACP_WORD_EQUAL, 2, -1) == ACP_OK,
         "acp_wait_word");
    if (is_by_agent) {
        kill(getppid(), SIGSTOP);
        // Until rank 0 lets the agent run, which then finds the other node lost.
        (void)acp_wait_word(&start_of_own().is_over, 8, ACP_WORD_EQUAL, 3, -1);
    }
    raise(SIGKILL);
    _exit(4);
}

class Survivor {
public:
    Survivor(acp_list_t list, int home) : list_(list), home_(home) {}

    void use_list() {
        expect_size(2 + lost_elements);
        must(take_front() == "first", "taking the element before the lost ones");
        for (int i = 0; i < 2; ++i) {
            expect_unreadable(acp_take_front_list(list_, room_.data(), room_.size()),
                              1 + lost_elements);
        }
        must(acp_push_front_list(list_, "again", 5, 0) == 0, "pushing to the list");
        must(take_front() == "again", "the element taken is the pushed one");
        expect_reads_to_fail();
        expect_moves_to_work();
        must(acp_take_back_list(list_, room_.data(), room_.size()) == 4 &&
                 std::memcmp(room_.data(), "last", 4) == 0,
             "taking the element behind the lost ones");
        expect_unreadable(acp_take_back_list(list_, room_.data(), room_.size()), lost_elements);
        expect_removal_to_work();
    }

private:
    void expect_size(std::size_t elements) const {
        must(acp_size_list(list_) == elements,
             "a list of " + std::to_string(elements) + " elements");
        std::size_t walked = 0;
        const acp_list_it_t end = acp_end_list(list_);
        for (acp_list_it_t it = acp_begin_list(list_); it.elem != end.elem;
             it = acp_increment_list_it(it)) {
            must(it.elem != ACP_GA_NULL, "walking over the list");
            ++walked;
        }
        must(walked == elements, "walking over " + std::to_string(elements) + " elements");
    }

    std::string take_front() {
        const std::int64_t bytes = acp_take_front_list(list_, room_.data(), room_.size());
        must(bytes >= 0, "acp_take_front_list");
        return {room_.data(), static_cast<std::size_t>(bytes)};
    }

    //   elements  that the list has
    void expect_unreadable(std::int64_t taken, std::size_t elements) const {
        must_be_lost(taken == -1, "taking a lost element");
        must(std::string(acp_error_message()).find("stays in the list") != std::string::npos,
             "the message of a take");
        expect_size(elements);
    }

    // The list: lost elements and "last".
    void expect_reads_to_fail() {
        const acp_list_it_t lost = acp_begin_list(list_);
        must_be_lost(acp_read_list(lost, room_.data(), room_.size()) == -1, "acp_read_list");
        const acp_element_t element = acp_dereference_list_it(lost);
        must(element.size == lost_text.size(), "the size of a lost element");
        must_be_lost(acp_wait(acp_get(room_.data(), element.ga, element.size, ACP_HANDLE_NULL),
                              -1) == ACP_ERR_PEER,
                     "acp_get from a lost element");
        const acp_list_t copy = acp_create_list(0);
        must_be_lost(acp_assign_list(copy, list_) == -1, "acp_assign_list");
        must(acp_destroy_list(copy) == 0, "destroying the unfinished copy");
        must_be_lost(acp_push_back_list(list_, lost_text.data(), lost_text.size(), victim()) == -1,
                     "pushing an element on the victim");
        const acp_list_t apart = acp_create_list(1 - home_);
        must_be_lost(acp_splice_list(acp_end_list(apart), lost) == -1,
                     "moving a lost element to a list of another rank");
        must_be_lost(acp_swap_list(list_, apart) == -1,
                     "exchanging lost elements with a list of another rank");
        must(acp_size_list(apart) == 0 && acp_destroy_list(apart) == 0,
             "the list to which no element could move");
        must_be_lost(acp_unique_list(list_) == -1, "acp_unique_list");
        must_be_lost(acp_remove_list(list_, lost_text.data(), lost_text.size()) == -1,
                     "acp_remove_list");
        expect_size(1 + lost_elements);
    }

    static int longer_first(const acp_element_t one, const acp_element_t other) {
        return one.size > other.size ? -1 : (one.size < other.size ? 1 : 0);
    }

    // Calls that need no element's bytes.
    void expect_moves_to_work() {
        must(acp_reverse_list(list_) == 0 && acp_reverse_list(list_) == 0, "acp_reverse_list");
        must(acp_sort_list(list_, longer_first) == 0, "acp_sort_list by sizes");
        const acp_list_t other = acp_create_list(home_);
        must(acp_swap_list(list_, other) == 0 && acp_size_list(list_) == 0 &&
                 acp_swap_list(list_, other) == 0,
             "acp_swap_list");
        must(acp_splice_range_list(acp_end_list(other), acp_begin_list(list_),
                                   acp_end_list(list_)) == 0 &&
                 acp_size_list(list_) == 0 && acp_swap_list(list_, other) == 0,
             "acp_splice_range_list");
        must(acp_destroy_list(other) == 0, "destroying an empty list");
        expect_size(1 + lost_elements);
    }

    // The list: lost elements.
    void expect_removal_to_work() {
        expect_size(lost_elements);
        must(acp_pop_front_list(list_) == 0, "popping a lost element");
        expect_size(lost_elements - 1);
        must(acp_erase_list(acp_begin_list(list_)).elem != ACP_GA_NULL, "erasing a lost element");
        expect_size(lost_elements - 2);
        must(acp_push_back_list(list_, "more", 4, 0) == 0, "pushing behind a lost element");
        must(acp_clear_list(list_) == 0, "clearing a list with a lost element");
        expect_size(0);
        must(acp_push_back_list(list_, "new", 3, 0) == 0 && take_front() == "new",
             "using the cleared list");
        must(acp_destroy_list(list_) == 0, "destroying the list");
    }

    acp_list_t list_;
    int home_;
    std::array<char, 8'000> room_{};
};

// All calls on a list that is itself gone.
void expect_gone(const Start& start) {
    std::array<char, 8'000> room{};
    const acp_list_t list = start.lost;
    must_be_lost(acp_push_back_list(list, "x", 1, 0) == -1, "acp_push_back_list");
    must_be_lost(acp_push_front_list(list, "x", 1, 0) == -1, "acp_push_front_list");
    must_be_lost(acp_take_front_list(list, room.data(), room.size()) == -1, "acp_take_front_list");
    must_be_lost(acp_take_back_list(list, room.data(), room.size()) == -1, "acp_take_back_list");
    must_be_lost(acp_pop_front_list(list) == -1, "acp_pop_front_list");
    must_be_lost(acp_pop_back_list(list) == -1, "acp_pop_back_list");
    must_be_lost(acp_size_list(list) == static_cast<std::size_t>(-1), "acp_size_list");
    must_be_lost(acp_empty_list(list) == -1, "acp_empty_list");
    must_be_lost(acp_begin_list(list).elem == ACP_GA_NULL, "acp_begin_list");
    must_be_lost(acp_read_list(start.lost_element, room.data(), room.size()) == -1,
                 "acp_read_list");
    must_be_lost(acp_increment_list_it(start.lost_element).elem == ACP_GA_NULL,
                 "acp_increment_list_it");
    must_be_lost(acp_insert_list(start.lost_element, "x", 1, 0).elem == ACP_GA_NULL,
                 "acp_insert_list");
    must_be_lost(acp_erase_list(start.lost_element).elem == ACP_GA_NULL, "acp_erase_list");
    must_be_lost(acp_clear_list(list) == -1, "acp_clear_list");
    must_be_lost(acp_reverse_list(list) == -1, "acp_reverse_list");
    must_be_lost(acp_sort_list(list, [](acp_element_t, acp_element_t) { return 0; }) == -1,
                 "acp_sort_list");
    must_be_lost(acp_create_list(victim()).ga == ACP_GA_NULL, "acp_create_list");
    must_be_lost(acp_destroy_list(list) == -1, "acp_destroy_list");
}

// acp_clear_map fails, and has cleared the tables that it could reach.
void clear_map(acp_map_t map) {
    must_be_lost(acp_clear_map(map) == -1, "acp_clear_map");
    int unknown = 0;
    for (int key = 0; key < keys; ++key) {
        int value = 0;
        std::size_t bytes = sizeof value;
        const int found = acp_retrieve_map(map, &key, sizeof key, &value, &bytes);
        must(found != 1, "an entry on rank 1 is there after acp_clear_map");
        if (found == -1) ++unknown;
    }
    must(unknown > 0 && unknown < keys, "entries on both ranks");
}

void end_rank_1() {
    must(acp_wait(
             acp_put_signal(acp_query_starter_ga(1), nullptr, 0,
                            acp_query_starter_ga(1) + offsetof(Start, is_over), 1, ACP_HANDLE_NULL),
             -1) == ACP_OK,
         "acp_put_signal");
}

// A death ends the wait once.
void await_end() {
    int code = ACP_ERR_PEER;
    while (code == ACP_ERR_PEER) {
        code = acp_wait_word(&start_of_own().is_over, 8, ACP_WORD_EQUAL, 1, -1);
    }
    must(code == ACP_OK, "acp_wait_word");
}

void run(bool is_by_agent) {
    start_of_own() = Start{};
    must(acp_sync() == 0, "acp_sync");
    if (acp_rank() == victim()) leave_lists_and_die(is_by_agent);
    must(acp_sync() == 0, "acp_sync");
    // The victim may die before the handle ends.
    (void)acp_wait(
        acp_add8(acp_query_starter_ga(acp_rank()) + sizeof(Start),
                 acp_query_starter_ga(victim()) + offsetof(Start, is_over), 1, ACP_HANDLE_NULL),
        -1);
    // Fails once this rank's node knows of the death.
    must_be_lost(acp_sync() == -1, "acp_sync with a lost rank");
    if (acp_rank() == 0) {
        const Start& start = start_of_own();
        for (const int home : {0, 1}) {
            Survivor(start.lists[static_cast<std::size_t>(home)], home).use_list();
        }
        expect_gone(start);
        clear_map(start.map);
        must(acp_heap_check(0) == 0 && acp_heap_check(1) == 0, "acp_heap_check");
        end_rank_1();
        if (is_by_agent) kill(start.agent, SIGCONT);
    } else {
        await_end();
    }
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_checked(argc, argv, "lists with elements in lost memory", [&] {
        acp::test::run(argc == 2 && std::strcmp(argv[1], "agent") == 0);
    });
}
