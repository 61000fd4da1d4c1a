// SPDX-License-Identifier: BSD-3-Clause
// Probing peers, and copying through the kernel.
#include "local/attach.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "node/death.hpp"
#include "os/cross_memory.hpp"
#include "os/log_line.hpp"
#include "os/process.hpp"
#include "os/random_bytes.hpp"

namespace acp::local {

namespace {

using os::Piece;

std::uint64_t random_token() {
    std::uint64_t token = 0;
    os::fill_random(std::as_writable_bytes(std::span(&token, 1)));
    return token | 1U;
}

void* as_pointer(std::uint64_t address) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
    return reinterpret_cast<void*>(address);
}

}  // namespace

Attach::Attach(const node::Segment& segment, std::uint32_t slot, bool is_allowed)
    : segment_(segment),
      slot_(slot),
      is_allowed_(is_allowed),
      token_(random_token()),
      reachable_(std::make_unique<std::atomic<Reachable>[]>(segment.shape().local_procs)),
      refusal_errno_(std::make_unique<std::atomic<int>[]>(segment.shape().local_procs)) {}

void Attach::publish_token() noexcept {
    node::Slot& own = segment_.slot(slot_);
    own.attach_address.store(reinterpret_cast<std::uint64_t>(&token_), std::memory_order_relaxed);
    // release: other processes read the token after the barrier of acp_init
    own.attach_token.store(token_, std::memory_order_release);
}

int Attach::pid(std::uint32_t slot) const noexcept {
    return static_cast<int>(segment_.slot(slot).pid.load(std::memory_order_relaxed));
}

bool Attach::can_reach(std::uint32_t slot) noexcept {
    Reachable known = reachable_[slot].load(std::memory_order_relaxed);
    if (known == Reachable::unknown) {
        std::uint64_t seen = 0;
        const node::Slot& peer = segment_.slot(slot);
        const std::uint64_t token = peer.attach_token.load(std::memory_order_acquire);
        const Piece here{&seen, sizeof seen};
        const Piece there{as_pointer(peer.attach_address.load(std::memory_order_relaxed)),
                          sizeof seen};
        const std::int64_t moved =
            is_allowed_ ? os::read_process(pid(slot), {&here, 1}, {&there, 1}) : -EPERM;
        const bool is_same = moved == sizeof seen && seen == token && token != 0;
        known = is_same ? Reachable::yes : Reachable::no;
        refusal_errno_[slot].store(moved < 0 ? static_cast<int>(-moved) : 0,
                                   std::memory_order_relaxed);
        reachable_[slot].store(known, std::memory_order_relaxed);  // threads that probe twice agree
    }
    return known == Reachable::yes;
}

std::string Attach::refusal(std::uint32_t slot) const {
    if (reachable_[slot].load(std::memory_order_relaxed) != Reachable::no) {
        return "";
    }
    if (!is_allowed_) {
        return "switched off by ACP_ATTACH=off";
    }
    const int error = refusal_errno_[slot].load(std::memory_order_relaxed);
    if (error == EPERM) {
        return "forbidden by the kernel (container, Yama's ptrace_scope, another user, or a "
               "process that is not "
               "dumpable)";
    }
    if (error == ESRCH) {
        return "the kernel knows no memory of that process number (its main thread has ended, or "
               "it is in another pid "
               "namespace)";
    }
    return error != 0 ? "process_vm_readv failed with errno " + std::to_string(error)
                      : "the process number names another process (another pid namespace)";
}

// The system calls. The bytes that a call moved do not count if the process may have been replaced
// (exec) during the call: they may have come from, or gone into, the memory of another program. No
// call is made for a dead process: after it was reaped, which happens only after it was marked
// dead, its pid may be that of an unrelated process.
std::int64_t Attach::call(bool is_read,
                          std::uint32_t slot,
                          std::span<const Piece> near,
                          std::span<const Piece> far) const noexcept {
    if (node::is_dead(segment_, slot) || node::may_be_replaced(segment_, slot)) [[unlikely]] {
        return -ESRCH;
    }
    const std::int64_t moved =
        is_read ? os::read_process(pid(slot), near, far) : os::write_process(pid(slot), near, far);
    return node::may_be_replaced(segment_, slot) ? -ESRCH : moved;
}

// Turns an errno into the command's code. A process may have ended although its watcher has not
// marked it dead yet, or never will (the watcher died too): this call then finds the death itself.
base::Code Attach::code_of(std::uint32_t slot, std::int64_t failure) noexcept {
    const auto error = static_cast<int>(-failure);
    switch (error) {
        case EFAULT:
            return base::Code::address;
        case ENOMEM:
        case EINVAL:
            return base::Code::system;
        default:
            break;
    }
    // A process that ends gives up its memory before its files, and with the files the lock that
    // shows that it lives (os/life_lock.hpp). Therefore is_ending() is called before the lock is
    // tested. If the process is reaped before is_ending(), it was marked dead before that.
    const bool ends = node::may_be_replaced(segment_, slot) || is_ending(slot);
    if (node::has_lost_life(segment_, slot)) {
        node::find_the_dead(segment_);
    }
    if (ends || node::is_dead(segment_, slot) || node::has_lost_life(segment_, slot)) {
        return base::Code::peer;
    }
    give_up(slot, error);
    return base::Code::unsupported;
}

// failure: the result of the call for that place: a negative errno, or fewer bytes than the copy
// has.
void Attach::refuse(AttachCopy& copy, bool is_target, std::int64_t failure) noexcept {
    copy.is_target_refused = is_target;
    copy.code = failure < 0 ? code_of(is_target ? copy.target.slot : copy.source.slot, failure)
                            : base::Code::address;
}

bool Attach::is_ending(std::uint32_t slot) const noexcept {
    try {
        return os::is_ending(pid(slot)).value_or(false);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void Attach::give_up(std::uint32_t slot, int error) noexcept {
    refusal_errno_[slot].store(error, std::memory_order_relaxed);
    // release: partner is refusal(), which then finds the number
    if (reachable_[slot].exchange(Reachable::no, std::memory_order_release) == Reachable::no) {
        return;
    }
    os::print_error(
        "acp: %s: the kernel no longer lets it copy the private memory of %s, %s; that "
        "process has to copy it itself from now on (slower)\n",
        node::name_of(segment_, slot_).c_str(), node::name_of(segment_, slot).c_str(),
        refusal(slot).c_str());
}

void Attach::run_through_buffer(AttachCopy& copy) noexcept {
    // Both ends are private to other processes: the bytes go through a buffer of this process,
    // piece by piece.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): written before it is read
    std::array<char, 16384> small;
    std::unique_ptr<char[]> large;
    std::span<char> buffer(small);
    if (copy.bytes > small.size()) {
        const std::size_t bytes = std::min<std::uint64_t>(copy.bytes, 256ULL * 1024);
        large.reset(new (std::nothrow) char[bytes]);
        if (large) buffer = {large.get(), bytes};  // if allocation fails, the small buffer is used
    }
    for (std::uint64_t at = 0; at < copy.bytes;) {
        const std::uint64_t piece = std::min<std::uint64_t>(buffer.size(), copy.bytes - at);
        const Piece here{buffer.data(), piece};
        const Piece from{as_pointer(copy.source.owner_address + at), piece};
        const Piece to{as_pointer(copy.target.owner_address + at), piece};
        std::int64_t moved = call(true, copy.source.slot, {&here, 1}, {&from, 1});
        const bool is_read = moved == static_cast<std::int64_t>(piece);
        if (is_read) moved = call(false, copy.target.slot, {&here, 1}, {&to, 1});
        if (moved != static_cast<std::int64_t>(piece)) return refuse(copy, is_read, moved);
        at += piece;
    }
}

void Attach::run_one(AttachCopy& copy, std::uint64_t done_bytes) noexcept {
    const bool is_read = copy.target.direct != nullptr;
    while (done_bytes < copy.bytes) {
        const std::uint64_t left = copy.bytes - done_bytes;
        const Place& far = is_read ? copy.source : copy.target;
        const Place& near = is_read ? copy.target : copy.source;
        const Piece here{near.direct + done_bytes, left};
        const Piece there{as_pointer(far.owner_address + done_bytes), left};
        const std::int64_t moved = call(is_read, far.slot, {&here, 1}, {&there, 1});
        if (moved <= 0) return refuse(copy, !is_read, moved);
        done_bytes += static_cast<std::uint64_t>(moved);
    }
}

void Attach::run(AttachCopy& copy) noexcept {
    run_one(copy, 0);
}

void Attach::run(std::span<AttachCopy> copies) noexcept {
    if (copies.empty()) {
        return;
    }
    const AttachCopy& first = copies.front();
    const bool is_read = first.target.direct != nullptr;
    if (!is_read && first.source.direct == nullptr) {
        for (AttachCopy& copy : copies) {
            run_through_buffer(copy);
        }
        return;
    }
    if (copies.size() == 1) {
        run_one(copies.front(), 0);
        return;
    }
    // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): written as far as they are read
    std::array<Piece, attach_batch_max> here;
    std::array<Piece, attach_batch_max> there;
    // NOLINTEND(cppcoreguidelines-pro-type-member-init)
    for (std::size_t i = 0; i < copies.size(); ++i) {
        const Place& near = is_read ? copies[i].target : copies[i].source;
        const Place& far = is_read ? copies[i].source : copies[i].target;
        here[i] = {near.direct, copies[i].bytes};
        there[i] = {as_pointer(far.owner_address), copies[i].bytes};
    }
    const std::span<const Piece> near_pieces(here.data(), copies.size());
    const std::span<const Piece> far_pieces(there.data(), copies.size());
    const std::uint32_t peer = is_read ? first.source.slot : first.target.slot;
    const std::int64_t moved = call(is_read, peer, near_pieces, far_pieces);
    // The kernel may move only a part of the bytes. The moved bytes are a prefix of the list;
    // run_one() moves the rest of each copy, and gets the errno of the call that stopped.
    std::uint64_t left = moved > 0 ? static_cast<std::uint64_t>(moved) : 0;
    for (AttachCopy& copy : copies) {
        const std::uint64_t done = std::min(left, copy.bytes);
        left -= done;
        run_one(copy, done);
    }
}

}  // namespace acp::local
