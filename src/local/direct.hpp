// SPDX-License-Identifier: BSD-3-Clause
// Moving bytes and running atomics on memory that is mapped here: plain loads and stores. The C
// library's memcpy moves 4 and 8 bytes by two overlapping stores, the second of which could
// overwrite a peer's answer in a flag, so aligned 1, 2, 4 and 8 bytes are exactly one load and one
// store of our own. Any thread. Figures: ADR 0003.
// Tests: tests/unit/local/direct_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "memory/command.hpp"

namespace acp::local {

// A value at any address, moved by one load and one store.
template <typename T>
struct __attribute__((packed, may_alias)) Unaligned {
    T value;
};

template <typename T>
[[gnu::always_inline]] inline void move_one(char* target, const char* source) noexcept {
#if defined(__SANITIZE_THREAD__)
    if (((reinterpret_cast<std::uintptr_t>(target) | reinterpret_cast<std::uintptr_t>(source)) %
         sizeof(T)) == 0) {
        std::atomic_ref<T>(*reinterpret_cast<T*>(target))
            .store(std::atomic_ref<T>(*reinterpret_cast<T*>(const_cast<char*>(source)))
                       .load(std::memory_order_acquire),
                   std::memory_order_release);
        return;
    }
#endif
#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer knows no fences
    // Release: a thread that sees this word (a flag) by an acquire load also sees everything
    // written before it (MEM-2). The fence stands before the very store that the reader acquires; a
    // release store of another word would not order this one.
    std::atomic_thread_fence(std::memory_order_release);
#endif
    // volatile: one load and one store, which the compiler neither splits nor merges
    reinterpret_cast<volatile Unaligned<T>*>(target)->value =
        reinterpret_cast<const volatile Unaligned<T>*>(source)->value;
}

// Moves a range as two overlapping halves; both are loaded before either is stored.
template <typename T>
[[gnu::always_inline]] inline void move_halves(char* target,
                                               const char* source,
                                               std::uint64_t bytes) noexcept {
    T low;   // NOLINT(cppcoreguidelines-pro-type-member-init): written by the next lines
    T high;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::memcpy(&low, source, sizeof low);
    std::memcpy(&high, source + bytes - sizeof high, sizeof high);
    std::memcpy(target, &low, sizeof low);
    std::memcpy(target + bytes - sizeof high, &high, sizeof high);
}

// Moved by one vector load and one store.
using Vector = std::uint64_t __attribute__((vector_size(16)));

// Whether move_vectors() can move this number of bytes.
[[nodiscard, gnu::always_inline]] inline bool fits_vectors(std::uint64_t bytes) noexcept {
    return bytes - sizeof(Vector) <= 3 * sizeof(Vector);
}

// Moves 16 .. 64 bytes without a call. The ranges may overlap: all is loaded before anything is
// stored.
[[gnu::always_inline]] inline void move_vectors(char* target,
                                                const char* source,
                                                std::uint64_t bytes) noexcept {
    const auto load = [](const char* from) noexcept {
        Vector vector;  // NOLINT(cppcoreguidelines-pro-type-member-init): written by the next line
        std::memcpy(&vector, from, sizeof vector);
        return vector;
    };
    const auto store = [](char* to, Vector vector) noexcept {
        std::memcpy(to, &vector, sizeof vector);
    };
    const Vector first = load(source);
    const Vector last = load(source + bytes - sizeof last);
    if (bytes > 2 * sizeof(Vector)) [[likely]] {  // whole cache lines without a jump
        const Vector second = load(source + sizeof first);
        const Vector last_but_one = load(source + bytes - 2 * sizeof last);
        store(target + sizeof first, second);
        store(target + bytes - 2 * sizeof last, last_but_one);
    }
    store(target, first);
    store(target + bytes - sizeof last, last);
}

// From this size on the processor's string move (rep movsb) is as fast as the C library for bytes
// that are in the cache, and faster for others (measured: 190 against 215 ns for 4 KiB, 69 against
// 50 GB/s at 1 MiB), at any alignment. For fewer bytes the library is faster.
inline constexpr std::uint64_t string_move_bytes_min = 4096;

// See local/bulk_move.hpp.   bytes  at least string_move_bytes_min. The ranges may overlap.
void move_bulk(char* target, const char* source, std::uint64_t bytes) noexcept;

// The most bytes that move_few() moves.
inline constexpr std::uint64_t few_bytes_max = 64;

// Moves bytes without a call.   bytes  at most few_bytes_max. The ranges may overlap.
[[gnu::always_inline]] inline void move_few(char* target,
                                            const char* source,
                                            std::uint64_t bytes) noexcept {
    if (fits_vectors(bytes)) {
        move_vectors(target, source, bytes);
    } else if (bytes == 8) {
        move_one<std::uint64_t>(target, source);
    } else if (bytes > 8) {
        move_halves<std::uint64_t>(target, source, bytes);
    } else if (bytes == 4) {
        move_one<std::uint32_t>(target, source);
    } else if (bytes > 4) {
        move_halves<std::uint32_t>(target, source, bytes);
    } else if (bytes == 2) {
        move_one<std::uint16_t>(target, source);
    } else if (bytes == 1) {
        move_one<std::uint8_t>(target, source);
    } else if (bytes == 3) {
        move_halves<std::uint16_t>(target, source, bytes);
    }
}

//   bytes  more than few_bytes_max. The ranges may overlap.
inline void move_many(char* target, const char* source, std::uint64_t bytes) noexcept {
    if (bytes >= string_move_bytes_min) {
        move_bulk(target, source, bytes);
    } else {
        std::memmove(target, source, bytes);
    }
}

inline void move_bytes(char* target, const char* source, std::uint64_t bytes) noexcept {
    if (bytes > few_bytes_max) {
        move_many(target, source, bytes);
    } else {
        move_few(target, source, bytes);
    }
}

// Stores the operand if it is less (is_least) or greater than the word, both signed, and returns
// the old value. Processors have no such instruction, so this is a compare-exchange loop. It writes
// the word even when the value stays, so that every atomic orders alike.
template <typename Word>
inline Word store_extreme(std::atomic_ref<Word> word, Word operand, bool is_least) noexcept {
    const auto value = static_cast<std::make_signed_t<Word>>(operand);
    Word seen = word.load(std::memory_order_relaxed);  // a first guess; the exchange verifies it
    while (true) {
        const auto current = static_cast<std::make_signed_t<Word>>(seen);
        const bool is_replaced = is_least ? value < current : value > current;
        if (word.compare_exchange_weak(seen, is_replaced ? operand : seen,
                                       std::memory_order_seq_cst, std::memory_order_relaxed)) {
            return seen;
        }
    }
}

// Runs the processor's atomic on an aligned word and returns the old value. seq_cst: atomics on
// different words by different ranks have one order, as users of shared counters expect; on x86
// this costs nothing more. Always inlined, so that the compiler removes the switch where the
// operation is a constant.
template <typename Word>
[[gnu::always_inline]] inline Word apply(memory::Operation operation,
                                         char* place,
                                         Word operand,
                                         Word expected) noexcept {
    std::atomic_ref<Word> word(*reinterpret_cast<Word*>(place));
    using memory::Operation;
    switch (operation) {
        case Operation::compare_swap:
            // writes the value it saw into expected
            word.compare_exchange_strong(expected, operand, std::memory_order_seq_cst);
            return expected;
        case Operation::swap:
            return word.exchange(operand, std::memory_order_seq_cst);
        case Operation::add:
            return word.fetch_add(operand, std::memory_order_seq_cst);
        case Operation::bit_xor:
            return word.fetch_xor(operand, std::memory_order_seq_cst);
        case Operation::bit_or:
            return word.fetch_or(operand, std::memory_order_seq_cst);
        case Operation::bit_and:
            return word.fetch_and(operand, std::memory_order_seq_cst);
        case Operation::min:
            return store_extreme(word, operand, true);
        case Operation::max:
            return store_extreme(word, operand, false);
        case Operation::copy:
            break;
    }
    return 0;
}

// apply() for a command whose width is known at run time; returns the old value, zero-extended.
std::uint64_t apply(const memory::Command& command, char* place) noexcept;

// Stores an atomic's old value at its target. release: a thread that acquires the old value also
// sees what the atomic saw.
template <typename Word>
inline void store_old(char* place, Word old) noexcept {
    std::atomic_ref<Word>(*reinterpret_cast<Word*>(place)).store(old, std::memory_order_release);
}

void store_old(char* place, std::uint64_t old, std::uint8_t width) noexcept;

}  // namespace acp::local
