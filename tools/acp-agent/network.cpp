// SPDX-License-Identifier: BSD-3-Clause
// Opens and runs the gateway.
#include "network.hpp"

#include <algorithm>
#include <bit>

#include "gateway/own_key.hpp"
#include "node/node_table.hpp"
#include "os/poll_set.hpp"
#include "os/secret_memory.hpp"

#include "engine/addresses.hpp"
#include "operations/library_operations.hpp"

namespace acp::agent {

using base::Result;
using base::Status;

namespace {

constexpr std::uint64_t stack_bytes = 1U << 20U;  // the stack of the gateway's thread

gateway::GatewaySettings settings_of(const launch::LaunchPlan& plan, const base::Config& config) {
    gateway::GatewaySettings settings;
    settings.job_id = plan.job_id;
    settings.node = plan.node;
    settings.nodes = plan.nodes();
    settings.first_process = plan.first_process;
    settings.first_process.push_back(plan.procs);
    settings.is_interface_named = plan.is_network_named();
    settings.is_outspoken = !plan.is_quiet;
    settings.config = config;
    settings.operations = &operations::library_operations();
    settings.cipher = static_cast<crypto::CipherWish>(plan.cipher);
    settings.cipher_backend = static_cast<crypto::BackendWish>(config.cipher_library);
    return settings;
}

}  // namespace

Result<std::unique_ptr<Network>> Network::open(const node::Segment& segment,
                                               const launch::LaunchPlan& plan,
                                               const base::Config& config,
                                               launch::JobKey key,
                                               std::span<const os::SocketAddress> addresses) {
    gateway::GatewaySettings settings = settings_of(plan, config);
    for (const os::SocketAddress& address : addresses) {
        settings.bind.push_back(engine::as_address(address));
    }
    std::copy(key.bytes().begin(), key.bytes().end(), settings.job_key.begin());
    os::FileDescriptor own_key;
    if (segment.shape().has_own_gateways != 0) {
        auto kept =
            gateway::keep_own_key(segment, settings.job_key, config.security, settings.cipher);
        if (!kept.is_ok()) return std::move(kept).failure();
        own_key = std::move(kept).value();
    }
    auto gateway = gateway::Gateway::open(segment, settings);
    os::wipe(settings.job_key);
    if (!gateway.is_ok()) return std::move(gateway).failure().within("the gateway");
    auto end = os::Event::create();
    if (!end.is_ok()) return std::move(end).failure();
    std::unique_ptr<Network> network(
        new Network(segment, plan.first_process, std::move(end).value()));
    network->gateway_ = std::move(gateway).value();
    network->own_key_ = std::move(own_key);
    return network;
}

std::vector<int> Network::inherited() const {
    std::vector<int> files{gateway_->event_fd()};
    if (own_key_.is_open()) files.push_back(own_key_.get());
    return files;
}

std::vector<os::SocketAddress> Network::addresses() const {
    std::vector<os::SocketAddress> addresses;
    for (const gateway::Address& address : gateway_->addresses()) {
        addresses.push_back(engine::as_socket_address(address));
    }
    return addresses;
}

Status Network::set_peers(const launch::GatewayTable& peers) {
    node::NodeTable table(segment_);
    std::vector<std::vector<gateway::Address>> rows;
    for (std::uint32_t node = 0; node < peers.size(); ++node) {
        std::vector<gateway::Address> row;
        std::vector<node::NodeAddress> known;
        for (const os::SocketAddress& address : peers[node].addresses) {
            row.push_back(engine::as_address(address));
            known.push_back(std::bit_cast<node::NodeAddress>(address));
        }
        rows.push_back(std::move(row));
        auto status =
            table.set(node, first_process_[node], known, peers[node].left_out, peers[node].host);
        if (!status.is_ok()) return status;
    }
    return gateway_->set_peers(std::move(rows));
}

Status Network::start() {
    auto thread = os::Thread::start(
        "acp-gateway",
        [this] {
            gateway_->run(is_leaving_);
            end_.signal();
        },
        stack_bytes);
    if (!thread.is_ok()) return std::move(thread).failure();
    thread_ = std::move(thread).value();
    return {};
}

void Network::on_local_death(std::uint32_t slot, std::uint32_t wait_status) noexcept {
    gateway_->on_local_death(slot, wait_status);
}

void Network::leave() noexcept {
    constexpr std::int64_t farewell_ns = 0;              // no rank is left that could wait for data
    constexpr std::int64_t patience_ns = 2'000'000'000;  // many rounds of the gateway's loop
    is_leaving_.store(true, std::memory_order_release);  // partner: the loop of run()
    gateway_->wake();
    if (thread_.is_joinable() && !os::wait_readable(end_.fd(), -1, patience_ns)) {
        thread_.forget();
        return;
    }
    thread_.join();
    gateway_->leave(farewell_ns);
}

}  // namespace acp::agent
