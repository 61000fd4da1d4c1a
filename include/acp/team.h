/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams: ordered sets of ranks, and what their members do together. The members of a team of n
 * ranks have the team ranks 0 .. n-1.
 *
 * A call marked collective is made by every member of the team, in the same order on all of them,
 * with arguments that agree where that is said; it blocks until the caller's part is done, which
 * may be before the others have done theirs. Members of a node go through memory that they share,
 * and one member of each node, its first one, speaks for it to other nodes. Whoever waits lets
 * others run and sleeps when nothing comes for long. One thread at a time makes calls on one team;
 * several threads may do so on several teams at once. Functions named acp_nb... begin a call and
 * return a request instead.
 *
 * Failures. A call that refuses its arguments (ACP_ERR_ARGUMENT, ACP_ERR_LIMIT) has told nobody:
 * the other members wait for it, and it may be made again. Everything else breaks the team on all
 * members, and each of them is told in this or its next call on the team: ACP_ERR_PEER when a
 * member is dead or its node is lost, ACP_ERR_MISMATCH when members have made different calls
 * (which call, how many bytes, root, type and operation are compared where members exchange
 * something; ACP_CHECK=on compares them before every call), ACP_ERR_MEMORY when one had no memory
 * for its part. What such a call has written to its buffers is unspecified. A broken team can be
 * asked for ranks and addresses and be freed. A member that is stopped is waited for; where each
 * node has one rank, for ACP_PEER_TIMEOUT.
 *
 * acp_finalize and acp_reset free all teams. No call is to be made from a signal handler or from a
 * function that combines. */
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

/* A team, as the calling process knows it. ACP_TEAM_NULL: a failure; ACP_TEAM_NONE: the caller is
 * no member of the team that was made, which is no failure. Neither is a team: calls refuse them
 * with ACP_ERR_STALE. */
typedef struct acp_team* acp_team_t;

#ifdef __cplusplus
#define ACP_TEAM_NULL (static_cast<acp_team_t>(nullptr))
#define ACP_TEAM_NONE (reinterpret_cast<acp_team_t>(intptr_t{ACP_NONE}))
#else
#define ACP_TEAM_NULL ((acp_team_t)0)
#define ACP_TEAM_NONE ((acp_team_t)(intptr_t)ACP_NONE)
#endif

/* What the elements of a reduction are. */
enum {
    ACP_INT32 = 1,
    ACP_UINT32 = 2,
    ACP_INT64 = 3,
    ACP_UINT64 = 4,
    ACP_FLOAT = 5, /* not with ACP_AND, ACP_OR, ACP_XOR, as ACP_DOUBLE */
    ACP_DOUBLE = 6
};

/* How they are combined. No number is that of a type too: a call in which the two are swapped is
 * refused with ACP_ERR_ARGUMENT. Sums of integers wrap around. ACP_MIN and ACP_MAX of floating
 * point numbers take the first of two that compare neither less nor greater, so the result is
 * unspecified where one is not a number. */
enum { ACP_SUM = 17, ACP_MIN = 18, ACP_MAX = 19, ACP_AND = 20, ACP_OR = 21, ACP_XOR = 22 };

/* Combines elements: into[i] becomes into[i] combined with from[i], the element of a later member,
 * for `count` elements. It must be associative and commutative, but for rounding. Called by the
 * thread that makes the collective call; must not throw. */
typedef void (*acp_combine_t)(void* into, const void* from, size_t count, void* context);

/* The team of all ranks of the job, whose team ranks are their ranks. It is always there and is not
 * freed. Does not block. */
ACP_API acp_team_t acp_world_team(void);

/* Divides a team: members that give the same colour are a new team, by key and, among equal keys,
 * by their rank in the old one.
 *   color  < 0: the caller is in none of the new teams and gets ACP_TEAM_NONE
 * Collective. Returns ACP_TEAM_NULL after a failure too, on all members. */
ACP_API acp_team_t acp_split_team(acp_team_t team, int color, int key);

/* The members of a team that are on the caller's node, in their order. Collective. Otherwise as
 * acp_split_team. */
ACP_API acp_team_t acp_split_team_by_node(acp_team_t team);

/* A team of some members of a team, in the order of a list. All members of `team` give the same
 * list; those that are not in it get ACP_TEAM_NONE.
 *   ranks  `count` different team ranks of `team`, 1 .. its size
 * Collective over `team`. ACP_ERR_MISMATCH where members give different lists. */
ACP_API acp_team_t acp_create_team(acp_team_t team, const int* ranks, int count);

/* Frees a team, which no thread uses any more, with the memory that acp_malloc_team has given on
 * it. Collective; of a broken team it waits for nobody, and what the team took of the heaps (at
 * most 300 KiB for each member, about twice ACP_CHANNEL_BYTES for each other member that it
 * exchanged something with, and that memory) is given back by acp_finalize or acp_reset only.
 * Returns 0, or -1: ACP_ERR_STALE, ACP_ERR_ARGUMENT (the team of all ranks); after any other
 * failure too the team is gone. */
ACP_API int acp_free_team(acp_team_t team);

/* The caller's team rank; how many members there are; the team rank in `other` of the member `rank`
 * of `team`, or ACP_NONE where it is not in `other`. -1 after a failure: ACP_ERR_STALE,
 * ACP_ERR_ARGUMENT. Do not block. */
ACP_API int acp_query_team_rank(acp_team_t team);
ACP_API int acp_query_team_size(acp_team_t team);
ACP_API int acp_translate_team_rank(acp_team_t team, int rank, acp_team_t other);

/* All that follows is collective and returns 0, or -1: ACP_ERR_STALE (no such team), ACP_ERR_STATE
 * (another thread is in a call on this team), ACP_ERR_ARGUMENT, and what breaks a team. Sizes are
 * any up to 2^61-1 bytes. A buffer of 0 bytes may be NULL. */

/* Waits until all members have come. Release and acquire for plain accesses to shared memory, as
 * acp_sync; completes no handle. */
ACP_API int acp_sync_team(acp_team_t team);

/* acp_sync_team for at most so long. Returns ACP_OK, ACP_ERR_TIMEOUT or another code. After
 * ACP_ERR_TIMEOUT the caller has come all the same: its next call on the team must be one of these
 * two, which goes on waiting for the same meeting; any other fails with ACP_ERR_STATE.
 *   timeout_ns  0: only look; < 0: for ever */
ACP_API int acp_sync_team_timeout(acp_team_t team, int64_t timeout_ns);

enum { ACP_NOTICE_BYTES = 1024 };

/* acp_sync_team that also brings each member a notice of each: any bytes, of lengths that need not
 * agree. Costs about a barrier where no notice is longer than 32 bytes, else about two.
 *   notice   `size` bytes, 0 .. ACP_NOTICE_BYTES, else ACP_ERR_LIMIT; not in `notices`
 *   notices  room for ACP_NOTICE_BYTES for each member: the notice of member r is put at r *
 *            ACP_NOTICE_BYTES, and no byte behind it changes
 *   sizes    room for a number for each member: how long its notice is */
ACP_API int acp_sync_team_notices(
    acp_team_t team, const void* notice, size_t size, void* notices, size_t* sizes);

/* `size` bytes at `buf` of the member `root` are copied to `buf` of all others.   size, root 
 * agree */
ACP_API int acp_broadcast_team(acp_team_t team, void* buf, size_t size, int root);

/* Combines the elements [i] of all members to [i] of the result, in the order of their team ranks
 * within a node, and nodes in the order of their first members. So all members get the same bits,
 * and the same again from the same numbers in a job of the same shape.
 *   send       `count` elements
 *   recv       room for them, of every member (acp_allreduce_team) or of `root` alone; may be
 *              `send`, and overlaps it in no other way
 *   count, type, operation, root  agree */
ACP_API int acp_reduce_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation, int root);
ACP_API int acp_allreduce_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation);

/* The same with elements of the program's own and its own function.
 *   size     of an element in bytes, 1 .. 32768, else ACP_ERR_LIMIT; elements are passed at
 *            addresses of any alignment that the size allows up to 64
 *   context  passed on; the caller's business */
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

/* `size` bytes of each member at `send` are put, by team rank, at `recv` of the member `root`
 * (acp_gather_team) or of all (acp_allgather_team). recv room for `size` bytes of each member,
 * where the result goes; `send` may be the caller's place in it, and overlaps it in no other way.
 * size, root agree */
ACP_API int acp_gather_team(acp_team_t team, const void* send, size_t size, void* recv, int root);
ACP_API int acp_allgather_team(acp_team_t team, const void* send, size_t size, void* recv);

/* Each member gets at `recv` its `size` bytes of those that the member `root` has for all, by team
 * rank, at `send`.
 *   recv  may be the root's place there; overlaps it in no other way.   size, root  agree */
ACP_API int acp_scatter_team(acp_team_t team, const void* send, size_t size, void* recv, int root);

/* Each member sends `size` bytes to each, also to itself: those for member r begin at send + r *
 * size, those of member r are put at recv + r * size. The two do not overlap. size agrees */
ACP_API int acp_alltoall_team(acp_team_t team, const void* send, size_t size, void* recv);

/* The same with sizes and places, in bytes, of each pair: what one member sends to another is as
 * long as that one expects, else ACP_ERR_MISMATCH.
 *   send_sizes, send_offsets, recv_sizes, recv_offsets  an element for each member, by team rank;
 *                                                       the ranges received do not overlap */
ACP_API int acp_alltoallv_team(acp_team_t team,
                               const void* send,
                               const size_t* send_sizes,
                               const size_t* send_offsets,
                               void* recv,
                               const size_t* recv_sizes,
                               const size_t* recv_offsets);

/* Each member gets the combination of its own elements and those of all members before it, in the
 * order of team ranks. Otherwise as acp_allreduce_team and acp_allreduce_by_team. */
ACP_API int acp_scan_team(
    acp_team_t team, const void* send, void* recv, size_t count, int type, int operation);
ACP_API int acp_scan_by_team(acp_team_t team,
                             const void* send,
                             void* recv,
                             size_t count,
                             size_t size,
                             acp_combine_t combine,
                             void* context);

/* --- Calls that do not block --- acp_nbX_team begins what acp_X_team does and returns a request,
 * or ACP_TEAM_REQUEST_NULL when it refuses its arguments, which it has told nobody then. Calls on
 * one team are made in the order begun: a call begins when those before it have ended for the
 * caller. A blocking call on the team first waits for them; acp_sync_team_timeout does not and
 * fails with ACP_ERR_STATE. Whether a member blocks or not is its own business: acp_nbsync_team on
 * one member meets acp_sync_team on another. Until the request has ended, buffers must stay valid
 * and are not to be changed, nor read where the call writes; so must the arrays of
 * acp_nballtoallv_team.
 *
 * The caller's part goes on while any thread of its process waits in a call of ACP's (not in
 * acp_wait or acp_complete; acp(7)) or is in acp_test_team or a function acp_nb..._team of this
 * team, and in no other moment: what other members wait for stands still while all threads of a
 * process compute. A call that is begun shows what it can without waiting, such as a root's bytes
 * of up to 256 KiB to its node. A function of acp_nbreduce_by_team and the like runs in whichever
 * thread that is, on a stack of 1 MiB.
 *
 * A request is ended by exactly one acp_wait_team, acp_wait_team_timeout or acp_test_team that
 * tells its end, and is gone then. acp_finalize and acp_reset end those that are under way, whose
 * buffers may have been written in part. Errors of beginning: ACP_ERR_STALE, ACP_ERR_ARGUMENT,
 * ACP_ERR_LIMIT (1024 calls are under way on the team), ACP_ERR_MEMORY, ACP_ERR_STATE (another
 * thread is in a blocking call on the team, or a late acp_sync_team_timeout has not ended). What
 * breaks the team is told by waiting. */
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

/* Waits for the end of a request. Returns 0, or -1 when the call has failed, or with
 * ACP_ERR_STALE. */
ACP_API int acp_wait_team(acp_team_request_t request);

/* acp_wait_team for at most so long. Returns the code with which the call has ended, or
 * ACP_ERR_TIMEOUT: then it goes on, and may be waited for again.
 *   timeout_ns  0: only look; < 0: for ever */
ACP_API int acp_wait_team_timeout(acp_team_request_t request, int64_t timeout_ns);

/* Looks whether a request has ended: 1, and the request is gone; 0: not yet; -1: it has failed, and
 * is gone. */
ACP_API int acp_test_team(acp_team_request_t request);

/* --- Memory of all members --- */

/* `size` bytes of the heap of each member, aligned to 64 bytes, as acp_malloc gives them; their
 * content is unspecified. Returns the address of the caller's part. An offset means the same in all
 * parts: acp_query_team_ga turns an address in one's own part into that of the same place in the
 * part of another member, without asking anybody. Collective; size agrees. Where a member's heap
 * has no room all get ACP_GA_NULL with ACP_ERR_MEMORY, no part is left, and the team is whole;
 * where a member has no memory for its records the team is broken. Any rank may use the memory, by
 * copies, atomics and, on the node, pointers (acp_query_address), until it is freed. */
ACP_API acp_ga_t acp_malloc_team(acp_team_t team, size_t size);

/* The address in the part of the member `rank` that is as far from its beginning as `ga` is in the
 * caller's part.
 *   ga  in a part of the caller's that acp_malloc_team has given on this team, else
 *       ACP_ERR_ARGUMENT
 * ACP_GA_NULL after a failure. Does not block; any thread, at any time. */
ACP_API acp_ga_t acp_query_team_ga(acp_team_t team, acp_ga_t ga, int rank);

/* Frees all parts, when all members have come: they have ended what they did with any of them. Each
 * gives the address that it got, of the same allocation, else ACP_ERR_MISMATCH. Collective; not for
 * acp_free, and needless before acp_free_team. */
ACP_API int acp_free_team_memory(acp_team_t team, acp_ga_t ga);

#ifdef __cplusplus
}
#endif

#endif
