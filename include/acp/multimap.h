/* SPDX-License-Identifier: BSD-3-Clause */
/* A map that may have several entries of one key, spread over ranks. <acp/hashed.h> has the rules
 * of every call: concurrency (any thread of any rank, at any time, without locks), round trips to
 * other nodes, results and errors. */
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
    acp_ga_t ga; /* the directory's address; ACP_GA_NULL: no multimap */
    uint64_t num_ranks;
    uint64_t num_slots;
    uint64_t id; /* differs from that of an earlier multimap at this address; 0: not checked */
} acp_multimap_t;

/* A place in the container: an entry, or the end. The entry may have been erased since; calls that
 * take the iterator check that. Only calls make iterators: calls refuse one whose container, rank
 * or entry the program has changed with ACP_ERR_ARGUMENT. */
typedef struct {
    acp_multimap_t map;
    /* NOT a rank of the job but an index 0 .. num_ranks - 1 into the list of ranks given at
     * creation; num_ranks: the end; -1: a failed call */
    int rank;
    int is_local; /* acp_begin_local_multimap began it: it ends behind the calling rank's entries */
    uint64_t slot; /* the place of the entry in the order of a walk */
    uint64_t tie;  /* the place among entries of the same slot */
    acp_ga_t elem; /* the entry; ACP_GA_NULL: the end */
    size_t key_size;
    size_t value_size;
    uint64_t stamp; /* a check value of the fields above, and a number that no later entry has */
} acp_multimap_it_t;

/* The result of a find. success: 1 and an iterator to the entry; 0: there is no entry; -1: a
 * failure. */
typedef struct {
    acp_multimap_it_t it;
    int success;
} acp_multimap_ib_t;

/* Makes an empty multimap. num_ranks 0 or ranks NULL: as acp_hashed_options_t says. The table of
 * each rank begins with num_slots slots and doubles as entries are inserted. On failure .ga is
 * ACP_GA_NULL and nothing was made. */
ACP_API acp_multimap_t acp_create_multimap(int num_ranks,
                                           const int* ranks,
                                           int num_slots,
                                           int rank);
ACP_API acp_multimap_t acp_create_multimap_with(const acp_hashed_options_t* options);

/* Frees a multimap and its entries. No rank may be using it. Returns 0, or -1. */
ACP_API int acp_destroy_multimap(acp_multimap_t map);

/* Inserts an entry, beside those of the same key. Returns an iterator to it. Entries of one key are
 * kept in one list, so a call on a key takes time proportional to the number of its entries. */
ACP_API acp_multimap_it_t acp_insert_multimap(
    acp_multimap_t map, const void* key, size_t key_size, const void* value, size_t value_size);

/* Finds one of the entries of a key. Takes no lock and delays no other call. */
ACP_API acp_multimap_ib_t acp_find_multimap(acp_multimap_t map, const void* key, size_t key_size);

/* Advances from an entry that acp_find_multimap found to the next entry of the same key, in no
 * particular order, and from the last one to the end. An entry that exists during the whole
 * iteration is visited once, or twice when the table doubles during it. */
ACP_API acp_multimap_it_t acp_increment_key_multimap_it(acp_multimap_it_t it);

/* How many entries a key has. -1 on failure. */
ACP_API int64_t acp_count_multimap(acp_multimap_t map, const void* key, size_t key_size);

/* Copies the value of an entry out, as acp_retrieve_map does. Returns 1; 0: the entry was erased;
 * -1. */
ACP_API int acp_read_multimap_it(acp_multimap_it_t it, void* value, size_t* value_size);

/* Erases all entries of a key. Returns the number erased, or -1. */
ACP_API int64_t acp_remove_multimap(acp_multimap_t map, const void* key, size_t key_size);

/* Erases the entry that an iterator found. Returns an iterator to the next one. ACP_ERR_STALE when
 * the entry had been erased before; acp_increment_multimap_it continues from the old iterator
 * then. */
ACP_API acp_multimap_it_t acp_erase_multimap(acp_multimap_it_t it);

/* How many entries there are: exact while no rank inserts or erases. (size_t)-1 on failure. _local:
 * the entries stored on the calling rank. acp_empty_...: 1 when there is no entry, else 0; -1 on
 * failure. */
ACP_API size_t acp_size_multimap(acp_multimap_t map);
ACP_API size_t acp_size_local_multimap(acp_multimap_t map);
ACP_API int acp_empty_multimap(acp_multimap_t map);
ACP_API int acp_empty_local_multimap(acp_multimap_t map);

/* Iterators visit all entries, rank by rank; with _local, the entries stored on the calling rank.
 * An entry that exists from before acp_begin until the iteration reaches the end is visited once,
 * even if its value is replaced during the iteration. An entry that is inserted or erased during it
 * may be visited or not. acp_increment continues even from an entry that was erased. Costs one
 * round trip for an entry of another node: acp_scan_multimap reads many in one. */
ACP_API acp_multimap_it_t acp_begin_multimap(acp_multimap_t map);
ACP_API acp_multimap_it_t acp_end_multimap(acp_multimap_t map);
ACP_API acp_multimap_it_t acp_begin_local_multimap(acp_multimap_t map);
ACP_API acp_multimap_it_t acp_end_local_multimap(acp_multimap_t map);
ACP_API acp_multimap_it_t acp_increment_multimap_it(acp_multimap_it_t it);

/* Copies entries from the iterator's entry on, in the order of iteration, up to `count` entries and
 * as far as `room` holds them. A round trip to another node returns about 900 bytes of entries;
 * entries of the own node are copied at the speed of memory. *it becomes the iterator to the next
 * entry, or the end.
 *   entries  become the entries: key and value point into `room`; result is 1
 *   room     for the bytes: of each entry the value, then the key, each at the next multiple of 8
 *            bytes. it->value_size and it->key_size are the sizes of the next entry
 * Returns the number of entries, 0 at the end; or -1: ACP_ERR_LIMIT when there is no room for the
 * first entry, whose sizes are in *it then. */
ACP_API int64_t acp_scan_multimap(
    acp_multimap_it_t* it, size_t count, acp_entry_t* entries, void* room, size_t room_size);

/* Where an entry's bytes lie: for acp_copy and atomics. The bytes stay there, and unchanged, until
 * the entry is erased; afterwards the heap may reuse the memory. Does not communicate. ACP_GA_NULL
 * after a failure: ACP_ERR_ARGUMENT, the iterator is the end. */
ACP_API acp_pair_t acp_dereference_multimap_it(acp_multimap_it_t it);

/* Calls visit() with each entry stored on the calling rank, at the speed of memory, in the order of
 * iteration. The pointers are valid until visit() returns. visit() may make any call of ACP; a
 * result other than 0 stops the iteration. Returns the number of entries visited, or -1. */
ACP_API int64_t acp_for_each_local_multimap(acp_multimap_t map,
                                            int (*visit)(const void* key,
                                                         size_t key_size,
                                                         const void* value,
                                                         size_t value_size,
                                                         void* argument),
                                            void* argument);

/* Erases the entries that exist when the call begins; entries inserted during the call may stay.
 * _local: only the entries stored on the calling rank. Returns 0, or -1. */
ACP_API int acp_clear_multimap(acp_multimap_t map);
ACP_API int acp_clear_local_multimap(acp_multimap_t map);

/* assign: replaces the content of map1 by that of map2. merge: adds the entries of map2 to map1. An
 * entry that another rank inserts into or erases from map2 during the call may be copied or not.
 * move: merges, and erases all of map2; an entry that another rank inserts into map2 during the
 * call is moved or stays. Moves of the same multimap are carried out one after the other; -1 and
 * ACP_ERR_PEER once if a rank died in one, whose last entry may be in both. _local: only the entries
 * of map2 stored on the calling rank. swap: exchanges the contents; no other call may use either
 * multimap during it. Return 0, or -1. */
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
