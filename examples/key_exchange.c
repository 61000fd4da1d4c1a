/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sorts integers by an exchange of buckets: each rank has random keys and shall have those of its range. For each bucket it takes room in the memory of
 * the rank of that range by an addition, puts the keys there, and then a signal. It waits for one signal of each rank, and sorts.
 *
 *   acprun -n 4 ./key_exchange
 *
 * prints
 *
 *   4 ranks sorted 4096 keys
 *
 * 1 to 16 ranks. Exits with 1 when a key is missing or at the wrong place.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <acp.h>

enum { keys_all = 4096, room = 2 * keys_all, key_limit = 1 << 20 };

/* At the start of every rank's starter memory. */
typedef struct {
    uint64_t taken;   /* places of keys */
    uint64_t buckets; /* how many have come */
    uint32_t keys[room];
} range_t;

static int compare(const void* a, const void* b) {
    const uint32_t first = *(const uint32_t*)a, second = *(const uint32_t*)b;
    return (first > second) - (first < second);
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) return EXIT_FAILURE;
    const int rank = acp_rank(), procs = acp_procs(), keys = keys_all / procs;
    range_t* in = acp_query_address(acp_query_starter_ga(rank));
    uint32_t random = 12345U + (uint32_t)rank;
    static uint32_t buckets[16][keys_all];
    size_t counts[16] = {0};
    for (int i = 0; i < keys; ++i) {
        random = random * 1664525U + 1013904223U;
        const uint32_t key = (random >> 8) % key_limit;
        const int to = (int)((uint64_t)key * (uint64_t)procs / key_limit);
        buckets[to][counts[to]++] = key;
    }
    for (int to = 0; to < procs; ++to) {
        const acp_ga_t there = acp_query_starter_ga(to);
        const uint64_t at = acp_fetch_add8(there + offsetof(range_t, taken), counts[to]);
        acp_put_signal(there + offsetof(range_t, keys) + at * sizeof(uint32_t), buckets[to],
                       counts[to] * sizeof(uint32_t), there + offsetof(range_t, buckets), 1,
                       ACP_HANDLE_NULL);
    }
    if (acp_wait_word(&in->buckets, 8, ACP_WORD_EQUAL, (uint64_t)procs, -1) != ACP_OK)
        acp_abort("key_exchange");
    qsort(in->keys, in->taken, sizeof(uint32_t), compare);
    int wrong = 0;
    for (uint64_t i = 0; i < in->taken; ++i)
        wrong += (int)((uint64_t)in->keys[i] * (uint64_t)procs / key_limit) != rank;
    const acp_ga_t all = acp_query_starter_ga(0) + sizeof(range_t);
    acp_complete(acp_add8(ACP_GA_NULL, all, in->taken, ACP_HANDLE_NULL));
    acp_sync();
    const uint64_t sorted = acp_fetch_add8(all, 0);
    wrong += sorted != (uint64_t)(keys * procs);
    if (rank == 0 && wrong == 0) printf("%d ranks sorted %d keys\n", procs, (int)sorted);
    return acp_finalize() == 0 && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
