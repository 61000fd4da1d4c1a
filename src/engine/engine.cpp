// SPDX-License-Identifier: BSD-3-Clause
// Checking settings, making the parts, and the round of work.
#include "engine/engine.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "datagram/handshake_packets.hpp"
#include "os/clock.hpp"
#include "os/interfaces.hpp"
#include "os/limits.hpp"
#include "os/log_line.hpp"
#include "os/secret_memory.hpp"

namespace acp::engine {

namespace {

using base::Code;
using base::Status;

// What every path is taken to carry, tunnels inside tunnels too, and in one piece (RFC 8899, 5.1.2). Networks with an
// MTU below Ethernet's are common, and one that carries less than this says so by its interface.
constexpr std::uint32_t datagram_bytes_first = 1200;
constexpr std::uint32_t datagram_bytes_least = 576;
constexpr std::uint32_t datagram_bytes_probed = 8972;
constexpr std::size_t severed_told_max = 64;
constexpr int error_stream = 2;

Status check(const GatewaySettings& settings) {
    if (settings.nodes < 2 || settings.node >= settings.nodes) {
        return {Code::argument, "node " + std::to_string(settings.node) + " of " +
                                    std::to_string(settings.nodes) + " needs no gateway"};
    }
    const auto& first = settings.first_process;
    if (first.size() != std::size_t{settings.nodes} + 1 || first.front() != 0 ||
        std::adjacent_find(first.begin(), first.end(), std::greater_equal<>()) != first.end()) {
        return {Code::argument, "the nodes' first processes do not rise from 0"};
    }
    if (settings.bind.empty() || settings.bind.size() > sockets_max) {
        return {Code::argument, "a gateway listens on 1 to " + std::to_string(sockets_max) +
                                    " addresses, not " + std::to_string(settings.bind.size())};
    }
    const bool is_all_loopback =
        std::all_of(settings.bind.begin(), settings.bind.end(), transport::is_loopback);
    if (settings.config.security == base::Security::off && !is_all_loopback &&
        !settings.is_interface_named) {
        return {
            Code::argument,
            "ACP_SECURITY=off would let everybody on the network read and write this job's memory; "
            "name the network that is trusted (acprun --net), or use auth or encrypt"};
    }
    return {};
}

// The longest datagram the interfaces behind these addresses carry, at most as long as is probed for.
std::uint32_t carried_bytes(std::span<const Address> bind) {
    std::uint32_t least = datagram_bytes_probed;
    auto interfaces = os::list_interface_addresses();
    if (!interfaces.is_ok()) return least;
    for (const os::InterfaceAddress& one : interfaces.value()) {
        const bool is_bound = std::any_of(bind.begin(), bind.end(), [&one](Address address) {
            address.port = 0;
            return address == transport::as_address(one.address);
        });
        const std::uint32_t carried = os::datagram_bytes_max(one);
        if (is_bound && carried != 0) least = std::min(least, carried);
    }
    return least;
}

// What every path carries, and what is probed for.
void choose_lengths(const GatewaySettings& settings, datagram::Settings& chosen) {
    const std::uint32_t carried = carried_bytes(settings.bind);
    chosen.datagram_bytes = settings.datagram_bytes != 0
                                ? settings.datagram_bytes
                                : std::clamp(carried, datagram_bytes_least, datagram_bytes_first);
    chosen.datagram_bytes_max =
        settings.datagram_bytes_max != 0 ? settings.datagram_bytes_max : carried;
    chosen.datagram_bytes_max = std::max(chosen.datagram_bytes_max, chosen.datagram_bytes);
}

// A node that was never heard of is given the same time as one that fell silent: it may be stopped likewise.
Time connect_timeout_of(const GatewaySettings& settings) noexcept {
    if (settings.connect_timeout_ns != 0) return settings.connect_timeout_ns;
    const Time silence = settings.config.peer_timeout_ns;
    return silence != 0 ? silence : datagram::never;
}

void say(NodeId node, const std::string& what) {
    os::write_line(error_stream, "acp: node " + std::to_string(node) + ": " + what);
}

void say_of_job(const std::string& what) {
    os::write_line(error_stream, "acp: " + what);
}

}  // namespace

Engine::Engine(const GatewaySettings& settings,
               const placement::LocalPlacement::Parts& parts,
               router::Completions& completions,
               const memory::GaLayout& layout)
    : node_(settings.node),
      nodes_(settings.nodes),
      security_(settings.config.security),
      map_(settings.first_process),
      placement_(parts) {
    severed_.reserve(severed_told_max);
    recent_.reserve(recent_peers_max);
    router::RouterSettings routing;
    routing.node = settings.node;
    routing.nodes = settings.nodes;
    routing.procs = settings.first_process.back();
    routing.no_memory_max_ns = settings.config.peer_timeout_ns;
    router_ = std::make_unique<router::Router>(routing, layout, map_, placement_, completions);
    placement_.bind([this](router::Ticket ticket, Code code, std::uint64_t value) {
        router_->on_settled(ticket, code, value);
    });
}

Engine::~Engine() = default;

base::Result<std::unique_ptr<Engine>> Engine::open(const GatewaySettings& settings,
                                                   const placement::LocalPlacement::Parts& parts,
                                                   router::Completions& completions) {
    if (auto status = check(settings); !status.is_ok()) return status;
    std::unique_ptr<Engine> core(new Engine(settings, parts, completions, parts.space->layout()));
    if (auto status = core->open_all(settings); !status.is_ok()) return status;
    return core;
}

Status Engine::open_all(const GatewaySettings& settings) {
    const auto faults = base::parse_fault_plan(settings.config.fault);
    if (!faults) {
        return {Code::config, "ACP_FAULT=" + settings.config.fault + " does not fit: it takes " +
                                  std::string(base::fault_plan_terms)};
    }
    transport::Transport::Options options;
    options.bind = settings.bind;
    options.receive_bytes = settings.config.socket_bytes;
    options.faults = *faults;
    options.lines = std::min(transport::Transport::lines_max, settings.nodes - 1);
    auto transport = transport::Transport::open(options);
    if (!transport.is_ok()) return std::move(transport).failure().within("opening the gateway");
    transport_ = std::move(transport).value();
    auto suite = crypto::choose(settings.cipher, settings.cipher_backend);
    if (!suite.is_ok()) return std::move(suite).failure();
    suite_ = std::move(suite).value();
    datagram::Settings chosen;
    chosen.job_id = settings.job_id;
    chosen.node = settings.node;
    chosen.nodes = settings.nodes;
    chosen.job_key = settings.job_key;
    chosen.security = settings.config.security;
    chosen.control = settings.config.congestion;
    choose_lengths(settings, chosen);
    chosen.receive_bytes = transport_->receive_bytes();
    chosen.connect_timeout_ns = connect_timeout_of(settings);
    chosen.peer_timeout_ns = settings.config.peer_timeout_ns;
    auto endpoint = datagram::Endpoint::create(chosen, *suite_, entropy_, book_, *this);
    os::wipe(std::as_writable_bytes(std::span(chosen.job_key)));
    if (!endpoint.is_ok()) {  // for want of memory
        return {endpoint.failure().code(),
                std::string(endpoint.failure().message()) + os::memory_limit_text().data()};
    }
    endpoint_ = std::move(endpoint).value();
    router_->bind(*endpoint_);
    if (settings.is_outspoken) say_what_weakens(settings, *faults);
    return {};
}

void Engine::say_what_weakens(const GatewaySettings& settings,
                              const base::FaultPlan& faults) const {
    const auto granted = static_cast<std::uint32_t>(transport_->receive_bytes());
    if (const std::string advice = os::receive_buffer_advice(settings.config.socket_bytes, granted);
        !advice.empty()) {
        say(node_, advice);
    }
    if (node_ != 0) return;  // what follows is set for the whole job, so one node speaks for all
    if (!faults.is_harmless()) {
        say_of_job("faults are injected into what every node sends: " + settings.config.fault +
                   " (ACP_FAULT)");
    }
    if (security_ == base::Security::off) {
        say_of_job("security is off: whoever reaches a node's address, as " +
                   os::address_text(transport::as_socket_address(transport_->addresses().front())) +
                   " of node 0, can read and write this job's memory");
    }
}

void Engine::take(Time now, const Address& from, std::span<std::byte> datagram) {
    try {
        endpoint_->on_datagram(now, from, datagram);
    } catch (const std::bad_alloc&) {
        // Nothing of it was noted, so it is as if the network had lost it: it will be sent again.
    }
}

bool Engine::receive(Time now) {
    router_->set_now(now);
    const bool has_any =
        transport_->receive([this, now](const Address& from, std::span<std::byte> datagram) {
            take(now, from, datagram);
        });
    if (has_any && router_->has_to_sever()) receive_all(now);
    return has_any;
}

void Engine::receive_all(Time now) {
    router_->set_now(now);
    transport_->receive_all([this, now](const Address& from, std::span<std::byte> datagram) {
        take(now, from, datagram);
    });
}

bool Engine::work(Time now) {
    router_->set_now(now);
    bool has_moved = false;
    try {
        if (endpoint_->deadline() <= now) endpoint_->on_timer(now);
    } catch (const std::bad_alloc&) {
        // What was not done is due still.
    }
    has_moved = placement_.poll();
    has_moved = router_->poll(now) || has_moved;
    try {
        has_moved = transport_->send(*endpoint_, now) || has_moved;
    } catch (const std::bad_alloc&) {
        // What was not sent is sent by the timer, as if the network had lost it.
    }
    return has_moved;
}

Time Engine::deadline() const noexcept {
    return std::min({endpoint_->deadline(), router_->deadline(), transport_->deadline()});
}

void Engine::leave(std::int64_t timeout_ns) {
    const Time end = os::now_ns() + static_cast<Time>(std::max<std::int64_t>(timeout_ns, 0));
    for (Time now = os::now_ns(); now < end; now = os::now_ns()) {
        const bool has_moved = receive(now);
        if (work(now) || has_moved) continue;
        if (endpoint_->is_quiet() && router_->is_idle()) break;
        const Time until = std::min(deadline(), end);
        if (until > now) transport_->wait(static_cast<std::int64_t>(until - now));
    }
    endpoint_->close();
    (void)transport_->send(*endpoint_, os::now_ns());
    transport_->close();
}

void Engine::note_peer(NodeId node) {
    latest_ = node;
    if (std::find(recent_.begin(), recent_.end(), node) != recent_.end()) return;
    if (recent_.size() < recent_peers_max) {
        recent_.push_back(node);
    } else {
        recent_[recent_next_] = node;
        recent_next_ = (recent_next_ + 1) % recent_peers_max;
    }
}

void Engine::on_frames(NodeId from, datagram::Bytes frames) {
    if (from != latest_) [[unlikely]]
        note_peer(from);
    router_->on_frames(from, frames);
}

void Engine::on_room(NodeId node) {
    router_->on_room(node);
}

void Engine::on_severed(NodeId node, datagram::SeverReason reason) {
    if (severed_.size() < severed_told_max) severed_.push_back({node, reason});
    router_->on_severed(node, reason);
    // Last: there may be no memory for the words.
    if (reason == datagram::SeverReason::mismatched) {
        say(node_, "its gateway and that of node " + std::to_string(node) + " cannot talk: here " +
                       datagram::text_of(endpoint_->features()) + ", there " +
                       datagram::text_of(endpoint_->differing_features()) +
                       "; give all nodes the same ACP_SECURITY and ACP_CIPHER, and the same "
                       "release of the library");
    }
}

datagram::SeverReason Engine::reason_of(NodeId node) const noexcept {
    for (const Severed& one : severed_) {
        if (one.node == node) return one.reason;
    }
    return datagram::SeverReason::told;
}

std::string Engine::security_name() const {
    switch (security_) {
        case base::Security::off:
            return "off";
        case base::Security::authenticate:
            return std::string("authenticated by ") + suite_->name();
        case base::Security::encrypt:
            break;
    }
    return suite_->name();
}

}  // namespace acp::engine
