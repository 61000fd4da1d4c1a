// SPDX-License-Identifier: BSD-3-Clause
// The agent's part in connecting the nodes: it agrees with the launcher on the addresses at which
// this node's gateway listens, receives the other nodes' addresses, and ends only after all ranks
// of the job have ended, since they may still access this node.
#include "os/interfaces.hpp"
#include "os/process.hpp"

#include "agent.hpp"
#include "launch/interface_list.hpp"

namespace acp::agent {

using base::Status;

// Opens the gateway at the addresses of the plan, or asks the launcher to choose among those of
// this machine.
Status Agent::begin_meeting() {
    if (!plan_.addresses.empty()) {
        auto addresses = launch::ips_from(plan_.addresses);
        return addresses.is_ok() ? open_network(addresses.value()) : std::move(addresses).failure();
    }
    auto present = os::list_interface_addresses();
    if (!present.is_ok()) return std::move(present).failure();
    channel_.send("interfaces " + launch::to_words(present.value()));
    return {};
}

Status Agent::open_network(std::span<const os::SocketAddress> addresses) {
    auto network = Network::open(segment_, plan_, config_, std::move(key_), addresses);
    if (!network.is_ok()) return std::move(network).failure();
    network_ = std::move(network).value();
    channel_.send("host " + launch::sent_host_name(os::host_name()));
    channel_.send("listening " + launch::addresses_text(network_->addresses()));
    return {};
}

void Agent::on_listen(std::string_view words) {
    if (phase_ != Phase::meeting || network_ != nullptr) return;
    auto addresses = launch::ips_from(words);
    const Status status =
        addresses.is_ok() ? open_network(addresses.value()) : std::move(addresses).failure();
    if (!status.is_ok()) give_up(status);
}

void Agent::on_peers(std::string_view bytes) {
    if (phase_ != Phase::meeting || network_ == nullptr) return;
    phase_ = Phase::running;
    if (auto status = launch_with(bytes); !status.is_ok()) give_up(status);
}

Status Agent::launch_with(std::string_view peers) {
    auto table = launch::peer_table_from(peers, plan_.nodes());
    if (!table.is_ok()) return std::move(table).failure();
    if (auto status = network_->set_peers(table.value()); !status.is_ok()) return status;
    return launch();
}

// The ranks of this node have ended, but ranks of other nodes may still read their memory, and the
// gateway may still have data to send. So the agent stays until the launcher says that all nodes
// have come this far.
void Agent::stay_or_end() {
    if (network_ == nullptr) {
        phase_ = Phase::over;
        return;
    }
    phase_ = Phase::staying;
    deadline_ns_ = os::poll_forever;
    channel_.send("done");
}

}  // namespace acp::agent
