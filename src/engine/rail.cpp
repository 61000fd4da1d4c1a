// SPDX-License-Identifier: BSD-3-Clause
// Opens a rail's sockets, chooses its endpoint's settings and key, and handles lack of memory in
// both.
#include "engine/rail.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "datagram/mtu_prober.hpp"
#include "datagram/wire.hpp"
#include "os/interfaces.hpp"
#include "os/limits.hpp"
#include "os/secret_memory.hpp"

namespace acp::engine {

namespace {

using base::Code;
using base::Status;

// UDP payloads that every path carries unfragmented: packets of 1280 bytes by IPv6 (RFC 8200), of
// 576 by IPv4, where links with a smaller MTU are of the past. Probing finds longer ones.
constexpr std::uint32_t every_ipv6_path_bytes = 1232;
constexpr std::uint32_t every_ipv4_path_bytes = datagram::datagram_bytes_least;
constexpr std::uint32_t datagram_bytes_probed = 8972;

// The longest datagram that the interfaces behind these addresses carry, at most
// datagram_bytes_probed.
std::uint32_t carried_bytes(std::span<const Address> bind) {
    std::uint32_t least = datagram_bytes_probed;
    auto interfaces = os::list_interface_addresses();
    if (!interfaces.is_ok()) return least;
    for (const os::InterfaceAddress& one : interfaces.value()) {
        const bool is_bound = std::any_of(bind.begin(), bind.end(), [&one](Address address) {
            address.port = 0;
            return address == engine::as_address(one.address);
        });
        const std::uint32_t carried = os::datagram_bytes_max(one);
        if (is_bound && carried != 0) least = std::min(least, carried);
    }
    return least;
}

// Chooses the length to start with and the longest length to probe for.
void choose_lengths(const GatewaySettings& settings,
                    std::span<const Address> bind,
                    datagram::Settings& chosen) {
    const bool is_ipv6 = std::all_of(bind.begin(), bind.end(),
                                     [](const Address& address) { return address.family == 6; });
    chosen.datagram_bytes = settings.datagram_bytes;
    if (chosen.datagram_bytes == 0)
        chosen.datagram_bytes = is_ipv6 ? every_ipv6_path_bytes : every_ipv4_path_bytes;
    chosen.datagram_bytes_max =
        settings.datagram_bytes_max != 0 ? settings.datagram_bytes_max : carried_bytes(bind);
    // The longest INVOKE must fit into one datagram, which may be fragmented.
    chosen.datagram_bytes_max = std::max(
        {chosen.datagram_bytes_max, chosen.datagram_bytes, datagram::MtuProber::base_bytes});
}

// A node that has never answered gets the same time as one that fell silent: it may be stopped or
// debugged too.
Time connect_timeout_of(const GatewaySettings& settings) noexcept {
    if (settings.connect_timeout_ns != 0) return settings.connect_timeout_ns;
    const Time silence = settings.config.peer_timeout_ns;
    return silence != 0 ? silence : datagram::never;
}

// Each rail has a key of its own, so that a datagram replayed on another rail fails authentication.
// Rail 0 has the job's.
void derive_key(datagram::CipherSuite& suite, std::uint32_t rail, datagram::Settings& settings) {
    if (rail == 0) return;
    constexpr std::string_view purpose = "acp1 rail";
    auto job_key = settings.job_key;
    suite.derive(job_key, std::as_bytes(std::span(&rail, 1)), std::as_bytes(std::span(purpose)),
                 settings.job_key);
    os::wipe(job_key);
}

// The addresses of a node on a rail: one of `all`, or all of them where there is one rail.
std::span<const Address> addresses_on(std::uint32_t rail,
                                      std::uint32_t rails,
                                      std::span<const Address> all) noexcept {
    return rails == 1 ? all : all.subspan(rail, 1);
}

}  // namespace

Rail::Rail(std::uint32_t number, NodeId nodes, const Shared& shared)
    : number_(number), nodes_(nodes), shared_(shared) {}

Rail::~Rail() = default;

base::Result<std::unique_ptr<Rail>> Rail::open(std::uint32_t number,
                                               const GatewaySettings& settings,
                                               const base::FaultPlan& faults,
                                               const Shared& shared) {
    std::unique_ptr<Rail> rail(new Rail(number, settings.nodes, shared));
    const auto bind = addresses_on(number, settings.config.rails, settings.bind);
    Transport::Options options;
    options.bind.assign(bind.begin(), bind.end());
    options.ports = settings.config.ports;
    options.receive_bytes = settings.config.socket_bytes;
    options.faults = faults.of_rail(number);
    options.lines = std::min(Transport::lines_max, settings.nodes - 1);
    auto transport = Transport::open(options);
    if (!transport.is_ok()) return std::move(transport).failure().within("opening the gateway");
    rail->transport_ = std::move(transport).value();
    if (auto status = rail->make_endpoint(settings, bind); !status.is_ok()) return status;
    return rail;
}

Status Rail::make_endpoint(const GatewaySettings& settings, std::span<const Address> bind) {
    datagram::Settings chosen;
    chosen.job_id = settings.job_id;
    chosen.node = settings.node;
    chosen.nodes = settings.nodes;
    chosen.job_key = settings.job_key;
    chosen.security = settings.config.security;
    chosen.control = settings.config.congestion;
    choose_lengths(settings, bind, chosen);
    chosen.receive_bytes = transport_->receive_bytes();
    chosen.connect_timeout_ns = connect_timeout_of(settings);
    chosen.peer_timeout_ns = settings.config.peer_timeout_ns;
    derive_key(shared_.suite, number_, chosen);
    auto endpoint =
        datagram::Endpoint::create(chosen, shared_.suite, shared_.entropy, book_, *this);
    os::wipe(std::as_writable_bytes(std::span(chosen.job_key)));
    if (!endpoint.is_ok()) {  // code `memory`
        return {endpoint.failure().code(),
                std::string(endpoint.failure().message()) + os::memory_limit_text().data()};
    }
    endpoint_ = std::move(endpoint).value();
    return {};
}

Status Rail::set_peers(const std::vector<std::vector<Address>>& peers, std::uint32_t rails) {
    if (rails == 1) return book_.fill(peers, nodes_);
    std::vector<std::vector<Address>> rows;
    for (const std::vector<Address>& row : peers) {
        if (row.size() != rails) {
            return {Code::argument, "node " + std::to_string(rows.size()) + " has " +
                                        std::to_string(row.size()) + " addresses for " +
                                        std::to_string(rails) + " rails"};
        }
        rows.push_back({row[number_]});
    }
    return book_.fill(rows, nodes_);
}

void Rail::take(Time now, const Address& from, std::span<std::byte> datagram) {
    try {
        endpoint_->on_datagram(now, from, datagram);
    } catch (const std::bad_alloc&) {
        // The endpoint noted no part of the datagram, so the sender retransmits it as after a loss.
    }
}

void Rail::run_timers(Time now) {
    try {
        if (endpoint_->deadline() <= now) endpoint_->on_timer(now);
    } catch (const std::bad_alloc&) {
        // The timer stays due, so the next call does the rest.
    }
}

bool Rail::send(Time now) {
    try {
        return transport_->send(*endpoint_, now);
    } catch (const std::bad_alloc&) {
        // The endpoint's timer retransmits, as after a loss in the network.
        return false;
    }
}

void Rail::close(Time now) {
    endpoint_->close();
    (void)transport_->send(*endpoint_, now);
    transport_->close();
}

void Rail::on_frames(NodeId from, datagram::Bytes frames) {
    if (from != latest_) [[unlikely]] {
        latest_ = from;
        shared_.owner.note_peer(from);
    }
    ++shared_.delivered;
    shared_.router.on_frames(from, frames);
}

void Rail::on_room(NodeId node) {
    shared_.router.on_room(node, number_);
}

void Rail::on_severed(NodeId node, datagram::SeverReason reason) {
    shared_.owner.note_severed(number_, node, reason);
}

}  // namespace acp::engine
