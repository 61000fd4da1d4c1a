// SPDX-License-Identifier: BSD-3-Clause
// The other nodes of the job: receives their addresses, and stays until no rank there needs this node any more.
#include "agent.hpp"
#include "launch/exit_codes.hpp"

namespace acp::agent {

using base::Status;

Status Agent::open_network() {
    auto network = Network::open(segment_, plan_, config_, std::move(key_));
    if (!network.is_ok()) return std::move(network).failure();
    network_ = std::move(network).value();
    return {};
}

void Agent::on_peers(std::string_view bytes) {
    if (phase_ != Phase::meeting) return;
    phase_ = Phase::running;
    if (auto status = launch_with(bytes); !status.is_ok()) {
        give_up(launch::exit_unavailable, std::string(status.message()));
    }
}

Status Agent::launch_with(std::string_view peers) {
    auto table = launch::peer_table_from(peers, plan_.nodes());
    if (!table.is_ok()) return std::move(table).failure();
    if (auto status = network_->set_peers(table.value()); !status.is_ok()) return status;
    return launch();
}

// The ranks of this node have ended, but ranks of other nodes may still read their memory, and the gateway may still have data
// to send. So the agent stays until the launcher says that all nodes have come this far.
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
