// SPDX-License-Identifier: BSD-3-Clause
// The instance, and what forking does to it.
#include "api/library.hpp"

#include "api/last_error.hpp"
#include "os/process.hpp"

namespace acp::api {

constinit gma::FastPath fast_path{};
constinit thread_local memory::HazardLine* inline_line __attribute__((tls_model("initial-exec"))) =
    nullptr;

Library& library() noexcept {
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without it there is no library; nothing to return
    static Library& instance = *new Library();
    return instance;
}

namespace {

// The child has the parent's memory but is not a rank: it may only exec or _exit.
void close_in_forked_child() {
    inline_line = nullptr;
    fast_path.view.index_count = 0;
    fast_path.marks.complete_floor.store(0, std::memory_order_relaxed);
    fast_path.marks.order_floor.store(0, std::memory_order_relaxed);
    Library& instance = library();
    if (instance.life.load(std::memory_order_relaxed) == Life::in_use) {
        instance.life.store(Life::forked, std::memory_order_relaxed);
    }
}

const bool is_fork_watched = os::call_in_forked_child(close_in_forked_child);

}  // namespace

void open_inline_path() noexcept {
    (void)is_fork_watched;
    Library& instance = library();
    // ACP_CHECK looks at every command on the long way.
    if (instance.hazards->has_membarrier() && !instance.config.is_check_on) {
        inline_line = instance.hazards->own_line();
    }
}

void keep(const base::Status& status) noexcept {
    last_error().set(status);
}

int result_of(const base::Status& status) noexcept {
    if (status.is_ok()) {
        return 0;
    }
    keep(status);
    return -1;
}

base::Status explain_not_in_use(const char* call) {
    switch (library().life.load(std::memory_order_acquire)) {
        case Life::in_use:
            return {};
        case Life::never_used:
            return {base::Code::state, std::string(call) + " before acp_init"};
        case Life::finalized:
            return {base::Code::state, std::string(call) + " after acp_finalize"};
        case Life::forked:
            break;
    }
    return {base::Code::forked, std::string(call) + " in a forked child (process " +
                                    std::to_string(os::own_pid()) +
                                    "): it is no rank of the job and may only exec or _exit"};
}

}  // namespace acp::api
