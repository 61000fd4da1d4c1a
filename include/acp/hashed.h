/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules, types and calls that the four hashed containers share: acp_map_t (<acp/map.h>),
 * acp_multimap_t (<acp/multimap.h>), acp_set_t (<acp/set.h>) and acp_multiset_t (<acp/multiset.h>).
 *
 * Where entries lie. A container is spread over the ranks given to acp_create_...: the hash of a
 * key selects the rank that stores its entry, in that rank's heap (<acp/heap.h>). Keys and values
 * are bytes of any length; the container stores copies. A key may be empty.
 *
 * Concurrency. Any thread of any rank may make any call on any container at any time, except that
 * no thread may use a container during or after its acp_destroy_... The program needs no lock, and
 * the calls take none: no call waits for another process, even if that was stopped or killed in the
 * middle of a call on the same key. Every call on one key is linearizable: it takes effect at one
 * moment between its begin and its end, for all ranks alike, and a find returns whole values. A
 * call on many entries (size, iteration, clear, assign, merge, move, swap, the ..._many calls) is
 * linearizable for each entry, not as a whole.
 *
 * Time. A call on an entry of the caller's node accesses the memory directly. A call on an entry of
 * another node is run by the gateway of the owner's node: one round trip when key and value fit
 * into about 900 bytes, else three. The owner itself need not help.
 *
 * Handles. A small struct names a container; it may be copied, sent to other ranks and used there.
 * Calls refuse the handle of a destroyed container, and an address where no container was ever
 * made, with ACP_ERR_STALE; a handle that is all zero, or of a container of another kind, with
 * ACP_ERR_ARGUMENT; and an address of no memory with ACP_ERR_ADDRESS.
 *
 * Results. A call has failed if and only if it returns -1 in the type of its result (SIZE_MAX,
 * UINT64_MAX), an iterator with `rank` -1, a container or address with `ga` ACP_GA_NULL, or
 * ACP_HANDLE_NULL; then acp_errno() and acp_error_message() give the error. A call on one key that
 * may insert returns 1 when it made a new entry and 0 when the key had one. A call that needs an
 * entry returns 1 when it found the entry and did its work, else 0; a call that compares returns
 * ACP_NONE when the key has no entry. Errors of every call: ACP_ERR_MEMORY (no room in the owner's
 * heap: the container is as before), ACP_ERR_PEER (the owner's node is lost), ACP_ERR_STALE,
 * ACP_ERR_ADDRESS, ACP_ERR_ARGUMENT.
 * ACP_ERR_LIMIT: a key of more than about 950 bytes cannot be counted, added to, compared or
 * iterated by its entries, nor be found in a multimap, on any node. */
#ifndef ACP_HASHED_H
#define ACP_HASHED_H

#include <stddef.h>
#include <stdint.h>

#include <acp/element.h>
#include <acp/error.h>
#include <acp/export.h>
#include <acp/memory.h>

/* How keys are hashed. */
typedef enum {
    /* XXH3 with a random seed for each container: a party that chooses the keys cannot choose the
     * slots in which they collide. */
    ACP_HASH_DEFAULT = 0,
    /* CRC-64 of polynomial 0x42F0E1EBA9EA3693, shifted right by 16: the same placement in every
     * job. Keys with equal CRCs are easy to make, and the entries of such keys form one long
     * list. */
    ACP_HASH_CRC64 = 1,
    /* XXH3 with the seed of the options: the same placement in every job that has this seed. */
    ACP_HASH_XXH3 = 2,
    /* The CRC of ACP_HASH_CRC64, but least significant bit first, from a register of ones, and
     * inverted: the placement of ACP 3.0. Keys with equal CRCs are as easy to make. */
    ACP_HASH_CRC64_REFLECTED = 3
} acp_hash_t;

/* How a container is made. Fields that are zero have the usual value, so begin with {0}. */
typedef struct {
    /* The ranks that store entries: `num_ranks` different ones. NULL: ranks 0 .. num_ranks - 1.
     * num_ranks 0: all ranks of the job. */
    const int* ranks;
    int num_ranks;
    /* The rank whose heap holds the directory: a few words for each of `ranks`. */
    int rank;
    /* The number of slots on each of these ranks at first, 1 .. 2^32; 0: 8. A slot has room for
     * about five entries. */
    size_t num_slots;
    acp_hash_t hash;
    /* Not 0: the tables never grow, so the lists of entries in the slots do. */
    int is_fixed;
    /* Only ACP_HASH_XXH3 reads the seed. */
    uint64_t seed;
} acp_hashed_options_t;

/* One key of a call on many. It belongs to the caller; the call reads it, and writes the fields
 * that say so. */
typedef struct {
    const void* key;
    size_t key_size;
    /* Insert, assign: the value to store. Find: room for the value; may be NULL when value_size is
     * 0. */
    void* value;
    /* Insert, assign: the size of the value. Find: the size of the room; becomes the size of the
     * whole value. */
    size_t value_size;
    /* Fetch_add: the addend; becomes the old value. */
    uint64_t number;
    /* Becomes the result that the call on this key alone would return. Unchanged when the call
     * refuses a key or value of the list as an argument (NULL with a size, 4 GiB, a key too long to
     * be added to): then it changes no entry at all. */
    int result;
} acp_entry_t;

/* The reply of a call that does not wait. acp_start_... issues the operation and returns a handle;
 * once that is complete (acp_complete, acp_wait, acp_inquire), acp_result_of_reply gives the result
 * that the blocking call would have returned. Keys and values that do not fit into one round trip
 * are refused with ACP_ERR_LIMIT. The caller may reuse key and value as soon as acp_start_...
 * returns; it must keep the reply, unchanged, until the handle is complete. When another rank has
 * swapped the container since the calling rank last used it, the operation may take effect only
 * during acp_result_of_reply. The fields belong to the library. */
typedef struct {
    uint32_t what;
    uint32_t bytes;
    uint32_t key_size;
    uint32_t value_size;
    acp_ga_t container;
    uint64_t id;
    unsigned char room[1024];
} acp_reply_t;

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a call that acp_start_... issued, after its handle is complete.
 *   value       NULL, or becomes a pointer into the reply: to the value found (retrieve), or to the
 *               old value (fetch_add: 8 bytes)
 *   value_size  NULL, or becomes the size of that value
 * Returns as the blocking call on one key; -1 also when the operation failed. Does not block,
 * except when another rank has swapped the container on another node: then it runs the operation
 * now. */
ACP_API int acp_result_of_reply(acp_reply_t* reply, const void** value, size_t* value_size);

#ifdef __cplusplus
}
#endif

#endif
