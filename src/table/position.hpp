// SPDX-License-Identifier: BSD-3-Clause
// The bucket of an entry, by the bits of its hash, and an order of all entries that growth does not
// change. The hash divided by the number of buckets of the first array leaves as remainder the
// index in that array; the quotient's bits split buckets when the table grows. In a container of
// several tables the quotient's lowest bits select the table, and are equal for all its entries:
// hence they split last.
//
// The position of a hash has the index in the first array on top, and below it, reversed, the
// splitting bits: the one that splits first is the most significant. So the entries of one bucket,
// of any level, are consecutive, and splitting a bucket divides its range into two halves. The
// mapping is invertible: a position gives the hash.
// Source: the cursor of Redis's SCAN, for tables of a power of two. Tests:
// tests/unit/table/walk_test.cpp.
#pragma once

#include <bit>
#include <cstdint>

#include "table/words.hpp"

namespace acp::table {

[[nodiscard]] constexpr std::uint64_t reversed_bits(std::uint64_t word) noexcept {
    constexpr std::uint64_t ones = 0x5555555555555555;
    constexpr std::uint64_t twos = 0x3333333333333333;
    constexpr std::uint64_t fours = 0x0f0f0f0f0f0f0f0f;
    word = (word >> 1 & ones) | (word & ones) << 1;
    word = (word >> 2 & twos) | (word & twos) << 2;
    word = (word >> 4 & fours) | (word & fours) << 4;
    return __builtin_bswap64(word);
}

// Number of bits that split buckets after all others: enough to name one of 4096 tables.
inline constexpr std::uint32_t split_last_bits = 12;

// For a table whose first array has `slots` buckets, 1 .. 2^32.
class Positions {
public:
    explicit constexpr Positions(std::uint64_t slots) noexcept
        : slots_(slots),
          top_bits_(static_cast<std::uint32_t>(std::bit_width(slots - 1))),
          is_power_(std::has_single_bit(slots)) {}

    //   hash  has hash_bits
    [[nodiscard]] constexpr std::uint64_t of(std::uint64_t hash) const noexcept {
        return on_top(hash - quotient(hash) * slots_) | reversed_bits(splits_of(hash)) >> top_bits_;
    }

    // The bits of a hash by which growth splits buckets; the lowest splits first. With the index in
    // the first array they determine the position.
    [[nodiscard]] constexpr std::uint64_t splits_of(std::uint64_t hash) const noexcept {
        const std::uint64_t quotient = this->quotient(hash);
        return quotient >> split_last_bits | (quotient & split_last)
                                                 << (quotient_bits() - split_last_bits);
    }

    // The bucket of a hash in the array of a level.
    [[nodiscard]] constexpr std::uint64_t bucket_of(std::uint64_t hash,
                                                    std::uint32_t level) const noexcept {
        const std::uint64_t splits = splits_of(hash) & ((std::uint64_t{1} << level) - 1);
        return hash - quotient(hash) * slots_ + slots_ * splits;
    }

    [[nodiscard]] constexpr std::uint64_t splits_at(std::uint64_t position) const noexcept {
        return reversed_bits(position << top_bits_);
    }

    // Whether the position with the first splitting bits precedes the one with the second, at one
    // index in the first array; without reversing either.
    [[nodiscard]] static constexpr bool is_before(std::uint64_t splits,
                                                  std::uint64_t others) noexcept {
        const std::uint64_t differing = splits ^ others;
        return (others & differing & (~differing + 1)) != 0;
    }

    [[nodiscard]] constexpr std::uint64_t hash_at(std::uint64_t position) const noexcept {
        const std::uint64_t splits = splits_at(position);
        const std::uint64_t quotient =
            (splits & ((std::uint64_t{1} << (quotient_bits() - split_last_bits)) - 1))
                << split_last_bits |
            splits >> (quotient_bits() - split_last_bits);
        return top_of(position) + slots_ * quotient;
    }

    // The bucket of a position in the array of a level.
    [[nodiscard]] constexpr std::uint64_t bucket_at(std::uint64_t position,
                                                    std::uint32_t level) const noexcept {
        const std::uint64_t splits = splits_at(position) & ((std::uint64_t{1} << level) - 1);
        return top_of(position) + slots_ * splits;
    }

    // The end of that bucket's range: the first position of the next bucket. 0: it is the last one.
    [[nodiscard]] constexpr std::uint64_t end_of_bucket(std::uint64_t position,
                                                        std::uint32_t level) const noexcept {
        const std::uint32_t below = 64 - top_bits_ - level;
        if (below == 64) return 0;
        const std::uint64_t end = ((position >> below) + 1) << below;
        return is_beyond(end) ? 0 : end;
    }

    // Whether this position and all later ones are beyond the last bucket.
    [[nodiscard]] constexpr bool is_beyond(std::uint64_t position) const noexcept {
        return top_of(position) >= slots_;
    }

private:
    static constexpr std::uint64_t split_last = (std::uint64_t{1} << split_last_bits) - 1;

    [[nodiscard]] constexpr std::uint64_t quotient(std::uint64_t hash) const noexcept {
        return is_power_ ? hash >> top_bits_ : hash / slots_;
    }

    // The most bits that a quotient has.
    [[nodiscard]] constexpr std::uint32_t quotient_bits() const noexcept {
        return hash_bits - (is_power_ ? top_bits_ : top_bits_ - 1);
    }

    [[nodiscard]] constexpr std::uint64_t on_top(std::uint64_t index) const noexcept {
        return top_bits_ == 0 ? 0 : index << (64 - top_bits_);
    }

    [[nodiscard]] constexpr std::uint64_t top_of(std::uint64_t position) const noexcept {
        return top_bits_ == 0 ? 0 : position >> (64 - top_bits_);
    }

    std::uint64_t slots_;
    std::uint32_t top_bits_;
    bool is_power_;  // then no division is needed
};

}  // namespace acp::table
