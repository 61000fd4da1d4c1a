// SPDX-License-Identifier: BSD-3-Clause
// The CPUs that this process may use, their number in effect, and their features. Knows nothing of
// other processes that use them. Any thread; the queries read /proc and /sys and belong to
// start-up.
#pragma once

#include <cstdint>

#include "base/status.hpp"

namespace acp::os {

using base::Status;

// Tells the CPU that this thread polls. Takes 5 .. 50 ns.
inline void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

// Prefetches the cache line of an address for writing, without waiting. Any address is allowed.
inline void prefetch_for_write(const void* address) noexcept {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
    __builtin_prefetch(address, 1);
#endif
}

// Lets another runnable thread of this CPU run. Returns at once when there is none.
void yield_cpu() noexcept;

// Sleeps for tens of microseconds as a rule, and wakes up on an idle CPU if there is one.
void nap() noexcept;

// CPUs in the calling thread's affinity mask, >= 1.
[[nodiscard]] int affinity_count() noexcept;

// CPUs' worth of time that the cgroup (v2 or v1, with its ancestors) grants; 0 when it sets no
// limit.
[[nodiscard]] double cgroup_cpu_quota();

// The lesser of affinity_count() and the quota rounded up, >= 1.
[[nodiscard]] int usable_cpus();

// Binds the calling thread to the CPU that is number nth_usable (>= 0, taken modulo their count) in
// its affinity mask. Errors: argument (negative), system.
Status pin_to_cpu(int nth_usable);

// The CPU this thread runs on at this moment.
[[nodiscard]] int current_cpu() noexcept;

// Whether the CPU copies well with rep movsb at every length (x86 FSRM).
[[nodiscard]] bool has_fast_short_rep_mov() noexcept;

// Whether the CPU multiplies polynomials over GF(2), 64 bits by 64, and shuffles the bytes of a
// vector (x86 PCLMULQDQ and SSSE3).
[[nodiscard]] bool has_carryless_multiply() noexcept;

// Whether the CPU shuffles the bytes of a vector and counts bits (x86 SSSE3 and POPCNT).
[[nodiscard]] bool has_byte_shuffle() noexcept;

// Whether the CPU packs the bytes of a mask out of a vector of 64, and spreads them into one (x86
// AVX-512 VBMI2, and AVX-512 BW, BMI, BMI2 and POPCNT, with which it is used).
[[nodiscard]] bool has_byte_compress() noexcept;

// How fast the processor computes AES-GCM, from slowest to fastest. x86 has more levels than other
// architectures.
enum class AesUnit : std::uint8_t {
    none,    // no instructions for AES, or none for carry-less multiplication
    plain,   // both, on 128 bits
    avx,     // also 128-bit vectors for the other steps
    avx2,    // 256-bit vectors
    avx512,  // 512-bit vectors
    vaes     // and AES itself on 512 bits
};

[[nodiscard]] AesUnit aes_unit() noexcept;

// The size of the largest cache; 0 when the system does not report it.
[[nodiscard]] std::uint64_t last_level_cache_bytes();

}  // namespace acp::os
