// SPDX-License-Identifier: BSD-3-Clause
// Places the ranks of a job: on this machine, on emulated nodes of it, or on hosts.
#include "plan_nodes.hpp"

#include <algorithm>
#include <utility>

#include "node/segment.hpp"
#include "os/process.hpp"
#include "os/program_file.hpp"
#include "os/text_file.hpp"
#include "os/udp_socket.hpp"

#include "allocation.hpp"
#include "launch/exit_codes.hpp"
#include "placement.hpp"
#include "plan.hpp"

namespace acp::run {

namespace {

constexpr const char* other_hosts_hint = "--hosts or --hostfile says on which machines to start";

constexpr std::uint32_t per_octet = 250;
constexpr const char* together = "the -n of all programs count together";

// 127.0.1.1 and on, or 10.77.1.1 and on if each node has a private network. Each rail is a network
// of its own, with the next number.
std::string emulated_address(std::uint32_t node, std::uint32_t rail, bool is_netns) {
    return (is_netns ? "10." + std::to_string(77 + rail) : "127." + std::to_string(rail)) + "." +
           std::to_string(1 + node / per_octet) + "." + std::to_string(1 + node % per_octet);
}

Refusal refuse(const base::Status& status, const char* hint = "") {
    return {launch::exit_usage, std::string(status.message()), hint};
}

// Sets the first process of each node.
std::optional<Refusal> give_processes(const std::vector<std::uint32_t>& counts, PlannedJob& job) {
    // With several nodes, each node's gateway needs a place too.
    const std::uint32_t most = node::local_procs_max - (counts.size() > 1 ? 1 : 0);
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] > most) {
            return Refusal{launch::exit_usage,
                           job.nodes[i].name + " would have " + std::to_string(counts[i]) +
                               " ranks; a node holds at most " + std::to_string(most),
                           ""};
        }
        job.common.first_process.push_back(first);
        first += counts[i];
    }
    job.common.procs = first;
    if (counts.size() == 1) job.common.first_process.clear();
    return std::nullopt;
}

std::optional<Refusal> plan_emulated(const Options& options, PlannedJob& job) {
    const std::uint32_t nodes = options.nodes;
    const std::uint32_t procs = options.procs.value_or(nodes);
    if (procs < nodes) {
        return Refusal{
            launch::exit_usage,
            std::to_string(nodes) + " nodes want at least " + std::to_string(nodes) +
                " ranks, not " + std::to_string(procs),
            options.programs.size() == 1 ? "-n " + std::to_string(nodes) : std::string(together)};
    }
    for (std::uint32_t node = 0; node < nodes; ++node) {
        job.nodes.push_back({"", "node " + std::to_string(node), ""});
    }
    if (nodes > 1 && !options.is_netns) {
        if (auto status = os::check_loopback(); !status.is_ok()) {
            const std::string option = "--nodes " + std::to_string(nodes);
            auto failure = std::move(status).within(option.c_str());
            return Refusal{launch::exit_unavailable, std::string(failure.message()), ""};
        }
    }
    job.is_netns = options.is_netns;
    job.common.is_netns = options.is_netns;
    job.common.machine_procs = procs;
    return give_processes(split_evenly(procs, nodes), job);
}

base::Result<std::vector<HostSlots>> read_hosts(const Options& options) {
    if (options.hostfile.empty()) return hosts_from_list(options.hosts);
    auto text = os::read_whole_file(options.hostfile);
    if (!text.is_ok()) return std::move(text).failure().within("--hostfile");
    return hosts_from_file(text.value(), options.hostfile);
}

bool is_this_machine(const std::string& host) {
    return host == "localhost" || host == os::host_name();
}

// Distributes the ranks over hosts and their slots.
std::optional<Refusal> plan_slots(const Options& options,
                                  const std::vector<HostSlots>& hosts,
                                  PlannedJob& job) {
    std::uint32_t slots = 0;
    for (const HostSlots& host : hosts) slots += host.slots;
    const auto filled = fill_slots(hosts, options.procs.value_or(slots), options.may_oversubscribe);
    if (!filled.is_ok() && slots == 0) return refuse(filled.failure(), other_hosts_hint);
    if (!filled.is_ok()) {
        Refusal refusal =
            refuse(filled.failure(), "--oversubscribe lets hosts have more ranks than slots");
        if (options.programs.size() > 1) refusal.hint += std::string("; ") + together;
        return refusal;
    }
    std::vector<std::uint32_t> counts;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (filled.value()[i] == 0) continue;
        const std::string& host = hosts[i].host;
        job.nodes.push_back({is_this_machine(host) ? "" : host, host, ""});
        counts.push_back(filled.value()[i]);
    }
    job.common.networks = options.networks;
    return give_processes(counts, job);
}

std::optional<Refusal> plan_hosts(const Options& options, PlannedJob& job) {
    const auto hosts = read_hosts(options);
    if (!hosts.is_ok()) return refuse(hosts.failure());
    const auto given = find_allocation(os::environment(), os::host_name());
    const bool is_allocated = given.is_ok() && given.value();
    const auto is_its = [&](const HostSlots& wanted) {
        const std::vector<HostSlots>& its = given.value()->hosts;
        return is_this_machine(wanted.host) ||
               std::any_of(its.begin(), its.end(),
                           [&](const HostSlots& one) { return one.host == wanted.host; });
    };
    if (is_allocated && std::all_of(hosts.value().begin(), hosts.value().end(), is_its)) {
        job.batch_command = given.value()->command;
    }
    return plan_slots(options, hosts.value(), job);
}

// Several machines of a batch system count as hosts. If there is one machine, only -n counts, as
// without a batch system.
std::optional<Refusal> plan_allocated(const Options& options,
                                      const Allocation& given,
                                      PlannedJob& job) {
    for (const HostSlots& host : given.hosts) {
        if (const auto problem = describe_long_name(host.host)) {
            return Refusal{launch::exit_usage, given.source + ": " + *problem, other_hosts_hint};
        }
        if (!is_host_name(host.host) || host.slots > node::local_procs_max) {
            return Refusal{launch::exit_usage,
                           given.source + ": \"" + host.host + "\" with " +
                               std::to_string(host.slots) + " slots is no host that acprun can use",
                           other_hosts_hint};
        }
    }
    job.batch_command = given.command;
    if (auto refusal = plan_slots(options, given.hosts, job)) {
        refusal->problem = given.source + ": " + refusal->problem;
        return refusal;
    }
    job.notes.push_back(given.source + ": " + std::to_string(job.common.procs) +
                        (job.common.procs == 1 ? " rank" : " ranks") + " on " +
                        std::to_string(job.nodes.size()) +
                        (job.nodes.size() == 1 ? " host" : " hosts") +
                        "; --hosts, --hostfile or --nodes overrides it");
    return std::nullopt;
}

}  // namespace

void give_emulated_addresses(PlannedJob& job) {
    const bool is_emulated = job.common.machine_procs != 0;
    if (!is_emulated || (job.nodes.size() == 1 && !job.is_netns)) return;
    for (std::uint32_t node = 0; node < job.nodes.size(); ++node) {
        std::string& addresses = job.nodes[node].addresses;
        for (std::uint32_t rail = 0; rail < job.rails; ++rail) {
            addresses += (rail == 0 ? "" : " ") + emulated_address(node, rail, job.is_netns);
        }
    }
}

std::optional<Refusal> plan_nodes(const Options& options, PlannedJob& job) {
    if (!options.hosts.empty() || !options.hostfile.empty()) return plan_hosts(options, job);
    if (options.is_emulated) return plan_emulated(options, job);
    const auto given = find_allocation(os::environment(), os::host_name());
    if (!given.is_ok()) {
        return refuse(
            given.failure(),
            "--hosts or --hostfile says on which machines to start, --nodes 1 on this one");
    }
    if (!given.value()) return plan_emulated(options, job);
    const std::vector<HostSlots>& hosts = given.value()->hosts;
    const bool is_here_alone = hosts.size() == 1 && is_this_machine(hosts.front().host);
    if (is_here_alone && options.procs) return plan_emulated(options, job);
    return plan_allocated(options, *given.value(), job);
}

}  // namespace acp::run
