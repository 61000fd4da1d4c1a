// SPDX-License-Identifier: BSD-3-Clause
// Runs the steps, and waits between them.
#include "lock/locks.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "base/format.hpp"
#include "data/remote_call.hpp"
#include "gma/deadline.hpp"
#include "node/loss.hpp"
#include "os/clock.hpp"

namespace acp::lock {

using base::Code;
using base::Result;
using base::Status;
using operations::LockCall;
using operations::LockReply;
using sync::LockGrant;
using sync::LockOutcome;

static_assert(memory::hazard_lines_per_slot == sync::lock_thread_shared + 1);
static_assert(memory::process_bits_max == sync::lock_process_bits);

namespace {

// A waiter asks the lock's node at least so often.
constexpr std::int64_t ask_again_ns = 2'000'000'000;
// While the lock's node does not know yet that the holder died.
constexpr std::int64_t ask_soon_ns = 1'000'000;
constexpr std::int64_t long_wait_ns = 2'000'000'000;
// Each step is repeated when other threads changed the lock 256 times during it.
constexpr int steps_max = 10'000;

bool has_lock(const LockReply& reply) noexcept {
    return reply.outcome == LockOutcome::taken || reply.outcome == LockOutcome::taken_from_dead;
}

TakeResult taken_of(const LockReply& reply) noexcept {
    return {has_lock(reply), reply.outcome == LockOutcome::taken_from_dead};
}

}  // namespace

// A thread in the queue of a lock.
struct Locks::Waiting {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): see came
    Waiting(const LockCall& taker,
            BorrowedGrantWord& word,
            bool is_lock_here,
            BoundRoom room) noexcept
        : call(taker), grant_word(word), is_here(is_lock_here), wanted(room) {}

    LockCall call;
    BorrowedGrantWord& grant_word;  // begun if the lock is on another node
    bool is_here = false;
    LockReply last;  // the latest answer about the lock
    gma::Deadline deadline;
    BoundRoom wanted;  // the caller's
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): as much as is read is written before
    std::array<std::byte, operations::lock_bytes_max> came;
    StepBytes bytes = {{}, wanted.empty() ? BoundRoom() : BoundRoom(came)};
};

// On the lock's node: the lock is the waiter's, or another waiter must be notified. From another
// node: the grant word is set, or a process died since the last answer.
class Locks::LockCondition final : public gma::Condition {
public:
    LockCondition(Locks& locks, Waiting& waiting) noexcept
        : locks_(locks), waiting_(waiting), deaths_(deaths()) {}

    gma::LookResult look() override {
        if (waiting_.grant_word.is_granted()) return gma::LookResult::all;
        if (!waiting_.is_here)
            return deaths() != deaths_ ? gma::LookResult::all : gma::LookResult::nothing;
        // The thread that sleeps polls twice where it finds the condition true before its sleep: the
        // second poll keeps the answer, which names the waiter to be notified.
        if (must_return()) return gma::LookResult::all;
        auto reply = locks_.run<operations::PollLock>(waiting_.call, waiting_.call, waiting_.bytes);
        if (!reply.is_ok()) return gma::LookResult::all;
        waiting_.last = reply.value();
        return must_return() ? gma::LookResult::all : gma::LookResult::nothing;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        const local::Space& space = locks_.gma_.space();
        const std::uint32_t holder = waiting_.last.holder;
        memory::Command told;
        told.source = waiting_.call.lock;
        told.target =
            holder < space.segment().shape().procs ? locks_.allocator_.start_of(holder) : 0;
        entry.tell(node::WaitFor::object, since_ns, &told, "holds the lock");
    }

private:
    // Whether the last answer gives the lock to the waiter, or to another one of another node.
    [[nodiscard]] bool must_return() const noexcept {
        return waiting_.last.outcome != LockOutcome::queued ||
               waiting_.last.next != LockGrant::no_process;
    }

    [[nodiscard]] std::uint32_t deaths() const noexcept {
        return locks_.gma_.space().segment().control().deaths.load(std::memory_order_acquire);
    }

    Locks& locks_;
    Waiting& waiting_;
    std::uint32_t deaths_;
};

Locks::Locks(gma::Gma& gma, data::Allocator& allocator) noexcept
    : gma_(gma), allocator_(allocator), grant_words_(gma, allocator) {}

std::string Locks::name_of(std::uint32_t process) const {
    return gma_.space().owner_name(allocator_.start_of(process));
}

bool Locks::is_gone(std::uint32_t process) const noexcept {
    const node::Segment& segment = gma_.space().segment();
    return process < segment.shape().procs && node::is_gone(segment, process);
}

LockCall Locks::call_on(GlobalAddress lock) {
    const memory::HazardLine* const line = gma_.hazards().own_line();
    LockCall call;
    call.lock = lock;
    call.process = gma_.space().process();
    call.thread = line != nullptr ? gma_.hazards().index_of(*line) : sync::lock_thread_shared;
    return call;
}

// Runs one step of a lock, until other threads let it.
template <typename Operation>
Result<LockReply> Locks::run(const typename Operation::Input& input,
                             const LockCall& call,
                             StepBytes& bytes) {
    const auto process = static_cast<std::uint32_t>(gma_.space().layout().process(call.lock));
    for (int i = 0; i < steps_max; ++i) {
        auto returned = data::RemoteCall<Operation>(gma_, allocator_)
                            .run(process, input, bytes.sent, bytes.room);
        if (!returned.is_ok()) {
            Status failure = std::move(returned).failure();
            if (failure.code() != Code::stale && failure.code() != Code::address) return failure;
            return Status::worded(failure.code(), [&] {
                return "no lock begins at global address " + base::hex(call.lock) + " of " +
                       name_of(process) + ": it was freed, or no acp_create_lock returned it";
            });
        }
        bytes.received = returned.value().tail_bytes;
        if (returned.value().output.outcome != LockOutcome::again) return returned.value().output;
    }
    return Status(Code::limit, "other threads change the lock all the time");
}

Result<std::uint32_t> Locks::process_with_heap_of(GlobalAddress lock) const {
    return allocator_.owner_of(lock);
}

// Places for a thread of each process, and for some more.
std::uint64_t Locks::places_of_new() const noexcept {
    constexpr std::uint32_t places_least = 64;
    const std::uint32_t procs = gma_.space().segment().shape().procs;
    const std::uint32_t places =
        std::min(std::bit_ceil(procs + places_least / 2), sync::lock_places_max);
    return std::max(places, places_least);
}

Result<GlobalAddress> Locks::make(std::uint32_t process) {
    return made_by<operations::MakeLock>(process, {places_of_new()});
}

Result<GlobalAddress> Locks::of_container(GlobalAddress directory, std::uint64_t id) {
    const auto process = static_cast<std::uint32_t>(gma_.space().layout().process(directory));
    return made_by<operations::LockOfContainer>(process, {{directory, id}, places_of_new()});
}

template <typename Operation>
Result<GlobalAddress> Locks::made_by(std::uint32_t process,
                                     const typename Operation::Input& request) {
    auto made = data::RemoteCall<Operation>(gma_, allocator_).run(process, request);
    if (!made.is_ok()) return std::move(made).failure();
    if (made.value().output.lock == 0) return allocator_.no_room(process, 0);
    return made.value().output.lock;
}

Result<TakeResult> Locks::take(GlobalAddress lock,
                               std::int64_t timeout_ns,
                               const LongWait& tell_long_wait,
                               BoundRoom room) {
    auto owner = process_with_heap_of(lock);
    if (!owner.is_ok()) return std::move(owner).failure();
    BorrowedGrantWord grant_word(grant_words_);
    const bool is_here = gma_.space().is_on_node(owner.value());
    Waiting waiting(call_on(lock), grant_word, is_here, room);
    Status no_word;  // why the caller cannot wait for the lock of another node
    if (!is_here && timeout_ns != 0) {
        no_word = grant_word.begin();
        waiting.call.serial = grant_word.number() % (1U << sync::lock_serial_bits);
    }
    const bool may_wait = timeout_ns != 0 && no_word.is_ok();
    auto reply = run<operations::TakeLock>(
        {waiting.call, may_wait ? 1U : 0U, grant_word.address(), grant_word.number()}, waiting.call,
        waiting.bytes);
    if (!reply.is_ok()) return std::move(reply).failure();
    waiting.last = reply.value();
    switch (waiting.last.outcome) {
        case LockOutcome::taken:
        case LockOutcome::taken_from_dead:
            return take_bytes(waiting, taken_of(waiting.last));
        case LockOutcome::own:
            return Status(Code::state, "the calling thread holds the lock already");
        case LockOutcome::full:
            return Status(Code::limit,
                          "as many threads wait for the lock already as its queue has room for (" +
                              std::to_string(places_of_new() - 1) +
                              "): let fewer threads wait, or take it by acp_try_lock");
        case LockOutcome::queued:
            break;
        default:
            notify_next(waiting.last);
            if (!no_word.is_ok()) return no_word;
            return TakeResult{};
    }
    waiting.deadline = gma::Deadline(timeout_ns);
    waiting.call.ticket = waiting.last.ticket;
    notify_next(waiting.last);
    return wait(waiting, tell_long_wait);
}

Result<TakeResult> Locks::wait(Waiting& waiting, const LongWait& tell_long_wait) {
    const std::uint64_t began_ns = os::now_ns();
    bool is_told = tell_long_wait == nullptr;
    gma::ShownWait shown(gma_.space());
    for (;;) {
        // The holder's death is known here, and perhaps not yet on the lock's node.
        const bool is_dead = !waiting.is_here && is_gone(waiting.last.holder);
        std::int64_t slice_ns = is_dead ? ask_soon_ns : ask_again_ns;
        if (const std::int64_t left_ns = waiting.deadline.left_ns(); left_ns >= 0)
            slice_ns = std::min(slice_ns, left_ns);
        LockCondition condition(*this, waiting);
        (void)gma_.wait_until(condition, slice_ns, false, &shown);
        if (waiting.grant_word.is_granted()) return take_granted(waiting);
        auto reply = run<operations::PollLock>(waiting.call, waiting.call, waiting.bytes);
        notify_next(waiting.last);
        if (!reply.is_ok()) {
            // Else the thread would get the lock later, and not know.
            auto left = leave(waiting);
            if (left.is_ok() && left.value().has_lock) return left;
            return std::move(reply).failure();
        }
        waiting.last = reply.value();
        notify_next(waiting.last);
        if (has_lock(waiting.last)) return take_bytes(waiting, taken_of(waiting.last));
        if (waiting.deadline.is_past()) return leave(waiting);
        const auto waited_ns = static_cast<std::int64_t>(os::now_ns() - began_ns);
        if (!is_told && waited_ns >= long_wait_ns) {
            is_told = true;
            const auto owner =
                static_cast<std::uint32_t>(gma_.space().layout().process(waiting.call.lock));
            tell_long_wait(waited_ns, name_of(waiting.last.holder) + " releases lock " +
                                          base::hex(waiting.call.lock) + " of " + name_of(owner));
        }
    }
}

// The waiter gives up.
Result<TakeResult> Locks::leave(Waiting& waiting) {
    auto reply = run<operations::LeaveLock>(waiting.call, waiting.call, waiting.bytes);
    if (!reply.is_ok()) return std::move(reply).failure();
    notify_next(reply.value());
    return take_bytes(waiting, taken_of(reply.value()));
}

// The notification carries the bytes, unless another thread than the one that released the lock sent it.
Result<TakeResult> Locks::take_granted(Waiting& waiting) {
    const BoundBytes bytes = waiting.grant_word.bytes();
    if (!bytes.empty() && !waiting.wanted.empty()) {
        std::memcpy(waiting.came.data(), bytes.data(), bytes.size());
        waiting.bytes.received = bytes.size();
    }
    return take_bytes(waiting, {true, waiting.grant_word.has_died()});
}

// The caller has the lock, and its bytes if they came with it.
Result<TakeResult> Locks::take_bytes(Waiting& waiting, TakeResult taken) {
    if (!taken.has_lock || waiting.wanted.empty()) return taken;
    Status status;
    if (waiting.bytes.received == 0) {
        auto reply = run<operations::ReadBoundBytes>(waiting.call, waiting.call, waiting.bytes);
        if (!reply.is_ok()) status = std::move(reply).failure();
    }
    const std::size_t came = waiting.bytes.received;
    if (status.is_ok() && came != waiting.wanted.size()) {
        status = Status::worded(Code::mismatch, [&] {
            return base::in_bytes(came) + " are bound to the lock, but this rank has bound " +
                   std::to_string(waiting.wanted.size());
        });
    }
    if (!status.is_ok()) {
        (void)release(waiting.call.lock);
        return status;
    }
    std::memcpy(waiting.wanted.data(), waiting.came.data(), came);
    return taken;
}

template <typename Operation>
Result<LockReply> Locks::send(GlobalAddress lock, BoundBytes bytes) {
    if (auto owner = process_with_heap_of(lock); !owner.is_ok()) return std::move(owner).failure();
    const LockCall call = call_on(lock);
    StepBytes sent{bytes, {}};
    return run<Operation>(call, call, sent);
}

Status Locks::bind(GlobalAddress lock, BoundBytes bytes) {
    auto reply = send<operations::BindLock>(lock, bytes);
    if (!reply.is_ok()) return std::move(reply).failure();
    if (reply.value().outcome == LockOutcome::released) return {};
    if (reply.value().outcome == LockOutcome::full)
        return allocator_.no_room(process_with_heap_of(lock).value(), bytes.size());
    return {Code::state, "the lock is held by " + name_of(reply.value().holder) +
                             ": bytes are bound to it when no thread holds it"};
}

Status Locks::release(GlobalAddress lock, BoundBytes bytes) {
    auto reply = send<operations::ReleaseLock>(lock, bytes);
    if (!reply.is_ok()) return std::move(reply).failure();
    if (reply.value().outcome == LockOutcome::released) {
        notify_next(reply.value(), bytes);
        return {};
    }
    const std::uint32_t holder = reply.value().holder;
    if (holder == LockGrant::no_process) return {Code::state, "no thread holds the lock"};
    return {Code::state,
            holder == gma_.space().process()
                ? "another thread of this rank holds the lock"
                : "the calling thread does not hold the lock: " + name_of(holder) + " does"};
}

Status Locks::free(GlobalAddress lock) {
    auto owner = process_with_heap_of(lock);
    if (!owner.is_ok()) return std::move(owner).failure();
    auto reply = run<operations::FreeLock>(call_on(lock));
    if (!reply.is_ok()) return std::move(reply).failure();
    if (reply.value().outcome == LockOutcome::released) return {};
    const std::uint32_t holder = reply.value().holder;
    return {Code::state, holder == LockGrant::no_process
                             ? "a thread takes the lock at this moment"
                             : "the lock is held by " + name_of(holder) +
                                   ": call acp_free_lock after its acp_unlock"};
}

// Notifies the waiter of another node that a step gave the lock to, once. If it is gone, the next
// waiter finds that.
//   bytes  that the caller's release has published
void Locks::notify_next(LockReply& reply, BoundBytes bytes) {
    const std::uint32_t process = std::exchange(reply.next, LockGrant::no_process);
    if (process >= gma_.space().segment().shape().procs) return;
    const operations::LockNotification notification{reply.grant_word, reply.value};
    gma::Invocation call;
    call.process = process;
    call.operation = local::operation_number<operations::GrantLock>;
    call.arguments = data::wire_of(notification);
    // The holder that died may have been one after the caller's release, and its own earlier releases
    // have published other bytes.
    const bool has_died = reply.value == sync::GrantState::of_grant(reply.value >> 2U, true);
    if (!has_died) call.tail[0] = bytes;
    (void)data::ask(gma_, call);
}

}  // namespace acp::lock
