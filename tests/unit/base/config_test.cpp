// SPDX-License-Identifier: BSD-3-Clause
// The configuration by ACP_* variables: defaults, each legal value, refusals with a reason, and a
// hint for a mistyped name. One thread.
#include "base/config.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/config_registry.hpp"
#include "base/edit_distance.hpp"
#include "base/parse.hpp"

namespace acp::base {
namespace {

Config config_of(const Environment& environment) {
    auto parsed = parse_config(environment);
    EXPECT_TRUE(parsed.is_ok()) << (parsed.is_ok() ? "" : parsed.failure().message());
    return parsed.is_ok() ? parsed.value().config : Config{};
}

std::string refusal_of(const Environment& environment) {
    const auto parsed = parse_config(environment);
    if (parsed.is_ok()) {
        ADD_FAILURE() << environment.front() << " was accepted";
        return "";
    }
    EXPECT_EQ(parsed.failure().code(), Code::config);
    return std::string(parsed.failure().message());
}

std::vector<std::string> warnings_of(const Environment& environment) {
    auto parsed = parse_config(environment);
    EXPECT_TRUE(parsed.is_ok());
    return parsed.is_ok() ? parsed.value().warnings : std::vector<std::string>{};
}

VariableState state_of(const Environment& environment, const std::string& name) {
    for (const VariableState& state : list_variables(config_of(environment), environment)) {
        if (state.name == name) return state;
    }
    ADD_FAILURE() << name << " is not listed";
    return {};
}

// For every user variable: its default as listed, accepted values, and refused ones.
struct Cases {
    std::string default_value;
    std::map<std::string, std::string> good;  // a value -> its listed form
    std::vector<std::string> bad;
};

const std::map<std::string, Cases>& all_cases() {
    static const std::map<std::string, Cases> cases{
        {"ACP_ON_ERROR",
         {"fatal", {{"fatal", "fatal"}, {"return", "return"}}, {"Fatal", "fatal "}}},
        {"ACP_SYSTEM_CALLS",
         {"native", {{"native", "native"}, {"dispatch", "dispatch"}}, {"notify", "Dispatch"}}},
        {"ACP_INTRANODE",
         {"auto",
          {{"auto", "auto"},
           {"direct", "direct"},
           {"attach", "attach"},
           {"mailbox", "mailbox"},
           {"udp", "udp"}},
          {"shm", "direct,attach"}}},
        {"ACP_ATTACH", {"auto", {{"auto", "auto"}, {"off", "off"}}, {"on", "0"}}},
        {"ACP_MAILBOX",
         {"mpsc",
          {{"mpsc", "mpsc"}, {"pairs", "pairs"}, {"bitmap", "bitmap"}},
          {"pair", "mpsc,pairs"}}},
        {"ACP_DATAGRAM",
         {"auto",
          {{"auto", "auto"}, {"64", "64"}, {"1408", "1408"}, {"8k", "8K"}, {"65000", "65000"}},
          {"63", "65001", "0", "64k", "-1", "large"}}},
        {"ACP_BYPASS",
         {"on", {{"on", "on"}, {"off", "off"}, {"1", "on"}, {"0", "off"}}, {"yes", "2"}}},
        {"ACP_INLINE_MAX",
         {"256K",
          {{"0", "0"}, {"4096", "4K"}, {"1G", "1G"}},
          {"1025M", "1073741825", "big", "-4"}}},
        {"ACP_STARTER_SIZE",
         {"64K", {{"0", "0"}, {"1T", "1T"}, {"0x1000", "4K"}}, {"1025G", "20kk", "1.5M", " 1M"}}},
        {"ACP_HEAP_SIZE",
         {"auto",
          {{"auto", "auto"}, {"0", "0"}, {"1T", "1T"}, {"3M", "3M"}},
          {"1025G", "-1", "much"}}},
        {"ACP_CHANNEL_BYTES",
         {"16K", {{"1K", "1K"}, {"4096", "4K"}, {"16M", "16M"}}, {"512", "32M", "3K", "0", "x"}}},
        {"ACP_EAGER_BYTES", {"16K", {{"0", "0"}, {"1G", "1G"}}, {"2G", "-1", "all"}}},
        {"ACP_CHANNEL_DEPTH",
         {"1024", {{"1", "1"}, {"1000000", "1000000"}}, {"0", "1000001", "-1", "few"}}},
        {"ACP_DSM_FAULTS",
         {"auto",
          {{"auto", "auto"},
           {"none", "none"},
           {"async", "async"},
           {"sync", "sync"},
           {"protect", "protect"}},
          {"uffd", "on", "async,sync"}}},
        {"ACP_DSM_CACHE",
         {"0", {{"0", "0"}, {"64M", "64M"}, {"1T", "1T"}}, {"1025G", "-1", "half"}}},
        {"ACP_DSM_CHECK",
         {"off",
          {{"off", "off"}, {"count", "count"}, {"stop", "stop"}, {"reads", "reads"}},
          {"on", "1", "read", "count,stop"}}},
        {"ACP_COLORS",
         {"1", {{"1", "1"}, {"2", "2"}, {"3", "3"}, {"4", "4"}}, {"0", "5", "two", "1k"}}},
        {"ACP_HANG_TIMEOUT",
         {"60",
          {{"0", "0"}, {"0.5", "0.5"}, {"3600", "3600"}},
          {"1m", "-1", "1e3", ".", "1.", "never"}}},
        {"ACP_TRACE", {"", {{"trace/run", "trace/run"}}, {}}},
        {"ACP_CHECK",
         {"off", {{"on", "on"}, {"off", "off"}, {"1", "on"}, {"0", "off"}}, {"yes", "2"}}},
        {"ACP_REPORT",
         {"off", {{"on", "on"}, {"off", "off"}, {"1", "on"}, {"0", "off"}}, {"true", "-"}}},
        {"ACP_REQUIRE",
         {"",
          {{"direct", "direct"},
           {"attach", "attach"},
           {"direct,attach,mailbox,udp", "direct,attach,mailbox,udp"}},
          {"shm", "direct,", ",direct", "direct,,attach", "direct attach"}}},
        {"ACP_DEVICES",
         {"",
          {{"far:64M", "far:64M"}, {"far:4K,far:1G:fail=3", "far:4K,far:1G:fail=3"}},
          {"cuda:0", "far", "far:1", "far:64M,", "far:64M fail=3"}}},
        {"ACP_SECURITY",
         {"encrypt",
          {{"encrypt", "encrypt"}, {"auth", "auth"}, {"off", "off"}},
          {"on", "none", "aes"}}},
        {"ACP_CONGESTION",
         {"delay",
          {{"delay", "delay"}, {"cubic", "cubic"}, {"newreno", "newreno"}},
          {"reno", "bbr", "Cubic"}}},
        {"ACP_CIPHER",
         {"auto", {{"auto", "auto"}, {"aes", "aes"}, {"chacha", "chacha"}}, {"des", "AES"}}},
        {"ACP_CIPHER_LIBRARY",
         {"auto",
          {{"auto", "auto"}, {"libcrypto", "libcrypto"}, {"ipsec-mb", "ipsec-mb"}},
          {"openssl"}}},
        {"ACP_GATEWAY", {"auto", {{"auto", "auto"}, {"agent", "agent"}}, {"rank", "own"}}},
        {"ACP_PEER_TIMEOUT", {"10", {{"0", "0"}, {"0.5", "0.5"}, {"60", "60"}}, {"10s", "-1"}}},
        {"ACP_SOCKET_BUFFER",
         {"8M", {{"64k", "64K"}, {"1G", "1G"}}, {"65535", "1025M", "0", "large"}}},
        {"ACP_PORTS",
         {"any",
          {{"any", "any"},
           {"4700-4799", "4700-4799"},
           {"1", "1-1"},
           {"65535-65535", "65535-65535"}},
          {"0", "0-10", "4799-4700", "4700-", "-4700", "65536", "1-65536", "1-2-3", "all"}}},
        {"ACP_RAILS", {"1", {{"1", "1"}, {"2", "2"}, {"3", "3"}, {"4", "4"}}, {"0", "5", "two"}}},
        {"ACP_FAULT",
         {"",
          {{"loss=0.01,seed=7", "loss=0.01,seed=7"}, {"delay=1ms", "delay=1ms"}},
          {"loss", "loss=2", "lose=0.1", "loss=0.1,"}}},
    };
    return cases;
}

TEST(Config, these_tests_cover_every_variable_of_the_registry) {
    std::set<std::string> tested;
    for (const auto& [name, cases] : all_cases()) tested.insert(name);
    std::set<std::string> registered;
    for (const Variable& row : variables()) registered.insert(std::string(row.name));
    EXPECT_EQ(tested, registered);
    EXPECT_EQ(registered.size(), variables().size()) << "a name is registered twice";
}

TEST(Config, an_empty_environment_gives_every_default) {
    for (const auto& [name, cases] : all_cases()) {
        const VariableState state = state_of({}, name);
        EXPECT_EQ(state.value, cases.default_value) << name;
        EXPECT_EQ(state.default_value, cases.default_value) << name;
        EXPECT_EQ(state.origin, "default") << name;
        EXPECT_FALSE(state.type.empty()) << name;
        EXPECT_FALSE(state.meaning.empty()) << name;
    }
}

TEST(Config, every_legal_value_is_taken_and_listed_with_its_origin) {
    for (const auto& [name, cases] : all_cases()) {
        for (const auto& [text, listed] : cases.good) {
            const VariableState state = state_of({name + "=" + text}, name);
            EXPECT_EQ(state.value, listed) << name << "=" << text;
            EXPECT_EQ(state.default_value, cases.default_value) << name << "=" << text;
            EXPECT_EQ(state.origin, "environment") << name << "=" << text;
        }
    }
}

TEST(Config, every_listed_value_is_read_back_as_itself) {
    for (const auto& [name, cases] : all_cases()) {
        for (const auto& [text, listed] : cases.good) {
            EXPECT_EQ(state_of({name + "=" + listed}, name).value, listed);
        }
    }
}

TEST(Config, a_value_that_does_not_fit_is_refused_with_name_value_and_what_fits) {
    for (const auto& [name, cases] : all_cases()) {
        std::string type = state_of({}, name).type;
        for (const Variable& row : variables()) {
            if (row.name == name && !row.whole_type.empty()) type = row.whole_type;
        }
        for (const std::string& text : cases.bad) {
            const std::string message = refusal_of({name + "=" + text});
            EXPECT_NE(message.find(name + "=" + text + " does not fit"), std::string::npos)
                << message;
            EXPECT_NE(message.find("it takes " + type), std::string::npos) << message;
        }
    }
}

TEST(Config, the_fields_have_the_values_of_the_variables) {
    EXPECT_EQ(config_of({"ACP_ON_ERROR=return"}).on_error, OnError::give_back);
    EXPECT_EQ(config_of({}).system_calls, SystemCallWay::native);
    EXPECT_EQ(config_of({"ACP_SYSTEM_CALLS=native"}).system_calls, SystemCallWay::native);
    EXPECT_EQ(config_of({"ACP_SYSTEM_CALLS=dispatch"}).system_calls, SystemCallWay::dispatch);
    EXPECT_EQ(config_of({"ACP_INTRANODE=direct"}).intranode, IntraNode::direct);
    EXPECT_EQ(config_of({"ACP_INTRANODE=attach"}).intranode, IntraNode::attach);
    EXPECT_EQ(config_of({"ACP_INTRANODE=mailbox"}).intranode, IntraNode::mailbox);
    EXPECT_EQ(config_of({"ACP_INTRANODE=udp"}).intranode, IntraNode::udp);
    EXPECT_EQ(config_of({"ACP_ATTACH=off"}).attach, AttachMode::off);
    EXPECT_EQ(config_of({"ACP_MAILBOX=pairs"}).mailbox, MailboxKind::pairs);
    EXPECT_EQ(config_of({"ACP_MAILBOX=bitmap"}).mailbox, MailboxKind::bitmap);
    EXPECT_EQ(config_of({"ACP_DATAGRAM=1408"}).datagram_bytes, 1408U);
    EXPECT_EQ(config_of({"ACP_DATAGRAM=auto"}).datagram_bytes, 0U);
    EXPECT_FALSE(config_of({"ACP_BYPASS=off"}).is_bypass_on);
    EXPECT_EQ(config_of({"ACP_INLINE_MAX=64k"}).inline_bytes_max, 65536U);
    EXPECT_EQ(config_of({"ACP_STARTER_SIZE=2G"}).starter_bytes, std::uint64_t{2} << 30);
    EXPECT_EQ(config_of({"ACP_DSM_FAULTS=none"}).page_fault_way, PageFaultWay::none);
    EXPECT_EQ(config_of({"ACP_DSM_FAULTS=async"}).page_fault_way, PageFaultWay::async);
    EXPECT_EQ(config_of({"ACP_DSM_FAULTS=sync"}).page_fault_way, PageFaultWay::sync);
    EXPECT_EQ(config_of({"ACP_DSM_FAULTS=protect"}).page_fault_way, PageFaultWay::protect);
    EXPECT_EQ(config_of({"ACP_DSM_CACHE=64M"}).page_cache_bytes, 67'108'864U);
    EXPECT_EQ(config_of({"ACP_DSM_CHECK=stop"}).page_check, PageCheck::stop);
    EXPECT_EQ(config_of({"ACP_COLORS=4"}).colors, 4U);
    EXPECT_EQ(config_of({"ACP_HANG_TIMEOUT=0.25"}).hang_timeout_ns, 250'000'000U);
    EXPECT_EQ(config_of({"ACP_TRACE=out/t"}).trace, "out/t");
    EXPECT_TRUE(config_of({"ACP_REPORT=1"}).is_report_on);
    EXPECT_EQ(config_of({"ACP_REQUIRE=direct,attach"}).require, "direct,attach");
    EXPECT_EQ(config_of({"ACP_SECURITY=auth"}).security, Security::authenticate);
    EXPECT_EQ(config_of({"ACP_SECURITY=off"}).security, Security::off);
    EXPECT_EQ(config_of({"ACP_CONGESTION=cubic"}).congestion, CongestionAlgorithm::cubic);
    EXPECT_EQ(config_of({"ACP_CONGESTION=newreno"}).congestion, CongestionAlgorithm::new_reno);
    EXPECT_EQ(config_of({"ACP_CIPHER=chacha"}).cipher, Cipher::chacha20_poly1305);
    EXPECT_EQ(config_of({"ACP_CIPHER_LIBRARY=ipsec-mb"}).cipher_library, CipherLibrary::ipsec_mb);
    EXPECT_EQ(config_of({"ACP_GATEWAY=agent"}).gateway, GatewayPlace::agent);
    EXPECT_EQ(config_of({"ACP_PEER_TIMEOUT=2.5"}).peer_timeout_ns, 2'500'000'000U);
    EXPECT_EQ(config_of({"ACP_SOCKET_BUFFER=1M"}).socket_bytes, 1U << 20);
    EXPECT_EQ(config_of({"ACP_PORTS=4700-4799"}).ports, (PortRange{4700, 4799}));
    EXPECT_EQ(config_of({"ACP_FAULT=loss=0.1"}).fault, "loss=0.1");
}

TEST(Config, there_is_a_colour_for_each_rail) {
    EXPECT_EQ(color_count(config_of({})), 1U);
    EXPECT_EQ(color_count(config_of({"ACP_RAILS=3"})), 3U);
    EXPECT_EQ(color_count(config_of({"ACP_RAILS=2", "ACP_COLORS=4"})), 4U);
    EXPECT_EQ(config_of({"ACP_RAILS=3"}).rails, 3U);
}

TEST(Config, several_misfits_are_all_named_at_once) {
    const std::string message = refusal_of({"ACP_COLORS=9", "ACP_BYPASS=maybe"});
    EXPECT_EQ(message,
              "ACP_BYPASS=maybe does not fit: it takes on|off|1|0 (default on); "
              "ACP_COLORS=9 does not fit: it takes 1..4 (default 1)");
}

TEST(Config, an_empty_value_is_as_good_as_none) {
    EXPECT_EQ(state_of({"ACP_COLORS="}, "ACP_COLORS").value, "1");
    EXPECT_EQ(state_of({"ACP_COLORS="}, "ACP_COLORS").origin, "default");
}

TEST(Config, of_two_entries_with_one_name_the_first_counts) {
    EXPECT_EQ(config_of({"ACP_COLORS=3", "ACP_COLORS=2"}).colors, 3U);
}

TEST(Config, a_mistyped_name_gets_a_warning_with_the_nearest_name) {
    EXPECT_EQ(warnings_of({"ACP_MAILBOXX=mpsc"}),
              std::vector<std::string>{
                  "ACP_MAILBOXX is not a variable of ACP (did you mean ACP_MAILBOX?)"});
    EXPECT_EQ(warnings_of({"ACP_INTARNODE=direct"}),
              std::vector<std::string>{
                  "ACP_INTARNODE is not a variable of ACP (did you mean ACP_INTRANODE?)"});
    EXPECT_EQ(warnings_of({"ACP_COLOURS=2"}),
              std::vector<std::string>{
                  "ACP_COLOURS is not a variable of ACP (did you mean ACP_COLORS?)"});
}

TEST(Config, an_unknown_name_like_no_other_gets_a_warning_without_one) {
    EXPECT_EQ(
        warnings_of({"ACP_FROBNICATE_HARDER=1"}),
        std::vector<std::string>{"ACP_FROBNICATE_HARDER is not a variable of ACP and is ignored "
                                 "(acpinfo -c lists them all)"});
    EXPECT_EQ(warnings_of({"ACP_=1"}).size(), 1U);
}

TEST(Config, warnings_come_in_the_order_of_names) {
    const auto warnings = warnings_of({"ACP_ZZZZZZ=1", "ACP_AAAAAA=1", "ACP_MMMMMM=1"});
    ASSERT_EQ(warnings.size(), 3U);
    EXPECT_LT(warnings[0], warnings[1]);
    EXPECT_LT(warnings[1], warnings[2]);
}

TEST(Config, other_programs_variables_are_none_of_our_business) {
    EXPECT_TRUE(
        warnings_of({"PATH=/bin", "ACPI=1", "acp_colors=7", "ACP_COLORS", "", "=x"}).empty());
}

TEST(Config, the_launchers_variables_are_known_and_listed_as_its_own) {
    const Environment environment{"ACP_RANK=3", "ACP_PROCS=8",     "ACP_NODE_FD=5",
                                  "ACP_SLOT=3", "ACP_JOB_ID=ab12", "ACP_TERMINAL=1"};
    EXPECT_TRUE(warnings_of(environment).empty());
    EXPECT_EQ(state_of(environment, "ACP_RANK").value, "3");
    EXPECT_EQ(state_of(environment, "ACP_RANK").origin, "launcher");
    EXPECT_EQ(state_of({}, "ACP_RANK").origin, "not set");
    EXPECT_EQ(state_of({}, "ACP_TERMINAL").value, "");
}

TEST(Config, the_one_of_them_that_users_set_is_checked) {
    for (const char* const value : {"", "0", "1"}) {
        EXPECT_TRUE(parse_config({std::string("ACP_SINGLETON=") + value}).is_ok()) << value;
    }
    const auto refused = parse_config({"ACP_SINGLETON=x", "ACP_COLORS=9"});
    ASSERT_FALSE(refused.is_ok());
    EXPECT_EQ(refused.failure().code(), Code::config);
    EXPECT_EQ(refused.failure().message(),
              "ACP_COLORS=9 does not fit: it takes 1..4 (default 1); "
              "ACP_SINGLETON=x does not fit: it takes 0|1 (default 0)");
    EXPECT_EQ(state_of({}, "ACP_SINGLETON").default_value, "0");
}

TEST(Config, the_refusal_of_a_range_of_ports_names_its_bounds_and_their_order) {
    for (const char* const value : {"9-3", "0-0", "1-65536"}) {
        const auto refused = parse_config({std::string("ACP_PORTS=") + value});
        ASSERT_FALSE(refused.is_ok()) << value;
        EXPECT_EQ(refused.failure().message(),
                  "ACP_PORTS=" + std::string(value) +
                      " does not fit: it takes any|FIRST-LAST, two ports of 1..65535 with "
                      "FIRST <= LAST (default any)");
    }
}

TEST(ParseSize, reads_numbers_and_every_suffix) {
    const std::map<std::string, std::uint64_t> good{
        {"0", 0},
        {"1", 1},
        {"1048576", 1048576},
        {"0x1000", 4096},
        {"0XfF", 255},
        {"1b", 1},
        {"1B", 1},
        {"1k", 1024},
        {"1K", 1024},
        {"1kb", 1024},
        {"1KiB", 1024},
        {"1kIb", 1024},
        {"64k", 65536},
        {"3M", std::uint64_t{3} << 20},
        {"3mib", std::uint64_t{3} << 20},
        {"2G", std::uint64_t{2} << 30},
        {"1T", std::uint64_t{1} << 40},
        {"16777215T", std::uint64_t{16777215} << 40},
        {"0x10k", 16384},
        {"18446744073709551615", std::numeric_limits<std::uint64_t>::max()},
    };
    for (const auto& [text, bytes] : good) EXPECT_EQ(parse_size(text), bytes) << text;
}

TEST(ParseSize, refuses_everything_else) {
    for (const char* const text : {"",          " ",
                                   "k",         "20kk",
                                   "1ki",       "1bb",
                                   "1kbb",      "1iB",
                                   "1e6",       "1.5k",
                                   "-1",        "+1",
                                   " 1",        "1 ",
                                   "1 k",       "0x",
                                   "0xg",       "1P",
                                   "one",       "18446744073709551616",
                                   "16777216T", "18446744073709551615k"}) {
        EXPECT_EQ(parse_size(text), std::nullopt) << "'" << text << "'";
    }
}

TEST(ParseUnsigned, takes_digits_alone) {
    EXPECT_EQ(parse_unsigned("42"), 42U);
    EXPECT_EQ(parse_unsigned("0x2a"), 42U);
    for (const char* const text : {"", "42k", "-1", "4 2", "0x"}) {
        EXPECT_EQ(parse_unsigned(text), std::nullopt) << text;
    }
}

TEST(ParseSeconds, keeps_nine_digits_and_has_a_limit) {
    EXPECT_EQ(parse_seconds("0.000000001"), 1U);
    EXPECT_EQ(parse_seconds(".5"), 500'000'000U);
    EXPECT_EQ(parse_seconds("."), std::nullopt);
    EXPECT_EQ(parse_seconds("1000000000"), 1'000'000'000'000'000'000U);
    EXPECT_EQ(parse_seconds("1000000000.1"), std::nullopt);
    EXPECT_EQ(parse_seconds("1000000001"), std::nullopt);
    EXPECT_EQ(parse_seconds("0.0000000001"), std::nullopt);
    EXPECT_EQ(parse_seconds("0.x"), std::nullopt);
    EXPECT_EQ(parse_seconds(""), std::nullopt);
}

TEST(SizeText, is_short_and_exact) {
    EXPECT_EQ(size_text(0), "0");
    EXPECT_EQ(size_text(1000), "1000");
    EXPECT_EQ(size_text(1024), "1K");
    EXPECT_EQ(size_text(1536), "1536");
    EXPECT_EQ(size_text(std::uint64_t{1} << 60), "1048576T");
}

TEST(EditDistance, counts_single_letter_edits_and_swapped_neighbours) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("abc", ""), 3U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("abcd", "abdc"), 1U);
    EXPECT_EQ(edit_distance("ca", "abc"), 3U);
}

TEST(NearestWord, takes_the_first_of_equals_and_nothing_far) {
    EXPECT_EQ(nearest_word("beer", {"bear", "deer"}), "bear");
    EXPECT_EQ(nearest_word("beer", {"wine", "water"}), std::nullopt);
    EXPECT_EQ(nearest_word("beer", {}), std::nullopt);
}

}  // namespace
}  // namespace acp::base
