// SPDX-License-Identifier: BSD-3-Clause
// Which addresses a node has.
#include "network.hpp"

#include "job/network_choice.hpp"
#include "os/interfaces.hpp"

namespace acp::agent {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::uint32_t receive_bytes = 1U << 23U;

std::string all_of(const std::vector<os::InterfaceAddress>& addresses) {
    std::string text;
    for (const os::InterfaceAddress& one : addresses) {
        text += (text.empty() ? "" : ", ") + one.interface + " " + os::ip_text(one.address);
    }
    return text.empty() ? "none" : text;
}

Result<std::vector<job::Address>> choose_addresses(const job::LaunchPlan& plan) {
    if (!plan.address.empty()) {
        const auto given = os::parse_ip(plan.address);
        if (!given) return Status(Code::argument, "\"" + plan.address + "\" is no address");
        return std::vector<job::Address>{*given};
    }
    auto choice = job::NetworkChoice::from(plan.networks);
    if (!choice.is_ok()) return std::move(choice).failure().within("--net");
    auto present = os::list_interface_addresses();
    if (!present.is_ok()) return std::move(present).failure();
    auto chosen = choice.value().choose(present.value());
    if (chosen.empty()) {
        return Status(Code::argument, "no address of this machine fits --net " + plan.networks +
                                          "; there are " + all_of(present.value()));
    }
    return chosen;
}

}  // namespace

Result<std::unique_ptr<Network>> Network::open(const node::Segment& /*segment*/,
                                               const job::LaunchPlan& plan,
                                               const base::Config& /*config*/,
                                               job::JobKey key) {
    auto chosen = choose_addresses(plan);
    if (!chosen.is_ok()) return std::move(chosen).failure();
    std::unique_ptr<Network> network(new Network);
    network->key_ = std::move(key);
    for (const job::Address& address : chosen.value()) {
        auto socket = os::DatagramSocket::open({address, receive_bytes});
        if (!socket.is_ok()) return std::move(socket).failure();
        network->addresses_.push_back(socket.value().address());
        network->sockets_.push_back(std::move(socket).value());
    }
    return network;
}

Status Network::set_peers(const job::PeerTable& peers) {
    peers_ = peers;
    return {};
}

Status Network::start() {
    return {};
}

void Network::on_local_death(std::uint32_t /*slot*/, std::uint32_t /*wait_status*/) noexcept {}

void Network::leave() noexcept {
    sockets_.clear();
}

}  // namespace acp::agent
