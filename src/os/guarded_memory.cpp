// SPDX-License-Identifier: BSD-3-Clause
// Goes page by page, so that a fault shows how many bytes came before it.
#include "os/guarded_memory.hpp"

#include <algorithm>
#include <cstring>

namespace acp::os {

namespace {

constexpr std::uint64_t least_page_bytes = 4096;

// A range of the program's memory, and how many of its bytes were accessed.
struct Walk {
    std::uint64_t address;
    std::uint64_t bytes;
    char* own;
    volatile std::uint64_t done;  // read after a fault
};

[[nodiscard]] char* pointer_to(std::uint64_t address) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an argument of a system call
    return reinterpret_cast<char*>(static_cast<std::uintptr_t>(address));
}

// Reads what AddressSanitizer would refuse: the bytes behind the end of a text, for example.
__attribute__((no_sanitize("address", "thread"))) void copy_plainly(char* to,
                                                                    const char* from,
                                                                    std::uint64_t bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    // memcpy would be that of the sanitizer
    auto* const target = static_cast<volatile char*>(to);
    const auto* const source = static_cast<const volatile char*>(from);
    for (std::uint64_t i = 0; i < bytes; ++i) target[i] = source[i];
#else
    std::memcpy(to, from, bytes);
#endif
}

// Runs access(walk, bytes) for the part of the walk in each page.
template <void (*access)(Walk&, std::uint64_t) noexcept>
std::uint64_t walk_pages(FaultGuard& guard, Walk& walk) noexcept {
    const auto body = [](void* argument) noexcept {
        Walk& inside = *static_cast<Walk*>(argument);
        while (inside.done < inside.bytes) {
            const std::uint64_t in_page =
                least_page_bytes - (inside.address + inside.done) % least_page_bytes;
            const std::uint64_t next = std::min<std::uint64_t>(inside.bytes - inside.done, in_page);
            access(inside, next);
            inside.done = inside.done + next;
        }
    };
    (void)guard.run(body, &walk);
    return walk.done;
}

void read_part(Walk& walk, std::uint64_t bytes) noexcept {
    copy_plainly(walk.own + walk.done, pointer_to(walk.address + walk.done), bytes);
}

void write_part(Walk& walk, std::uint64_t bytes) noexcept {
    copy_plainly(pointer_to(walk.address + walk.done), walk.own + walk.done, bytes);
}

// Adds 0 to a byte: a write that changes nothing, whatever other threads write.
__attribute__((no_sanitize("address", "thread"))) void touch_part(
    Walk& walk, std::uint64_t /*bytes*/) noexcept {
    // Not a constant, for which compilers would make a read of the addition.
    const volatile char nothing = 0;
    // relaxed: no other data depends on it
    __atomic_fetch_add(pointer_to(walk.address + walk.done), nothing, __ATOMIC_RELAXED);
}

}  // namespace

std::uint64_t GuardedMemory::copy_in(void* to, std::uint64_t from, std::uint64_t bytes) noexcept {
    Walk walk{from, bytes, static_cast<char*>(to), 0};
    return walk_pages<read_part>(guard_, walk);
}

std::uint64_t GuardedMemory::copy_out(std::uint64_t to,
                                      const void* from,
                                      std::uint64_t bytes) noexcept {
    // The range is only read.
    Walk walk{to, bytes, static_cast<char*>(const_cast<void*>(from)), 0};
    return walk_pages<write_part>(guard_, walk);
}

std::uint64_t GuardedMemory::writable(std::uint64_t address, std::uint64_t bytes) noexcept {
    Walk walk{address, bytes, nullptr, 0};
    return walk_pages<touch_part>(guard_, walk);
}

}  // namespace acp::os
