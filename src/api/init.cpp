// SPDX-License-Identifier: BSD-3-Clause
// <acp/init.h>: joining and leaving a job, and the barrier.
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "api/arguments.hpp"
#include "api/fatal.hpp"
#include "api/library.hpp"
#include "api/report.hpp"
#include "base/version.hpp"
#include "job/identity.hpp"
#include "node/mailbox_layout.hpp"
#include "os/process.hpp"

#include <acp/error.h>
#include <acp/init.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::check_in_use;
using api::guarded;
using api::Library;
using api::library;
using api::Life;
using api::result_of;

base::Result<node::Segment> open_segment(const job::Identity& identity,
                                         const base::Config& config) {
    if (identity.is_launched()) {
        return node::Segment::open(os::FileDescriptor(identity.node_file));
    }
    return node::Segment::create(node::shape_for(config, 1));
}

void close_gma(Library& instance) {
    instance.link.leave(*instance.member);
    instance.gma.reset();
    instance.link.close();
}

// Finds out who we are and maps the node, once per process.
base::Status become_member(Library& instance) {
    if (instance.member) {
        return {};
    }
    auto identity = job::identity_of(os::environment());
    if (!identity.is_ok()) {
        return std::move(identity).failure();
    }
    auto segment = open_segment(identity.value(), instance.config);
    if (!segment.is_ok()) {
        return std::move(segment).failure();
    }
    if (identity.value().slot >= segment.value().shape().local_procs) {
        return {base::Code::config,
                "ACP_SLOT=" + std::to_string(identity.value().slot) + " is not a slot of this job"};
    }
    instance.member =
        std::make_unique<node::Member>(std::move(segment).value(), identity.value().slot);
    instance.hazards =
        std::make_unique<local::Hazards>(instance.member->segment(), identity.value().slot);
    return {};
}

// What the launcher fixed for the whole job wins over this process's environment.
void follow_job(base::Config& config, const node::Shape& shape) {
    config.starter_bytes = shape.starter_bytes;
    config.mailbox = static_cast<base::MailboxKind>(shape.mailbox_kind);
    config.intranode = static_cast<base::IntraNode>(shape.intranode);
}

base::Status open_epoch(Library& instance) {
    instance.member->begin_epoch();
    auto status = instance.link.open(*instance.member, *instance.hazards, instance.config);
    if (!status.is_ok()) {
        return status;
    }
    auto gma = gma::Gma::open(*instance.member, *instance.hazards, api::fast_path, instance.config,
                              true, instance.link.get());
    if (!gma.is_ok()) {
        return std::move(gma).failure();
    }
    instance.gma = std::move(gma).value();
    instance.link.join(*instance.member, *instance.gma);
    return {};
}

void clear_starter(const node::Member& member) {
    std::memset(member.segment().starter(member.slot_index()), 0,
                member.segment().shape().starter_bytes);
}

base::Status initialize(int* argc, char*** argv) {
    Library& instance = library();
    const Life life = instance.life.load(std::memory_order_acquire);
    if (life == Life::in_use) {
        return {base::Code::state,
                "this process has joined already: acp_init is called once per epoch"};
    }
    if (life == Life::forked) {
        return check_in_use("acp_init");
    }
    auto environment = os::environment();
    if (auto status = api::take_arguments(argc, argv, environment); !status.is_ok()) {
        return status;
    }
    auto parsed = base::parse_config(environment);
    if (!parsed.is_ok()) {
        return std::move(parsed).failure();
    }
    const bool is_alone = !job::identity_of(environment).is_ok() ||
                          !job::identity_of(environment).value().is_launched();
    for (const std::string& warning : parsed.value().warnings) {
        if (is_alone) {  // else the launcher has said it once
            std::fprintf(stderr, "acp: %s\n", warning.c_str());
        }
    }
    instance.config = std::move(parsed.value().config);
    if (auto status = become_member(instance); !status.is_ok()) {
        return status;
    }
    follow_job(instance.config, instance.member->segment().shape());
    instance.member->barrier().set_hang_warning(instance.config.hang_warning_ns);
    if (auto status = instance.member->take_slot(); !status.is_ok()) {
        return status;
    }
    const node::BarrierCall call(instance.member->barrier(), node::AwaitedCall::init);
    if (life == Life::finalized) {
        clear_starter(*instance.member);
    }
    auto status = open_epoch(instance);
    if (status.is_ok()) {
        status = instance.member->meet();
    }
    if (status.is_ok()) {
        status = instance.gma->check_requirements();
    }
    if (!status.is_ok()) {
        close_gma(instance);
        instance.member->give_up();  // nobody waits for this rank for ever
        return status;
    }
    instance.member->confirm_epoch();
    instance.life.store(Life::in_use, std::memory_order_release);
    return {};
}

base::Status finalize() {
    if (auto status = check_in_use("acp_finalize"); !status.is_ok()) {
        return status;
    }
    Library& instance = library();
    const node::BarrierCall call(instance.member->barrier(), node::AwaitedCall::finalize);
    instance.gma->finish_all();
    if (instance.config.is_report_on) {
        api::print_report(*instance.member, *instance.gma);
    }
    auto status = instance.member->meet();
    close_gma(instance);
    instance.life.store(Life::finalized, std::memory_order_release);
    instance.member->leave();
    return status;
}

base::Status reset(int rank) {
    if (auto status = check_in_use("acp_reset"); !status.is_ok()) {
        return status;
    }
    Library& instance = library();
    const node::BarrierCall call(instance.member->barrier(), node::AwaitedCall::reset);
    instance.gma->finish_all();
    const auto wanted = static_cast<std::uint32_t>(rank);
    if (auto status = instance.member->agree_on_rank(wanted); !status.is_ok()) {
        return std::move(status).within("acp_reset");
    }
    close_gma(instance);
    if (auto status = instance.member->meet(); !status.is_ok()) {  // every row is closed
        return std::move(status).within("acp_reset");
    }
    instance.member->take_rank(wanted);
    clear_starter(*instance.member);
    if (auto status = instance.member->meet(); !status.is_ok()) {  // every rank has its slot
        return std::move(status).within("acp_reset");
    }
    if (auto status = open_epoch(instance); !status.is_ok()) {
        instance.life.store(Life::finalized, std::memory_order_release);
        return std::move(status).within("acp_reset");
    }
    auto status = instance.member->meet();
    instance.member->confirm_epoch();
    return std::move(status).within("acp_reset");
}

}  // namespace

extern "C" {

int acp_init(int* argc, char*** argv) {
    return guarded("acp_init", -1,
                   [&] { return result_of(initialize(argc, argv).within("acp_init")); });
}

int acp_finalize(void) {
    return guarded("acp_finalize", -1, [] { return result_of(finalize()); });
}

int acp_reset(int rank) {
    return guarded("acp_reset", -1, [&] { return result_of(reset(rank)); });
}

void acp_abort(const char* text) {
    const bool is_member = library().member != nullptr;
    std::fprintf(stderr, "acp: rank %s on %s aborts: %s%s%s\n",
                 is_member ? std::to_string(library().member->rank()).c_str() : "?",
                 os::host_name().c_str(), text != nullptr ? text : "(no reason given)",
                 acp_errno() != 0 ? "; last error: " : "", acp_error_message());
    api::mark_abort();
    os::end_by_abort();
}

int acp_sync(void) {
    return guarded("acp_sync", -1, [] {
        if (auto status = check_in_use("acp_sync"); !status.is_ok()) {
            return result_of(status);
        }
        return result_of(library().member->meet());
    });
}

int acp_rank(void) {
    return guarded("acp_rank", -1, [] {
        if (auto status = check_in_use("acp_rank"); !status.is_ok()) {
            return result_of(status);
        }
        return static_cast<int>(library().member->rank());
    });
}

int acp_procs(void) {
    return guarded("acp_procs", -1, [] {
        if (auto status = check_in_use("acp_procs"); !status.is_ok()) {
            return result_of(status);
        }
        return static_cast<int>(library().member->procs());
    });
}

int acp_initialized(void) {
    return library().life.load(std::memory_order_acquire) == Life::in_use ? 1 : 0;
}

const char* acp_version(void) {
    return base::version;
}
}
