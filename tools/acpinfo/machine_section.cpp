// SPDX-License-Identifier: BSD-3-Clause
// The section about the machine: its CPUs and memory, and the part of them that this process may
// use.
#include <array>
#include <cstdio>

#include "base/format.hpp"
#include "os/cpu.hpp"
#include "os/limits.hpp"
#include "os/mapping.hpp"
#include "os/process.hpp"

#include "kernel_text.hpp"
#include "sections.hpp"

namespace acp::acpinfo {

namespace {

using base::human_size;

tool::Json or_null(std::uint64_t limit) {
    return limit == os::unlimited ? tool::Json() : tool::Json(limit);
}

// How many CPUs a list such as "0-3,8" names.
std::uint64_t count_cpus(const std::string& list) {
    std::uint64_t count = 0;
    std::size_t begin = 0;
    while (begin < list.size()) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        unsigned first = 0;
        unsigned last = 0;
        const int fields =
            std::sscanf(list.substr(begin, end - begin).c_str(), "%u-%u", &first, &last);
        if (fields == 1) last = first;
        if (fields >= 1 && last >= first) count += last - first + 1U;
        begin = end + 1;
    }
    return count;
}

Fact processor_fact() {
    std::string text = processor_field("model name").value_or("unknown processor");
    const bool is_guest = is_virtual_machine();
    if (is_guest) text += ", in a virtual machine";
    return {
        "processor", text, Verdict::plain, {}, {{"model", text}, {"virtual_machine", is_guest}}};
}

Fact cpus_fact() {
    const std::uint64_t online =
        count_cpus(first_line("/sys/devices/system/cpu/online").value_or("0"));
    const int affinity = os::affinity_count();
    const double quota = os::cgroup_cpu_quota();
    std::array<char, 32> quota_text{"no cgroup quota"};
    if (quota > 0) std::snprintf(quota_text.data(), quota_text.size(), "cgroup quota %.2f", quota);
    const std::string text = std::to_string(os::usable_cpus()) + " usable (" +
                             std::to_string(online) + " online, " + std::to_string(affinity) +
                             " in the affinity mask, " + quota_text.data() + ")";
    return {"CPUs",
            text,
            Verdict::plain,
            {},
            {{"usable", os::usable_cpus()},
             {"online", online},
             {"affinity", affinity},
             {"cgroup_quota", quota > 0 ? tool::Json(quota) : tool::Json()}}};
}

Fact cache_fact() {
    const std::uint64_t bytes = os::last_level_cache_bytes();
    return {
        "last level cache", bytes == 0 ? "unknown" : human_size(bytes), Verdict::plain, {}, bytes};
}

Fact memory_fact() {
    const os::MemoryLimits limits = os::memory_limits();
    const std::uint64_t total = memory_field("MemTotal").value_or(0);
    std::string text =
        human_size(total) + ", " + human_size(limits.available_bytes()) + " available";
    if (limits.cgroup_limit_bytes != os::unlimited) {
        text += " (cgroup: " + human_size(limits.cgroup_usage_bytes) + " of " +
                human_size(limits.cgroup_limit_bytes) + " used)";
    }
    return {"memory",
            text,
            Verdict::plain,
            {},
            {{"total_bytes", total},
             {"available_bytes", limits.available_bytes()},
             {"cgroup_limit_bytes", or_null(limits.cgroup_limit_bytes)},
             {"cgroup_usage_bytes", limits.cgroup_usage_bytes}}};
}

Fact limits_fact() {
    const os::ResourceLimits limits = os::resource_limits();
    const auto count = [](std::uint64_t limit) {
        return limit == os::unlimited ? std::string("unlimited") : std::to_string(limit);
    };
    const std::string address_space = limits.address_space_bytes == os::unlimited
                                          ? "unlimited"
                                          : human_size(limits.address_space_bytes);
    return {"limits",
            "address space " + address_space + ", descriptors " + count(limits.descriptors) +
                ", processes " + count(limits.processes),
            Verdict::plain,
            {},
            {{"address_space_bytes", or_null(limits.address_space_bytes)},
             {"descriptors", or_null(limits.descriptors)},
             {"processes", or_null(limits.processes)}}};
}

}  // namespace

Section machine_section() {
    const std::string kernel = first_line("/proc/sys/kernel/osrelease").value_or("unknown");
    return {"machine",
            "Machine",
            {{"host", os::host_name()},
             {"kernel", "Linux " + kernel, Verdict::plain, {}, kernel},
             processor_fact(),
             cpus_fact(),
             cache_fact(),
             memory_fact(),
             {"page size", human_size(os::page_bytes()), Verdict::plain, {}, os::page_bytes()},
             limits_fact()}};
}

}  // namespace acp::acpinfo
