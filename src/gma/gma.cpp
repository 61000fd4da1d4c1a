// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing global memory access, and what can be asked of it.
#include "gma/gma.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace acp::gma {

namespace {

using base::IntraNode;

local::Reach reach_of(const base::Config& config) {
    const bool is_open =
        config.intranode == IntraNode::automatic || config.intranode == IntraNode::direct;
    return {.is_shared_direct = is_open, .is_own_direct = config.is_bypass_on};
}

}  // namespace

Gma::Gma(node::Member& member,
         local::Hazards& hazards,
         FastPath& fast,
         const base::Config& config,
         remote::Link* link)
    : member_(member),
      hazards_(hazards),
      fast_(fast),
      config_(config),
      may_waiter_run_(config.is_bypass_on),
      may_waiter_forward_(config.is_bypass_on && config.intranode != IntraNode::udp &&
                          config.mailbox == base::MailboxKind::mpsc),
      queue_(fast.marks),
      link_(link),
      is_gateway_here_(link != nullptr && !link->wait_fds().empty()),
      is_death_noted_(node::slots_of(member.segment().shape())),
      service_waiter_(member.segment(), 2) {}

base::Result<std::unique_ptr<Gma>> Gma::open(node::Member& member,
                                             local::Hazards& hazards,
                                             FastPath& fast,
                                             const base::Config& config,
                                             bool has_own_window,
                                             remote::Link* link) {
    std::unique_ptr<Gma> gma(new Gma(member, hazards, fast, config, link));
    if (auto status = gma->open_all(has_own_window); !status.is_ok()) {
        return status;
    }
    return gma;
}

base::Status Gma::open_all(bool has_own_window) {
    const node::Segment& segment = member_.segment();
    const std::uint32_t slot = member_.slot_index();
    if (auto status = space_.open(segment, slot, reach_of(config_), has_own_window);
        !status.is_ok()) {
        return status;
    }
    if (!config_.trace.empty()) {
        auto trace = Trace::open(config_.trace, member_.rank());
        if (!trace.is_ok()) {
            return std::move(trace).failure();
        }
        trace_ = std::move(trace).value();
    }
    attach_ = std::make_unique<local::Attach>(segment, slot, config_.attach != base::Attach::off);
    attach_->publish_token();
    auto port = local::Port::open(segment, slot);
    if (!port.is_ok()) {
        return std::move(port).failure();
    }
    port_ = std::move(port).value();
    forwarder_ = std::make_unique<local::Forwarder>(space_, hazards_, *port_, member_.epoch());
    if (trace_) {
        forwarder_->set_observer([this](const Command& command, std::uint32_t origin) {
            trace_->record(command, config_.intranode == IntraNode::udp ? "udp" : "mailbox",
                           space_.segment().slot(origin).rank.load(std::memory_order_relaxed));
        });
    }
    space_.publish_starter();
    registry_ = std::make_unique<local::Registry>(space_, hazards_);
    fast_.view = space_.view();
    fast_.view.inline_bytes_max = config_.inline_bytes_max;
    if (trace_) {
        fast_.view.index_count = 0;  // everything goes the long way and is recorded
    }
    if (is_gateway_here_) {
        auto event = os::Event::create();
        if (!event.is_ok()) {
            return std::move(event).failure().within("making the wake-up of the service thread");
        }
        service_event_.emplace(std::move(event).value());
        service_fds_.assign(1, service_event_->fd());
        const std::span<const int> of_link = link_->wait_fds();
        service_fds_.insert(service_fds_.end(), of_link.begin(), of_link.end());
    }
    {
        const std::scoped_lock lock(mutex_);
        want_service();
    }
    // Where memory of others is not mapped by decree, the owner's thread serves also starter memory; and where the
    // gateway is in this process, it serves all nodes.
    const bool can_do_without =
        space_.reach().is_shared_direct && may_waiter_run_ && !is_gateway_here_;
    return can_do_without ? base::Status() : ensure_service();
}

Gma::~Gma() {
    stop_service();
    if (link_ != nullptr) {
        link_->set_service_wanted(false);
    }
    fast_.view = {};
    fast_.marks.complete_floor.store(0, std::memory_order_relaxed);
    fast_.marks.order_floor.store(0, std::memory_order_relaxed);
    fast_.marks.inline_handle.store(0, std::memory_order_relaxed);
    space_.close();
}

base::Status Gma::check_requirements() {
    for (std::uint32_t slot = 0; slot < space_.segment().shape().local_procs; ++slot) {
        const bool must_attach = config_.intranode == IntraNode::attach ||
                                 config_.require.find("attach") != std::string::npos;
        if (must_attach && slot != member_.slot_index() && !attach_->can_reach(slot)) {
            return {base::Code::unsupported,
                    std::string(config_.intranode == IntraNode::attach ? "ACP_INTRANODE=attach"
                                                                       : "ACP_REQUIRE=attach") +
                        ": rank " + std::to_string(space_.rank()) + " cannot attach to rank " +
                        std::to_string(
                            space_.segment().slot(slot).rank.load(std::memory_order_relaxed)) +
                        ": " + attach_->refusal(slot)};
        }
    }
    if (config_.require.find("direct") != std::string::npos && !space_.reach().is_shared_direct) {
        return {base::Code::unsupported,
                "ACP_REQUIRE=direct, but ACP_INTRANODE switches the direct path off"};
    }
    return {};
}

base::Result<local::Key> Gma::register_memory(void* address,
                                              std::uint64_t bytes,
                                              std::uint32_t color) {
    auto key = registry_->add(address, bytes, color);
    if (key.is_ok() && node::slots_of(space_.segment().shape()) > 1) {
        if (auto status = ensure_service(); !status.is_ok()) {  // others may need it from now on
            (void)registry_->remove(key.value());
            return status;
        }
    }
    return key;
}

Path Gma::path(GlobalAddress target, GlobalAddress source) {
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
        // A gateway reaches private memory as a rank of its node does: by attach, or through the owner.
        const bool is_any_private = !space_.is_starter(target) || !space_.is_starter(source);
        // Where ranks have gateways of their own, theirs must answer.
        const bool must_help =
            is_gateway_here_ || (is_any_private && config_.attach == base::Attach::off);
        return {Route::remote, "remote", must_help, where_is(is_target_far ? target : source)};
    }
    switch (choose({.target = target, .source = source, .bytes = 1}, to, from)) {
        case Route::direct:
            return {Route::direct, "direct", false, ""};
        case Route::attach:
            return {Route::attach, "attach", false, ""};
        case Route::forward:
            return {Route::forward, config_.intranode == IntraNode::udp ? "udp" : "mailbox", true,
                    why_forwarded(is_here(to) ? from : to)};
        case Route::remote:
        case Route::none:
            break;
    }
    return {};
}

std::string Gma::why_forwarded(const local::Place& place) const {
    return place.is_hidden ? "the kernel hands these pages to no other process (memfd_secret)"
                           : attach_->refusal(place.slot);
}

Path Gma::private_path(std::uint32_t slot) {
    if (slot == member_.slot_index()) {
        return {Route::direct, "direct", false, ""};
    }
    const bool is_forced_away =
        config_.intranode == IntraNode::mailbox || config_.intranode == IntraNode::udp;
    if (!is_forced_away && config_.intranode != IntraNode::direct && attach_->can_reach(slot)) {
        return {Route::attach, "attach", false, ""};
    }
    if (config_.intranode == IntraNode::direct) {
        return {Route::none, "none", false, "ACP_INTRANODE=direct"};
    }
    return {Route::forward, config_.intranode == IntraNode::udp ? "udp" : "mailbox", true,
            is_forced_away ? "chosen by ACP_INTRANODE" : attach_->refusal(slot)};
}

Traffic Gma::traffic() const {
    Traffic traffic;
    const node::Segment& segment = member_.segment();
    for (const memory::HazardLine& line : segment.hazards(member_.slot_index())) {
        traffic.direct_commands += line.commands.load(std::memory_order_relaxed);
        traffic.direct_bytes += line.bytes.load(std::memory_order_relaxed);
        traffic.attach_commands += line.attached_commands.load(std::memory_order_relaxed);
        traffic.attach_bytes += line.attached_bytes.load(std::memory_order_relaxed);
    }
    const node::Slot& slot = member_.slot();
    traffic.attach_commands += slot.attach_commands.load(std::memory_order_relaxed);
    traffic.attach_bytes += slot.attach_bytes.load(std::memory_order_relaxed);
    traffic.forwarded_commands = slot.mailbox_commands.load(std::memory_order_relaxed);
    traffic.forwarded_bytes = slot.mailbox_bytes.load(std::memory_order_relaxed);
    traffic.remote_commands = slot.remote_commands.load(std::memory_order_relaxed);
    traffic.remote_bytes = slot.remote_bytes.load(std::memory_order_relaxed);
    return traffic;
}

}  // namespace acp::gma
