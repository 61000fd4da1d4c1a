/* SPDX-License-Identifier: BSD-3-Clause */
/* What the four hashed containers have in common: acp_map_t (<acp/map.h>), acp_multimap_t
 * (<acp/multimap.h>), acp_set_t (<acp/set.h>) and acp_multiset_t (<acp/multiset.h>).
 *
 * Where entries lie. A container is spread over the ranks that acp_create_... names: the hash of a
 * key decides on which of them its entry is stored, in that rank's heap (<acp/heap.h>). Keys and
 * values are bytes of any length, and are copied; a key may be empty.
 *
 * Concurrency. Any thread of any rank may make any call on any container at any time, but for
 * acp_destroy_...: then nobody else uses it any more. No lock outside is needed, and none is taken
 * inside: nobody waits for another process, also not for one that is stopped or was killed in the
 * middle of a call on the same key. Every call on one key takes effect at one moment between its
 * begin and its end (it is linearizable), for all ranks alike, and finds see whole values. What is
 * said of calls that touch many entries (size, iteration, clear, assign, merge, move, swap, the
 * ..._many calls) holds for each entry by itself.
 *
 * Time. On the caller's node a call works on the memory at once. On another node the gateway of the
 * owner's node runs it: one round trip where key and value fit into 900 bytes or so, three where
 * they do not. The owner itself need not help.
 *
 * Handles. A container is named by a small struct that may be copied, sent to other ranks and used
 * there. One that was destroyed is found and refused with ACP_ERR_STALE, as is an address where no
 * container was ever made; one that is all zero, or of another kind, with ACP_ERR_ARGUMENT; and an
 * address of no memory with ACP_ERR_ADDRESS.
 *
 * Results. A failure is -1 of whatever type the result is (SIZE_MAX, UINT64_MAX), an iterator of
 * which `rank` is -1, a container or address of which `ga` is ACP_GA_NULL, or ACP_HANDLE_NULL;
 * nothing else is one. acp_errno() and acp_error_message() say which. Calls on one key that may
 * insert return 1 where a new entry was made and 0 where there was one; calls that need an entry
 * return 1 where they found it and did what they are called for, else 0, and those that compare
 * ACP_NONE where there is no entry. ACP_ERR_MEMORY (no room in the owner's heap: the container is
 * as before), ACP_ERR_PEER (the owner's node is lost; or the owner is dead, and its node is not the
 * caller's), ACP_ERR_STALE, ACP_ERR_ADDRESS, ACP_ERR_ARGUMENT. They may come from every call here.
 * ACP_ERR_LIMIT, on whichever node the entry is: a key of more than 950 bytes or so cannot be
 * counted, added to, compared, or gone through by its entries, nor be found in a multimap. */
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
    /* XXH3 with a random seed of the container's own: whoever chooses the keys cannot choose their
     * place. */
    ACP_HASH_DEFAULT = 0,
    /* CRC-64 of polynomial 0x42F0E1EBA9EA3693, shifted right by 16: the same placement in every
     * job. Keys that all have one CRC are easily made, and a container of such keys is a list. */
    ACP_HASH_CRC64 = 1,
    /* XXH3 with the seed of the options: the same placement in every job that has this seed. */
    ACP_HASH_XXH3 = 2,
    /* The same CRC least significant bit first, from a register of ones and inverted: the placement
     * of ACP 3.0. As open to chosen keys as ACP_HASH_CRC64. */
    ACP_HASH_CRC64_REFLECTED = 3
} acp_hash_t;

/* How a container is made. Fields that are zero have the usual value, so begin with {0}. */
typedef struct {
    /* Where entries are stored: `num_ranks` ranks, each once. NULL: ranks 0 .. num_ranks - 1.
     * num_ranks 0: all of the job. */
    const int* ranks;
    int num_ranks;
    /* Where the directory is kept: a few words for each of `ranks`. */
    int rank;
    /* Slots on each of these ranks at first, 1 .. 2^32; 0: 8. About five entries fit into one. */
    size_t num_slots;
    acp_hash_t hash;
    /* Not 0: the number of slots stays as it is, and lists of entries grow long. */
    int is_fixed;
    /* Of ACP_HASH_XXH3; of no other. */
    uint64_t seed;
} acp_hashed_options_t;

/* One key of a call on many. The caller's; read during the call, but for what is said to be
 * written. */
typedef struct {
    const void* key;
    size_t key_size;
    /* Insert, assign: what to store. Find: room for the value, which may be NULL where value_size
     * is 0. */
    void* value;
    /* Insert, assign: of the value. Find: of the room; becomes the size of the whole value. */
    size_t value_size;
    /* Fetch_add: what to add; becomes what the value was before. */
    uint64_t number;
    /* Becomes what the call on this key alone would return. Stays what it was where a key or value
     * of the list is refused as an argument (NULL with a size, 4 GiB, a key too long to be added
     * to): then nothing is done for any of them. */
    int result;
} acp_entry_t;

/* Calls that do not wait: begun by the call, over when the handle is (acp_complete, acp_wait,
 * acp_inquire); then acp_result_of_reply tells what the call on one key would have returned. Keys
 * and values that do not fit into one round trip are refused with ACP_ERR_LIMIT. You may reuse key
 * and value as soon as acp_start_... returns; leave the reply alone, and keep it, until the handle
 * is complete. Where another rank has swapped the container since the calling rank used it, the
 * call may take effect only when acp_result_of_reply is asked for its result. The fields are the
 * library's own. */
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

/* What a call that was started has to say, when it is over.
 *   value  NULL, or becomes a pointer into the reply to the value found (retrieve), or to what it
 *          was (fetch_add: 8 bytes)
 *   value_size  NULL, or becomes its size
 * Returns as the call on one key; -1 also where it failed. Does not block, but for a call on a
 * container on another node that another rank has swapped: that is made now. */
ACP_API int acp_result_of_reply(acp_reply_t* reply, const void** value, size_t* value_size);

#ifdef __cplusplus
}
#endif

#endif
