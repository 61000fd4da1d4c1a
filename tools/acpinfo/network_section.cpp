// SPDX-License-Identifier: BSD-3-Clause
// The section about jobs over several machines: what protects and carries their datagrams here, and
// what starts them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <new>
#include <span>

#include "base/format.hpp"
#include "crypto/choose.hpp"
#include "os/clock.hpp"
#include "os/datagram_socket.hpp"
#include "os/interfaces.hpp"

#include "common/program.hpp"
#include "kernel_text.hpp"
#include "launch/network_choice.hpp"
#include "sections.hpp"

namespace acp::acpinfo {

namespace {

constexpr std::size_t datagram_bytes = 8972;  // the longest of a path with an MTU of 9000
constexpr int datagrams_per_round = 100;
constexpr int rounds = 5;

// The bytes that a thread seals in a second, of the fastest round; 0: no memory.
double sealed_per_second(datagram::CipherSuite& suite) {
    const std::array<std::byte, datagram::key_bytes_max> key{};
    const auto aead = suite.make(datagram::Bytes(key).first(suite.key_bytes()));
    if (aead == nullptr) return 0;
    std::vector<std::byte> buffer(datagram_bytes + datagram::tag_bytes);
    const datagram::Bytes plain(buffer.data(), datagram_bytes);
    std::uint64_t best_ns = ~std::uint64_t{0};
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t begin_ns = os::now_ns();
        for (int i = 0; i < datagrams_per_round; ++i) aead->seal({}, {}, plain, buffer);
        best_ns = std::min(best_ns, os::now_ns() - begin_ns);
    }
    constexpr double ns_per_second = 1e9;
    return datagrams_per_round * static_cast<double>(datagram_bytes) * ns_per_second /
           static_cast<double>(std::max<std::uint64_t>(best_ns, 1));
}

Fact cipher_fact(const base::Config& config) {
    // libcrypto crashes where memory is refused while it is loaded.
    constexpr std::size_t room_bytes = 8U << 20U;
    if (std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[room_bytes]) == nullptr) {
        return {"cipher", "not tried: no memory is left to load a library", Verdict::broken};
    }
    const auto wish = static_cast<crypto::CipherWish>(config.cipher);
    const auto backend = static_cast<crypto::BackendWish>(config.cipher_library);
    auto suite = crypto::suite_for(config.security, wish, backend);
    if (!suite.is_ok()) {
        return {"cipher",
                std::string(suite.failure().message()),
                Verdict::broken,
                {"Without it jobs of one machine alone run, or all with ACP_SECURITY=off."}};
    }
    if (config.security == base::Security::off) {
        return {"cipher",
                "none: ACP_SECURITY=off, other hosts can read and write a job's memory",
                Verdict::costly,
                {},
                {{"name", "none"}}};
    }
    const double rate = sealed_per_second(*suite.value());
    std::array<char, 64> speed{};
    std::snprintf(speed.data(), speed.size(), ", %.1f GB/s of a thread that seals", rate / 1e9);
    return {"cipher",
            suite.value()->name() + std::string(speed.data()),
            Verdict::good,
            {},
            {{"name", suite.value()->name()}, {"bytes_per_second", rate}}};
}

std::string describe(const os::InterfaceAddress& one) {
    std::string text = os::ip_text(one.address) + "/" + std::to_string(one.prefix_bits) + " at " +
                       one.interface + ", datagrams of " +
                       base::in_bytes(os::datagram_bytes_max(one)) + " (MTU " +
                       std::to_string(one.mtu_bytes) + ")";
    if (one.has_default_route) text += ", default route";
    if (!one.has_carrier) text += ", no carrier";
    if (one.is_virtual) text += ", a bridge or veth device";
    return text;
}

tool::Json json_of(const os::InterfaceAddress& one) {
    return {{"interface", one.interface},
            {"address", os::ip_text(one.address)},
            {"prefix_bits", one.prefix_bits},
            {"mtu_bytes", one.mtu_bytes},
            {"datagram_bytes", os::datagram_bytes_max(one)},
            {"has_carrier", one.has_carrier},
            {"has_default_route", one.has_default_route},
            {"is_virtual", one.is_virtual}};
}

// Adds a fact for each address at which a gateway of this machine would listen. The order is that
// of launch::NetworkChoice for one machine; other machines of a job may change it.
void add_addresses(std::vector<Fact>& facts) {
    auto present = os::list_interface_addresses();
    if (!present.is_ok()) {
        facts.push_back({"address", std::string(present.failure().message()), Verdict::broken});
        return;
    }
    auto choice = launch::NetworkChoice::from("");
    if (!choice.is_ok()) return;
    const std::array<launch::Interfaces, 1> nodes{std::move(present).value()};
    const launch::GatewayTable table = choice.value().choose(nodes, 1);
    for (const os::SocketAddress& address : table.front().addresses) {
        const auto found =
            std::find_if(nodes.front().begin(), nodes.front().end(),
                         [&](const os::InterfaceAddress& one) { return one.address == address; });
        if (found == nodes.front().end()) continue;
        facts.push_back({"address " + std::to_string(facts.size()), describe(*found),
                         found->is_loopback ? Verdict::costly : Verdict::plain,
                         found->is_loopback
                             ? std::vector<std::string>{"No other machine reaches this one."}
                             : std::vector<std::string>{},
                         json_of(*found)});
    }
    if (const unsigned left_out = table.front().left_out; left_out != 0) {
        facts.push_back(
            {"addresses left out", std::to_string(left_out) + "; acprun --net chooses"});
    }
}

Fact ports_fact(const base::Config& config) {
    if (config.ports.first != 0) {
        return {"UDP ports", std::to_string(config.ports.first) + " to " +
                                 std::to_string(config.ports.last) + " (ACP_PORTS)"};
    }
    const std::string range =
        first_line("/proc/sys/net/ipv4/ip_local_port_range").value_or("unknown");
    std::string text = range;
    std::replace(text.begin(), text.end(), '\t', '-');
    return {"UDP ports", "any of " + text + "; ACP_PORTS names others, for firewalls"};
}

Fact receive_buffer_fact(const base::Config& config) {
    os::DatagramSocket::Options options;
    options.bind_to = os::parse_ip("127.0.0.1").value_or(os::SocketAddress{});
    options.receive_bytes = config.socket_bytes;
    auto socket = os::DatagramSocket::open(options);
    if (!socket.is_ok()) {
        return {"receive buffer", std::string(socket.failure().message()), Verdict::broken};
    }
    const std::uint32_t granted = socket.value().receive_bytes();
    Fact fact{"receive buffer",
              base::human_size(granted) + " of " + base::human_size(config.socket_bytes) +
                  " (ACP_SOCKET_BUFFER)",
              Verdict::good,
              {},
              {{"granted_bytes", granted}, {"wished_bytes", config.socket_bytes}}};
    if (const std::string advice = os::receive_buffer_advice(config.socket_bytes, granted);
        !advice.empty()) {
        fact.verdict = Verdict::costly;
        fact.remedies = {advice};
    }
    return fact;
}

// The commands by which acprun reaches machines.
Fact launchers_fact() {
    constexpr std::array<const char*, 3> commands{"ssh", "srun", "blaunch"};
    std::string found;
    tool::Json paths = tool::Json::object();
    for (const char* const command : commands) {
        const tool::Program program = tool::find_program(command, tool::program_path());
        if (program.path.empty()) continue;
        found += (found.empty() ? "" : ", ") + program.path;
        paths[command] = program.path;
    }
    if (!found.empty()) return {"reaches machines by", found, Verdict::good, {}, paths};
    return {"reaches machines by",
            "nothing: no ssh, srun or blaunch in PATH",
            Verdict::broken,
            {"On Debian, as root:", "$ apt-get install openssh-client"},
            paths};
}

}  // namespace

Section network_section(const base::Config& config) {
    Section section{"network", "Between nodes", {}};
    add_addresses(section.facts);
    section.facts.push_back(cipher_fact(config));
    section.facts.push_back(ports_fact(config));
    section.facts.push_back(receive_buffer_fact(config));
    section.facts.push_back(launchers_fact());
    return section;
}

}  // namespace acp::acpinfo
