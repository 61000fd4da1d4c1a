// SPDX-License-Identifier: BSD-3-Clause
// The one library instance of a process: its life, this process's membership, and the current
// epoch's global memory access. Every extern "C" function unwraps its arguments, calls it, and wraps the
// result, inside the boundary of api/boundary.hpp; no logic of communication lives here. The inline path's words and the calling thread's hazard line
// are plain variables of this layer, so that the short calls reach them without a detour.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "api/epoch_link.hpp"
#include "api/life.hpp"
#include "base/config.hpp"
#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/hashed.hpp"
#include "data/sequence.hpp"
#include "data/workspace.hpp"
#include "gma/gma.hpp"
#include "local/hazards.hpp"
#include "local/own_row.hpp"
#include "message/channels.hpp"
#include "message/segbufs.hpp"
#include "node/member.hpp"
#include "team/teams.hpp"

#include "execution/plans.hpp"
#include "pm/contexts.hpp"

namespace acp::api {

struct Library {
    Life life;
    base::Config config;
    std::atomic<bool> is_configured{false};  // config was read: ACP_ON_ERROR is what it says
    // ACP's own pairs of the command line, as environment entries: they hold for every later acp_init too.
    std::vector<std::string> arguments;
    bool has_warned_of_arguments = false;  // that some of them have no effect in this job
    // Once made they live as long as the process: a later epoch uses the same segment, slot and lines.
    std::unique_ptr<node::Member> member;
    std::unique_ptr<local::Hazards> hazards;
    std::optional<local::OwnRow> own_row;
    EpochLink link;                 // to other nodes, in a job of several
    std::unique_ptr<gma::Gma> gma;  // one per epoch, as the next
    std::unique_ptr<data::Allocator> allocator;
    std::unique_ptr<data::Hashed> hashed;
    std::unique_ptr<data::Sequences> sequences;  // on the allocator, as the next
    std::unique_ptr<data::Workspaces> workspaces;
    std::unique_ptr<message::Channels> channels;
    std::uint64_t channel_handles_made = 0;  // in the epochs before
    std::unique_ptr<message::Segbufs> segbufs;
    std::uint64_t segbuf_handles_made = 0;   // likewise
    std::uint64_t team_handles_made = 0;     // likewise
    std::unique_ptr<pm::Contexts> contexts;  // of PM messages
    std::uint64_t contexts_opened = 0;       // in the epochs before
    std::unique_ptr<team::Teams> teams;
    std::unique_ptr<execution::Plans> plans;
    execution::Plans::HandlesMade plan_handles_made;  // likewise
};

// The instance; constructed at first use, never destroyed (threads may outlive main).
[[nodiscard]] Library& library() noexcept;

// Where the instance lies. Hidden, as the words below.
extern constinit std::array<std::byte, sizeof(Library)> library_room
    __attribute__((visibility("hidden")));

// The instance, for calls that run at once. It may not have been made yet: then it is zeros, which are a life in which no call can be made.
[[nodiscard]] inline const Library& library_at_hand() noexcept {
    return *std::launder(reinterpret_cast<const Library*>(library_room.data()));
}

// Lasts as long as a call in which all ranks meet, after its Step::synchronize: whoever makes such a call meanwhile in another thread
// is told that it may not.
class MeetingCall {
public:
    MeetingCall() noexcept = default;
    MeetingCall(const MeetingCall&) = delete;
    MeetingCall& operator=(const MeetingCall&) = delete;

    ~MeetingCall() { library().life.end_meeting(); }
};

// What the inline path reads. Zero, and so closed, but between acp_init and acp_finalize.
// Hidden, as the next: the compiler then knows that they are of this library, and names them without a detour.
extern constinit gma::FastPath fast_path __attribute__((visibility("hidden")));

// The calling thread's own hazard line while the inline path may use it; nullptr sends it the long way, where
// it is claimed. Cleared in a forked child, and when the line is given back because the thread ends.
extern constinit thread_local memory::HazardLine* inline_line
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Library::hashed for calls that run at once; nullptr but between acp_init and acp_finalize, which sends them the long way.
extern constinit data::Hashed* hashed_at_hand;

// Claims the calling thread's line for the inline path, where that needs no fence.
void open_inline_path() noexcept;

// Keeps a failure as the calling thread's last one.
void keep(const base::Status& status) noexcept;

}  // namespace acp::api
