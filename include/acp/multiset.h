/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of keys that counts how often each was inserted, spread over ranks. <acp/hashed.h> has the
 * rules of every call: concurrency (any thread of any rank, at any time, without locks), round
 * trips to other nodes, results and errors. */
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
    acp_ga_t ga; /* the directory's address; ACP_GA_NULL: no multiset */
    uint64_t num_ranks;
    uint64_t num_slots;
    uint64_t id; /* differs from that of an earlier multiset at this address; 0: not checked */
} acp_multiset_t;

/* A place in the container: an entry, or the end. The entry may have been erased since; calls that
 * take the iterator check that. Only calls make iterators: calls refuse one whose container, rank
 * or entry the program has changed with ACP_ERR_ARGUMENT. */
typedef struct {
    acp_multiset_t set;
    /* NOT a rank of the job but an index 0 .. num_ranks - 1 into the list of ranks given at
     * creation; num_ranks: the end; -1: a failed call */
    int rank;
    int is_local; /* acp_begin_local_multiset began it: it ends behind the calling rank's entries */
    uint64_t slot; /* the place of the entry in the order of a walk */
    uint64_t tie;  /* the place among entries of the same slot */
    acp_ga_t elem; /* the entry; ACP_GA_NULL: the end */
    size_t key_size;
    size_t value_size; /* the size of the count: 8 */
    uint64_t stamp;    /* a check value of the fields above, and a number that no later entry has */
} acp_multiset_it_t;

/* The result of a find. success: 1 and an iterator to the entry; 0: there is no entry; -1: a
 * failure. */
typedef struct {
    acp_multiset_it_t it;
    int success;
} acp_multiset_ib_t;

/* Makes an empty multiset. num_ranks 0 or ranks NULL: as acp_hashed_options_t says. The table of
 * each rank begins with num_slots slots and doubles as entries are inserted. On failure .ga is
 * ACP_GA_NULL and nothing was made. */
ACP_API acp_multiset_t acp_create_multiset(int num_ranks,
                                           const int* ranks,
                                           int num_slots,
                                           int rank);
ACP_API acp_multiset_t acp_create_multiset_with(const acp_hashed_options_t* options);

/* Frees a multiset and its entries. No rank may be using it. Returns 0, or -1. */
ACP_API int acp_destroy_multiset(acp_multiset_t set);

/* Adds one to the count of a key; a key that is absent has count 0. Returns an iterator to its
 * entry. */
ACP_API acp_multiset_it_t acp_insert_multiset(acp_multiset_t set, const void* key, size_t key_size);

/* Adds to the count of a key. Returns the new count, or UINT64_MAX on failure, which is no count:
 * ACP_ERR_ARGUMENT when the new count would be 2^64 - 1 or more; then the count is unchanged.
 * number 1 or more */
ACP_API uint64_t acp_add_multiset(acp_multiset_t set,
                                  const void* key,
                                  size_t key_size,
                                  uint64_t number);

/* Finds the entry of a key. Takes no lock and delays no other call. */
ACP_API acp_multiset_ib_t acp_find_multiset(acp_multiset_t set, const void* key, size_t key_size);

/* The count of a key; 0 for an absent key. UINT64_MAX on failure, which is no count. */
ACP_API uint64_t acp_retrieve_multiset(acp_multiset_t set, const void* key, size_t key_size);

/* Takes one from the count of a key and erases the key at 0. Returns 1; 0: the key was absent;
 * -1. */
ACP_API int acp_remove_multiset(acp_multiset_t set, const void* key, size_t key_size);

/* Erases a key with any count. Returns 1; 0: the key was absent; -1. */
ACP_API int acp_remove_all_multiset(acp_multiset_t set, const void* key, size_t key_size);

/* Erases the entry that an iterator found. Returns an iterator to the next one. ACP_ERR_STALE when
 * the entry had been erased before; acp_increment_multiset_it continues from the old iterator
 * then. */
ACP_API acp_multiset_it_t acp_erase_multiset(acp_multiset_it_t it);

/* Many keys at once: acp_add_multiset with entries[i].number, and acp_retrieve_multiset;
 * entries[i].number becomes the count; entries[i].result 1, or 0 for an absent key. Returns the
 * number of results that are 1, or -1 with the error of one when a result is -1. */
ACP_API int64_t acp_add_many_multiset(acp_multiset_t set, size_t count, acp_entry_t* entries);
ACP_API int64_t acp_find_many_multiset(acp_multiset_t set, size_t count, acp_entry_t* entries);

/* How many entries there are, each counted once: exact while no rank inserts or erases. (size_t)-1
 * on failure. _local: the entries stored on the calling rank. acp_empty_...: 1 when there is no
 * entry, else 0; -1 on failure. */
ACP_API size_t acp_size_multiset(acp_multiset_t set);
ACP_API size_t acp_size_local_multiset(acp_multiset_t set);
ACP_API int acp_empty_multiset(acp_multiset_t set);
ACP_API int acp_empty_local_multiset(acp_multiset_t set);

/* Iterators visit all entries, rank by rank; with _local, the entries stored on the calling rank.
 * An entry that exists from before acp_begin until the iteration reaches the end is visited once,
 * even if its value is replaced during the iteration. An entry that is inserted or erased during it
 * may be visited or not. acp_increment continues even from an entry that was erased. Costs one
 * round trip for an entry of another node: acp_scan_multiset reads many in one. */
ACP_API acp_multiset_it_t acp_begin_multiset(acp_multiset_t set);
ACP_API acp_multiset_it_t acp_end_multiset(acp_multiset_t set);
ACP_API acp_multiset_it_t acp_begin_local_multiset(acp_multiset_t set);
ACP_API acp_multiset_it_t acp_end_local_multiset(acp_multiset_t set);
ACP_API acp_multiset_it_t acp_increment_multiset_it(acp_multiset_it_t it);

/* Copies entries from the iterator's entry on, in the order of iteration, up to `count` entries and
 * as far as `room` holds them. A round trip to another node returns about 900 bytes of entries;
 * entries of the own node are copied at the speed of memory. *it becomes the iterator to the next
 * entry, or the end.
 *   entries  become the entries: key and value point into `room`, number is the count; result is 1
 *   room     for the bytes: of each entry the value, then the key, each at the next multiple of 8
 *            bytes. it->value_size and it->key_size are the sizes of the next entry
 * Returns the number of entries, 0 at the end; or -1: ACP_ERR_LIMIT when there is no room for the
 * first entry, whose sizes are in *it then. */
ACP_API int64_t acp_scan_multiset(
    acp_multiset_it_t* it, size_t count, acp_entry_t* entries, void* room, size_t room_size);

/* Where an entry's bytes lie: for acp_copy and atomics. The bytes stay there, and unchanged, until
 * the entry is erased; afterwards the heap may reuse the memory. Does not communicate. ACP_GA_NULL
 * after a failure: ACP_ERR_ARGUMENT, the iterator is the end. */
ACP_API acp_element_t acp_dereference_multiset_it(acp_multiset_it_t it);

/* Calls visit() with each entry stored on the calling rank, at the speed of memory, in the order of
 * iteration. The pointers are valid until visit() returns. visit() may make any call of ACP; a
 * result other than 0 stops the iteration. Returns the number of entries visited, or -1. */
ACP_API int64_t acp_for_each_local_multiset(
    acp_multiset_t set,
    int (*visit)(const void* key, size_t key_size, uint64_t count, void* argument),
    void* argument);

/* Erases the entries that exist when the call begins; entries inserted during the call may stay.
 * _local: only the entries stored on the calling rank. Returns 0, or -1. */
ACP_API int acp_clear_multiset(acp_multiset_t set);
ACP_API int acp_clear_local_multiset(acp_multiset_t set);

/* assign: replaces the content of set1 by that of set2. merge: adds the counts of set2 to those of
 * set1. A count that another rank changes in set2 during the call is copied before or after that
 * change. move: merges, and takes from the counts of set2 the numbers that it added; a number that
 * another rank adds to set2 during the call is moved or stays. Moves of the same multiset are
 * carried out one after the other; -1 and ACP_ERR_PEER once if a rank died in one, whose last count
 * may be in both. _local: only the entries of set2 stored on the calling rank. swap: exchanges the
 * contents; no other call may use either multiset during it. Return 0, or -1. */
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
