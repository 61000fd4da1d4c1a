// SPDX-License-Identifier: BSD-3-Clause
// The node segment: one sealed memory file that every process of a node maps. It has no name anywhere, so
// nothing is left of it when the last process is gone, however it went. Its maker is the agent (or a job of
// one rank itself); ranks inherit the descriptor. The parts are reserved at their full size and take memory
// as they are touched; starter memory is committed when it is made, so that shortage is an error, not a
// signal. SegmentLayout is the one place that knows where things lie, and how much memory a job takes.
// Any thread may read a Segment; it is made and closed by one.
// Tests: tests/unit/node/segment_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "base/config.hpp"
#include "base/status.hpp"
#include "memory/address_table.hpp"
#include "memory/hazard.hpp"
#include "node/control.hpp"
#include "os/file_descriptor.hpp"
#include "os/mapping.hpp"

namespace acp::node {

// Where the parts lie, in bytes from the segment's start; each part starts on a page.
struct SegmentLayout {
    std::uint64_t slots = 0;      // Slot[local_procs]
    std::uint64_t ranks = 0;      // uint32[3][procs]: rank of process, process of rank, wishes
    std::uint64_t hazards = 0;    // HazardLine[local_procs][hazard_lines_per_slot]
    std::uint64_t tables = 0;     // Entry[local_procs][granules_per_process], by slot
    std::uint64_t mailboxes = 0;  // see local/mailbox*.hpp; mailbox_stride per slot
    std::uint64_t mailbox_stride = 0;
    std::uint64_t starters = 0;  // by slot, starter_stride apart
    std::uint64_t starter_stride = 0;
    std::uint64_t total = 0;

    [[nodiscard]] static SegmentLayout of(const Shape& shape) noexcept;
};

inline constexpr std::uint32_t local_procs_max = 1024;
inline constexpr std::uint64_t starter_bytes_max = 1ULL << 40;

// The shape of a node with this configuration, all ranks of the job on it. The launcher adds what only it
// knows (machine_procs, job_id, on-failure).
[[nodiscard]] Shape shape_for(const base::Config& config, std::uint32_t procs);

// The hash processes of a job must agree on: sizes, offsets and versions of everything shared.
[[nodiscard]] std::uint64_t layout_hash() noexcept;

class Segment {
public:
    Segment() noexcept = default;

    // Makes the segment of a node. Errors: argument (a shape out of range), memory (the starter memories do
    // not fit: requested, available and limit are named; above a quarter of the machine's memory they are
    // left sparse instead and was_left_sparse() says so), system.
    static base::Result<Segment> create(const Shape& shape);

    // Maps a segment made by another process. Errors: mismatch (another build), system.
    static base::Result<Segment> open(os::FileDescriptor file);

    // The same segment through this one's mapping, which must outlive the copy: for several ranks that are
    // threads of one process (tests). It has no file.
    [[nodiscard]] Segment share() const noexcept;

    [[nodiscard]] bool is_open() const noexcept { return base_ != nullptr; }

    [[nodiscard]] int file() const noexcept { return file_.get(); }

    [[nodiscard]] bool was_left_sparse() const noexcept { return was_left_sparse_; }

    [[nodiscard]] const Shape& shape() const noexcept { return control().shape; }

    [[nodiscard]] const SegmentLayout& layout() const noexcept { return layout_; }

    [[nodiscard]] ControlBlock& control() const noexcept { return at<ControlBlock>(0); }

    //   index  0 .. local_procs-1
    [[nodiscard]] Slot& slot(std::uint32_t index) const noexcept {
        return at<Slot>(layout_.slots + index * sizeof(Slot));
    }

    // Who sits where in this epoch.   process, rank < procs
    [[nodiscard]] std::uint32_t rank_of(std::uint32_t process) const noexcept {
        return are_ranks_set() ? rank_table()[process].load(std::memory_order_relaxed) : process;
    }

    [[nodiscard]] std::uint32_t process_of(std::uint32_t rank) const noexcept {
        return are_ranks_set() ? process_table()[rank].load(std::memory_order_relaxed) : rank;
    }

    // For node/ranks.hpp: untouched before the first reset.
    [[nodiscard]] SharedU32* rank_table() const noexcept { return &at<SharedU32>(layout_.ranks); }

    [[nodiscard]] SharedU32* process_table() const noexcept { return rank_table() + shape().procs; }

    [[nodiscard]] SharedU32* wanted_table() const noexcept {
        return process_table() + shape().procs;
    }

    [[nodiscard]] std::span<memory::HazardLine> hazards(std::uint32_t slot) const noexcept {
        constexpr std::uint64_t stride = sizeof(memory::HazardLine) * memory::hazard_lines_per_slot;
        return {&at<memory::HazardLine>(layout_.hazards + slot * stride),
                memory::hazard_lines_per_slot};
    }

    // The address table of the whole node, row after row.
    [[nodiscard]] memory::Entry* tables() const noexcept {
        return &at<memory::Entry>(layout_.tables);
    }

    [[nodiscard]] char* mailbox(std::uint32_t slot) const noexcept {
        return base() + layout_.mailboxes + slot * layout_.mailbox_stride;
    }

    [[nodiscard]] char* starter(std::uint32_t slot) const noexcept {
        return base() + layout_.starters + slot * layout_.starter_stride;
    }

    [[nodiscard]] char* base() const noexcept { return base_; }

private:
    [[nodiscard]] bool are_ranks_set() const noexcept {
        // acquire: partner is Ranks::apply
        return control().are_ranks_set.load(std::memory_order_acquire) != 0;
    }

    template <typename T>
    [[nodiscard]] T& at(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<T*>(base() + offset);
    }

    os::FileDescriptor file_;
    os::Mapping mapping_;  // empty when base_ is another Segment's
    char* base_ = nullptr;
    SegmentLayout layout_;
    bool was_left_sparse_ = false;
};

}  // namespace acp::node
