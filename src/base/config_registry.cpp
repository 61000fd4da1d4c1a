// SPDX-License-Identifier: BSD-3-Clause
// The rows, and the few kinds of values: a choice of words, a switch, a number in a range, seconds,
// text. Defaults are not written here: they are what Config{} holds.
#include "base/config_registry.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/device_plan.hpp"
#include "base/fault_plan.hpp"
#include "base/parse.hpp"

namespace acp::base {

namespace {

template <typename Value>
using Word = std::pair<std::string_view, Value>;

constexpr std::array<Word<SystemCallWay>, 2> system_call_words{
    {{"native", SystemCallWay::native}, {"dispatch", SystemCallWay::dispatch}}};

constexpr std::array<Word<OnError>, 2> on_error_words{
    {{"fatal", OnError::fatal}, {"return", OnError::give_back}}};
constexpr std::array<Word<IntraNode>, 5> intranode_words{{{"auto", IntraNode::automatic},
                                                          {"direct", IntraNode::direct},
                                                          {"attach", IntraNode::attach},
                                                          {"mailbox", IntraNode::mailbox},
                                                          {"udp", IntraNode::udp}}};
constexpr std::array<Word<AttachMode>, 2> attach_words{
    {{"auto", AttachMode::automatic}, {"off", AttachMode::off}}};
constexpr std::array<Word<Security>, 3> security_words{
    {{"encrypt", Security::encrypt}, {"auth", Security::authenticate}, {"off", Security::off}}};
constexpr std::array<Word<CongestionAlgorithm>, 3> congestion_words{
    {{"delay", CongestionAlgorithm::delay},
     {"cubic", CongestionAlgorithm::cubic},
     {"newreno", CongestionAlgorithm::new_reno}}};
constexpr std::array<Word<Cipher>, 3> cipher_words{{{"auto", Cipher::automatic},
                                                    {"aes", Cipher::aes_128_gcm},
                                                    {"chacha", Cipher::chacha20_poly1305}}};
constexpr std::array<Word<CipherLibrary>, 3> cipher_library_words{
    {{"auto", CipherLibrary::automatic},
     {"libcrypto", CipherLibrary::libcrypto},
     {"ipsec-mb", CipherLibrary::ipsec_mb}}};
constexpr std::array<Word<GatewayPlace>, 2> gateway_words{
    {{"auto", GatewayPlace::automatic}, {"agent", GatewayPlace::agent}}};
constexpr std::array<Word<PageFaultWay>, 5> page_fault_words{{{"auto", PageFaultWay::automatic},
                                                              {"none", PageFaultWay::none},
                                                              {"async", PageFaultWay::async},
                                                              {"sync", PageFaultWay::sync},
                                                              {"protect", PageFaultWay::protect}}};
constexpr std::array<Word<PageCheck>, 4> page_check_words{{{"off", PageCheck::off},
                                                           {"count", PageCheck::count},
                                                           {"stop", PageCheck::stop},
                                                           {"reads", PageCheck::reads}}};
constexpr std::array<Word<MailboxKind>, 3> mailbox_words{
    {{"mpsc", MailboxKind::mpsc}, {"pairs", MailboxKind::pairs}, {"bitmap", MailboxKind::bitmap}}};
// For a value with several words, the first one is shown.
constexpr std::array<Word<bool>, 4> switch_words{
    {{"off", false}, {"on", true}, {"0", false}, {"1", true}}};
constexpr std::array<std::string_view, 4> path_names{"direct", "attach", "mailbox", "udp"};

constexpr std::uint64_t kibi = 1024;
constexpr std::uint64_t inline_bytes_limit = kibi * kibi * kibi;
constexpr std::uint64_t starter_bytes_limit = kibi * kibi * kibi * kibi;
constexpr std::uint64_t heap_bytes_limit = kibi * kibi * kibi * kibi;
constexpr std::uint64_t page_cache_bytes_limit = kibi * kibi * kibi * kibi;
constexpr std::uint64_t datagram_bytes_least = 64;
constexpr std::uint64_t datagram_bytes_limit = 65000;
constexpr std::uint64_t channel_bytes_least = kibi;
constexpr std::uint64_t channel_bytes_limit = 16 * kibi * kibi;
constexpr std::uint64_t channel_requests_limit = 1'000'000;
constexpr std::uint64_t eager_bytes_limit = kibi * kibi * kibi;
constexpr std::uint64_t colors_limit = 4;
constexpr std::uint64_t socket_bytes_least = 64 * kibi;
constexpr std::uint64_t socket_bytes_limit = kibi * kibi * kibi;

template <typename Value, std::size_t count>
bool parse_word(std::string_view text, const std::array<Word<Value>, count>& words, Value& value) {
    for (const auto& [word, meant] : words) {
        if (text == word) {
            value = meant;
            return true;
        }
    }
    return false;
}

template <typename Value, std::size_t count>
std::string show_word(Value value, const std::array<Word<Value>, count>& words) {
    for (const auto& [word, meant] : words) {
        if (value == meant) return std::string(word);
    }
    return "?";
}

template <typename Number>
bool parse_range(std::string_view text, std::uint64_t least, std::uint64_t most, Number& number) {
    const std::optional<std::uint64_t> value = parse_size(text);
    if (!value || *value < least || *value > most) return false;
    number = static_cast<Number>(*value);
    return true;
}

bool parse_datagram(std::string_view text, Config& config) {
    if (text == "auto") {
        config.datagram_bytes = 0;
        return true;
    }
    return parse_range(text, datagram_bytes_least, datagram_bytes_limit, config.datagram_bytes);
}

std::string show_datagram(const Config& config) {
    return config.datagram_bytes == 0 ? "auto" : size_text(config.datagram_bytes);
}

bool parse_heap(std::string_view text, Config& config) {
    if (text == "auto") {
        config.heap_bytes = heap_automatic;
        return true;
    }
    return parse_range(text, 0, heap_bytes_limit, config.heap_bytes);
}

std::string show_heap(const Config& config) {
    return config.heap_bytes == heap_automatic ? "auto" : size_text(config.heap_bytes);
}

bool parse_ports(std::string_view text, Config& config) {
    constexpr std::uint64_t port_max = 65535;
    if (text == "any") {
        config.ports = {};
        return true;
    }
    const std::size_t dash = text.find('-');
    const auto first = parse_unsigned(text.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_unsigned(text.substr(dash + 1));
    if (!first || !last || *first == 0 || *last < *first || *last > port_max) return false;
    config.ports = {static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
    return true;
}

std::string show_ports(const Config& config) {
    if (config.ports.first == 0) return "any";
    return std::to_string(config.ports.first) + "-" + std::to_string(config.ports.last);
}

bool parse_channel_bytes(std::string_view text, Config& config) {
    std::uint64_t bytes = 0;
    if (!parse_range(text, channel_bytes_least, channel_bytes_limit, bytes) ||
        !std::has_single_bit(bytes)) {
        return false;
    }
    config.channel_bytes = bytes;
    return true;
}

bool parse_channel_requests(std::string_view text, Config& config) {
    const std::optional<std::uint64_t> value = parse_unsigned(text);
    if (!value || *value < 1 || *value > channel_requests_limit) return false;
    config.channel_requests = static_cast<std::uint32_t>(*value);
    return true;
}

template <std::uint32_t Config::*field>
bool parse_color_count(std::string_view text, Config& config) {
    const std::optional<std::uint64_t> value = parse_unsigned(text);
    if (!value || *value < 1 || *value > colors_limit) return false;
    config.*field = static_cast<std::uint32_t>(*value);
    return true;
}

// Functions of a row whose field is a time in seconds.
template <auto field>
bool parse_duration(std::string_view text, Config& config) {
    const std::optional<std::uint64_t> duration_ns = parse_seconds(text);
    if (!duration_ns) return false;
    config.*field = *duration_ns;
    return true;
}

template <auto field>
std::string show_duration(const Config& config) {
    return seconds_text(config.*field);
}

bool parse_socket_bytes(std::string_view text, Config& config) {
    return parse_range(text, socket_bytes_least, socket_bytes_limit, config.socket_bytes);
}

bool parse_fault(std::string_view text, Config& config) {
    if (!parse_fault_plan(text)) return false;
    config.fault = text;
    return true;
}

bool parse_devices(std::string_view text, Config& config) {
    if (!parse_device_plan(text)) return false;
    config.devices = text;
    return true;
}

// Accepts names of paths with single commas between them; "" requires nothing.
bool parse_require(std::string_view text, Config& config) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        const std::string_view name = rest.substr(0, comma);
        bool is_known = false;
        for (const std::string_view path : path_names) is_known = is_known || name == path;
        const bool ends_in_comma = comma != std::string_view::npos && comma + 1 == rest.size();
        if (!is_known || ends_in_comma) return false;
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
    config.require = text;
    return true;
}

// Functions of a row whose field takes one of `words`.
template <auto field, const auto& words>
bool parse_choice(std::string_view text, Config& config) {
    return parse_word(text, words, config.*field);
}

template <auto field, const auto& words>
std::string show_choice(const Config& config) {
    return show_word(config.*field, words);
}

// Functions of a row whose field is a size of at most `limit` bytes.
template <auto field, std::uint64_t limit>
bool parse_bytes(std::string_view text, Config& config) {
    return parse_range(text, 0, limit, config.*field);
}

template <auto field>
std::string show_bytes(const Config& config) {
    return size_text(config.*field);
}

bool parse_trace(std::string_view text, Config& config) {
    config.trace = text;
    return true;
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Variable>& variables() {
    static const std::vector<Variable> rows{
        {"ACP_ON_ERROR", "fatal|return",
         "what a failing call does that nobody looks at (acp_errors(7))",
         parse_choice<&Config::on_error, on_error_words>,
         show_choice<&Config::on_error, on_error_words>},
        {"ACP_INTRANODE", "auto|direct|attach|mailbox|udp",
         "path between processes of one node; auto takes the fastest that works",
         parse_choice<&Config::intranode, intranode_words>,
         show_choice<&Config::intranode, intranode_words>},
        {"ACP_ATTACH", "auto|off", "off: never read or write another process's private memory",
         parse_choice<&Config::attach, attach_words>, show_choice<&Config::attach, attach_words>},
        {"ACP_MAILBOX", "mpsc|pairs|bitmap", "layout of the mailbox path's buffers",
         parse_choice<&Config::mailbox, mailbox_words>,
         show_choice<&Config::mailbox, mailbox_words>},
        {"ACP_DATAGRAM", "auto|size 64..65000", "bytes per datagram of the mailbox and udp paths",
         parse_datagram, show_datagram},
        {"ACP_BYPASS", "on|off|1|0", "mailbox, udp: the caller itself copies within its own memory",
         parse_choice<&Config::is_bypass_on, switch_words>,
         show_choice<&Config::is_bypass_on, switch_words>},
        {"ACP_INLINE_MAX", "size 0..1G", "largest direct copy done inside the call that issues it",
         parse_bytes<&Config::inline_bytes_max, inline_bytes_limit>,
         show_bytes<&Config::inline_bytes_max>},
        {"ACP_STARTER_SIZE", "size 0..1T", "starter memory of every rank (acprun's option wins)",
         parse_bytes<&Config::starter_bytes, starter_bytes_limit>,
         show_bytes<&Config::starter_bytes>},
        {"ACP_HEAP_SIZE", "auto|size 0..1T",
         "most memory of every rank for acp_malloc (acprun's option wins)", parse_heap, show_heap},
        {"ACP_CHANNEL_BYTES", "power of two 1K..16M", "a channel's ring, in the receiver's heap",
         parse_channel_bytes, show_bytes<&Config::channel_bytes>},
        {"ACP_EAGER_BYTES", "size 0..1G",
         "longer messages of channels between nodes are fetched by the receiver",
         parse_bytes<&Config::eager_bytes, eager_bytes_limit>, show_bytes<&Config::eager_bytes>},
        {"ACP_CHANNEL_DEPTH", "1..1000000", "sends or receives under way on one channel",
         parse_channel_requests,
         [](const Config& config) { return std::to_string(config.channel_requests); }},
        {"ACP_DSM_FAULTS", "auto|none|async|sync|protect",
         "how writes to shared pages are found; auto: the best that the kernel has",
         parse_choice<&Config::page_fault_way, page_fault_words>,
         show_choice<&Config::page_fault_way, page_fault_words>},
        {"ACP_DSM_CACHE", "size 0..1T",
         "copies of other nodes' shared pages that a node keeps; 0: no bound",
         parse_bytes<&Config::page_cache_bytes, page_cache_bytes_limit>,
         show_bytes<&Config::page_cache_bytes>},
        {"ACP_DSM_CHECK", "off|count|stop|reads",
         "report bytes of shared pages that two nodes wrote without an order",
         parse_choice<&Config::page_check, page_check_words>,
         show_choice<&Config::page_check, page_check_words>},
        {"ACP_SYSTEM_CALLS", "native|dispatch",
         "whether all system calls of device functions go to the executor",
         parse_choice<&Config::system_calls, system_call_words>,
         show_choice<&Config::system_calls, system_call_words>},
        {"ACP_COLORS", "1..4", "number of colours a registration can choose from",
         parse_color_count<&Config::colors>,
         [](const Config& config) { return std::to_string(config.colors); }},
        {"ACP_HANG_TIMEOUT", "seconds, 0 never",
         "a wait this long makes acprun say what all ranks do",
         parse_duration<&Config::hang_timeout_ns>, show_duration<&Config::hang_timeout_ns>},
        {"ACP_TRACE", "file prefix", "each rank writes who moved which bytes to PREFIX.RANK",
         parse_trace, [](const Config& config) { return config.trace; }},
        {"ACP_CHECK", "on|off|1|0", "tell of copies that overlap and handles never given out",
         parse_choice<&Config::is_check_on, switch_words>,
         show_choice<&Config::is_check_on, switch_words>},
        {"ACP_REPORT", "on|off|1|0", "print paths and bytes used when the job ends",
         parse_choice<&Config::is_report_on, switch_words>,
         show_choice<&Config::is_report_on, switch_words>},
        {"ACP_REQUIRE", "list of direct,attach,mailbox,udp",
         "acp_init fails unless each of these paths works", parse_require,
         [](const Config& config) { return config.require; }},
        {"ACP_DEVICES", device_plan_type, "devices of this rank besides device 0", parse_devices,
         [](const Config& config) { return config.devices; }, device_plan_terms},
        {"ACP_SECURITY", "encrypt|auth|off",
         "datagrams between nodes: encrypted, only authenticated, or trusted",
         parse_choice<&Config::security, security_words>,
         show_choice<&Config::security, security_words>},
        {"ACP_CONGESTION", "delay|cubic|newreno",
         "between nodes: what limits the bytes under way, delay and loss or loss alone",
         parse_choice<&Config::congestion, congestion_words>,
         show_choice<&Config::congestion, congestion_words>},
        {"ACP_CIPHER", "auto|aes|chacha",
         "what protects datagrams between nodes: AES-128-GCM or ChaCha20-Poly1305",
         parse_choice<&Config::cipher, cipher_words>, show_choice<&Config::cipher, cipher_words>},
        {"ACP_CIPHER_LIBRARY", "auto|libcrypto|ipsec-mb", "which library computes the cipher",
         parse_choice<&Config::cipher_library, cipher_library_words>,
         show_choice<&Config::cipher_library, cipher_library_words>},
        {"ACP_GATEWAY", "auto|agent",
         "auto: where each node has one rank, ranks reach other nodes themselves",
         parse_choice<&Config::gateway, gateway_words>,
         show_choice<&Config::gateway, gateway_words>},
        {"ACP_PEER_TIMEOUT", "seconds, 0 never",
         "a node from which nothing is heard this long while it is needed is lost",
         parse_duration<&Config::peer_timeout_ns>, show_duration<&Config::peer_timeout_ns>},
        {"ACP_SOCKET_BUFFER", "size 64K..1G", "receive buffer a gateway wishes for each socket",
         parse_socket_bytes, show_bytes<&Config::socket_bytes>},
        {"ACP_PORTS", "any|FIRST-LAST", "UDP ports of the gateways, for firewalls between nodes",
         parse_ports, show_ports, "any|FIRST-LAST, two ports of 1..65535 with FIRST <= LAST"},
        {"ACP_RAILS", "1..4", "networks between nodes, chosen by colour (acprun's option wins)",
         parse_color_count<&Config::rails>,
         [](const Config& config) { return std::to_string(config.rails); }},
        {"ACP_FAULT", fault_plan_type, "faults to inject between nodes, for tests", parse_fault,
         [](const Config& config) { return config.fault; }, fault_plan_terms},
    };
    return rows;
}

const std::vector<LauncherVariable>& launcher_variables() {
    static const std::vector<LauncherVariable> rows{
        {"ACP_RANK", "integer", "this process's rank at start"},
        {"ACP_PROCS", "integer", "number of ranks of the job"},
        {"ACP_NODE_FD", "descriptor", "the node segment, inherited"},
        {"ACP_NODE_SOCKET", "name:token",
         "where a process that has not inherited it asks the agent"},
        {"ACP_SLOT", "integer", "this process's slot in the node segment"},
        {"ACP_NODE", "integer", "this node's number, from 0"},
        {"ACP_NODES", "integer", "number of nodes of the job"},
        {"ACP_NODE_ADDRESS", "address",
         "the first address of this node's gateway, in a job of several"},
        {"ACP_JOB_ID", "text", "tells jobs apart in messages"},
        {"ACP_TERMINAL", "columns", "width of the launcher's terminal, set when it has one"},
        {"ACP_SINGLETON", "0|1", "set by users: be a job of one rank under a foreign launcher",
         [](std::string_view text) { return text == "0" || text == "1"; }, "0"},
        {"ACP_SSH", "command", "set by users: what acprun reaches hosts by instead of ssh"},
        {"ACP_CC", "command", "set by users: the compiler acpcc calls"},
        {"ACP_CXX", "command", "set by users: the compiler acpc++ calls"},
    };
    return rows;
}

bool is_of_job(std::string_view name) {
    constexpr std::array<std::string_view, 14> names{
        "ACP_STARTER_SIZE",  "ACP_HEAP_SIZE",  "ACP_MAILBOX", "ACP_INTRANODE", "ACP_DATAGRAM",
        "ACP_SECURITY",      "ACP_CONGESTION", "ACP_CIPHER",  "ACP_GATEWAY",   "ACP_PEER_TIMEOUT",
        "ACP_SOCKET_BUFFER", "ACP_FAULT",      "ACP_RAILS",   "ACP_PORTS"};
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace acp::base
