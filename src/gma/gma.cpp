// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing global memory access: makes the parts and connects them.
#include "gma/gma.hpp"

#include <atomic>
#include <new>
#include <utility>

namespace acp::gma {

namespace {

using base::IntraNode;

local::Reach reach_of(const base::Config& config) {
    const bool is_open =
        config.intranode == IntraNode::automatic || config.intranode == IntraNode::direct;
    return {.is_shared_direct = is_open, .is_own_direct = config.is_bypass_on};
}

// Those of a job of one node, which has no link, where it is null.
remote::LinkTraits traits_of(const remote::Link* link) noexcept {
    return link != nullptr ? link->traits() : remote::LinkTraits{};
}

bool may_program_poll(const base::Config& config) noexcept {
    return config.is_bypass_on && config.intranode != IntraNode::udp &&
           config.mailbox == base::MailboxKind::mpsc;
}

}  // namespace

base::Result<std::unique_ptr<Gma>> Gma::open(node::Member& member,
                                             local::Hazards& hazards,
                                             FastPath& fast,
                                             const base::Config& config,
                                             const Surroundings& surroundings) {
    try {
        Opened opened;
        if (auto status = open_parts(opened, member, hazards, config, surroundings);
            !status.is_ok()) {
            return status;
        }
        std::unique_ptr<Gma> gma(
            new Gma(member, hazards, fast, config, surroundings, std::move(opened)));
        auto status = gma->begin(surroundings.devices != nullptr);
        if (!status.is_ok()) return status;
        return gma;
    } catch (const std::bad_alloc&) {
        return base::Status::bare(base::Code::memory);
    }
}

base::Status Gma::open_parts(Opened& opened,
                             node::Member& member,
                             local::Hazards& hazards,
                             const base::Config& config,
                             const Surroundings& surroundings) {
    const node::Segment& segment = member.segment();
    const std::uint32_t slot = member.slot_index();
    opened.space = std::make_unique<local::Space>();
    local::Space& space = *opened.space;
    if (auto status = space.open(segment, slot, reach_of(config), surroundings.own_row);
        !status.is_ok()) {
        return status;
    }
    if (!config.trace.empty()) {
        static std::atomic<bool> has_traced{false};  // this process did so in an earlier epoch
        auto trace = Trace::open(config.trace, member.rank(),
                                 has_traced.exchange(true, std::memory_order_relaxed));
        if (!trace.is_ok()) {
            return std::move(trace).failure();
        }
        opened.trace = std::move(trace).value();
    }
    opened.attach =
        std::make_unique<local::Attach>(segment, slot, config.attach != base::AttachMode::off);
    auto port = mailbox::Port::open(segment, slot);
    if (!port.is_ok()) {
        return std::move(port).failure();
    }
    opened.port = std::move(port).value();
    opened.forwarder =
        std::make_unique<mailbox::Forwarder>(space, hazards, *opened.port, member.epoch());
    if (surroundings.devices != nullptr) opened.forwarder->open_devices(*surroundings.devices);
    if (opened.trace) {
        const char* path = config.intranode == IntraNode::udp ? "udp" : "mailbox";
        opened.forwarder->set_observer([trace = opened.trace.get(), path, &space](
                                           const Command& command, std::uint32_t origin) {
            trace->record(command, path,
                          space.segment().slot(origin).rank.load(std::memory_order_relaxed));
        });
    }
    if (traits_of(surroundings.link).is_polled_here) {
        auto wait = os::ArmedWait::create(surroundings.link->traits().wait_fds);
        if (!wait.is_ok()) {
            return std::move(wait).failure().within("making the wake-up of the service thread");
        }
        opened.wait.emplace(std::move(wait).value());
    }
    return {};
}

Gma::Gma(node::Member& member,
         local::Hazards& hazards,
         FastPath& fast,
         const base::Config& config,
         const Surroundings& surroundings,
         Opened opened)
    : hazards_(hazards),
      fast_(fast),
      opened_(std::move(opened)),
      registry_(*opened_.space, hazards),
      local_ends_(member.segment().claimed(member.slot_index(), local_ends_range),
                  opened_.space->claimed_address(opened_.space->process(), local_ends_range),
                  registry_,
                  config.is_check_on ? std::make_unique<SourceWatch>(member.rank()) : nullptr),
      commands_(fast.marks, member, local_ends_),
      routes_(*opened_.space, hazards, *opened_.attach, config, surroundings.link),
      mover_(*opened_.space, hazards, *opened_.attach, routes_, opened_.trace.get()),
      invokes_(
          commands_.queue, *opened_.space, hazards, surroundings.operations, surroundings.link),
      jobs_(commands_,
            mover_,
            invokes_,
            hazards,
            routes_,
            opened_.space->layout(),
            member.slot(),
            config),
      mailbox_(commands_, *opened_.space, *opened_.port, *opened_.forwarder),
      remote_(commands_,
              invokes_,
              routes_,
              *opened_.space,
              member.slot(),
              {.link = surroundings.link,
               .is_polled_here = traits_of(surroundings.link).is_polled_here,
               .is_peer_served = traits_of(surroundings.link).is_peer_served,
               .may_program_poll = may_program_poll(config),
               .trace = opened_.trace.get()}),
      layer_issuer_(parts(), opened_.trace.get(), opened_.space->rank()),
      service_sleep_(*opened_.port,
                     std::move(opened_.wait),
                     traits_of(surroundings.link).is_polled_here ? surroundings.link : nullptr,
                     node::service_nap_max_ns(node::load_of(member.segment(), 1))),
      progress_(member,
                commands_,
                routes_,
                jobs_,
                mailbox_,
                remote_,
                layer_issuer_.carrier(),
                service_sleep_,
                {.may_program_run = config.is_bypass_on,
                 .may_program_poll = may_program_poll(config),
                 .is_link_polled_here = traits_of(surroundings.link).is_polled_here,
                 .look_cost = traits_of(surroundings.link).look_cost}),
      service_(progress_, service_sleep_, hazards, fast.marks, member.slot()),
      completion_(member, commands_, progress_, service_, service_sleep_),
      issuer_(parts(), hazards, *opened_.attach, fast.marks, config, opened_.space->rank()),
      pointer_issuer_(issuer_,
                      parts(),
                      hazards,
                      *opened_.attach,
                      local_ends_,
                      fast.marks,
                      config,
                      *opened_.space),
      fetcher_({member.segment().claimed(member.slot_index(), fetched_words),
                opened_.space->claimed_address(opened_.space->process(), fetched_words)},
               issuer_,
               completion_,
               registry_,
               service_) {
    fast_.view = opened_.space->view();
    fast_.slots = &member.segment().slot(0);
    fast_.view.inline_bytes_max = config.inline_bytes_max;
    fast_.view.pointer_bytes_max =
        config.is_bypass_on ? static_cast<std::uint32_t>(config.inline_bytes_max) : 0;
    if (opened_.trace || config.is_check_on) {
        fast_.view.index_count =
            0;  // everything goes the long way, where it is recorded and looked at
    }
}

Issuer::Parts Gma::parts() noexcept {
    return {commands_, routes_,   mover_,         jobs_,    mailbox_,   remote_,
            invokes_,  progress_, service_sleep_, service_, completion_};
}

// Publishes what other processes need, and makes the service thread if commands of others arrive
// whether or not this process makes calls.
base::Status Gma::begin(bool has_devices) {
    if (!hazards_.has_membarrier()) {
        // relaxed: the meeting that follows publishes it
        space().segment().control().is_membarrier_refused.store(1, std::memory_order_relaxed);
    }
    opened_.attach->publish_token();
    opened_.space->publish_shared();
    {
        const std::scoped_lock lock(commands_.mutex);
        progress_.update_service_wish();
    }
    // Where mapping is forbidden, the owner's thread serves starter memory too; a gateway in this
    // process serves all nodes; and only the owner of a device reaches its memory.
    const Progress::Manner& manner = progress_.manner();
    const bool can_do_without = opened_.space->reach().is_shared_direct && manner.may_program_run &&
                                !manner.is_link_polled_here && !has_devices;
    return can_do_without ? base::Status() : service_.ensure();
}

Gma::~Gma() {
    service_.stop();
    remote_.close();
    fast_.view = {};
    fast_.marks.complete_below.store(0, std::memory_order_relaxed);
    fast_.marks.order_floor.store(0, std::memory_order_relaxed);
    fast_.marks.inline_handle.store(0, std::memory_order_relaxed);
    revoke();
}

// Ends all registrations: no process uses the memory when it returns. After a meeting of all ranks
// no thread is inside it; if a death prevented the meeting, threads of others may be.
void Gma::revoke() {
    local::Space& space = *opened_.space;
    if (!space.is_open()) return;
    const std::uint64_t process = space.process();
    space.close();
    const auto is_named = [&space, process](GlobalAddress address) {
        return space.layout().process(address) == process && !space.is_shared(address);
    };
    hazards_.wait_until_unnamed(is_named);
}

base::Result<local::Key> Gma::register_memory(void* address,
                                              std::uint64_t bytes,
                                              std::uint32_t color) {
    auto key = registry_.add(address, bytes, color);
    // Registrations kept for pointers of ended commands can be ended to make room.
    if (!key.is_ok() && key.failure().code() == base::Code::limit &&
        registrations().end_kept() != 0) {
        key = registry_.add(address, bytes, color);
    }
    if (key.is_ok() && node::slots_of(space().segment().shape()) > 1) {
        if (auto status = service_.ensure(); !status.is_ok()) {  // others may need it from now on
            (void)registry_.remove(key.value());
            return status;
        }
    }
    return key;
}

Handle Gma::issue_followed(const Command& copy, const Invocation& call, Departure departure) {
    return issuer_.issue_followed(copy, call, departure);
}

Handle Gma::issue_followed(const PointerCopy& put, const Invocation& call, Handle order) {
    return pointer_issuer_.issue_followed(put, call, order);
}

Handle Gma::issue_signalled(const PointerCopy& put, const Signal& signal, Handle order) {
    return pointer_issuer_.issue_signalled(put, signal, order);
}

void Gma::send_rest() {
    progress_.send_rest();
}

base::Status Gma::invoke_failure(const Invocation& call, base::Code code) const {
    return invokes_.failure_of(call, code);
}

bool Gma::can_invoke(std::uint32_t operation,
                     std::uint64_t argument_bytes,
                     GlobalAddress first,
                     GlobalAddress second) const noexcept {
    return routes_.can_invoke_on(first, second) && invokes_.has_silent(operation, argument_bytes);
}

Traffic Gma::traffic() const {
    Traffic traffic;
    const node::Segment& segment = space().segment();
    for (const memory::HazardLine& line : segment.hazards(space().slot())) {
        traffic.direct_commands += line.commands.load(std::memory_order_relaxed);
        traffic.direct_bytes += line.bytes.load(std::memory_order_relaxed);
        traffic.attach_commands += line.attached_commands.load(std::memory_order_relaxed);
        traffic.attach_bytes += line.attached_bytes.load(std::memory_order_relaxed);
    }
    const node::Slot& slot = segment.slot(space().slot());
    traffic.attach_commands += slot.attach_commands.load(std::memory_order_relaxed);
    traffic.attach_bytes += slot.attach_bytes.load(std::memory_order_relaxed);
    traffic.forwarded_commands = slot.mailbox_commands.load(std::memory_order_relaxed);
    traffic.forwarded_bytes = slot.mailbox_bytes.load(std::memory_order_relaxed);
    traffic.remote_commands = slot.remote_commands.load(std::memory_order_relaxed);
    traffic.remote_bytes = slot.remote_bytes.load(std::memory_order_relaxed);
    return traffic;
}

}  // namespace acp::gma
