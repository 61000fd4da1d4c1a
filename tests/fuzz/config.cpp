// SPDX-License-Identifier: BSD-3-Clause
// Text and bytes that become configuration: ACP_* variables, the fault plan, the launcher's
// variables, lists and files of hosts, a launch plan, a table of peers. Any input is accepted or
// refused with a message; an accepted value is the same after it was written and read again. One
// thread.
#include "base/config.hpp"

#include <string>
#include <vector>

#include "base/config_registry.hpp"
#include "base/fault_plan.hpp"
#include "base/parse.hpp"
#include "base/words.hpp"
#include "job/identity.hpp"

#include "acprun/placement.hpp"
#include "fuzz/fuzz.hpp"
#include "launch/interface_list.hpp"
#include "launch/launch_plan.hpp"
#include "launch/line_channel.hpp"
#include "launch/network_choice.hpp"
#include "launch/peer_table.hpp"

namespace acp::fuzz {
namespace {

using base::Environment;

template <typename T>
void require_message(const base::Result<T>& result) {
    require(result.is_ok() || !result.failure().message().empty(), "a refusal has a message");
}

// The lines of the text as entries of an environment.
Environment entries_of(std::string_view text) {
    Environment entries;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        entries.emplace_back(line);
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return entries;
}

void read_variables(std::string_view text) {
    const Environment entries = entries_of(text);
    const auto first = base::parse_config(entries);
    require_message(first);
    if (!first.is_ok()) return;
    Environment again;
    for (const base::Variable& variable : base::variables()) {
        again.push_back(std::string(variable.name) + "=" + variable.show(first.value().config));
    }
    const auto second = base::parse_config(again);
    require(second.is_ok(), "the shown text parses");
    const auto shown = base::list_variables(first.value().config, entries);
    const auto shown_again = base::list_variables(second.value().config, again);
    for (std::size_t i = 0; i < base::variables().size(); ++i) {
        require(shown[i].value == shown_again[i].value, "the shown text parses to the same value");
    }
}

// Reads a value for a known variable, so that the fuzzer need not find its name.
void read_variable(Input& input) {
    const auto& all = base::variables();
    const std::string name(all[input.below(static_cast<std::uint32_t>(all.size()))].name);
    read_variables(name + "=" + std::string(input.text()));
}

void read_fault(std::string_view text) {
    const auto plan = base::parse_fault_plan(text);
    if (!plan) return;
    for (const double chance : {plan->loss, plan->duplicate, plan->corrupt}) {
        require(chance >= 0 && chance <= 1, "a chance is between 0 and 1");
    }
    require(plan->burst >= 1 && plan->burst <= base::fault_burst_max, "a burst within bounds");
    require(plan->reorder <= base::fault_reorder_max, "a reordering within bounds");
    require(plan->blackholes.size() <= base::fault_blackholes_max, "a bounded number of them");
    for (const auto& hole : plan->blackholes) {
        require(hole.begin_ns < hole.end_ns, "a black hole has an end");
    }
}

void read_numbers(std::string_view text) {
    if (const auto bytes = base::parse_size(text)) {
        require(base::parse_size(base::size_text(*bytes)) == bytes, "a size is shown as it is");
    }
    if (const auto span = base::parse_seconds(text)) {
        require(base::parse_seconds(base::seconds_text(*span)) == span, "a time is shown as it is");
    }
    (void)base::parse_unsigned(text);
    const auto ranks = base::ranks_from(text);
    if (!ranks.empty() && std::is_sorted(ranks.begin(), ranks.end()) &&
        std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end()) {
        require(base::ranks_from(base::rank_ranges(ranks)) == ranks, "ranks are shown as they are");
    }
    require(base::words_of(text, 4).size() <= 4, "no more words than asked for");
}

void read_hosts(std::string_view text, bool is_file) {
    const auto hosts =
        is_file ? acp::run::hosts_from_file(text, "hosts") : acp::run::hosts_from_list(text);
    require_message(hosts);
    if (!hosts.is_ok()) return;
    require(!hosts.value().empty(), "a host");
    std::uint64_t slots = 0;
    for (const acp::run::HostSlots& host : hosts.value()) {
        require(!host.host.empty() && host.host.front() != '-' && host.slots >= 1,
                "hosts that ssh takes for hosts");
        slots += host.slots;
    }
    const auto counts = acp::run::fill_slots(hosts.value(), 100, true);
    require(counts.is_ok(), "ranks fit when they may");
    std::uint64_t placed = 0;
    for (const std::uint32_t count : counts.value()) placed += count;
    require(placed == 100, "every rank has its place");
    require(acp::run::fill_slots(hosts.value(), 100, false).is_ok() == (slots >= 100),
            "ranks fit when there are slots");
}

void read_plan(const std::string& bytes) {
    const auto plan = launch::launch_plan_from(bytes);
    require_message(plan);
    if (!plan.is_ok()) return;
    require(plan.value().node < plan.value().nodes(), "a node that there is");
    require(plan.value().local_procs() <= plan.value().procs, "no more processes than the job has");
    require(!plan.value().program_of(plan.value().first()).path.empty(), "a program for each rank");
    require(!plan.value().program_of(plan.value().procs - 1).path.empty(), "the last one, too");
    const std::string written = launch::to_bytes(plan.value());
    const auto again = launch::launch_plan_from(written);
    require(again.is_ok() && launch::to_bytes(again.value()) == written,
            "a plan is written as it was read");
}

// Reads the bytes as they are, and again with this build's version.
void read_plans(std::string_view bytes) {
    read_plan(std::string(bytes));
    std::string plan = "version=" + std::to_string(launch::launch_plan_version);
    plan.push_back('\0');
    read_plan(plan.append(bytes));
}

void read_peers(Input& input) {
    const std::uint32_t nodes = input.below(4);
    const std::string_view bytes = input.text();
    const auto table = launch::peer_table_from(bytes, nodes);
    require_message(table);
    if (!table.is_ok()) return;
    require(table.value().size() == nodes, "a row for each node");
    for (const auto& row : table.value()) {
        require(!row.addresses.empty() && row.addresses.size() <= launch::node_addresses_max,
                "addresses within bounds");
        require(launch::addresses_from(launch::addresses_text(row.addresses)) == row.addresses,
                "addresses are shown as they are");
    }
    require(launch::to_bytes(table.value()) == bytes, "a table is written as it was read");
}

void choose_among(const base::Result<launch::NetworkChoice>& choice, const Environment& lines) {
    std::vector<launch::Interfaces> nodes;
    for (const std::string& line : lines) {
        auto interfaces = launch::interfaces_from(line);
        require_message(interfaces);
        if (!interfaces.is_ok()) return;
        const auto again = launch::interfaces_from(launch::to_words(interfaces.value()));
        require(again.is_ok(), "interfaces are written so that they can be read");
        nodes.push_back(std::move(interfaces).value());
    }
    if (!choice.is_ok()) return;
    for (const std::uint32_t rails : {1U, 2U}) {
        const launch::GatewayTable table = choice.value().choose(nodes, rails);
        require(table.size() == nodes.size(), "a row for each node");
        for (const launch::GatewayRow& row : table) {
            require(row.addresses.size() <= (rails == 1 ? launch::node_addresses_max : rails),
                    "addresses within bounds");
        }
    }
}

// The first line is the user's choice; each further line has the interfaces of a node.
void read_networks(std::string_view text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto choice = launch::NetworkChoice::from(text.substr(0, end));
    require_message(choice);
    choose_among(choice, entries_of(text.substr(std::min(end + 1, text.size()))));
    text = text.substr(0, end);
    const auto addresses = launch::addresses_from(text);
    require(addresses.size() <= launch::node_addresses_max, "addresses within bounds");
    if (!addresses.empty()) {
        require(launch::addresses_from(launch::addresses_text(addresses)) == addresses,
                "addresses are shown as they are");
    }
}

void read_identity(std::string_view text) {
    const auto identity = job::identity_of(entries_of(text));
    require_message(identity);
    if (!identity.is_ok()) return;
    const auto& who = identity.value();
    require(who.rank < who.procs && who.slot < who.procs, "a rank that there is");
    if (!who.is_launched()) return;
    const auto again = job::identity_of(job::environment_of(who));
    require(again.is_ok() && again.value().rank == who.rank && again.value().procs == who.procs &&
                again.value().slot == who.slot && again.value().node_file == who.node_file &&
                again.value().node_socket.has_value() == who.node_socket.has_value(),
            "the identity is passed on unchanged");
}

}  // namespace

void run(Input& input) {
    switch (input.below(10)) {
        case 0:
            return read_variables(input.text());
        case 1:
            return read_variable(input);
        case 2:
            return read_fault(input.text());
        case 3:
            return read_numbers(input.text());
        case 4:
            return read_hosts(input.text(), false);
        case 5:
            return read_hosts(input.text(), true);
        case 6:
            return read_plans(input.text());
        case 7:
            return read_peers(input);
        case 8:
            return read_networks(input.text());
        default:
            return read_identity(input.text());
    }
}

}  // namespace acp::fuzz
