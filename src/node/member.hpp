// SPDX-License-Identifier: BSD-3-Clause
// A process's membership of its node: its slot in the node segment, its way to wait, and the collective steps of
// joining, re-ranking and leaving. Lives as long as the process once it joined (a later epoch uses the same
// segment and slot). Knows no global memory. Collective calls by one thread; the rest by any.
// Tests: tests/unit/node/member_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "node/barrier.hpp"
#include "node/segment.hpp"
#include "node/wait.hpp"
#include "os/life_lock.hpp"

namespace acp::node {

class Member {
public:
    //   segment  open;   slot  0 .. local_procs-1
    Member(Segment segment, std::uint32_t slot);
    ~Member() = default;
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    // Takes the slot and its life lock: from here on this process's death is somebody's business. Errors: state (another
    // process is this rank), peer (this rank was given up, or left behind by the program this process ran before).
    base::Status take_slot();

    // Waits until all ranks of the job have called it. Errors: peer; state where own meetings are on (Barrier::wait).
    base::Status synchronize();

    // The first meeting of a call that ends an epoch. Own meetings, if they are on, are over after it, for the gateway that
    // carries them goes; if it fails they are not. Errors: as synchronize().
    base::Status end_own_meetings();

    // Every process brings a number; afterwards, and until the next meeting of all, gathered() knows them.
    // For jobs of several nodes. Errors: peer.
    base::Status gather(std::uint32_t number);
    [[nodiscard]] std::uint32_t gathered(std::uint32_t process) const noexcept;  // process < procs

    // Agrees on new ranks: each process names one; on success every process sits on the rank it named.
    // Everybody gets the same verdict; on failure nothing changed. Errors: argument (out of range or given
    // twice, with who asked), peer.
    base::Status agree_on_rank(std::uint32_t rank);
    // The second half, after everybody closed what belonged to the old rank: publishes the new one.
    void take_rank(std::uint32_t rank);

    // Begins an epoch: everything of an earlier one is dead. The same number on every process, for all make the
    // same collective calls.
    void begin_epoch() noexcept { ++epoch_; }

    // After all met in it.
    void confirm_epoch() noexcept;

    [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }

    // Ends a collective call that may fail in one process alone: meets all ranks, each with how its own part went and
    // with its epoch. It fails on every rank or on none: a rank whose own part failed returns that failure, every
    // other one the code of the failed process with the lowest index, and its rank. Nothing is kept per process of the job (node/conclusion.hpp).
    // Errors: those, state (epochs differ), peer (see can_meet).
    base::Status conclude(base::Status own);

    // Whether no rank is gone: else no meeting of all can end well any more.
    [[nodiscard]] bool can_meet() const noexcept;

    // After conclude() said that joining failed: the slot is as if this process had not tried.
    void withdraw() const noexcept;

    // Gives the slot up before its process ends: the others' waits end as by a death, with these words.
    void give_up() noexcept;

    // Gives the slot back: this process may end now.
    void leave() const noexcept;

    // The same for ever, where not all could meet: what others still ask of this process ends with an error.
    void depart() const noexcept;

    // Comes before depart(), and before this process ends its registrations: who finds them ended knows why.
    void begin_to_depart() const noexcept;

    [[nodiscard]] const Segment& segment() const noexcept { return segment_; }

    [[nodiscard]] std::uint32_t slot_index() const noexcept { return slot_; }

    [[nodiscard]] Slot& slot() const noexcept { return segment_.slot(slot_); }

    [[nodiscard]] std::uint32_t rank() const noexcept {
        return slot().rank.load(std::memory_order_relaxed);
    }

    [[nodiscard]] std::uint32_t procs() const noexcept { return segment_.shape().procs; }

    [[nodiscard]] Waiter& waiter() noexcept { return waiter_; }

    [[nodiscard]] Barrier& barrier() noexcept { return barrier_; }

private:
    base::Status take_life(SlotState state);

    Segment segment_;
    std::uint32_t slot_;
    os::LifeLock life_;  // of the slot; from the first acp_init to the process's end
    std::uint32_t epoch_ = 0;
    Waiter waiter_;
    Barrier barrier_;
};

}  // namespace acp::node
