/* SPDX-License-Identifier: BSD-3-Clause */
/* A map: values by their keys, each key once, spread over ranks. <acp/hashed.h> says what holds for
 * every call: any thread of any rank, at any time, without locks; one round trip to another node;
 * what results and errors mean. */
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
    acp_ga_t ga; /* of the directory; ACP_GA_NULL: no map */
    uint64_t num_ranks;
    uint64_t num_slots;
    uint64_t id; /* tells it from a map that was at this address before; 0: is not looked at */
} acp_map_t;

/* An entry, or the end. It says nothing of whether the entry still is there: calls that take it
 * find out. Only calls make iterators: one whose container, rank or entry was changed is refused
 * with ACP_ERR_ARGUMENT. */
typedef struct {
    acp_map_t map;
    /* NOT a rank of the job but an index 0 .. num_ranks - 1 into the list of ranks given at
     * creation; num_ranks: the end; -1: a failure */
    int rank;
    int is_local;  /* acp_begin_local_map began it: it ends behind the calling rank's entries */
    uint64_t slot; /* where an iteration is in that rank's table */
    uint64_t tie;  /* and among the entries there */
    acp_ga_t elem; /* the entry; ACP_GA_NULL: the end */
    size_t key_size;
    size_t value_size;
    uint64_t stamp; /* tells whether something else was put into the fields above */
} acp_map_it_t;

/* What a find gives: an iterator, and whether there is an entry. success: 1, 0, or -1 for a
 * failure. */
typedef struct {
    acp_map_it_t it;
    int success;
} acp_map_ib_t;

/* Makes an empty map. num_ranks 0 or ranks NULL: as acp_hashed_options_t says. The table of each
 * rank begins with num_slots slots and doubles as entries come. .ga is ACP_GA_NULL on failure, and
 * nothing was made. */
ACP_API acp_map_t acp_create_map(int num_ranks, const int* ranks, int num_slots, int rank);
ACP_API acp_map_t acp_create_map_with(const acp_hashed_options_t* options);

/* Frees a map and its entries. Nobody may be using it. Returns 0, or -1. */
ACP_API int acp_destroy_map(acp_map_t map);

/* Inserts an entry where there is none of its key; else the old one stays. Returns an iterator to
 * the entry of the key. */
ACP_API acp_map_it_t acp_insert_map(
    acp_map_t map, const void* key, size_t key_size, const void* value, size_t value_size);

/* The same. Returns 1: inserted; 0: there was an entry; -1. */
ACP_API int acp_insert_if_absent_map(
    acp_map_t map, const void* key, size_t key_size, const void* value, size_t value_size);

/* Inserts an entry, or replaces the value of the entry of its key. Returns 1: inserted; 0: there
 * was an entry, and its value was replaced; -1. */
ACP_API int acp_insert_or_assign_map(
    acp_map_t map, const void* key, size_t key_size, const void* value, size_t value_size);

/* Adds to a value of 8 bytes; where there is no entry, inserts one whose value is `addend`.
 *   old  NULL, or becomes what the value was before; 0 where there was none
 * Returns 1: inserted; 0: there was an entry; -1: failure, ACP_ERR_ARGUMENT where the value has not
 * 8 bytes. */
ACP_API int acp_fetch_add_map(
    acp_map_t map, const void* key, size_t key_size, uint64_t addend, uint64_t* old);

/* Replaces a value of 8 bytes by `desired` where it is *expected. Returns 1: replaced; 0: it was
 * not, and *expected becomes what it is; ACP_NONE: there is no entry; -1: failure, ACP_ERR_ARGUMENT
 * where the value has not 8 bytes. */
ACP_API int acp_compare_exchange_map(
    acp_map_t map, const void* key, size_t key_size, uint64_t* expected, uint64_t desired);

/* Replaces the value of entry->key by `desired` where it equals entry->value byte for byte: an
 * update of any kind is a loop of acp_retrieve_map and this. Returns 1: replaced; 0: it is another
 * value; ACP_NONE: there is no entry; -1: failure, ACP_ERR_LIMIT where entry->value has more than
 * 968 bytes. */
ACP_API int acp_replace_map(acp_map_t map,
                            const acp_entry_t* entry,
                            const void* desired,
                            size_t desired_size);

/* Finds the entry of a key. Takes no lock and keeps nobody waiting. */
ACP_API acp_map_ib_t acp_find_map(acp_map_t map, const void* key, size_t key_size);

/* Copies a value out.
 *   value       room for it; NULL is legal where there is room for 0 bytes
 *   value_size  of the room; becomes the size of the whole value, of which as much is copied as
 *               there is room for
 * Returns 1; 0: there is no entry; -1. */
ACP_API int acp_retrieve_map(
    acp_map_t map, const void* key, size_t key_size, void* value, size_t* value_size);

/* Erases the entry of a key. Returns 1: erased; 0: there was none; -1. */
ACP_API int acp_remove_map(acp_map_t map, const void* key, size_t key_size);

/* Erases the entry that an iterator found. Returns an iterator to the next one. ACP_ERR_STALE where
 * it had been erased before: acp_increment_map_it goes on from the old iterator then. */
ACP_API acp_map_it_t acp_erase_map(acp_map_it_t it);

/* Many keys at once: each as by the call on one (retrieve, insert_if_absent, insert_or_assign,
 * remove, fetch_add), in any order. Keys of another node go together, a few dozen in a message;
 * those of the own node hide the memory's delay. entries[i].result is what the call on one returns.
 * Returns how many results were 1 (of assign and fetch_add: how many entries are new), or -1 where
 * one was -1, with its error. */
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

/* How many entries there are: exact while nobody inserts or erases. (size_t)-1 on failure. _local:
 * those stored on the calling rank. acp_empty_...: 1 where there is none, else 0; -1. */
ACP_API size_t acp_size_map(acp_map_t map);
ACP_API size_t acp_size_local_map(acp_map_t map);
ACP_API int acp_empty_map(acp_map_t map);
ACP_API int acp_empty_local_map(acp_map_t map);

/* Iterators: all entries, or those stored on the calling rank, rank by rank. An entry that is there
 * from before acp_begin until the end is reached comes once, also where its value is replaced
 * meanwhile. One that is inserted or erased meanwhile may come or not. acp_increment goes on also
 * from an entry that was erased. Costs one round trip for an entry of another node: acp_scan_map
 * reads many in one. */
ACP_API acp_map_it_t acp_begin_map(acp_map_t map);
ACP_API acp_map_it_t acp_end_map(acp_map_t map);
ACP_API acp_map_it_t acp_begin_local_map(acp_map_t map);
ACP_API acp_map_it_t acp_end_local_map(acp_map_t map);
ACP_API acp_map_it_t acp_increment_map_it(acp_map_it_t it);

/* Copies entries from an iterator's on, as iterators find them, up to `count` and as far as there
 * is room: as many in a round trip to another node as 900 bytes or so hold, and at the speed of
 * memory on the own one. *it becomes the iterator to the next entry, or the end.
 *   entries  become the entries: key and value point into `room`; result is 1
 *   room     for the bytes: the value, then the key of each, and each at the next multiple of 8
 *            bytes. Of the next entry it->value_size and it->key_size say the sizes
 * Returns how many, 0 at the end; or -1: ACP_ERR_LIMIT where there is no room for the first, whose
 * sizes *it then tells. */
ACP_API int64_t
acp_scan_map(acp_map_it_t* it, size_t count, acp_entry_t* entries, void* room, size_t room_size);

/* Where an entry's bytes lie: for acp_copy and atomics. They stay there, and unchanged (a value of
 * 8 bytes may change in place), until the entry is erased or its value replaced; afterwards the
 * memory may be anything. Does not communicate. Null after a failure: ACP_ERR_ARGUMENT, the
 * iterator is the end. */
ACP_API acp_pair_t acp_dereference_map_it(acp_map_it_t it);

/* Calls visit with each entry stored on the calling rank, at the speed of memory, as iterators find
 * them. The pointers are valid during visit, which may make any call of ACP; it returns not 0 to
 * stop. Returns how many entries were visited, or -1. */
ACP_API int64_t acp_for_each_local_map(acp_map_t map,
                                       int (*visit)(const void* key,
                                                    size_t key_size,
                                                    const void* value,
                                                    size_t value_size,
                                                    void* argument),
                                       void* argument);

/* Erases the entries that are there; those that are inserted meanwhile may stay. _local: those
 * stored on the calling rank. 0, or -1. */
ACP_API int acp_clear_map(acp_map_t map);
ACP_API int acp_clear_local_map(acp_map_t map);

/* assign: map1 holds what map2 holds, and nothing else. merge: map1 gets the entries of map2 of
 * which it has no key. Entries that change meanwhile in map2 may be taken as before or after. move:
 * merges, and erases all of map2; what others insert or replace in map2 meanwhile is moved or
 * stays, but a value of 8 bytes is changed in place: what acp_fetch_add_map,
 * acp_compare_exchange_map, acp_replace_map and acp_insert_or_assign_map make of one in map2 during
 * a move may be lost, also where they have returned success. _local: only those of map2 stored on
 * the calling rank. swap: each holds what the other held; nobody else may use either meanwhile. 0,
 * or -1. */
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
