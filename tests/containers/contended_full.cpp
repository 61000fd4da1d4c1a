// SPDX-License-Identifier: BSD-3-Clause
// Ranks push and take short elements of one vector or deque in a heap without any room. Its body has
// room for them, so no call fails for memory, whichever rank the kernel suspends inside a call.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <acp.h>

#include "containers/model.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr std::size_t element_bytes = 8;
constexpr std::size_t capacity = 16'384;

// One of the two containers, at rank 0.
struct Ends {
    bool is_deque;
    acp_vector_t vector;
    acp_deque_t deque;

    [[nodiscard]] int64_t push(std::uint64_t value) const {
        return is_deque ? acp_push_back_deque(deque, &value, element_bytes)
                        : acp_push_back_vector(vector, &value, element_bytes);
    }

    [[nodiscard]] int64_t take(bool is_front) const {
        std::uint64_t value = 0;
        if (!is_deque) return acp_take_back_vector(vector, &value, element_bytes);
        return is_front ? acp_take_front_deque(deque, &value, element_bytes)
                        : acp_take_back_deque(deque, &value, element_bytes);
    }

    [[nodiscard]] std::size_t bytes() const {
        return is_deque ? acp_size_deque(deque) : acp_size_vector(vector);
    }
};

void fill_heap() {
    for (std::size_t bytes = 65'536; bytes != 0; bytes /= 2) {
        while (acp_malloc(bytes, 0) != ACP_GA_NULL) {
        }
    }
    acp_clear_errno();
}

//   calls  of each rank
void run(bool is_deque, int calls) {
    Ends ends{is_deque, {}, {}};
    auto* const told = static_cast<acp_ga_t*>(acp_query_address(acp_query_starter_ga(0)));
    if (acp_rank() == 0) {
        ends.vector = acp_create_vector(0, 0);
        ends.deque = acp_create_deque(capacity, 0);
        must(acp_reserve_vector(ends.vector, capacity) >= 0, "acp_reserve_vector");
        for (std::uint64_t i = 0; i < 100; ++i) must(ends.push(i) >= 0, "the first elements");
        const acp_ga_t both[2] = {ends.vector.ga, ends.deque.ga};
        std::memcpy(told, both, sizeof both);
        fill_heap();
    }
    acp_sync();
    acp_ga_t both[2] = {};
    must(acp_wait(acp_get(both, acp_query_starter_ga(0), sizeof both, ACP_HANDLE_NULL), -1) == 0,
         "acp_get");
    ends.vector.ga = both[0];
    ends.deque.ga = both[1];
    Random random(static_cast<std::uint64_t>(acp_rank()) + 1);
    for (int i = 0; i < calls; ++i) {
        const bool is_push = random.chance(50) && ends.bytes() < capacity / 2;
        const int64_t result = is_push ? ends.push(1) : ends.take(random.chance(50));
        must(result >= 0, is_push ? "a push in a full heap" : "a take in a full heap");
    }
    acp_sync();
    if (acp_rank() == 0) must(acp_heap_check(0) == 0, "acp_heap_check");
    acp_sync();
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    acp::test::arm_watchdog(150, "a vector and a deque of several ranks in a full heap");
    if (acp_init(&argc, &argv) != 0) return 1;
    const int calls = argc == 2 ? std::atoi(argv[1]) : 0;
    try {
        acp::test::must(calls > 0, "usage: contended_full CALLS");
        for (const bool is_deque : {false, true}) {
            acp::test::run(is_deque, calls);
            acp_reset(acp_rank());
        }
    } catch (const acp::test::Mismatch& mismatch) {
        std::fprintf(stderr, "rank %d: %s: %s\n", acp_rank(), mismatch.what.c_str(),
                     acp_error_message());
        acp_abort("a call failed");
    }
    return acp_finalize() == 0 ? 0 : 1;
}
