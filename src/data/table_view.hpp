// SPDX-License-Identifier: BSD-3-Clause
// What a thread keeps of the containers that it used last, so that its next call on a key there begins at once, and a find is little more
// than the look into the table: of each container the table, the memory around it, and the words by which the thread names what it reads.
// A copy of the directory and allocator::NodeFinder would say the same again. Kept are tables of this node. Of one thread, and of the signal
// handlers that run in it.
//
// Contract. A view is never wrong, only out of date, and a find sees that before it reads anything of the table:
// - The table bears its mark (table::Head) as long as it belongs to the container and was not destroyed. A find reads the mark each time.
// - Which of its tables has a key is learned anew with the view of the container. A view of a table is of one view of its container, and is
//   not used by another: the same container may have had other tables meanwhile.
// - The memory that a view leads to stays mapped until the epoch ends. A view is of one epoch, whose number a find compares.
// - The thread's place in the heap (heap::CachePlaces::OwnPlace) is in use during a find, as in every call: a signal handler that
//   interrupts it goes the long way and borrows another place, and so does a find whose place was taken over.
// - While a find reads a view, is_busy_ is set, so a signal handler does not put another one in its place.
// Where a find sees any of this, it does nothing, and the caller goes the long way, which makes the view anew (learn()).
// Tests: tests/unit/data/table_view_test.cpp, table_views_test.cpp, tests/conformance/hashed_view_test.cpp, tests/mutants/view.py.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "data/directory.hpp"
#include "data/table_calls.hpp"

#include "allocator/node_tables.hpp"
#include "table/known_root.hpp"
#include "table/position.hpp"
#include "table/search.hpp"

namespace acp::data {

// A table as one thread knows it; container 0: none.
struct alignas(128) TableView {
    std::uint64_t container = 0;  // ContainerView::number
    std::uint64_t index = 0;      // among the container's
    const table::Head<std::atomic>* head = nullptr;
    std::uint64_t mark = 0;    // of the table, as long as it is the container's
    GlobalAddress blocks = 0;  // where the blocks of the heap begin
    allocator::NodeHeap* heap = nullptr;
    allocator::FinderPlace here;  // the thread's, in the heap
    table::KnownRoot<> root;

    [[nodiscard]] GlobalAddress address(table::BlockNumber block) const noexcept {
        return blocks + table::offset_of(block);
    }
};

// A container as one thread knows it; all zero: none.
struct alignas(128) ContainerView {
    GlobalAddress directory = 0;
    std::uint64_t id = 0;
    std::uint64_t table_id = 0;  // of its tables
    std::uint64_t epoch = 0;
    ContainerKind kind = ContainerKind{};  // 0: of no container
    hash::HashFunction function = hash::HashFunction{};
    std::uint64_t seed = 0;
    std::uint64_t slots = 1;   // of each table at first
    std::uint64_t tables = 0;  // how many it has
    // Where both are powers of two: table_of() by a shift and a mask.
    static constexpr std::uint64_t no_mask = ~std::uint64_t{0};
    std::uint64_t mask = 0;
    std::uint32_t shift = 0;
    std::uint64_t number = 0;  // of this view among all of the thread: no two have the same
    TableView only;            // its table, where it has one

    // By comparisons of which none fails as a rule.
    [[nodiscard, gnu::always_inline]] bool is_of(std::uint64_t now,
                                                 const ContainerName& name) const noexcept {
        return epoch == now && directory == name.directory && id == name.id && kind == name.kind;
    }

    [[nodiscard, gnu::always_inline]] std::uint64_t table_of(std::uint64_t hash) const noexcept {
        if (mask == no_mask) [[unlikely]]
            return data::table_of(hash, slots, tables);
        return hash >> shift & mask;
    }
};

class TableViews {
public:
    static constexpr std::uint32_t containers_max = 8;
    static constexpr std::uint32_t tables_max = 32;

    enum class Found : std::uint8_t { unknown, absent, there };

    // Finds a key. Calls visit(const TableView&, std::uint64_t hash, record, table::BlockNumber) where there is an entry, while it stays.
    // unknown: nothing was done; Hashed::run_at_once() goes the long way.
    //   epoch   the number of this epoch, > 0
    //   key     less than 4 GiB
    //   tables  becomes how many tables the container has
    template <typename Visit>
    [[nodiscard, gnu::always_inline]] Found find(std::uint64_t epoch,
                                                 const ContainerName& name,
                                                 Bytes key,
                                                 std::uint64_t& tables,
                                                 const Visit& visit) noexcept {
        if (is_busy_) [[unlikely]]
            return Found::unknown;
        set_busy(true);
        Found found = Found::unknown;
        ContainerView& container = container_of(name);
        if (container.is_of(epoch, name)) [[likely]] {
            const std::uint64_t hash = hash_of_key(container.function, container.seed, key);
            TableView* const view = view_of(container, hash);
            if (view != nullptr) [[likely]] {
                // A copy, which stays in a register: begin() and end() store, and the view might have changed by that.
                const auto place = view->here.place;
                if (place.begin()) [[likely]] {
                    found = find_in(*view, hash, key, visit);
                    place.end();
                }
            }
            tables = container.tables;
        }
        set_busy(false);
        return found;
    }

    // Tells where a key belongs, as Directories::find() does, where the table is one of this node. false: nothing was told.
    [[nodiscard, gnu::always_inline]] bool place(std::uint64_t epoch,
                                                 const ContainerName& name,
                                                 Bytes key,
                                                 TablePlace& place) noexcept {
        if (is_busy_) [[unlikely]]
            return false;
        set_busy(true);
        bool is_known = false;
        ContainerView& container = container_of(name);
        if (container.is_of(epoch, name)) [[likely]] {
            const std::uint64_t hash = hash_of_key(container.function, container.seed, key);
            const TableView* const view = view_of(container, hash);
            is_known =
                view != nullptr && view->head->mark.load(std::memory_order_acquire) == view->mark;
            if (is_known) [[likely]] {
                place.block = table::number_of(static_cast<heap::Offset>(
                    reinterpret_cast<const char*>(view->head) - view->here.base));
                place.table = view->address(place.block);
                place.id = container.table_id;
                place.hash = hash;
                place.index = view->index;
                place.slots = container.slots;
                place.tables = container.tables;
                place.heap = view->heap;
                place.function = container.function;
                place.seed = container.seed;
            }
        }
        set_busy(false);
        return is_known;
    }

    // Makes a view of a container in which a call went the long way, and of the key's table. Where another one has the place, only now and
    // then: else calls in turns on two containers would all go the long way, and make views besides.
    //   place   where the key of that call belongs, by Directories::find()
    //   thread  the calling thread's number among those of its process
    void learn(std::uint64_t epoch,
               const ContainerName& name,
               const TablePlace& place,
               std::uint32_t thread) noexcept;

private:
    // By the id, which is random.
    [[nodiscard, gnu::always_inline]] ContainerView& container_of(
        const ContainerName& name) noexcept {
        return containers_[name.id % containers_max];
    }

    [[nodiscard, gnu::always_inline]] TableView& table_of(std::uint64_t id,
                                                          std::uint64_t index) noexcept {
        return tables_[(id + index) % tables_max];
    }

    // The view of the table of a key; nullptr: there is none. That of a container of one table is read before the hash is known.
    [[nodiscard, gnu::always_inline]] TableView* view_of(ContainerView& container,
                                                         std::uint64_t hash) noexcept {
        if (container.mask == 0) [[likely]]
            return &container.only;
        const std::uint64_t index = container.table_of(hash);
        TableView& view = table_of(container.id, index);
        return view.container == container.number && view.index == index ? &view : nullptr;
    }

    template <typename Visit>
    [[gnu::always_inline]] static Found find_in(TableView& view,
                                                std::uint64_t hash,
                                                Bytes key,
                                                const Visit& visit) noexcept {
        const table::Head<std::atomic>& head = *view.head;
        // acquire: what the table holds; as table::Finder::is_table()
        if (head.mark.load(std::memory_order_acquire) != view.mark) [[unlikely]]
            return Found::unknown;
        const table::ReadGround<std::atomic> ground(view.here.base, *view.here.shown, true);
        const auto spot = view.root.spot_for_find(ground, head, hash);
        using Finder = table::Finder<>;
        const auto seen = Finder(ground).find_once(
            head, spot, {key.data(), static_cast<std::uint32_t>(key.size()), hash},
            [&](table::EntryRecord<std::atomic> & record, table::BlockNumber number)
                __attribute__((always_inline)) { visit(view, hash, record, number); });
        if (seen == Finder::Seen::absent) return Found::absent;
        return seen == Finder::Seen::there ? Found::there : Found::unknown;
    }

    // Sees to it that the view of a container says what a copy of its directory has said.
    void learn_container(ContainerView& view,
                         std::uint64_t epoch,
                         const ContainerName& name,
                         const TablePlace& place) noexcept;

    void learn_table(TableView& view,
                     const ContainerView& container,
                     const TablePlace& place,
                     const allocator::FinderPlace& here) noexcept;

    [[nodiscard]] bool is_others(const TableView& view,
                                 std::uint64_t epoch,
                                 const ContainerView& container,
                                 std::uint64_t index) const noexcept;

    // Whether what has the place of a view gives way to another one this time.
    [[nodiscard]] bool gives_way() noexcept;

    // For signal handlers, which see it in the order of the program.
    void set_busy(bool is_busy) noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        is_busy_ = is_busy;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    std::array<ContainerView, containers_max> containers_{};
    std::array<TableView, tables_max> tables_{};
    std::uint64_t numbers_ = 0;  // of views of containers until now
    bool is_busy_ = false;
    std::uint32_t rivals_ = 0;  // how often the place of a view was taken
};

}  // namespace acp::data
