// SPDX-License-Identifier: BSD-3-Clause
// The hash tables in the heap of one process, for one call of a thread of its node or of the
// gateway. Each thread cache of the heap is a participant of its tables, by the same number. Any
// thread, one object each.
// Tests: tests/unit/allocator/node_tables_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "allocator/node_heap.hpp"
#include "table/table.hpp"

namespace acp::allocator {

// Blocks of the heap for its tables, by a cache that the caller has borrowed.
class HeapBlocks final : public table::Blocks<std::atomic> {
public:
    HeapBlocks(NodeHeap& heap, heap::ThreadCache& cache) noexcept
        : table::Blocks<std::atomic>(heap.blocks_, heap.limit_bytes(), heap.heap_.order_all()),
          heap_(heap),
          cache_(cache) {}

    table::BlockNumber allocate(std::atomic<std::uint64_t>& place,
                                std::uint64_t bytes,
                                std::uint64_t alignment) override;
    void free(table::BlockNumber block) override;
    void note_signed(table::BlockNumber block) override;
    [[nodiscard]] bool lend(table::BlockNumber container, std::uint64_t maker) override;
    [[nodiscard]] bool end_by_use(table::BlockNumber container, std::uint32_t maker) override;
    [[nodiscard]] bool is_lent(table::BlockNumber block) override;
    [[nodiscard]] bool is_kept(table::BlockNumber block) override;
    [[nodiscard]] std::uint64_t usable_bytes(table::BlockNumber block) override;
    void clear(table::BlockNumber block, std::uint64_t bytes) override;

private:
    NodeHeap& heap_;
    heap::ThreadCache& cache_;
};

// The parts of a heap that a thread needs for lookups in its tables. Constant while the process
// uses the heap.
struct FinderPlace {
    char* base = nullptr;  // the heap's blocks in this process
    std::uint64_t limit_bytes = 0;
    table::Participant<std::atomic>* shown =
        nullptr;                        // the thread's own; nullptr: there is no such place
    heap::CachePlaces::OwnPlace place;  // held during each find
};

// Lookups alone in those tables.
class NodeFinder {
public:
    //   the arguments of NodeTables
    NodeFinder(NodeHeap& heap, std::uint32_t thread) noexcept
        : heap_(heap),
          lease_(heap, thread),
          finder_({heap.blocks_, heap.limit_bytes(), heap.participants()[lease_.cache().number()],
                   heap.heap_.order_all() != nullptr}) {}

    ~NodeFinder() = default;
    NodeFinder(const NodeFinder&) = delete;
    NodeFinder& operator=(const NodeFinder&) = delete;

    // The FinderPlace of a thread that has a cache of its own, if finds need no fence; else an
    // empty one.
    [[nodiscard]] static FinderPlace place_of(const NodeHeap& heap, std::uint32_t thread) noexcept {
        if (thread >= heap::threads_with_cache || heap.heap_.order_all() == nullptr) return {};
        const std::uint32_t number = heap::caches_of(heap.user_).first + thread;
        return {heap.blocks_, heap.limit_bytes(), &heap.participants()[number],
                heap.caches_.own_place(heap.user_, thread)};
    }

    [[nodiscard]] const table::Finder<>* operator->() const noexcept { return &finder_; }

    [[nodiscard]] NodeHeap& heap() noexcept { return heap_; }

private:
    NodeHeap& heap_;
    NodeHeap::Lease lease_;
    table::Finder<> finder_;
};

class NodeTables {
public:
    //   heap    outlives this
    //   thread  the caller's number among the threads of its process (local::Hazards::index_of)
    NodeTables(NodeHeap& heap, std::uint32_t thread) noexcept
        : heap_(heap),
          lease_(heap, thread),
          blocks_(heap, lease_.cache()),
          tables_(blocks_, heap.participants(), lease_.cache().number()) {}

    ~NodeTables() = default;
    NodeTables(const NodeTables&) = delete;
    NodeTables& operator=(const NodeTables&) = delete;

    [[nodiscard]] table::HashTable<>* operator->() noexcept { return &tables_; }

    // Frees a table that no thread uses from now on. Recovers processes that are gone first. false:
    // there is no such table.
    bool destroy(table::BlockNumber table, std::uint64_t id) {
        (void)heap_.recover(lease_.cache());
        return tables_.destroy(table, id);
    }

    // destroy() in pieces: only begins it. The caller runs the calls of other nodes.
    bool begin_to_destroy(table::BlockNumber table, std::uint64_t id) {
        (void)heap_.recover(lease_.cache());
        return is_for_others() ? tables_.begin_to_destroy(table, id) : tables_.destroy(table, id);
    }

    // Frees a bounded part of the tables whose destruction was begun. Returns whether more is left.
    bool destroy_more() { return !is_for_others() || tables_.destroy_more(); }

    // Whether a table whose destruction was begun is left, wholly or in part.
    [[nodiscard]] bool is_being_destroyed(table::BlockNumber table) {
        return !is_for_others() || tables_.is_being_destroyed(table);
    }

    // Returns HashTable::entries(), also after processes were killed in a change.
    [[nodiscard]] std::optional<std::uint64_t> entries(table::BlockNumber table) {
        heap_.recover_if_any(lease_.cache());
        return tables_.entries(table);
    }

    // Destroys a directory like destroy().
    bool destroy_directory(table::BlockNumber directory) {
        (void)heap_.recover(lease_.cache());
        return tables_.destroy_directory(directory);
    }

    // Runs a call; if it found no room, once more after NodeHeap::find_room().   call() returns an
    // Effect, or a result with one
    template <typename Call>
    auto with_room(const Call& call) {
        auto result = call();
        if (effect_of(result) == table::Effect::no_room) [[unlikely]] {
            heap_.find_room(lease_.cache());
            result = call();
        }
        return result;
    }

    // Puts through with_room(). The table takes a prepared block in any case.
    table::PutEffect put_with_room(table::BlockNumber table, const table::PutRequest& request) {
        bool may_put = true;  // a prepared block may be gone after the first try
        const table::PutEffect effect = with_room([&]() -> table::PutEffect {
            if (!may_put) return {table::Effect::no_room, {}};
            const table::PutEffect put = tables_.put(table, request);
            may_put = request.prepared == 0 || put.is_prepared_left;
            return put;
        });
        if (effect.is_prepared_left) blocks_.free(request.prepared);
        return effect;
    }

    [[nodiscard]] NodeHeap& heap() noexcept { return heap_; }

private:
    // Whether this has the cache of the calls of other nodes, whose participant destroys in pieces.
    // Another thread may have taken it over for a moment.
    [[nodiscard]] bool is_for_others() noexcept {
        return heap::CachePlaces::is_for_others(lease_.cache().number());
    }

    static table::Effect effect_of(table::Effect effect) noexcept { return effect; }

    template <typename Told>
    static table::Effect effect_of(const Told& told) noexcept {
        return told.effect;
    }

    NodeHeap& heap_;
    NodeHeap::Lease lease_;
    HeapBlocks blocks_;
    table::HashTable<> tables_;
};

}  // namespace acp::allocator
