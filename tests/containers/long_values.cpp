// SPDX-License-Identifier: BSD-3-Clause
// Values and elements of many MiB on another node. Rank 0 removes, replaces, pops and frees them on
// rank 2, while rank 1 puts 8 bytes there; it prints the longest of these puts in each step. The heap
// has room for one and a half of them: the next allocation on either node finds the room of one that
// was removed. The gateway gives its memory back to the system without a further call.
// The argument is the length of a value in MiB.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <acp.h>

#include "containers/model.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr int remover = 0;
constexpr int putter = 1;
constexpr int owner = 2;
constexpr std::uint64_t kept_most = 10 << 20;  // what a heap without long blocks keeps
constexpr std::size_t puts_least = 2'000;
constexpr int skipped = 77;

std::uint64_t value_bytes = 0;

// The word of the owner by which the putter learns that a step has ended: 8 bytes behind the word that
// it puts.
constexpr std::uint64_t ended_at = 8;
constexpr std::uint64_t counted_at = 16;

std::uint64_t memory_of(int rank) {
    acp_heap_stat_t stat{};
    must(acp_heap_stat(rank, &stat) == 0, "acp_heap_stat");
    return stat.memory;
}

// Puts 8 bytes to the owner, one after the other, until the step has ended. Prints the longest time.
void put_until(std::uint64_t step, const char* name) {
    using Clock = std::chrono::steady_clock;
    const acp_ga_t words = acp_query_starter_ga(owner);
    std::vector<double> times_us;
    // The gateway gives memory back after the step, too.
    for (std::uint64_t ended = 0; ended < step || times_us.size() < puts_least;) {
        const std::uint64_t value = times_us.size();
        const auto begin = Clock::now();
        must(acp_wait(acp_put(words, &value, sizeof value, ACP_HANDLE_NULL), -1) == 0, "acp_put");
        times_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
        must(acp_wait(acp_get(&ended, words + ended_at, sizeof ended, ACP_HANDLE_NULL), -1) == 0,
             "acp_get");
    }
    std::sort(times_us.begin(), times_us.end());
    std::printf("%-28s %8zu puts: median %7.1f us, 99.9 %% %8.1f us, longest %9.1f us\n", name,
                times_us.size(), times_us[times_us.size() / 2],
                times_us[times_us.size() * 999 / 1000], times_us.back());
    std::fflush(stdout);
}

void end_step(std::uint64_t step) {
    must(acp_wait(
             acp_put(acp_query_starter_ga(owner) + ended_at, &step, sizeof step, ACP_HANDLE_NULL),
             -1) == 0,
         "acp_put");
}

// Makes something long, removes it while the putter puts, and checks that its room is free at once
// for a block of the same length, which rank 0 and the owner allocate in turn.
class Steps {
public:
    using Action = std::function<void()>;

    void run(const char* name, const Action& make, const Action& remove) {
        if (acp_rank() == remover) make();
        acp_sync();
        ++step_;
        if (acp_rank() == putter) put_until(step_, name);
        if (acp_rank() == remover) {
            remove();
            end_step(step_);
        }
        const bool is_owners_turn = step_ % 2 == 0;
        acp_sync();
        if (acp_rank() == (is_owners_turn ? owner : remover)) find_room(name);
        acp_sync();
        if (acp_rank() == remover) {
            while (memory_of(owner) > kept_most) {
            }
            must(acp_heap_check(owner) == 0, "acp_heap_check");
        }
        acp_sync();
    }

private:
    static void find_room(const char* name) {
        const acp_ga_t block = acp_malloc(value_bytes, owner);
        must(block != ACP_GA_NULL, std::string(name) + ": no room behind it");
        must(acp_free(block) == 0, "acp_free");
    }

    std::uint64_t step_ = 0;
};

void run_steps() {
    Steps steps;
    const std::vector<char> value(value_bytes, 'v');
    const std::string key = "key";
    acp_ga_t block = ACP_GA_NULL;
    steps.run(
        "a block is freed", [&] { block = acp_malloc(value_bytes, owner); },
        [&] { must(acp_free(block) == 0, "acp_free"); });
    steps.run(
        "a block is made", [] {},
        [&] {
            block = acp_malloc(value_bytes, owner);
            must(block != ACP_GA_NULL && acp_free(block) == 0, "acp_malloc");
        });
    acp_map_t map{};
    if (acp_rank() == remover) map = acp_create_map(1, &owner, 16, owner);
    const auto assign = [&] {
        must(acp_insert_or_assign_map(map, key.data(), key.size(), value.data(), value.size()) >= 0,
             "acp_insert_or_assign_map");
    };
    steps.run("a value is removed", assign,
              [&] { must(acp_remove_map(map, key.data(), key.size()) == 1, "acp_remove_map"); });
    steps.run("a value is replaced", assign, [&] {
        must(acp_insert_or_assign_map(map, key.data(), key.size(), "short", 5) == 0,
             "acp_insert_or_assign_map");
    });
    steps.run("a map is cleared", assign, [&] { must(acp_clear_map(map) == 0, "acp_clear_map"); });
    acp_list_t list{};
    if (acp_rank() == remover) list = acp_create_list(owner);
    const auto push = [&] {
        must(acp_push_back_list(list, value.data(), value.size(), owner) == 0,
             "acp_push_back_list");
    };
    steps.run("an element is popped", push,
              [&] { must(acp_pop_front_list(list) == 0, "acp_pop_front_list"); });
    steps.run("a list is cleared", push,
              [&] { must(acp_clear_list(list) == 0, "acp_clear_list"); });
    acp_vector_t vector{};
    steps.run(
        "a vector is destroyed", [&] { vector = acp_create_vector(value_bytes, owner); },
        [&] { must(acp_destroy_vector(vector) == 0, "acp_destroy_vector"); });
    if (acp_rank() == remover) {
        must(acp_destroy_map(map) == 0, "acp_destroy_map");
        must(acp_destroy_list(list) == 0, "acp_destroy_list");
    }
}

// Whether the machine has memory for three values: in the heap, at the caller, and in transit.
bool has_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    for (std::uint64_t kib = 0; file >> name >> kib; file.ignore(100, '\n')) {
        if (name == "MemAvailable:") return kib << 10 > 4 * value_bytes;
    }
    return false;
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    using namespace acp::test;
    arm_watchdog(280, "removing long values on another node");
    if (acp_init(&argc, &argv) != 0) return 1;
    value_bytes = std::strtoull(argv[1], nullptr, 10) << 20;
    int result = 0;
    // Every rank reads the same number, or a few ranks would skip.
    std::uint64_t* const words =
        static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(acp_rank())));
    words[counted_at / 8] = has_memory() ? 1 : 0;
    acp_sync();
    std::uint64_t has_room = 0;
    const acp_handle_t got = acp_get(&has_room, acp_query_starter_ga(owner) + counted_at,
                                     sizeof has_room, ACP_HANDLE_NULL);
    if (acp_wait(got, -1) != 0) return 1;
    if (has_room == 0) {
        result = skipped;
    } else {
        try {
            run_steps();
        } catch (const Mismatch& mismatch) {
            std::fprintf(stderr, "rank %d: %s\n", acp_rank(), mismatch.what.c_str());
            return 1;
        }
    }
    return acp_finalize() == 0 ? result : 1;
}
