// SPDX-License-Identifier: BSD-3-Clause
// The section of hints: settings of this machine that cost speed, what they cost, and the command
// that changes them. No hint without a look at the setting; none where nothing can be gained.
#include <array>
#include <cstdio>

#include "base/format.hpp"
#include "os/cpu.hpp"

#include "kernel_text.hpp"
#include "sections.hpp"
#include "wake_cost.hpp"

namespace acp::acpinfo {

namespace {

constexpr std::uint64_t wake_cost_fine_ns = 15'000;
constexpr const char* halt_poll_file = "/sys/module/haltpoll/parameters/guest_halt_poll_ns";
constexpr std::uint64_t halt_poll_advice_ns = 200'000;  // the kernel's own default
constexpr const char* shared_huge_file = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

std::vector<std::string> guest_wake_remedies() {
    const auto halt_poll_ns = number_in(halt_poll_file);
    const std::string set =
        "$ echo " + std::to_string(halt_poll_advice_ns) + " > " + halt_poll_file;
    if (!halt_poll_ns) {
        return {"The guest can poll a while before it halts a CPU (guest_halt_poll_ns). As root:",
                "$ modprobe cpuidle-haltpoll", set};
    }
    if (*halt_poll_ns < halt_poll_advice_ns) {
        return {"The guest can poll a while before it halts a CPU; guest_halt_poll_ns is " +
                    std::to_string(*halt_poll_ns) + " now. As root:",
                set};
    }
    return {"guest_halt_poll_ns is " + std::to_string(*halt_poll_ns) +
            " already; the machine may be busy: measure again when it is idle."};
}

// The time from a rank's wake-up call until the woken rank runs. The report shows this time even if
// it is good and needs no remedy.
Fact wake_fact() {
    const auto cost_ns = measure_wake_cost_ns();
    if (!cost_ns) return {"wake-up", "not measured: it takes two CPUs"};
    Fact fact{"wake-up",
              "a sleeping thread on another CPU runs after " +
                  base::human_duration(static_cast<double>(*cost_ns)),
              Verdict::good,
              {},
              {{"median_ns", *cost_ns}}};
    if (*cost_ns <= wake_cost_fine_ns) return fact;
    fact.verdict = Verdict::costly;
    if (is_virtual_machine()) {
        fact.remedies = guest_wake_remedies();
    } else {
        fact.remedies = {
            "Idle CPUs sleep deeply, or the machine is busy. To keep them out of idle states "
            "that take longer than 10 us to leave, as root:",
            "$ cpupower idle-set -D 10"};
    }
    return fact;
}

void add_huge_page_hint(std::vector<Fact>& hints) {
    const auto word = chosen_word(shared_huge_file);
    if (!word || (*word != "never" && *word != "deny")) return;
    hints.push_back({"shared memory",
                     "shmem_enabled is " + *word + ": no huge pages for large starter memory",
                     Verdict::costly,
                     {"As root:", std::string("$ echo within_size > ") + shared_huge_file}});
}

void add_quota_hint(std::vector<Fact>& hints) {
    const double quota = os::cgroup_cpu_quota();
    if (quota <= 0 || quota >= os::affinity_count()) return;
    std::array<char, 160> text{};
    std::snprintf(
        text.data(), text.size(),
        "the cgroup grants the time of %.2f CPUs, though %d may run threads: more busy ranks "
        "than that are all stopped for a part of every period",
        quota, os::affinity_count());
    hints.push_back(
        {"CPU quota", text.data(), Verdict::costly, {"Raise the quota or start fewer ranks."}});
}

}  // namespace

Section hints_section() {
    Section section{"hints", "Speed", {wake_fact()}};
    add_huge_page_hint(section.facts);
    add_quota_hint(section.facts);
    return section;
}

}  // namespace acp::acpinfo
