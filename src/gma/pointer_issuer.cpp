// SPDX-License-Identifier: BSD-3-Clause
// At once by the calling thread, or as a copy from or to memory that stands for the caller's.
#include "gma/pointer_issuer.hpp"

#include <string>
#include <utility>

#include "base/format.hpp"
#include "local/direct.hpp"
#include "node/word_sleepers.hpp"
#include "os/cancellation.hpp"

namespace acp::gma {

PointerIssuer::PointerIssuer(Issuer& issuer,
                             const Issuer::Parts& parts,
                             local::Hazards& hazards,
                             local::Attach& attach,
                             LocalEnds& ends,
                             const Marks& marks,
                             const base::Config& config,
                             const local::Space& space) noexcept
    : issuer_(issuer),
      parts_(parts),
      hazards_(hazards),
      attach_(attach),
      ends_(ends),
      marks_(marks),
      space_(space),
      at_once_bytes_max_(config.inline_bytes_max),
      may_run_at_once_(parts.progress.manner().may_program_run && !parts.mover.is_tracing()),
      is_link_polled_here_(parts.progress.manner().is_link_polled_here) {}

namespace {

constexpr std::int64_t block_wait_ns = 200'000;

// Whether the source is free when the call returns.
bool is_copied_in_call(const PointerCopy& copy) noexcept {
    return copy.call == memory::IssuedBy::put_copied;
}

// Whether a changed source of a put is to be reported to the program (ACP_CHECK).
bool is_watched(const PointerCopy& copy) noexcept {
    return copy.call == memory::IssuedBy::put || copy.call == memory::IssuedBy::put_signal;
}

}  // namespace

Handle PointerIssuer::issue(const PointerCopy& copy, Handle order) {
    const os::CancellationHold cancellation;  // it may wait for room
    if (run_at_once(copy, order)) {
        return marks_.inline_handle.load(std::memory_order_relaxed);
    }
    Command command;
    if (auto status = give_address(copy, order, command); !status.is_ok()) {
        return issuer_.fail(std::move(status));
    }
    const Handle handle = issue_queued(command, nullptr, order);
    const bool is_source_read = copy.end.bytes != 0 && !LocalEnds::is_block(command.loan());
    if (is_copied_in_call(copy) && is_source_read && handle % 2 == 0) {
        parts_.completion.wait_for_end(handle, CommandsEnd::AwaitedPart::alone,
                                       node::WaitFor::command);
    }
    return handle;
}

Command PointerIssuer::add_of(const Signal& signal, memory::IssuedBy call) noexcept {
    Command add;
    add.operation = memory::Operation::add;
    add.width = 8;
    add.source = signal.word;
    add.bytes = add.width;
    add.operand = signal.value;
    add.expected = Command::note(call);
    return add;
}

Handle PointerIssuer::issue_signalled(const PointerCopy& put, const Signal& signal, Handle order) {
    const os::CancellationHold cancellation;  // it may wait for room
    Command add = add_of(signal, put.call);
    if (run_at_once(put, order)) {
        return issuer_.issue(add, handle_null);
    }
    Command command;
    if (auto status = give_address(put, order, command); !status.is_ok()) {
        return issuer_.fail(std::move(status));
    }
    return issue_queued(command, &add, order);
}

Handle PointerIssuer::issue_followed(const PointerCopy& put, const Invocation& call, Handle order) {
    const os::CancellationHold cancellation;  // it may wait for room
    Command command;
    if (auto status = give_address(put, order, command); !status.is_ok()) {
        return issuer_.fail(std::move(status));
    }
    Route route = Route::none;
    base::Status failure = issuer_.check(command, nullptr, route);
    if (!failure.is_ok()) {
        ends_.give_back(command.loan());
        return issuer_.fail(std::move(failure));
    }
    return issuer_.queue_followed(command, call, order, route, Departure::now);
}

// Whether the calling thread has moved the bytes. A copy that fails here is issued, fails again and
// gets its message there.
bool PointerIssuer::run_at_once(const PointerCopy& copy, Handle order) {
    // acquire: a command sees the writes of the commands that it is ordered after
    return may_run_at_once_ && copy.end.memory != nullptr && copy.end.bytes != 0 &&
           copy.end.bytes <= at_once_bytes_max_ &&
           (order <= marks_.order_floor.load(std::memory_order_acquire) ||
            issuer_.is_satisfied(order)) &&
           move(copy, local::Hazards::Lease(hazards_).line());
}

bool PointerIssuer::move(const PointerCopy& copy, memory::HazardLine& line) {
    const LocalEnds::End& end = copy.end;
    local::AttachCopy attached;
    local::Place& far = end.is_get ? attached.source : attached.target;
    local::Place& near = end.is_get ? attached.target : attached.source;
    hazards_.enter(line, copy.address, copy.address);
    bool is_moved = false;
    if (space_.find(copy.address, end.bytes, far) == base::Code::ok) {
        near.direct = end.memory;
        attached.bytes = end.bytes;
        if (parts_.routes.is_here(far)) {
            char* const to = end.is_get ? end.memory : far.direct;
            local::move_bytes(to, end.is_get ? far.direct : end.memory, end.bytes);
            detail::count(line, end.bytes);
            is_moved = true;
        } else if (parts_.routes.can_attach(far)) {
            far.direct = nullptr;
            attach_.run(attached);
            is_moved = attached.code == base::Code::ok;
            if (is_moved) JobRunner::count_at_once(line, end.bytes);
        }
    }
    memory::leave(line);
    if (is_moved && !end.is_get) node::ring_word_sleepers(space_.segment(), far.slot);
    return is_moved;
}

// Makes the command that copies between the address and an address of the caller's end. The bytes
// of a put are taken now if its order is satisfied; otherwise a command that it is ordered after
// may still write them.
base::Status PointerIssuer::give_address(const PointerCopy& copy, Handle order, Command& command) {
    auto loan = lend(copy, order);
    if (!loan.is_ok()) {
        return bad_pointer(copy, std::move(loan).failure());
    }
    const LocalEnds::Loan& lent = loan.value();
    if (lent.block != nullptr && !copy.end.is_get) {
        local::move_bytes(lent.block, copy.end.memory, copy.end.bytes);
    }
    if (SourceWatch* watch = ends_.watch(); watch != nullptr && lent.number != 0) [[unlikely]] {
        // A put that is ordered after others also puts their writes to its source.
        if (is_watched(copy) && issuer_.is_satisfied(order))
            watch->begin(lent.number, copy.call, copy.end.memory, copy.end.bytes);
    }
    command.target = copy.end.is_get ? lent.address : copy.address;
    command.source = copy.end.is_get ? copy.address : lent.address;
    command.bytes = copy.end.bytes;
    command.expected = Command::note(copy.call, lent.number);
    return {};
}

base::Result<LocalEnds::Loan> PointerIssuer::lend(const PointerCopy& copy, Handle order) {
    const LocalEnds::End& end = copy.end;
    if (end.bytes == 0) {  // any memory does
        return LocalEnds::Loan{0, space_.claimed_address(space_.process(), local_ends_range),
                               nullptr};
    }
    if (end.memory == nullptr) {
        return base::Status(base::Code::argument, "the pointer is NULL");
    }
    const node::Segment& segment = space_.segment();
    const auto in_starter = static_cast<std::uint64_t>(end.memory - segment.starter(space_.slot()));
    // Bytes that are to be copied or watched pass through a loan.
    const bool is_lent = (is_copied_in_call(copy) && end.bytes <= LocalEnds::block_bytes_max) ||
                         (is_watched(copy) && ends_.watch() != nullptr);
    if (!is_lent && memory::is_within(in_starter, segment.shape().starter_bytes, end.bytes)) {
        return LocalEnds::Loan{0, space_.starter_address(space_.process()) + in_starter, nullptr};
    }
    if (end.is_get || is_copied_in_call(copy) || issuer_.is_satisfied(order)) {
        if (const LocalEnds::Loan loan = ends_.take_block(end); loan.number != 0) return loan;
        if (const LocalEnds::Loan loan = wait_for_block(end); loan.number != 0) return loan;
    }
    return wait_for_registration(copy);
}

// All blocks are on loan. Most come back in a round trip, which costs a stream of short copies less than
// a registration for each. Number 0: none did in block_wait_ns, since a process does not answer.
LocalEnds::Loan PointerIssuer::wait_for_block(const LocalEnds::End& end) {
    if (!ends_.is_block_worth_waiting(end)) return {};
    std::uint64_t oldest = 0;
    {
        const std::scoped_lock lock(parts_.commands.mutex);
        oldest = parts_.commands.queue.oldest_outstanding();
    }
    if (oldest != 0) (void)parts_.completion.has_ended(oldest, block_wait_ns);
    const LocalEnds::Loan loan = ends_.take_block(end);
    if (loan.number == 0) ends_.note_vain_wait();
    return loan;
}

base::Result<LocalEnds::Loan> PointerIssuer::wait_for_registration(const PointerCopy& copy) {
    while (true) {
        auto loan = ends_.add_registration(copy.end);
        if (!loan.is_ok() || loan.value().number != 0) return loan;
        std::unique_lock lock(parts_.commands.mutex);
        if (parts_.commands.queue.loans().lent() != 0) parts_.completion.wait_for_oldest(lock);
    }
}

Handle PointerIssuer::issue_queued(const Command& command, Command* second, Handle order) {
    Route route = Route::none;
    base::Status failure = issuer_.check(command, second, route);
    if (!failure.is_ok()) {
        ends_.give_back(command.loan());
        return issuer_.fail(std::move(failure));
    }
    // acquire: as in run_at_once()
    const bool is_due = order <= marks_.order_floor.load(std::memory_order_acquire);
    if (is_due && second == nullptr && route == Route::remote && is_link_polled_here_) {
        const Handle handle = issuer_.issue_to_link(command, nullptr);
        if (handle != handle_null) [[likely]] {
            return handle;
        }
    }
    return issuer_.queue({command, order, nullptr, second}, route);
}

base::Status PointerIssuer::bad_pointer(const PointerCopy& copy, base::Status why) const {
    Command command;
    command.expected = Command::note(copy.call);
    return std::move(why).within(subject_of(command, space_.rank()) + " of " +
                                 base::in_bytes(copy.end.bytes) + " " +
                                 (copy.end.is_get ? "to " : "from ") +
                                 base::hex(reinterpret_cast<std::uintptr_t>(copy.end.memory)));
}

}  // namespace acp::gma
