// SPDX-License-Identifier: BSD-3-Clause
// Choosing the route of a command, and saying why there is none or no better one.
#include "gma/routes.hpp"

#include "node/death.hpp"
#include "node/loss.hpp"
#include "node/node_table.hpp"

namespace acp::gma {

using base::IntraNode;

Routes::Routes(const local::Space& space,
               local::Hazards& hazards,
               local::Attach& attach,
               const base::Config& config,
               const remote::Link* link) noexcept
    : space_(space),
      hazards_(hazards),
      attach_(attach),
      config_(config),
      has_link_(link != nullptr),
      is_peer_served_(link != nullptr && link->traits().is_peer_served) {}

bool Routes::can_attach(const local::Place& place) noexcept {
    return may_attach() && !place.is_owner_only() && attach_.can_reach(place.slot);
}

Route Routes::choose(const Command& command,
                     const local::Place& target,
                     const local::Place& source) {
    const bool is_target_here = is_here(target);
    const bool is_source_here = is_here(source);
    if (is_target_here && is_source_here) {
        return Route::direct;
    }
    if (config_.intranode == IntraNode::direct) {
        return Route::none;
    }
    if (command.is_copy()) {
        const bool is_attachable =
            (is_target_here || can_attach(target)) && (is_source_here || can_attach(source));
        return is_attachable ? Route::attach : Route::forward;
    }
    // An atomic's word must be mapped here or be run by its owner. The attach mode has shared words
    // mapped.
    const bool is_word_here =
        is_source_here || (config_.intranode == IntraNode::attach && source.direct != nullptr);
    if (is_word_here && (is_target_here || can_attach(target))) {
        return is_target_here ? Route::direct : Route::attach;
    }
    return Route::forward;
}

base::Status Routes::check(const Command& command, memory::HazardLine& line, Route& route) {
    const GlobalAddress written = command.target_or_word();
    hazards_.enter(line, written, command.source);
    local::Place target;
    local::Place source;
    const base::Code target_code = space_.find(written, command.bytes, target);
    const base::Code source_code = space_.find(command.source, command.bytes, source);
    memory::leave(line);
    const bool is_target_far = target_code != base::Code::ok && is_far(written, command.bytes);
    const bool is_source_far =
        source_code != base::Code::ok && is_far(command.source, command.bytes);
    if (target_code != base::Code::ok && !is_target_far) {
        return bad_address(command, command.has_target(), target_code);
    }
    if (source_code != base::Code::ok && !is_source_far) {
        return bad_address(command, false, source_code);
    }
    if (!command.is_copy()) {  // an end on another node is checked there
        const std::uint64_t places = target.owner_address | source.owner_address;
        if (places % command.width != 0) {
            return misaligned(command,
                              command.has_target() && target.owner_address % command.width != 0);
        }
    }
    if (is_target_far || is_source_far) {
        route = Route::remote;
        return is_gateway_dead() ? no_gateway(command) : base::Status();
    }
    route = choose(command, target, source);
    if (route == Route::none) {
        return base::Status::worded(base::Code::unsupported, [&] {
            return subject_of(command, space_.rank()) +
                   ": ACP_INTRANODE=direct reaches shared memory only, and " +
                   space_.explain(is_here(target) ? command.source : command.target_or_word(),
                                  command.bytes) +
                   " is not mapped here; use ACP_INTRANODE=auto";
        });
    }
    return {};
}

Route Routes::route_of(const Command& command) {
    if (command.is_of_layer()) return Route::layer;
    if (is_far(command)) {
        return Route::remote;
    }
    if (command.is_invoke()) {
        return Route::direct;
    }
    local::Place target;
    local::Place source;
    const bool is_known =
        space_.find(command.target_or_word(), command.bytes, target) == base::Code::ok &&
        space_.find(command.source, command.bytes, source) == base::Code::ok;
    if (!is_known) {
        return Route::direct;  // it reports the state of the address
    }
    const Route route = choose(command, target, source);
    return route != Route::none ? route : Route::forward;
}

base::Status Routes::check_requirements() {
    const std::uint32_t own = space_.slot();
    for (std::uint32_t slot = 0; slot < space_.segment().shape().local_procs; ++slot) {
        if (must_attach() && slot != own && !attach_.can_reach(slot)) {
            return {base::Code::unsupported,
                    std::string(config_.intranode == IntraNode::attach ? "ACP_INTRANODE=attach"
                                                                       : "ACP_REQUIRE=attach") +
                        ": rank " + std::to_string(space_.rank()) + " cannot attach to rank " +
                        std::to_string(
                            space_.segment().slot(slot).rank.load(std::memory_order_relaxed)) +
                        ": " + attach_.refusal(slot)};
        }
    }
    if (config_.require.find("direct") != std::string::npos && !space_.reach().is_shared_direct) {
        return {base::Code::unsupported,
                "ACP_REQUIRE=direct, but ACP_INTRANODE switches the direct path off"};
    }
    return {};
}

const char* Routes::name_of_forwarding() const noexcept {
    return config_.intranode == IntraNode::udp ? "udp" : "mailbox";
}

Path Routes::path(GlobalAddress target, GlobalAddress source) {
    // A pointer is reached by this process as its own shared memory is: it moves the bytes itself,
    // or they pass through there.
    const GlobalAddress own = space_.claimed_address(space_.process(), local_ends_range);
    if (target == 0 && source != 0) target = own;
    if (source == 0 && target != 0) source = own;
    local::Hazards::Lease lease(hazards_);
    memory::enter<memory::HazardFence::processor>(lease.line(), target, source);
    local::Place to;
    local::Place from;
    const bool has_target = space_.find(target, 1, to) == base::Code::ok;
    const bool has_source = space_.find(source, 1, from) == base::Code::ok;
    memory::leave(lease.line());
    const bool is_target_far = !has_target && is_far(target, 1);
    const bool is_source_far = !has_source && is_far(source, 1);
    if (!(has_target || is_target_far) || !(has_source || is_source_far)) {
        return {};
    }
    if (is_target_far || is_source_far) {
        // A gateway reaches private memory as a rank of its node does: by attach, or through the
        // owner.
        const bool is_any_private = !space_.is_shared(target) || !space_.is_shared(source);
        const bool must_help =
            is_peer_served_ || (is_any_private && config_.attach == base::AttachMode::off);
        return {Route::remote, "remote", must_help, where_is(is_target_far ? target : source)};
    }
    switch (choose({.target = target, .source = source, .bytes = 1}, to, from)) {
        case Route::direct:
            return {Route::direct, "direct", false, ""};
        case Route::attach:
            return {Route::attach, "attach", false, ""};
        case Route::forward:
            return {Route::forward, name_of_forwarding(), true,
                    why_forwarded(is_here(to) ? from : to)};
        case Route::remote:
        case Route::layer:
        case Route::none:
            break;
    }
    return {};
}

std::string Routes::why_forwarded(const local::Place& place) const {
    if (place.is_device()) return "it is memory of a device, which the engine of its owner copies";
    return place.is_owner_only() ? "the kernel hands these pages to no other process (memfd_secret)"
                                 : attach_.refusal(place.slot);
}

Path Routes::private_path(std::uint32_t slot) {
    if (slot == space_.slot()) {
        return {Route::direct, "direct", false, ""};
    }
    if (may_attach() && attach_.can_reach(slot)) {
        return {Route::attach, "attach", false, ""};
    }
    if (config_.intranode == IntraNode::direct) {
        return {Route::none, "none", false, "ACP_INTRANODE=direct"};
    }
    return {Route::forward, name_of_forwarding(), true,
            may_attach() ? attach_.refusal(slot) : "chosen by ACP_INTRANODE"};
}

base::Status Routes::bad_address(const Command& command, bool is_target, base::Code code) const {
    const GlobalAddress address = is_target ? command.target : command.source;
    return base::Status::worded(code, [&] {
        return subject_of(command, space_.rank()) + ": the " +
               memory::role_name(command, is_target) + " is " +
               space_.explain(address, command.bytes);
    });
}

base::Status Routes::misaligned(const Command& command, bool is_target) const {
    const GlobalAddress address = is_target ? command.target : command.source;
    return base::Status::worded(base::Code::alignment, [&] {
        return subject_of(command, space_.rank()) + ": the " +
               memory::role_name(command, is_target) + " is " +
               space_.explain(address, command.bytes) + ", which lies at no multiple of " +
               std::to_string(command.width) + " in the memory of that rank";
    });
}

bool Routes::is_gateway_dead() const noexcept {
    return node::is_dead(space_.segment(), space_.segment().gateway_slot());
}

base::Status Routes::no_gateway(const Command& command) const {
    return base::Status::worded(base::Code::peer, [&] {
        return subject_of(command, space_.rank()) + ": " +
               node::fate(space_.segment(), space_.segment().gateway_slot()) +
               ", so no other node can be reached";
    });
}

std::string Routes::where_is(GlobalAddress address) const {
    const node::Segment& segment = space_.segment();
    const auto process = static_cast<std::uint32_t>(space_.layout().process(address));
    return "rank " + std::to_string(segment.rank_of(process)) + " is on " +
           node::node_name(segment, node::NodeTable(segment).node_of(process));
}

}  // namespace acp::gma
