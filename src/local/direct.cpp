// SPDX-License-Identifier: BSD-3-Clause
// Bulk moves, and atomics whose operation is known only at run time.
#include "local/direct.hpp"

#include "os/cpu.hpp"

namespace acp::local {

namespace {

[[maybe_unused]] bool has_string_move() noexcept {
    static const bool has = os::has_fast_short_rep_mov();
    return has;
}

}  // namespace

void move_bulk(char* target, const char* source, std::uint64_t bytes) noexcept {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    const bool is_apart = static_cast<std::uint64_t>(target - source) >= bytes &&
                          static_cast<std::uint64_t>(source - target) >= bytes;
    if (has_string_move() && is_apart) {
        asm volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(bytes) : : "memory");
        return;
    }
#endif
    std::memmove(target, source, bytes);
}

std::uint64_t apply(const memory::Command& command, char* place) noexcept {
    if (command.width == 4) {
        return apply<std::uint32_t>(command.operation, place,
                                    static_cast<std::uint32_t>(command.operand),
                                    static_cast<std::uint32_t>(command.expected));
    }
    return apply<std::uint64_t>(command.operation, place, command.operand, command.expected);
}

void store_old(char* place, std::uint64_t old, std::uint8_t width) noexcept {
    if (width == 4) {
        store_old<std::uint32_t>(place, static_cast<std::uint32_t>(old));
    } else {
        store_old<std::uint64_t>(place, old);
    }
}

}  // namespace acp::local
