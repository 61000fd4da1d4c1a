// SPDX-License-Identifier: BSD-3-Clause
// Affinity, quota and features of the CPUs.
#include "os/cpu.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <optional>
#include <sched.h>
#include <string>
#include <unistd.h>

#include "os/cgroup.hpp"
#include "os/system_error.hpp"
#include "os/text_file.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace acp::os {

namespace {

using base::Code;

// Room for 8192 CPUs, the kernel's own maximum.
struct CpuMask {
    cpu_set_t sets[8192 / CPU_SETSIZE];
};

bool own_mask(CpuMask& mask) noexcept {
    CPU_ZERO_S(sizeof mask, mask.sets);
    return sched_getaffinity(0, sizeof mask, mask.sets) == 0;
}

// "32768K", "1M", "512"
std::uint64_t cache_bytes(const std::string& text) {
    const std::uint64_t number = leading_number(text).value_or(0);
    if (text.find('K') != std::string::npos) return number << 10;
    if (text.find('M') != std::string::npos) return number << 20;
    return number;
}

}  // namespace

void yield_cpu() noexcept {
    sched_yield();
}

void nap() noexcept {
    // the kernel adds the timer's slack
    const timespec moment{0, 1000};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);  // lint: sleep is the subject
}

int affinity_count() noexcept {
    CpuMask mask{};
    if (own_mask(mask)) return std::max(1, CPU_COUNT_S(sizeof mask, mask.sets));
    return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

double cgroup_cpu_quota() {
    double least = 0.0;
    for (const CgroupDirectory& directory : cgroup_directories("cpu")) {
        const std::optional<double> quota = cpu_quota_of(directory);
        if (quota && (least == 0.0 || *quota < least)) least = *quota;
    }
    return least;
}

int usable_cpus() {
    const int allowed = affinity_count();
    const double quota = cgroup_cpu_quota();
    if (quota <= 0.0 || quota >= allowed) return allowed;
    return std::max(1, static_cast<int>(std::ceil(quota)));
}

Status pin_to_cpu(int nth_usable) {
    if (nth_usable < 0) {
        return {Code::argument, "CPU number " + std::to_string(nth_usable) + " is negative"};
    }
    CpuMask mask{};
    if (!own_mask(mask)) return system_failure("sched_getaffinity", errno, "");
    const int count = CPU_COUNT_S(sizeof mask, mask.sets);
    if (count == 0) return {Code::system, "the affinity mask of this thread is empty"};
    int left = nth_usable % count;
    int cpu = 0;
    while (!CPU_ISSET_S(static_cast<std::size_t>(cpu), sizeof mask, mask.sets) || left-- > 0) ++cpu;
    CPU_ZERO_S(sizeof mask, mask.sets);
    CPU_SET_S(static_cast<std::size_t>(cpu), sizeof mask, mask.sets);
    if (sched_setaffinity(0, sizeof mask, mask.sets) != 0) {
        return system_failure("sched_setaffinity", errno, "CPU " + std::to_string(cpu));
    }
    return {};
}

int current_cpu() noexcept {
    return std::max(0, sched_getcpu());
}

bool has_fast_short_rep_mov() noexcept {
#if defined(__x86_64__)
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    constexpr unsigned fsrm = 1U << 4;  // bit of CPUID leaf 7, subleaf 0, EDX
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & fsrm) != 0;
#else
    return false;
#endif
}

bool has_carryless_multiply() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3");
#else
    return false;
#endif
}

bool has_byte_shuffle() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
}

bool has_byte_compress() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
}

AesUnit aes_unit() noexcept {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("aes") || !__builtin_cpu_supports("pclmul")) return AesUnit::none;
    if (!__builtin_cpu_supports("avx")) return AesUnit::plain;
    if (!__builtin_cpu_supports("avx2")) return AesUnit::avx;
    const bool has_avx512 =
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
    if (!has_avx512) return AesUnit::avx2;
    // The tests above include that the kernel saves the wide registers; not every compiler knows
    // the next two features by name.
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    constexpr unsigned wide_aes = 1U << 9;
    constexpr unsigned wide_multiply = 1U << 10;
    const bool has_wide_aes = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & wide_aes) != 0 &&
                              (c & wide_multiply) != 0;
    return has_wide_aes ? AesUnit::vaes : AesUnit::avx512;
#elif defined(__aarch64__)
    constexpr unsigned long needed = HWCAP_AES | HWCAP_PMULL;
    return (getauxval(AT_HWCAP) & needed) == needed ? AesUnit::plain : AesUnit::none;
#else
    return AesUnit::none;
#endif
}

std::uint64_t last_level_cache_bytes() {
    std::uint64_t largest = 0;
    constexpr int caches_max = 16;
    for (int index = 0; index < caches_max; ++index) {
        const auto text = read_text_file("/sys/devices/system/cpu/cpu0/cache/index" +
                                         std::to_string(index) + "/size");
        if (!text) break;
        largest = std::max(largest, cache_bytes(*text));
    }
    for (const int name : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
        if (largest == 0) {
            largest = static_cast<std::uint64_t>(std::max(0L, sysconf(name)));
        }
    }
    return largest;
}

}  // namespace acp::os
