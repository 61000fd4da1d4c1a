// SPDX-License-Identifier: BSD-3-Clause
// Finds both ends of a command, and so which process may move its bytes: this one (direct, attach),
// the owner of the memory (forward), or the node's gateway (remote). Describes precisely why an end
// is invalid. Keeps no state of commands. Any thread; a result stays valid while a hazard line
// names both ends.
// Tests: tests/unit/gma/gma_test.cpp, gma_remote_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "base/config.hpp"
#include "base/status.hpp"
#include "gma/commands.hpp"
#include "local/attach.hpp"
#include "local/hazards.hpp"
#include "local/space.hpp"
#include "remote/link.hpp"

namespace acp::gma {

using memory::GlobalAddress;

enum class Route : std::uint8_t { none, direct, attach, forward, remote, layer };

struct Path {
    Route route = Route::none;
    const char* name = "none";     // static text: direct, attach, mailbox, udp, remote, none
    bool must_owner_help = false;  // a thread of the owning process must run
    std::string reason;            // why not a better one; "" when there is none
};

class Routes {
public:
    //   space, hazards, attach, config  must outlive this
    //   link  to other nodes; nullptr in a job of one node
    Routes(const local::Space& space,
           local::Hazards& hazards,
           local::Attach& attach,
           const base::Config& config,
           const remote::Link* link) noexcept;

    // Looks at both ends of a command and chooses the route by which it would run now.
    // Errors: address, stale, alignment, unsupported (a forced path does not lead there), peer (the
    // gateway is dead).
    base::Status check(const Command& command, memory::HazardLine& line, Route& route);

    // The route of a command that was checked once; its carrier checks its addresses again.
    [[nodiscard]] Route route_of(const Command& command);

    [[nodiscard]] bool is_here(const local::Place& place) const noexcept {
        return place.direct != nullptr && (place.is_own || space_.reach().is_shared_direct);
    }

    [[nodiscard]] bool is_far(GlobalAddress address, std::uint64_t bytes) const noexcept {
        return has_link_ && space_.is_elsewhere(address, bytes);
    }

    [[nodiscard]] bool is_far(const Command& command) const noexcept {
        return is_far(command.target_or_word(), command.bytes) ||
               is_far(command.source, command.bytes);
    }

    // Whether the kernel copies to and from this memory of another process for this one.
    [[nodiscard]] bool can_attach(const local::Place& place) noexcept;

    // Whether copies may go by attach at all.
    [[nodiscard]] bool may_attach() const noexcept {
        return config_.intranode == base::IntraNode::automatic ||
               config_.intranode == base::IntraNode::attach;
    }

    // Whether a numbered operation on these two addresses of one process of another node is run by
    // a process that reaches both.
    [[nodiscard]] bool can_invoke_on(GlobalAddress first, GlobalAddress second) const noexcept {
        return has_link_ && space_.is_elsewhere(first, 0) && space_.is_elsewhere(second, 0) &&
               space_.layout().process(first) == space_.layout().process(second) &&
               (is_peer_served_ || (space_.is_shared(first) && space_.is_shared(second)));
    }

    // Whether the user insists on attach: then its failure is the command's.
    [[nodiscard]] bool must_attach() const noexcept {
        return config_.intranode == base::IntraNode::attach ||
               config_.require.find("attach") != std::string::npos;
    }

    // Finds both ends of a copy between here and the private memory of one other process, which
    // attach has reached before. False: it is no such copy.   The line names both ends.
    [[nodiscard, gnu::always_inline]] inline bool find_attach(
        const Command& command, local::AttachCopy& copy) const noexcept {
        if (space_.find(command.target, command.bytes, copy.target) != base::Code::ok ||
            space_.find(command.source, command.bytes, copy.source) != base::Code::ok)
            [[unlikely]] {
            return false;
        }
        const bool is_get = is_here(copy.target);
        if (is_get == is_here(copy.source)) {
            return false;
        }
        local::Place& far = is_get ? copy.source : copy.target;
        far.direct = nullptr;
        copy.bytes = command.bytes;
        return !far.is_owner_only() && attach_.is_known_reachable(far.slot);
    }

    // Whether the paths that the configuration requires exist. Called after the meeting of all
    // ranks. Errors: unsupported.
    base::Status check_requirements();

    //   target or source  0: a pointer of this process
    [[nodiscard]] Path path(GlobalAddress target, GlobalAddress source);

    // The path between this rank and the private memory of another, whatever is registered now.
    [[nodiscard]] Path private_path(std::uint32_t slot);

    [[nodiscard]] bool is_gateway_dead() const noexcept;

    // Failures in words.
    [[gnu::cold]] base::Status bad_address(const Command& command,
                                           bool is_target,
                                           base::Code code) const;
    [[gnu::cold]] base::Status misaligned(const Command& command, bool is_target) const;
    [[gnu::cold]] base::Status no_gateway(const Command& command) const;

private:
    Route choose(const Command& command, const local::Place& target, const local::Place& source);
    [[nodiscard]] std::string where_is(GlobalAddress address) const;
    [[nodiscard]] std::string why_forwarded(const local::Place& place) const;
    [[nodiscard]] const char* name_of_forwarding() const noexcept;

    const local::Space& space_;
    local::Hazards& hazards_;
    local::Attach& attach_;
    const base::Config& config_;
    bool has_link_;
    bool is_peer_served_;  // LinkTraits
};

}  // namespace acp::gma
