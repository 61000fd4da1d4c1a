// SPDX-License-Identifier: BSD-3-Clause
// Makes views from copies of directories, after a call that took the slow path.
#include "data/table_view.hpp"

#include <algorithm>
#include <bit>

namespace acp::data {

void TableViews::learn(std::uint64_t epoch,
                       const ContainerName& name,
                       const TablePlace& place,
                       std::uint32_t thread) noexcept {
    if (is_busy_) return;
    if (place.heap == nullptr || name.id == 0) return;
    const allocator::FinderPlace here = allocator::NodeFinder::place_of(*place.heap, thread);
    if (here.shown == nullptr) return;
    ContainerView& container = container_of(name);
    if (container.epoch == epoch && container.directory != name.directory && !gives_way()) return;
    set_busy(true);
    learn_container(container, epoch, name, place);
    TableView& view = place.tables == 1 ? container.only : table_of(name.id, place.index);
    if (!is_others(view, epoch, container, place.index) || gives_way()) {
        learn_table(view, container, place, here);
    }
    set_busy(false);
}

bool TableViews::gives_way() noexcept {
    constexpr std::uint32_t patience = 8;
    return ++rivals_ % patience == 0;
}

// Whether a view is of another table, of a container that has a view.
bool TableViews::is_others(const TableView& view,
                           std::uint64_t epoch,
                           const ContainerView& container,
                           std::uint64_t index) const noexcept {
    if (view.container == container.number) return view.index != index;
    return std::any_of(containers_.begin(), containers_.end(), [&](const ContainerView& one) {
        return one.number == view.container && one.number != 0 && one.epoch == epoch;
    });
}

void TableViews::learn_table(TableView& view,
                             const ContainerView& container,
                             const TablePlace& place,
                             const allocator::FinderPlace& here) noexcept {
    view.container = container.number;
    view.index = place.index;
    view.head = reinterpret_cast<const table::Head<std::atomic>*>(here.base +
                                                                  table::offset_of(place.block));
    view.mark = table::Head<std::atomic>::mark_of(place.block, place.id);
    view.blocks = place.table - table::offset_of(place.block);
    view.root.emplace();
    view.heap = place.heap;
    view.here = here;
}

void TableViews::learn_container(ContainerView& view,
                                 std::uint64_t epoch,
                                 const ContainerName& name,
                                 const TablePlace& place) noexcept {
    // The rest depends on the identity of the tables, which changes when a container gives its
    // tables away.
    if (view.is_of(epoch, name) && view.table_id == place.id) return;
    const bool is_by_mask = place.tables == 1 ||
                            (std::has_single_bit(place.slots) && std::has_single_bit(place.tables));
    view.directory = name.directory;
    view.id = name.id;
    view.table_id = place.id;
    view.epoch = epoch;
    view.kind = name.kind;
    view.function = place.function;
    view.seed = place.seed;
    view.slots = place.slots;
    view.tables = place.tables;
    view.mask = is_by_mask ? place.tables - 1 : ContainerView::no_mask;
    view.shift = is_by_mask ? static_cast<std::uint32_t>(std::countr_zero(place.slots)) : 0;
    view.number = ++numbers_;
}

}  // namespace acp::data
