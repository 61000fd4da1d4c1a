// SPDX-License-Identifier: BSD-3-Clause
// A pool of equal records named by index, and queues that link the records themselves: take() and
// push() allocate no memory, only make_room() and grow() do. Memory of records that were never
// taken is not touched. Knows no other field of a record. One thread at a time.
// Tests: tests/unit/mailbox/linked_pool_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace acp::mailbox {

// A queue of records of one pool. A record is in one queue at most.
struct Chain {
    static constexpr std::uint32_t nobody = ~0U;

    std::uint32_t first = nobody;
    std::uint32_t last = nobody;

    [[nodiscard]] bool is_empty() const noexcept { return first == nobody; }
};

//   T  has a member `std::uint32_t next`, which the pool writes
template <typename T>
class LinkedPool {
    static_assert(std::is_nothrow_move_constructible_v<T>);

public:
    //   count  number of records that exist from the start. Throws std::bad_alloc.
    explicit LinkedPool(std::uint32_t count) {
        if (make_room(count) < count) {
            throw std::bad_alloc();
        }
    }

    // Tries to have at least `wanted` free records. Returns how many are free; fewer if memory
    // allocation fails.
    std::uint32_t make_room(std::uint32_t wanted) noexcept {
        if (free_count() < wanted) [[unlikely]] {
            (void)grow(std::max(wanted - free_count(), room_));
        }
        return free_count();
    }

    // Adds `count` free records. False: memory allocation failed, and nothing changed.
    bool grow(std::uint32_t count) noexcept {
        try {
            if (room_ + count > items_.capacity()) {
                items_.reserve(std::max<std::size_t>(room_ + count, 2 * items_.capacity()));
            }
        } catch (const std::bad_alloc&) {
            return false;
        }
        room_ += count;
        return true;
    }

    // Takes a free record, with the content of its last use. There must be one: call make_room()
    // before.
    std::uint32_t take() noexcept {
        static_assert(std::is_nothrow_default_constructible_v<T>);
        ++used_;
        if (!free_.is_empty()) [[likely]]
            return pop(free_);
        items_.emplace_back();  // cannot allocate: grow() reserved the place
        return static_cast<std::uint32_t>(items_.size() - 1);
    }

    // Frees a record, which must be in no queue.
    void give(std::uint32_t index) noexcept {
        push_front(free_, index);
        --used_;
    }

    void push(Chain& chain, std::uint32_t index) noexcept {
        items_[index].next = Chain::nobody;
        if (chain.is_empty()) {
            chain.first = index;
        } else {
            items_[chain.last].next = index;
        }
        chain.last = index;
    }

    void push_front(Chain& chain, std::uint32_t index) noexcept {
        items_[index].next = chain.first;
        if (chain.is_empty()) {
            chain.last = index;
        }
        chain.first = index;
    }

    // Removes and returns the first record of a chain that is not empty.
    std::uint32_t pop(Chain& chain) noexcept {
        const std::uint32_t index = chain.first;
        chain.first = items_[index].next;
        if (chain.is_empty()) {
            chain.last = Chain::nobody;
        }
        return index;
    }

    [[nodiscard]] T& operator[](std::uint32_t index) noexcept { return items_[index]; }

    [[nodiscard]] const T& operator[](std::uint32_t index) const noexcept { return items_[index]; }

    // The number of records that were ever taken: every index is below it.
    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(items_.size());
    }

    [[nodiscard]] std::uint32_t free_count() const noexcept { return room_ - used_; }

    // The number of records that were taken and not freed.
    [[nodiscard]] std::uint32_t used_count() const noexcept { return used_; }

private:
    std::vector<T> items_;
    Chain free_;              // the records that give() has freed
    std::uint32_t room_ = 0;  // records for which there is memory
    std::uint32_t used_ = 0;
};

}  // namespace acp::mailbox
