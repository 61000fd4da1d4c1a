// SPDX-License-Identifier: BSD-3-Clause
// A pool of equal records, named by index, taken and released in constant time; an index that finds
// them by initiator and token; and a queue of them. The memory of a pool is reserved at once, and
// touched only as far as it was ever in use. Knows no other field of a record. One thread.
// Tests: tests/unit/router/pool_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "base/assert.hpp"

namespace acp::router {

inline constexpr std::uint32_t no_index = ~0U;

// T has `std::uint32_t next`, which links free records, and `bool is_taken`. take() does not clear
// a record that was used before: the caller writes all of it.
template <typename T>
class Pool {
    static_assert(std::is_trivially_destructible_v<T>);

public:
    //   capacity  < no_index
    // Throws std::bad_alloc.
    explicit Pool(std::uint32_t capacity)
        : memory_(
              static_cast<T*>(::operator new(sizeof(T) * (std::size_t{capacity} + 1), alignment))),
          capacity_(capacity) {}

    ~Pool() { ::operator delete(memory_, alignment); }

    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // Takes a record; no_index if all are taken.
    [[nodiscard]] std::uint32_t take() noexcept {
        std::uint32_t index = free_;
        if (index != no_index) {
            free_ = memory_[index].next;
        } else if (fresh_ < capacity_) {
            index = fresh_++;
            std::construct_at(&memory_[index]);
        } else {
            return no_index;
        }
        memory_[index].is_taken = true;
        ++used_;
        return index;
    }

    void give(std::uint32_t index) noexcept {
        T& record = memory_[index];
        ACP_ASSERT(record.is_taken);
        record.is_taken = false;
        record.next = free_;
        free_ = index;
        --used_;
    }

    [[nodiscard]] T& operator[](std::uint32_t index) noexcept { return memory_[index]; }

    [[nodiscard]] const T& operator[](std::uint32_t index) const noexcept { return memory_[index]; }

    [[nodiscard]] std::uint32_t used() const noexcept { return used_; }

    // Only records with an index below this were ever taken.
    [[nodiscard]] std::uint32_t touched() const noexcept { return fresh_; }

    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

private:
    static constexpr std::align_val_t alignment{alignof(T) > 64 ? alignof(T) : 64};

    T* memory_;
    std::uint32_t capacity_;
    std::uint32_t fresh_ = 0;  // records from here on were never taken
    std::uint32_t used_ = 0;
    std::uint32_t free_ = no_index;  // the first released record
};

// A hash index that finds records of a pool by (initiator, token). T has initiator, token and
// `std::uint32_t chain`, which links records of one bucket. The tokens of an initiator are even and
// nearly consecutive, so its records lie in neighbouring buckets and seldom share one.
template <typename T>
class Index {
public:
    explicit Index(Pool<T>& pool) : pool_(pool), buckets_(buckets_min, no_index) {}

    [[nodiscard]] std::uint32_t find(std::uint32_t initiator, std::uint64_t token) const noexcept {
        std::uint32_t index = buckets_[bucket(initiator, token)];
        while (index != no_index) {
            const T& record = pool_[index];
            if (record.token == token && record.initiator == initiator) break;
            index = record.chain;
        }
        return index;
    }

    // Grows to as many buckets as records. If there is no memory for that, buckets become longer.
    void insert(std::uint32_t index) noexcept {
        if (count_ >= buckets_.size()) grow();
        ++count_;
        link(index);
    }

    void erase(std::uint32_t index) noexcept {
        T& record = pool_[index];
        std::uint32_t* at = &buckets_[bucket(record.initiator, record.token)];
        while (*at != index) at = &pool_[*at].chain;
        *at = record.chain;
        --count_;
    }

private:
    static constexpr std::size_t buckets_min = 1024;

    [[nodiscard]] std::size_t bucket(std::uint32_t initiator, std::uint64_t token) const noexcept {
        return ((token >> 1) + std::uint64_t{initiator} * 0x9e3779b97f4a7c15U) &
               (buckets_.size() - 1);
    }

    void link(std::uint32_t index) noexcept {
        T& record = pool_[index];
        std::uint32_t& head = buckets_[bucket(record.initiator, record.token)];
        record.chain = head;
        head = index;
    }

    void grow() noexcept {
        std::vector<std::uint32_t> old;
        try {
            old.assign(buckets_.size() * 4, no_index);
        } catch (const std::bad_alloc&) {
            return;
        }
        old.swap(buckets_);
        for (std::uint32_t head : old) {
            while (head != no_index) {
                const std::uint32_t following = pool_[head].chain;
                link(head);
                head = following;
            }
        }
    }

    Pool<T>& pool_;
    std::vector<std::uint32_t> buckets_;  // their number is a power of two
    std::size_t count_ = 0;
};

// A first-in-first-out queue of records of a pool, linked by their `next`: a record can be in one
// queue at a time.
struct Queue {
    std::uint32_t head = no_index;
    std::uint32_t tail = no_index;

    [[nodiscard]] bool is_empty() const noexcept { return head == no_index; }

    template <typename T>
    void push(Pool<T>& pool, std::uint32_t index) noexcept {
        pool[index].next = no_index;
        if (head == no_index) {
            head = index;
        } else {
            pool[tail].next = index;
        }
        tail = index;
    }

    template <typename T>
    void push_front(Pool<T>& pool, std::uint32_t index) noexcept {
        pool[index].next = head;
        if (head == no_index) tail = index;
        head = index;
    }

    // Removes and returns the first. The queue must not be empty.
    template <typename T>
    std::uint32_t pop(Pool<T>& pool) noexcept {
        const std::uint32_t index = head;
        head = pool[index].next;
        if (head == no_index) tail = no_index;
        return index;
    }
};

}  // namespace acp::router
