/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of keys, each once, spread over ranks. <acp/hashed.h> says what holds for every call: any
 * thread of any rank, at any time, without locks; one round trip to another node; what results and
 * errors mean. */
#ifndef ACP_SET_H
#define ACP_SET_H

#include <stddef.h>
#include <stdint.h>

#include <acp/access.h>
#include <acp/hashed.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    acp_ga_t ga; /* of the directory; ACP_GA_NULL: no set */
    uint64_t num_ranks;
    uint64_t num_slots;
    uint64_t id; /* tells it from a set that was at this address before; 0: is not looked at */
} acp_set_t;

/* An entry, or the end. It says nothing of whether the entry still is there: calls that take it
 * find out. Only calls make iterators: one whose container, rank or entry was changed is refused
 * with ACP_ERR_ARGUMENT. */
typedef struct {
    acp_set_t set;
    /* NOT a rank of the job but an index 0 .. num_ranks - 1 into the list of ranks given at
     * creation; num_ranks: the end; -1: a failure */
    int rank;
    int is_local;  /* acp_begin_local_set began it: it ends behind the calling rank's entries */
    uint64_t slot; /* where an iteration is in that rank's table */
    uint64_t tie;  /* and among the entries there */
    acp_ga_t elem; /* the entry; ACP_GA_NULL: the end */
    size_t key_size;
    size_t value_size;
    uint64_t stamp; /* tells whether something else was put into the fields above */
} acp_set_it_t;

/* What a find gives: an iterator, and whether there is an entry. success: 1, 0, or -1 for a
 * failure. */
typedef struct {
    acp_set_it_t it;
    int success;
} acp_set_ib_t;

/* Makes an empty set. num_ranks 0 or ranks NULL: as acp_hashed_options_t says. The table of each
 * rank begins with num_slots slots and doubles as entries come. .ga is ACP_GA_NULL on failure, and
 * nothing was made. */
ACP_API acp_set_t acp_create_set(int num_ranks, const int* ranks, int num_slots, int rank);
ACP_API acp_set_t acp_create_set_with(const acp_hashed_options_t* options);

/* Frees a set and its entries. Nobody may be using it. Returns 0, or -1. */
ACP_API int acp_destroy_set(acp_set_t set);

/* Inserts a key, if it is not there. Returns an iterator to its entry. */
ACP_API acp_set_it_t acp_insert_set(acp_set_t set, const void* key, size_t key_size);

/* The same. Returns 1: inserted; 0: it was there; -1. */
ACP_API int acp_insert_if_absent_set(acp_set_t set, const void* key, size_t key_size);

/* Finds the entry of a key. Takes no lock and keeps nobody waiting. */
ACP_API acp_set_ib_t acp_find_set(acp_set_t set, const void* key, size_t key_size);

/* Whether a key is there: 1, 0; -1. */
ACP_API int acp_contains_set(acp_set_t set, const void* key, size_t key_size);

/* Erases a key. Returns 1: erased; 0: it was not there; -1. */
ACP_API int acp_remove_set(acp_set_t set, const void* key, size_t key_size);

/* Erases the entry that an iterator found. Returns an iterator to the next one. ACP_ERR_STALE where
 * it had been erased before: acp_increment_set_it goes on from the old iterator then. */
ACP_API acp_set_it_t acp_erase_set(acp_set_it_t it);

/* Many keys at once: each as by the call on one (contains, insert_if_absent, remove), in any order;
 * values are not looked at. entries[i].result is what the call on one returns. Returns how many
 * results were 1, or -1 where one was -1, with its error. */
ACP_API int64_t acp_find_many_set(acp_set_t set, size_t count, acp_entry_t* entries);
ACP_API int64_t acp_insert_many_set(acp_set_t set, size_t count, acp_entry_t* entries);
ACP_API int64_t acp_remove_many_set(acp_set_t set, size_t count, acp_entry_t* entries);

/* How many entries there are: exact while nobody inserts or erases. (size_t)-1 on failure. _local:
 * those stored on the calling rank. acp_empty_...: 1 where there is none, else 0; -1. */
ACP_API size_t acp_size_set(acp_set_t set);
ACP_API size_t acp_size_local_set(acp_set_t set);
ACP_API int acp_empty_set(acp_set_t set);
ACP_API int acp_empty_local_set(acp_set_t set);

/* Iterators: all entries, or those stored on the calling rank, rank by rank. An entry that is there
 * from before acp_begin until the end is reached comes once, also where its value is replaced
 * meanwhile. One that is inserted or erased meanwhile may come or not. acp_increment goes on also
 * from an entry that was erased. Costs one round trip for an entry of another node: acp_scan_set
 * reads many in one. */
ACP_API acp_set_it_t acp_begin_set(acp_set_t set);
ACP_API acp_set_it_t acp_end_set(acp_set_t set);
ACP_API acp_set_it_t acp_begin_local_set(acp_set_t set);
ACP_API acp_set_it_t acp_end_local_set(acp_set_t set);
ACP_API acp_set_it_t acp_increment_set_it(acp_set_it_t it);

/* Copies entries from an iterator's on, as iterators find them, up to `count` and as far as there
 * is room: as many in a round trip to another node as 900 bytes or so hold, and at the speed of
 * memory on the own one. *it becomes the iterator to the next entry, or the end.
 *   entries  become the entries: key and value point into `room` (a value has 0 bytes); result is 1
 *   room     for the bytes: the value, then the key of each, and each at the next multiple of 8
 *            bytes. Of the next entry it->value_size and it->key_size say the sizes
 * Returns how many, 0 at the end; or -1: ACP_ERR_LIMIT where there is no room for the first, whose
 * sizes *it then tells. */
ACP_API int64_t
acp_scan_set(acp_set_it_t* it, size_t count, acp_entry_t* entries, void* room, size_t room_size);

/* Where an entry's bytes lie: for acp_copy and atomics. They stay there, and unchanged, until the
 * entry is erased; afterwards the memory may be anything. Does not communicate. Null after a
 * failure: ACP_ERR_ARGUMENT, the iterator is the end. */
ACP_API acp_element_t acp_dereference_set_it(acp_set_it_t it);

/* Calls visit with each entry stored on the calling rank, at the speed of memory, as iterators find
 * them. The pointers are valid during visit, which may make any call of ACP; it returns not 0 to
 * stop. Returns how many entries were visited, or -1. */
ACP_API int64_t acp_for_each_local_set(
    acp_set_t set, int (*visit)(const void* key, size_t key_size, void* argument), void* argument);

/* Erases the entries that are there; those that are inserted meanwhile may stay. _local: those
 * stored on the calling rank. 0, or -1. */
ACP_API int acp_clear_set(acp_set_t set);
ACP_API int acp_clear_local_set(acp_set_t set);

/* assign: set1 holds what set2 holds, and nothing else. merge: set1 gets the entries of set2 of
 * which it has no key. Entries that change meanwhile in set2 may be taken as before or after. move:
 * merges, and erases all of set2; what others insert into set2 meanwhile is moved or stays. _local:
 * only those of set2 stored on the calling rank. swap: each holds what the other held; nobody else
 * may use either meanwhile. 0, or -1. */
ACP_API int acp_assign_set(acp_set_t set1, acp_set_t set2);
ACP_API int acp_assign_local_set(acp_set_t set1, acp_set_t set2);
ACP_API int acp_merge_set(acp_set_t set1, acp_set_t set2);
ACP_API int acp_merge_local_set(acp_set_t set1, acp_set_t set2);
ACP_API int acp_move_set(acp_set_t set1, acp_set_t set2);
ACP_API int acp_move_local_set(acp_set_t set1, acp_set_t set2);
ACP_API int acp_swap_set(acp_set_t set1, acp_set_t set2);

#ifdef __cplusplus
}
#endif

#endif
