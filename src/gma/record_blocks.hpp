// SPDX-License-Identifier: BSD-3-Clause
// A queue of equal records that stay where they are from push_back() to pop: blocks of many
// records, used again newest first, so that the next record pushed is in the processor's cache.
// Knows nothing of what a record means. One thread at a time. Tests:
// tests/unit/gma/record_blocks_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace acp::gma {

template <typename T>
class RecordBlocks {
    static_assert(std::is_trivially_destructible_v<T>);

public:
    static constexpr std::uint64_t per_block = 128;

    // Makes sure that the next `records` calls of push_back() find a place. False: there is no
    // memory for it, and nothing has changed; never for one record if a place was made before and
    // the queue is empty.   1 <= records <= per_block
    [[nodiscard]] bool make_room(std::uint64_t records = 1) noexcept {
        const std::uint64_t taken = end_ % per_block;
        return (taken != 0 && taken + records <= per_block) || try_prepare_block();
    }

    // Takes memory, once, after which make_room() of two records never fails while the queue is
    // empty. False: there is none.
    [[nodiscard]] bool keep_two_blocks() noexcept {
        while (blocks_ < 2) {
            try {
                add_spare();
            } catch (const std::bad_alloc&) {
                return false;
            }
        }
        return true;
    }

    // A record that holds what an earlier one left there: the caller writes all of it. Throws
    // std::bad_alloc, and has then changed nothing; not after make_room().
    T& push_back() {
        if (end_ % per_block == 0) {
            open_block();
        }
        return at(end_++);
    }

    // Takes the `count` oldest away.   count  <= size()
    void pop_front(std::uint64_t count) {
        const std::uint64_t first = begin_ / per_block;
        begin_ += count;
        for (std::uint64_t block = first; block < begin_ / per_block; ++block) {
            spare_.push_back(std::move(slot(block)));
        }
    }

    //   index  < size(), from the oldest
    [[nodiscard]] T& operator[](std::uint64_t index) noexcept { return at(begin_ + index); }

    [[nodiscard]] const T& operator[](std::uint64_t index) const noexcept {
        return at(begin_ + index);
    }

    [[nodiscard]] std::uint64_t size() const noexcept { return end_ - begin_; }

    [[nodiscard]] bool is_empty() const noexcept { return end_ == begin_; }

private:
    using Block = std::unique_ptr<T[]>;

    [[nodiscard]] Block& slot(std::uint64_t block) noexcept { return ring_[block & mask_]; }

    [[nodiscard]] T& at(std::uint64_t number) const noexcept {
        return ring_[number / per_block & mask_][number % per_block];
    }

    // The block that is opened next: the first behind all that are in use.
    [[nodiscard]] std::uint64_t next_block() const noexcept {
        return (end_ + per_block - 1) / per_block;
    }

    [[nodiscard]] [[gnu::noinline]] bool try_prepare_block() noexcept {
        try {
            prepare_block();
            return true;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    // Takes the memory that open_block() needs.
    void prepare_block() {
        if (next_block() - begin_ / per_block == mask_ + 1) {
            widen();
        }
        if (spare_.empty()) add_spare();
    }

    void add_spare() {
        // Room for all blocks there are: giving one back never fails.
        spare_.reserve(blocks_ + 1);
        spare_.push_back(Block(new T[per_block]));
        ++blocks_;
    }

    void open_block() {
        prepare_block();
        slot(end_ / per_block) = std::move(spare_.back());
        spare_.pop_back();
    }

    void widen() {
        const std::uint64_t mask = 2 * mask_ + 1;
        auto wider = std::make_unique<Block[]>(mask + 1);
        for (std::uint64_t block = begin_ / per_block; block < next_block(); ++block) {
            wider[block & mask] = std::move(slot(block));
        }
        ring_ = std::move(wider);
        mask_ = mask;
    }

    std::uint64_t mask_ = 7;  // a power of two less one
    std::unique_ptr<Block[]> ring_ = std::make_unique<Block[]>(mask_ + 1);
    std::vector<Block> spare_;
    std::size_t blocks_ = 0;
    std::uint64_t begin_ = 0;  // counted from the first ever
    std::uint64_t end_ = 0;
};

}  // namespace acp::gma
