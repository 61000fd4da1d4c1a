// SPDX-License-Identifier: BSD-3-Clause
// Extents, and the sweep over the sorted ends of a list.
#include "api/overlap.hpp"

#include <algorithm>

namespace acp::api {

ByteExtent extent_of(const local::Space& space,
                     memory::GlobalAddress address,
                     std::uint64_t bytes) noexcept {
    const memory::GaLayout& layout = space.layout();
    const std::uint64_t process = layout.process(address);
    local::Place place;
    if (space.is_on_node(static_cast<std::uint32_t>(process)) &&
        space.find(address, bytes, place) == base::Code::ok) {
        if (place.direct != nullptr) return extent_of(place.direct, bytes);
        return {std::uint64_t{1} + place.slot, place.owner_address, bytes};
    }
    const std::uint64_t spaces_before = std::uint64_t{1} + space.view().index_count;
    return {spaces_before + process, address & layout.colorless_mask(), bytes};
}

ByteExtent extent_of(const void* pointer, std::uint64_t bytes) noexcept {
    return {0, reinterpret_cast<std::uintptr_t>(pointer), bytes};
}

bool do_overlap(const ByteExtent& first, const ByteExtent& second) noexcept {
    return first.space == second.space && first.bytes != 0 && second.bytes != 0 &&
           (first.start - second.start < second.bytes || second.start - first.start < first.bytes);
}

void ListExtents::add(const ByteExtent& target, const ByteExtent& source) {
    const std::uint64_t index = size_++;
    if (target.bytes == 0) return;
    ends_.push_back({target, index, true});
    // A range that is copied onto itself is a target alone.
    if (target != source) ends_.push_back({source, index, false});
}

std::optional<ListOverlap> ListExtents::find() {
    std::sort(ends_.begin(), ends_.end(),
              [](const End& first, const End& second) { return first.extent < second.extent; });
    // The farthest-reaching target and source that begin before the present end: if any range
    // overlaps it, one of these does.
    const End* target = nullptr;
    const End* source = nullptr;
    const auto reaches_farther = [](const End& end, const End* than) {
        return than == nullptr || than->extent.space != end.extent.space ||
               end.extent.start + end.extent.bytes > than->extent.start + than->extent.bytes;
    };
    for (const End& end : ends_) {
        if (target != nullptr && do_overlap(target->extent, end.extent)) {
            return ListOverlap{target->index, end.index, !end.is_target};
        }
        if (end.is_target && source != nullptr && do_overlap(source->extent, end.extent)) {
            return ListOverlap{end.index, source->index, true};
        }
        const End*& farthest = end.is_target ? target : source;
        if (reaches_farther(end, farthest)) farthest = &end;
    }
    return std::nullopt;
}

void ListExtents::clear() noexcept {
    ends_.clear();
    size_ = 0;
}

}  // namespace acp::api
