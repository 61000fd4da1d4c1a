/* SPDX-License-Identifier: BSD-3-Clause */
/* A map that may have several entries of one key, spread over ranks. <acp/hashed.h> says what holds
 * for every call: any thread of any rank, at any time, without locks; one round trip to another
 * node; what results and errors mean. */
#ifndef ACP_MULTIMAP_H
#define ACP_MULTIMAP_H

#include <stddef.h>
#include <stdint.h>

#include <acp/access.h>
#include <acp/hashed.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    acp_ga_t ga; /* of the directory; ACP_GA_NULL: no multimap */
    uint64_t num_ranks;
    uint64_t num_slots;
    uint64_t id; /* tells it from a multimap that was at this address before; 0: is not looked at */
} acp_multimap_t;

/* An entry, or the end. It says nothing of whether the entry still is there: calls that take it
 * find out. Only calls make iterators: one whose container, rank or entry was changed is refused
 * with ACP_ERR_ARGUMENT. */
typedef struct {
    acp_multimap_t map;
    /* NOT a rank of the job but an index 0 .. num_ranks - 1 into the list of ranks given at
     * creation; num_ranks: the end; -1: a failure */
    int rank;
    int is_local; /* acp_begin_local_multimap began it: it ends behind the calling rank's entries */
    uint64_t slot; /* where an iteration is in that rank's table */
    uint64_t tie;  /* and among the entries there */
    acp_ga_t elem; /* the entry; ACP_GA_NULL: the end */
    size_t key_size;
    size_t value_size;
    uint64_t stamp; /* tells whether something else was put into the fields above */
} acp_multimap_it_t;

/* What a find gives: an iterator, and whether there is an entry. success: 1, 0, or -1 for a
 * failure. */
typedef struct {
    acp_multimap_it_t it;
    int success;
} acp_multimap_ib_t;

/* Makes an empty multimap. num_ranks 0 or ranks NULL: as acp_hashed_options_t says. The table of
 * each rank begins with num_slots slots and doubles as entries come. .ga is ACP_GA_NULL on failure,
 * and nothing was made. */
ACP_API acp_multimap_t acp_create_multimap(int num_ranks,
                                           const int* ranks,
                                           int num_slots,
                                           int rank);
ACP_API acp_multimap_t acp_create_multimap_with(const acp_hashed_options_t* options);

/* Frees a multimap and its entries. Nobody may be using it. Returns 0, or -1. */
ACP_API int acp_destroy_multimap(acp_multimap_t map);

/* Inserts an entry, beside those of the same key. Returns an iterator to it. Entries of one key are
 * kept in one list: a call on a key takes the longer the more entries it has. */
ACP_API acp_multimap_it_t acp_insert_multimap(
    acp_multimap_t map, const void* key, size_t key_size, const void* value, size_t value_size);

/* Finds the entry of a key: one of them. Takes no lock and keeps nobody waiting. */
ACP_API acp_multimap_ib_t acp_find_multimap(acp_multimap_t map, const void* key, size_t key_size);

/* From an entry that acp_find_multimap found to the next of the same key; the end after the last.
 * In no particular order; one that is there from before the first until after the last comes once,
 * twice at the most where the table doubles meanwhile. */
ACP_API acp_multimap_it_t acp_increment_key_multimap_it(acp_multimap_it_t it);

/* How many entries a key has. -1 on failure. */
ACP_API int64_t acp_count_multimap(acp_multimap_t map, const void* key, size_t key_size);

/* Copies the value of an entry out, as acp_retrieve_map does. Returns 1; 0: the entry was erased;
 * -1. */
ACP_API int acp_read_multimap_it(acp_multimap_it_t it, void* value, size_t* value_size);

/* Erases all entries of a key. Returns how many, or -1. */
ACP_API int64_t acp_remove_multimap(acp_multimap_t map, const void* key, size_t key_size);

/* Erases the entry that an iterator found. Returns an iterator to the next one. ACP_ERR_STALE where
 * it had been erased before: acp_increment_multimap_it goes on from the old iterator then. */
ACP_API acp_multimap_it_t acp_erase_multimap(acp_multimap_it_t it);

/* How many entries there are: exact while nobody inserts or erases. (size_t)-1 on failure. _local:
 * those stored on the calling rank. acp_empty_...: 1 where there is none, else 0; -1. */
ACP_API size_t acp_size_multimap(acp_multimap_t map);
ACP_API size_t acp_size_local_multimap(acp_multimap_t map);
ACP_API int acp_empty_multimap(acp_multimap_t map);
ACP_API int acp_empty_local_multimap(acp_multimap_t map);

/* Iterators: all entries, or those stored on the calling rank, rank by rank. An entry that is there
 * from before acp_begin until the end is reached comes once, also where its value is replaced
 * meanwhile. One that is inserted or erased meanwhile may come or not. acp_increment goes on also
 * from an entry that was erased. Costs one round trip for an entry of another node:
 * acp_scan_multimap reads many in one. */
ACP_API acp_multimap_it_t acp_begin_multimap(acp_multimap_t map);
ACP_API acp_multimap_it_t acp_end_multimap(acp_multimap_t map);
ACP_API acp_multimap_it_t acp_begin_local_multimap(acp_multimap_t map);
ACP_API acp_multimap_it_t acp_end_local_multimap(acp_multimap_t map);
ACP_API acp_multimap_it_t acp_increment_multimap_it(acp_multimap_it_t it);

/* Copies entries from an iterator's on, as iterators find them, up to `count` and as far as there
 * is room: as many in a round trip to another node as 900 bytes or so hold, and at the speed of
 * memory on the own one. *it becomes the iterator to the next entry, or the end.
 *   entries  become the entries: key and value point into `room`; result is 1
 *   room     for the bytes: the value, then the key of each, and each at the next multiple of 8
 *            bytes. Of the next entry it->value_size and it->key_size say the sizes
 * Returns how many, 0 at the end; or -1: ACP_ERR_LIMIT where there is no room for the first, whose
 * sizes *it then tells. */
ACP_API int64_t acp_scan_multimap(
    acp_multimap_it_t* it, size_t count, acp_entry_t* entries, void* room, size_t room_size);

/* Where an entry's bytes lie: for acp_copy and atomics. They stay there, and unchanged, until the
 * entry is erased; afterwards the memory may be anything. Does not communicate. Null after a
 * failure: ACP_ERR_ARGUMENT, the iterator is the end. */
ACP_API acp_pair_t acp_dereference_multimap_it(acp_multimap_it_t it);

/* Calls visit with each entry stored on the calling rank, at the speed of memory, as iterators find
 * them. The pointers are valid during visit, which may make any call of ACP; it returns not 0 to
 * stop. Returns how many entries were visited, or -1. */
ACP_API int64_t acp_for_each_local_multimap(acp_multimap_t map,
                                            int (*visit)(const void* key,
                                                         size_t key_size,
                                                         const void* value,
                                                         size_t value_size,
                                                         void* argument),
                                            void* argument);

/* Erases the entries that are there; those that are inserted meanwhile may stay. _local: those
 * stored on the calling rank. 0, or -1. */
ACP_API int acp_clear_multimap(acp_multimap_t map);
ACP_API int acp_clear_local_multimap(acp_multimap_t map);

/* assign: map1 holds what map2 holds, and nothing else. merge: map1 gets the entries of map2.
 * Entries that change meanwhile in map2 may be taken as before or after. move: merges, and erases
 * all of map2; what others insert in map2 meanwhile is moved or stays. _local: only those of map2
 * stored on the calling rank. swap: each holds what the other held; nobody else may use either
 * meanwhile. 0, or -1. */
ACP_API int acp_assign_multimap(acp_multimap_t map1, acp_multimap_t map2);
ACP_API int acp_assign_local_multimap(acp_multimap_t map1, acp_multimap_t map2);
ACP_API int acp_merge_multimap(acp_multimap_t map1, acp_multimap_t map2);
ACP_API int acp_merge_local_multimap(acp_multimap_t map1, acp_multimap_t map2);
ACP_API int acp_move_multimap(acp_multimap_t map1, acp_multimap_t map2);
ACP_API int acp_move_local_multimap(acp_multimap_t map1, acp_multimap_t map2);
ACP_API int acp_swap_multimap(acp_multimap_t map1, acp_multimap_t map2);

#ifdef __cplusplus
}
#endif

#endif
