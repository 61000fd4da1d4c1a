// SPDX-License-Identifier: BSD-3-Clause
// The output of acpstat for given counters: tables for people, and JSON. One thread.
#include "acpstat/show.hpp"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "engine/fault_injector.hpp"
#include "some_gateways.hpp"

namespace acp::stat {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
    std::istringstream stream(line);
    Words words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

std::vector<Words> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<Words> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(words_of(line));
    return lines;
}

std::string first_look(const std::vector<Gateway>& gateways) {
    std::vector<Look> looks;
    for (const Gateway& gateway : gateways) looks.push_back({&gateway, nullptr});
    return job_text(looks);
}

std::vector<Gateway> one() {
    std::vector<Gateway> all;
    all.push_back(some_gateway(0xabc, 0, 2));
    return all;
}

TEST(AcpstatShow, lists_each_job_once_with_the_nodes_that_are_here) {
    std::vector<Gateway> all;
    all.push_back(some_gateway(1, 0, 2));
    all.push_back(some_gateway(1, 1, 2));
    all.push_back(some_gateway(1, 1, 2));  // its rank's own
    all.push_back(some_gateway(2, 5, 9));
    all[0].launcher_pid = 4711;
    all[0].programs = {"solve"};
    const auto lines = lines_of(list_text(all));
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[1], (Words{"0000000000000001", "2", "2", "4", "4711", "solve"}));
    EXPECT_EQ(lines[2], (Words{"0000000000000002", "9", "1", "2", "-", "-"}));
}

TEST(AcpstatShow, lists_the_programs_of_all_nodes_each_once) {
    std::vector<Gateway> all;
    all.push_back(some_gateway(1, 0, 2));
    all.push_back(some_gateway(1, 1, 2));
    all[0].programs = {"server", "client"};
    all[1].programs = {"client", "watch"};
    EXPECT_NE(list_text(all).find("  server, client, watch\n"), std::string::npos)
        << list_text(all);
    all[1].programs = {"a", "b", "c"};
    EXPECT_NE(list_text(all).find("  server, client, a, b, ...\n"), std::string::npos);
}

TEST(AcpstatShow, the_first_look_shows_everything_since_the_start) {
    std::vector<Gateway> all = one();
    gateway::StatsValues& values = all[0].values;
    count(values, &datagram::EndpointCounters::datagrams_sent, 7);
    count(values, &datagram::EndpointCounters::bytes_sent, 2048);
    count(values, &datagram::EndpointCounters::datagrams_received, 5);
    count(values, &datagram::EndpointCounters::retransmitted, 3);
    values.outstanding = 11;
    values.receive_drops = 13;
    Words expected{"0", "agent", "1000", "2", "7", "2", "KiB", "5", "0", "B", "3", "0", "13", "11"};
    const auto lines = lines_of(first_look(all));
    EXPECT_EQ(lines[0], (Words{"job", "0000000000000abc,", "2", "nodes"}));
    EXPECT_EQ(lines[2], expected);
    values.is_of_rank = 1;
    expected[1] = "rank";
    EXPECT_EQ(lines_of(first_look(all))[2], expected);
}

TEST(AcpstatShow, later_looks_show_what_changed_per_second) {
    std::vector<Gateway> all = one();
    count(all[0].values, &datagram::EndpointCounters::datagrams_sent, 100);
    const gateway::StatsValues before = all[0].values;
    count(all[0].values, &datagram::EndpointCounters::datagrams_sent, 150);
    all[0].values.updated_ns += 500'000'000;
    const auto lines = lines_of(job_text({{&all[0], &before}}));
    EXPECT_EQ(lines[0].back(), "second");
    EXPECT_EQ(lines[2][4], "100") << "50 in half a second";
    // No counter has changed, so every rate is 0, and no quotient is divided by 0.
    EXPECT_EQ(lines_of(job_text({{&all[0], &all[0].values}}))[2][4], "0");
}

TEST(AcpstatShow, shows_each_peer_and_that_it_was_given_up) {
    std::vector<Gateway> all = one();
    gateway::StatsValues& values = all[0].values;
    EXPECT_EQ(first_look(all).find("round trip"), std::string::npos)
        << "there is no peer, so no round trip";
    values.peer_count = 2;
    values.peers[0].node = 1;
    values.peers[0].rtt_ns = 25'000;
    values.peers[0].window_bytes = 4096;
    values.peers[0].credit = 77;
    values.peers[1].node = 4;
    values.peers[1].is_severed = 1;
    const auto lines = lines_of(first_look(all));
    ASSERT_EQ(lines.size(), 7U);
    EXPECT_EQ((Words{lines[5].begin(), lines[5].begin() + 3}), (Words{"0", "agent", "1"}));
    EXPECT_NE(std::find(lines[5].begin(), lines[5].end(), "77"), lines[5].end());
    EXPECT_EQ(lines[6][3], "-") << "no round trip was measured";
    EXPECT_EQ(lines[6].back(), "severed");
}

// The JSON that a program gets from acpstat.
nlohmann::json published(const std::vector<Gateway>& all) {
    return nlohmann::json::parse(job_json(all).dump(2));
}

TEST(AcpstatShow, more_peers_than_there_is_room_for_are_not_read) {
    std::vector<Gateway> all = one();
    all[0].values.peer_count = ~0U;
    EXPECT_EQ(published(all)["nodes"][0]["peers"].size(), gateway::stats_peers_max);
    all[0].values.local_procs = ~0U;
    EXPECT_EQ(published(all)["nodes"][0]["outstanding_of"].size(), gateway::stats_slots_max);
    EXPECT_FALSE(first_look(all).empty());
}

TEST(AcpstatShow, shows_only_the_ranks_with_commands_outstanding) {
    std::vector<Gateway> all = one();
    all[0].values.outstanding_of[1] = 9;
    const auto lines = lines_of(first_look(all));
    ASSERT_EQ(lines.size(), 6U);
    EXPECT_EQ(lines[4], (Words{"node", "slot", "outstanding"}));
    EXPECT_EQ(lines[5], (Words{"0", "1", "9"}));
}

TEST(AcpstatShow, names_everything_that_went_wrong_and_counts_it_as_dropped) {
    std::vector<Gateway> all = one();
    count(all[0].values, &datagram::EndpointCounters::wrong_tag, 2);
    count(all[0].values, &datagram::EndpointCounters::short_header, 3);
    engine::FaultCounters faults;
    faults.lost = 4;
    faults.blackholed = 1;
    std::memcpy(all[0].values.tables.faults.data(), &faults, sizeof faults);
    const std::string text = first_look(all);
    EXPECT_EQ(lines_of(text)[2][11], "5") << text;
    EXPECT_NE(text.find("datagram wrong_tag"), std::string::npos) << text;
    const auto trouble = published(all)["nodes"][0]["trouble"];
    EXPECT_EQ(trouble.size(), 3U);
    EXPECT_EQ(trouble["datagram short_header"], 3);
    EXPECT_EQ(trouble["injected loss"], 5);
}

TEST(AcpstatShow, json_holds_what_the_gateway_published) {
    std::vector<Gateway> all = one();
    gateway::StatsValues& values = all[0].values;
    values.peer_count = 1;
    values.peers[0].node = 1;
    values.peers[0].bytes_sent = 123;
    values.outstanding_of[0] = 6;
    count(values, &datagram::EndpointCounters::datagrams_sent, 8);
    const auto json = published(all);
    EXPECT_EQ(json["job"], "0000000000000abc");
    const auto& node = json["nodes"][0];
    EXPECT_EQ(node["node"], 0);
    EXPECT_EQ(node["ranks"], 2);
    EXPECT_EQ(node["datagram"]["datagrams_sent"], 8);
    EXPECT_EQ(node["peers"][0]["bytes_sent"], 123);
    EXPECT_EQ(node["outstanding_of"], nlohmann::json({6, 0}));
}

// All names in a JSON value, at any depth.
void collect_names(const nlohmann::json& json, std::set<std::string>& names) {
    for (const auto& [name, value] : json.items()) {
        if (json.is_object()) names.insert(name);
        if (value.is_structured()) collect_names(value, names);
    }
}

std::string manual_page() {
    std::ifstream file(ACP_ACPSTAT_PAGE);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// "datagram wrong_tag" stands there as the kind and the name.
bool is_described(const std::string& page, const std::string& name) {
    const auto stands = [&](const std::string& word) {
        return page.find("**" + word + "**") != std::string::npos;
    };
    const std::size_t space = name.find(' ');
    return stands(name) || (space != std::string::npos && stands(name.substr(0, space)) &&
                            stands(name.substr(space + 1)));
}

TEST(AcpstatShow, every_name_of_the_json_stands_in_the_manual_page) {
    std::vector<Gateway> all = one();
    gateway::StatsValues& values = all[0].values;
    values.peer_count = 1;
    values.receive_drops = 1;
    gateway::StatsTables& tables = values.tables;
    tables.datagram.fill(1);
    tables.router.fill(1);
    tables.transport.fill(1);
    tables.faults.fill(1);
    std::set<std::string> names;
    collect_names(published(all), names);
    constexpr std::size_t least = 100;  // the tables alone have as many
    ASSERT_GE(names.size(), least);
    const std::string page = manual_page();
    for (const std::string& name : names) EXPECT_TRUE(is_described(page, name)) << name;
    EXPECT_FALSE(is_described(page, "no_such_name"));
}

}  // namespace
}  // namespace acp::stat
