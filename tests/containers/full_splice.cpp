// SPDX-License-Identifier: BSD-3-Clause
// Ranks 0 and 2 move elements between a list of rank 0 and one of the last rank, while ranks 1 and
// 3 allocate and free in the two heaps, which have room only at times. A move that finds no room
// changes nothing, and no element is lost or doubled, whichever rank takes the room in between.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "containers/model.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr std::size_t elements = 200;
constexpr int churned[2] = {0, 3};  // the ranks with a list

// The lists that rank 0 has made, and the number of ranks that have finished their moves.
struct Shared {
    acp_list_t lists[2];
    std::uint64_t done;
};

// The bytes of an element, by its number: short ones lie in the node, long ones in a block apart.
std::string bytes_of(std::size_t number) {
    constexpr std::size_t sizes[] = {8, 100, 900, 961, 3'000};
    std::string bytes(sizes[number % std::size(sizes)], static_cast<char>('a' + number % 26));
    bytes[0] = static_cast<char>(number);
    return bytes;
}

acp_ga_t shared_at(std::size_t offset) {
    return acp_query_starter_ga(0) + offset;
}

std::uint64_t done_ranks() {
    std::uint64_t done = 0;
    must(acp_wait(acp_get(&done, shared_at(offsetof(Shared, done)), sizeof done, ACP_HANDLE_NULL),
                  -1) == 0,
         "acp_get");
    return done;
}

// Allocates in a heap until it is full, frees a few blocks, and again.
void churn(int rank, Random& random) {
    constexpr std::size_t sizes[] = {40, 1'000, 3'100};
    std::vector<acp_ga_t> blocks;
    for (std::uint64_t i = 0; i % 64 != 0 || done_ranks() < 2; ++i) {
        const acp_ga_t block = acp_malloc(sizes[random.below(std::size(sizes))], rank);
        if (block != ACP_GA_NULL) {
            blocks.push_back(block);
            continue;
        }
        must(acp_errno() == ACP_ERR_MEMORY, "acp_malloc in a full heap");
        for (int freed = 0; freed < 6 && !blocks.empty(); ++freed) {
            std::swap(blocks[random.below(blocks.size())], blocks.back());
            acp_free(blocks.back());
            blocks.pop_back();
        }
    }
    for (const acp_ga_t block : blocks) acp_free(block);
    acp_clear_errno();
}

// Takes an element out of a list, and inserts it there again with its bytes on another rank: a move to
// that rank then frees a block of the heap where it makes one. Repeats the insertion until the other
// ranks have freed enough.
void store_elsewhere(const acp_list_t& list, int rank) {
    std::array<char, 4'096> bytes{};
    const int64_t size = acp_take_front_list(list, bytes.data(), bytes.size());
    if (size == ACP_NONE) return;
    must(size > 0, "acp_take_front_list");
    while (acp_push_back_list(list, bytes.data(), static_cast<std::size_t>(size), rank) != 0)
        must(acp_errno() == ACP_ERR_MEMORY, "acp_push_back_list");
    acp_clear_errno();
}

// Moves elements to and fro; a move may find no room.
void move_elements(const Shared& shared, int calls, Random& random) {
    for (int i = 0; i < calls; ++i) {
        const acp_list_t& from = shared.lists[i % 2];
        const acp_list_t& to = shared.lists[1 - i % 2];
        if (random.chance(30)) store_elsewhere(from, churned[1 - i % 2]);
        const acp_list_it_t element = acp_begin_list(from);
        const acp_list_it_t before = random.chance(50) ? acp_begin_list(to) : acp_end_list(to);
        must(element.elem != ACP_GA_NULL && before.elem != ACP_GA_NULL, "acp_begin_list");
        if (element.elem == from.ga) continue;
        if (acp_splice_list(before, element) == 0) continue;
        must(acp_errno() == ACP_ERR_MEMORY || acp_errno() == ACP_ERR_STALE, "acp_splice_list");
        acp_clear_errno();
    }
}

// Takes all elements out of both lists, and checks that it finds each once, with its bytes.
void take_all(const Shared& shared) {
    std::array<int, elements> found{};
    std::array<char, 4'096> bytes{};
    for (const acp_list_t& list : shared.lists) {
        while (true) {
            const int64_t size = acp_take_front_list(list, bytes.data(), bytes.size());
            if (size == ACP_NONE) break;
            must(size > 0, "acp_take_front_list");
            const auto number = static_cast<std::size_t>(static_cast<unsigned char>(bytes[0]));
            must(number < elements &&
                     std::string(bytes.data(), static_cast<std::size_t>(size)) == bytes_of(number),
                 "the bytes of an element");
            ++found[number];
        }
    }
    must(std::all_of(found.begin(), found.end(), [](int times) { return times == 1; }),
         "each element is in one of the lists, once");
}

void push_all(const Shared& shared) {
    for (std::size_t i = 0; i < elements; ++i) {
        const std::string bytes = bytes_of(i);
        must(acp_push_back_list(shared.lists[i % 2], bytes.data(), bytes.size(),
                                static_cast<int>(i / 2) % acp_procs()) == 0,
             "acp_push_back_list");
    }
}

// A move to a list whose heap is full leaves the element where it is, and its iterator valid.
void move_to_full_heap(const Shared& shared) {
    std::vector<acp_ga_t> blocks;
    for (std::size_t bytes = 65'536; bytes != 0; bytes /= 2) {
        for (acp_ga_t block = 0; (block = acp_malloc(bytes, churned[1])) != ACP_GA_NULL;)
            blocks.push_back(block);
    }
    int failed = 0;
    for (acp_list_it_t at = acp_begin_list(shared.lists[0]), next{}; at.elem != shared.lists[0].ga;
         at = next) {
        next = acp_increment_list_it(at);
        must(next.elem != ACP_GA_NULL, "the element stays at its iterator");
        const std::size_t size = acp_size_list(shared.lists[0]);
        if (acp_splice_list(acp_end_list(shared.lists[1]), at) == 0) continue;
        must(acp_errno() == ACP_ERR_MEMORY, "a move to a full heap fails for memory");
        char number = 0;
        must(acp_read_list(at, &number, 1) > 0 && acp_size_list(shared.lists[0]) == size,
             "an element that could not be moved stays at its iterator");
        ++failed;
    }
    must(failed != 0, "a full heap has no room for all elements");
    for (const acp_ga_t block : blocks) acp_free(block);
    acp_clear_errno();
}

// Runs move_elements() in several threads: with more threads than a heap has caches for one process
// they borrow the caches of both lists' heaps from each other.
void move_in_threads(const Shared& shared, int calls, int threads) {
    std::vector<std::thread> all;
    std::atomic<bool> has_failed{false};
    for (int i = 0; i < threads; ++i) {
        all.emplace_back([&, i] {
            Random random(static_cast<std::uint64_t>(acp_rank() + 10 * i) + 1);
            try {
                move_elements(shared, calls / threads, random);
            } catch (const Mismatch& mismatch) {
                std::fprintf(stderr, "thread %d: %s\n", i, mismatch.what.c_str());
                has_failed = true;
            }
        });
    }
    for (std::thread& one : all) one.join();
    must(!has_failed, "a thread's moves");
}

//   calls  moves of one rank, which its threads share
void run(int calls, int threads) {
    const int rank = acp_rank();
    auto* const own = static_cast<Shared*>(acp_query_address(acp_query_starter_ga(rank)));
    if (rank == 0) {
        *own = {{acp_create_list(churned[0]), acp_create_list(churned[1])}, 0};
        must(own->lists[0].ga != ACP_GA_NULL && own->lists[1].ga != ACP_GA_NULL, "acp_create_list");
        push_all(*own);
        move_to_full_heap(*own);
    }
    acp_sync();
    Shared shared{};
    must(acp_wait(acp_get(&shared, shared_at(0), sizeof shared, ACP_HANDLE_NULL), -1) == 0,
         "acp_get");
    Random random(static_cast<std::uint64_t>(rank) + 1);
    if (rank % 2 == 0) {
        move_in_threads(shared, calls, threads);
        acp_fetch_add8(shared_at(offsetof(Shared, done)), 1);
    } else {
        churn(churned[rank / 2], random);
    }
    acp_sync();
    if (rank == 0) {
        take_all(shared);
        for (const int heap : churned) must(acp_heap_check(heap) == 0, "acp_heap_check");
        for (const acp_list_t& list : shared.lists)
            must(acp_destroy_list(list) == 0, "acp_destroy_list");
    }
    acp_sync();
    acp_heap_stat_t stat{};
    must(acp_heap_stat(rank, &stat) == 0 && stat.blocks == 0, "no block is left");
    acp_sync();
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    acp::test::arm_watchdog(150, "moves between lists of two ranks in full heaps");
    if (acp_init(&argc, &argv) != 0) return 1;
    const int calls = argc == 3 ? std::atoi(argv[1]) : 0;
    const int threads = argc == 3 ? std::atoi(argv[2]) : 0;
    try {
        acp::test::must(calls > 0 && threads > 0 && acp_procs() == 4,
                        "usage: full_splice CALLS THREADS, on 4 ranks");
        acp::test::run(calls, threads);
    } catch (const acp::test::Mismatch& mismatch) {
        std::fprintf(stderr, "rank %d: %s: %s\n", acp_rank(), mismatch.what.c_str(),
                     acp_error_message());
        acp_abort("a call failed");
    }
    return acp_finalize() == 0 ? 0 : 1;
}
