// SPDX-License-Identifier: BSD-3-Clause
// Sends three remote writes for each message.
#include "pm/per_peer_context.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "node/loss.hpp"
#include "os/cpu.hpp"

namespace acp::pm {

using base::Code;
using base::Status;

PerPeerContext::PerPeerContext(gma::Gma& gma,
                               data::Allocator& allocator,
                               std::uint32_t number,
                               memory::GlobalAddress block)
    : host_(gma, allocator, number),
      address_(block),
      memory_(host_.pointer_to(host_.process(), block)),
      procs_(gma.space().segment().shape().procs),
      peers_(procs_) {
    busy_.reserve(procs_);
    for (std::uint32_t i = 0; i < procs_; ++i) new (&place(i)) PeerPlace{};
}

void PerPeerContext::open() noexcept {
    // release: publishes the zeroed pointers; partner: find()
    host_.pool_word(host_.process()).store(address_ | pool_per_peer, std::memory_order_release);
}

void PerPeerContext::close() noexcept {
    reserved_ = held_ = nullptr;
    host_.pool_word(host_.process())
        .store(address_ | pool_per_peer | pool_closed, std::memory_order_release);
}

// The first lookup of a process of another node waits for the answer.
bool PerPeerContext::find(std::uint32_t process) {
    std::uint64_t word = 0;
    if (host_.is_near(process)) {
        word = host_.pool_word(process).load(std::memory_order_acquire);
    } else if (!host_.is_gone(process)) {
        memory::Command look;
        look.operation = memory::Operation::add;
        look.width = word_bytes;
        look.bytes = word_bytes;
        look.source = host_.pool_word_address(process);
        const auto found = host_.gma().fetch(look);
        if (found.is_ok()) word = found.value();
    }
    if ((word & pool_per_peer) == 0 || (word & pool_closed) != 0) return false;
    peers_[process].block = (word & ~pool_flags) + host_.process() * sizeof(PeerPlace);
    return true;
}

char* PerPeerContext::reserve(std::uint32_t process, std::uint64_t bytes) {
    go_on_with_all();
    PeerEnd& to = peers_[process];
    if (reserved_ != nullptr || host_.is_gone(process)) return nullptr;
    if (to.block == 0 && !find(process)) return nullptr;
    if (is_closed(process)) return nullptr;
    PeerPlace& mine = place(process);
    const std::uint64_t at = to.sent % buffer_bytes;
    skipped_bytes_ = at + bytes_of(bytes) > buffer_bytes ? buffer_bytes - at : 0;
    // acquire: the receiver has finished reading; partner: release() there, whose copy is ordered
    // after its reads
    const std::uint64_t released = mine.released.load(std::memory_order_acquire);
    if (to.sent + skipped_bytes_ + bytes_of(bytes) - released > buffer_bytes) return nullptr;
    reserved_ = &to;
    reserved_bytes_ = bytes;
    return mine.to_send.data() + (to.sent + skipped_bytes_) % buffer_bytes + word_bytes;
}

// Unknown, so false, for a process of another node.
bool PerPeerContext::is_closed(std::uint32_t process) const noexcept {
    return host_.is_near(process) &&
           (host_.pool_word(process).load(std::memory_order_relaxed) & pool_closed) != 0;
}

// Waits for the copy in flight, if there is one. A failure means that the process is gone.
void PerPeerContext::end_step(PeerEnd& to) noexcept {
    if (to.step == gma::handle_null) return;
    if (!host_.gma().wait_for_one(std::exchange(to.step, gma::handle_null)).is_ok())
        to.steps.clear();
}

// Issues copies until one is in flight.
void PerPeerContext::go_on(PeerEnd& to) noexcept {
    gma::Gma& gma = host_.gma();
    for (;;) {
        if (to.step != gma::handle_null && !gma.has_ended(to.step)) return;
        end_step(to);
        if (to.steps.empty()) return;
        const PeerCopy step = to.steps.front();
        to.steps.erase(to.steps.begin());
        const gma::Handle handle =
            gma.copy(step.target, own(step.source), step.bytes, gma::handle_null);
        if (handle % 2 == 0) to.step = handle;  // an odd handle: it ran at once
    }
}

void PerPeerContext::go_on_with_all() noexcept {
    const auto has_ended = [this](std::uint32_t process) {
        go_on(peers_[process]);
        return peers_[process].step == gma::handle_null;
    };
    busy_.erase(std::remove_if(busy_.begin(), busy_.end(), has_ended), busy_.end());
}

// Appends the copies of a message or a release, for which the list has room, and issues the first
// ones.
void PerPeerContext::begin_steps(PeerEnd& to, std::initializer_list<PeerCopy> steps) noexcept {
    const auto process = static_cast<std::uint32_t>(&to - peers_.data());
    to.steps.insert(to.steps.end(), steps);
    go_on(to);
    if (to.step != gma::handle_null &&
        std::find(busy_.begin(), busy_.end(), process) == busy_.end())
        busy_.push_back(process);
}

void PerPeerContext::send() {
    PeerEnd& to = *reserved_;
    to.steps.reserve(to.steps.size() + 3);
    const auto process = static_cast<std::uint32_t>(&to - peers_.data());
    char* const buffer = place(process).to_send.data();
    const memory::GlobalAddress there = to.block + offsetof(PeerPlace, to_receive);
    if (skipped_bytes_ != 0) {
        const std::uint64_t at = to.sent % buffer_bytes;
        std::memcpy(buffer + at, &skip, word_bytes);
        begin_steps(to, {{there + at, buffer + at, word_bytes}});
        to.sent += std::exchange(skipped_bytes_, 0);
    }
    const std::uint64_t at = to.sent % buffer_bytes;
    const std::uint64_t bytes = bytes_of(reserved_bytes_);
    char* const pointer = buffer + at + bytes - word_bytes;
    std::memcpy(buffer + at, &reserved_bytes_, word_bytes);
    to.sent += bytes;
    std::memcpy(pointer, &to.sent, word_bytes);
    reserved_ = nullptr;
    begin_steps(to, {{there + at, buffer + at, bytes - word_bytes},
                     {to.block + offsetof(PeerPlace, received), pointer, word_bytes}});
}

PerPeerContext::PerPeerMessage PerPeerContext::receive() {
    go_on_with_all();
    for (std::uint32_t i = 0; i < procs_; ++i, next_ = (next_ + 1) % procs_) {
        PeerEnd& from = peers_[next_];
        PeerPlace& mine = place(next_);
        // acquire: makes the payload visible; partner: the copy of the pointer, ordered after the
        // payload's copy
        const std::uint64_t received = mine.received.load(std::memory_order_acquire);
        std::uint64_t bytes = 0;
        while (from.used != received) {
            std::memcpy(&bytes, mine.to_receive.data() + from.used % buffer_bytes, word_bytes);
            if (bytes != skip) break;
            from.used += buffer_bytes - from.used % buffer_bytes;
        }
        if (from.used == received) continue;
        held_ = &from;
        held_bytes_ = bytes;
        looks_ = 0;
        return {mine.to_receive.data() + from.used % buffer_bytes + word_bytes, bytes, next_};
    }
    look_on();
    return {};
}

bool PerPeerContext::has_message() const noexcept {
    for (std::uint32_t i = 0; i < procs_; ++i)
        if (place(i).received.load(std::memory_order_relaxed) != peers_[i].used) return true;
    return false;
}

void PerPeerContext::release() {
    PeerEnd& from = *held_;
    from.steps.reserve(from.steps.size() + 1);
    const auto process = static_cast<std::uint32_t>(&from - peers_.data());
    from.used += bytes_of(held_bytes_);
    held_ = nullptr;
    next_ = (process + 1) % procs_;
    Pointer& used = place(process).used;
    used.store(from.used, std::memory_order_release);
    // the process is gone, or has closed its context
    if (from.block == 0 && !find(process)) return;
    begin_steps(from, {{from.block + offsetof(PeerPlace, released), &used, word_bytes}});
}

bool PerPeerContext::is_sent() {
    go_on_with_all();
    if (!busy_.empty()) look_on();
    return busy_.empty();
}

Status PerPeerContext::why_no_room(std::uint32_t process) const {
    if (host_.is_gone(process)) {
        return Status::worded(Code::peer, [&] {
            return node::fate_of_process(host_.gma().space().segment(), process);
        });
    }
    if (is_closed(process)) return {Code::stale, "the destination has closed its context"};
    return {};
}

void PerPeerContext::look_on() noexcept {
    constexpr std::uint32_t looks_per_yield = 16;
    (void)host_.gma().help();
    go_on_with_all();
    if (++looks_ % looks_per_yield == 0) os::yield_cpu();
}

void PerPeerContext::settle() noexcept {
    for (; !busy_.empty(); go_on_with_all())
        for (const std::uint32_t process : busy_) end_step(peers_[process]);
}

}  // namespace acp::pm
