// SPDX-License-Identifier: BSD-3-Clause
// The structures at fixed places in the node segment: the control block of the job and one slot per
// process. A process keeps its slot for life; each acp_reset decides anew which rank sits on which
// slot. All zeros is the valid state before any process has joined. No pointers: every process maps
// the segment elsewhere. All processes of the node read every field, unless a comment names the
// readers; a comment names its writers. A writer that dies at any store leaves a single field at
// its old value, which every reader tolerates. A record of several fields (Awaited,
// UnreportedEntry) has a seqlock, so readers detect that it is half written, and skip it from then
// on.
// Tests: tests/unit/node/segment_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "node/claims.hpp"
#include "node/shared_text.hpp"
#include "sync/bell.hpp"
#include "sync/doorbell_bitmap.hpp"
#include "sync/inbox.hpp"
#include "sync/sleep_word.hpp"

namespace acp::node {

inline constexpr std::uint64_t segment_magic = 0x41435034'4e4f4445ULL;  // "ACP4NODE"
inline constexpr std::uint32_t segment_version = 6;

using SharedU32 = std::atomic<std::uint32_t>;
using SharedU64 = std::atomic<std::uint64_t>;

// The life of a process as its node sees it. States only advance, except left -> joined (a later
// epoch).
enum class SlotState : std::uint32_t {
    empty = 0,   // no process yet
    joined = 1,  // inside acp_init .. acp_finalize; writer: the process
    left = 2,    // after acp_finalize; writer: the process
    // gone for good, or given up; writer: the caller of mark_dead (node/death.hpp)
    dead = 3
};

// Subtracted from Door::attendants while the waiting threads are not believed to make progress.
// More than a process has threads: the difference is negative as a signed number, and large as an
// unsigned one.
inline constexpr std::uint32_t doubt = 1U << 30U;

// The words by which other processes send mail to a process and wake it. All in one cache line: a
// thread that pushes into the inbox owns the line when it next reads whether threads wait
// (attendants) or sleep (the bells).
struct alignas(64) Door {
    // Indexes of mailbox cells; the process sleeps on the bells, never on the inbox. Writers: all;
    // the process takes them out
    sync::Inbox<> inbox;
    // How many threads of the process wait in the library and make progress for it, less `doubt`
    // while they are not believed to; writer: the process
    SharedU32 attendants;
    sync::Bell<> waiter_bell;   // the process's waiting threads sleep on it; ringers: all
    sync::Bell<> service_bell;  // its service thread sleeps on it; ringers: all
    // 1: when a command of the process ends and no thread is counted in attendants, the gateway
    // rings the service thread; writer: the process, reader: the gateway
    SharedU32 must_ring_service;
    SharedU32 reserved[11];  // fills the line

    // Which bell to ring: the waiting threads', or else the service thread's. seq_cst: the caller
    // has published its message before; partner: gma::Attendance
    [[nodiscard]] bool is_attended() const noexcept {
        return static_cast<std::int32_t>(attendants.load(std::memory_order_seq_cst)) > 0;
    }
};

static_assert(sizeof(Door) == 64);

// How a process ended itself, so that its agent does not report a crash.
enum class OwnEnd : std::uint32_t {
    none = 0,
    by_error = 1,  // an error of ACP, which the process has printed on stderr (ACP_ON_ERROR=fatal)
    by_abort = 2   // acp_abort
};

// The wait of one thread of the process, for diagnostics (node/awaited.hpp). Writers: threads of
// the process that are about to sleep, one at a time. Readers: the agent, acpstat; a copy is valid
// only if `turn` was even and the same before and after. A writer that dies in between leaves an
// odd number, and the entry stays unreadable.
struct Awaited {
    SharedU32 turn;      // seqlock: odd during a write
    SharedU32 is_taken;  // 1: a waiting thread owns the entry, and others leave it alone
    SharedU32 what;      // WaitFor; 0 = no thread waits
    // the command's memory::Operation, its width (<< 8), and its memory::IssuedBy (<< 16)
    SharedU32 operation;
    SharedU64 since_ns;  // os::now_ns()
    SharedU64 bytes;     // these three are the command's; for an invoke the operation's number
    SharedU64 target;
    SharedU64 source;
    SharedText<5> call;  // the function of the interface that waits
    SharedText<8> text;  // the awaited action or object, where the fields lack it
};

// The value of Slot::unmapped_rank_plus_1 when acp_query_address found no starter memory.
inline constexpr std::uint32_t no_starter_memory = UINT32_MAX;

inline constexpr std::size_t unreported_bytes_max = 496;

// The failed commands that no call has reported to the process yet (node/unreported.hpp); untouched
// before there is one. Writers: threads of the process that hold the lock of its commands. Readers:
// the agent, acpstat; they copy it like Awaited, with the same effect of a writer's death.
struct UnreportedEntry {
    SharedU32 turn;   // seqlock: odd during a write
    SharedU32 bytes;  // length of the text
    SharedU64 count;
    SharedU64 text[unreported_bytes_max / 8];  // message of the first failure
};

static_assert(sizeof(UnreportedEntry) == 512);

// The result of a collective call in one process (node/conclusion.hpp). Writer: the process, before
// it arrives at the meeting, whose barrier publishes both words. Readers: the processes that the
// meeting releases; in a job of several nodes the gateway, before it releases them.
struct CallOutcome {
    SharedU32 word;     // the epoch above the code
    SharedU32 meeting;  // the number of the meeting that the word was brought to; 0: none yet
};

// The node's record of one process. Writer of every field: the slot's process, unless stated
// otherwise.
struct alignas(64) Slot {
    // line 0: identity
    SharedU32 state;  // SlotState; release by the writer
    // For messages, and for attach, which verifies it: set by the launcher at fork, and by the
    // process when it joins, each in its own pid namespace. Never used to decide that a process is
    // dead.
    SharedU32 pid;
    // 1: the process holds the life lock of its slot (node/death.hpp), so every process can test
    // whether it lives. 0: the kernel gave it none; only the watcher knows. Writer: the process,
    // before state becomes joined.
    SharedU32 has_life_lock;
    // A robust word (os/robust_word.hpp) held by the service thread of the process, which exists
    // from the first registration on: the kernel marks it when the process ends or runs another
    // program. 0: no thread holds it, so it proves nothing. Writers: that thread, the kernel.
    // Readers: threads that copy private memory of the process.
    SharedU32 service_hold;
    SharedU32 rank;         // its rank in this epoch
    SharedU32 wanted_rank;  // the rank that acp_reset asked for, or another number to gather
    // Once dead: as waitpid gives it, or a constant of node/death.hpp, which the watcher may
    // replace when it knows more. Writers: the thread that stores state == dead, before that; then
    // the watcher, and a thread that has waited for it in vain (node::fate)
    SharedU32 wait_status;
    SharedU32 hazard_lines_used;  // high-water mark of claimed hazard lines
    SharedU64 attach_token;       // random; proves that a pid belongs to this process
    SharedU64 attach_address;     // address of the token in the process
    SharedU32 udp_port;           // port of its datagram socket, 0 = none
    // mpsc: a bit for each own cell that a port of an earlier epoch may have sent and not got back;
    // all bits while a port is open. Reader: the process
    SharedU32 pool_in_use;
    // SlotState; release with state == dead; writer: the thread that stored that
    SharedU32 state_at_death;
    // 1: it leaves for ever and has begun to end its registrations (Member::begin_to_depart).
    // Readers: threads that find a registration of it ended
    SharedU32 is_departing;
    // line 1: read only for messages about missing ranks, waits, and why a process ended
    alignas(64) SharedU32 arrived_barrier;  // number of the last barrier that it arrived at
    SharedU32 own_end;                      // OwnEnd
    // 1 + the rank on another node to whose memory acp_query_address last returned no pointer, 0 =
    // none; no_starter_memory: it returned none since the job has no starter memory
    SharedU32 unmapped_rank_plus_1;
    SharedU32 has_unreported;  // 1: its UnreportedEntry is valid; writers: those of the entry
    Awaited awaited;           // ends in line 3
    // line 4
    Door door;
    // lines 5..7: a bit per sending slot: its ring of a bitmap mailbox has messages; writers:
    // producers
    sync::DoorbellBitmap<> rung;
    // line 8: results of collective calls; outcome[meeting % 2]. Two suffice: no process arrives at
    // meeting n + 2 before all have arrived at n + 1, and so have read the result of n
    alignas(64) CallOutcome outcome[2];
    // 1: a thread of the process runs a non-blocking collective call on the stack of a fiber, 1 MiB; read when the process has died
    SharedU32 runs_on_fiber;
    SharedU32 reserved0;
    SharedU64 reserved[5];
    // line 9, which is seldom written: how many threads of the process sleep until a word of its
    // memory changes (gma/word_waits.hpp). Writers: those threads. Readers: every thread that
    // changes memory of the process (node/word_sleepers.hpp)
    alignas(64) SharedU32 word_sleepers;
    SharedU32 reserved_beside[15];
    // line 10: counters, for reports: commands and bytes by path (the hazard lines count direct
    // ones)
    SharedU64 attach_commands;
    SharedU64 attach_bytes;
    SharedU64 mailbox_commands;
    SharedU64 mailbox_bytes;
    SharedU64 served_commands;  // run for other ranks
    SharedU64 served_bytes;
    SharedU64 remote_commands;  // commands with an end on another node
    SharedU64 remote_bytes;
};

static_assert(sizeof(Slot) == 64ULL * 11 && std::is_standard_layout_v<Slot>);
static_assert(offsetof(Slot, door) == 64ULL * 4 && offsetof(Slot, rung) == 64ULL * 5 &&
              offsetof(Slot, outcome) == 64ULL * 8 && offsetof(Slot, word_sleepers) == 64ULL * 9 &&
              offsetof(Slot, attach_commands) == 64ULL * 10);

// What decided the size of the heaps (node/heap_limit.hpp).
enum class HeapBound : std::uint32_t {
    configured,     // ACP_HEAP_SIZE
    memory,         // the free memory of the machine or of the cgroup
    address_space,  // RLIMIT_AS
    file_size,      // RLIMIT_FSIZE
    addresses       // the address layout of so many processes
};

// Constants of the node. Writer: the segment's maker, before another process maps it.
struct Shape {
    std::uint64_t layout_hash = 0;  // layout_hash() of the maker's build: all processes must agree
    std::uint32_t procs = 1;        // processes of the job
    // index of slot 0's process; indexes of a node are consecutive
    std::uint32_t first_process = 0;
    std::uint32_t local_procs = 1;             // processes of this node
    std::uint32_t machine_procs = 1;           // processes of this machine (all emulated nodes)
    std::uint64_t starter_bytes = 0;           // per rank
    std::uint64_t heap_bytes = 0;              // per rank, limit; a multiple of heap_step_bytes
    std::uint32_t mailbox_kind = 0;            // base::MailboxKind
    std::uint32_t intranode = 0;               // base::IntraNode
    std::uint32_t datagram_bytes = 0;          // payload of one mailbox cell, resolved (never 0)
    std::uint32_t is_continue_on_failure = 0;  // acprun --on-failure=continue
    std::uint64_t job_id = 0;                  // random, for messages and file names
    std::uint32_t node = 0;                    // index of this node
    std::uint32_t nodes = 1;  // nodes of the job; more than one: the node has a gateway
    // 1: each node has one process, which carries its commands itself (gateway/own_gateway.hpp)
    std::uint32_t has_own_gateways = 0;
    std::uint32_t cipher = 0;            // the own gateways' crypto::CipherWish, resolved
    std::uint32_t is_network_named = 0;  // acprun --net or --netns
    // How long a node may be silent before it is given up, for messages: ACP_PEER_TIMEOUT
    std::uint32_t peer_timeout_ms = 10'000;
    std::uint32_t heap_bound = 0;  // a HeapBound: what decided heap_bytes
    Claims claims = {};            // set by Segment::create
};

// The data that a meeting of all nodes gathers from the processes, besides their arrival.
enum class Gathers : std::uint32_t {
    nothing,
    numbers,    // the wanted_rank of each process
    conclusion  // the result of a collective call over all processes (node/conclusion.hpp)
};

// The number of slots: the processes of the job on this node, and the gateway if there is one.
[[nodiscard]] constexpr std::uint32_t slots_of(const Shape& shape) noexcept {
    return shape.local_procs + (shape.nodes > 1 ? 1U : 0U);
}

enum class LossKind : std::uint32_t { not_told_yet = 0, process = 1, node = 2 };

// A record of a loss on another node (node/loss.hpp). Writer: the thread that claimed it by
// ControlBlock::losses_begun.
struct Loss {
    SharedU32 kind;            // LossKind; stored last
    SharedU32 index;           // index of the process or node
    SharedU32 why;             // wait status, or NodeFate
    SharedU32 rail;            // loss of a node: NodeLoss::rail
    SharedU32 bytes;           // loss of a node: NodeLoss::bytes
    SharedU32 process_number;  // loss of a process: base::ProcessEnd::process_number
    SharedU32 state;           // loss of a process: base::ProcessEnd::state
};

inline constexpr std::uint32_t every_node = ~0U;  // a value of ControlBlock::watch_asked

struct alignas(4096) ControlBlock {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t reserved0;
    Shape shape;
    SharedU64 watcher_pid;  // pid of the agent, 0 = none; writer: the agent
    // 1: a process of the node cannot execute a barrier on all cores (membarrier), so no thread may
    // omit its own fences (memory/hazard.hpp); writers: such processes, before the meeting of
    // acp_init
    SharedU32 is_membarrier_refused;
    // 1 from the first complete acp_init, one more with every reset or later init; writer: slot 0's
    // process
    alignas(64) SharedU32 job_epoch;
    // deaths on this node and losses elsewhere:
    // Grows with each death on this node, each later report on its cause, and each loss elsewhere:
    // so it is not the number of the dead. Read in every wait. Writers: threads that publish one of
    // these (node/death.hpp), after its other fields
    alignas(64) SharedU32 deaths;
    SharedU32 first_dead_slot_plus_1;  // 0 = none, or loss_came_first; compare-and-swap once
    SharedU64 looked_ns;  // when a process last asked the kernel which processes live; writers: all
    // barrier: one arrival counter and one release word (sync/sleep_word.hpp)
    alignas(64) SharedU32 barrier_arrived;
    alignas(64) sync::SleepWord<> barrier_released;
    // instead of barrier_arrived on small nodes, where it lies beside the release word
    // (node/barrier.hpp)
    SharedU32 barrier_arrived_beside;
    // how the node waits (node/yield_credit.hpp): learned at run time, shared by all processes
    alignas(64) SharedU64 no_yield_until_ns;
    SharedU64 yield_backoff_ns;
    SharedU32 usable_cpus;  // CPUs that the ranks together may use; writer: the maker
    // ranks (node/ranks.hpp); writer: slot 0's process, between two meetings
    alignas(64) SharedU32 are_ranks_set;  // 0: every process has the rank of its index; release
    SharedU32 verdict;                    // the RankVerdict on the last reset's requests
    SharedU32 verdict_process;            // the process whose request was bad
    SharedU32 verdict_other;              // the process that had requested the same rank
    // node/conclusion.hpp, result of the last meeting of all nodes for one; writer: gateway
    SharedU32 conclusion[3];
    // between the node's processes and its gateway (node/gateway_port.hpp):
    // number of the last barrier at which all processes of this node arrived; writer: last arriver
    alignas(64) SharedU32 meeting_asked;
    // Gathers, of that barrier; writer: last arriver, before that
    SharedU32 meeting_gathers;
    // 1: a process that publishes something for the gateway signals its event; writer: gateway
    SharedU32 gateway_sleeps;
    SharedU32 gateway_event;  // descriptor number of that event + 1, 0 = none; writer: gateway
    SharedU32
        own_key;  // descriptor number + 1 of the key for own gateways, 0 = none; writer: agent
    // The node that this node's rank with an own gateway asks the agent's gateway to watch: node +
    // 1, or every_node; 0: none. Writers: that rank; the agent's gateway, which takes the request
    // and stores 0
    SharedU32 watch_asked;
    // 1: this node's only process has lost its gateway's socket; writer: that process
    SharedU32 is_unreachable;
    // number of addresses in the node table's pool; writer: the agent, before a process starts
    SharedU32 addresses_pooled;
    alignas(64) sync::DoorbellBitmap<> commands_rung;  // command rings; writers: processes, gateway
    // losses on other nodes; writers: the gateway, and a process that is its own gateway:
    // number of losses published, also beyond the array; release
    alignas(64) SharedU32 losses;
    SharedU32 losses_begun;  // number of entries claimed, also beyond the array
    Loss told[16];
};

inline constexpr std::uint32_t loss_came_first = 0xffffffffU;

static_assert(sizeof(ControlBlock) == 4096 && std::is_standard_layout_v<ControlBlock>);
static_assert(SharedU64::is_always_lock_free && SharedU32::is_always_lock_free);

}  // namespace acp::node
