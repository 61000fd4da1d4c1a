// SPDX-License-Identifier: BSD-3-Clause
// How threads take locks, wait for them and release them (acp_lock(3)): each step is one typed
// operation on the lock (operations/lock_operations.hpp), run by the calling thread on its own
// node, in one round trip on another one. A waiter on the lock's node polls the lock, and sleeps until
// an operation on the lock wakes its process; a waiter of another node sleeps until the thread that
// releases the lock writes the waiter's grant word, which lies in the waiter's heap. It polls the lock
// after the death of a process, and otherwise every 2 s, so it gets the lock too if the thread that
// released it dies or stops before it has written the grant word. Bytes may be bound to a lock: they
// come with it, in the same answer or in the notification, and go with its release.
// One object from acp_init, or acp_reset, to the next acp_reset or acp_finalize. Any thread.
// Reasons: ADR 0041. Tests: tests/unit/lock, tests/lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"

#include "lock/grant_words.hpp"
#include "operations/lock_operations.hpp"

namespace acp::lock {

using memory::GlobalAddress;

// The result of a take that did not fail.
struct TakeResult {
    bool has_lock = false;  // false: the timeout has passed, and the thread does not hold the lock
    bool has_died = false;  // the previous holder died and had not released it
};

// Room for the bytes that are bound to a lock: exactly as long as they are; empty for a lock without.
using BoundRoom = std::span<std::byte>;
using BoundBytes = std::span<const std::byte>;

// Called at most once in a take(), by the thread that has waited for 2 s, with the time and "rank 1
// releases lock 0x.. of rank 0".
using LongWait = std::function<void(std::int64_t waited_ns, const std::string& until)>;

// Whether bytes are bound to a lock.
enum class LockKind : std::uint8_t { plain, bound };

// Calls change(head) if the calling thread reaches the lock by loads and stores, and the lock is alive
// and of the kind; returns its result, which says whether it has changed the lock. After false the
// caller calls Locks::take() or release(). Inlined as a whole: no call, no mutex.
//   line  a free hazard line of the calling thread
template <LockKind kind = LockKind::plain, typename Change>
[[nodiscard, gnu::always_inline]] inline bool change_inline(const local::View& view,
                                                            memory::HazardLine& line,
                                                            GlobalAddress lock,
                                                            const Change& change) noexcept {
    const std::uint64_t mark = kind == LockKind::plain ? operations::mark_of_lock(lock)
                                                       : operations::mark_of_bound_lock(lock);
    using Head = sync::LockHead<>;
    memory::enter<memory::HazardFence::compiler>(line, lock, lock);
    char* place = nullptr;
    bool is_changed = false;
    if (lock % alignof(Head) == 0 && view.find_direct(lock, sizeof(Head), place)) [[likely]] {
        auto& head = *reinterpret_cast<Head*>(place);
        // acquire: the lock is made; partner: operations::MakeLock::run
        is_changed = head.mark.load(std::memory_order_acquire) == mark && change(head);
    }
    memory::leave(line);
    return is_changed;
}

class Locks {
public:
    //   gma, allocator  outlive this
    Locks(gma::Gma& gma, data::Allocator& allocator) noexcept;

    // Makes a free lock in the heap of a process (< procs). Errors: memory, unsupported, peer.
    base::Result<GlobalAddress> make(std::uint32_t process);

    // The lock of calls that move entries of a hashed container; the first such call makes it.
    //   id  of the directory
    // Errors: stale (there is no such container), memory, peer.
    base::Result<GlobalAddress> of_container(GlobalAddress directory, std::uint64_t id);

    // Takes a lock. After an error the caller does not hold it.
    //   timeout_ns  0: does not wait; < 0: waits for ever
    //   room        gets the bytes that are bound to the lock, as of the last release
    // Errors: mismatch (the room is longer or shorter than the bound bytes), stale (no lock, or freed),
    // address, limit (too many waiters), state (the calling thread holds it), memory, peer (the
    // lock's node is lost).
    base::Result<TakeResult> take(GlobalAddress lock,
                                  std::int64_t timeout_ns,
                                  const LongWait& tell_long_wait,
                                  BoundRoom room = {});

    // Releases a lock that the calling thread holds.
    //   bytes  the new ones of a lock with bytes; if it is empty, the old ones stay
    // Errors: stale, address, state (the thread does not hold it), peer; argument (more or fewer bytes
    // than are bound).
    base::Status release(GlobalAddress lock, BoundBytes bytes = {});

    // Frees a lock. Errors: stale, address, state (it is held or awaited), peer.
    base::Status free(GlobalAddress lock);

    // Binds bytes to a lock in place of those that are bound. The caller sees to it that no thread is
    // in take().
    //   bytes  operations::lock_bytes_max at most; empty: the lock has none from now on
    // Errors: stale, address, state (a thread holds it), memory, peer.
    base::Status bind(GlobalAddress lock, BoundBytes bytes);

private:
    class LockCondition;
    struct Waiting;

    // The bytes of a step: those that follow its request, and room for those that follow its answer.
    struct StepBytes {
        BoundBytes sent;
        BoundRoom room;
        std::size_t received = 0;
    };

    template <typename Operation>
    base::Result<operations::LockReply> run(const typename Operation::Input& input,
                                            const operations::LockCall& call,
                                            StepBytes& bytes);

    template <typename Operation>
    base::Result<operations::LockReply> run(const operations::LockCall& call) {
        StepBytes none;
        return run<Operation>(call, call, none);
    }

    // Runs a step that sends bytes to a lock.
    template <typename Operation>
    base::Result<operations::LockReply> send(GlobalAddress lock, BoundBytes bytes);

    template <typename Operation>
    base::Result<GlobalAddress> made_by(std::uint32_t process,
                                        const typename Operation::Input& request);
    [[nodiscard]] std::uint64_t places_of_new() const noexcept;
    base::Result<TakeResult> wait(Waiting& waiting, const LongWait& tell_long_wait);
    base::Result<TakeResult> leave(Waiting& waiting);
    base::Result<TakeResult> take_granted(Waiting& waiting);
    base::Result<TakeResult> take_bytes(Waiting& waiting, TakeResult taken);
    base::Result<std::uint32_t> process_with_heap_of(GlobalAddress lock) const;
    [[nodiscard]] operations::LockCall call_on(GlobalAddress lock);
    void notify_next(operations::LockReply& reply, BoundBytes bytes = {});
    [[nodiscard]] bool is_gone(std::uint32_t process) const noexcept;
    [[nodiscard]] std::string name_of(std::uint32_t process) const;

    gma::Gma& gma_;
    data::Allocator& allocator_;
    GrantWords grant_words_;
};

}  // namespace acp::lock
