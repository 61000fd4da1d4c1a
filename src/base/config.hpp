// SPDX-License-Identifier: BSD-3-Clause
// Every ACP_* variable: its name, type, default, meaning and origin, and the plain struct that is
// passed to the layers. This is the one place that turns text into configuration; api/ and the
// tools parse it once and pass it down. Knows no layer above base. Call from one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/datagram_modes.hpp"
#include "base/status.hpp"

namespace acp::base {

enum class SystemCallWay { native, dispatch };                     // ACP_SYSTEM_CALLS
enum class OnError { fatal, give_back };                           // ACP_ON_ERROR=fatal|return
enum class IntraNode { automatic, direct, attach, mailbox, udp };  // ACP_INTRANODE=auto|direct|...
enum class MailboxKind { mpsc, pairs, bitmap };                    // ACP_MAILBOX
enum class AttachMode { automatic, off };  // ACP_ATTACH=auto|off (off: as if forbidden)
enum class Cipher { automatic, aes_128_gcm, chacha20_poly1305 };    // ACP_CIPHER=auto|aes|chacha
enum class CipherLibrary { automatic, libcrypto, ipsec_mb };        // ACP_CIPHER_LIBRARY
enum class GatewayPlace { automatic, agent };                       // ACP_GATEWAY=auto|agent
enum class PageFaultWay { automatic, none, async, sync, protect };  // ACP_DSM_FAULTS=auto|none|...
enum class PageCheck { off, count, stop, reads };                   // ACP_DSM_CHECK=off|count|...

// UDP ports first .. last; first 0: the kernel chooses any.
struct PortRange {
    std::uint16_t first = 0;
    std::uint16_t last = 0;

    friend bool operator==(const PortRange&, const PortRange&) = default;
};

inline constexpr std::uint64_t heap_automatic = ~std::uint64_t{0};

// The settings of the library: one field for each variable that users may set. Sizes in bytes,
// times in ns.
struct Config {
    SystemCallWay system_calls = SystemCallWay::native;     // ACP_SYSTEM_CALLS
    OnError on_error = OnError::fatal;                      // ACP_ON_ERROR
    IntraNode intranode = IntraNode::automatic;             // ACP_INTRANODE
    AttachMode attach = AttachMode::automatic;              // ACP_ATTACH
    MailboxKind mailbox = MailboxKind::mpsc;                // ACP_MAILBOX
    std::uint32_t datagram_bytes = 0;                       // ACP_DATAGRAM=auto|64..65000; 0 = auto
    bool is_bypass_on = true;                               // ACP_BYPASS=on|off
    PageFaultWay page_fault_way = PageFaultWay::automatic;  // ACP_DSM_FAULTS
    std::uint64_t page_cache_bytes = 0;                     // ACP_DSM_CACHE=0..1T; 0 = no bound
    PageCheck page_check = PageCheck::off;                  // ACP_DSM_CHECK
    std::uint64_t inline_bytes_max = 262'144;               // ACP_INLINE_MAX=0..1G
    // ACP_STARTER_SIZE=0..1T; the launcher's value wins
    std::uint64_t starter_bytes = 65'536;
    // ACP_HEAP_SIZE=auto|0..1T: the most that each rank's heap may take; the launcher resolves it
    std::uint64_t heap_bytes = heap_automatic;
    // A channel's ring in bytes, a power of two (ACP_CHANNEL_BYTES); the length up to which a
    // message between nodes goes through the ring, while the receiver fetches longer ones
    // (ACP_EAGER_BYTES); the most requests in flight on one channel (ACP_CHANNEL_DEPTH)
    std::uint64_t channel_bytes = 16'384;
    std::uint64_t eager_bytes = 16'384;
    std::uint32_t channel_requests = 1024;
    std::uint32_t colors = 1;                        // ACP_COLORS=1..4; color_count()
    std::uint64_t hang_timeout_ns = 60'000'000'000;  // ACP_HANG_TIMEOUT=seconds; 0 = never
    std::string trace;  // ACP_TRACE=PREFIX; "" = off; writes PREFIX.RANK
    // ACP_CHECK=0|1: every command is checked for mistakes of the program
    bool is_check_on = false;
    bool is_report_on = false;  // ACP_REPORT=0|1: paths and bytes at finalize
    std::string require;        // ACP_REQUIRE=direct|attach,...: else init fails
    std::string devices;        // ACP_DEVICES=list: of each rank; base/device_plan.hpp
    // between nodes; here the launcher's values win
    Security security = Security::encrypt;                        // ACP_SECURITY
    CongestionAlgorithm congestion = CongestionAlgorithm::delay;  // ACP_CONGESTION
    Cipher cipher = Cipher::automatic;  // ACP_CIPHER; the launcher resolves it
    CipherLibrary cipher_library = CipherLibrary::automatic;  // ACP_CIPHER_LIBRARY
    GatewayPlace gateway = GatewayPlace::automatic;           // ACP_GATEWAY: who carries commands
    std::uint64_t peer_timeout_ns = 10'000'000'000;           // ACP_PEER_TIMEOUT=seconds; 0 = never
    std::uint32_t socket_bytes = 8'388'608;  // ACP_SOCKET_BUFFER=64K..1G: wanted receive buffer
    PortRange ports;                         // ACP_PORTS=any|FIRST-LAST: of a gateway's sockets
    std::uint32_t rails = 1;                 // ACP_RAILS=1..4: networks that lead from node to node
    std::string fault;  // ACP_FAULT=list: faults to inject; base/fault_plan.hpp
};

// The number of colours: at least one for each rail.
[[nodiscard]] inline std::uint32_t color_count(const Config& config) noexcept {
    return std::max(config.colors, config.rails);
}

// One variable as `acpinfo -c` lists it.
struct VariableState {
    std::string name;   // "ACP_ON_ERROR"
    std::string type;   // "fatal|return", "size 0..1G", "on|off", ...
    std::string value;  // the value in force
    std::string default_value;
    std::string origin;   // "default", "environment", later "file PATH"
    std::string meaning;  // one line
};

struct ParsedConfig {
    Config config;
    // "ACP_MAILBOXX is not a variable of ACP (did you mean ACP_MAILBOX?)"
    std::vector<std::string> warnings;
};

// Environment entries "NAME=VALUE" (all of them, not only ACP_*), as environ holds them.
using Environment = std::vector<std::string>;

// Parses the environment. A value that does not parse is Code::config; the message has the
// variable, the value and the values that are allowed. An unknown ACP_* name gives a warning with
// the nearest known name.
Result<ParsedConfig> parse_config(const Environment& environment);

// All variables, in the order of Config's fields, then those internal to the launcher. For tools: a
// rank, which may have thousands beside it, makes no such list.
//   config  what parse_config() made of the environment
std::vector<VariableState> list_variables(const Config& config, const Environment& environment);

// "64k", "2G", "1048576", "0x1000" -> bytes (k, M, G, T are powers of 1024, any case, optional "B"
// or "iB"); nullopt for anything else, for overflow, and for "20kk".
std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace acp::base
