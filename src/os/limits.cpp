// SPDX-License-Identifier: BSD-3-Clause
// Reads memory and resource limits.
#include "os/limits.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include "os/cgroup.hpp"
#include "os/file_descriptor.hpp"
#include "os/text_file.hpp"

namespace acp::os {

namespace {

std::uint64_t rest_of(std::uint64_t limit, std::uint64_t usage) noexcept {
    return limit > usage ? limit - usage : 0;
}

std::uint64_t soft_limit(int resource) noexcept {
    rlimit limit{};
    if (getrlimit(static_cast<decltype(RLIMIT_AS)>(resource), &limit) != 0) return unlimited;
    return limit.rlim_cur == RLIM_INFINITY ? unlimited : limit.rlim_cur;
}

// What this process uses; 0 where it cannot be read.
struct MemoryUse {
    unsigned long long address_space_bytes = 0;
    unsigned long long data_bytes = 0;
};

// Allocates nothing.
MemoryUse memory_use() noexcept {
    const FileDescriptor file(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
    std::array<char, 128> text{};
    if (!file.is_open() || read(file.get(), text.data(), text.size() - 1) <= 0) return {};
    MemoryUse pages;
    // size resident shared text lib data
    if (std::sscanf(text.data(), "%llu %*u %*u %*u %*u %llu", &pages.address_space_bytes,
                    &pages.data_bytes) != 2) {
        return {};
    }
    const auto page_bytes = static_cast<unsigned long long>(sysconf(_SC_PAGESIZE));
    return {pages.address_space_bytes * page_bytes, pages.data_bytes * page_bytes};
}

// Appends "; what: limit bytes, of which use are in use" as far as there is room; nothing for no
// limit.
void append_limit(MemoryLimitText& text,
                  const char* what,
                  std::uint64_t limit,
                  unsigned long long use = 0) noexcept {
    if (limit == unlimited) return;
    std::array<char, 48> in_use{};
    if (use != 0) std::snprintf(in_use.data(), in_use.size(), ", of which %llu are in use", use);
    const std::size_t used = std::strlen(text.data());
    std::snprintf(text.data() + used, text.size() - used, "; %s: %llu bytes%s", what,
                  static_cast<unsigned long long>(limit), in_use.data());
}

// Reading the limit may fail for lack of memory; then it counts as unlimited and is not named.
std::uint64_t cgroup_limit() noexcept {
    try {
        return memory_limits().cgroup_limit_bytes;
    } catch (const std::exception&) {
        return unlimited;
    }
}

}  // namespace

MemoryLimitText memory_limit_text() noexcept {
    MemoryLimitText text{};
    const ResourceLimits limits = resource_limits();
    const MemoryUse use = memory_use();
    append_limit(text, "private memory allowed (RLIMIT_DATA, ulimit -d)", limits.data_bytes,
                 use.data_bytes);
    append_limit(text, "address space allowed (RLIMIT_AS, ulimit -v)", limits.address_space_bytes,
                 use.address_space_bytes);
    if (text[0] == '\0') append_limit(text, "memory allowed (its cgroup)", cgroup_limit());
    return text;
}

std::uint64_t MemoryLimits::available_bytes() const noexcept {
    if (cgroup_limit_bytes == unlimited) return machine_available_bytes;
    return std::min(machine_available_bytes, rest_of(cgroup_limit_bytes, cgroup_usage_bytes));
}

MemoryLimits memory_limits() {
    MemoryLimits limits;
    if (const auto text = read_text_file("/proc/meminfo")) {
        if (const auto available = number_after(*text, "MemAvailable")) {
            limits.machine_available_bytes =
                (*available + number_after(*text, "SwapFree").value_or(0)) * 1024;
        }
    }
    std::uint64_t least_rest = unlimited;
    for (const CgroupDirectory& directory : cgroup_directories("memory")) {
        const auto memory = memory_limit_of(directory);
        if (!memory) continue;
        const std::uint64_t rest = rest_of(memory->limit_bytes, memory->usage_bytes);
        if (rest < least_rest) {
            least_rest = rest;
            limits.cgroup_limit_bytes = memory->limit_bytes;
            limits.cgroup_usage_bytes = memory->usage_bytes;
        }
    }
    return limits;
}

ResourceLimits resource_limits() noexcept {
    return {soft_limit(RLIMIT_AS),      soft_limit(RLIMIT_DATA),   soft_limit(RLIMIT_FSIZE),
            soft_limit(RLIMIT_MEMLOCK), soft_limit(RLIMIT_NOFILE), soft_limit(RLIMIT_NPROC)};
}

std::string address_space_text(std::uint64_t needed_bytes) {
    const std::uint64_t allowed = resource_limits().address_space_bytes;
    std::string text = "address space allowed (RLIMIT_AS, ulimit -v): ";
    if (allowed == unlimited) return text + "unlimited";
    text += std::to_string(allowed) + " bytes";
    const unsigned long long use = memory_use().address_space_bytes;
    if (use != 0) text += ", of which " + std::to_string(use) + " are in use";
    if (needed_bytes == 0) return text;
    return text + (use != 0 ? " and " : ", of which ") + std::to_string(needed_bytes) +
           " more are needed";
}

std::string file_size_limit_text() {
    const std::uint64_t allowed = resource_limits().file_bytes;
    return "file size allowed (RLIMIT_FSIZE, ulimit -f): " +
           (allowed == unlimited ? "unlimited" : std::to_string(allowed) + " bytes");
}

}  // namespace acp::os
