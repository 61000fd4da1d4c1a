/* SPDX-License-Identifier: BSD-3-Clause */
/* The counterpart of examples/key_exchange.c in OpenSHMEM. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { keys_all = 4096, room = 2 * keys_all, key_limit = 1 << 20 };

/* In the memory of every rank. */
typedef struct {
    unsigned long taken;   /* places of keys */
    unsigned long buckets; /* how many have come */
    unsigned long all;
    uint32_t keys[room];
} range_t;

static range_t in;

static int compare(const void* a, const void* b) {
    const uint32_t first = *(const uint32_t*)a, second = *(const uint32_t*)b;
    return (first > second) - (first < second);
}

int main(void) {
    shmem_init();
    const int rank = shmem_my_pe(), procs = shmem_n_pes(), keys = keys_all / procs;
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
        const uint64_t at = shmem_ulong_atomic_fetch_add(&in.taken, counts[to], to);
        shmem_uint32_put(&in.keys[at], buckets[to], counts[to], to);
        shmem_fence();
        shmem_ulong_atomic_add(&in.buckets, 1, to);
    }
    shmem_ulong_wait_until(&in.buckets, SHMEM_CMP_EQ, (uint64_t)procs);
    qsort(in.keys, in.taken, sizeof(uint32_t), compare);
    int wrong = 0;
    for (uint64_t i = 0; i < in.taken; ++i)
        wrong += (int)((uint64_t)in.keys[i] * (uint64_t)procs / key_limit) != rank;
    shmem_ulong_atomic_add(&in.all, in.taken, 0);
    shmem_barrier_all();
    const uint64_t sorted = shmem_ulong_atomic_fetch(&in.all, 0);
    wrong += sorted != (uint64_t)(keys * procs);
    if (rank == 0 && wrong == 0) printf("%d ranks sorted %d keys\n", procs, (int)sorted);
    shmem_finalize();
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
