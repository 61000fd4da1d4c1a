// SPDX-License-Identifier: BSD-3-Clause
// A heap with its blocks and participants in memory that forked processes share, and a thread's
// access to lists in it. Freed memory is poisoned, so that a later use is noticed.
#pragma once

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <type_traits>
#include <vector>

#include "heap/heap.hpp"
#include "heap/walk.hpp"

#include "list/lists.hpp"
#include "support/interleave.hpp"
#include "support/stepped_atomic.hpp"
#include "unit/heap/heap_memory.hpp"

namespace acp::list {

using heap::SharedPages;

inline constexpr heap::HeapShape heap_shape{8, 6};
inline constexpr std::uint32_t participants_max = 6;
inline constexpr char poison = '\xdd';

// A heap in shared memory. Its own words are std::atomic, whatever the lists use: the heap has
// tests of its own.
struct SharedHeap {
    SharedPages control{heap::Control<>::bytes(heap_shape)};
    SharedPages blocks{heap_shape.areas * heap::area_bytes};
    SharedPages handed_over{sizeof(std::uint64_t)};
    heap::Heap<> heap{control.data(), heap_shape, heap::keeps_memory};

    [[nodiscard]] std::uint64_t blocks_in_use() const {
        return heap::usage_of(heap.control()).blocks;
    }
};

template <template <class> class Atomic>
class HeapBlocks final : public ListMemory<Atomic> {
public:
    HeapBlocks(const SharedHeap& shared, std::uint32_t number)
        : ListMemory<Atomic>(shared.blocks.data(), shared.heap.limit_bytes()),
          shared_(shared),
          cache_(number) {}

    BlockNumber allocate(Atomic<std::uint64_t>& place,
                         std::uint64_t bytes,
                         std::uint64_t alignment) override {
        const BlockNumber block = take(bytes, alignment);
        if (block == 0) return 0;
        place.store(table::made::of(block), std::memory_order_release);
        shared_.heap.keep(cache_);
        return block;
    }

    // Allocates a block for the bytes of an element; its address is its number.
    std::uint64_t allocate_apart(Atomic<std::uint64_t>& place, const std::string& text) {
        const BlockNumber block = take(text.size(), heap::granule_bytes);
        if (block == 0) return 0;
        place.store(block, std::memory_order_release);
        shared_.heap.keep(cache_);
        // Atomic stores, so that the scheduler's weak memory orders them with the marks of nodes.
        auto* const words =
            reinterpret_cast<Atomic<std::uint64_t>*>(this->base() + offset_of(block));
        for (std::size_t done = 0; done < text.size(); done += word_bytes) {
            std::uint64_t word = 0;
            std::memcpy(&word, text.data() + done,
                        std::min<std::size_t>(word_bytes, text.size() - done));
            words[done / word_bytes].store(word, std::memory_order_relaxed);
        }
        return block;
    }

    void free(BlockNumber block) override {
        const heap::Offset offset = offset_of(block);
        const std::uint64_t bytes = shared_.heap.usable_bytes(offset);
        std::memset(this->base() + offset + table::signed_bytes, poison,
                    bytes - table::signed_bytes);
        test::step_of<Atomic>();
        EXPECT_EQ(shared_.heap.free(cache_, offset), heap::Freed::done);
        hand_over();
    }

    [[nodiscard]] std::uint64_t usable_bytes(BlockNumber block) override {
        return shared_.heap.usable_bytes(offset_of(block));
    }

    [[nodiscard]] bool is_kept(BlockNumber block) override {
        return shared_.heap.is_kept(offset_of(block));
    }

    void clear(BlockNumber block, std::uint64_t bytes) override {
        std::memset(this->base() + offset_of(block), 0, bytes);
    }

    bool free_apart(std::uint64_t address) override {
        if (!can_free_apart) return false;
        free(address);
        return true;
    }

    [[nodiscard]] Atomic<std::uint64_t>* apart_word(std::uint64_t address) override {
        return can_free_apart
                   ? reinterpret_cast<Atomic<std::uint64_t>*>(this->base() + offset_of(address))
                   : nullptr;
    }

    [[nodiscard]] bool is_apart_kept(std::uint64_t address) override { return is_kept(address); }

    [[nodiscard]] heap::ThreadCache& cache() { return cache_; }

    bool can_free_apart = true;
    // Allocations that still succeed; < 0: no limit.
    std::int64_t allocations_left = -1;

private:
    BlockNumber take(std::uint64_t bytes, std::uint64_t alignment) {
        if (allocations_left == 0) return 0;
        if (allocations_left > 0) --allocations_left;
        const heap::Offset block = shared_.heap.allocate(cache_, bytes, alignment);
        if (block == heap::no_block) return 0;
        std::memset(this->base() + block, poison, bytes);
        hand_over();
        return number_of(block);
    }

    // A read-modify-write that orders an allocation after the free of the same block: the
    // scheduler's memory model does not see the heap's own words.
    void hand_over() const {
        if constexpr (std::is_same_v<Atomic<std::uint64_t>, test::sched::Atomic<std::uint64_t>>) {
            reinterpret_cast<Atomic<std::uint64_t>*>(shared_.handed_over.data())
                ->fetch_add(1, std::memory_order_acq_rel);
        }
    }

    const SharedHeap& shared_;
    heap::ThreadCache cache_;
};

// A thread's access to the lists of a heap. Elements are texts; the bytes of a text that begins
// with '@' lie in a block of their own.
template <template <class> class Atomic>
struct User {
    User(const SharedHeap& shared, char* participants, std::uint32_t number, std::uint32_t batch)
        : blocks(shared, number), lists(blocks, {participants, participants_max}, number, batch) {}

    [[nodiscard]] BlockNumber make() {
        const BlockNumber list = lists.make();
        lists.keep();
        return list;
    }

    void destroy(BlockNumber list) {
        EXPECT_EQ(lists.destroy(list, ~std::uint64_t{0}, [](std::uint64_t) {}), ListEffect::done);
    }

    ListEffect insert(BlockNumber list,
                      const Position& before,
                      const std::string& text,
                      Position& made) {
        return put(text, [&](const Payload& payload) {
            return lists.insert(list, before, payload, made);
        });
    }

    ListEffect push_back(BlockNumber list, const std::string& text) {
        Position made;
        return insert(list, lists.end_of(list), text, made);
    }

    ListEffect push_front(BlockNumber list, const std::string& text) {
        Position made;
        return put(text,
                   [&](const Payload& payload) { return lists.push_front(list, payload, made); });
    }

    // Returns the text that `take`, a call of take_first() or the like, has taken out; "" if none.
    template <typename Take>
    std::string taken_by(const Take& take) {
        typename SharedLists<Atomic>::Taken taken;
        if (take(taken) != ListEffect::done) return "";
        std::string text(taken.bytes, '\0');
        lists.read_taken(taken, text.data(), text.size());
        if (taken.is_apart) text = text_of(text);
        (void)lists.settle(taken);
        return text;
    }

    std::string pop_front(BlockNumber list) {
        return taken_by([&](auto& taken) { return lists.take_first(list, taken); });
    }

    std::string pop_back(BlockNumber list) {
        return taken_by([&](auto& taken) { return lists.take_last(list, taken); });
    }

    std::string take(BlockNumber list, const Position& at) {
        return taken_by([&](auto& taken) { return lists.take(list, at, taken); });
    }

    [[nodiscard]] Position first(BlockNumber list) const {
        Position at;
        (void)lists.next(list, lists.end_of(list), at);
        return at;
    }

    [[nodiscard]] std::string text_at(BlockNumber list, const Position& at) const {
        std::string text;
        const ListEffect effect =
            lists.read(list, at, [&](auto& node, std::uint64_t bytes, bool is_apart) {
                text.assign(bytes, '\0');
                read_payload(node, text.data(), bytes);
                if (is_apart) text = text_of(text);
            });
        return effect == ListEffect::done ? text : "(none)";
    }

    // All texts in order, or in reverse order.
    [[nodiscard]] std::vector<std::string> texts(BlockNumber list, bool is_forward = true) const {
        std::vector<std::string> found;
        Position at = lists.end_of(list);
        while (true) {
            const ListEffect effect =
                is_forward ? lists.next(list, at, at) : lists.previous(list, at, at);
            if (effect != ListEffect::done || at.node == list || found.size() > 10'000)
                return found;
            found.push_back(text_at(list, at));
        }
    }

    HeapBlocks<Atomic> blocks;
    SharedLists<Atomic> lists;

private:
    template <typename Link>
    ListEffect put(const std::string& text, const Link& link) {
        if (text.empty() || text[0] != '@') return link(Payload{{text.data(), text.size()}, false});
        auto& place = lists.made_apart();
        const std::uint64_t address = blocks.allocate_apart(place, text);
        if (address == 0) return ListEffect::no_room;
        const ApartPayload apart{address, text.size()};
        const ListEffect effect = link(Payload{{&apart, sizeof apart}, true});
        if (effect == ListEffect::done) return effect;
        lists.drop_made_apart();
        return effect;
    }

    [[nodiscard]] std::string text_of(const std::string& payload) const {
        ApartPayload apart;
        std::memcpy(&apart, payload.data(), sizeof apart);
        // Another thread may have taken the element out and freed its bytes.
        if (apart.address == 0 || apart.address > number_mask || apart.bytes > 1'000 ||
            offset_of(apart.address) > this->blocks.limit_bytes() - 1'000) {
            return "(freed)";
        }
        std::string text(apart.bytes, '\0');
        const auto* const words = reinterpret_cast<const Atomic<std::uint64_t>*>(
            blocks.base() + offset_of(apart.address));
        for (std::size_t done = 0; done < text.size(); done += word_bytes) {
            const std::uint64_t word = words[done / word_bytes].load(std::memory_order_acquire);
            std::memcpy(text.data() + done, &word,
                        std::min<std::size_t>(word_bytes, text.size() - done));
        }
        return text;
    }
};

}  // namespace acp::list
