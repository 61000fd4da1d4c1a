// SPDX-License-Identifier: BSD-3-Clause
// Checks settings, makes the parts of a gateway, and does its rounds of work.
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
    const std::uint32_t rails = settings.config.rails;
    if (rails > 1 && settings.bind.size() != rails) {
        return {Code::argument, std::to_string(rails) +
                                    " rails (ACP_RAILS) take as many networks; this node has " +
                                    std::to_string(settings.bind.size())};
    }
    const bool is_all_loopback =
        std::all_of(settings.bind.begin(), settings.bind.end(), engine::is_loopback);
    if (settings.config.security == base::Security::off && !is_all_loopback &&
        !settings.is_interface_named) {
        return {
            Code::argument,
            "ACP_SECURITY=off would let everybody on the network read and write this job's memory; "
            "name the network that is trusted (acprun --net), or use auth or encrypt"};
    }
    return {};
}

void say(NodeId node, const std::string& what) {
    os::write_line(error_stream, "acp: node " + std::to_string(node) + ": " + what);
}

void say_of_job(const std::string& what) {
    os::write_line(error_stream, "acp: " + what);
}

}  // namespace

Engine::Engine(const GatewaySettings& settings,
               const LocalPlacement::Parts& parts,
               router::Completions& completions,
               const memory::GaLayout& layout)
    : node_(settings.node),
      nodes_(settings.nodes),
      security_(settings.config.security),
      map_(settings.first_process),
      placement_(parts) {
    severed_.reserve(severed_told_max);
    torn_.reserve(std::size_t{2} * settings.nodes * settings.config.rails);
    recent_.reserve(recent_peers_max);
    router::RouterSettings routing;
    routing.node = settings.node;
    routing.nodes = settings.nodes;
    routing.procs = settings.first_process.back();
    routing.rails = settings.config.rails;
    routing.no_memory_max_ns = settings.config.peer_timeout_ns;
    router_ = std::make_unique<router::Router>(routing, layout, map_, placement_, completions);
    placement_.bind([this](router::Ticket ticket, Code code, std::uint64_t value) {
        router_->on_settled(ticket, code, value);
    });
}

Engine::~Engine() = default;

base::Result<std::unique_ptr<Engine>> Engine::open(const GatewaySettings& settings,
                                                   const LocalPlacement::Parts& parts,
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
    auto suite =
        crypto::suite_for(settings.config.security, settings.cipher, settings.cipher_backend);
    if (!suite.is_ok()) return std::move(suite).failure();
    suite_ = std::move(suite).value();
    const Rail::Shared shared{*router_, *suite_, entropy_, *this, delivered_};
    std::vector<datagram::Endpoint*> endpoints;
    for (std::uint32_t number = 0; number < settings.config.rails; ++number) {
        auto rail = Rail::open(number, settings, *faults, shared);
        if (!rail.is_ok()) return std::move(rail).failure();
        endpoints.push_back(&rail.value()->endpoint());
        rails_.push_back(std::move(rail).value());
    }
    router_->bind(endpoints);
    first_ = rails_.front().get();
    further_ = std::span(rails_).subspan(1);
    wait_fds_.push_back(event_fd());
    for (const auto& rail : rails_) {
        const auto addresses = rail->transport().addresses();
        addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
        const auto sockets = rail->transport().wait_fds().subspan(1);  // after its event
        wait_fds_.insert(wait_fds_.end(), sockets.begin(), sockets.end());
    }
    if (settings.is_outspoken) say_what_weakens(settings, *faults);
    return {};
}

void Engine::say_what_weakens(const GatewaySettings& settings,
                              const base::FaultPlan& faults) const {
    const auto granted = static_cast<std::uint32_t>(first_->transport().receive_bytes());
    if (const std::string advice = os::receive_buffer_advice(settings.config.socket_bytes, granted);
        !advice.empty()) {
        say(node_, advice);
    }
    if (node_ != 0) return;  // the settings below are the job's, so one node reports them
    if (!faults.is_harmless()) {
        say_of_job("faults are injected into what every node sends: " + settings.config.fault +
                   " (ACP_FAULT)");
    }
    if (security_ == base::Security::off) {
        say_of_job("security is off: whoever reaches a node's address, as " +
                   os::address_text(engine::as_socket_address(addresses_.front())) +
                   " of node 0, can read and write this job's memory");
    }
}

base::Status Engine::set_peers(const std::vector<std::vector<Address>>& peers) {
    for (const auto& rail : rails_) {
        auto status = rail->set_peers(peers, static_cast<std::uint32_t>(rails_.size()));
        if (!status.is_ok()) return status;
    }
    return {};
}

bool Engine::receive(Time now) {
    router_->set_now(now);
    bool has_any = first_->receive(now);
    for (const auto& rail : further_) has_any = rail->receive(now) || has_any;
    if (has_any && router_->has_to_sever()) receive_all(now);
    return has_any;
}

void Engine::receive_all(Time now) {
    router_->set_now(now);
    for (const auto& rail : rails_) rail->receive_all(now);
}

bool Engine::prepare(Time now) {
    router_->set_now(now);
    first_->run_timers(now);
    for (const auto& rail : further_) rail->run_timers(now);
    if (!torn_.empty()) [[unlikely]]
        sever_torn(now);
    bool has_moved = placement_.poll();
    return router_->poll(now) || has_moved;
}

bool Engine::send(Time now) {
    bool has_moved = first_->send(now);
    is_closed_by_others_ = first_->transport().is_closed_by_others();
    for (const auto& rail : further_) {
        has_moved = rail->send(now) || has_moved;
        is_closed_by_others_ = is_closed_by_others_ || rail->transport().is_closed_by_others();
    }
    return has_moved;
}

Time Engine::deadline() const noexcept {
    if (!torn_.empty() || placement_.has_later()) [[unlikely]]
        return 0;
    Time until = std::min(router_->deadline(), first_->deadline());
    for (const auto& rail : further_) until = std::min(until, rail->deadline());
    return until;
}

// When one rail severs a node, the node is lost on all rails. Datagrams that it sent on the other
// rails may hold completions, so they are received first.
void Engine::sever_torn(Time now) {
    receive_all(now);
    for (std::size_t i = 0; i < torn_.size(); ++i) {
        const Severed one = torn_[i];
        sever(one.node);
        router_->on_severed(one.node, one.reason);
    }
    torn_.clear();
}

bool Engine::is_quiet() const noexcept {
    return std::all_of(rails_.begin(), rails_.end(),
                       [](const auto& rail) { return rail->endpoint().is_quiet(); });
}

void Engine::leave(std::int64_t timeout_ns) {
    const Time end = os::now_ns() + static_cast<Time>(std::max<std::int64_t>(timeout_ns, 0));
    (void)work(os::now_ns());  // sends what prepare() has left, also without time to wait
    for (Time now = os::now_ns(); now < end; now = os::now_ns()) {
        const bool has_moved = receive(now);
        placement_.drop_later();
        if (work(now) || has_moved) continue;
        if (is_quiet() && router_->is_idle()) break;
        const Time until = std::min(deadline(), end);
        if (until > now) wait(static_cast<std::int64_t>(until - now));
    }
    for (const auto& rail : rails_) rail->close(os::now_ns());
}

void Engine::note_peer(NodeId node) {
    if (std::find(recent_.begin(), recent_.end(), node) != recent_.end()) return;
    if (recent_.size() < recent_peers_max) {
        recent_.push_back(node);
    } else {
        recent_[recent_next_] = node;
        recent_next_ = (recent_next_ + 1) % recent_peers_max;
    }
}

// With one rail the router is notified at once. With several, other sockets may still hold
// datagrams of the node: the next work() receives them first (sever_torn).
void Engine::note_severed(std::uint32_t rail, NodeId node, datagram::SeverReason reason) {
    const bool is_stalled = reason == datagram::SeverReason::stalled;
    if (severed_.size() < severed_told_max) {
        severed_.push_back(
            {node, reason, rail, is_stalled ? rails_[rail]->endpoint().stalled_bytes() : 0});
    }
    if (rails_.size() == 1) {
        router_->on_severed(node, reason);
    } else {
        torn_.push_back({node, reason, rail, 0});
    }
    // Last, because composing the message may throw bad_alloc.
    if (reason == datagram::SeverReason::mismatched) {
        say(node_, "its gateway and that of node " + std::to_string(node) + " cannot talk: here " +
                       datagram::text_of(rails_[rail]->endpoint().features()) + ", there " +
                       datagram::text_of(rails_[rail]->endpoint().differing_features()) +
                       "; give all nodes the same ACP_SECURITY and ACP_CIPHER, and the same "
                       "release of the library");
    }
}

Engine::Severed Engine::severed(NodeId node) const noexcept {
    for (const Severed& one : severed_) {
        if (one.node == node) return one;
    }
    return {node};
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
