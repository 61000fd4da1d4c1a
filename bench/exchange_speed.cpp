// SPDX-License-Identifier: BSD-3-Clause
// How long an exchange takes: two ranks, the 14 messages to eight directions of paper 003 for its
// smallest and its largest grid, all from one to the other and back; from private memory and from
// memory of acp_malloc. Beside it: copying the same bytes once within the rank, the start alone,
// and meetings by acp_sync. Medians of batches.
//   acprun -n 2 [--nodes 2] exchange_speed
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <acp.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int batches = 101;

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + batches / 2, values.end());
    return values[batches / 2];
}

template <typename Work>
double median_us(int calls, const Work& work) {
    std::vector<double> values;
    for (int batch = 0; batch < batches; ++batch) {
        acp_sync();
        const auto begin = Clock::now();
        for (int i = 0; i < calls; ++i) work();
        const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
        values.push_back(took.count() / calls);
    }
    return median(values);
}

// Of eight directions: two messages each to the north, the south and the diagonals, one each to the
// east and the west.
std::vector<std::size_t> sizes_of(std::size_t grid) {
    const std::size_t height = (2 + grid + 2) * 8;
    std::vector<std::size_t> sizes(8, height * 2);
    sizes.insert(sizes.end(), 2, height * 2 * 16);
    sizes.insert(sizes.end(), 4, height * 16);
    return sizes;
}

void measure(const char* name, const std::vector<std::size_t>& sizes, bool is_shared) {
    std::size_t all = 0;
    for (const std::size_t size : sizes) all += (size + 63) / 64 * 64;
    const acp_ga_t heap = acp_malloc(2 * all, acp_rank());
    std::vector<char> own(2 * all);
    char* const memory = is_shared ? static_cast<char*>(acp_query_address(heap)) : own.data();
    std::memset(memory, 1, 2 * all);
    const acp_pattern_t pattern = acp_create_pattern(acp_world_team());
    char* next = memory;
    for (const std::size_t size : sizes) {
        acp_add_send_pattern(pattern, 1, next, size);
        acp_add_recv_pattern(pattern, -1, next + all, size);
        next += (size + 63) / 64 * 64;
    }
    const acp_plan_t plan = acp_compile_pattern(pattern, nullptr);
    if (plan == ACP_PLAN_NULL) {
        std::fprintf(stderr, "%s\n", acp_error_message());
        return;
    }
    const int calls = all > 100'000 ? 200 : 1000;
    const double exchange_us = median_us(calls, [&] {
        acp_start_plan(plan);
        acp_wait_plan(plan);
    });
    std::vector<double> starts;
    for (int i = 0; i < batches; ++i) {
        acp_sync();
        const auto begin = Clock::now();
        acp_start_plan(plan);
        const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
        acp_wait_plan(plan);
        starts.push_back(took.count());
    }
    const double start_us = median(starts);
    const double copy_us = median_us(calls, [&] {
        char* from = memory;
        for (const std::size_t size : sizes) {
            std::memcpy(from + all, from, size);
            from += (size + 63) / 64 * 64;
        }
    });
    if (acp_rank() == 0) {
        std::printf(
            "%-6s %-8s %8zu bytes  exchange %8.2f us  start %7.3f us  copy within a rank %7.2f "
            "us\n",
            name, is_shared ? "shared" : "private", all, exchange_us, start_us, copy_us);
    }
    acp_free_plan(plan);
    acp_free_pattern(pattern);
    acp_free(heap);
}

}  // namespace

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) return 1;
    if (acp_procs() != 2) {
        std::fprintf(stderr, "two ranks\n");
        return 1;
    }
    for (const bool is_shared : {false, true}) {
        measure("60 B", std::vector<std::size_t>(14, 60), is_shared);
        measure("872 B", std::vector<std::size_t>(14, 872), is_shared);
        measure("k=60", sizes_of(60), is_shared);
        measure("k=872", sizes_of(872), is_shared);
    }
    return acp_finalize() == 0 ? 0 : 1;
}
