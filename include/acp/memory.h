/* SPDX-License-Identifier: BSD-3-Clause */
/* Global addresses and the memory they name: starter memory and registered memory. */
#ifndef ACP_MEMORY_H
#define ACP_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <acp/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A global address: 64 bits naming one byte of one process's memory. Adding n names the n-th byte
 * after it, within its segment. */
typedef uint64_t acp_ga_t;

/* Names one registration. */
typedef uint64_t acp_atkey_t;

/* Enumerators for tools that read declarations alone, and macros of the right type (see
 * ACP_HANDLE_NULL in access.h). */
enum { ACP_GA_NULL = 0, ACP_ATKEY_NULL = 0 };

#define ACP_GA_NULL UINT64_C(0)
#define ACP_ATKEY_NULL UINT64_C(0)

/* The address of the first byte of a rank's starter memory, which exists from acp_init to
 * acp_finalize, is zero at acp_init and acp_reset, and may be used without its owner's help.
 *   rank  0 .. acp_procs()-1
 * Returns ACP_GA_NULL with ACP_ERR_ARGUMENT for other ranks. Does not block. */
ACP_API acp_ga_t acp_query_starter_ga(int rank);

/* The size of every rank's starter memory in bytes; (size_t)-1 with ACP_ERR_STATE. Does not
 * block. */
ACP_API size_t acp_starter_size(void);

/* Gives global addresses to memory of the caller.
 *   address  readable and writable memory of any kind (heap, static, stack, shared); it stays the
 *            caller's and must stay mapped and accessible until acp_unregister_memory
 *   size     1 .. the room the address layout has (acpinfo), in bytes
 *   color    0 .. acp_colors()-1: kept in addresses made from this key; chooses the network that
 *            their bytes take between nodes
 * Overlapping and repeated registrations are legal; each has its own key. At least 4096 may be
 * live. Returns a key, or ACP_ATKEY_NULL with ACP_ERR_ARGUMENT (zero size, colour, not mapped
 * read-write), or ACP_ERR_LIMIT (no room in the address layout). Does not block. */
ACP_API acp_atkey_t acp_register_memory(void* address, size_t size, int color);

/* Registers memory of every rank and gives every rank the addresses of all ranks. Collective, as
 * acp_sync: one thread of every rank calls it.
 *   address, size, color  the caller's part, as for acp_register_memory, of any size; or size 0,
 *                         and no memory of this rank is registered (address and color mean nothing)
 *   addresses             room for acp_procs() addresses, the caller's; [r] becomes the address of
 *                         byte 0 of rank r's part, ACP_GA_NULL where its size is 0
 *   key                   becomes the key of the caller's part, for acp_unregister_memory, which
 *                         each rank calls for its own part; ACP_ATKEY_NULL where size is 0
 * When it returns 0 every rank may use all addresses, and the stores that any rank made before its
 * call are visible to all ranks, as after acp_sync. It completes no handle and touches no starter
 * memory. Returns 0 on every rank or -1 on every rank; then nothing is registered, and addresses
 * and key are unchanged. The rank that failed has its own error (as acp_register_memory;
 * ACP_ERR_ARGUMENT: addresses or key is NULL); the other ranks have the same code and a message
 * that names that rank. ACP_ERR_PEER: a rank is dead or lost; ACP_ERR_STATE: the ranks made
 * different collective calls. Blocks until all ranks have called it. */
ACP_API int acp_register_all(
    void* address, size_t size, int color, acp_ga_t* addresses, acp_atkey_t* key);

/* Ends a registration. When it returns, no command reads or writes through it and none will; later
 * use of its addresses fails with ACP_ERR_STALE. Memory is not touched. Returns 0, or -1 with
 * ACP_ERR_ARGUMENT (never a key) or ACP_ERR_STALE (ended before). Blocks while a thread is inside
 * the memory for a command, also a thread of a stopped process; after 1 s the call names that
 * process on stderr. */
ACP_API int acp_unregister_memory(acp_atkey_t key);

/* The global address of a byte of a registration.
 *   address  inside the registered range of key
 * Returns ACP_GA_NULL with ACP_ERR_STALE (key) or ACP_ERR_ADDRESS (outside). Does not block. */
ACP_API acp_ga_t acp_query_ga(acp_atkey_t key, const void* address);

/* The caller's pointer to the byte that ga names, in its own memory or in shared memory (starter
 * memory, heaps) of a rank on the same node. Returns NULL with ACP_ERR_ADDRESS or ACP_ERR_STALE
 * when ga names no memory, NULL with ACP_ERR_UNSUPPORTED when the caller has not mapped it. Does
 * not block. */
ACP_API void* acp_query_address(acp_ga_t ga);

/* The rank that owns ga, or -1 with ACP_ERR_ADDRESS for ACP_GA_NULL and ranks outside the job. Does
 * not check that the memory is registered. Does not block. */
ACP_API int acp_query_rank(acp_ga_t ga);

/* The colour of ga, or -1 as acp_query_rank. Starter memory has colour 0. Does not block. */
ACP_API int acp_query_color(acp_ga_t ga);

/* The number of colours: 1 or more, and not less than the number of networks between the nodes. -1
 * with ACP_ERR_STATE. Does not block. */
ACP_API int acp_colors(void);

#ifdef __cplusplus
}
#endif

#endif
