// SPDX-License-Identifier: BSD-3-Clause
// Finds the lock in the heap, runs one step of it, and notifies the waiter that got it.
#include "operations/lock_operations.hpp"

#include <atomic>
#include <bit>
#include <cstring>
#include <string>

#include "node/loss.hpp"
#include "node/wait.hpp"

namespace acp::operations {

namespace {

using base::Code;
using heap::Offset;
using sync::LockAnswer;
using sync::LockGrant;
using sync::LockOutcome;
using sync::LockParty;
using sync::QueuedLock;

using Head = sync::LockHead<>;
using Place = sync::LockPlace<>;

std::uint64_t bytes_of(std::uint64_t places) noexcept {
    return sizeof(Head) + places * sizeof(Place);
}

// A lock that an operation has found.
struct FoundLock {
    Head* head = nullptr;
    Offset block = heap::no_block;
    std::uint32_t places = 0;

    [[nodiscard]] QueuedLock<> lock() const noexcept {
        return {*head, reinterpret_cast<Place*>(head + 1), places};
    }
};

Code find(allocator::OwnedHeap& owner, std::uint64_t address, FoundLock& found) noexcept {
    const Offset block = owner.offset_of(address);
    const std::uint64_t limit = owner.heap().limit_bytes();
    if (block == heap::no_block || block % alignof(Head) != 0 || block > limit - sizeof(Head))
        return Code::address;
    auto* const head = reinterpret_cast<Head*>(owner.memory_of(block));
    // acquire: the lock is made; partner: MakeLock::run
    if (head->mark.load(std::memory_order_acquire) != mark_of_lock(address)) return Code::stale;
    const std::uint64_t places = head->places.load(std::memory_order_relaxed);
    const bool is_sound = std::has_single_bit(places) && places <= sync::lock_places_max &&
                          bytes_of(places) <= limit - block;
    if (!is_sound) return Code::stale;
    found = {head, block, static_cast<std::uint32_t>(places)};
    return Code::ok;
}

bool are_places(std::uint64_t places) noexcept {
    return std::has_single_bit(places) && places >= 4 && places <= sync::lock_places_max;
}

// Makes a free lock.   memory  bytes_of(places)
void make_at(char* memory, std::uint64_t address, std::uint64_t places) noexcept {
    std::memset(memory, 0, bytes_of(places));
    auto* const head = reinterpret_cast<Head*>(memory);
    head->places.store(places, std::memory_order_relaxed);
    FoundLock{head, heap::no_block, static_cast<std::uint32_t>(places)}.lock().make();
    head->mark.store(mark_of_lock(address), std::memory_order_release);  // partner: find()
}

LockParty party_of(const LockCall& call) noexcept {
    return {call.process, call.thread, call.serial};
}

// Rings a waiter of this node that has the lock now; one of another node is left to the caller.
void answer_with(const allocator::OwnedHeap& owner,
                 const LockAnswer& answer,
                 LockReply& reply) noexcept {
    reply.outcome = answer.outcome;
    reply.ticket = answer.ticket;
    reply.holder = answer.holder;
    const LockGrant& grant = answer.grant;
    const local::Space& space = owner.space();
    if (grant.process >= space.segment().shape().procs) return;  // no waiter got the lock
    if (space.is_on_node(grant.process)) {
        // After the change of the lock, by seq_cst; partner: Bell::announce() of the sleeper
        node::ring_bell_after_rmw(
            space.segment().slot(space.slot_of(grant.process)).door.waiter_bell);
    } else {
        reply.next = grant.process;
        reply.grant_word = grant.notice.grant_word;
        reply.value = sync::GrantState::of_grant(grant.notice.number, grant.died != 0);
    }
}

// Runs step(lock, is_gone) on the lock of a call.
template <typename Step>
Code run_step(allocator::OwnedHeap& owner,
              const LockCall& call,
              LockReply& reply,
              const Step& step) noexcept {
    FoundLock found;
    if (const Code code = find(owner, call.lock, found); code != Code::ok) return code;
    const node::Segment& segment = owner.space().segment();
    const auto is_gone = [&segment](std::uint32_t process) {
        return process >= segment.shape().procs || node::is_gone(segment, process);
    };
    QueuedLock<> lock = found.lock();
    const LockAnswer answer = step(lock, is_gone);
    answer_with(owner, answer, reply);
    return answer.outcome == LockOutcome::freed ? Code::stale : Code::ok;
}

const LockCall& call_in(const LockCall& input) noexcept {
    return input;
}

const LockCall& call_in(const LockTake& input) noexcept {
    return input.call;
}

}  // namespace

template <typename InputType>
Code LockOperation<InputType>::check(const local::OperationCall<InputType>& call,
                                     const local::OwnerShape& shape) noexcept {
    const LockCall& fields = call_in(call.input);
    if (shape.heap_bytes == 0) return Code::unsupported;
    const bool is_sound = fields.process < shape.procs &&
                          fields.thread <= sync::lock_thread_shared &&
                          fields.serial < 1U << sync::lock_serial_bits &&
                          fields.ticket < 1U << sync::lock_ticket_bits;
    return is_sound ? Code::ok : Code::argument;
}

template <typename InputType>
std::string LockOperation<InputType>::places_of(const InputType& input) {
    return "the lock is " + local::Space::range_name(call_in(input).lock, sizeof(Head));
}

template struct LockOperation<LockCall>;
template struct LockOperation<LockTake>;

bool MakeLock::check_fields(const Call& call) noexcept {
    return are_places(call->places);
}

Code MakeLock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    const std::uint64_t bytes = bytes_of(call->places);
    const Offset block = owner.heap().allocate(owner.thread(), bytes, alignof(Head),
                                               allocator::BlockOwner::separate);
    if (block == heap::no_block) return Code::ok;
    reply->lock = owner.address_of(block);
    make_at(owner.memory_of(block), reply->lock, call->places);
    return Code::ok;
}

bool LockOfContainer::check_fields(const Call& call) noexcept {
    return are_places(call->places);
}

Code LockOfContainer::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    const table::BlockNumber directory = allocator::find_directory(owner, call->container);
    if (directory == 0) return Code::stale;
    const table::BlockNumber lock = allocator::linked_block(
        owner, directory, &table::DirectoryStart<std::atomic>::lock, bytes_of(call->places),
        [&](table::BlockNumber block, char* memory) {
            make_at(memory, owner.address_of(block), call->places);
        });
    reply->lock = owner.address_of(lock);
    return Code::ok;
}

std::string LockOfContainer::places_of(const Input& input) {
    return allocator::container_named(input.container);
}

Code TakeLock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    return run_step(owner, call->call, reply.output, [&](auto& lock, const auto& is_gone) {
        return lock.take(party_of(call->call), call->may_wait != 0,
                         {call->grant_word, call->grant_number}, is_gone);
    });
}

Code PollLock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    return run_step(owner, call.input, reply.output, [&](auto& lock, const auto& is_gone) {
        return lock.poll(party_of(call.input), call->ticket, is_gone);
    });
}

Code LeaveLock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    return run_step(owner, call.input, reply.output, [&](auto& lock, const auto& is_gone) {
        return lock.leave(party_of(call.input), call->ticket, is_gone);
    });
}

Code ReleaseLock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    return run_step(owner, call.input, reply.output, [&](auto& lock, const auto& is_gone) {
        return lock.release(party_of(call.input), is_gone);
    });
}

Code FreeLock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    const Code code =
        run_step(owner, call.input, reply.output, [](auto& lock, const auto& is_gone) {
            LockAnswer answer;
            const bool is_retired = lock.retire(answer.holder, is_gone);
            answer.outcome = is_retired ? LockOutcome::released : LockOutcome::held;
            return answer;
        });
    if (code != Code::ok || reply->outcome != LockOutcome::released) return code;
    const Offset block = owner.offset_of(call->lock);
    reinterpret_cast<Head*>(owner.memory_of(block))->mark.store(0, std::memory_order_relaxed);
    (void)owner.heap().free(owner.thread(), block, allocator::BlockOwner::separate);
    return Code::ok;
}

Code GrantLock::check(const Call& call, const local::OwnerShape& /*shape*/) noexcept {
    return sync::GrantState::is_grant(call->value) ? Code::ok : Code::argument;
}

Code GrantLock::run(Owner& owner, const Call& call, Reply& /*reply*/) noexcept {
    using Word = std::atomic<std::uint64_t>;
    local::OperationContext& context = owner.context();
    std::byte* const place = context.find(call->grant_word, sizeof(Word));
    if (place == nullptr) return context.refusal();
    if (reinterpret_cast<std::uintptr_t>(place) % alignof(Word) != 0) return Code::alignment;
    if (sync::GrantWord<>(*reinterpret_cast<Word*>(place)).grant(call->value)) {
        const local::Space& space = context.space();
        // After the word, by seq_cst; partner: Bell::announce() of the sleeper.
        node::ring_bell_after_rmw(
            space.segment().slot(space.slot_of(context.process())).door.waiter_bell);
    }
    return Code::ok;
}

std::string GrantLock::places_of(const Input& input) {
    return "the grant word is " + local::Space::range_name(input.grant_word, sizeof(std::uint64_t));
}

}  // namespace acp::operations
