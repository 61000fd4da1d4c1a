// SPDX-License-Identifier: BSD-3-Clause
// Finds the lock in the heap, runs one step of it, and notifies the waiter that got it.
#include "operations/lock_operations.hpp"

#include <atomic>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "node/loss.hpp"
#include "node/wait.hpp"
#include "sync/lock_bytes.hpp"

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
using RecordHead = sync::LockBytesHead<>;
using Record = sync::LockBytes<>;

// The first word of the record of bound bytes at a global address.
std::uint64_t mark_of_record(std::uint64_t address) noexcept {
    constexpr std::uint64_t mark_of_records = 0x65747962'20504341;  // "ACP byte"
    return mark_of_records ^ address;
}

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
    const std::uint64_t mark = head->mark.load(std::memory_order_acquire);
    if (mark != mark_of_lock(address) && mark != mark_of_bound_lock(address)) return Code::stale;
    const std::uint64_t places = head->places.load(std::memory_order_relaxed);
    const bool is_sound = std::has_single_bit(places) && places <= sync::lock_places_max &&
                          bytes_of(places) <= limit - block;
    if (!is_sound) return Code::stale;
    found = {head, block, static_cast<std::uint32_t>(places)};
    return Code::ok;
}

// The record of a lock, or none. Every field is compared with the heap, like those of the lock.
std::optional<Record> record_of(allocator::OwnedHeap& owner, const FoundLock& lock) noexcept {
    // acquire: the record is made; partner: replace_record()
    const std::uint64_t distance = lock.head->record.load(std::memory_order_acquire);
    const Offset block = lock.block + distance;
    const std::uint64_t limit = owner.heap().limit_bytes();
    if (distance == 0 || block % alignof(RecordHead) != 0 || block > limit - sizeof(RecordHead))
        return std::nullopt;
    auto* const record = reinterpret_cast<RecordHead*>(owner.memory_of(block));
    if (record->mark.load(std::memory_order_relaxed) != mark_of_record(owner.address_of(block)))
        return std::nullopt;
    const std::uint64_t bytes = record->bytes.load(std::memory_order_relaxed);
    if (bytes == 0 || bytes > lock_bytes_max || Record::record_bytes(bytes) > limit - block)
        return std::nullopt;
    return Record(*record, bytes);
}

// The bytes of the lock's record follow an output, if it has one.
void add_bytes(allocator::OwnedHeap& owner,
               const FoundLock& lock,
               local::ResultTail& tail) noexcept {
    const auto record = record_of(owner, lock);
    if (!record || tail.room().size() < record->bytes()) return;
    record->read(tail.room().first(record->bytes()));
    tail.advance(record->bytes());
}

// Gives a lock another record, or none, and frees the one that it has.
void replace_record(allocator::OwnedHeap& owner, const FoundLock& lock, Offset record) noexcept {
    const bool has_record = record_of(owner, lock).has_value();
    const std::uint64_t distance = record == heap::no_block ? 0 : record - lock.block;
    // release: the record; partner: record_of()
    const Offset before =
        lock.block + lock.head->record.exchange(distance, std::memory_order_acq_rel);
    if (!has_record) return;
    reinterpret_cast<RecordHead*>(owner.memory_of(before))
        ->mark.store(0, std::memory_order_relaxed);
    (void)owner.heap().free(owner.thread(), before, allocator::BlockOwner::separate);
}

// Makes a record of the bytes; no_block: there is no room.
Offset make_record(allocator::OwnedHeap& owner, local::Bytes bytes) noexcept {
    const Offset block =
        owner.heap().allocate(owner.thread(), Record::record_bytes(bytes.size()),
                              alignof(RecordHead), allocator::BlockOwner::separate);
    if (block == heap::no_block) return block;
    auto* const record = reinterpret_cast<RecordHead*>(owner.memory_of(block));
    record->version.store(0, std::memory_order_relaxed);
    record->mark.store(mark_of_record(owner.address_of(block)), std::memory_order_relaxed);
    record->bytes.store(bytes.size(), std::memory_order_relaxed);
    Record(*record, bytes.size()).publish(bytes);
    return block;
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

// A step that may give the caller the lock: then the bytes that are bound to it follow the answer.
template <typename Step>
Code run_taking_step(allocator::OwnedHeap& owner,
                     const LockCall& call,
                     local::OperationReply<LockReply>& reply,
                     const Step& step) noexcept {
    const Code code = run_step(owner, call, reply.output, step);
    const LockOutcome outcome = reply->outcome;
    const bool has_lock = outcome == LockOutcome::taken || outcome == LockOutcome::taken_from_dead;
    FoundLock found;
    if (code == Code::ok && has_lock && find(owner, call.lock, found) == Code::ok)
        add_bytes(owner, found, reply.tail);
    return code;
}

const LockCall& call_in(const LockCall& input) noexcept {
    return input;
}

const LockCall& call_in(const LockTake& input) noexcept {
    return input.call;
}

}  // namespace

template <typename InputType, std::uint32_t tail_bytes, std::uint32_t result_tail_bytes>
Code LockOperation<InputType, tail_bytes, result_tail_bytes>::check(
    const local::OperationCall<InputType>& call, const local::OwnerShape& shape) noexcept {
    const LockCall& fields = call_in(call.input);
    if (shape.heap_bytes == 0) return Code::unsupported;
    const bool is_sound = fields.process < shape.procs &&
                          fields.thread <= sync::lock_thread_shared &&
                          fields.serial < 1U << sync::lock_serial_bits &&
                          fields.ticket < 1U << sync::lock_ticket_bits;
    return is_sound ? Code::ok : Code::argument;
}

template <typename InputType, std::uint32_t tail_bytes, std::uint32_t result_tail_bytes>
std::string LockOperation<InputType, tail_bytes, result_tail_bytes>::places_of(
    const InputType& input) {
    return "the lock is " + local::Space::range_name(call_in(input).lock, sizeof(Head));
}

template struct LockOperation<LockCall>;
template struct LockOperation<LockCall, lock_bytes_max>;
template struct LockOperation<LockCall, 0, lock_bytes_max>;
template struct LockOperation<LockTake, 0, lock_bytes_max>;

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
    return run_taking_step(owner, call->call, reply, [&](auto& lock, const auto& is_gone) {
        return lock.take(party_of(call->call), call->may_wait != 0,
                         {call->grant_word, call->grant_number}, is_gone);
    });
}

Code PollLock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    return run_taking_step(owner, call.input, reply, [&](auto& lock, const auto& is_gone) {
        return lock.poll(party_of(call.input), call->ticket, is_gone);
    });
}

Code LeaveLock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    return run_taking_step(owner, call.input, reply, [&](auto& lock, const auto& is_gone) {
        return lock.leave(party_of(call.input), call->ticket, is_gone);
    });
}

Code ReleaseLock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    std::optional<Record> record;
    if (FoundLock found; !call.tail.empty() && find(owner, call->lock, found) == Code::ok) {
        record = record_of(owner, found);
        if (!record || record->bytes() != call.tail.size()) return Code::argument;
    }
    return run_step(owner, call.input, reply.output, [&](auto& lock, const auto& is_gone) {
        return lock.release(party_of(call.input), is_gone, [&] {
            if (record) record->publish(call.tail);
        });
    });
}

Code BindLock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    FoundLock found;
    if (const Code code = find(owner, call->lock, found); code != Code::ok) return code;
    reply->holder = found.lock().holder();
    reply->outcome = LockOutcome::held;
    if (reply->holder != LockGrant::no_process) return Code::ok;
    const bool is_bound = !call.tail.empty();
    const Offset record = is_bound ? make_record(owner, call.tail) : heap::no_block;
    reply->outcome = LockOutcome::full;
    if (is_bound && record == heap::no_block) return Code::ok;
    replace_record(owner, found, record);
    // release: the record; partner: find()
    found.head->mark.store(is_bound ? mark_of_bound_lock(call->lock) : mark_of_lock(call->lock),
                           std::memory_order_release);
    reply->outcome = LockOutcome::released;
    return Code::ok;
}

Code ReadBoundBytes::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    FoundLock found;
    if (const Code code = find(owner, call->lock, found); code != Code::ok) return code;
    reply->outcome = LockOutcome::released;
    add_bytes(owner, found, reply.tail);
    return Code::ok;
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
    const FoundLock freed{reinterpret_cast<Head*>(owner.memory_of(block)), block, 0};
    replace_record(owner, freed, heap::no_block);
    freed.head->mark.store(0, std::memory_order_relaxed);
    (void)owner.heap().free(owner.thread(), block, allocator::BlockOwner::separate);
    return Code::ok;
}

Code GrantLock::check(const Call& call, const local::OwnerShape& /*shape*/) noexcept {
    return sync::GrantState::is_grant(call->value) ? Code::ok : Code::argument;
}

Code GrantLock::run(Owner& owner, const Call& call, Reply& /*reply*/) noexcept {
    using Word = std::atomic<std::uint64_t>;
    local::OperationContext& context = owner.context();
    const local::Bytes bytes = call.tail;
    const std::size_t room = bytes.empty() ? sizeof(Word) : sizeof(sync::GrantRoom) + bytes.size();
    std::byte* const place = context.find(call->grant_word, room);
    if (place == nullptr) return context.refusal();
    const std::size_t alignment = bytes.empty() ? alignof(Word) : alignof(sync::GrantRoom);
    if (reinterpret_cast<std::uintptr_t>(place) % alignment != 0) return Code::alignment;
    sync::GrantWord<> word(*reinterpret_cast<Word*>(place));
    const auto write = [&] {
        auto* const head = reinterpret_cast<sync::GrantRoom*>(place);
        std::memcpy(place + sizeof *head, bytes.data(), bytes.size());
        head->number = call->value >> 2U;
        head->bytes = bytes.size();
    };
    if (bytes.empty() ? word.grant(call->value) : word.grant_with(call->value, write)) {
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
