// SPDX-License-Identifier: BSD-3-Clause
// The one library instance of a process: its life, this process's membership, and the current
// epoch's global memory access. Every extern "C" function unwraps its arguments, calls it, and
// wraps the result, inside the boundary of api/boundary.hpp; no logic of communication lives here.
// The inline path's words and the calling thread's hazard line are plain variables of this layer,
// so that the short calls reach them without a detour.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/epoch_link.hpp"
#include "api/life.hpp"
#include "api/world_call.hpp"
#include "base/config.hpp"
#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/hashed.hpp"
#include "data/sequence.hpp"
#include "data/table_view.hpp"
#include "data/workspace.hpp"
#include "dsm/shared_pages.hpp"
#include "gma/gma.hpp"
#include "gma/word_waits.hpp"
#include "local/hazards.hpp"
#include "local/own_row.hpp"
#include "message/channels.hpp"
#include "message/segbufs.hpp"
#include "node/barrier.hpp"
#include "node/member.hpp"
#include "offload/device_calls.hpp"
#include "offload/device_memory.hpp"
#include "offload/device_table.hpp"
#include "offload/own_devices.hpp"
#include "os/process.hpp"
#include "team/meeting_mark.hpp"
#include "team/teams.hpp"

#include "execution/plans.hpp"
#include "lock/locks.hpp"
#include "pm/contexts.hpp"

namespace acp::api {

struct Library {
    Life life;
    base::Config config;
    std::atomic<bool> is_configured{false};  // config was read, so its ACP_ON_ERROR is valid
    // ACP's own pairs of the command line, as environment entries: they hold for every later
    // acp_init too.
    std::vector<std::string> arguments;
    bool has_warned_of_arguments = false;  // warned that some of them have no effect in this job
    // Once made they live as long as the process: a later epoch uses the same segment, slot and
    // lines.
    std::unique_ptr<node::Member> member;
    std::unique_ptr<local::Hazards> hazards;
    std::optional<local::OwnRow> own_row;
    EpochLink link;                                    // to other nodes, in a job of several
    std::unique_ptr<offload::OwnDevices> own_devices;  // one per epoch, like the next ones
    std::unique_ptr<gma::Gma> gma;                     // its driver uses the devices
    std::unique_ptr<gma::WordWaits> word_waits;
    std::unique_ptr<data::Allocator> allocator;
    std::unique_ptr<data::Hashed> hashed;
    std::uint64_t hashed_epochs = 0;  // number of epochs that had one
    std::unique_ptr<lock::Locks> locks;
    std::unique_ptr<data::Sequences> sequences;  // uses the allocator, like the next
    std::unique_ptr<data::Workspaces> workspaces;
    std::unique_ptr<message::Channels> channels;
    std::uint64_t workspace_numbers_given = 0;  // total of the earlier epochs
    std::uint64_t channel_handles_made = 0;     // total of the earlier epochs
    std::unique_ptr<message::Segbufs> segbufs;
    std::uint64_t segbuf_handles_made = 0;   // total of the earlier epochs
    std::uint64_t team_handles_made = 0;     // total of the earlier epochs
    std::unique_ptr<pm::Contexts> contexts;  // contexts of PM messages
    std::uint64_t contexts_opened = 0;       // total of the earlier epochs
    std::unique_ptr<team::Teams> teams;
    std::unique_ptr<execution::Plans> plans;
    std::uint64_t device_numbers_given = 0;  // total of the earlier epochs
    std::unique_ptr<offload::DeviceTable> devices;
    std::unique_ptr<offload::DeviceCalls> device_calls;
    std::unique_ptr<offload::DeviceMemory> device_memory;
    execution::Plans::HandlesMade plan_handles_made;  // total of the earlier epochs
    std::unique_ptr<dsm::SharedPages>
        shared_pages;  // nullptr before acp_init_dsm and after acp_finalize_dsm
};

// The instance once it is made, which it is when the library is loaded. Hidden, as what follows.
extern constinit std::atomic<Library*> library_at_hand __attribute__((visibility("hidden")));

// Makes it at first use; never destroyed (threads may outlive main).
[[nodiscard]] Library& make_library() noexcept;

[[nodiscard]] inline Library& library() noexcept {
    // acquire: partner is make_library()
    Library* const made = library_at_hand.load(std::memory_order_acquire);
    return made != nullptr ? *made : make_library();
}

// nullptr: no call may be made now. Calls no function, so that a function that begins with it need
// save no registers.
[[nodiscard, gnu::always_inline]] inline Library* usable_library() noexcept {
    // acquire: partner is make_library()
    Library* const made = library_at_hand.load(std::memory_order_acquire);
    return made != nullptr && made->life.is_usable() ? made : nullptr;
}

#ifdef NDEBUG
inline constexpr bool is_debug_build = false;
#else
inline constexpr bool is_debug_build = true;
#endif

// Whether collective calls of the ranks are compared before they are made: ACP_CHECK, or a build
// for debugging.
[[nodiscard]] inline bool is_checking_collectives() noexcept {
    return library().config.is_check_on || is_debug_build;
}

// Publishes, during its lifetime, the call of this process's meeting of all ranks: to the other
// ranks (node::BarrierCall), and with ACP_CHECK to members of teams. In one thread at a time; the
// process has a slot.
class NamedMeeting {
public:
    explicit NamedMeeting(WorldCall call) noexcept
        : barrier_call_(library().member->barrier(), static_cast<std::uint32_t>(call)),
          mark_(shown_at(), does_end_epoch(call), may_go_on()) {}

    NamedMeeting(const NamedMeeting&) = delete;
    NamedMeeting& operator=(const NamedMeeting&) = delete;
    ~NamedMeeting() = default;

private:
    // Whether this process may take part in calls on teams or plans before the meeting is over.
    [[nodiscard]] static bool may_go_on() noexcept {
        gma::Gma* const gma = library().gma.get();
        return is_checking_collectives() &&
               (!os::is_last_thread() || (gma != nullptr && !gma->under_way().is_empty()));
    }

    [[nodiscard]] static team::BoardMeeting* shown_at() noexcept {
        if (!is_checking_collectives()) return nullptr;
        const node::Member& member = *library().member;
        return team::meeting_place(member.segment(), member.slot_index());
    }

    node::BarrierCall barrier_call_;
    team::MeetingMark mark_;
};

// Spans a call that is a meeting of all ranks, after its Step::synchronize: a second thread that
// makes such a call during this gets a failure.
class MeetingCall {
public:
    MeetingCall() noexcept = default;
    MeetingCall(const MeetingCall&) = delete;
    MeetingCall& operator=(const MeetingCall&) = delete;

    ~MeetingCall() { library().life.end_meeting(); }
};

// The words that the inline path reads. Zero, and so closed, except between acp_init and
// acp_finalize. Hidden, as the next: the compiler then knows that they are of this library, and
// names them without a detour.
extern constinit gma::FastPath fast_path __attribute__((visibility("hidden")));

// The calling thread's own hazard line while the inline path may use it; nullptr: calls take the
// slow path, which claims a line. Cleared in a forked child, and when the line is given back
// because the thread ends.
extern constinit thread_local memory::HazardLine* inline_line
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Whether the inline path may use the thread's line: there is one, and it names no access; it names
// one if a fault handler of this thread makes the call.
[[nodiscard, gnu::always_inline]] inline bool is_free(const memory::HazardLine* line) noexcept {
    return line != nullptr && !memory::is_entered(*line);
}

// Library::allocator for calls on the fast path; nullptr, for the slow path, except between
// acp_init and acp_finalize.
extern constinit data::Allocator* allocator_at_hand __attribute__((visibility("hidden")));

// Library::hashed for calls on the fast path; nullptr, for the slow path, except between acp_init
// and acp_finalize.
extern constinit data::Hashed* hashed_at_hand __attribute__((visibility("hidden")));

// The number of hashed_at_hand's epoch; 0 with nullptr.
extern constinit std::uint64_t hashed_epoch __attribute__((visibility("hidden")));

// Each thread's views of hashed containers, by the number of its hazard line. They outlive epochs,
// because a view names its epoch. Zero, and so without memory, until a thread uses them.
extern constinit std::array<data::TableViews, heap::threads_with_cache> table_views
    __attribute__((visibility("hidden")));

// The calling thread's views; nullptr: not used yet. Read only if inline_line is not nullptr.
extern constinit thread_local data::TableViews* table_views_at_hand
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Keeps a view of a container for the calling thread's next finds in it: data::TableViews::learn.
// inline_line and hashed_at_hand are not nullptr.
void keep_table_view(const data::ContainerName& name, const data::TablePlace& place) noexcept;

// Claims the calling thread's line for the inline path, where that needs no fence.
void open_inline_path() noexcept;

// Keeps a failure as the calling thread's last one.
void keep(const base::Status& status) noexcept;

}  // namespace acp::api
