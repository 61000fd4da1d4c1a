// SPDX-License-Identifier: BSD-3-Clause
// Tables leave out what is zero: a row that is there says something.
#include "show.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "datagram/counters.hpp"
#include "router/counters.hpp"

#include "engine/fault_injector.hpp"
#include "engine/transport.hpp"
#include "operations/operation_name.hpp"

namespace acp::stat {

namespace {

using base::Table;
using gateway::StatsPeer;
using gateway::StatsValues;
using Align = Table::Align;

template <typename Counters, std::size_t count>
Counters counters_of(const std::array<std::uint64_t, count>& words) {
    static_assert(sizeof(Counters) <= sizeof words);
    Counters counters;
    std::memcpy(static_cast<void*>(&counters), words.data(), sizeof counters);
    return counters;
}

datagram::EndpointCounters datagram_of(const StatsValues& values) {
    return counters_of<datagram::EndpointCounters>(values.tables.datagram);
}

double seconds_of(const Look& look) {
    const StatsValues& now = look.now->values;
    const std::uint64_t since = look.before != nullptr ? look.before->updated_ns : now.started_ns;
    return static_cast<double>(now.updated_ns - since) / 1e9;
}

// Since the look before, per second; since the start when there was none.
std::string rate(const Look& look, std::uint64_t now, std::uint64_t before) {
    if (look.before == nullptr) return std::to_string(now);
    const double seconds = seconds_of(look);
    if (seconds <= 0) return "0";  // nothing was written since: nothing happened
    return std::to_string(std::llround(static_cast<double>(now - before) / seconds));
}

std::string bytes_rate(const Look& look, std::uint64_t now, std::uint64_t before) {
    if (look.before == nullptr) return base::human_size(now);
    const double seconds = seconds_of(look);
    if (seconds <= 0) return "0 B";
    return base::human_size(
        static_cast<std::uint64_t>(static_cast<double>(now - before) / seconds));
}

// The counters behind `duplicates`' kind: reasons not to take a datagram.
bool is_drop(std::size_t index) {
    const std::span names(datagram::counter_names);
    const auto first = std::find_if(names.begin(), names.end(), [](const auto& its) {
        return std::string_view(its.name) == "short_header";
    });
    return index >= static_cast<std::size_t>(first - names.begin());
}

std::uint64_t drops_of(const datagram::EndpointCounters& counters) {
    std::uint64_t drops = 0;
    for (std::size_t i = 0; i < datagram::counter_names.size(); ++i) {
        if (is_drop(i)) drops += counters.*datagram::counter_names[i].member;
    }
    return drops;
}

// A node has its agent's gateway, and where each node has one rank also that one's own.
const char* owner_of(const StatsValues& values) noexcept {
    return values.is_of_rank != 0 ? "rank" : "agent";
}

std::string nodes_table(const std::vector<Look>& looks) {
    Table table({{"node", Align::right},
                 {"gateway", Align::left},
                 {"process", Align::right},
                 {"ranks", Align::right},
                 {"sent", Align::right},
                 {"", Align::right},
                 {"received", Align::right},
                 {"", Align::right},
                 {"sent again", Align::right},
                 {"dropped", Align::right},
                 {"buffer full", Align::right},
                 {"outstanding", Align::right}});
    bool is_any = false;
    for (const Look& look : looks) {
        if (!look.now->has_counters) continue;
        is_any = true;
        const StatsValues& now = look.now->values;
        const StatsValues zero{};
        const StatsValues& old = look.before != nullptr ? *look.before : zero;
        const datagram::EndpointCounters its = datagram_of(now);
        const datagram::EndpointCounters was = datagram_of(old);
        table.add_row(
            {std::to_string(now.node), owner_of(now), std::to_string(look.now->pid),
             std::to_string(now.local_procs), rate(look, its.datagrams_sent, was.datagrams_sent),
             bytes_rate(look, its.bytes_sent, was.bytes_sent),
             rate(look, its.datagrams_received, was.datagrams_received),
             bytes_rate(look, its.bytes_received, was.bytes_received),
             rate(look, its.retransmitted, was.retransmitted),
             rate(look, drops_of(its), drops_of(was)),
             rate(look, now.receive_drops, old.receive_drops), std::to_string(now.outstanding)});
    }
    return is_any ? table.text() : "";
}

const StatsPeer* find_peer(const StatsValues* values, std::uint32_t node) {
    if (values == nullptr) return nullptr;
    const std::span peers(values->peers.data(),
                          std::min<std::size_t>(values->peer_count, values->peers.size()));
    const auto it = std::find_if(peers.begin(), peers.end(),
                                 [node](const StatsPeer& peer) { return peer.node == node; });
    return it != peers.end() ? &*it : nullptr;
}

std::string peers_table(const std::vector<Look>& looks) {
    Table table({{"node", Align::right},
                 {"gateway", Align::left},
                 {"to", Align::right},
                 {"round trip", Align::right},
                 {"window", Align::right},
                 {"in flight", Align::right},
                 {"credit", Align::right},
                 {"datagram", Align::right},
                 {"sent", Align::right},
                 {"received", Align::right},
                 {"sent again", Align::right},
                 {"", Align::left}});
    bool is_any = false;
    for (const Look& look : looks) {
        const StatsValues& now = look.now->values;
        const std::size_t count = std::min<std::size_t>(now.peer_count, now.peers.size());
        for (std::size_t i = 0; i < count; ++i) {
            const StatsPeer& peer = now.peers[i];
            const StatsPeer zero{};
            const StatsPeer* found = find_peer(look.before, peer.node);
            const StatsPeer& old = found != nullptr ? *found : zero;
            is_any = true;
            table.add_row(
                {std::to_string(now.node), owner_of(now), std::to_string(peer.node),
                 peer.rtt_ns != 0 ? base::human_duration(static_cast<double>(peer.rtt_ns)) : "-",
                 base::human_size(peer.window_bytes), base::human_size(peer.in_flight_bytes),
                 std::to_string(peer.credit), base::human_size(peer.datagram_bytes),
                 bytes_rate(look, peer.bytes_sent, old.bytes_sent),
                 bytes_rate(look, peer.bytes_received, old.bytes_received),
                 rate(look, peer.retransmitted, old.retransmitted),
                 peer.is_severed != 0 ? "severed" : ""});
        }
    }
    return is_any ? "\n" + table.text() : "";
}

std::string ranks_table(const std::vector<Look>& looks) {
    Table table({{"node", Align::right}, {"slot", Align::right}, {"outstanding", Align::right}});
    bool is_any = false;
    for (const Look& look : looks) {
        const StatsValues& now = look.now->values;
        const std::size_t slots = std::min<std::size_t>(now.local_procs, now.outstanding_of.size());
        for (std::size_t slot = 0; slot < slots; ++slot) {
            if (now.outstanding_of[slot] == 0) continue;
            is_any = true;
            table.add_row({std::to_string(now.node), std::to_string(slot),
                           std::to_string(now.outstanding_of[slot])});
        }
    }
    return is_any ? "\n" + table.text() : "";
}

// Name and value of everything that went wrong on a node and is not zero.
std::vector<std::pair<std::string, std::uint64_t>> troubles_of(const StatsValues& values) {
    std::vector<std::pair<std::string, std::uint64_t>> troubles;
    const auto add = [&](std::string name, std::uint64_t count) {
        if (count != 0) troubles.emplace_back(std::move(name), count);
    };
    const datagram::EndpointCounters datagrams = datagram_of(values);
    for (std::size_t i = 0; i < datagram::counter_names.size(); ++i) {
        const auto& its = datagram::counter_names[i];
        if (is_drop(i)) add(std::string("datagram ") + its.name, datagrams.*its.member);
    }
    const auto routed = counters_of<router::RouterCounters>(values.tables.router);
    for (std::size_t i = 1; i < router::fault_count; ++i) {
        add("frame " + std::string(router::name_of(static_cast<router::Fault>(i))),
            routed.faults[i]);
    }
    add("command sent again: refused", routed.resends);
    add("command refused", routed.commands_refused);
    add("piece refused", routed.puts_refused);
    const auto moved = counters_of<engine::TransportCounters>(values.tables.transport);
    add("socket busy", moved.busy);
    add("socket unreachable", moved.unreachable);
    add("receive buffer full", values.receive_drops);
    const auto faults = counters_of<engine::FaultCounters>(values.tables.faults);
    add("injected loss", faults.lost + faults.blackholed);
    add("injected duplicate", faults.duplicated);
    add("injected corruption", faults.corrupted);
    add("injected reordering", faults.reordered);
    add("injected delay", faults.delayed);
    return troubles;
}

// Describes what all ranks on this machine do, a line per group of ranks.
std::string doings_text(const std::vector<Look>& looks) {
    std::vector<node::Doing> all;
    for (const Look& look : looks) {
        const auto some = doings_of(*look.now);
        all.insert(all.end(), some.begin(), some.end());
    }
    std::string text;
    for (const std::string& line : node::describe(std::move(all), operations::name_of_operation))
        text += line + "\n";
    return text.empty() ? "" : "\n" + text;
}

tool::Json doings_json(const Gateway& gateway) {
    tool::Json all = tool::Json::array();
    for (const node::Doing& doing : doings_of(gateway)) {
        tool::Json one{{"rank", doing.rank},
                       {"state", static_cast<std::uint32_t>(doing.state)},
                       {"is_stopped", doing.is_stopped}};
        if (doing.what != node::WaitFor::nothing) {
            one["call"] = doing.call;
            one["waited_ns"] = doing.waited_ns;
        }
        if (doing.what > node::WaitFor::meeting) {
            const memory::Command& command = doing.command;
            const auto number = static_cast<std::uint32_t>(command.operand);
            const std::string_view name = command.is_invoke()
                                              ? operations::name_of_operation(number)
                                              : memory::call_name(command.operation, command.width);
            one["command"] = {{"name", std::string(name)}, {"bytes", command.bytes},
                              {"target", command.target},  {"target_rank", doing.target_rank},
                              {"source", command.source},  {"source_rank", doing.source_rank}};
        }
        if (doing.unreported.count != 0) {
            one["unreported_failures"] = {{"count", doing.unreported.count},
                                          {"first", doing.unreported.first}};
        }
        all.push_back(std::move(one));
    }
    return all;
}

std::string troubles_table(const std::vector<Look>& looks) {
    Table table({{"node", Align::right}, {"what", Align::left}, {"count", Align::right}});
    bool is_any = false;
    for (const Look& look : looks) {
        for (const auto& [name, count] : troubles_of(look.now->values)) {
            is_any = true;
            table.add_row({std::to_string(look.now->values.node), name, std::to_string(count)});
        }
    }
    return is_any ? "\n" + table.text() : "";
}

// Totals, as acp_query_stats_dsm returns them.
std::string shared_pages_table(const std::vector<Look>& looks) {
    std::vector<SharedPagesOf> all;
    for (const Look& look : looks) {
        const auto some = shared_pages_of(*look.now);
        all.insert(all.end(), some.begin(), some.end());
    }
    if (all.empty()) return "";
    std::vector<Table::Column> columns{{"rank", Align::right}};
    for (const auto& [name, value] : all.front().counters) {
        std::string words = name;
        std::replace(words.begin(), words.end(), '_', ' ');
        columns.push_back({std::move(words), Align::right});
    }
    Table table(std::move(columns));
    for (const SharedPagesOf& rank : all) {
        std::vector<std::string> row{std::to_string(rank.rank)};
        for (const auto& [name, value] : rank.counters) row.push_back(std::to_string(value));
        table.add_row(std::move(row));
    }
    return "\nshared pages, in all:\n" + table.text();
}

tool::Json shared_pages_json(const Gateway& gateway) {
    tool::Json all = tool::Json::array();
    for (const SharedPagesOf& rank : shared_pages_of(gateway)) {
        tool::Json one{{"rank", rank.rank}};
        for (const auto& [name, value] : rank.counters) one[name] = value;
        all.push_back(std::move(one));
    }
    return all;
}

// "server, client"; more than a few are cut.
std::string programs_text(const std::vector<std::string>& programs) {
    constexpr std::size_t names_max = 4;
    if (programs.empty()) return "-";
    std::string text = programs.front();
    for (std::size_t i = 1; i < std::min(programs.size(), names_max); ++i) {
        text += ", " + programs[i];
    }
    return programs.size() > names_max ? text + ", ..." : text;
}

}  // namespace

std::string list_text(const std::vector<Gateway>& all) {
    Table table({{"job", Align::left},
                 {"nodes", Align::right},
                 {"here", Align::right},
                 {"ranks here", Align::right},
                 {"acprun", Align::right},
                 {"program", Align::left}});
    for (auto it = all.begin(); it != all.end();) {
        const auto end = std::find_if(
            it, all.end(), [&](const Gateway& gateway) { return gateway.job_id != it->job_id; });
        std::set<std::uint32_t> nodes;
        std::uint64_t ranks = 0;
        std::vector<std::string> programs;
        for (auto each = it; each != end; ++each) {
            // A node may have two gateways: its agent's, and its only rank's own.
            const bool is_new = nodes.insert(each->values.node).second;
            ranks += is_new ? each->values.local_procs : 0;
            for (const std::string& name : each->programs) {
                const bool is_told =
                    std::find(programs.begin(), programs.end(), name) != programs.end();
                if (!is_told) programs.push_back(name);
            }
        }
        table.add_row({name_of_job(it->job_id), std::to_string(it->values.nodes),
                       std::to_string(nodes.size()), std::to_string(ranks),
                       it->launcher_pid != 0 ? std::to_string(it->launcher_pid) : "-",
                       programs_text(programs)});
        it = end;
    }
    return table.text();
}

std::string job_text(const std::vector<Look>& looks) {
    if (looks.empty()) return {};
    const Gateway& first = *looks.front().now;
    std::string text = "job " + name_of_job(first.job_id) + ", " +
                       std::to_string(first.values.nodes) +
                       (first.values.nodes == 1 ? " node" : " nodes") +
                       (looks.front().before != nullptr ? ", per second" : "") + "\n";
    return text + nodes_table(looks) + peers_table(looks) + ranks_table(looks) +
           troubles_table(looks) + shared_pages_table(looks) + doings_text(looks);
}

tool::Json job_json(const std::vector<Gateway>& gateways) {
    tool::Json nodes = tool::Json::array();
    for (const Gateway& its : gateways) {
        const StatsValues& values = its.values;
        tool::Json node{{"node", values.node},
                        {"gateway", its.has_counters ? owner_of(values) : "none"},
                        {"process", its.pid},
                        {"ranks", values.local_procs},
                        {"first_process", its.first_process},
                        {"updated_ns", values.updated_ns},
                        {"started_ns", values.started_ns},
                        {"outstanding", values.outstanding},
                        {"receive_drops", values.receive_drops},
                        {"receive_bytes", values.receive_bytes},
                        {"turns", values.turns},
                        {"sleeps", values.sleeps}};
        node["waits"] = doings_json(its);
        node["shared_pages"] = shared_pages_json(its);
        const datagram::EndpointCounters datagrams = datagram_of(values);
        for (const auto& counter : datagram::counter_names)
            node["datagram"][counter.name] = datagrams.*counter.member;
        node["trouble"] = tool::Json::object();
        for (const auto& [name, count] : troubles_of(values)) node["trouble"][name] = count;
        node["peers"] = tool::Json::array();
        const std::size_t peers = std::min<std::size_t>(values.peer_count, values.peers.size());
        for (std::size_t i = 0; i < peers; ++i) {
            const StatsPeer& peer = values.peers[i];
            node["peers"].push_back({{"node", peer.node},
                                     {"is_severed", peer.is_severed != 0},
                                     {"rtt_ns", peer.rtt_ns},
                                     {"minimum_rtt_ns", peer.minimum_rtt_ns},
                                     {"window_bytes", peer.window_bytes},
                                     {"credit", peer.credit},
                                     {"in_flight_bytes", peer.in_flight_bytes},
                                     {"datagram_bytes", peer.datagram_bytes},
                                     {"retransmitted", peer.retransmitted},
                                     {"bytes_sent", peer.bytes_sent},
                                     {"bytes_received", peer.bytes_received}});
        }
        const std::size_t slots =
            std::min<std::size_t>(values.local_procs, values.outstanding_of.size());
        node["outstanding_of"] = std::vector<std::uint32_t>(
            values.outstanding_of.begin(),
            values.outstanding_of.begin() + static_cast<std::ptrdiff_t>(slots));
        nodes.push_back(std::move(node));
    }
    const std::uint64_t job = gateways.empty() ? 0 : gateways.front().job_id;
    return {{"job", name_of_job(job)}, {"nodes", std::move(nodes)}};
}

}  // namespace acp::stat
