// SPDX-License-Identifier: BSD-3-Clause
// A process's membership of its node: its slot in the node segment, its Waiter, and the collective
// steps of joining, re-ranking and leaving. Lives as long as the process once it has joined (a
// later epoch uses the same segment and slot). Knows no global memory. One thread makes the
// collective calls; any thread the others.
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

    // Takes the slot and its life lock: from now on the death of this process is detected and
    // reported. Errors: state (another process is this rank), peer (this rank was given up, or left
    // behind by the program that this process ran before).
    base::Status take_slot();

    // Waits until all ranks of the job have called it. Errors: peer; state where own meetings are
    // on (Barrier::wait).
    base::Status synchronize();

    // The first meeting of a call that ends an epoch. Own meetings, if they are on, end with it,
    // because their gateway is closed; if the meeting fails they stay on. Errors: as synchronize().
    base::Status end_own_meetings();

    // Every process contributes a number; afterwards, and until the next meeting of all, gathered()
    // returns them. For jobs of several nodes. Errors: peer.
    base::Status gather(std::uint32_t number);
    [[nodiscard]] std::uint32_t gathered(std::uint32_t process) const noexcept;  // process < procs

    // Agrees on new ranks: each process requests one; on success every process gets the rank that
    // it requested. All processes get the same verdict; on failure nothing has changed. Errors:
    // argument (out of range or requested twice, naming the process), peer.
    base::Status agree_on_rank(std::uint32_t rank);
    // The second half, after all processes have closed what belonged to their old rank: publishes
    // the new one.
    void take_rank(std::uint32_t rank);

    // Begins an epoch: handles, keys and registrations of earlier ones are invalid. The number is
    // equal on all processes, because all make the same collective calls.
    void begin_epoch() noexcept { ++epoch_; }

    // Called after the epoch's first meeting of all processes.
    void confirm_epoch() noexcept;

    [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }

    // Concludes a collective call that may fail in one process alone: a meeting of all ranks, each
    // with the result of its own part and with its epoch. The call fails on every rank or on none:
    // a rank whose own part failed returns that failure, every other one the code of the failed
    // process with the lowest index, and its rank. Nothing is kept per process of the job
    // (node/conclusion.hpp).
    // Errors: those, state (epochs differ), peer (see can_meet).
    base::Status conclude(base::Status own);

    // Whether no rank is gone: otherwise no meeting of all can complete.
    [[nodiscard]] bool can_meet() const noexcept;

    // Called after conclude() returned that joining failed: the slot is as if this process had not
    // tried.
    void withdraw() const noexcept;

    // Gives the slot up before its process ends: waits of other processes end as by a death, with
    // this reason.
    void give_up() noexcept;

    // Returns the slot: this process may end now.
    void leave() const noexcept;

    // Leaves for ever, after a meeting that could not complete: later requests of other ranks to
    // this process fail.
    void depart() const noexcept;

    // Called before depart(), and before this process ends its registrations: so a rank that finds
    // one ended knows why.
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
    os::LifeLock life_;  // the slot's lock; held from the first acp_init to the process's end
    std::uint32_t epoch_ = 0;
    Waiter waiter_;
    Barrier barrier_;
};

}  // namespace acp::node
