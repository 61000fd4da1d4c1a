// SPDX-License-Identifier: BSD-3-Clause
// Opens a process's view, publishes its segments, and explains refused addresses.
#include "local/space.hpp"

#include <string>
#include <utility>

#include "base/format.hpp"
#include "node/death.hpp"
#include "node/loss.hpp"
#include "node/node_table.hpp"
#include "os/mapping.hpp"

namespace acp::local {

base::Status Space::open(const node::Segment& segment,
                         std::uint32_t slot,
                         Reach reach,
                         const OwnRow* own_row) {
    segment_ = &segment;
    is_open_ = true;
    slot_ = slot;
    reach_ = reach;
    rank_ = segment.slot(slot).rank.load(std::memory_order_acquire);
    shape_ = segment.shape();
    const node::Shape& shape = shape_;
    layout_ = memory::GaLayout(shape.procs);
    view_.colorless_mask = layout_.colorless_mask();
    view_.index_mask = ~0ULL >> layout_.tag_bits();
    view_.offset_bits = layout_.offset_bits();
    view_.first_index = std::uint64_t{shape.first_process} << memory::granule_bits;
    view_.index_count = std::uint64_t{shape.local_procs} << memory::granule_bits;
    view_.table = segment.tables();
    view_.base = segment.base();
    process_ = shape.first_process + slot;
    claimed_bytes_ = shape.claims.addressed_end();
    claims_granule_ = static_cast<std::uint32_t>(layout_.granules_for(shape.starter_bytes));
    shared_room_ = shared_granules() * layout_.granule_bytes();
    window_row_ = OwnRow::in_table(segment, slot);
    shared_row_ = window_row_;
    if (own_row == nullptr) {
        return {};
    }
    shared_row_ = own_row->shared();
    return os::map_private_over(window_row_, OwnRow::bytes)
        .within("making the own window of the address table");
}

void Space::publish_shared() noexcept {
    note_used(shared_granules());
    publish_shared_segment(0, shape_.starter_bytes, segment_->starter(slot_));
    publish_shared_segment(claims_granule_, claimed_bytes_, segment_->claimed(slot_));
}

void Space::publish_shared_segment(std::uint32_t granule,
                                   std::uint64_t bytes,
                                   char* memory) noexcept {
    const std::uint64_t start = layout_.segment_start(process_, granule, shared_generation);
    const std::uint64_t end = granule + layout_.granules_for(bytes);
    for (std::uint64_t g = granule; g < end; ++g) {
        const auto fill = [&](memory::TableEntry& entry, bool is_direct) {
            entry.start.store(start, std::memory_order_relaxed);
            entry.base.store(static_cast<std::uint64_t>(memory - view_.base),
                             std::memory_order_relaxed);
            entry.owner_address.store(reinterpret_cast<std::uint64_t>(memory),
                                      std::memory_order_relaxed);
            entry.kind.store(memory::MemoryKind::shared, std::memory_order_relaxed);
            entry.bytes.store(bytes, std::memory_order_release);  // partner: find() of every rank
            // partner: direct()
            entry.direct_bytes.store(is_direct ? bytes : 0, std::memory_order_release);
        };
        if (shared_row_ != window_row_) {
            fill(window_row_[g], reach_.is_own_direct);
        }
        fill(shared_row_[g], reach_.is_shared_direct);
    }
}

void Space::close() noexcept {
    if (!is_open_) {
        return;
    }
    for (std::uint32_t g = 0; g < used_granules_; ++g) {
        memory::TableEntry& entry = shared_row_[g];
        if (entry.start.load(std::memory_order_relaxed) != 0) {
            entry.direct_bytes.store(0, std::memory_order_release);
            // start stays set, so that old addresses are stale rather than wild
            entry.bytes.store(0, std::memory_order_release);
        }
    }
    used_granules_ = 0;
    is_open_ = false;
}

base::Code Space::refusal(const memory::TableEntry* entry, GlobalAddress address) const noexcept {
    if (entry == nullptr || layout_.generation(address) == 0) {
        return base::Code::address;
    }
    // acquire: pairs with the owner's release
    const std::uint64_t size = entry->bytes.load(std::memory_order_acquire);
    if (size == 0 && node::has_left(*segment_, owner_slot(address))) return base::Code::peer;
    const std::uint64_t start = entry->start.load(std::memory_order_relaxed);
    // A granule that was used before is stale rather than wild. Empty starter memory was never
    // used.
    const bool was_used =
        start != 0 && entry->kind.load(std::memory_order_relaxed) != memory::MemoryKind::shared;
    const bool is_other_generation = layout_.generation(address) != layout_.generation(start);
    return was_used && (size == 0 || is_other_generation) ? base::Code::stale : base::Code::address;
}

std::string Space::explain(GlobalAddress address, std::uint64_t bytes) const {
    if (address == 0) {
        return "the null global address";
    }
    const std::uint64_t process = layout_.process(address);
    const std::string range = range_name(address, bytes);
    if (process >= shape_.procs) {
        return range + ": its process, " + std::to_string(process) + ", is not in this job of " +
               std::to_string(shape_.procs);
    }
    const memory::TableEntry* entry = entry_of(address);
    if (entry == nullptr) {
        return range + ": " + explain_elsewhere(address, bytes);
    }
    const base::Code code = refusal(entry, address);
    if (code == base::Code::peer) {
        return range + ": " + node::fate(*segment_, owner_slot(address));
    }
    if (code == base::Code::stale) {
        return range + ": that memory of " + owner_name(address) + " was unregistered";
    }
    const std::uint64_t size = entry->bytes.load(std::memory_order_acquire);
    const std::uint64_t start = entry->start.load(std::memory_order_relaxed);
    if (shape_.starter_bytes == 0 &&
        (address & view_.colorless_mask) == starter_address(static_cast<std::uint32_t>(process))) {
        return range + ": the ranks of this job have no starter memory (acprun --starter-size)";
    }
    if (size == 0 || layout_.generation(start) != layout_.generation(address)) {
        return range + ": no memory is registered there on " + owner_name(address);
    }
    const std::uint64_t offset = (address & view_.colorless_mask) - start;
    return range + ": offset " + std::to_string(offset) + " of a segment of " +
           base::in_bytes(size) + " on " + owner_name(address);
}

// For a process of another node: every process has starter memory of the same size; only that node
// knows the other registrations.
std::string Space::explain_elsewhere(GlobalAddress address, std::uint64_t bytes) const {
    const std::string owner = owner_name(address);
    if (is_elsewhere(address, bytes)) {
        return "an address of " + owner;
    }
    const std::uint32_t generation = layout_.generation(address);
    if (generation == 0 || (is_shared(address) && generation != shared_generation)) {
        return "no memory is registered there on " + owner;
    }
    if (!is_shared(address)) {
        return "it leads beyond all that can be registered on " + owner;
    }
    return "offset " + std::to_string(offset_in_process(address)) + " of a segment of " +
           base::in_bytes(starter_bytes()) + " on " + owner;
}

std::string Space::range_name(GlobalAddress address, std::uint64_t bytes) {
    return base::in_bytes(bytes) + " at global address " + base::hex(address);
}

std::string Space::owner_name(GlobalAddress address) const {
    const auto process = static_cast<std::uint32_t>(layout_.process(address));
    std::string name = "rank " + std::to_string(segment_->rank_of(process));
    if (!is_on_node(process)) {
        name += " on " + node::node_name(*segment_, node::NodeTable(*segment_).node_of(process));
    }
    return name;
}

}  // namespace acp::local
