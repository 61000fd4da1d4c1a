/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of keys that counts how often each was inserted, spread over ranks. <acp/hashed.h> says
 * what holds for every call: any thread of any rank, at any time, without locks; one round trip to
 * another node; what results and errors mean. */
#ifndef ACP_MULTISET_H
#define ACP_MULTISET_H

#include <stddef.h>
#include <stdint.h>

#include <acp/access.h>
#include <acp/hashed.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    acp_ga_t ga; /* of the directory; ACP_GA_NULL: no multiset */
    uint64_t num_ranks;
    uint64_t num_slots;
    uint64_t id; /* tells it from a multiset that was at this address before; 0: is not looked at */
} acp_multiset_t;

/* An entry, or the end. It says nothing of whether the entry still is there: calls that take it
 * find out. Only calls make iterators: one whose container, rank or entry was changed is refused
 * with ACP_ERR_ARGUMENT. */
typedef struct {
    acp_multiset_t set;
    /* NOT a rank of the job but an index 0 .. num_ranks - 1 into the list of ranks given at
     * creation; num_ranks: the end; -1: a failure */
    int rank;
    int is_local; /* acp_begin_local_multiset began it: it ends behind the calling rank's entries */
    uint64_t slot; /* where an iteration is in that rank's table */
    uint64_t tie;  /* and among the entries there */
    acp_ga_t elem; /* the entry; ACP_GA_NULL: the end */
    size_t key_size;
    size_t value_size; /* of the count: 8 */
    uint64_t stamp;    /* tells whether something else was put into the fields above */
} acp_multiset_it_t;

/* What a find gives: an iterator, and whether there is an entry. success: 1, 0, or -1 for a
 * failure. */
typedef struct {
    acp_multiset_it_t it;
    int success;
} acp_multiset_ib_t;

/* Makes an empty multiset. num_ranks 0 or ranks NULL: as acp_hashed_options_t says. The table of
 * each rank begins with num_slots slots and doubles as entries come. .ga is ACP_GA_NULL on failure,
 * and nothing was made. */
ACP_API acp_multiset_t acp_create_multiset(int num_ranks,
                                           const int* ranks,
                                           int num_slots,
                                           int rank);
ACP_API acp_multiset_t acp_create_multiset_with(const acp_hashed_options_t* options);

/* Frees a multiset and its entries. Nobody may be using it. Returns 0, or -1. */
ACP_API int acp_destroy_multiset(acp_multiset_t set);

/* Adds one to the count of a key, which is 0 where it is not there. Returns an iterator to its
 * entry. */
ACP_API acp_multiset_it_t acp_insert_multiset(acp_multiset_t set, const void* key, size_t key_size);

/* Adds to the count of a key. Returns the count then, or UINT64_MAX on failure, which is no count:
 * ACP_ERR_ARGUMENT, and the count stays as it is, where it would be 2^64 - 1 or more. number 1 or
 * more */
ACP_API uint64_t acp_add_multiset(acp_multiset_t set,
                                  const void* key,
                                  size_t key_size,
                                  uint64_t number);

/* Finds the entry of a key. Takes no lock and keeps nobody waiting. */
ACP_API acp_multiset_ib_t acp_find_multiset(acp_multiset_t set, const void* key, size_t key_size);

/* The count of a key; 0 where it is not there. UINT64_MAX on failure, which is no count. */
ACP_API uint64_t acp_retrieve_multiset(acp_multiset_t set, const void* key, size_t key_size);

/* Takes one from the count of a key, which is erased at 0. Returns 1; 0: it was not there; -1. */
ACP_API int acp_remove_multiset(acp_multiset_t set, const void* key, size_t key_size);

/* Erases a key, whatever its count. Returns 1; 0: it was not there; -1. */
ACP_API int acp_remove_all_multiset(acp_multiset_t set, const void* key, size_t key_size);

/* Erases the entry that an iterator found. Returns an iterator to the next one. ACP_ERR_STALE where
 * it had been erased before: acp_increment_multiset_it goes on from the old iterator then. */
ACP_API acp_multiset_it_t acp_erase_multiset(acp_multiset_it_t it);

/* Many keys at once: acp_add_multiset with entries[i].number, and acp_retrieve_multiset;
 * entries[i].number becomes the count, result 1, or 0 where the key is not there. Returns how many
 * results were 1, or -1 where one was -1, with its error. */
ACP_API int64_t acp_add_many_multiset(acp_multiset_t set, size_t count, acp_entry_t* entries);
ACP_API int64_t acp_find_many_multiset(acp_multiset_t set, size_t count, acp_entry_t* entries);

/* How many entries there are, whatever their counts: exact while nobody inserts or erases.
 * (size_t)-1 on failure. _local: those stored on the calling rank. acp_empty_...: 1 where there is
 * none, else 0; -1. */
ACP_API size_t acp_size_multiset(acp_multiset_t set);
ACP_API size_t acp_size_local_multiset(acp_multiset_t set);
ACP_API int acp_empty_multiset(acp_multiset_t set);
ACP_API int acp_empty_local_multiset(acp_multiset_t set);

/* Iterators: all entries, or those stored on the calling rank, rank by rank. An entry that is there
 * from before acp_begin until the end is reached comes once, also where its value is replaced
 * meanwhile. One that is inserted or erased meanwhile may come or not. acp_increment goes on also
 * from an entry that was erased. Costs one round trip for an entry of another node:
 * acp_scan_multiset reads many in one. */
ACP_API acp_multiset_it_t acp_begin_multiset(acp_multiset_t set);
ACP_API acp_multiset_it_t acp_end_multiset(acp_multiset_t set);
ACP_API acp_multiset_it_t acp_begin_local_multiset(acp_multiset_t set);
ACP_API acp_multiset_it_t acp_end_local_multiset(acp_multiset_t set);
ACP_API acp_multiset_it_t acp_increment_multiset_it(acp_multiset_it_t it);

/* Copies entries from an iterator's on, as iterators find them, up to `count` and as far as there
 * is room: as many in a round trip to another node as 900 bytes or so hold, and at the speed of
 * memory on the own one. *it becomes the iterator to the next entry, or the end.
 *   entries  become the entries: key and value point into `room`, number is the count; result is 1
 *   room     for the bytes: the value, then the key of each, and each at the next multiple of 8
 *            bytes. Of the next entry it->value_size and it->key_size say the sizes
 * Returns how many, 0 at the end; or -1: ACP_ERR_LIMIT where there is no room for the first, whose
 * sizes *it then tells. */
ACP_API int64_t acp_scan_multiset(
    acp_multiset_it_t* it, size_t count, acp_entry_t* entries, void* room, size_t room_size);

/* Where an entry's bytes lie: for acp_copy and atomics. They stay there, and unchanged, until the
 * entry is erased; afterwards the memory may be anything. Does not communicate. Null after a
 * failure: ACP_ERR_ARGUMENT, the iterator is the end. */
ACP_API acp_element_t acp_dereference_multiset_it(acp_multiset_it_t it);

/* Calls visit with each entry stored on the calling rank, at the speed of memory, as iterators find
 * them. The pointers are valid during visit, which may make any call of ACP; it returns not 0 to
 * stop. Returns how many entries were visited, or -1. */
ACP_API int64_t acp_for_each_local_multiset(
    acp_multiset_t set,
    int (*visit)(const void* key, size_t key_size, uint64_t count, void* argument),
    void* argument);

/* Erases the entries that are there; those that are inserted meanwhile may stay. _local: those
 * stored on the calling rank. 0, or -1. */
ACP_API int acp_clear_multiset(acp_multiset_t set);
ACP_API int acp_clear_local_multiset(acp_multiset_t set);

/* assign: set1 holds what set2 holds, and nothing else. merge: the counts of set2 are added to
 * those of set1. Entries that change meanwhile in set2 may be taken as before or after. move:
 * merges, and takes from the counts of set2 what was added; counts that others add to set2
 * meanwhile are moved or stay. _local: only those of set2 stored on the calling rank. swap: each
 * holds what the other held; nobody else may use either meanwhile. 0, or -1. */
ACP_API int acp_assign_multiset(acp_multiset_t set1, acp_multiset_t set2);
ACP_API int acp_assign_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
ACP_API int acp_merge_multiset(acp_multiset_t set1, acp_multiset_t set2);
ACP_API int acp_merge_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
ACP_API int acp_move_multiset(acp_multiset_t set1, acp_multiset_t set2);
ACP_API int acp_move_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
ACP_API int acp_swap_multiset(acp_multiset_t set1, acp_multiset_t set2);

#ifdef __cplusplus
}
#endif

#endif
