// SPDX-License-Identifier: BSD-3-Clause
// Wraps the C library's allocator, or under a sanitizer operator new, and counts the calls.
#include "support/refuse_memory.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "support/effort.hpp"

namespace {

std::atomic<bool> is_counting{false};
std::atomic<std::uint64_t> requests{0};
std::atomic<std::uint64_t> first_refused{0};
std::atomic<std::uint64_t> refused_count{0};
std::atomic<bool (*)()> is_victim{nullptr};  // nullptr: requests of all threads count

bool is_refused() noexcept {
    // acquire: partner is start(), whose settings are then visible
    if (!is_counting.load(std::memory_order_acquire)) return false;
    bool (*const is_asked_for)() = is_victim.load(std::memory_order_relaxed);
    if (is_asked_for != nullptr && !is_asked_for()) return false;
    const std::uint64_t number = requests.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint64_t first = first_refused.load(std::memory_order_relaxed);
    return first != 0 && number >= first &&
           number - first < refused_count.load(std::memory_order_relaxed);
}

void start(std::uint64_t first, std::uint64_t count, bool (*victim)()) noexcept {
    requests.store(0, std::memory_order_relaxed);
    first_refused.store(first, std::memory_order_relaxed);
    refused_count.store(count, std::memory_order_relaxed);
    is_victim.store(victim, std::memory_order_relaxed);
    is_counting.store(true, std::memory_order_release);  // partner is is_refused()
}

}  // namespace

namespace acp::test {

Refusal::Refusal(std::uint64_t first, std::uint64_t count) noexcept {
    start(first, count, nullptr);
}

Refusal::~Refusal() {
    is_counting.store(false, std::memory_order_release);
}

std::uint64_t Refusal::seen() noexcept {
    return requests.load(std::memory_order_relaxed);
}

void refuse_for_good(std::uint64_t first, std::uint64_t count, bool (*is_victim)()) noexcept {
    start(first, count, is_victim);
}

}  // namespace acp::test

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// NOLINTBEGIN(cppcoreguidelines-no-malloc): it is what stands behind operator new
void* operator new(std::size_t bytes) {
    void* memory = is_refused() ? nullptr : std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
    const auto boundary = static_cast<std::size_t>(alignment);
    void* memory = is_refused()
                       ? nullptr
                       : std::aligned_alloc(boundary, (bytes + boundary - 1) / boundary * boundary);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    return is_refused() ? nullptr : std::malloc(bytes);
}

void* operator new(std::size_t bytes,
                   std::align_val_t alignment,
                   const std::nothrow_t& /*tag*/) noexcept {
    const auto boundary = static_cast<std::size_t>(alignment);
    return is_refused()
               ? nullptr
               : std::aligned_alloc(boundary, (bytes + boundary - 1) / boundary * boundary);
}

// For arrays: a sanitizer's operator new[] does not call operator new.
void* operator new[](std::size_t bytes) {
    return operator new(bytes);
}

void* operator new[](std::size_t bytes, const std::nothrow_t& tag) noexcept {
    return operator new(bytes, tag);
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete[](void* memory) noexcept {
    std::free(memory);
}

void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}

// NOLINTEND(cppcoreguidelines-no-malloc)

#else

// NOLINTBEGIN: names and signatures are those of the C library
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t boundary, std::size_t bytes);

void* malloc(std::size_t bytes) {
    if (!is_refused()) return __libc_malloc(bytes);
    errno = ENOMEM;
    return nullptr;
}

void* calloc(std::size_t count, std::size_t bytes) {
    if (!is_refused()) return __libc_calloc(count, bytes);
    errno = ENOMEM;
    return nullptr;
}

void* realloc(void* memory, std::size_t bytes) {
    if (!is_refused()) return __libc_realloc(memory, bytes);
    errno = ENOMEM;
    return nullptr;
}

void* aligned_alloc(std::size_t boundary, std::size_t bytes) {
    if (!is_refused()) return __libc_memalign(boundary, bytes);
    errno = ENOMEM;
    return nullptr;
}

int posix_memalign(void** memory, std::size_t boundary, std::size_t bytes) {
    if (is_refused()) return ENOMEM;
    *memory = __libc_memalign(boundary, bytes);
    return *memory == nullptr ? ENOMEM : 0;
}
}
// NOLINTEND

#endif
