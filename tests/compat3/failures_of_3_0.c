/* SPDX-License-Identifier: BSD-3-Clause */
/* What the functions of ACP 3.0 do with addresses that are none, with containers that were destroyed or never made, and with
 * keys and values of all sizes. Rank 0 works; the others only store. Ends with 0, or with 1 after it said which check failed. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>

static void check_at(int line, const char* text, int holds) {
    if (holds) return;
    fprintf(stderr, "line %d: not so: %s (last error %d: %s)\n", line, text, acp_errno(),
            acp_error_message());
    exit(1);
}

#define CHECK(condition) check_at(__LINE__, #condition, (condition) ? 1 : 0)

static const acp_element_t wild = {(acp_ga_t)0x7fffffffffff0000ULL, 16};
static const acp_element_t nowhere = {ACP_GA_NULL, 16};

static void bad_addresses(acp_map_t map,
                          acp_set_t set,
                          acp_multiset_t multiset,
                          acp_element_t good) {
    const acp_element_t bad[] = {wild, nowhere};
    for (int i = 0; i < 2; i++) {
        const acp_pair_t bad_key = {bad[i], good};
        const acp_pair_t bad_value = {good, bad[i]};
        CHECK(acp_insert_map(map, bad_key) == 0 && acp_errno() == ACP_ERR_ADDRESS);
        CHECK(acp_insert_map(map, bad_value) == 0 && acp_errno() == ACP_ERR_ADDRESS);
        CHECK(acp_retrieve_map(map, bad_key) == 0);
        CHECK(acp_find_map(map, bad[i]).elem == ACP_GA_NULL);
        acp_remove_map(map, bad[i]);
        CHECK(acp_insert_set(set, bad[i]) == 0 && acp_find_set(set, bad[i]).elem == ACP_GA_NULL);
        CHECK(acp_insert_multiset(multiset, bad[i]) == 0);
        CHECK(acp_retrieve_multiset(multiset, bad[i]) == 0);
        acp_remove_all_multiset(multiset, bad[i]);
    }
    CHECK(acp_size_map(map) == 0 && acp_size_set(set) == 0 && acp_size_multiset(multiset) == 0);
    const acp_pair_t pair = {good, good};
    const acp_pair_t bad_room = {good, wild};
    CHECK(acp_insert_map(map, pair) == 1);
    CHECK(acp_retrieve_map(map, bad_room) == 0 && acp_errno() == ACP_ERR_ADDRESS);
    acp_remove_map(map, good);
}

static void none_and_destroyed(acp_element_t good) {
    const acp_pair_t pair = {good, good};
    const acp_map_t none = {0};
    acp_map_t gone = acp_create_map(0, NULL, 4, 0);
    CHECK(gone.ga != ACP_GA_NULL && gone.num_ranks == (uint64_t)acp_procs());
    acp_destroy_map(gone);
    const acp_map_t maps[] = {none, gone};
    for (int i = 0; i < 2; i++) {
        CHECK(acp_insert_map(maps[i], pair) == 0 && acp_errno() != 0);
        CHECK(acp_find_map(maps[i], good).elem == ACP_GA_NULL);
        CHECK(acp_retrieve_map(maps[i], pair) == 0);
        CHECK(acp_size_map(maps[i]) == 0 && acp_empty_map(maps[i]) == 0);
        CHECK(acp_begin_map(maps[i]).elem == ACP_GA_NULL);
        acp_remove_map(maps[i], good);
        acp_clear_map(maps[i]);
        acp_destroy_map(maps[i]);
    }
    const int far_away[] = {acp_procs()};
    CHECK(acp_create_map(1, far_away, 4, 0).ga == ACP_GA_NULL && acp_errno() == ACP_ERR_ARGUMENT);
    CHECK(acp_create_set(1, NULL, 4, -1).ga == ACP_GA_NULL && acp_errno() == ACP_ERR_ARGUMENT);
}

/* Keys and values longer than a message and longer than the room that a retrieve tries first, from and to the last rank. */
static void all_sizes(acp_map_t map) {
    static const size_t sizes[] = {1, 8, 900, 1023, 1024, 1025, 100000};
    const int last = acp_procs() - 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t size = sizes[i];
        char* bytes = (char*)malloc(size);
        char* back = (char*)calloc(1, size);
        for (size_t k = 0; k < size; k++) bytes[k] = (char)(k * 31 + size);
        const acp_ga_t there = acp_malloc(size, last);
        const acp_ga_t room = acp_malloc(size + 8, last);
        acp_complete(acp_put(there, bytes, size, ACP_HANDLE_NULL));
        const acp_pair_t pair = {{there, size}, {there, size}};
        const acp_pair_t wanted = {{there, size}, {room, size + 8}};
        const acp_pair_t partly = {{there, size}, {room, size / 2}};
        CHECK(acp_insert_map(map, pair) == 1 && acp_insert_map(map, pair) == 0);
        CHECK(acp_retrieve_map(map, partly) == size / 2);
        CHECK(acp_retrieve_map(map, wanted) == size);
        acp_complete(acp_get(back, room, size, ACP_HANDLE_NULL));
        CHECK(memcmp(back, bytes, size) == 0);
        acp_remove_map(map, pair.first);
        CHECK(acp_find_map(map, pair.first).elem == ACP_GA_NULL);
        acp_free(there);
        acp_free(room);
        free(bytes);
        free(back);
    }
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) return 1;
    if (acp_rank() == 0) {
        const acp_element_t good = {acp_query_starter_ga(0), 16};
        acp_map_t map = acp_create_map(0, NULL, 4, 0);
        acp_set_t set = acp_create_set(0, NULL, 4, 0);
        acp_multiset_t multiset = acp_create_multiset(0, NULL, 4, 0);
        bad_addresses(map, set, multiset, good);
        none_and_destroyed(good);
        all_sizes(map);
        const acp_element_t empty = {acp_query_starter_ga(0), 0};
        const acp_pair_t empty_value = {good, empty};
        const acp_pair_t empty_key = {empty, good};
        CHECK(acp_insert_map(map, empty_value) == 1 && acp_size_map(map) == 1);
        CHECK(acp_insert_map(map, empty_key) == 0 && acp_insert_set(set, empty) == 0);
        CHECK(acp_insert_multiset(multiset, empty) == 0);
        acp_destroy_map(map);
        acp_destroy_set(set);
        acp_destroy_multiset(multiset);
    }
    return acp_finalize() == 0 ? 0 : 1;
}
