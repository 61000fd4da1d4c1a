// SPDX-License-Identifier: BSD-3-Clause
// The one library instance of a process: whether it is in use, this process's membership, and the current
// epoch's global memory access. Every extern "C" function unwraps its arguments, calls it, and wraps the
// result; no logic of communication lives here. The inline path's words and the calling thread's hazard line
// are plain variables of this layer, so that the short calls reach them without a detour.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "api/link.hpp"
#include "base/config.hpp"
#include "base/status.hpp"
#include "gma/gma.hpp"
#include "local/hazards.hpp"
#include "node/member.hpp"

namespace acp::api {

enum class Life : std::uint32_t { never_used, in_use, finalized, forked };

struct Library {
    std::atomic<Life> life{Life::never_used};
    base::Config config;
    // Once made they live as long as the process: a later epoch uses the same segment, slot and lines.
    std::unique_ptr<node::Member> member;
    std::unique_ptr<local::Hazards> hazards;
    Link link;                      // to other nodes, in a job of several
    std::unique_ptr<gma::Gma> gma;  // one per epoch
};

// The instance; constructed at first use, never destroyed (threads may outlive main).
[[nodiscard]] Library& library() noexcept;

// What the inline path reads. Zero, and so closed, but between acp_init and acp_finalize.
extern constinit gma::FastPath fast_path;

// The calling thread's own hazard line while the inline path may use it; nullptr sends it the long way, where
// it is claimed. Cleared in a forked child.
extern constinit thread_local memory::HazardLine* inline_line
    __attribute__((tls_model("initial-exec")));

// Claims the calling thread's line for the inline path, where that needs no fence.
void open_inline_path() noexcept;

// Keeps a failure as the calling thread's last one.
void keep(const base::Status& status) noexcept;

// Keeps the failure and returns -1; 0 when ok.
int result_of(const base::Status& status) noexcept;

// Why no call may be made now: state or forked, with the call's name.
base::Status explain_not_in_use(const char* call);

// ok when calls may be made now; else as above.
inline base::Status check_in_use(const char* call) {
    if (library().life.load(std::memory_order_acquire) == Life::in_use) [[likely]] {
        return {};
    }
    return explain_not_in_use(call);
}

// Runs a body that returns a Status or a value; nothing thrown passes. `fallback` is returned when it throws.
template <typename T, typename Body>
T guarded(const char* call, T fallback, Body&& body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        keep(base::Status::bare(base::Code::memory).within(call));
    } catch (const std::exception& error) {
        keep({base::Code::system, std::string(call) + ": " + error.what()});
    }
    return fallback;
}

}  // namespace acp::api
