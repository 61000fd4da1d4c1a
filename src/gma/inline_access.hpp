// SPDX-License-Identifier: BSD-3-Clause
// The inline path: a copy or an atomic between two places that are mapped here, run by the caller at once.
// No record, no lock, no system call, no virtual call, no division. It returns 0 for everything it does not
// do (order not satisfied, not mapped, wild, stale, too long), and has then changed nothing: the caller goes
// the long way through Gma::issue. Any thread that owns a hazard line.
// Figures: ADR 0003. Tests: tests/unit/gma/inline_access_test.cpp.
#pragma once

#include "gma/command_queue.hpp"
#include "local/direct.hpp"
#include "local/space.hpp"
#include "memory/hazard.hpp"

namespace acp::gma {

using memory::GlobalAddress;

// All that the inline path reads. All zero: everything goes the long way.
struct FastPath {
    local::View view;
    alignas(64) Marks marks;
};

namespace detail {

inline void count(memory::HazardLine& line, std::uint64_t bytes) noexcept {
    // one writer: the line's thread
    line.commands.store(line.commands.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    line.bytes.store(line.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

}  // namespace detail

template <memory::HazardFence fence>
[[nodiscard, gnu::always_inline]] inline Handle copy_inline(const FastPath& fast,
                                                            memory::HazardLine& line,
                                                            GlobalAddress target,
                                                            GlobalAddress source,
                                                            std::uint64_t bytes,
                                                            Handle order) noexcept {
    // acquire: a command ordered after another sees what that one wrote
    if (order > fast.marks.order_floor.load(std::memory_order_acquire)) [[unlikely]] {
        return 0;
    }
    memory::enter<fence>(line, target, source);
    char* const to = fast.view.direct(target, bytes);
    const char* const from = fast.view.direct(source, bytes);
    if (to == nullptr || from == nullptr || bytes > fast.view.inline_bytes_max) [[unlikely]] {
        memory::leave(line);
        return 0;
    }
    local::move_bytes(to, from, bytes);
    detail::count(line, bytes);
    memory::leave(line);
    return fast.marks.inline_handle.load(std::memory_order_relaxed);
}

template <memory::HazardFence fence, typename Word, memory::Operation operation>
[[nodiscard, gnu::always_inline]] inline Handle atomic_inline(const FastPath& fast,
                                                              memory::HazardLine& line,
                                                              GlobalAddress target,
                                                              GlobalAddress source,
                                                              Word operand,
                                                              Word expected,
                                                              Handle order) noexcept {
    if (order > fast.marks.order_floor.load(std::memory_order_acquire)) [[unlikely]] {
        return 0;
    }
    memory::enter<fence>(line, target, source);
    char* const to = fast.view.direct(target, sizeof(Word));
    char* const word = fast.view.direct(source, sizeof(Word));
    const auto misaligned =
        (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(word)) % sizeof(Word);
    if (to == nullptr || word == nullptr || misaligned != 0) [[unlikely]] {
        memory::leave(line);
        return 0;
    }
    local::store_old<Word>(to, local::apply<Word, operation>(word, operand, expected));
    detail::count(line, sizeof(Word));
    memory::leave(line);
    return fast.marks.inline_handle.load(std::memory_order_relaxed);
}

}  // namespace acp::gma
