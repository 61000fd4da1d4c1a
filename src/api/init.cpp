// SPDX-License-Identifier: BSD-3-Clause
// <acp/init.h>: joining and leaving a job, and the barrier. The steps are taken here, the work is
// done in api/epoch.cpp.
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/epoch.hpp"
#include "api/fatal.hpp"
#include "api/library.hpp"
#include "base/version.hpp"
#include "os/log_line.hpp"
#include "os/process.hpp"

#include <acp/error.h>
#include <acp/init.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using api::Step;

// Called after the step that ends the epoch was taken. If another thread waits in the library, it
// would use destroyed objects: so the step is taken back. The library's own thread acp-flush, which
// may wait for homes of pages, is no thread of the program: its work is awaited first.
bool is_another_thread_waiting(const char* call) noexcept {
    if (library().shared_pages != nullptr) library().shared_pages->finish_flushes();
    if (library().gma == nullptr || !library().gma->has_waiters()) return false;
    (void)library().life.take(Step::go_on);
    api::tell(
        call,
        base::Status::worded(
            base::Code::state,
            [] {
                return std::string(
                    "another thread of this process waits in a call; the epoch may end when it "
                    "has returned. Nothing was done");
            }),
        true);
    return true;
}

}  // namespace

extern "C" {

int acp_init(int* argc, char*** argv) {
    if (!library().life.take(Step::join)) {
        api::refuse("acp_init", false);
        return -1;
    }
    const bool is_ok = api::run_always<Gravity::reported>(
        "acp_init", false, [&] { return api::join(library(), argc, argv); });
    return is_ok ? 0 : -1;
}

int acp_finalize(void) {
    if (!library().life.take(Step::leave)) {
        api::refuse("acp_finalize", true);
        return -1;
    }
    if (is_another_thread_waiting("acp_finalize")) return -1;
    // This process has left in any case, so a failure is only reported.
    const bool is_ok = api::run_always<Gravity::reported>("acp_finalize", false,
                                                          [] { return api::leave(library()); });
    return is_ok ? 0 : -1;
}

int acp_reset(int rank) {
    if (!library().life.take(Step::reset)) {
        api::refuse("acp_reset", true);
        return -1;
    }
    if (is_another_thread_waiting("acp_reset")) return -1;
    const bool is_ok = api::run_always<Gravity::reported>("acp_reset", false, [&] {
        return api::reset(library(), static_cast<std::uint32_t>(rank));
    });
    // argument: the ranks are no permutation, all ranks got that failure, and nothing has changed.
    // After any other failure no meeting can complete.
    if (!is_ok && acp_errno() != ACP_ERR_ARGUMENT) api::end_if_fatal();
    return is_ok ? 0 : -1;
}

void acp_abort(const char* text) {
    os::print_error("acp: %s aborts: %s%s%s\n", api::own_name().c_str(),
                    text != nullptr ? text : "(no reason given)",
                    acp_errno() != 0 ? "; last error: " : "", acp_error_message());
    api::mark_abort();
    os::end_by_abort();
}

int acp_sync(void) {
    if (!library().life.begin_meeting()) [[unlikely]] {
        api::refuse("acp_sync", true);
        return -1;
    }
    const api::MeetingCall meeting;
    const bool is_ok =
        api::run_always<Gravity::failure_ends, api::Cancellation::left>("acp_sync", false, [] {
            const api::NamedMeeting named(api::WorldCall::sync);
            auto met = library().member->synchronize();
            return met.is_ok() ? std::move(met) : api::in_call("acp_sync", std::move(met));
        });
    return is_ok ? 0 : -1;
}

int acp_rank(void) {
    return api::run<Gravity::misuse_ends>(
        "acp_rank", -1, [] { return static_cast<int>(library().member->rank()); });
}

int acp_procs(void) {
    return api::run<Gravity::misuse_ends>(
        "acp_procs", -1, [] { return static_cast<int>(library().member->procs()); });
}

int acp_initialized(void) {
    return library().life.is_usable() ? 1 : 0;
}

const char* acp_version(void) {
    return base::version;
}
}
