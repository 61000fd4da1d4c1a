/* SPDX-License-Identifier: BSD-3-Clause */
/* Scheduled exchanges: copies between the members of a team that are known in advance, such as the
 * halo of a grid, are compiled once and carried out many times.
 *
 *     acp_pattern_t pattern = acp_create_pattern(acp_world_team());
 *     acp_add_send_pattern(pattern, +1, last_row, bytes);      to the next member
 *     acp_add_recv_pattern(pattern, -1, row_before, bytes);    from the one before
 *     acp_plan_t plan = acp_compile_pattern(pattern, NULL);    all members wait here, only here
 *     for (...) {
 *         acp_start_plan(plan);
 *         compute_inner_points();
 *         acp_wait_plan(plan);                                 row_before has arrived; last_row may change
 *     }
 *     acp_free_plan(plan);
 *     acp_free_pattern(pattern);
 *
 * Start and wait are no barriers: a member waits only for members that send to it, and for members
 * that still read its sources. A member may be one exchange ahead of its receivers where the bytes
 * pass through memory of the library: all messages between nodes, and on a node messages from
 * private memory and short messages. On a node a receiver copies messages that lie in memory of
 * acp_malloc or in starter memory straight to its targets, in one copy, when they are 2048 bytes or
 * more from one sender; then the sender's acp_wait_plan returns when the receiver has copied them.
 * acp_start_plan copies all other bytes; those for other nodes need no further call. A started
 * exchange makes progress while any thread of its process waits in a call of ACP's (but not in
 * acp_wait or acp_complete; acp(7)): a member that has started several exchanges may wait for them
 * in any order, and make other calls before.
 *
 * From acp_start_plan until acp_wait_plan or acp_test_plan returns the completion, the program must
 * not change sources, and neither read nor change targets. All buffers stay valid as long as a plan
 * names them.
 *
 * Failures. When a member dies or its node is lost, the plan is broken on all members: their calls
 * on it fail with ACP_ERR_PEER, on members that exchange no message with it possibly one or two
 * exchanges later. No member waits for ever. The targets hold unspecified bytes then. Members wait
 * for a stopped member without limit; where each node has one rank, for ACP_PEER_TIMEOUT. One
 * thread at a time makes calls on one pattern or plan, else ACP_ERR_STATE; several threads may use
 * several. Not from a signal handler. acp_finalize and acp_reset free all patterns and plans. A
 * call that fails returns the value stated below and sets acp_errno(): ACP_ERR_STALE (no such
 * pattern or plan), ACP_ERR_MEMORY. */
#ifndef ACP_EXCHANGE_H
#define ACP_EXCHANGE_H

#include <stddef.h>

#include <acp/export.h>
#include <acp/memory.h>
#include <acp/team.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pattern is a list of copies; a plan is a compiled pattern. The handles are valid in the calling
 * process alone. */
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

/* Makes an empty pattern of the caller for a team. Not collective. Returns ACP_PATTERN_NULL after a
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

/* Adds a copy from the caller's memory to an address. The owner of the address adds nothing to its
 * own pattern, but compiles, starts and waits for its plan as often as the caller; the target may
 * be written once the owner has started its plan.
 *   target  `size` bytes of a member: memory of acp_malloc, starter memory, or memory that stays
 *           registered until the plan is freed
 * Returns 0, or -1: also ACP_ERR_ADDRESS, when no member has that address, ACP_ERR_STALE and
 * ACP_ERR_PEER. Whether another node's memory is registered is tested by acp_compile_pattern. */
ACP_API int acp_add_copy_pattern(acp_pattern_t pattern,
                                 acp_ga_t target,
                                 const void* source,
                                 size_t size);

/* A Cartesian grid of the team's members, and the caller's part of an array that is divided among
 * them: its points and, around them, a halo, which holds copies of the neighbours' outermost
 * points. Along each dimension members may have different numbers of points. Only the call reads
 * the struct. */
typedef struct {
    /* 1 .. 8; the last one varies fastest, in team ranks and in the array. */
    int dimensions;
    /* The number of members along each dimension, 1 or more; the product is the team's size. */
    const int* members;
    /* For each dimension: not 0 makes its last member a neighbour of its first. NULL: all 0. */
    const int* periodic;
    /* The caller's points along each dimension, without halo, 1 or more. */
    const size_t* points;
    /* The width of the halo on each side along each dimension, 0 .. points. */
    const size_t* halo;
    /* Bytes of a point, 1 or more. */
    size_t point_size;
    /* 1: neighbours beyond faces; 2: beyond edges too; ...; `dimensions`: beyond corners too. */
    int reach;
} acp_grid_t;

/* Adds the messages that fill the halo of an array: one to and one from each neighbour. The plan
 * packs and unpacks messages that are not contiguous. All members add their part; a pattern with
 * several halos gets them in the same order on all members.
 *   array  points + 2 * halo points in each dimension; the first point belongs to the halo
 * Returns 0, or -1: ACP_ERR_ARGUMENT, ACP_ERR_LIMIT; then nothing is added. */
ACP_API int acp_add_halo_pattern(acp_pattern_t pattern, void* array, const acp_grid_t* grid);

/* The pieces of a buffer that a member sends to neighbours, or receives from them. Only the call
 * reads the struct. */
typedef struct {
    /* 0 .. ACP_PATTERN_MESSAGES_MAX; with 0 the lists may be NULL. */
    int count;
    /* Each neighbour, as for acp_add_send_pattern; one may occur several times. */
    const int* shifts;
    /* Bytes of each piece, below 2^50. */
    const size_t* sizes;
    /* Bytes from the start of the buffer to each piece. */
    const size_t* offsets;
} acp_neighbours_t;

/* Adds the messages of a neighbour alltoallv: a send of a piece of the source to each neighbour of
 * `to`, and a receive into a piece of the target from each neighbour of `from`. It equals an
 * acp_add_send_pattern for each piece of `to` and an acp_add_recv_pattern for each piece of `from`,
 * in their order.
 *   source  NULL is legal when all pieces have size 0; likewise target
 * Returns 0, or -1: ACP_ERR_ARGUMENT (names the piece by its place in the list), ACP_ERR_LIMIT;
 * then nothing is added. Source: MPI_Neighbor_alltoallv of the MPI standard. */
ACP_API int acp_add_alltoallv_pattern(acp_pattern_t pattern,
                                      const void* source,
                                      const acp_neighbours_t* to,
                                      void* target,
                                      const acp_neighbours_t* from);

/* Frees a pattern; plans made of it stay. Returns 0 or -1. */
ACP_API int acp_free_pattern(acp_pattern_t pattern);

/* Compiles the patterns of all members into a plan of each member. Collective over the team. The
 * pattern may be compiled again, and more messages may be added to it.
 *   network  NULL: messages to other nodes are sent longest first, and long ones are divided among
 *            all rails in proportion to their measured speed. Else the text of a network
 *            (docs/guide/exchange.md), such as "preset tofu 4 4", a torus whose nodes are the
 *            members in the order of team ranks: then the planner of scheduled exchanges determines
 *            the order and the pieces, on the assumption that each member sends what the caller
 *            sends. The bytes that arrive are the same.
 * Returns ACP_PLAN_NULL on all members after a failure, except ACP_ERR_STALE, which is local to the
 * caller. ACP_ERR_MISMATCH (sends and receives of two members do not match; the receiver's message
 * names them), ACP_ERR_ARGUMENT (targets of one member overlap; the network), ACP_ERR_ADDRESS (the
 * target of a copy is no memory of its owner), ACP_ERR_MEMORY (a heap has no room), ACP_ERR_PEER,
 * ACP_ERR_STATE. */
ACP_API acp_plan_t acp_compile_pattern(acp_pattern_t pattern, const char* network);

/* Writes to a file of the caller the order in which a plan sends messages to other nodes, and the
 * planner's predictions. Each member saves its own plan. Returns 0, or -1: ACP_ERR_SYSTEM (the file
 * cannot be written). */
ACP_API int acp_save_plan(acp_plan_t plan, const char* path);

/* acp_compile_pattern with the order of messages that acp_save_plan has written to `path`, in this
 * or another job: for the same member of a team of the same size, and a pattern that sends messages
 * of the same sizes to the same members. Returns ACP_PLAN_NULL on all members after a failure: also
 * ACP_ERR_MISMATCH (the file was saved for another pattern), ACP_ERR_ARGUMENT (the file is no saved
 * plan, or was changed), ACP_ERR_SYSTEM (the file cannot be read), ACP_ERR_LIMIT (the file has more
 * than 64 MiB). */
ACP_API acp_plan_t acp_load_plan(acp_pattern_t pattern, const char* path);

/* Starts an exchange. Does not wait for other ranks. Returns 0, or -1: ACP_ERR_STATE (the plan was
 * started, and no wait or test has returned its completion), ACP_ERR_PEER. */
ACP_API int acp_start_plan(acp_plan_t plan);

/* 1: the started exchange is complete; 0: not yet; -1. Makes progress on the exchange, and at some
 * calls on all requests, team calls and plans of the process. Between nodes, and for messages that
 * receivers read in place, only this call and acp_wait_plan notice the progress of other
 * members. */
ACP_API int acp_test_plan(acp_plan_t plan);

/* Waits until the started exchange is complete. Returns 0, or -1: ACP_ERR_STATE (no exchange was
 * started), ACP_ERR_PEER. Sleeps when that takes long. */
ACP_API int acp_wait_plan(acp_plan_t plan);

/* Writes a description of the plan: for each partner the numbers of messages and bytes in each
 * direction and their paths, the memory of the plan, the order of the messages to other nodes with
 * the predicted time, a lower bound of any plan's time, and the gap between the two; and the
 * measured speeds of the rails, when the plan divides messages among several.
 *   text  NULL with size 0, or room for `size` bytes; the text is cut to that and ends with a 0
 * Returns the number of bytes of the whole text, without the 0 at its end; or -1. */
ACP_API int acp_explain_plan(acp_plan_t plan, char* text, size_t size);

/* Frees a plan that is not started, or whose completion a wait or test has returned, or one with a
 * dead member. Collective over the team, which must still exist. Returns 0, or -1: ACP_ERR_STATE
 * (the plan is started, and all members live; nothing is done). After any other failure the plan is
 * freed too, but its heap memory only by acp_finalize or acp_reset. */
ACP_API int acp_free_plan(acp_plan_t plan);

#ifdef __cplusplus
}
#endif

#endif
