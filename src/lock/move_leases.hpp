// SPDX-License-Identifier: BSD-3-Clause
// The leases of a call that moves entries from one hashed container to another: while the call holds
// them, no other call moves entries out of either container or into it, so each entry is moved
// once, and two movers in opposite directions do not each erase the copy that the other one relies
// on. A lease is the lock that a container's directory links (operations/lock_operations.hpp): it
// is made with the first move, and outlives a holder that is killed. The two locks are taken in the
// order of their addresses, so movers do not deadlock. One thread; it blocks while others move.
// Tests: tests/conformance/hashed_move_test.cpp, tests/hashed.
#pragma once

#include <array>
#include <cstddef>

#include "base/status.hpp"
#include "data/hashed.hpp"

#include "lock/locks.hpp"

namespace acp::lock {

class MoveLeases {
public:
    //   both outlive this
    MoveLeases(Locks& locks, data::Hashed& hashed) noexcept : locks_(locks), hashed_(hashed) {}

    // Releases what was taken.
    ~MoveLeases();
    MoveLeases(const MoveLeases&) = delete;
    MoveLeases& operator=(const MoveLeases&) = delete;

    // Takes both leases, or none; the containers are different ones, of one kind. Errors: those of
    // Directories::fetch and Locks::of_container; peer (once for each of the containers that a
    // mover used when it was killed, unless moving its last entry again does no harm).
    base::Status take(const data::ContainerName& into,
                      const data::ContainerName& from,
                      const LongWait& tell_long_wait);

private:
    base::Status take_one(GlobalAddress lock, bool& has_died, const LongWait& tell_long_wait);
    base::Result<GlobalAddress> lock_of(const data::ContainerName& name);

    Locks& locks_;
    data::Hashed& hashed_;
    std::array<GlobalAddress, 2> held_{};
    std::size_t count_ = 0;
};

}  // namespace acp::lock
