// SPDX-License-Identifier: BSD-3-Clause
// Words that receive the old values of acp_fetch_... when the atomic's word is not mapped here:
// memory of this process that every process of the job can address (node/claims.hpp), each word on
// a line of its own. A call borrows one. It returns the word when its command succeeded. After a
// failure it does not: a process that was marked dead, and still lives, may write the old value
// there. Such words stay unused until the next epoch. Any thread.
// Tests: tests/unit/gma/fetch_words_test.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "memory/ga_layout.hpp"
#include "node/segment.hpp"

namespace acp::gma {

inline constexpr node::ClaimedRange fetched_words{
    .name = "old values of acp_fetch_...",
    .bytes = [](const node::Shape&) -> std::uint64_t { return 4096; }};

class FetchWords {
public:
    static constexpr std::uint32_t count = 64;

    //   memory   as many bytes as fetched_words has, on a line's boundary; must outlive this
    //   address  the global address of the first of them
    FetchWords(char* memory, memory::GlobalAddress address) noexcept
        : memory_(memory), address_(address) {}

    // The two in one.
    struct WordsPlace {
        char* memory;
        memory::GlobalAddress address;
    };

    explicit FetchWords(WordsPlace place) noexcept : FetchWords(place.memory, place.address) {}

    // A word for one call, if one is free.
    class Loan {
    public:
        explicit Loan(FetchWords& words) noexcept : words_(words), index_(words.take()) {}

        Loan(const Loan&) = delete;
        Loan& operator=(const Loan&) = delete;
        ~Loan() = default;  // not given back: see above

        explicit operator bool() const noexcept { return index_ < count; }

        [[nodiscard]] memory::GlobalAddress address() const noexcept {
            return words_.address_ + index_ * stride;
        }

        // The word's content, after the command succeeded; returns the word. An atomic of 4 bytes
        // uses the low half.
        [[nodiscard]] std::uint64_t take_value() noexcept {
            // relaxed: the end of the command, which the caller acquired, comes after its old value
            const std::uint64_t value = words_.word(index_).load(std::memory_order_relaxed);
            words_.give_back(index_);
            index_ = count;
            return value;
        }

    private:
        FetchWords& words_;
        std::uint32_t index_;
    };

private:
    static constexpr std::uint64_t stride = 64;
    static_assert(count * stride == fetched_words.bytes({}));

    [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::uint32_t index) const noexcept {
        return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory_ + index * stride));
    }

    // The index of a word that was free; count when none is.
    std::uint32_t take() noexcept {
        std::uint64_t free = free_.load(std::memory_order_relaxed);
        while (free != 0) {
            const auto index = static_cast<std::uint32_t>(std::countr_zero(free));
            // acquire: the borrower before has read its value; partner: give_back()
            if (free_.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
                return index;
            }
        }
        return count;
    }

    void give_back(std::uint32_t index) noexcept {
        free_.fetch_or(1ULL << index, std::memory_order_release);  // partner: take()
    }

    char* memory_;
    memory::GlobalAddress address_;
    std::atomic<std::uint64_t> free_{~0ULL};  // a bit for each word
};

}  // namespace acp::gma
