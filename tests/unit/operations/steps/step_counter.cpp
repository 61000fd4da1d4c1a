// SPDX-License-Identifier: BSD-3-Clause
// The functions that compilers call from code compiled with -fsanitize=thread, and those that the
// linker's --wrap puts in the place of memcpy, memmove, memset and memcmp. This file is not compiled for
// ThreadSanitizer itself. Compilers declare some of the functions themselves.
#include "unit/operations/steps/step_counter.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace acp::operations::test {

namespace {

struct Counted {
    std::uintptr_t begin = 0;
    std::uint64_t bytes = 0;  // 0: nothing counts
    Work work;
};

constinit Counted counted;

bool counts(const volatile void* at) noexcept {
    return reinterpret_cast<std::uintptr_t>(at) - counted.begin < counted.bytes;
}

void step(const volatile void* at) noexcept {
    if (counts(at)) ++counted.work.steps;
}

void copy(const void* to, const void* from, std::size_t bytes) noexcept {
    if (!counts(to) && !counts(from)) return;
    ++counted.work.steps;
    counted.work.copied += bytes;
}

}  // namespace

StepCounter::StepCounter(const void* memory, std::uint64_t bytes) noexcept {
    counted = {reinterpret_cast<std::uintptr_t>(memory), bytes, {}};
}

StepCounter::~StepCounter() {
    counted.bytes = 0;
}

Work StepCounter::work() noexcept {
    return counted.work;
}

}  // namespace acp::operations::test

using acp::operations::test::copy;
using acp::operations::test::step;

// NOLINTBEGIN: the names and signatures are the compiler's
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"

extern "C" {

void __tsan_init() {}

void __tsan_func_entry(void*) {}

void __tsan_func_exit() {}

void __tsan_ignore_thread_begin() {}

void __tsan_ignore_thread_end() {}

void __tsan_vptr_update(void** at, void*) {
    step(at);
}

void __tsan_vptr_read(void** at) {
    step(at);
}

void __tsan_read_range(void* at, std::size_t bytes) {
    copy(at, at, bytes);
}

void __tsan_write_range(void* at, std::size_t bytes) {
    copy(at, at, bytes);
}

void __tsan_atomic_thread_fence(int) {}

void __tsan_atomic_signal_fence(int) {}

#define ACP_ACCESS(bytes)                               \
    void __tsan_read##bytes(void* at) {                 \
        step(at);                                       \
    }                                                   \
    void __tsan_write##bytes(void* at) {                \
        step(at);                                       \
    }                                                   \
    void __tsan_unaligned_read##bytes(void* at) {       \
        step(at);                                       \
    }                                                   \
    void __tsan_unaligned_write##bytes(void* at) {      \
        step(at);                                       \
    }                                                   \
    void __tsan_read_write##bytes(void* at) {           \
        step(at);                                       \
    }                                                   \
    void __tsan_unaligned_read_write##bytes(void* at) { \
        step(at);                                       \
    }

ACP_ACCESS(1)
ACP_ACCESS(2)
ACP_ACCESS(4)
ACP_ACCESS(8)
ACP_ACCESS(16)

#define ACP_CHANGE(bits, T, name)                                  \
    T __tsan_atomic##bits##_##name(volatile T* at, T value, int) { \
        step(at);                                                  \
        return __atomic_##name(at, value, __ATOMIC_SEQ_CST);       \
    }

#define ACP_ATOMIC(bits, T)                                                                       \
    T __tsan_atomic##bits##_load(const volatile T* at, int) {                                     \
        step(at);                                                                                 \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                             \
    }                                                                                             \
    void __tsan_atomic##bits##_store(volatile T* at, T value, int) {                              \
        step(at);                                                                                 \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                            \
    }                                                                                             \
    T __tsan_atomic##bits##_exchange(volatile T* at, T value, int) {                              \
        step(at);                                                                                 \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                  \
    }                                                                                             \
    ACP_CHANGE(bits, T, fetch_add)                                                                \
    ACP_CHANGE(bits, T, fetch_sub)                                                                \
    ACP_CHANGE(bits, T, fetch_and)                                                                \
    ACP_CHANGE(bits, T, fetch_or)                                                                 \
    ACP_CHANGE(bits, T, fetch_xor)                                                                \
    ACP_CHANGE(bits, T, fetch_nand)                                                               \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T value, int,  \
                                                      int) {                                      \
        step(at);                                                                                 \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,          \
                                           __ATOMIC_SEQ_CST)                                      \
                   ? 1                                                                            \
                   : 0;                                                                           \
    }                                                                                             \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected, T value, int,    \
                                                    int) {                                        \
        step(at);                                                                                 \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,          \
                                           __ATOMIC_SEQ_CST)                                      \
                   ? 1                                                                            \
                   : 0;                                                                           \
    }                                                                                             \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected, T value, int, int) { \
        step(at);                                                                                 \
        (void)__atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST,          \
                                          __ATOMIC_SEQ_CST);                                      \
        return expected;                                                                          \
    }

ACP_ATOMIC(8, std::uint8_t)
ACP_ATOMIC(16, std::uint16_t)
ACP_ATOMIC(32, std::uint32_t)
ACP_ATOMIC(64, std::uint64_t)

void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __real_memmove(void* to, const void* from, std::size_t bytes);
void* __real_memset(void* to, int value, std::size_t bytes);
int __real_memcmp(const void* one, const void* other, std::size_t bytes);

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
    copy(to, from, bytes);
    return __real_memcpy(to, from, bytes);
}

void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
    copy(to, from, bytes);
    return __real_memmove(to, from, bytes);
}

void* __wrap_memset(void* to, int value, std::size_t bytes) {
    copy(to, to, bytes);
    return __real_memset(to, value, bytes);
}

int __wrap_memcmp(const void* one, const void* other, std::size_t bytes) {
    copy(one, other, bytes);
    return __real_memcmp(one, other, bytes);
}

// clang calls these for copies.
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
    return __wrap_memcpy(to, from, bytes);
}

void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
    return __wrap_memmove(to, from, bytes);
}

void* __tsan_memset(void* to, int value, std::size_t bytes) {
    return __wrap_memset(to, value, bytes);
}

}  // extern "C"
// NOLINTEND
