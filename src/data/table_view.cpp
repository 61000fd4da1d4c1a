// SPDX-License-Identifier: BSD-3-Clause
// Views are made from copies of directories, after a call that went the long way.
#include "data/table_view.hpp"

#include <bit>

namespace acp::data {

void TableViews::learn(std::uint64_t epoch,
                       const ContainerName& name,
                       Bytes key,
                       const Directories& directories,
                       std::uint32_t thread) noexcept {
    constexpr std::uint32_t patience = 8;
    TableView& view = views_[name.id % views_max];
    const bool is_taken = view.epoch == epoch && view.directory != name.directory;
    if (is_busy_ || (is_taken && ++rivals_ % patience != 0)) return;
    TablePlace place;
    if (!directories.find(name, key, place) || place.id != name.id) return;
    if (place.tables != 1 || place.heap == nullptr) return;
    const allocator::FinderPlace here = allocator::NodeFinder::place_of(*place.heap, thread);
    if (here.shown == nullptr) return;
    set_busy(true);
    view.directory = name.directory;
    view.id = name.id;
    view.epoch = epoch;
    view.kind = name.kind;
    view.function = place.function;
    view.seed = place.seed;
    view.head = reinterpret_cast<const table::Head<std::atomic>*>(here.base +
                                                                  table::offset_of(place.block));
    view.mark = table::Head<std::atomic>::mark_of(place.block, place.id);
    view.blocks = place.table - table::offset_of(place.block);
    view.root = TableView::no_root;
    view.slots = place.slots;
    view.heap = place.heap;
    view.here = here;
    set_busy(false);
}

table::Spot<std::atomic> TableViews::spot_anew(TableView& view, std::uint64_t hash) noexcept {
    const table::Head<std::atomic>& head = *view.head;
    const table::ReadGround<std::atomic> ground(view.here.base, *view.here.shown, true);
    const auto spot = table::Growth<std::atomic>::spot_for_find(ground, head, hash);
    const table::Root root = table::Root::unpacked(spot.root);
    const std::uint64_t buckets = head.buckets(root.from);
    if (root.is_growing() || !std::has_single_bit(buckets)) return spot;
    view.mask = buckets - 1;
    view.buckets = spot.first - (hash & view.mask);
    view.root = spot.root;
    return spot;
}

}  // namespace acp::data
