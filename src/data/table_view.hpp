// SPDX-License-Identifier: BSD-3-Clause
// A thread's cache of the containers that it used last, so that its next call on a key there needs
// little more than the lookup in the table. It has for each container the table, the heap around
// it, and the hazard words of the thread, which otherwise a copy of the directory and
// allocator::NodeFinder would yield again. Only tables of this node are cached. Used by one thread,
// and by the signal handlers that run in it.
//
// Contract. A view may be out of date, and a find detects that before it reads anything else of the
// table:
// - The table has its mark (table::Head) as long as it belongs to the container and was not
//   destroyed. A find reads the mark each time.
// - The view of a container determines the table of a key. A view of a table belongs to one view of
//   its container, and is not used by a later one: the container may have got other tables in
//   between.
// - The memory of a view stays mapped until the epoch ends. A view is valid for one epoch, whose
//   number a find compares.
// - The thread's place in the heap (heap::CachePlaces::OwnPlace) is held during a find, as in every
//   call: a signal handler that interrupts it takes the slow path and borrows another place, and so
//   does a find whose place was taken over.
// - While a find reads a view, is_busy_ is set, so a signal handler does not replace the view.
// If a find detects any of this, it does nothing, and the caller takes the slow path, which makes
// the view anew (learn()).
// Tests: tests/unit/data/table_view_test.cpp, table_views_test.cpp,
// tests/conformance/hashed_view_test.cpp, tests/mutants/view.py.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "data/directory.hpp"
#include "data/table_calls.hpp"

#include "allocator/node_tables.hpp"
#include "table/known_root.hpp"
#include "table/position.hpp"
#include "table/search.hpp"

namespace acp::data {

// The view of a table; all zero: empty.
struct alignas(128) TableView {
    std::uint64_t container = 0;  // ContainerView::number
    std::uint64_t index = 0;      // among the container's
    const table::Head<std::atomic>* head = nullptr;
    std::uint64_t mark = 0;    // the table's mark while it belongs to the container
    GlobalAddress blocks = 0;  // address of the heap's first block
    allocator::NodeHeap* heap = nullptr;
    allocator::FinderPlace here;             // the thread's place in the heap
    std::optional<table::KnownRoot<>> root;  // has a value once the view is learned

    [[nodiscard]] GlobalAddress address(table::BlockNumber block) const noexcept {
        return blocks + table::offset_of(block);
    }
};

// The view of a container; all zero: empty.
struct alignas(128) ContainerView {
    GlobalAddress directory = 0;
    std::uint64_t id = 0;
    std::uint64_t table_id = 0;  // identity of its tables
    std::uint64_t epoch = 0;
    ContainerKind kind = ContainerKind{};  // 0: an empty view
    hash::HashFunction function = hash::HashFunction{};
    std::uint64_t seed = 0;
    std::uint64_t slots = 0;   // initial number of slots per table
    std::uint64_t tables = 0;  // number of its tables
    // If both are powers of two: table_of() by a shift and a mask.
    static constexpr std::uint64_t no_mask = ~std::uint64_t{0};
    std::uint64_t mask = 0;
    std::uint32_t shift = 0;
    std::uint64_t number = 0;  // unique among the views of this thread
    TableView only;            // its table, if it has one

    // By comparisons that rarely fail.
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

    // Finds a key. Calls visit(const TableView&, std::uint64_t hash, record, table::BlockNumber) if
    // there is an entry, which stays allocated during the call. unknown: nothing was done; the
    // caller takes the slow path by Hashed::run_at_once().
    //   epoch   the number of this epoch, > 0
    //   key     less than 4 GiB
    //   tables  becomes the number of the container's tables
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
                // A copy, which stays in a register: begin() and end() store, and for the compiler
                // these stores might change the view.
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

    // Finds the table of a key like Directories::find(), if it is on this node. false: `place` is
    // unchanged.
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

    // Makes a view of a container after a call on the slow path, and of the key's table. Replaces
    // another container's view only in a fraction of the calls: otherwise alternating calls on two
    // containers would always take the slow path, and make views besides.
    //   place   the key's, from Directories::find()
    //   thread  the calling thread's number among those of its process
    void learn(std::uint64_t epoch,
               const ContainerName& name,
               const TablePlace& place,
               std::uint32_t thread) noexcept;

private:
    // Selected by the id, which is random.
    [[nodiscard, gnu::always_inline]] ContainerView& container_of(
        const ContainerName& name) noexcept {
        return containers_[name.id % containers_max];
    }

    [[nodiscard, gnu::always_inline]] TableView& table_of(std::uint64_t id,
                                                          std::uint64_t index) noexcept {
        return tables_[(id + index) % tables_max];
    }

    // The view of a key's table; nullptr: there is none. With one table it does not depend on the
    // hash.
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
        // acquire: the table's content; like table::Finder::is_table()
        if (head.mark.load(std::memory_order_acquire) != view.mark) [[unlikely]]
            return Found::unknown;
        const table::ReadGround<std::atomic> ground(view.here.base, view.here.limit_bytes,
                                                    *view.here.shown, true);
        const auto spot = view.root->spot_for_find(ground, head, hash);
        using Finder = table::Finder<>;
        const auto seen = Finder(ground).find_once(
            head, spot, {key.data(), static_cast<std::uint32_t>(key.size()), hash},
            [&](table::EntryRecord<std::atomic> & record, table::BlockNumber number)
                __attribute__((always_inline)) { visit(view, hash, record, number); });
        if (seen == Finder::Seen::absent) return Found::absent;
        return seen == Finder::Seen::there ? Found::there : Found::unknown;
    }

    // Fills the view of a container from a copy of its directory.
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

    // Whether a view of another container is replaced this time.
    [[nodiscard]] bool gives_way() noexcept;

    // For signal handlers, which see it in the order of the program.
    void set_busy(bool is_busy) noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        is_busy_ = is_busy;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    std::array<ContainerView, containers_max> containers_{};
    std::array<TableView, tables_max> tables_{};
    std::uint64_t numbers_ = 0;  // views of containers made so far
    bool is_busy_ = false;
    std::uint32_t rivals_ = 0;  // how often a view found its place taken
};

}  // namespace acp::data
