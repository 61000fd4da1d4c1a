// SPDX-License-Identifier: BSD-3-Clause
// The section about kernel features. A missing feature that ACP needs gets the verdict `broken`,
// one that makes ACP faster the verdict `costly`, any other one `plain`.
#include <system_error>

#include "base/format.hpp"
#include "dsm/tracker_choice.hpp"
#include "os/kernel_features.hpp"
#include "os/system_call_dispatch.hpp"

#include "kernel_text.hpp"
#include "sections.hpp"

namespace acp::acpinfo {

namespace {

constexpr const char* huge_page_folder = "/sys/kernel/mm/transparent_hugepage/";

Fact feature(const char* name, os::Refusal refusal, Verdict without, const char* use) {
    if (refusal == 0) return {name, std::string("yes, ") + use, Verdict::good, {}, true};
    std::string text = "no (" + std::generic_category().message(refusal) + "), " + use;
    return {name, std::move(text), without, {}, false};
}

Fact setting(const char* name, const char* file) {
    const auto word = chosen_word(std::string(huge_page_folder) + file);
    return {name, word.value_or("not in this kernel")};
}

// How writes to shared pages are found between nodes.
Fact shared_pages_fact(const base::Config& config) {
    auto choice = dsm::choose_tracker(false, config.page_fault_way);
    if (!choice.is_ok()) return {"shared pages", std::string(choice.failure().message())};
    const std::string kind = dsm::name_of(choice.value().kind);
    return {"shared pages",
            kind + " between nodes: " + choice.value().reason,
            Verdict::plain,
            {},
            {{"kind", kind}, {"reason", choice.value().reason}}};
}

Fact huge_pages_fact() {
    const std::uint64_t page = memory_field("Hugepagesize").value_or(0);
    const auto total = number_in("/proc/sys/vm/nr_hugepages");
    if (page == 0) return {"reserved huge pages", "not in this kernel"};
    return {"reserved huge pages",
            std::to_string(total.value_or(0)) + " of " + base::human_size(page),
            Verdict::plain,
            {},
            {{"count", total.value_or(0)}, {"page_bytes", page}}};
}

}  // namespace

Section kernel_section(const base::Config& config) {
    constexpr Verdict plain = Verdict::plain;
    return {
        "kernel",
        "Kernel features",
        {feature("memfd", os::probe_memory_file(), Verdict::broken, "for the node's shared memory"),
         feature("pidfd", os::probe_process_descriptor(), Verdict::broken, "for noticing deaths"),
         feature("membarrier", os::probe_membarrier(), Verdict::costly,
                 "spares every access a fence"),
         feature("futex_waitv", os::probe_futex_waitv(), plain, "not used now"),
         feature("io_uring", os::probe_io_uring(), plain,
                 "from Linux 6.7 on, for waits that a signal handler may end"),
         feature("call dispatch", os::probe_system_call_dispatch(), plain,
                 "for ACP_SYSTEM_CALLS=dispatch"),
         feature("UDP GSO", os::probe_udp_segmentation(), plain, "for datagrams in bulk"),
         feature("UDP GRO", os::probe_udp_joining(), plain, "for datagrams in bulk"),
         shared_pages_fact(config), setting("huge pages", "enabled"),
         setting("shared huge pages", "shmem_enabled"), huge_pages_fact()}};
}

}  // namespace acp::acpinfo
