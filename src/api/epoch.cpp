// SPDX-License-Identifier: BSD-3-Clause
// Joining, changing ranks and leaving, step by step.
#include "api/epoch.hpp"

#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "api/arguments.hpp"
#include "api/fatal.hpp"
#include "api/job_settings.hpp"
#include "api/node_entry.hpp"
#include "api/report.hpp"
#include "api/shared_range.hpp"
#include "job/identity.hpp"
#include "os/file_descriptor.hpp"
#include "os/limits.hpp"
#include "os/log_line.hpp"
#include "os/memory_file.hpp"
#include "os/process.hpp"
#include "os/shared_library.hpp"

#include "claims/library_claims.hpp"
#include "operations/library_operations.hpp"

namespace acp::api {

namespace {

// Runs one part of a collective call. An exception becomes a failure, because the other processes
// wait for this one.
template <typename Body>
base::Status contained(Body&& body) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return base::Status::worded(base::Code::memory, [] {
            return std::string("no memory for the library's own records") +
                   os::memory_limit_text().data();
        });
    } catch (const std::exception& error) {
        return base::Status::worded(base::Code::system, [&] { return std::string(error.what()); });
    }
}

base::Result<NodeEntry> open_node(const job::Identity& identity, const base::Config& config) {
    if (identity.is_launched()) return enter_node(identity);
    auto segment = node::Segment::create(node::shape_for(config, 1), claims::library_claims());
    if (!segment.is_ok()) return std::move(segment).failure();
    return NodeEntry{std::move(segment).value(), {}};
}

// Determines this process's rank and maps the node segment, once per process. All or nothing: after
// success the launcher's descriptor is closed, so that no program that this process starts has it;
// after a failure a later acp_init tries again.
base::Status become_member(Library& instance, const std::vector<std::string>& environment) {
    if (instance.member) {
        return {};
    }
    auto identity = job::identity_of(environment);
    if (!identity.is_ok()) {
        return std::move(identity).failure();
    }
    if (os::is_memory_file_mapped(node::Segment::file_name)) {
        return {base::Code::state,
                "another copy of ACP is in use in this process, or was before; a process has one: "
                "link the program and its plugins to libacp.so, and open it by dlopen(), not by "
                "dlmopen()"};
    }
    os::keep_own_module_loaded();
    const std::uint32_t slot = identity.value().slot;
    auto opened = open_node(identity.value(), instance.config);
    if (!opened.is_ok()) {
        return std::move(opened).failure();
    }
    NodeEntry entry = std::move(opened).value();
    node::Segment& segment = entry.segment;
    if (slot >= segment.shape().local_procs) {
        return {base::Code::config,
                "ACP_SLOT=" + std::to_string(slot) + " is not a slot of this job"};
    }
    auto own_row = local::OwnRow::open(segment, slot);
    if (!own_row.is_ok()) {
        return std::move(own_row).failure();
    }
    auto member = std::make_unique<node::Member>(std::move(segment), slot);
    auto hazards = std::make_unique<local::Hazards>(member->segment(), slot);
    instance.own_row.emplace(std::move(own_row).value());
    instance.hazards = std::move(hazards);
    instance.member = std::move(member);
    instance.link.keep_own_key(std::move(entry.own_key));
    os::FileDescriptor(entry.superseded).close();
    return {};
}

// Settings that the launcher fixed for the whole job win over this process's command line. Rank 0
// reports that for all, once.
//   given  the environment as the launcher gave it
base::Status settle_with_job(Library& instance,
                             const std::vector<std::string>& given,
                             const job::Identity& identity) {
    if (!identity.is_launched()) return {};
    auto at_start = base::parse_config(given);
    if (!at_start.is_ok()) return std::move(at_start).failure();
    const auto warnings = follow_job(instance.config, std::move(at_start.value().config),
                                     instance.member->segment().shape(), instance.arguments);
    if (identity.rank != 0 || instance.has_warned_of_arguments) return {};
    instance.has_warned_of_arguments = true;
    for (const std::string& warning : warnings) {
        os::print_error("acp: acp_init: warning: %s\n", warning.c_str());
    }
    return {};
}

// Reads the configuration: the environment, and the pairs that this or an earlier acp_init took
// from the command line.
base::Status read_config(Library& instance, int* argc, char*** argv) {
    const auto given = os::environment();
    auto environment = given;
    if (auto status = take_arguments(argc, argv, instance.arguments); !status.is_ok()) {
        return status;
    }
    add_arguments(instance.arguments, environment);
    auto parsed = base::parse_config(environment);
    if (!parsed.is_ok()) {
        return std::move(parsed).failure();
    }
    const auto identity = job::identity_of(environment);
    const bool is_alone = !identity.is_ok() || !identity.value().is_launched();
    for (const std::string& warning : parsed.value().warnings) {
        if (is_alone) {  // else the launcher has said it once
            os::print_error("acp: %s\n", warning.c_str());
        }
    }
    instance.config = std::move(parsed.value().config);
    instance.is_configured.store(true, std::memory_order_release);  // partner: api/boundary.cpp
    if (auto status = become_member(instance, environment); !status.is_ok()) {
        return status;
    }
    return identity.is_ok() ? settle_with_job(instance, given, identity.value()) : base::Status();
}

message::ChannelSettings channel_settings(const base::Config& config) noexcept {
    return {config.channel_bytes, config.eager_bytes, config.channel_requests};
}

base::Status open_epoch(Library& instance) {
    instance.member->begin_epoch();
    auto status = instance.link.open(*instance.member, *instance.hazards, instance.config);
    if (!status.is_ok()) {
        return status;
    }
    auto devices = offload::OwnDevices::open(instance.config.devices);
    if (!devices.is_ok()) return std::move(devices).failure();
    instance.own_devices = std::move(devices).value();
    const bool has_devices = instance.own_devices->device_count() != 0;
    auto gma =
        gma::Gma::open(*instance.member, *instance.hazards, fast_path, instance.config,
                       {&*instance.own_row, instance.link.get(), &operations::library_operations(),
                        has_devices ? instance.own_devices.get() : nullptr});
    if (!gma.is_ok()) {
        return std::move(gma).failure();
    }
    instance.gma = std::move(gma).value();
    status = instance.own_devices->publish(instance.member->segment(),
                                           instance.member->slot_index(), instance.gma->registry());
    if (!status.is_ok()) return status;
    instance.word_waits = std::make_unique<gma::WordWaits>(*instance.gma);
    instance.allocator = std::make_unique<data::Allocator>(*instance.gma);
    allocator_at_hand = instance.allocator.get();
    instance.hashed = std::make_unique<data::Hashed>(*instance.gma, *instance.allocator);
    hashed_at_hand = instance.hashed.get();
    hashed_epoch = ++instance.hashed_epochs;
    instance.locks = std::make_unique<lock::Locks>(*instance.gma, *instance.allocator);
    instance.sequences = std::make_unique<data::Sequences>(*instance.gma, *instance.allocator);
    instance.workspaces = std::make_unique<data::Workspaces>(*instance.gma, *instance.allocator,
                                                             instance.workspace_numbers_given);
    instance.channels = std::make_unique<message::Channels>(
        *instance.gma, *instance.hashed, *instance.allocator, channel_settings(instance.config),
        instance.channel_handles_made);
    instance.segbufs = std::make_unique<message::Segbufs>(
        *instance.gma, *instance.hashed, *instance.allocator, instance.segbuf_handles_made);
    instance.contexts = std::make_unique<pm::Contexts>(*instance.gma, *instance.allocator,
                                                       instance.contexts_opened);
    instance.teams = std::make_unique<team::Teams>(
        *instance.gma, *instance.hashed, *instance.allocator, channel_settings(instance.config),
        is_checking_collectives(), instance.team_handles_made);
    instance.plans =
        std::make_unique<execution::Plans>(*instance.gma, *instance.allocator, *instance.teams,
                                           instance.config.rails, instance.plan_handles_made);
    instance.devices = std::make_unique<offload::DeviceTable>(instance.device_numbers_given);
    instance.device_calls = std::make_unique<offload::DeviceCalls>(
        *instance.gma, *instance.member, gma::by_rank(instance.member->rank()));
    instance.device_memory = std::make_unique<offload::DeviceMemory>(*instance.gma);
    instance.link.join(*instance.member, *instance.gma);
    return {};
}

// Closes an epoch, also one that was opened in part. When this returns no process writes into
// memory of this process.
//   have_all_met  the last meeting of this epoch has completed
void close_epoch(Library& instance, bool have_all_met = true) noexcept {
    instance.link.leave(*instance.member);
    if (instance.devices != nullptr)
        instance.device_numbers_given = instance.devices->numbers_given();
    instance.device_memory.reset();
    instance.device_calls.reset();
    instance.devices.reset();  // ends the device processes, which write into memory of ranks
    end_shared_range();
    instance.shared_pages.reset();
    if (instance.plans != nullptr) instance.plan_handles_made = instance.plans->handles_made();
    instance.plans.reset();
    if (instance.teams != nullptr) instance.team_handles_made = instance.teams->handles_made();
    instance.teams.reset();
    if (instance.segbufs != nullptr) {
        instance.segbuf_handles_made = instance.segbufs->handles_made();
    }
    instance.segbufs.reset();
    if (instance.contexts != nullptr) instance.contexts_opened = instance.contexts->opened();
    instance.contexts.reset();
    if (instance.channels != nullptr) {
        instance.channel_handles_made = instance.channels->handles_made();
    }
    instance.channels.reset();
    if (instance.workspaces != nullptr)
        instance.workspace_numbers_given = instance.workspaces->numbers_given();
    instance.workspaces.reset();
    instance.sequences.reset();
    instance.locks.reset();
    hashed_at_hand = nullptr;
    hashed_epoch = 0;
    instance.hashed.reset();
    allocator_at_hand = nullptr;
    instance.allocator.reset();
    instance.word_waits.reset();
    instance.gma.reset();
    instance.own_devices.reset();
    if (!have_all_met) instance.link.tell_that_we_leave();
    instance.link.close();
}

// Clears the process's memory: it is zero at the start of an epoch.
void clear_memory(const node::Member& member) {
    std::memset(member.segment().starter(member.slot_index()), 0,
                member.segment().shape().starter_bytes);
    allocator::NodeHeap::clear(member.segment(), member.slot_index());
    message::Pairing::clear(member.segment(), member.slot_index());
    pm::NodeHost::clear(member.segment(), member.slot_index());
    team::Teams::clear(member.segment(), member.slot_index());
}

// The meetings of acp_init: first, all have opened the epoch; then, all have the resources that
// they need from others; last, all know the result of all.
base::Status open_together(Library& instance) {
    node::Member& member = *instance.member;
    auto own = contained([&] { return open_epoch(instance); });
    if (auto status = member.synchronize(); !status.is_ok()) {
        return own.is_ok() ? std::move(status) : std::move(own);
    }
    if (own.is_ok()) {
        own = contained([&] { return instance.gma->check_requirements(); });
    }
    return member.conclude(std::move(own));
}

// The epoch is open on all ranks. The ranks' own gateways connect once before the call returns: so
// if a rank is stopped later, by a debugger for example, the others have had contact with it and
// therefore wait.
base::Status begin_meetings(Library& instance) {
    node::Member& member = *instance.member;
    member.confirm_epoch();
    instance.link.carry_meetings(member);
    return member.barrier().has_own_meetings() ? member.synchronize() : base::Status();
}

// Ends acp_reset on destruction in the state that was reached, also after an exception.
class Resetting {
public:
    explicit Resetting(Library& instance) noexcept : instance_(instance) {}

    Resetting(const Resetting&) = delete;
    Resetting& operator=(const Resetting&) = delete;

    ~Resetting() {
        if (!is_old_epoch_over_ || is_done_) {
            (void)instance_.life.take(Step::go_on);
            return;
        }
        close_epoch(instance_);
        (void)instance_.life.take(Step::give_up);
    }

    void begin_anew() noexcept {
        is_old_epoch_over_ = true;
        instance_.life.set_reason(base::Code::memory,
                                  "acp_reset: no memory for the library's own records");
        close_epoch(instance_);
    }

    // Notes the result; returns whether it is ok.
    bool note(const base::Status& status) noexcept {
        if (!status.is_ok()) instance_.life.set_reason(status.code(), status.message());
        return status.is_ok();
    }

    void finish() noexcept { is_done_ = true; }

private:
    Library& instance_;
    bool is_old_epoch_over_ = false;
    bool is_done_ = false;
};

// Ends acp_finalize, also after an exception.
class Leaving {
public:
    explicit Leaving(Library& instance) noexcept : instance_(instance) {}

    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

    ~Leaving() {
        if (!is_nobody_waiting_) instance_.member->begin_to_depart();
        close_epoch(instance_, is_nobody_waiting_);
        if (is_nobody_waiting_) {
            instance_.member->leave();
        } else {
            instance_.member->depart();
        }
        (void)instance_.member->segment().close_ranges();  // if refused, they stay accessible
        (void)instance_.life.take(Step::left);
    }

    // No process makes requests to this one from now on.
    void note_end() noexcept { is_nobody_waiting_ = true; }

private:
    Library& instance_;
    bool is_nobody_waiting_ = false;
};

// Drains the commands of the layers above gma.
void settle_layers(Library& instance) noexcept {
    instance.channels->settle_sent();
    instance.segbufs->settle_sent();
    instance.plans->settle_sent();
    instance.teams->settle_sent();
    instance.contexts->settle_sent();
}

// Waits for every command, and prints failures to stderr that no call has reported to the program:
// this is the last chance.
void finish_commands(Library& instance, const char* call) {
    settle_layers(instance);
    const node::Unreported unreported = instance.gma->finish_all();
    if (unreported.count == 0) return;
    try {
        os::print_error("acp: %s by rank %u on %s: %s\n", call, instance.member->rank(),
                        os::host_name().c_str(), node::describe(unreported).c_str());
    } catch (const std::bad_alloc&) {  // no memory for the words
        os::print_error("acp: %s by rank %u: %llu commands failed that were not reported\n", call,
                        instance.member->rank(), static_cast<unsigned long long>(unreported.count));
    }
}

// Ends all operations in flight. Called only once it is certain that the epoch ends.
void end_what_is_under_way(Library& instance) {
    instance.gma->under_way().end();
    instance.teams->end_requests();
    settle_layers(instance);
}

base::Status join_node(Library& instance, bool is_again) {
    node::Member& member = *instance.member;
    if (is_again) {
        if (auto status = member.segment().open_ranges(); !status.is_ok()) return status;
    }
    if (auto status = member.take_slot(); !status.is_ok()) {
        return status;
    }
    const node::BarrierCall call(member.barrier(), static_cast<std::uint32_t>(WorldCall::init));
    auto status = contained([&]() -> base::Status {
        if (is_again) clear_memory(member);
        return open_together(instance);
    });
    if (status.is_ok()) {
        status = begin_meetings(instance);
        if (status.is_ok()) return status;
        close_epoch(instance, false);
        member.give_up();
        return status;
    }
    close_epoch(instance);
    if (member.can_meet()) {
        member.withdraw();  // all ranks got the failure, so all may call acp_init again
    } else {
        member.give_up();  // so that no rank waits for this one for ever
    }
    return status;
}

}  // namespace

base::Status join(Library& instance, int* argc, char*** argv) {
    // A process that was a member before has content of an earlier epoch in its memory.
    const bool is_again = instance.member != nullptr;
    auto status = contained([&]() -> base::Status {
        if (auto read = read_config(instance, argc, argv); !read.is_ok()) {
            return read;
        }
        return join_node(instance, is_again);
    });
    if (status.is_ok()) {
        (void)instance.life.take(Step::joined);
    } else {
        instance.life.set_reason(status.code(), status.message());
        (void)instance.life.take(Step::refuse);
    }
    return in_call("acp_init", std::move(status));
}

base::Status reset(Library& instance, std::uint32_t rank) {
    Resetting resetting(instance);
    node::Member& member = *instance.member;
    finish_commands(instance, "acp_reset");
    const NamedMeeting call(WorldCall::reset);
    if (auto status = member.end_own_meetings(); !status.is_ok()) {
        return in_call("acp_reset", std::move(status));
    }
    if (auto status = member.agree_on_rank(rank); !status.is_ok()) {
        instance.link.carry_meetings(member);  // all ranks got the failure: the epoch continues
        return in_call("acp_reset", std::move(status));
    }
    end_what_is_under_way(instance);
    // Commands of other ranks may still be in flight to this process, which may be its own gateway:
    // it serves them in this meeting, until all ranks have waited for theirs.
    auto status = member.synchronize();
    resetting.begin_anew();
    if (status.is_ok()) status = member.synchronize();  // every row is closed
    if (status.is_ok()) {
        member.take_rank(rank);
        clear_memory(member);
        status = member.synchronize();  // every rank has its slot
    }
    if (status.is_ok()) {
        auto own = contained([&] { return open_epoch(instance); });
        status = member.conclude(std::move(own));
    }
    if (status.is_ok()) status = begin_meetings(instance);
    status = in_call("acp_reset", std::move(status));
    if (resetting.note(status)) resetting.finish();
    return status;
}

base::Status leave(Library& instance) {
    Leaving leaving(instance);
    if (instance.gma == nullptr) {  // given up before
        if (instance.member->can_meet())
            leaving.note_end();  // all ranks got the failure: all may join again
        return {instance.life.reason_code(),
                "acp_finalize: this process has left; it was given up "
                "before: " +
                    std::string(instance.life.reason().data())};
    }
    end_what_is_under_way(instance);
    finish_commands(instance, "acp_finalize");
    const NamedMeeting call(WorldCall::finalize);
    if (instance.config.is_report_on) {
        print_report(*instance.member, *instance.gma);
    }
    auto status = instance.member->end_own_meetings();
    if (status.is_ok()) status = instance.member->synchronize();
    if (status.is_ok()) leaving.note_end();
    return in_call("acp_finalize", std::move(status));
}

}  // namespace acp::api
