// SPDX-License-Identifier: BSD-3-Clause
// The node segment: one sealed memory file that every process of a node maps. It has no name, so
// nothing is left of it when the last process has ended, in whatever way. Its maker is the agent
// (or the process of a job of one rank); ranks inherit the descriptor. The parts are reserved at
// their full size and take memory as they are touched; starter memory is committed when the segment
// is made, so that shortage is an error and not a signal. SegmentLayout alone defines the offsets,
// and how much memory a job takes. Any thread may read a Segment; one thread makes and closes it.
// Tests: tests/unit/node/segment_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "base/config.hpp"
#include "base/status.hpp"
#include "memory/address_table.hpp"
#include "memory/hazard.hpp"
#include "node/claims.hpp"
#include "node/control.hpp"
#include "node/ring_layout.hpp"
#include "os/file_descriptor.hpp"
#include "os/life_lock.hpp"
#include "os/mapping.hpp"

namespace acp::node {

inline constexpr std::uint64_t hazards_stride =
    sizeof(memory::HazardLine) * memory::hazard_lines_per_slot;

// A load whose address has its last 12 bits in common with a pending store waits for that store.
// Each command stores to its thread's hazard line, nearly always the slot's first one, and the rows
// of the table, like most buffers of programs, begin on a page: so the hazard lines do not. A copy
// of 8 bytes that runs at once took 3.4 ns with the line at a page's beginning, and 2.9 ns with
// this shift.
inline constexpr std::uint64_t hazards_shift = 29 * sizeof(memory::HazardLine);

// The heap of a process: the first range, on a page.
inline constexpr ClaimedRange heap_blocks{
    .name = "blocks of acp_malloc",
    .bytes = [](const Shape& shape) -> std::uint64_t { return shape.heap_bytes; },
    .alignment = 4096};

// The offset of each part in bytes from the segment's start; each part starts on a page.
struct SegmentLayout {
    std::uint64_t slots = 0;  // Slot[slots_of(shape)]
    // uint32[3][procs]: rank of process, process of rank, requests of a reset
    std::uint64_t ranks = 0;
    std::uint64_t nodes = 0;    // NodeTable; empty in a job of one node, like the next two
    std::uint64_t losses = 0;   // a bit per process of the job, then a bit per node
    std::uint64_t rings = 0;    // RingLayout[local_procs], rings_stride apart
    std::uint64_t hazards = 0;  // hazards_shift, HazardLine[slots_of(shape)][hazard_lines_per_slot]
    std::uint64_t tables = 0;   // TableEntry[local_procs][granules_per_process], by slot
    std::uint64_t mailboxes = 0;  // see node/mailbox_layout.hpp; mailbox_stride per slot
    std::uint64_t mailbox_stride = 0;
    // memory that layers claim for each process (node/claims.hpp), by slot
    std::uint64_t claims = 0;
    std::uint64_t claim_stride = 0;
    std::uint64_t failures = 0;  // UnreportedEntry[local_procs], by slot
    // starter memories by slot, starter_stride apart
    std::uint64_t starters = 0;
    std::uint64_t starter_stride = 0;
    std::uint64_t total = 0;

    static constexpr std::uint64_t rings_stride = 89ULL * 4096;
    static_assert(rings_stride >= RingLayout::bytes && rings_stride < RingLayout::bytes + 4096);

    //   shape  its claims are set
    [[nodiscard]] static SegmentLayout of(const Shape& shape) noexcept;
};

inline constexpr std::uint32_t local_procs_max = 1024;  // with the gateway, if there is one
inline constexpr std::uint64_t starter_bytes_max = 1ULL << 40;

// The shape of a node with this configuration, all ranks of the job on it. The launcher sets the
// fields that only it knows (machine_procs, job_id, on-failure).
[[nodiscard]] Shape shape_for(const base::Config& config, std::uint32_t procs);

// The hash that processes of a node must agree on: sizes, offsets and versions of this layer's
// structures in the segment, as the compiler lays them out. Builds that differ elsewhere, as in
// comments, are compatible. Segment::check_ranges() compares what the layers above claim.
[[nodiscard]] std::uint64_t layout_hash() noexcept;

class Segment {
public:
    // The name in /proc/PID/maps.
    static constexpr const char* file_name = "acp-node";

    Segment() noexcept = default;

    // Makes the segment of a node, with the ranges that layers claim. Errors: argument (a shape out of range), memory (the starter
    // memories do not fit: the message names requested, available and limit; above a quarter of the
    // machine's memory they are left sparse instead and was_left_sparse() returns true), system.
    static base::Result<Segment> create(const Shape& wanted, ClaimedRanges ranges = {});

    // Maps a segment made by another process.
    //   gateway_event  the event that wakes the node's gateway; empty: this process has inherited
    //                  it under its number
    // Errors: mismatch (another build), system (there is no such event), limit.
    static base::Result<Segment> open(os::FileDescriptor file,
                                      os::FileDescriptor gateway_event = {});

    // Whether this library claims the ranges with which another process made the segment. Errors:
    // mismatch (another build).
    [[nodiscard]] base::Status check_ranges(ClaimedRanges ranges) const;

    // Maps a segment made by another process read-only, for a tool that observes a running job.
    // Errors: as open().
    static base::Result<Segment> look(os::FileDescriptor file);

    // The same segment through this one's mapping, which must outlive the copy: for several ranks
    // that are threads of one process (tests). It has no file.
    [[nodiscard]] Segment share() const noexcept;

    // Maps the whole segment once more in this process, readable and writable: for a caller that
    // revokes access to some pages of the first mapping and works on them here. Both show the same
    // memory; addresses and the other calls of this object refer to the first. Errors: state (a
    // copy by share(), or the program closed the descriptor), memory, system.
    [[nodiscard]] base::Result<os::Mapping> map_again() const;

    // Revokes this process's access to the claimed memory, which includes the heaps of all ranks,
    // and restores it. The content stays. For a process between acp_finalize and the next acp_init.
    // Errors: system.
    [[nodiscard]] base::Status close_ranges() const;
    [[nodiscard]] base::Status open_ranges() const;

    [[nodiscard]] bool is_open() const noexcept { return base_ != nullptr; }

    [[nodiscard]] int file() const noexcept { return file_.get(); }

    // Whether file() is still the segment's file: a program that closes all descriptors may have
    // opened another file under the number.
    [[nodiscard]] bool has_file() const noexcept {
        return file_.is_open() && os::identity_of_file(file_.get()) == file_identity_;
    }

    [[nodiscard]] bool was_left_sparse() const noexcept { return was_left_sparse_; }

    [[nodiscard]] const Shape& shape() const noexcept { return control().shape; }

    [[nodiscard]] const SegmentLayout& layout() const noexcept { return layout_; }

    [[nodiscard]] ControlBlock& control() const noexcept { return at<ControlBlock>(0); }

    //   index  0 .. local_procs-1, or gateway_slot()
    [[nodiscard]] Slot& slot(std::uint32_t index) const noexcept {
        return at<Slot>(layout_.slots + index * sizeof(Slot));
    }

    // Only with a gateway: its slot has hazard lines, a door and a mailbox, but no row in the
    // table.
    [[nodiscard]] std::uint32_t gateway_slot() const noexcept { return shape().local_procs; }

    [[nodiscard]] bool has_gateway() const noexcept { return shape().nodes > 1; }

    // The mapping of ranks and processes in this epoch.   process, rank < procs
    [[nodiscard]] std::uint32_t rank_of(std::uint32_t process) const noexcept {
        return are_ranks_set() ? rank_table()[process].load(std::memory_order_relaxed) : process;
    }

    [[nodiscard]] std::uint32_t process_of(std::uint32_t rank) const noexcept {
        return are_ranks_set() ? process_table()[rank].load(std::memory_order_relaxed) : rank;
    }

    // For node/ranks.hpp: untouched before the first reset, except the requests where nodes gather
    // numbers at acp_init.
    [[nodiscard]] SharedU32* rank_table() const noexcept { return &at<SharedU32>(layout_.ranks); }

    [[nodiscard]] SharedU32* process_table() const noexcept { return rank_table() + shape().procs; }

    [[nodiscard]] SharedU32* wanted_table() const noexcept {
        return process_table() + shape().procs;
    }

    [[nodiscard]] std::span<memory::HazardLine> hazards(std::uint32_t slot) const noexcept {
        return {&at<memory::HazardLine>(layout_.hazards + hazards_shift + slot * hazards_stride),
                memory::hazard_lines_per_slot};
    }

    // The address table of the whole node, row after row.
    [[nodiscard]] memory::TableEntry* tables() const noexcept {
        return &at<memory::TableEntry>(layout_.tables);
    }

    [[nodiscard]] char* mailbox(std::uint32_t slot) const noexcept {
        return base() + layout_.mailboxes + slot * layout_.mailbox_stride;
    }

    // The first byte of the memory claimed for a process, one range after the other.
    [[nodiscard]] char* claimed(std::uint32_t slot) const noexcept {
        return base() + layout_.claims + slot * layout_.claim_stride;
    }

    [[nodiscard]] char* claimed(std::uint32_t slot, const ClaimedRange& range) const noexcept {
        return claimed(slot) + shape().claims.offset(range);
    }

    [[nodiscard]] UnreportedEntry& unreported(std::uint32_t slot) const noexcept {
        return at<UnreportedEntry>(layout_.failures + slot * sizeof(UnreportedEntry));
    }

    [[nodiscard]] char* starter(std::uint32_t slot) const noexcept {
        return base() + layout_.starters + slot * layout_.starter_stride;
    }

    [[nodiscard]] char* rings(std::uint32_t slot) const noexcept {
        return base() + layout_.rings + slot * SegmentLayout::rings_stride;
    }

    // A bit per process of the job that is lost with another node or on it; behind it a bit per
    // node. For node/loss.hpp: untouched before the first loss.
    [[nodiscard]] SharedU64* lost_processes() const noexcept {
        return &at<SharedU64>(layout_.losses);
    }

    [[nodiscard]] SharedU64* lost_nodes() const noexcept {
        return lost_processes() + (shape().procs + 63) / 64;
    }

    // For node/node_table.hpp.
    [[nodiscard]] char* node_table() const noexcept { return base() + layout_.nodes; }

    [[nodiscard]] char* base() const noexcept { return base_; }

    // Duplicates the gateway's event from the number that the gateway published. Called by open(),
    // and again by a process whose gateway starts after that. Errors: system (there is no such
    // event), limit.
    base::Status open_gateway_event();

    // Signals the gateway's event if the gateway sleeps. Called after a sequentially consistent
    // read-modify-write that published something for it; partner: GatewayPort::announce_sleep. One
    // load if the gateway is awake.
    void wake_gateway() const noexcept {
        if (control().gateway_sleeps.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
            signal_gateway();
        }
    }

    // Signals it whether or not the gateway sleeps.
    void signal_gateway() const noexcept;

private:
    [[nodiscard]] base::Status map(bool is_written);
    void reserve_ranges(char* base) const noexcept;

    [[nodiscard]] bool are_ranks_set() const noexcept {
        // acquire: partner is Ranks::apply
        return control().are_ranks_set.load(std::memory_order_acquire) != 0;
    }

    template <typename T>
    [[nodiscard]] T& at(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<T*>(base() + offset);
    }

    os::FileDescriptor file_;
    os::FileIdentity file_identity_;
    os::Mapping mapping_;               // empty if base_ belongs to another Segment
    os::FileDescriptor gateway_event_;  // empty in a copy by share()
    int gateway_event_fd_ = -1;
    char* base_ = nullptr;
    SegmentLayout layout_;
    bool was_left_sparse_ = false;
};

}  // namespace acp::node
