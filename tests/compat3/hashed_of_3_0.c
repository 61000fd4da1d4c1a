/* SPDX-License-Identifier: BSD-3-Clause */
/* A program as one wrote it for ACP 3.0, from its documentation: sets, multisets and maps whose keys and values lie in
 * starter memory, by generic macros and by functions. acp.h of 3.0 included no header. Rank 0 works, the others own a part of
 * what is stored. Each rank prints "rank N: K checks" and ends with 0, or says which check failed and ends with 1. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>

#define KEYS 40
#define TEXT 32

static int checks = 0;

static void check_at(int line, const char* text, int holds) {
    checks++;
    if (holds) return;
    fprintf(stderr, "rank %d, line %d: not so: %s\n", acp_rank(), line, text);
    exit(1);
}

#define CHECK(condition) check_at(__LINE__, #condition, (condition) ? 1 : 0)

/* Starter memory of a rank: keys, values, and room for one value. */
typedef struct {
    char keys[KEYS][TEXT];
    char values[KEYS][TEXT];
    char room[TEXT];
} board_t;

static board_t* board(int rank) {
    return (board_t*)acp_query_address(acp_query_starter_ga(rank));
}

static acp_ga_t ga_of(int rank, const void* in_my_board) {
    return acp_query_starter_ga(rank) +
           (acp_ga_t)((const char*)in_my_board - (const char*)board(acp_rank()));
}

/* Key i, as the rank `at` has it in its starter memory: all ranks have the same there. */
static acp_element_t key(int i, int at) {
    acp_element_t element;
    element.ga = ga_of(at, board(acp_rank())->keys[i]);
    element.size = strlen(board(acp_rank())->keys[i]);
    return element;
}

static acp_pair_t pair(int i, int at) {
    acp_pair_t both;
    both.first = key(i, at);
    both.second.ga = ga_of(at, board(acp_rank())->values[i]);
    both.second.size = strlen(board(acp_rank())->values[i]);
    return both;
}

/* The number of the key that lies at an element, read to starter memory by a copy; -1: none of ours. */
static int number_of(acp_element_t element) {
    board_t* mine = board(acp_rank());
    if (element.ga == ACP_GA_NULL || element.size >= TEXT) return -1;
    memset(mine->room, 0, TEXT);
    acp_complete(acp_copy(ga_of(acp_rank(), mine->room), element.ga, element.size, ACP_HANDLE_ALL));
    for (int i = 0; i < KEYS; i++) {
        if (strcmp(mine->room, mine->keys[i]) == 0) return i;
    }
    return -1;
}

static void set_of_3_0(int ranks, const int* numbers) {
    acp_set_t set1 = acp_create(set, ranks, numbers, 16, 0);
    acp_set_t set2 = acp_create(set, ranks, numbers, 16, ranks - 1);
    CHECK(set1.ga != ACP_GA_NULL && set1.num_ranks == (uint64_t)ranks && set1.num_slots == 16);
    CHECK(acp_empty(set, set1) == 1 && acp_size(set, set1) == 0);
    for (int i = 0; i < KEYS / 2; i++) CHECK(acp_insert(set, set1, key(i, i % ranks)) == 1);
    CHECK(acp_insert(set, set1, key(3, 0)) == 1);
    acp_element_t nothing = key(0, 0);
    nothing.size = 0;
    CHECK(acp_insert(set, set1, nothing) == 0);
    CHECK(acp_size(set, set1) == KEYS / 2 && acp_empty(set, set1) == 0);
    CHECK(acp_find(set, set1, key(3, ranks - 1)).elem != ACP_GA_NULL);
    CHECK(acp_find(set, set1, key(KEYS - 1, 0)).elem == ACP_GA_NULL);

    int seen[KEYS] = {0};
    acp_set_it_t end = acp_end(set, set1);
    for (acp_set_it_t it = acp_begin(set, set1); it.elem != end.elem;
         it = acp_increment(set_it, it)) {
        const int number = number_of(acp_dereference(set_it, it));
        CHECK(number >= 0 && number < KEYS / 2);
        seen[number]++;
    }
    for (int i = 0; i < KEYS; i++) CHECK(seen[i] == (i < KEYS / 2 ? 1 : 0));
    CHECK(acp_dereference(set_it, end).ga == ACP_GA_NULL && acp_dereference(set_it, end).size == 0);

    for (int i = KEYS / 4; i < KEYS; i++) CHECK(acp_insert_set(set2, key(i, 0)) == 1);
    CHECK(acp_insert_set(set2, key(KEYS - 1, 0)) == 1);
    acp_merge(set, set1, set2);
    CHECK(acp_size_set(set1) == KEYS && acp_size_set(set2) == KEYS - KEYS / 4);
    acp_remove(set, set2, key(KEYS - 1, 0));
    acp_remove(set, set2, key(KEYS - 1, 0));
    CHECK(acp_size_set(set2) == KEYS - KEYS / 4 - 1);
    acp_swap(set, set1, set2);
    CHECK(acp_size_set(set2) == KEYS && acp_find_set(set1, key(0, 0)).elem == ACP_GA_NULL);
    acp_move_set(set1, set2);
    CHECK(acp_size_set(set1) == KEYS && acp_empty_set(set2) == 1);
    acp_assign(set, set2, set1);
    CHECK(acp_size_set(set1) == KEYS && acp_size_set(set2) == KEYS);
    acp_clear(set, set1);
    CHECK(acp_empty(set, set1) == 1 && acp_size(local_set, set1) == 0 &&
          acp_empty(local_set, set1) == 1);
    CHECK(acp_begin(set, set1).elem == ACP_GA_NULL);
    acp_destroy(set, set1);
    acp_destroy(set, set2);
}

static void multiset_of_3_0(int ranks, const int* numbers) {
    acp_multiset_t set1 = acp_create(multiset, ranks, numbers, 8, 0);
    acp_multiset_t set2 = acp_create(multiset, ranks, numbers, 8, 0);
    for (int i = 0; i < 10; i++) {
        for (int times = 0; times <= i; times++)
            CHECK(acp_insert(multiset, set1, key(i, i % ranks)) == 1);
    }
    CHECK(acp_size(multiset, set1) == 10);
    for (int i = 0; i < 12; i++)
        CHECK(acp_retrieve_multiset(set1, key(i, 0)) == (i < 10 ? (uint64_t)i + 1 : 0));
    acp_remove(multiset, set1, key(9, 0));
    CHECK(acp_retrieve_multiset(set1, key(9, 0)) == 9);
    acp_remove(multiset, set1, key(0, 0));
    CHECK(acp_size_multiset(set1) == 9 && acp_find(multiset, set1, key(0, 0)).elem == ACP_GA_NULL);
    acp_remove_all_multiset(set1, key(9, 0));
    CHECK(acp_size_multiset(set1) == 8 && acp_retrieve_multiset(set1, key(9, 0)) == 0);

    int count = 0;
    acp_multiset_it_t it = acp_begin(multiset, set1);
    for (; it.elem != ACP_GA_NULL; it = acp_increment(multiset_it, it)) {
        const int number = number_of(acp_dereference(multiset_it, it));
        CHECK(number >= 1 && number <= 8);
        count++;
    }
    CHECK(count == 8);
    CHECK(acp_insert_multiset(set2, key(20, 0)) == 1);
    acp_merge(multiset, set2, set1);
    CHECK(acp_size_multiset(set2) == 9 && acp_retrieve_multiset(set2, key(5, 0)) == 6);
    acp_swap(multiset, set1, set2);
    CHECK(acp_size_multiset(set1) == 9 && acp_size_multiset(set2) == 8);
    acp_move_multiset(set2, set1);
    CHECK(acp_size_multiset(set2) == 9 && acp_empty_multiset(set1) == 1);
    acp_assign(multiset, set1, set2);
    CHECK(acp_retrieve_multiset(set1, key(5, 0)) == 12 &&
          acp_retrieve_multiset(set1, key(20, 0)) == 1);
    acp_merge(multiset, set1, set2);
    CHECK(acp_retrieve_multiset(set1, key(5, 0)) == 24 &&
          acp_retrieve_multiset(set2, key(5, 0)) == 12);
    acp_destroy(multiset, set1);
    acp_destroy(multiset, set2);
}

static void retrieves(acp_map_t map) {
    board_t* mine = board(acp_rank());
    for (int i = 0; i < KEYS / 2; i++) {
        acp_pair_t wanted = pair(i, 0);
        wanted.second.ga = ga_of(acp_rank(), mine->room);
        wanted.second.size = TEXT;
        memset(mine->room, '?', TEXT);
        const size_t size = strlen(mine->values[i]);
        CHECK(acp_retrieve_map(map, wanted) == size);
        CHECK(memcmp(mine->room, mine->values[i], size) == 0 && mine->room[size] == '?');
        wanted.second.size = 2;
        memset(mine->room, '?', TEXT);
        CHECK(acp_retrieve_map(map, wanted) == 2);
        CHECK(memcmp(mine->room, mine->values[i], 2) == 0 && mine->room[2] == '?');
    }
    acp_pair_t absent = pair(KEYS - 1, 0);
    CHECK(acp_retrieve_map(map, absent) == 0);
}

static void map_of_3_0(int ranks, const int* numbers) {
    acp_map_t map1 = acp_create(map, ranks, numbers, 16, 0);
    acp_map_t map2 = acp_create(map, ranks, numbers, 16, 0);
    for (int i = 0; i < KEYS / 2; i++) CHECK(acp_insert(map, map1, pair(i, i % ranks)) == 1);
    acp_pair_t other = pair(0, 0);
    other.second = pair(1, 0).second;
    CHECK(acp_insert(map, map1, other) == 0);
    CHECK(acp_size(map, map1) == KEYS / 2);
    retrieves(map1);
    CHECK(acp_find(map, map1, key(7, 0)).elem != ACP_GA_NULL);
    CHECK(acp_find(map, map1, key(KEYS - 1, 0)).elem == ACP_GA_NULL);

    board_t* mine = board(acp_rank());
    int count = 0;
    for (acp_map_it_t it = acp_begin(map, map1); it.elem != ACP_GA_NULL;
         it = acp_increment(map_it, it)) {
        const acp_pair_t entry = acp_dereference(map_it, it);
        const int number = number_of(entry.first);
        CHECK(number >= 0 && entry.second.size == strlen(mine->values[number]));
        acp_complete(acp_copy(ga_of(acp_rank(), mine->room), entry.second.ga, entry.second.size,
                              ACP_HANDLE_NULL));
        CHECK(memcmp(mine->room, mine->values[number], entry.second.size) == 0);
        count++;
    }
    CHECK(count == KEYS / 2);

    acp_insert_map(map2, other);
    CHECK(acp_insert_map(map2, pair(KEYS - 1, 0)) == 1);
    acp_merge(map, map2, map1);
    CHECK(acp_size_map(map2) == KEYS / 2 + 1);
    acp_remove(map, map2, key(0, 0));
    CHECK(acp_size_map(map2) == KEYS / 2);
    acp_swap(map, map1, map2);
    CHECK(acp_find_map(map2, key(0, 0)).elem != ACP_GA_NULL &&
          acp_find_map(map1, key(0, 0)).elem == ACP_GA_NULL);
    acp_clear(map, map1);
    CHECK(acp_insert_map(map1, pair(KEYS - 1, 0)) == 1);
    acp_move_map(map1, map2);
    CHECK(acp_size_map(map1) == KEYS / 2 + 1 && acp_empty_map(map2) == 1);
    acp_remove(map, map1, key(KEYS - 1, 0));
    acp_assign(map, map2, map1);
    retrieves(map2);
    acp_clear(local_map, map1);
    CHECK(acp_size(local_map, map1) == 0);
    CHECK(acp_begin(local_map, map1).elem == ACP_GA_NULL ||
          acp_begin(local_map, map1).rank != acp_rank());
    acp_clear(map, map1);
    CHECK(acp_empty(map, map1) == 1);
    acp_destroy(map, map1);
    acp_destroy(map, map2);
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) return 1;
    const int ranks = acp_procs();
    int* numbers = (int*)malloc((size_t)ranks * sizeof(int));
    for (int i = 0; i < ranks; i++) numbers[i] = i;
    board_t* mine = board(acp_rank());
    for (int i = 0; i < KEYS; i++) {
        snprintf(mine->keys[i], TEXT, "key %d", i * 7919);
        snprintf(mine->values[i], TEXT, "value of %d", i);
    }
    acp_sync();
    if (acp_rank() == 0) {
        set_of_3_0(ranks, numbers);
        multiset_of_3_0(ranks, numbers);
        map_of_3_0(ranks, numbers);
    }
    acp_sync();
    printf("rank %d: %d checks\n", acp_rank(), checks);
    free(numbers);
    return acp_finalize() == 0 ? 0 : 1;
}
