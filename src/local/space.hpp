// SPDX-License-Identifier: BSD-3-Clause
// A process's view of the node's memory: turns global addresses into places. It holds the mapping
// of the node segment, the address table of the node, and, mapped over its own row of the table, a
// private window through which the process reaches its private registrations by loads and stores
// too (other processes see them as private). Knows no command and no handle. Any thread may call
// find(); one thread calls open() and close().
// Tests: tests/unit/local/space_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/config.hpp"
#include "base/status.hpp"
#include "local/own_row.hpp"
#include "memory/address_table.hpp"
#include "memory/ga_layout.hpp"
#include "memory/hazard.hpp"
#include "node/segment.hpp"

namespace acp::local {

using memory::GlobalAddress;

// The words that the inline path reads: one cache line, written only while no thread communicates.
struct alignas(64) View {
    std::uint64_t colorless_mask = 0;
    std::uint64_t index_mask = 0;   // drops generation and colour
    std::uint64_t first_index = 0;  // table index of this node's first process
    std::uint64_t index_count = 0;  // number of table entries of this node
    memory::TableEntry* table = nullptr;
    char* base = nullptr;
    std::uint32_t offset_bits = 0;
    // inline_bytes_max of copies between a plain pointer and a global address
    std::uint32_t pointer_bytes_max = 0;
    std::uint64_t inline_bytes_max = 0;

    // The slot of the process that an address names; a number beyond all slots for a process of
    // another node.
    [[nodiscard]] std::uint64_t slot_of(GlobalAddress address) const noexcept {
        return index_of(address) >> memory::granule_bits;
    }

    // The entry of an address of this node, or nullptr.
    [[nodiscard]] memory::TableEntry* entry(GlobalAddress address) const noexcept {
        const std::uint64_t index = index_of(address);
        return index < index_count ? table + index : nullptr;
    }

    // Finds where loads and stores of this process reach `bytes` bytes at an address; false when
    // they do not.
    [[nodiscard, gnu::always_inline]] bool find_direct(GlobalAddress address,
                                                       std::uint64_t bytes,
                                                       char*& place) const noexcept {
        const std::uint64_t index = index_of(address);
        std::uint64_t found = 0;
        if (index >= index_count ||
            !find_in(table[index], address & colorless_mask, bytes, found)) {
            return false;
        }
        place = base + found;
        return true;
    }

    // The places of the two ends of a copy.
    struct DirectEnds {
        char* target;
        char* source;
    };

    // find_direct() of both ends. Computes both entries' addresses before it reads the first, so
    // that the processor reads both in parallel; and reads the view before the entries, so that the
    // compiler needs only caller-saved registers.
    [[nodiscard, gnu::always_inline]] bool find_direct(GlobalAddress target,
                                                       GlobalAddress source,
                                                       std::uint64_t bytes,
                                                       DirectEnds& ends) const noexcept {
        const GlobalAddress target_here = target & colorless_mask;
        const GlobalAddress source_here = source & colorless_mask;
        const std::uint64_t target_index = index_of(target_here);
        const std::uint64_t source_index = index_of(source_here);
        std::uint64_t to = 0;
        std::uint64_t from = 0;
        if (target_index >= index_count || source_index >= index_count ||
            !find_in(table[target_index], target_here, bytes, to) ||
            !find_in(table[source_index], source_here, bytes, from)) [[unlikely]] {
            return false;
        }
        ends = {base + to, base + from};
        return true;
    }

private:
    // The index into the table; index_count and above for a process of another node.
    [[nodiscard, gnu::always_inline]] std::uint64_t index_of(GlobalAddress address) const noexcept {
        return ((address & index_mask) >> offset_bits) - first_index;
    }

    //   colorless  an address without its colour
    //   place      relative to `base`
    [[nodiscard, gnu::always_inline]] static bool find_in(const memory::TableEntry& found,
                                                          GlobalAddress colorless,
                                                          std::uint64_t bytes,
                                                          std::uint64_t& place) noexcept {
        // acquire: pairs with the owner's release of the publication word
        const std::uint64_t size = found.direct_bytes.load(std::memory_order_acquire);
        const std::uint64_t offset = colorless - found.start.load(std::memory_order_relaxed);
        if (!memory::is_within(offset, size, bytes)) [[unlikely]] {
            return false;
        }
        place = found.base.load(std::memory_order_relaxed) + offset;
        return true;
    }
};

static_assert(sizeof(View) == 64);

// Where an access lies. Valid while the caller's hazard line names the address.
struct Place {
    // pointer by which this process reaches it; nullptr: loads and stores do not reach it
    char* direct = nullptr;
    // address of the access in the owner's address space, or in its device's
    std::uint64_t owner_address = 0;
    std::uint32_t slot = 0;  // the owner's slot
    bool is_own = false;
    std::uint16_t device = 0;  // TableEntry::device, if is_device()
    memory::MemoryKind kind = memory::MemoryKind::private_pages;

    // Every process of the node has the memory mapped.
    [[nodiscard]] bool is_shared() const noexcept { return kind == memory::MemoryKind::shared; }

    // Memory of a device of the owner.
    [[nodiscard]] bool is_device() const noexcept { return kind == memory::MemoryKind::device; }

    // No other process reaches it, by the kernel's help either.
    [[nodiscard]] bool is_owner_only() const noexcept {
        return kind == memory::MemoryKind::hidden || is_device();
    }
};

// The memory that this process may reach by loads and stores, from ACP_INTRANODE and ACP_BYPASS;
// commands on all other memory go through its owner.
struct Reach {
    bool is_shared_direct = true;  // memory of other ranks that is mapped here
    bool is_own_direct = true;     // the caller's own memory
};

class Space {
public:
    Space() noexcept = default;

    // Opens the view of the process that sits on `slot`.
    //   own_row  the row of this slot, must outlive this; nullptr: no private window (a view that
    //            only reads, or a test in which several ranks are threads of one process and share
    //            one mapping)
    // Errors: memory, system.
    base::Status open(const node::Segment& segment,
                      std::uint32_t slot,
                      Reach reach,
                      const OwnRow* own_row);

    // Publishes this rank's shared segments: its starter memory, and the ranges that layers claim
    // (node/claims.hpp). The caller provides the barrier before other processes use them.
    void publish_shared() noexcept;

    // Call before entries below end_granule are written, one thread at a time. close() clears no
    // entry beyond it, since even reading an entry allocates a page of shared memory that was never
    // used.
    void note_used(std::uint32_t end_granule) noexcept {
        used_granules_ = std::max(used_granules_, end_granule);
    }

    // Clears the row: other ranks' lookups then fail. Does not wait for threads that use the
    // memory. The private window stays until the next open().
    void close() noexcept;

    // True between open() and close().
    [[nodiscard]] bool is_open() const noexcept { return is_open_; }

    [[nodiscard]] const View& view() const noexcept { return view_; }

    [[nodiscard]] View& view() noexcept { return view_; }

    [[nodiscard]] const memory::GaLayout& layout() const noexcept { return layout_; }

    [[nodiscard]] const node::Segment& segment() const noexcept { return *segment_; }

    [[nodiscard]] std::uint32_t slot() const noexcept { return slot_; }

    // This process: its rank in this epoch, for messages, and its index in the job, which addresses
    // name.
    [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }

    [[nodiscard]] std::uint32_t process() const noexcept { return process_; }

    [[nodiscard]] bool is_on_node(std::uint32_t process) const noexcept {
        return process - shape_.first_process < shape_.local_procs;
    }

    // The slot of a process of this node.
    [[nodiscard]] std::uint32_t slot_of(std::uint32_t process) const noexcept {
        return process - shape_.first_process;
    }

    //   process  < procs; the address of a rank's starter memory is that of process
    //            segment().process_of(rank)
    [[nodiscard]] GlobalAddress starter_address(std::uint32_t process) const noexcept {
        return layout_.segment_start(process, 0, shared_generation);
    }

    // The address of the first range that layers claim.   process < procs
    [[nodiscard]] GlobalAddress claimed_start(std::uint32_t process) const noexcept {
        return layout_.segment_start(process, claims_granule_, shared_generation);
    }

    // The address of the first byte of a range that a layer claims.   process < procs
    [[nodiscard]] GlobalAddress claimed_address(std::uint32_t process,
                                                const node::ClaimedRange& range) const noexcept {
        return claimed_start(process) + shape_.claims.offset(range);
    }

    // The number of granules of each process that its shared segments take; registrations come
    // after them.
    [[nodiscard]] std::uint32_t shared_granules() const noexcept {
        return claims_granule_ + static_cast<std::uint32_t>(layout_.granules_for(claimed_bytes_));
    }

    // Finds `bytes` bytes at an address of this node. The caller's hazard line must name the
    // address. Returns ok, address (null, wild, leaves its segment), stale, or peer (its process
    // has left the job); place is written only on ok.
    [[nodiscard, gnu::always_inline]] base::Code find(GlobalAddress address,
                                                      std::uint64_t bytes,
                                                      Place& place) const noexcept {
        const memory::TableEntry* entry = entry_of(address);
        if (entry == nullptr) [[unlikely]] {
            return refusal(entry, address);
        }
        // acquire: pairs with the owner's release
        const std::uint64_t size = entry->bytes.load(std::memory_order_acquire);
        const std::uint64_t start = entry->start.load(std::memory_order_relaxed);
        const std::uint64_t offset = (address & view_.colorless_mask) - start;
        if (size == 0 || layout_.generation(address) == 0 ||
            !memory::is_within(offset, size, bytes)) [[unlikely]] {
            return refusal(entry, address);
        }
        place.slot = slot_of(static_cast<std::uint32_t>(layout_.process(address)));
        place.is_own = place.slot == slot_;
        place.kind = entry->kind.load(std::memory_order_relaxed);
        place.owner_address = entry->owner_address.load(std::memory_order_relaxed) + offset;
        if (place.is_shared()) {
            place.direct = view_.base + entry->base.load(std::memory_order_relaxed) + offset;
        } else if (place.is_device()) {
            place.direct = nullptr;
            place.device =
                static_cast<std::uint16_t>(entry->device.load(std::memory_order_relaxed));
        } else {
            // NOLINTNEXTLINE(performance-no-int-to-ptr): a number in the table, for other processes
            place.direct = place.is_own ? reinterpret_cast<char*>(place.owner_address) : nullptr;
        }
        return base::Code::ok;
    }

    // Whether `bytes` bytes at an address may be memory of a process of another node. For shared
    // segments, which are alike in all processes, the answer is certain; only the other node knows
    // whether its private memory is registered.
    [[nodiscard]] bool is_elsewhere(GlobalAddress address, std::uint64_t bytes) const noexcept {
        const std::uint64_t process = layout_.process(address);
        const std::uint64_t offset = offset_in_process(address);
        return process < shape_.procs && !is_on_node(static_cast<std::uint32_t>(process)) &&
               (is_shared(address) ? layout_.generation(address) == shared_generation &&
                                         is_within_shared(offset, bytes)
                                   : layout_.generation(address) != 0 &&
                                         memory::is_within(offset, process_room(), bytes));
    }

    // Whether an address lies in the part of a process's addresses that is reserved for its shared
    // segments, on whatever node: memory that every process of that node has mapped.
    [[nodiscard]] bool is_shared(GlobalAddress address) const noexcept {
        return offset_in_process(address) < shared_room_;
    }

    // The message about an address that find() refused. About memory of another node it names only
    // the owner.
    [[nodiscard]] std::string explain(GlobalAddress address, std::uint64_t bytes) const;

    // "8 bytes at global address 0x100000000000000"
    [[nodiscard]] static std::string range_name(GlobalAddress address, std::uint64_t bytes);

    // "rank 1" of the process that an address names; on another node "rank 2 on node 1 (10.0.0.4)".
    //   address  names a process of the job
    [[nodiscard]] std::string owner_name(GlobalAddress address) const;

    // The own row as this process reads it (the window) and as the other processes read it. Both
    // are the same when there is no window.
    [[nodiscard]] memory::TableEntry* window_row() const noexcept { return window_row_; }

    [[nodiscard]] memory::TableEntry* shared_row() const noexcept { return shared_row_; }

    [[nodiscard]] Reach reach() const noexcept { return reach_; }

private:
    // The table entry of an address. The own row is read from the shared mapping, because the
    // window begins empty in every epoch and the row does not.
    [[nodiscard]] const memory::TableEntry* entry_of(GlobalAddress address) const noexcept {
        const memory::TableEntry* entry = view_.entry(address);
        const std::ptrdiff_t granule = entry - window_row_;
        return entry != nullptr && granule >= 0 && granule < memory::granules_per_process
                   ? shared_row_ + granule
                   : entry;
    }

    [[nodiscard]] std::uint32_t owner_slot(GlobalAddress address) const noexcept {
        return slot_of(static_cast<std::uint32_t>(layout_.process(address)));
    }

    [[nodiscard]] std::string explain_elsewhere(GlobalAddress address, std::uint64_t bytes) const;
    [[nodiscard, gnu::cold]] base::Code refusal(const memory::TableEntry* entry,
                                                GlobalAddress address) const noexcept;

    static constexpr std::uint32_t shared_generation = 1;

    // Whether a range of a process's addresses lies inside one of its shared segments.
    [[nodiscard]] bool is_within_shared(std::uint64_t offset, std::uint64_t bytes) const noexcept {
        const std::uint64_t claims_at = claims_granule_ * layout_.granule_bytes();
        return offset < claims_at ? memory::is_within(offset, starter_bytes(), bytes)
                                  : memory::is_within(offset - claims_at, claimed_bytes_, bytes);
    }

    void publish_shared_segment(std::uint32_t granule, std::uint64_t bytes, char* memory) noexcept;

    [[nodiscard]] std::uint64_t starter_bytes() const noexcept { return shape_.starter_bytes; }

    // The bytes spanned by all addresses of one process and generation.
    [[nodiscard]] std::uint64_t process_room() const noexcept {
        return layout_.granule_bytes() << memory::granule_bits;
    }

    [[nodiscard]] std::uint64_t offset_in_process(GlobalAddress address) const noexcept {
        return address & (process_room() - 1);
    }

    const node::Segment* segment_ = nullptr;
    node::Shape shape_;  // a copy of the segment's shape, so that no lookup reads shared memory
    bool is_open_ = false;
    memory::GaLayout layout_;
    View view_;
    std::uint32_t slot_ = 0;
    std::uint32_t rank_ = 0;
    std::uint32_t process_ = 0;
    std::uint64_t claimed_bytes_ = 0;   // bytes that layers claim in each process
    std::uint32_t claims_granule_ = 0;  // first granule after the starter memory, in each process
    std::uint64_t shared_room_ = 0;     // bytes before the first registration, in each process
    Reach reach_;
    // own row: from this granule on no entry was written since open()
    std::uint32_t used_granules_ = 0;
    memory::TableEntry* window_row_ = nullptr;
    memory::TableEntry* shared_row_ = nullptr;
};

}  // namespace acp::local
