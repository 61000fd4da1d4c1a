// SPDX-License-Identifier: BSD-3-Clause
// Chooses one of the two links, and exchanges the ports of own gateways: as a number that each
// process contributes to a meeting. They listen on the addresses of their nodes' agents.
#include "api/epoch_link.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "api/world_call.hpp"
#include "crypto/choose.hpp"
#include "gateway/own_gateway.hpp"
#include "gateway/own_key.hpp"
#include "node/node_table.hpp"
#include "os/log_line.hpp"
#include "os/program_file.hpp"
#include "os/secret_memory.hpp"
#include "remote/ring_link.hpp"

#include "operations/library_operations.hpp"

namespace acp::api {

namespace {

using gateway::Address;

// A process's contribution to the meeting that gathers ports: its port, or the code of its failure
// above that.
constexpr std::uint32_t code_shift = 16;
// Contributed by a process that can have no gateway: then the agents' gateways carry the commands
// of all.
constexpr std::uint32_t left_to_agents = ~0U;

void say_that_agents_carry(const node::Member& member) {
    static bool is_said = false;  // the thread of the collective call
    if (std::exchange(is_said, true)) return;
    os::print_error(
        "acp: rank %u is linked statically and cannot load libcrypto: the commands of all "
        "ranks between nodes go "
        "through the agents (slower); link it dynamically, or set ACP_GATEWAY=agent to "
        "say that this is wanted\n",
        member.rank());
}

std::vector<Address> addresses_of(const node::Segment& segment,
                                  std::uint32_t node,
                                  std::uint16_t port) {
    std::array<node::NodeAddress, node::node_addresses_max> known;
    const std::uint32_t count = node::NodeTable(segment).addresses(node, known);
    std::vector<Address> addresses;
    for (std::uint32_t i = 0; i < count; ++i) {
        addresses.push_back(std::bit_cast<Address>(known[i]));
        addresses.back().port = port;
    }
    return addresses;
}

gateway::GatewaySettings settings_of(const node::Segment& segment, const base::Config& config) {
    const node::Shape& shape = segment.shape();
    gateway::GatewaySettings settings;
    settings.job_id = shape.job_id;
    settings.node = shape.node;
    settings.nodes = shape.nodes;
    for (std::uint32_t process = 0; process <= shape.procs; ++process) {
        settings.first_process.push_back(process);
    }
    settings.bind = addresses_of(segment, shape.node, 0);
    settings.is_interface_named = shape.is_network_named != 0;
    settings.config = config;
    settings.cipher = static_cast<crypto::CipherWish>(shape.cipher);
    settings.cipher_backend = static_cast<crypto::BackendWish>(config.cipher_library);
    settings.is_outspoken = false;  // the agent was
    settings.operations = &operations::library_operations();
    return settings;
}

}  // namespace

base::Status EpochLink::open(node::Member& member,
                             local::Hazards& hazards,
                             const base::Config& config) {
    const node::Segment& segment = member.segment();
    if (!segment.has_gateway()) return {};
    if (segment.shape().has_own_gateways != 0) return open_own(member, hazards, config);
    link_ = std::make_unique<remote::RingLink>(segment, member.slot_index());
    return {};
}

// Makes the gateway of this process, before the others are known.
base::Result<std::unique_ptr<gateway::OwnGateway>> EpochLink::make_own(node::Member& member,
                                                                       local::Hazards& hazards,
                                                                       const base::Config& config) {
    const node::Segment& segment = member.segment();
    auto status = space_.open(segment, member.slot_index(), {}, nullptr);
    if (!status.is_ok()) return status;
    gateway::GatewaySettings settings = settings_of(segment, config);
    status = gateway::read_own_key(segment, settings.job_key, own_key_.get());
    if (!status.is_ok()) return status;
    auto made = gateway::OwnGateway::open(segment, space_, hazards, settings);
    os::wipe(settings.job_key);
    return made;
}

// A process with devices leaves the way to its memory to the agent's gateway, which asks the owner of
// a device: an own gateway reaches mapped memory alone. A process whose gateway cannot be made takes
// part in the meeting with its failure in place of a port, because the others wait for it there.
base::Status EpochLink::open_own(node::Member& member,
                                 local::Hazards& hazards,
                                 const base::Config& config) {
    const bool has_libraries = config.security == base::Security::off || !os::is_program_static();
    base::Status failure;
    std::unique_ptr<gateway::OwnGateway> own;
    std::uint32_t brought = left_to_agents;
    if (has_libraries && config.devices.empty()) {
        try {
            auto made = make_own(member, hazards, config);
            if (made.is_ok()) {
                own = std::move(made).value();
            } else {
                failure = std::move(made).failure().within("the way to other nodes");
            }
        } catch (const std::bad_alloc&) {
            failure = {base::Code::memory, "the way to other nodes: no memory"};
        }
        brought = own != nullptr ? own->addresses().front().port
                                 : static_cast<std::uint32_t>(failure.code()) << code_shift;
    }
    auto status = member.gather(brought);
    if (!failure.is_ok()) return failure;
    if (!status.is_ok()) return status;
    return settle_own(member, std::move(own), has_libraries);
}

// Called when the ports of all processes are known.
base::Status EpochLink::settle_own(const node::Member& member,
                                   std::unique_ptr<gateway::OwnGateway> own,
                                   bool has_libraries) {
    const node::Segment& segment = member.segment();
    std::vector<std::vector<Address>> peers;
    std::uint32_t first_static = segment.shape().procs;
    for (std::uint32_t node = 0; node < segment.shape().nodes; ++node) {
        const std::uint32_t gathered = member.gathered(node);
        if (gathered == left_to_agents) first_static = std::min(first_static, node);
        const std::uint32_t code = gathered >> code_shift;
        if (code != 0 && code < base::code_count) {
            return {static_cast<base::Code>(code),
                    "rank " + std::to_string(segment.rank_of(node)) +
                        " has no way to other nodes; its own message says why"};
        }
        peers.push_back(addresses_of(segment, node, static_cast<std::uint16_t>(gathered)));
    }
    if (first_static != segment.shape().procs) {
        const bool is_first = first_static == segment.shape().first_process;
        if (is_first && !has_libraries) say_that_agents_carry(member);
        link_ = std::make_unique<remote::RingLink>(segment, member.slot_index());
        return {};
    }
    if (auto status = own->set_peers(std::move(peers)); !status.is_ok()) return status;
    own->carry_meetings(meetings_.emplace(segment, name_of_world_call));
    own_ = own.get();
    link_ = std::move(own);
    return {};
}

void EpochLink::carry_meetings(node::Member& member) noexcept {
    if (meetings_) member.barrier().set_own_meetings(&*meetings_);
}

void EpochLink::join(node::Member& member, gma::Gma& gma) noexcept {
    helper_.set_gma(&gma, link_ != nullptr && link_->traits().is_polled_here);
    member.barrier().set_helper(&helper_);
}

void EpochLink::leave(node::Member& member) noexcept {
    helper_.set_gma(nullptr);
    member.barrier().set_helper(nullptr);
    member.barrier().set_own_meetings(nullptr);
}

void EpochLink::tell_that_we_leave() noexcept {
    constexpr std::int64_t at_once = 0;
    try {
        if (own_ != nullptr) own_->leave(at_once);
    } catch (const std::bad_alloc&) {  // they detect the loss later
    }
}

void EpochLink::close() noexcept {
    own_ = nullptr;
    link_.reset();
    meetings_.reset();
    space_.close();
}

}  // namespace acp::api
