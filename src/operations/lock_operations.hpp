// SPDX-License-Identifier: BSD-3-Clause
// Locks in the heap of a process as typed operations (local/typed_operation.hpp): a process of the
// same node runs them itself, the gateway of the owner's node runs them for other nodes, so a free
// lock is taken in one round trip. The lock is sync::QueuedLock in a separate block of the heap.
// An operation that gives the lock to a waiter of this node rings that process's bell; for a waiter
// of another node the caller gets the address of its grant word, which the caller sets (GrantLock).
// Bytes may be bound to a lock, in a record of their own (sync/lock_bytes.hpp): the operation that
// gives the caller the lock returns them, and the one that releases it publishes new ones. A bound
// lock begins with another mark, so that the inline path leaves it to the operations.
// Any thread.
// Tests: tests/unit/sync/queued_lock_test.cpp, tests/unit/operations/grant_lock_test.cpp, tests/unit/lock/bound_locks_test.cpp, tests/lock.
#pragma once

#include <cstdint>
#include <string>

#include "local/typed_operation.hpp"
#include "sync/grant_word.hpp"
#include "sync/queued_lock.hpp"

#include "allocator/directory_operations.hpp"
#include "allocator/heap_operations.hpp"

namespace acp::operations {

// The first word of a lock at a global address.
[[nodiscard]] constexpr std::uint64_t mark_of_lock(std::uint64_t address) noexcept {
    constexpr std::uint64_t mark_of_locks = 0x6b636f6c'20504341;  // "ACP lock"
    return mark_of_locks ^ address;
}

// That of a lock to which bytes are bound.
[[nodiscard]] constexpr std::uint64_t mark_of_bound_lock(std::uint64_t address) noexcept {
    return ~mark_of_lock(address);
}

// The answer of an operation on a lock.
struct LockReply {
    sync::LockOutcome outcome = sync::LockOutcome::again;
    std::uint32_t ticket = 0;                            // the caller has it if queued
    std::uint32_t holder = sync::LockGrant::no_process;  // the process that holds the lock
    // If the step gave the lock to a process of another node: that process. The caller notifies it
    // by GrantLock, whose input follows.
    std::uint32_t next = sync::LockGrant::no_process;
    std::uint64_t grant_word = 0;
    std::uint64_t value = 0;
};

// A thread and the lock that it names.
struct LockCall {
    std::uint64_t lock = 0;
    std::uint32_t process = 0;  // the caller's index in the job
    std::uint32_t thread = 0;   // see sync::LockParty, like the next
    std::uint32_t serial = 0;
    std::uint32_t ticket = 0;  // the caller has it if it waits
};

struct LockTake {
    LockCall call;
    std::uint64_t may_wait = 0;
    std::uint64_t grant_word = 0;    // address, of a caller of another node; else 0
    std::uint64_t grant_number = 0;  // sync::GrantWord::begin
};

// The most bytes that are bound to a lock: they travel in one operation.
inline constexpr std::uint32_t lock_bytes_max = local::tail_most<LockReply>;

static_assert(lock_bytes_max <= local::tail_most<LockCall>);

// The base of operations on a lock. Codes of a run: address (no place for a lock), stale (there is
// none).
template <typename InputType, std::uint32_t tail_bytes = 0, std::uint32_t result_tail_bytes = 0>
struct LockOperation : local::OperationTypes<allocator::OwnedHeap,
                                             InputType,
                                             LockReply,
                                             tail_bytes,
                                             result_tail_bytes> {
    static base::Code check(const local::OperationCall<InputType>& call,
                            const local::OwnerShape& shape) noexcept;
    static std::string places_of(const InputType& input);
};

struct LockToMake {
    std::uint64_t places = 0;  // a power of two, 4 .. sync::lock_places_max
};

struct MadeLock {
    std::uint64_t lock = 0;  // address; 0: there was no room
};

struct MakeLock : allocator::HeapOperation<MakeLock, LockToMake, MadeLock> {
    static constexpr local::OperationName name{"lock.make", "making a lock"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct ContainerLock {
    allocator::DirectoryName container;
    std::uint64_t places = 0;  // see LockToMake
};

// The lock of the calls that move entries out of a hashed container, or into it; makes it if there
// is none. It is freed with the container. Code stale: there is no such container.
struct LockOfContainer
    : allocator::InHeapOperation<LockOfContainer, allocator::OwnedTables, ContainerLock, MadeLock> {
    static constexpr local::OperationName name{"lock.of_container", "locking a container"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
    static std::string places_of(const Input& input);
};

// Takes the lock, or joins its queue. The bytes bound to the lock follow the answer of this
// operation and the next two, if the caller has the lock.
struct TakeLock : LockOperation<LockTake, 0, lock_bytes_max> {
    static constexpr local::OperationName name{"lock.take", "taking a lock"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// Says whether a waiter has the lock, and completes what dead processes have begun.
struct PollLock : LockOperation<LockCall, 0, lock_bytes_max> {
    static constexpr local::OperationName name{"lock.poll", "waiting for a lock"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// Takes a waiter out of the queue.
struct LeaveLock : LockOperation<LockCall, 0, lock_bytes_max> {
    static constexpr local::OperationName name{"lock.leave", "giving up a lock"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// The tail is the new bytes of a bound lock; without one they stay. Code argument: not as many bytes
// are bound.
struct ReleaseLock : LockOperation<LockCall, lock_bytes_max> {
    static constexpr local::OperationName name{"lock.release", "releasing a lock"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// Binds bytes to a lock that no thread uses, in place of those that are bound: the tail. Without a
// tail none are bound. Outcomes: released (done), held, full (no room).
struct BindLock : LockOperation<LockCall, lock_bytes_max> {
    static constexpr local::OperationName name{"lock.bind", "binding bytes to a lock"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// The bytes bound to a lock follow the answer. The caller excludes that a holder publishes others.
struct ReadBoundBytes : LockOperation<LockCall, 0, lock_bytes_max> {
    static constexpr local::OperationName name{"lock.read", "reading the bytes of a lock"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// Frees a lock, and the record of its bytes. Outcome held: it is held or awaited.
struct FreeLock : LockOperation<LockCall> {
    static constexpr local::OperationName name{"lock.free", "freeing a lock"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct LockNotification {
    std::uint64_t grant_word =
        0;                    // address, a multiple of 8; with a tail that of a sync::GrantRoom
    std::uint64_t value = 0;  // sync::GrantState::of_grant
};

// Tells a waiter of another node that the lock is its, and wakes it. Does nothing if the waiter
// knows already, or has begun another wait. The tail is the bytes bound to the lock. Codes of a run:
// alignment, and those of OperationContext::find.
struct GrantLock
    : local::
          OperationTypes<local::AddressedMemory, LockNotification, local::Nothing, lock_bytes_max> {
    static constexpr local::OperationName name{"lock.grant", "notifying a waiter of its lock"};
    static base::Code check(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
    static std::string places_of(const Input& input);
};

inline constexpr const auto& lock_operations = local::rows_of<MakeLock,
                                                              TakeLock,
                                                              PollLock,
                                                              LeaveLock,
                                                              ReleaseLock,
                                                              BindLock,
                                                              ReadBoundBytes,
                                                              FreeLock,
                                                              GrantLock,
                                                              LockOfContainer>;

}  // namespace acp::operations
