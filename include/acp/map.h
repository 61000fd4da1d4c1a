/* SPDX-License-Identifier: BSD-3-Clause */
/* A map: values by their keys, each key once, spread over ranks. <acp/hashed.h> has the rules of
 * every call: concurrency (any thread of any rank, at any time, without locks), round trips to
 * other nodes, results and errors. */
#ifndef ACP_MAP_H
#define ACP_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <acp/access.h>
#include <acp/hashed.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    acp_ga_t ga; /* the directory's address; ACP_GA_NULL: no map */
    uint64_t num_ranks;
    uint64_t num_slots;
    uint64_t id; /* differs from that of an earlier map at this address; 0: not checked */
} acp_map_t;

/* A place in the container: an entry, or the end. The entry may have been erased since; calls that
 * take the iterator check that. Only calls make iterators: calls refuse one whose container, rank
 * or entry the program has changed with ACP_ERR_ARGUMENT. */
typedef struct {
    acp_map_t map;
    /* NOT a rank of the job but an index 0 .. num_ranks - 1 into the list of ranks given at
     * creation; num_ranks: the end; -1: a failed call */
    int rank;
    int is_local;  /* acp_begin_local_map began it: it ends behind the calling rank's entries */
    uint64_t slot; /* the place of the entry in the order of a walk */
    uint64_t tie;  /* the place among entries of the same slot */
    acp_ga_t elem; /* the entry; ACP_GA_NULL: the end */
    size_t key_size;
    size_t value_size;
    uint64_t stamp; /* a check value of the fields above, and a number that no later entry has */
} acp_map_it_t;

/* The result of a find. success: 1 and an iterator to the entry; 0: there is no entry; -1: a
 * failure. */
typedef struct {
    acp_map_it_t it;
    int success;
} acp_map_ib_t;

/* Makes an empty map. num_ranks 0 or ranks NULL: as acp_hashed_options_t says. The table of each
 * rank begins with num_slots slots and doubles as entries are inserted. On failure .ga is
 * ACP_GA_NULL and nothing was made. */
ACP_API acp_map_t acp_create_map(int num_ranks, const int* ranks, int num_slots, int rank);
ACP_API acp_map_t acp_create_map_with(const acp_hashed_options_t* options);

/* Frees a map and its entries. No rank may be using it. Returns 0, or -1. */
ACP_API int acp_destroy_map(acp_map_t map);

/* Inserts an entry unless the key has one; then that stays unchanged. Returns an iterator to the
 * entry of the key. */
ACP_API acp_map_it_t acp_insert_map(
    acp_map_t map, const void* key, size_t key_size, const void* value, size_t value_size);

/* acp_insert_map with another result: 1: inserted; 0: the key had an entry; -1. */
ACP_API int acp_insert_if_absent_map(
    acp_map_t map, const void* key, size_t key_size, const void* value, size_t value_size);

/* Inserts an entry, or replaces the value of the entry of its key. Returns 1: inserted; 0: there
 * was an entry, and its value was replaced; -1. */
ACP_API int acp_insert_or_assign_map(
    acp_map_t map, const void* key, size_t key_size, const void* value, size_t value_size);

/* Adds to a value of 8 bytes; when there is no entry, inserts one whose value is `addend`.
 *   old  NULL, or becomes the old value; 0 when there was no entry
 * Returns 1: inserted; 0: there was an entry; -1: failure, ACP_ERR_ARGUMENT when the value does not
 * have 8 bytes. */
ACP_API int acp_fetch_add_map(
    acp_map_t map, const void* key, size_t key_size, uint64_t addend, uint64_t* old);

/* Replaces a value of 8 bytes by `desired` if it equals *expected. Returns 1: replaced; 0: the
 * value differs, and *expected becomes that value; ACP_NONE: there is no entry; -1: failure,
 * ACP_ERR_ARGUMENT when the value does not have 8 bytes. */
ACP_API int acp_compare_exchange_map(
    acp_map_t map, const void* key, size_t key_size, uint64_t* expected, uint64_t desired);

/* Replaces the value of entry->key by `desired` if it equals entry->value byte for byte. A value of
 * 8 bytes is replaced by 8 bytes alone. A loop of acp_retrieve_map and acp_replace_map makes any
 * update atomic. Returns 1: replaced; 0: the value differs; ACP_NONE: there is no entry; -1:
 * failure, ACP_ERR_LIMIT when entry->value has more than 968 bytes, ACP_ERR_ARGUMENT when it has 8
 * and desired_size is not 8. */
ACP_API int acp_replace_map(acp_map_t map,
                            const acp_entry_t* entry,
                            const void* desired,
                            size_t desired_size);

/* Finds the entry of a key. Takes no lock and delays no other call. */
ACP_API acp_map_ib_t acp_find_map(acp_map_t map, const void* key, size_t key_size);

/* Copies a value out.
 *   value       room for the value; NULL is legal with *value_size 0
 *   value_size  the size of the room; becomes the size of the whole value. A longer value is cut to
 *               the room
 * Returns 1; 0: there is no entry; -1. */
ACP_API int acp_retrieve_map(
    acp_map_t map, const void* key, size_t key_size, void* value, size_t* value_size);

/* Erases the entry of a key. Returns 1: erased; 0: there was none; -1. */
ACP_API int acp_remove_map(acp_map_t map, const void* key, size_t key_size);

/* Erases the entry that an iterator found. Returns an iterator to the next one. ACP_ERR_STALE when
 * the entry had been erased before; acp_increment_map_it continues from the old iterator then. */
ACP_API acp_map_it_t acp_erase_map(acp_map_it_t it);

/* Many keys at once: each as by the call on one key (retrieve, insert_if_absent, insert_or_assign,
 * remove, fetch_add), in any order. One message carries a few dozen keys of another node; for keys
 * of the own node the call overlaps the cache misses. entries[i].result is the result of the call
 * on one key. Returns the number of results that are 1 (for assign and fetch_add: of new entries),
 * or -1 with the error of one when a result is -1. */
ACP_API int64_t acp_find_many_map(acp_map_t map, size_t count, acp_entry_t* entries);
ACP_API int64_t acp_insert_many_map(acp_map_t map, size_t count, acp_entry_t* entries);
ACP_API int64_t acp_assign_many_map(acp_map_t map, size_t count, acp_entry_t* entries);
ACP_API int64_t acp_remove_many_map(acp_map_t map, size_t count, acp_entry_t* entries);
ACP_API int64_t acp_fetch_add_many_map(acp_map_t map, size_t count, acp_entry_t* entries);

/* The calls on one key that do not wait; see acp_reply_t. entry: key, value and number as in a call
 * on many. */
ACP_API acp_handle_t acp_start_retrieve_map(acp_map_t map,
                                            const void* key,
                                            size_t key_size,
                                            acp_reply_t* reply);
ACP_API acp_handle_t acp_start_insert_map(acp_map_t map,
                                          const acp_entry_t* entry,
                                          acp_reply_t* reply);
ACP_API acp_handle_t acp_start_assign_map(acp_map_t map,
                                          const acp_entry_t* entry,
                                          acp_reply_t* reply);
ACP_API acp_handle_t acp_start_remove_map(acp_map_t map,
                                          const void* key,
                                          size_t key_size,
                                          acp_reply_t* reply);
ACP_API acp_handle_t acp_start_fetch_add_map(acp_map_t map,
                                             const acp_entry_t* entry,
                                             acp_reply_t* reply);

/* How many entries there are: exact while no rank inserts or erases. (size_t)-1 on failure. _local:
 * the entries stored on the calling rank. acp_empty_...: 1 when there is no entry, else 0; -1 on
 * failure. */
ACP_API size_t acp_size_map(acp_map_t map);
ACP_API size_t acp_size_local_map(acp_map_t map);
ACP_API int acp_empty_map(acp_map_t map);
ACP_API int acp_empty_local_map(acp_map_t map);

/* Iterators visit all entries, rank by rank; with _local, the entries stored on the calling rank.
 * An entry that exists from before acp_begin until the iteration reaches the end is visited once,
 * even if its value is replaced during the iteration. An entry that is inserted or erased during it
 * may be visited or not. acp_increment continues even from an entry that was erased. Costs one
 * round trip for an entry of another node: acp_scan_map reads many in one. */
ACP_API acp_map_it_t acp_begin_map(acp_map_t map);
ACP_API acp_map_it_t acp_end_map(acp_map_t map);
ACP_API acp_map_it_t acp_begin_local_map(acp_map_t map);
ACP_API acp_map_it_t acp_end_local_map(acp_map_t map);
ACP_API acp_map_it_t acp_increment_map_it(acp_map_it_t it);

/* Copies entries from the iterator's entry on, in the order of iteration, up to `count` entries and
 * as far as `room` holds them. A round trip to another node returns about 900 bytes of entries;
 * entries of the own node are copied at the speed of memory. *it becomes the iterator to the next
 * entry, or the end.
 *   entries  become the entries: key and value point into `room`; result is 1
 *   room     for the bytes: of each entry the value, then the key, each at the next multiple of 8
 *            bytes. it->value_size and it->key_size are the sizes of the next entry
 * Returns the number of entries, 0 at the end; or -1: ACP_ERR_LIMIT when there is no room for the
 * first entry, whose sizes are in *it then. */
ACP_API int64_t
acp_scan_map(acp_map_it_t* it, size_t count, acp_entry_t* entries, void* room, size_t room_size);

/* Where an entry's bytes lie: for acp_copy and atomics. The bytes stay there, and unchanged (a
 * value of 8 bytes may change in place), until the entry is erased or its value replaced;
 * afterwards the heap may reuse the memory. Does not communicate. ACP_GA_NULL after a failure:
 * ACP_ERR_ARGUMENT, the iterator is the end. */
ACP_API acp_pair_t acp_dereference_map_it(acp_map_it_t it);

/* Calls visit() with each entry stored on the calling rank, at the speed of memory, in the order of
 * iteration. The pointers are valid until visit() returns. visit() may make any call of ACP; a
 * result other than 0 stops the iteration. Returns the number of entries visited, or -1. */
ACP_API int64_t acp_for_each_local_map(acp_map_t map,
                                       int (*visit)(const void* key,
                                                    size_t key_size,
                                                    const void* value,
                                                    size_t value_size,
                                                    void* argument),
                                       void* argument);

/* Erases the entries that exist when the call begins; entries inserted during the call may stay.
 * _local: only the entries stored on the calling rank. Returns 0, or -1. */
ACP_API int acp_clear_map(acp_map_t map);
ACP_API int acp_clear_local_map(acp_map_t map);

/* assign: replaces the content of map1 by that of map2. merge: adds to map1 the entries of map2
 * whose keys it lacks. An entry that another rank changes in map2 during the call is copied in its
 * old or its new state. move: merges, and erases all of map2. An entry that another rank inserts or
 * replaces in map2 during the move is moved or stays. But values of 8 bytes are changed in place: a
 * change that acp_fetch_add_map, acp_compare_exchange_map, acp_replace_map or
 * acp_insert_or_assign_map makes to one in map2 during a move may be lost, even after that call has
 * returned success. Moves of the same map are carried out one after the other. _local: only the
 * entries of map2 stored on the calling rank. swap: exchanges the contents; no other call may use
 * either map during it. Return 0, or -1. */
ACP_API int acp_assign_map(acp_map_t map1, acp_map_t map2);
ACP_API int acp_assign_local_map(acp_map_t map1, acp_map_t map2);
ACP_API int acp_merge_map(acp_map_t map1, acp_map_t map2);
ACP_API int acp_merge_local_map(acp_map_t map1, acp_map_t map2);
ACP_API int acp_move_map(acp_map_t map1, acp_map_t map2);
ACP_API int acp_move_local_map(acp_map_t map1, acp_map_t map2);
ACP_API int acp_swap_map(acp_map_t map1, acp_map_t map2);

#ifdef __cplusplus
}
#endif

#endif
