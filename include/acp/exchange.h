/* SPDX-License-Identifier: BSD-3-Clause */
/* Scheduled exchanges: copies between the members of a team that are known in advance, such as the
 * halo of a grid, are compiled once and carried out many times.
 *
 *     acp_pattern_t pattern = acp_create_pattern(acp_world_team());
 *     acp_add_send_pattern(pattern, +1, last_row, bytes);      to the next member
 *     acp_add_recv_pattern(pattern, -1, row_before, bytes);    from the one before
 *     acp_plan_t plan = acp_compile_pattern(pattern, NULL);    all members meet, here alone
 *     for (...) {
 *         acp_start_plan(plan);
 *         compute_inner_points();
 *         acp_wait_plan(plan);                                 row_before is there, last_row is the program's again
 *     }
 *     acp_free_plan(plan);
 *     acp_free_pattern(pattern);
 *
 * Start and wait are no barriers: each member waits for those alone that send it something, and for
 * those that still read what it sends. A member may be one round ahead of its receivers where the
 * bytes go through memory of ACP's: everything between nodes, and on a node messages from private
 * memory and short ones. Messages in memory of acp_malloc or in starter memory, 2048 bytes or more
 * of them to one receiver, are copied once, by its receiver on the node straight to its target, and
 * the sender's acp_wait_plan returns when the receiver has it. Other bytes are copied by
 * acp_start_plan, and go on to other nodes without any further call. A started exchange goes on
 * while any thread of its process waits in a call of ACP's (not in acp_wait or acp_complete;
 * acp(7)): members that have begun several wait for them in any order, and for other things before.
 *
 * From acp_start_plan until the plan's wait or test has told the end, sources are not to be
 * changed, and targets neither read nor changed. All buffers stay where they are as long as there
 * is a plan on them.
 *
 * Failures. When a member dies or its node is lost, the plan is broken on all members: their calls
 * on it fail with ACP_ERR_PEER, of those that exchange nothing with it perhaps one or two exchanges
 * later, and nobody waits for ever. What the targets hold then is unspecified. A member that is
 * stopped is waited for; where each node has one rank, for ACP_PEER_TIMEOUT. One thread at a time
 * makes calls on one pattern or plan, else ACP_ERR_STATE; several threads may use several. Not from
 * a signal handler. acp_finalize and acp_reset free all patterns and plans. Calls that fail return
 * what is said here and set acp_errno(): ACP_ERR_STALE (no such pattern or plan),
 * ACP_ERR_MEMORY. */
#ifndef ACP_EXCHANGE_H
#define ACP_EXCHANGE_H

#include <stddef.h>

#include <acp/export.h>
#include <acp/memory.h>
#include <acp/team.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A list of copies, and what it was compiled to; of the calling process alone. */
typedef struct acp_pattern* acp_pattern_t;
typedef struct acp_plan* acp_plan_t;

#ifdef __cplusplus
#define ACP_PATTERN_NULL (static_cast<acp_pattern_t>(nullptr))
#define ACP_PLAN_NULL (static_cast<acp_plan_t>(nullptr))
#else
#define ACP_PATTERN_NULL ((acp_pattern_t)0)
#define ACP_PLAN_NULL ((acp_plan_t)0)
#endif

/* The most messages that a member may add to a pattern. */
enum { ACP_PATTERN_MESSAGES_MAX = 1048576 };

/* An empty pattern of the caller's, for a team. Not collective. Returns ACP_PATTERN_NULL after a
 * failure. */
ACP_API acp_pattern_t acp_create_pattern(acp_team_t team);

/* Add a message to or from the member whose team rank is the caller's plus `shift`, counted around
 * the end of the team: -1 is the member before, and 0 the caller itself, which is allowed. The n-th
 * send to a member belongs to the n-th receive of that member from the caller, and both have the
 * same size. NULL is legal with size 0.
 *   shift  less than the team's size, and more than minus that
 *   size   below 2^50
 * Return 0, or -1: ACP_ERR_ARGUMENT, ACP_ERR_LIMIT (ACP_PATTERN_MESSAGES_MAX). */
ACP_API int acp_add_send_pattern(acp_pattern_t pattern, int shift, const void* source, size_t size);
ACP_API int acp_add_recv_pattern(acp_pattern_t pattern, int shift, void* target, size_t size);

/* Adds a copy from the caller's memory to an address, of which the owner adds nothing to its own
 * pattern. The owner compiles, starts and waits for its plan as often as the caller nevertheless,
 * and its plan writes the target after it was started.
 *   target  `size` bytes of a member: of acp_malloc, starter memory, or registered when the pattern
 *           is compiled and as long as there is a plan
 * Returns 0, or -1: also ACP_ERR_ADDRESS, where no member has that address. */
ACP_API int acp_add_copy_pattern(acp_pattern_t pattern,
                                 acp_ga_t target,
                                 const void* source,
                                 size_t size);

/* A Cartesian grid of the team's members, and the caller's part of an array that is divided among
 * them: its points and, around them, a halo, which holds copies of the neighbours' outermost
 * points. Along each dimension there may be members with more points than others. Read by the call
 * alone. */
typedef struct {
    int dimensions;     /* 1 .. 8; the last one varies fastest, in team ranks and in the array */
    const int* members; /* along each dimension, 1 or more; multiplied, all of the team */
    const int*
        periodic; /* for each: not 0: its last member is a neighbour of the first; NULL: nowhere */
    const size_t* points; /* for each: of the caller's part, without halo, 1 or more */
    const size_t* halo;   /* for each: points of the halo on each side, 0 .. points */
    size_t point_size;    /* bytes, 1 or more */
    int reach; /* 1: neighbours beyond faces; 2: beyond edges too; ...; `dimensions`: also beyond corners */
} acp_grid_t;

/* Adds what fills the halo of an array: a message to and from each neighbour. They are packed and
 * unpacked by the plan; those that lie side by side need not be. All members add their part, and in
 * the same order where a pattern has several.
 *   array  points + 2 * halo points in each dimension; the first one is of the halo
 * Returns 0, or -1: ACP_ERR_ARGUMENT, ACP_ERR_LIMIT; then nothing is added. */
ACP_API int acp_add_halo_pattern(acp_pattern_t pattern, void* array, const acp_grid_t* grid);

/* The pieces of a buffer that go to neighbours, or come from them. Read by the call alone. */
typedef struct {
    int count; /* 0 .. ACP_PATTERN_MESSAGES_MAX; with 0 the lists may be NULL */
    const int*
        shifts; /* of each neighbour, as of acp_add_send_pattern; one may stand there several times */
    const size_t* sizes;   /* bytes of its piece, below 2^50 */
    const size_t* offsets; /* of its piece from the start of the buffer, in bytes */
} acp_neighbours_t;

/* Adds what a neighbour alltoallv sends: a piece of the source to each of some neighbours, and one
 * into the target from each of others. The same as an acp_add_send_pattern for each piece of `to`
 * and an acp_add_recv_pattern for each of `from`, in their order.
 *   source  NULL is legal where all pieces have size 0; so for target
 * Returns 0, or -1: ACP_ERR_ARGUMENT (names the piece by its place in the list), ACP_ERR_LIMIT;
 * then nothing is added. Source: MPI_Neighbor_alltoallv of the MPI standard. */
ACP_API int acp_add_alltoallv_pattern(acp_pattern_t pattern,
                                      const void* source,
                                      const acp_neighbours_t* to,
                                      void* target,
                                      const acp_neighbours_t* from);

/* Frees a pattern; plans made of it stay. Returns 0 or -1. */
ACP_API int acp_free_pattern(acp_pattern_t pattern);

/* Compiles the pattern of each member, all of which make this call, into a plan of each. The
 * pattern may be compiled again, or be added to.
 *   network  NULL: messages to other nodes go longest first, and long ones by all rails, by how
 *            fast these were lately. Else the text of a network (docs/guide/exchange.md), such as
 *            "preset tofu 4 4", a torus whose nodes are the members by team rank: then they go in
 *            the order, and in the pieces, of the planner of scheduled exchanges, as if each member
 *            sent what the caller sends. It changes nothing of what arrives.
 * Returns ACP_PLAN_NULL after a failure, which is one on all members, but for ACP_ERR_STALE, which
 * has told nobody. ACP_ERR_MISMATCH (sends and receives of two members do not fit: which, is told
 * to the receiver), ACP_ERR_ARGUMENT (targets of one member overlap; the network), ACP_ERR_ADDRESS
 * (the target of a copy is no memory of its owner), ACP_ERR_MEMORY (a heap has no room),
 * ACP_ERR_PEER, ACP_ERR_STATE. */
ACP_API acp_plan_t acp_compile_pattern(acp_pattern_t pattern, const char* network);

/* Writes the order in which a plan hands messages to other nodes to a file of the caller, and what
 * the planner has predicted. Each member saves its own. Returns 0, or -1: ACP_ERR_SYSTEM (the file
 * cannot be written). */
ACP_API int acp_save_plan(acp_plan_t plan, const char* path);

/* acp_compile_pattern in the order that a plan had which acp_save_plan has written to `path`, of
 * the same member of a team of the same size, and of a pattern that sends messages of the same
 * sizes to the same members; in another job too. Returns ACP_PLAN_NULL after a failure, which is
 * one on all members: also ACP_ERR_MISMATCH (it was saved for another pattern), ACP_ERR_ARGUMENT
 * (the file is no saved plan, or was changed), ACP_ERR_SYSTEM (it cannot be read), ACP_ERR_LIMIT
 * (it has more than 64 MiB). */
ACP_API acp_plan_t acp_load_plan(acp_pattern_t pattern, const char* path);

/* Begins an exchange. Does not wait for other ranks. Returns 0, or -1: ACP_ERR_STATE (it was
 * started, and its end was not told), ACP_ERR_PEER. */
ACP_API int acp_start_plan(acp_plan_t plan);

/* 1: the exchange that was started has ended; 0: not yet; -1. Goes on with it, and now and then
 * with all that the process has under way. Between nodes, and for messages that are read in place,
 * what the other members do is seen here or in acp_wait_plan. */
ACP_API int acp_test_plan(acp_plan_t plan);

/* Waits for its end. Returns 0, or -1: ACP_ERR_STATE (none was started), ACP_ERR_PEER. Sleeps when
 * that takes long. */
ACP_API int acp_wait_plan(acp_plan_t plan);

/* Writes what the plan does: for each partner how many messages and bytes go which way, what memory
 * it takes, and the order to other nodes with the predicted time, a bound that no plan can beat,
 * and the gap between the two; and how fast rails were lately, where it divides messages among
 * several.
 *   text  NULL with size 0, or room for `size` bytes, of which the last one written is 0
 * Returns how many bytes the whole text has, without the 0 at its end; or -1. */
ACP_API int acp_explain_plan(acp_plan_t plan, char* text, size_t size);

/* Frees a plan that was not started, or whose end was told, or one of whose members has died.
 * Collective over the team, which was not freed before. Returns 0, or -1: ACP_ERR_STATE (it was
 * started, and all members live; nothing is done). After any other failure the plan is gone too,
 * and what it took of the heap is given back by acp_finalize or acp_reset. */
ACP_API int acp_free_plan(acp_plan_t plan);

#ifdef __cplusplus
}
#endif

#endif
