// SPDX-License-Identifier: BSD-3-Clause
// One allocation of rank 0 is refused, another one in each round, while it makes or swaps
// containers or allocates blocks on other nodes. Whether the call succeeds or fails, no block may
// leak in any heap. Exit code 0, or 1 with the number of leaked blocks on stderr.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <acp.h>

#include "support/refuse_memory.hpp"

namespace {

using acp::test::Refusal;

std::size_t blocks_of_all() {
    std::size_t blocks = 0;
    for (int rank = 0; rank < acp_procs(); ++rank) {
        acp_heap_stat_t stat{};
        if (acp_heap_stat(rank, &stat) != 0) std::fprintf(stderr, "%s\n", acp_error_message());
        blocks += stat.blocks;
    }
    return blocks;
}

// Calls prepare() before each call(), which returns whether it has succeeded, and
// undo(has_gone_well) after it. Returns whether no block leaked.
template <typename Prepare, typename Call, typename Undo>
bool leaves_nothing(const char* name, const Prepare& prepare, const Call& call, const Undo& undo) {
    prepare();
    undo(call());  // fills the caches that later calls use
    const std::size_t before = blocks_of_all();
    std::uint64_t requests = 1;
    for (std::uint64_t first = 1; first <= requests; ++first) {
        prepare();
        bool has_gone_well = false;
        {
            const Refusal refusal(first);
            has_gone_well = call();
            requests = Refusal::seen();
        }
        undo(has_gone_well);
        const std::size_t after = blocks_of_all();
        if (after == before) continue;
        std::fprintf(stderr, "%s without request %u of %u: %ld blocks are left\n", name,
                     static_cast<unsigned>(first), static_cast<unsigned>(requests),
                     static_cast<long>(after) - static_cast<long>(before));
        return false;
    }
    return true;
}

bool maps_leave_nothing() {
    acp_map_t map{};
    return leaves_nothing(
        "acp_create_map", [] {},
        [&] {
            map = acp_create_map(0, nullptr, 8, 1);
            return map.ga != ACP_GA_NULL;
        },
        [&](bool has_gone_well) {
            if (has_gone_well) acp_destroy_map(map);
        });
}

bool exchanges_leave_nothing() {
    acp_map_t one{};
    acp_map_t all{};
    return leaves_nothing(
        "acp_swap_map",
        [&] {
            const int rank = 1;
            one = acp_create_map(1, &rank, 8, 1);
            all = acp_create_map(0, nullptr, 8, 1);
        },
        [&] { return acp_swap_map(one, all) == 0; },
        [&](bool /*has_gone_well*/) {
            acp_destroy_map(one);
            acp_destroy_map(all);
        });
}

bool blocks_leave_nothing() {
    constexpr std::size_t count = 1'000;  // more than one message carries
    const std::vector<std::size_t> sizes(count, 40);
    std::vector<acp_ga_t> blocks(count);
    return leaves_nothing(
        "acp_malloc_many", [] {},
        [&] { return acp_malloc_many(count, sizes.data(), 1, blocks.data()) == 0; },
        [&](bool has_gone_well) {
            if (has_gone_well) acp_free_many(count, blocks.data());
        });
}

}  // namespace

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) return 1;
    bool is_good = true;
    if (acp_rank() == 0) {
        is_good = maps_leave_nothing();
        is_good = blocks_leave_nothing() && is_good;
        is_good = exchanges_leave_nothing() && is_good;
    }
    acp_sync();
    acp_finalize();
    return is_good ? 0 : 1;
}
