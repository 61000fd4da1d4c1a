// SPDX-License-Identifier: BSD-3-Clause
// What a thread keeps of the containers that it used last, so that its next call on a key there begins at once, and a find is little more
// than the look into the table: of each container the table, the memory around it, and the words by which the thread names what it reads.
// A copy of the directory and allocator::NodeFinder would say the same again. Kept are containers of one table, which is of this node. Of
// one thread, and of the signal handlers that run in it.
//
// Contract. A view is never wrong, only out of date, and a find sees that before it reads anything of the table:
// - The table bears its mark (table::Head) as long as it belongs to the container and was not destroyed. A find reads the mark each time.
// - The memory that a view leads to stays mapped until the epoch ends. A view is of one epoch, whose number a find compares.
// - The thread's place in the heap (heap::CachePlaces::OwnPlace) is in use during a find, as in every call: a signal handler that
//   interrupts it goes the long way and borrows another place, and so does a find whose place was taken over.
// - While a find reads a view, is_busy_ is set, so a signal handler does not put another one in its place.
// Where a find sees any of this, it does nothing, and the caller goes the long way, which makes the view anew (learn()).
// Tests: tests/unit/data/table_view_test.cpp, tests/conformance/hashed_view_test.cpp, tests/mutants/view.py.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "data/directory.hpp"
#include "data/table_calls.hpp"

#include "allocator/node_tables.hpp"
#include "table/position.hpp"
#include "table/search.hpp"

namespace acp::data {

// A container as one thread knows it; all zero: none.
struct alignas(128) TableView {
    GlobalAddress directory = 0;
    std::uint64_t id = 0;
    std::uint64_t epoch = 0;
    ContainerKind kind = ContainerKind{};  // 0: of no container
    hash::HashFunction function = hash::HashFunction{};
    std::uint64_t seed = 0;
    const table::Head<std::atomic>* head = nullptr;
    std::uint64_t mark = 0;    // of the table, as long as it is the container's
    GlobalAddress blocks = 0;  // where the blocks of the heap begin
    std::uint64_t slots = 0;   // of the table at first
    allocator::NodeHeap* heap = nullptr;
    allocator::FinderPlace here;  // the thread's, in the heap
    // The array of buckets that has all entries while this is the table's root, for no root comes twice; no_root: not known.
    static constexpr std::uint64_t no_root = ~std::uint64_t{0};
    std::uint64_t root = 0;
    table::Bucket<std::atomic>* buckets = nullptr;
    std::uint64_t mask = 0;  // how many they are, a power of two, less 1

    // Where a find looks, by the root that it has read.
    [[nodiscard, gnu::always_inline]] table::Spot<std::atomic> spot_of(
        std::uint64_t hash) const noexcept {
        return {root, buckets + (hash & mask)};
    }

    // By comparisons of which none fails as a rule.
    [[nodiscard, gnu::always_inline]] bool is_of(std::uint64_t now,
                                                 const ContainerName& name) const noexcept {
        return epoch == now && directory == name.directory && id == name.id && kind == name.kind;
    }

    [[nodiscard]] GlobalAddress address(table::BlockNumber block) const noexcept {
        return blocks + table::offset_of(block);
    }
};

class TableViews {
public:
    static constexpr std::uint32_t views_max = 8;

    enum class Found : std::uint8_t { unknown, absent, there };

    // Finds a key. Calls visit(const TableView&, std::uint64_t hash, record, table::BlockNumber) where there is an entry, while it stays.
    // unknown: nothing was done; Hashed::run_at_once() goes the long way.
    //   epoch  the number of this epoch, > 0
    //   key    less than 4 GiB
    template <typename Visit>
    [[nodiscard, gnu::always_inline]] Found find(std::uint64_t epoch,
                                                 const ContainerName& name,
                                                 Bytes key,
                                                 const Visit& visit) noexcept {
        if (is_busy_) [[unlikely]]
            return Found::unknown;
        set_busy(true);
        TableView& view = views_[name.id % views_max];
        const auto place = view.here.place;
        Found found = Found::unknown;
        if (view.is_of(epoch, name)) [[likely]] {
            if (place.begin()) [[likely]] {
                // acquire: what the table holds; as table::Finder::is_table()
                if (view.head->mark.load(std::memory_order_acquire) == view.mark) [[likely]]
                    found = find_in(view, key, visit);
                place.end();
            }
        }
        set_busy(false);
        return found;
    }

    // Tells where a key belongs, as Directories::find() does of a container of one table. false: nothing was told.
    [[nodiscard, gnu::always_inline]] bool place(std::uint64_t epoch,
                                                 const ContainerName& name,
                                                 Bytes key,
                                                 TablePlace& place) noexcept {
        if (is_busy_) [[unlikely]]
            return false;
        set_busy(true);
        const TableView& view = views_[name.id % views_max];
        const bool is_known =
            view.is_of(epoch, name) && view.head->mark.load(std::memory_order_acquire) == view.mark;
        if (is_known) [[likely]] {
            place.block = table::number_of(static_cast<heap::Offset>(
                reinterpret_cast<const char*>(view.head) - view.here.base));
            place.table = view.address(place.block);
            place.id = view.id;
            place.slots = view.slots;
            place.tables = 1;
            place.heap = view.heap;
            place.function = view.function;
            place.seed = view.seed;
        }
        set_busy(false);
        if (is_known) [[likely]]
            place.hash = hash_of_key(place.function, place.seed, key);
        return is_known;
    }

    // Makes a view of a container in which a call went the long way. Where another container has the place, only now and then: else calls
    // in turns on two containers would all go the long way, and make views besides.
    //   key     any, of that call
    //   thread  the calling thread's number among those of its process
    void learn(std::uint64_t epoch,
               const ContainerName& name,
               Bytes key,
               const Directories& directories,
               std::uint32_t thread) noexcept;

private:
    template <typename Visit>
    [[gnu::always_inline]] static Found find_in(TableView& view,
                                                Bytes key,
                                                const Visit& visit) noexcept {
        const std::uint64_t hash = hash_of_key(view.function, view.seed, key);
        const table::ReadGround<std::atomic> ground(view.here.base, *view.here.shown, true);
        // acquire: the array of this root
        const bool is_root_known = view.head->root.load(std::memory_order_acquire) == view.root;
        const auto spot = is_root_known ? view.spot_of(hash) : spot_anew(view, hash);
        using Finder = table::Finder<>;
        const auto seen = Finder(ground).find_once(
            *view.head, spot, {key.data(), static_cast<std::uint32_t>(key.size()), hash},
            [&](table::EntryRecord<std::atomic>& record, table::BlockNumber number) {
                visit(view, hash, record, number);
            });
        if (seen == Finder::Seen::absent) return Found::absent;
        return seen == Finder::Seen::there ? Found::there : Found::unknown;
    }

    // Where a find looks by another root than the view's. The view is of that root from now on, unless the table grows or its buckets are
    // another number than a power of two.
    [[gnu::noinline]] static table::Spot<std::atomic> spot_anew(TableView& view,
                                                                std::uint64_t hash) noexcept;

    // For signal handlers, which see it in the order of the program.
    void set_busy(bool is_busy) noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        is_busy_ = is_busy;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    std::array<TableView, views_max> views_{};  // a container's by its id, which is random
    bool is_busy_ = false;
    std::uint32_t rivals_ = 0;  // how often the place of a view was taken
};

}  // namespace acp::data
