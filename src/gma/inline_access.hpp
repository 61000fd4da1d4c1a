// SPDX-License-Identifier: BSD-3-Clause
// The inline path: a copy or an atomic between two places that are mapped here, run by the caller
// at once.
// No record, no lock, no system call, no virtual call, no division. An atomic returns 0, and a copy
// calls `decline`, for everything they do not do (order not satisfied, not mapped, wild, stale, too
// long), and have then changed nothing: the caller goes the long way through Issuer::issue. Any
// thread that owns a hazard line.
// Figures: ADR 0003. Tests: tests/unit/gma/inline_access_test.cpp.
#pragma once

#include <span>

#include "gma/command_queue.hpp"
#include "local/direct.hpp"
#include "local/space.hpp"
#include "memory/hazard.hpp"
#include "node/control.hpp"

namespace acp::gma {

using memory::GlobalAddress;

// All that the inline path reads. All zero: everything goes the long way.
struct FastPath {
    local::View view;
    alignas(64) Marks marks;
    node::Slot* slots = nullptr;  // the node's slots; shares the cache line of the marks
};

namespace detail {

// Always inlined, like done(): the compiler decides by the number of callers, not by the path.
[[gnu::always_inline]] inline void count_bytes(memory::HazardLine& line,
                                               std::uint64_t bytes) noexcept {
    // one writer: the line's thread
    line.bytes.store(line.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

[[gnu::always_inline]] inline void count(memory::HazardLine& line, std::uint64_t bytes) noexcept {
    line.commands.store(line.commands.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);  // one writer, as above
    count_bytes(line, bytes);
}

[[gnu::always_inline]] inline Handle done(const FastPath& fast,
                                          memory::HazardLine& line,
                                          std::uint64_t bytes) noexcept {
    count(line, bytes);
    memory::leave(line);
    return fast.marks.inline_handle.load(std::memory_order_relaxed);
}

// Declines an atomic that cannot run at once.
[[gnu::always_inline]] inline Handle refused(memory::HazardLine& line) noexcept {
    memory::leave(line);
    return handle_null;
}

// Wakes the threads that sleep until a word of the owner's memory changes.
[[gnu::noinline, gnu::cold]] void ring_owner(const FastPath& fast, GlobalAddress word) noexcept;

// After an atomic on a word of this node: rings if a thread of the owner sleeps for a word. No
// fence: either the sleeper, which counts itself, makes all cores pass a barrier and then looks at
// the word, sees the atomic, or this thread sees the sleeper counted.
[[gnu::always_inline]] inline void ring_if_awaited(const FastPath& fast,
                                                   GlobalAddress word) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const node::Slot& owner = fast.slots[fast.view.slot_of(word)];
    // relaxed: see above
    if (owner.word_sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        ring_owner(fast, word);
    }
}

// Out of line, reached by a jump: the other copies then save no registers.
[[gnu::noinline]] Handle move_and_leave(const FastPath& fast,
                                        memory::HazardLine& line,
                                        char* to,
                                        const char* from,
                                        std::uint64_t bytes) noexcept;

[[gnu::always_inline]] inline Handle move_at_once(const FastPath& fast,
                                                  memory::HazardLine& line,
                                                  char* to,
                                                  const char* from,
                                                  std::uint64_t bytes) noexcept {
    if (local::fits_vectors(bytes)) {
        local::move_vectors(to, from, bytes);
        return done(fast, line, bytes);
    }
    return move_and_leave(fast, line, to, from, bytes);
}

}  // namespace detail

// The target and the source of a copy.
struct CopyEnds {
    GlobalAddress target;
    GlobalAddress source;
};

// Runs a copy at once and returns its handle; if it may not, returns the result of `decline`, which
// is called with the line entered and leaves it. The line then names the addresses, so a function
// that tail-calls this one need not keep its arguments: it saves no registers.
//   decline  Handle()
template <memory::HazardFence fence, typename Decline>
[[nodiscard, gnu::always_inline]] inline Handle copy_inline(const FastPath& fast,
                                                            memory::HazardLine& line,
                                                            const CopyEnds& ends,
                                                            std::uint64_t bytes,
                                                            Handle order,
                                                            const Decline& decline) {
    memory::enter<fence>(line, ends.target, ends.source);
    // acquire: a command sees the writes of the commands that it is ordered after
    if (order > fast.marks.order_floor.load(std::memory_order_acquire)) [[unlikely]] {
        return decline();
    }
    local::View::DirectEnds places{};
    if (!fast.view.find_direct(ends.target, ends.source, bytes, places)) [[unlikely]] {
        return decline();
    }
    if (bytes == 8) [[likely]] {
        local::move_one<std::uint64_t>(places.target, places.source);
        return detail::done(fast, line, 8);
    }
    if (bytes > fast.view.inline_bytes_max) [[unlikely]] {
        return decline();
    }
    return detail::move_at_once(fast, line, places.target, places.source, bytes);
}

// The same of a copy between an address and plain memory of the caller, which needs no entry.
//   range  its pointer is not null: of a put it is only read
template <memory::HazardFence fence, bool is_get, typename Decline>
[[nodiscard, gnu::always_inline]] inline Handle pointer_inline(const FastPath& fast,
                                                               memory::HazardLine& line,
                                                               GlobalAddress address,
                                                               std::span<char> range,
                                                               Handle order,
                                                               const Decline& decline) {
    memory::enter<fence>(line, address, address);
    if (order > fast.marks.order_floor.load(std::memory_order_acquire)) [[unlikely]] {
        return decline();
    }
    const std::uint64_t bytes = range.size();
    char* place = nullptr;
    if (!fast.view.find_direct(address, bytes, place) || bytes > fast.view.pointer_bytes_max)
        [[unlikely]] {
        return decline();
    }
    char* const to = is_get ? range.data() : place;
    const char* const from = is_get ? place : range.data();
    if (bytes == 8) [[likely]] {
        local::move_one<std::uint64_t>(to, from);
        return detail::done(fast, line, 8);
    }
    return detail::move_at_once(fast, line, to, from, bytes);
}

// The operands of an atomic.
template <typename Word>
struct Operands {
    Word operand;
    Word expected;  // only compare_swap has one
};

// Runs an atomic like copy_inline, but returns 0 if it may not, with the line left.
// NOLINTBEGIN(readability-function-size): the words of an atomic, not options
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
    char* to = nullptr;
    char* word = nullptr;
    if (!fast.view.find_direct(target, sizeof(Word), to) ||
        !fast.view.find_direct(source, sizeof(Word), word)) [[unlikely]] {
        return detail::refused(line);
    }
    const auto places =
        reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(word);
    if (places % sizeof(Word) != 0) [[unlikely]] {
        return detail::refused(line);
    }
    local::store_old<Word>(to, local::apply<Word>(operation, word, operand, expected));
    detail::ring_if_awaited(fast, source);
    return detail::done(fast, line, sizeof(Word));
}

// NOLINTEND(readability-function-size)

// The same of an atomic without a target.   old  written when the handle is not 0
template <memory::HazardFence fence, typename Word, memory::Operation operation>
[[nodiscard, gnu::always_inline]] inline Handle fetch_inline(const FastPath& fast,
                                                             memory::HazardLine& line,
                                                             GlobalAddress source,
                                                             const Operands<Word>& operands,
                                                             Handle order,
                                                             Word& old) noexcept {
    if (order > fast.marks.order_floor.load(std::memory_order_acquire)) [[unlikely]] {
        return 0;
    }
    memory::enter<fence>(line, source, source);
    char* word = nullptr;
    if (!fast.view.find_direct(source, sizeof(Word), word) ||
        reinterpret_cast<std::uintptr_t>(word) % sizeof(Word) != 0) [[unlikely]] {
        return detail::refused(line);
    }
    old = local::apply<Word>(operation, word, operands.operand, operands.expected);
    detail::ring_if_awaited(fast, source);
    return detail::done(fast, line, sizeof(Word));
}

}  // namespace acp::gma
