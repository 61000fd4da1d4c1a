/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams: ordered sets of ranks, and collective calls on them. The members of a team of n ranks have
 * the team ranks 0 .. n-1.
 *
 * Every member of the team makes a call marked collective, in the same order on all members;
 * arguments marked "agree" are equal on all of them. The call blocks until the caller's part is
 * done; other members may still be working then. Members of one node communicate through shared
 * memory; the first member of each node communicates with the other nodes. A waiting thread yields,
 * and sleeps when no progress is made for long. One thread at a time makes calls on one team;
 * several threads may use several teams at once. Functions named acp_nb... issue a call and return
 * a request instead.
 *
 * Failures. A call that refuses its arguments (ACP_ERR_ARGUMENT, ACP_ERR_LIMIT) sends nothing to
 * the other members: they still wait for it, and the caller may repeat it. Every other failure
 * breaks the team on all members, and this or the next call on the team of each member returns the
 * error: ACP_ERR_PEER when a member is dead or its node is lost, ACP_ERR_MISMATCH when members have
 * made different calls (members that exchange data compare call, size, root, type and operation;
 * with ACP_CHECK=on all members compare them before every call), ACP_ERR_MEMORY when a member had
 * no memory for its part. The buffers of the failed call hold unspecified bytes. A broken team
 * still answers queries for ranks and addresses, and can be freed. Members wait for a stopped
 * member without limit; where each node has one rank, for ACP_PEER_TIMEOUT.
 *
 * acp_finalize and acp_reset free all teams. No call may be made from a signal handler or from an
 * acp_combine_t function. */
#ifndef ACP_TEAM_H
#define ACP_TEAM_H

#include <stddef.h>
#include <stdint.h>

#include <acp/error.h>
#include <acp/export.h>
#include <acp/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A team. The handle is valid in the calling process alone. ACP_TEAM_NULL: a failure;
 * ACP_TEAM_NONE: the caller is no member of the new team, which is no failure. Calls refuse both
 * with ACP_ERR_STALE. */
typedef struct acp_team* acp_team_t;

#ifdef __cplusplus
#define ACP_TEAM_NULL (static_cast<acp_team_t>(nullptr))
#define ACP_TEAM_NONE (reinterpret_cast<acp_team_t>(intptr_t{ACP_NONE}))
#else
#define ACP_TEAM_NULL ((acp_team_t)0)
#define ACP_TEAM_NONE ((acp_team_t)(intptr_t)ACP_NONE)
#endif

/* The types of the elements of a reduction. */
enum {
    ACP_INT32 = 1,
    ACP_UINT32 = 2,
    ACP_INT64 = 3,
    ACP_UINT64 = 4,
    ACP_FLOAT = 5, /* ACP_FLOAT and ACP_DOUBLE: not with ACP_AND, ACP_OR, ACP_XOR */
    ACP_DOUBLE = 6
};

/* The operations of a reduction. No number is also that of a type: a call with type and operation
 * swapped is refused with ACP_ERR_ARGUMENT. Sums of integers wrap around. ACP_MIN and ACP_MAX of
 * floating point numbers take the first of two that compare neither less nor greater, so the result
 * is unspecified when one is not a number. */
enum { ACP_SUM = 17, ACP_MIN = 18, ACP_MAX = 19, ACP_AND = 20, ACP_OR = 21, ACP_XOR = 22 };

/* Combines elements: into[i] becomes into[i] combined with from[i], the element of a later member,
 * for `count` elements. It must be associative and commutative, except for rounding. The thread
 * that makes the collective call runs it, and for acp_nb... calls any thread of the process that
 * makes progress. It must not throw. */
typedef void (*acp_combine_t)(void* into, const void* from, size_t count, void* context);

/* The team of all ranks of the job; the team ranks are the ranks. It exists from acp_init to
 * acp_finalize and cannot be freed. Does not block. */
ACP_API acp_team_t acp_world_team(void);

/* Divides a team: members that give the same colour form a new team, ordered by key and, among
 * equal keys, by their rank in the old team.
 *   color  < 0: the caller is in none of the new teams and gets ACP_TEAM_NONE
 * Collective. Returns ACP_TEAM_NULL on all members after a failure. */
ACP_API acp_team_t acp_split_team(acp_team_t team, int color, int key);

/* The members of a team that are on the caller's node, in their order. Collective. Otherwise as
 * acp_split_team. */
ACP_API acp_team_t acp_split_team_by_node(acp_team_t team);

/* Makes a team of some members of a team, in the order of a list. All members of `team` give the
 * same list; the members that are not in it get ACP_TEAM_NONE.
 *   ranks  `count` different team ranks of `team`, 1 .. its size
 * Collective over `team`. ACP_ERR_MISMATCH when members give different lists; `team` stays usable
 * then. */
ACP_API acp_team_t acp_create_team(acp_team_t team, const int* ranks, int count);

/* Frees a team and the memory that acp_malloc_team has allocated on it. No thread may be using the
 * team. Collective. On a broken team the call waits for no other member, and only acp_finalize or
 * acp_reset frees the heap memory of the team: at most 300 KiB for each member, about twice
 * ACP_CHANNEL_BYTES for each other member that it communicated with, and the memory of
 * acp_malloc_team. Returns 0, or -1: ACP_ERR_STALE, ACP_ERR_ARGUMENT (the team of all ranks). After
 * any other failure the team is freed all the same. */
ACP_API int acp_free_team(acp_team_t team);

/* The caller's team rank; the number of members; the team rank in `other` of the member `rank` of
 * `team`, or ACP_NONE when that member is not in `other`. -1 after a failure: ACP_ERR_STALE,
 * ACP_ERR_ARGUMENT. Do not block. */
ACP_API int acp_query_team_rank(acp_team_t team);
ACP_API int acp_query_team_size(acp_team_t team);
ACP_API int acp_translate_team_rank(acp_team_t team, int rank, acp_team_t other);

/* All calls that follow are collective and return 0, or -1: ACP_ERR_STALE (no such team),
 * ACP_ERR_STATE (another thread is in a call on this team), ACP_ERR_ARGUMENT, and the errors that
 * break a team. Sizes are at most 2^61-1 bytes. A buffer of 0 bytes may be NULL. */

/* Barrier: waits until all members have called it. Release and acquire for plain accesses to shared
 * memory, as acp_sync; completes no handle. */
ACP_API int acp_sync_team(acp_team_t team);

/* acp_sync_team with a time limit. Returns ACP_OK, ACP_ERR_TIMEOUT or another code. After
 * ACP_ERR_TIMEOUT the caller counts as arrived at the barrier: its next call on the team must be
 * acp_sync_team or acp_sync_team_timeout, which continues to wait for the same barrier; any other
 * call fails with ACP_ERR_STATE.
 *   timeout_ns  0: polls once; < 0: for ever */
ACP_API int acp_sync_team_timeout(acp_team_t team, int64_t timeout_ns);

enum { ACP_NOTICE_BYTES = 1024 };

/* acp_sync_team that also delivers a notice of each member to each member. A notice is any bytes;
 * the lengths may differ. Costs about one barrier when no notice is longer than 32 bytes, else
 * about two.
 *   notice   `size` bytes, 0 .. ACP_NOTICE_BYTES, else ACP_ERR_LIMIT; not in `notices`
 *   notices  room for ACP_NOTICE_BYTES for each member: the notice of member r is written at r *
 *            ACP_NOTICE_BYTES, and no byte behind it
 *   sizes    room for the length of each member's notice */
ACP_API int acp_sync_team_notices(
    acp_team_t team, const void* notice, size_t size, void* notices, size_t* sizes);

/* Copies `size` bytes at `buf` of the member `root` to `buf` of all other members. size, root
 * agree */
ACP_API int acp_broadcast_team(acp_team_t team, void* buf, size_t size, int root);

/* Combines the elements [i] of all members to [i] of the result: within a node in the order of team
 * ranks, and nodes in the order of their first members. So all members get the same bits, and equal
 * inputs give the same bits again in a job of the same shape.
 *   send       `count` elements
 *   recv       room for `count` elements, on every member (acp_allreduce_team) or on `root` alone;
 *              may equal `send`, else must not overlap it
 *   count, type, operation, root  agree */
ACP_API int acp_reduce_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation, int root);
ACP_API int acp_allreduce_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation);

/* Reductions of elements of any type with a function of the program.
 *   size     bytes of an element, 1 .. 32768, else ACP_ERR_LIMIT; elements are passed at addresses
 *            aligned to the largest power of two up to 64 that divides the size
 *   context  passed to `combine`; the library does not use it */
ACP_API int acp_reduce_by_team(acp_team_t team,
                               const void* send,
                               void* recv,
                               size_t count,
                               size_t size,
                               acp_combine_t combine,
                               void* context,
                               int root);
ACP_API int acp_allreduce_by_team(acp_team_t team,
                                  const void* send,
                                  void* recv,
                                  size_t count,
                                  size_t size,
                                  acp_combine_t combine,
                                  void* context);

/* Copies `size` bytes at `send` of each member, in the order of team ranks, to `recv` of the member
 * `root` (acp_gather_team) or of all members (acp_allgather_team).
 *   recv  room for `size` bytes of each member, on the members that get the result; `send` may be
 *         the caller's place in it, else must not overlap it
 *   size, root  agree */
ACP_API int acp_gather_team(acp_team_t team, const void* send, size_t size, void* recv, int root);
ACP_API int acp_allgather_team(acp_team_t team, const void* send, size_t size, void* recv);

/* Copies to `recv` of each member its `size` bytes of `send` of the member `root`, which holds
 * those of all members in the order of team ranks.
 *   recv  on the root may be its own place in `send`, else must not overlap it
 *   size, root  agree */
ACP_API int acp_scatter_team(acp_team_t team, const void* send, size_t size, void* recv, int root);

/* Each member sends `size` bytes to each member, also to itself: the bytes for member r begin at
 * send + r * size, the bytes from member r are written at recv + r * size. The two buffers do not
 * overlap.
 *   size  agrees */
ACP_API int acp_alltoall_team(acp_team_t team, const void* send, size_t size, void* recv);

/* acp_alltoall_team with a size and offsets, in bytes, for each pair of members. The sender's and
 * the receiver's size of a pair are equal, else ACP_ERR_MISMATCH; of the caller's bytes for itself
 * ACP_ERR_ARGUMENT, and then the caller has sent nothing.
 *   send_sizes, send_offsets, recv_sizes, recv_offsets  an element for each member, in the order of
 *                                                       team ranks; the ranges received do not
 *                                                       overlap */
ACP_API int acp_alltoallv_team(acp_team_t team,
                               const void* send,
                               const size_t* send_sizes,
                               const size_t* send_offsets,
                               void* recv,
                               const size_t* recv_sizes,
                               const size_t* recv_offsets);

/* Inclusive scan: each member gets the combination of its own elements and those of all members
 * before it, in the order of team ranks. Otherwise as acp_allreduce_team and
 * acp_allreduce_by_team. */
ACP_API int acp_scan_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation);
ACP_API int acp_scan_by_team(acp_team_t team,
                             const void* send,
                             void* recv,
                             size_t count,
                             size_t size,
                             acp_combine_t combine,
                             void* context);

/* Exclusive scan: as acp_scan_team and acp_scan_by_team, without the caller's own elements. The recv
 * of member 0 stays unchanged, and may be NULL. */
ACP_API int acp_exscan_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation);
ACP_API int acp_exscan_by_team(acp_team_t team,
                               const void* send,
                               void* recv,
                               size_t count,
                               size_t size,
                               acp_combine_t combine,
                               void* context);

/* --- Calls that do not block --- acp_nbX_team issues the call acp_X_team and returns a request, or
 * ACP_TEAM_REQUEST_NULL when it refuses its arguments; then it has sent nothing to the other
 * members. The calls on one team run in the order of issue: a call starts when the earlier ones
 * have completed for the caller. A blocking call on the team first waits for the outstanding ones;
 * acp_sync_team_timeout with a timeout_ns of 0 or more fails with ACP_ERR_STATE instead. Blocking
 * and non-blocking forms match: acp_nbsync_team on one member and acp_sync_team on another are one
 * barrier. Until the request is complete, the buffers and the arrays of acp_nballtoallv_team must
 * stay valid and unchanged, and the program must not read a buffer that the call writes.
 *
 * The caller's part makes progress only while a thread of its process waits in a call of ACP's (but
 * not in acp_wait or acp_complete; acp(7)), or is in acp_test_team or an acp_nb..._team function of
 * this team. While all threads of a process compute, other members wait for its part. The issuing
 * call itself does the work that needs no waiting, for instance it publishes up to 256 KiB of a
 * root's bytes to its node. The combine function of acp_nbreduce_by_team, acp_nballreduce_by_team
 * and acp_nbscan_by_team runs in the thread that makes progress, on a stack of 1 MiB.
 *
 * Exactly one acp_wait_team, acp_wait_team_timeout or acp_test_team returns the completion of a
 * request and retires it. acp_finalize and acp_reset cancel outstanding requests, whose buffers may
 * have been written in part. Errors of issuing: ACP_ERR_STALE, ACP_ERR_ARGUMENT, ACP_ERR_LIMIT
 * (1024 calls are outstanding on the team), ACP_ERR_MEMORY, ACP_ERR_STATE (another thread is in a
 * blocking call on the team, or a barrier of acp_sync_team_timeout that timed out is not complete).
 * The errors that break the team are returned by the calls that wait or test. */
typedef struct acp_team_request* acp_team_request_t;

#ifdef __cplusplus
#define ACP_TEAM_REQUEST_NULL (static_cast<acp_team_request_t>(nullptr))
#else
#define ACP_TEAM_REQUEST_NULL ((acp_team_request_t)0)
#endif

ACP_API acp_team_request_t acp_nbsync_team(acp_team_t team);
ACP_API acp_team_request_t acp_nbbroadcast_team(acp_team_t team, void* buf, size_t size, int root);
ACP_API acp_team_request_t acp_nbreduce_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation, int root);
ACP_API acp_team_request_t acp_nballreduce_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation);
ACP_API acp_team_request_t acp_nbreduce_by_team(acp_team_t team,
                                                const void* send,
                                                void* recv,
                                                size_t count,
                                                size_t size,
                                                acp_combine_t combine,
                                                void* context,
                                                int root);
ACP_API acp_team_request_t acp_nballreduce_by_team(acp_team_t team,
                                                   const void* send,
                                                   void* recv,
                                                   size_t count,
                                                   size_t size,
                                                   acp_combine_t combine,
                                                   void* context);
ACP_API acp_team_request_t
acp_nbgather_team(acp_team_t team, const void* send, size_t size, void* recv, int root);
ACP_API acp_team_request_t acp_nballgather_team(acp_team_t team,
                                                const void* send,
                                                size_t size,
                                                void* recv);
ACP_API acp_team_request_t
acp_nbscatter_team(acp_team_t team, const void* send, size_t size, void* recv, int root);
ACP_API acp_team_request_t acp_nballtoall_team(acp_team_t team,
                                               const void* send,
                                               size_t size,
                                               void* recv);
ACP_API acp_team_request_t acp_nballtoallv_team(acp_team_t team,
                                                const void* send,
                                                const size_t* send_sizes,
                                                const size_t* send_offsets,
                                                void* recv,
                                                const size_t* recv_sizes,
                                                const size_t* recv_offsets);
ACP_API acp_team_request_t acp_nbscan_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation);
ACP_API acp_team_request_t acp_nbscan_by_team(acp_team_t team,
                                              const void* send,
                                              void* recv,
                                              size_t count,
                                              size_t size,
                                              acp_combine_t combine,
                                              void* context);

ACP_API acp_team_request_t acp_nbexscan_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation);
ACP_API acp_team_request_t acp_nbexscan_by_team(acp_team_t team,
                                                const void* send,
                                                void* recv,
                                                size_t count,
                                                size_t size,
                                                acp_combine_t combine,
                                                void* context);

/* Waits until a request is complete. Returns 0, or -1 when the call has failed, or with
 * ACP_ERR_STALE. */
ACP_API int acp_wait_team(acp_team_request_t request);

/* acp_wait_team with a time limit. Returns the code with which the call completed. After
 * ACP_ERR_TIMEOUT the request is still outstanding and may be waited for again.
 *   timeout_ns  0: polls once; < 0: for ever */
ACP_API int acp_wait_team_timeout(acp_team_request_t request, int64_t timeout_ns);

/* Polls a request. Returns 1: complete and retired; 0: still outstanding; -1: failed and
 * retired. */
ACP_API int acp_test_team(acp_team_request_t request);

/* --- Memory of all members --- */

/* Allocates `size` bytes of the heap of each member, aligned to 64 bytes, as acp_malloc does; the
 * content is unspecified. Returns the address of the caller's part. acp_query_team_ga translates an
 * address in the caller's part to the same offset in the part of another member, without
 * communication. Collective; size agrees. When a member's heap has no room, all members get
 * ACP_GA_NULL with ACP_ERR_MEMORY, no part stays allocated, and the team stays usable; when a
 * member has no memory for its records, the team is broken. Any rank may use the memory, by copies,
 * atomics and, on the node, pointers (acp_query_address), until it is freed. */
ACP_API acp_ga_t acp_malloc_team(acp_team_t team, size_t size);

/* The address in the part of the member `rank` at the offset that `ga` has in the caller's part.
 *   ga  an address in a part that acp_malloc_team returned to the caller on this team, else
 *       ACP_ERR_ARGUMENT
 * ACP_GA_NULL after a failure. Does not block; any thread, at any time. */
ACP_API acp_ga_t acp_query_team_ga(acp_team_t team, acp_ga_t ga, int rank);

/* Frees the parts of all members of one allocation, after all members have made the call; each
 * member must have completed its accesses to all parts before. Each member passes the address that
 * acp_malloc_team returned to it, of the same allocation, else ACP_ERR_MISMATCH. Collective.
 * acp_free must not free a part. acp_free_team frees the parts too. */
ACP_API int acp_free_team_memory(acp_team_t team, acp_ga_t ga);

#ifdef __cplusplus
}
#endif

#endif
