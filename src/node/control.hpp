// SPDX-License-Identifier: BSD-3-Clause
// What lies at fixed places in the node segment: the control block of the job and one slot per process. A process keeps its slot
// for life; which rank sits on which slot is decided anew at every reset. Memory of zeros is the valid state before anybody
// joined. No pointers: every process maps the segment elsewhere. All processes of the node read every field, unless a comment
// names the readers; a comment names its writers. A writer that dies at any store leaves a single field at its old value,
// which every reader can live with. Of a record of several fields (Awaited, UnreportedEntry) readers see that it is half
// written, and never read it again.
// Tests: tests/unit/node/segment_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "sync/bell.hpp"
#include "sync/doorbell_bitmap.hpp"
#include "sync/inbox.hpp"
#include "sync/sleep_word.hpp"

namespace acp::node {

inline constexpr std::uint64_t segment_magic = 0x41435034'4e4f4445ULL;  // "ACP4NODE"
inline constexpr std::uint32_t segment_version = 6;

using SharedU32 = std::atomic<std::uint32_t>;
using SharedU64 = std::atomic<std::uint64_t>;

// One process's life as the node sees it. Only forward, but for left -> joined (a later epoch).
enum class SlotState : std::uint32_t {
    empty = 0,   // nobody yet
    joined = 1,  // inside acp_init .. acp_finalize; writer: the process
    left = 2,    // after acp_finalize; writer: the process
    // gone for good, or to be taken for gone; writer: whoever calls mark_dead (node/death.hpp)
    dead = 3
};

// Is subtracted from Door::attendants while the threads that wait are not believed to work. More than a process has threads:
// the difference is negative as a signed number, and large as an unsigned one.
inline constexpr std::uint32_t doubt = 1U << 30U;

// Where others knock. All in one line: who pushes into the inbox owns the line when it looks, next, who waits
// (attendants) and who sleeps (the bells).
struct alignas(64) Door {
    // Indexes of mailbox cells; the process sleeps on the bells, never on the inbox. Writers: all, taker: the process
    sync::Inbox<> inbox;
    // How many threads of the process wait in the library and do its work, less `doubt` while they are not believed to; writer:
    // the process
    SharedU32 attendants;
    sync::Bell<> waiter_bell;   // on which the process's waiting threads sleep; ringers: all
    sync::Bell<> service_bell;  // on which its service thread sleeps; ringers: all
    // 1: when a command of the process ends and no thread is counted in attendants, the gateway rings the service thread;
    // writer: the process, reader: the gateway
    SharedU32 must_ring_service;
    SharedU32 reserved[11];  // to the end of the line

    // Whom to ring: the threads that wait, or else the service thread. seq_cst: who knocks has published something before;
    // partner: gma::Attendance
    [[nodiscard]] bool is_attended() const noexcept {
        return static_cast<std::int32_t>(attendants.load(std::memory_order_seq_cst)) > 0;
    }
};

static_assert(sizeof(Door) == 64);

// How a process ended itself, so that its agent does not take it for a crash.
enum class OwnEnd : std::uint32_t {
    none = 0,
    by_error = 1,  // an error of ACP that it has told on its standard error (ACP_ON_ERROR=fatal)
    by_abort = 2   // acp_abort
};

// What one thread of the process waits for, for people (node/awaited.hpp). Writers: threads of the process that are about
// to sleep, one at a time. Readers: the agent, acpstat; they take a copy only if `turn` was even and the same before and
// after. A writer that dies within leaves an odd number, and the entry is never read again.
struct Awaited {
    SharedU32 turn;      // odd while somebody writes
    SharedU32 is_taken;  // 1: it is one waiting thread's, and others leave it alone
    SharedU32 call;      // AwaitedCall; 0 = nobody waits
    SharedU32
        operation;  // of a command: memory::Operation, its width (<< 8), and its memory::IssuedBy (<< 16)
    SharedU64 since_ns;  // os::now_ns()
    SharedU64 bytes;     // of a command, like the next two
    SharedU64 target;
    SharedU64 source;
};

inline constexpr std::size_t unreported_bytes_max = 496;

// The failures of commands that a process has not yet been told (node/unreported.hpp); not touched before there is one.
// Writers: threads of the process that hold the lock of its commands. Readers: the agent, acpstat; they take a copy as of
// Awaited, and a writer that dies within leaves the same.
struct UnreportedEntry {
    SharedU32 turn;   // odd while somebody writes
    SharedU32 bytes;  // of the text
    SharedU64 count;
    SharedU64 text[unreported_bytes_max / 8];  // message of the first
};

static_assert(sizeof(UnreportedEntry) == 512);

// How a collective call went for a process (node/conclusion.hpp). Writer: the process, before it arrives at the meeting, whose
// barrier makes both words visible. Readers: those that the meeting releases; in a job of several nodes the gateway before,
// which releases them.
struct CallOutcome {
    SharedU32 word;     // the epoch above the code
    SharedU32 meeting;  // the number of the meeting that the word was brought to; 0: none yet
};

// What the node knows of one process. Writer of every field: the slot's process, unless said otherwise.
struct alignas(64) Slot {
    // line 0: who
    SharedU32 state;  // SlotState; release by the writer
    // For messages and for attach, which proves it: set by the launcher at fork, by the process when it joins, each as
    // its own pid namespace counts. Nobody is taken for dead by it.
    SharedU32 pid;
    // 1: the process holds the life lock of its slot (node/death.hpp), so that whoever looks can know whether it lives.
    // 0: the kernel gave it none; only the watcher knows. Writer: the process, before state becomes joined.
    SharedU32 has_life_lock;
    // Held by the service thread of the process (os/robust_word.hpp), which there is from the first registration on: the kernel
    // marks it when the process ends or runs another program. 0: nobody holds it, so it tells nothing. Writers: that thread, the
    // kernel. Readers: whoever copies private memory of the process.
    SharedU32 service_hold;
    SharedU32 rank;         // in this epoch
    SharedU32 wanted_rank;  // what acp_reset asked for, or another number to gather
    // Once dead: as waitpid gives it, or one of node/death.hpp's own, which the watcher may replace when it knows more. Writers:
    // those of state == dead, before it; then the watcher, and a thread that has asked in vain (node::fate)
    SharedU32 wait_status;
    SharedU32 hazard_lines_used;  // high-water mark of claimed hazard lines
    SharedU64 attach_token;       // random; proves that a pid is this process
    SharedU64 attach_address;     // where the token lies in the process
    SharedU32 udp_port;           // of its datagram socket, 0 = none
    // mpsc: a bit for each own cell that a port of an earlier epoch may have sent and not got back; all while a port is open.
    // Reader: the process
    SharedU32 pool_in_use;
    SharedU32 state_at_death;  // SlotState; release with state == dead; writer: who stored that
    // 1: it leaves for ever and has begun to end its registrations (Member::begin_to_depart). Readers: who finds none of its memory
    SharedU32 is_departing;
    // line 1: read only to tell people who is missing, what is waited for, and why a process ended
    alignas(64) SharedU32 arrived_barrier;  // the number of the last barrier it came to
    SharedU32 own_end;                      // OwnEnd
    // 1 + the rank of another node for whose memory acp_query_address last had no pointer, 0 = none
    SharedU32 unmapped_rank_plus_1;
    SharedU32 has_unreported;  // 1: its UnreportedEntry tells of failures; writer: as of that
    Awaited awaited;
    // line 2
    Door door;
    // lines 3..5: which rings of a bitmap mailbox have something, a bit per sending slot; writers: producers
    sync::DoorbellBitmap<> rung;
    // line 6: how collective calls went for the process; outcome[meeting % 2], for two are enough: nobody comes to meeting
    // n + 2 before all have come to n + 1, and so have read of n
    alignas(64) CallOutcome outcome[2];
    SharedU64 reserved[6];
    // line 7, which is seldom written: how many threads of the process sleep until a word of its memory changes (gma/word_waits.hpp).
    // Writers: those threads. Readers: every thread that changes memory of the process (node/word_sleepers.hpp)
    alignas(64) SharedU32 word_sleepers;
    SharedU32 reserved_beside[15];
    // line 8: counters, for reports: commands and bytes by path (direct ones are in the hazard lines)
    SharedU64 attach_commands;
    SharedU64 attach_bytes;
    SharedU64 mailbox_commands;
    SharedU64 mailbox_bytes;
    SharedU64 served_commands;  // run for other ranks
    SharedU64 served_bytes;
    SharedU64 remote_commands;  // with an end on another node
    SharedU64 remote_bytes;
};

static_assert(sizeof(Slot) == 64ULL * 9 && std::is_standard_layout_v<Slot>);
static_assert(offsetof(Slot, door) == 64ULL * 2 && offsetof(Slot, rung) == 64ULL * 3 &&
              offsetof(Slot, outcome) == 64ULL * 6 && offsetof(Slot, word_sleepers) == 64ULL * 7 &&
              offsetof(Slot, attach_commands) == 64ULL * 8);

// What is fixed when the segment is made. Writer: its maker, before anybody else maps it.
struct Shape {
    std::uint64_t layout_hash = 0;     // of this header and of the build: processes must agree
    std::uint32_t procs = 1;           // of the job
    std::uint32_t first_process = 0;   // index of slot 0's process; those of a node are consecutive
    std::uint32_t local_procs = 1;     // on this node
    std::uint32_t machine_procs = 1;   // on this machine (all emulated nodes)
    std::uint64_t starter_bytes = 0;   // per rank
    std::uint64_t heap_bytes = 0;      // per rank, at most; a multiple of heap::area_bytes
    std::uint32_t mailbox_kind = 0;    // base::MailboxKind
    std::uint32_t intranode = 0;       // base::IntraNode
    std::uint32_t datagram_bytes = 0;  // payload of one mailbox cell, resolved (never 0)
    std::uint32_t is_continue_on_failure = 0;  // acprun --on-failure=continue
    std::uint64_t job_id = 0;                  // random, for messages and file names
    std::uint32_t node = 0;                    // this one
    std::uint32_t nodes = 1;                   // of the job; more than one: the node has a gateway
    // 1: each node has one process, which carries its commands itself (gateway/own_gateway.hpp)
    std::uint32_t has_own_gateways = 0;
    std::uint32_t cipher = 0;            // of those: a crypto::CipherWish, resolved
    std::uint32_t is_network_named = 0;  // acprun --net or --netns
    // After how long a node that does not answer is given up, for messages: ACP_PEER_TIMEOUT
    std::uint32_t peer_timeout_ms = 10'000;
};

// What a meeting of all nodes gathers from the processes, besides that they have come.
enum class Gathers : std::uint32_t {
    nothing,
    numbers,    // of each process its wanted_rank
    conclusion  // of all processes how a collective call went (node/conclusion.hpp)
};

// The processes that have a slot: those of the job on this node, and after them the gateway if there is one.
[[nodiscard]] constexpr std::uint32_t slots_of(const Shape& shape) noexcept {
    return shape.local_procs + (shape.nodes > 1 ? 1U : 0U);
}

enum class LossKind : std::uint32_t { not_told_yet = 0, process = 1, node = 2 };

// One entry of what is told about losses on other nodes (node/loss.hpp). Writer: whoever took it, by ControlBlock::losses_begun.
struct Loss {
    SharedU32 kind;   // LossKind; stored last
    SharedU32 index;  // of the process or node
    SharedU32 why;    // wait status, or NodeFate
    SharedU32 rail;   // of a node: NodeLoss::rail
    SharedU32 bytes;  // of a node: NodeLoss::bytes
};

inline constexpr std::uint32_t every_node = ~0U;  // in ControlBlock::watch_asked

struct alignas(4096) ControlBlock {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t reserved0;
    Shape shape;
    SharedU64 watcher_pid;  // of the agent, 0 = nobody watches; writer: the agent
    // 1: a process of the node cannot make all cores pass a barrier, so nobody may leave that to the others (memory/hazard.hpp);
    // writers: those that cannot, before they meet in acp_init
    SharedU32 is_membarrier_refused;
    // 1 from the first complete acp_init, one more with every reset or later init; writer: slot 0's process
    alignas(64) SharedU32 job_epoch;
    // deaths
    // Grows with each death on this node, each later word on how it ended, and each loss elsewhere: not the number of the dead.
    // Looked at in every wait. Writers: whoever publishes one of these (node/death.hpp), after the rest of it
    alignas(64) SharedU32 deaths;
    SharedU32 first_dead_slot_plus_1;  // 0 = none, or loss_came_first; compare-and-swap once
    SharedU64 looked_ns;  // when somebody last asked the kernel who lives; writers: all
    // barrier: one arrival counter and one release word (sync/sleep_word.hpp)
    alignas(64) SharedU32 barrier_arrived;
    alignas(64) sync::SleepWord<> barrier_released;
    // instead of barrier_arrived on small nodes, where it lies beside the release word (node/barrier.hpp)
    SharedU32 barrier_arrived_beside;
    // how the node waits (node/yield_credit.hpp): learned at run time, shared by all
    alignas(64) SharedU64 no_yield_until_ns;
    SharedU64 yield_backoff_ns;
    SharedU32 usable_cpus;  // of the ranks together; writer: the maker
    // ranks (node/ranks.hpp); writer: slot 0's process, between two meetings
    alignas(64) SharedU32 are_ranks_set;  // 0: every process has the rank of its index; release
    SharedU32 verdict;                    // on the wishes of the last reset
    SharedU32 verdict_process;            // whose wish was bad
    SharedU32 verdict_other;              // who had the same
    SharedU32 conclusion
        [3];  // node/conclusion.hpp, of the last meeting of all nodes for it; writer: gateway
    // between the node's processes and its gateway (node/gateway_port.hpp)
    alignas(64) SharedU32
        meeting_asked;          // number of the barrier all of this node came to; last arriver
    SharedU32 meeting_gathers;  // Gathers, of that one; last arriver, before that
    SharedU32
        gateway_sleeps;  // 1: who publishes something for it signals its event; writer: gateway
    SharedU32 gateway_event;  // that event's descriptor number + 1, 0 = none; writer: gateway
    SharedU32
        own_key;  // descriptor number + 1 of the key for own gateways, 0 = none; writer: agent
    // The node that the own gateway of this node's rank asks the agent's gateway to watch: node + 1, or every_node; 0: none.
    // Writers: that rank; the agent's gateway, which takes the wish and stores 0
    SharedU32 watch_asked;
    SharedU32
        is_unreachable;  // 1: this node's only process has lost its gateway's socket; writer: that process
    SharedU32 addresses_pooled;  // in the node table; writer: the agent, before a process starts
    alignas(64) sync::DoorbellBitmap<> commands_rung;  // command rings; writers: processes, gateway
    // losses on other nodes; writers: the gateway, and a process that is its own
    alignas(64) SharedU32 losses;  // told in `told`, and more beyond; release
    SharedU32 losses_begun;        // entries of `told` that were taken, and more beyond
    Loss told[16];
};

inline constexpr std::uint32_t loss_came_first = 0xffffffffU;

static_assert(sizeof(ControlBlock) == 4096 && std::is_standard_layout_v<ControlBlock>);
static_assert(SharedU64::is_always_lock_free && SharedU32::is_always_lock_free);

}  // namespace acp::node
