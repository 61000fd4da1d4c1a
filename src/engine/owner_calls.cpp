// SPDX-License-Identifier: BSD-3-Clause
// Cutting into messages, keeping what found no room, and putting the pieces' ends together.
#include "engine/owner_calls.hpp"

#include <algorithm>
#include <new>

namespace acp::engine {

namespace {

std::span<const char> as_chars(std::span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

OwnerCalls::OwnerCalls(local::Space& space, local::Hazards& hazards, mailbox::Port& port)
    : port_(port),
      forwarder_(space, hazards, port, mailbox::any_epoch),
      piece_bytes_(port.datagram_bytes()),
      calls_of_(space.segment().shape().local_procs) {
    refused_.reserve(calls_of_.size());
    if (!make_room()) throw std::bad_alloc();
}

// Makes sure that a call can be opened, and that its end finds a place.
bool OwnerCalls::make_room() noexcept {
    if (!ended_.make_room(under_way_ + 1)) return false;
    if (!free_.empty()) return true;
    const std::size_t before = calls_.size();
    try {
        const std::size_t after = before + calls_max;
        free_.reserve(after);
        unsent_.reserve(after);
        calls_.resize(after);
    } catch (const std::bad_alloc&) {
        return false;
    }
    for (std::size_t index = calls_.size(); index-- > before;) {
        free_.push_back(static_cast<std::uint32_t>(index));
    }
    return true;
}

// no_call: no memory.
std::uint32_t OwnerCalls::open(std::uint32_t slot, Ticket ticket) noexcept {
    if (!make_room()) return no_call;
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Call& call = calls_[index];
    call.ticket = ticket;
    call.slot = slot;
    call.pieces_out = 0;
    call.code = base::Code::ok;
    call.value = 0;
    call.is_open = true;
    call.into = {};
    call.bytes.clear();
    call.sent = 0;
    ++calls_of_[slot];
    ++under_way_;
    return index;
}

void OwnerCalls::give_back(std::uint32_t index) noexcept {
    Call& call = calls_[index];
    call.is_open = false;
    ++call.generation;
    --calls_of_[call.slot];
    --under_way_;
    free_.push_back(index);
}

OwnerCalls::Begun OwnerCalls::refuse(std::uint32_t slot) noexcept {
    if (std::find(refused_.begin(), refused_.end(), slot) == refused_.end()) {
        refused_.push_back(slot);
    }
    return Begun::no_room;
}

std::uint64_t OwnerCalls::token_of(std::uint32_t index) const noexcept {
    return std::uint64_t{calls_[index].generation} << 32 | index;
}

bool OwnerCalls::send_piece(std::uint32_t index, std::span<const std::byte> bytes) {
    Call& call = calls_[index];
    if (!forwarder_.try_put(token_of(index), call.address, as_chars(bytes))) return false;
    ++call.pieces_out;
    call.address += bytes.size();
    return true;
}

bool OwnerCalls::ask_piece(std::uint32_t index) {
    Call& call = calls_[index];
    const std::span<std::byte> piece = call.into.first(std::min(call.into.size(), piece_bytes_));
    const std::span<char> into(reinterpret_cast<char*>(piece.data()), piece.size());
    if (!forwarder_.try_get(token_of(index), call.address, into)) return false;
    ++call.pieces_out;
    call.address += piece.size();
    call.into = call.into.subspan(piece.size());
    return true;
}

OwnerCalls::Begun OwnerCalls::put(std::uint32_t slot,
                                  GlobalAddress target,
                                  std::span<const std::byte> bytes,
                                  Ticket ticket) {
    if (calls_of_[slot] == calls_max) return Begun::no_room;
    const std::uint32_t index = open(slot, ticket);
    if (index == no_call) return Begun::no_memory;
    calls_[index].address = target;
    if (bytes.size() > piece_bytes_) {  // some of it may have to be kept
        try {
            calls_[index].bytes.reserve(bytes.size());
        } catch (const std::bad_alloc&) {
            give_back(index);
            return Begun::no_memory;
        }
    }
    bool has_begun = false;
    while (!bytes.empty()) {
        const auto piece = bytes.first(std::min(bytes.size(), piece_bytes_));
        if (!send_piece(index, piece)) break;
        has_begun = true;
        bytes = bytes.subspan(piece.size());
    }
    if (!has_begun) {
        give_back(index);
        return refuse(slot);
    }
    if (!bytes.empty()) {
        calls_[index].bytes.assign(bytes.begin(), bytes.end());
        unsent_.push_back(index);
    }
    return Begun::yes;
}

OwnerCalls::Begun OwnerCalls::get(std::uint32_t slot,
                                  GlobalAddress source,
                                  std::span<std::byte> into,
                                  Ticket ticket) {
    if (calls_of_[slot] == calls_max) return Begun::no_room;
    const std::uint32_t index = open(slot, ticket);
    if (index == no_call) return Begun::no_memory;
    Call& call = calls_[index];
    call.address = source;
    call.into = into;
    if (!ask_piece(index)) {
        give_back(index);
        return refuse(slot);
    }
    if (!push_on(index)) unsent_.push_back(index);
    return Begun::yes;
}

OwnerCalls::Begun OwnerCalls::run(std::uint32_t slot,
                                  const memory::Command& command,
                                  Ticket ticket) {
    if (calls_of_[slot] == calls_max) return Begun::no_room;
    const std::uint32_t index = open(slot, ticket);
    if (index == no_call) return Begun::no_memory;
    if (!forwarder_.submit(token_of(index), command)) {
        give_back(index);
        return Begun::no_memory;
    }
    ++calls_[index].pieces_out;
    return Begun::yes;
}

OwnerCalls::Begun OwnerCalls::run_for_value(std::uint32_t slot,
                                            const memory::Command& command,
                                            Ticket ticket) {
    if (calls_of_[slot] == calls_max) return Begun::no_room;
    const std::uint32_t index = open(slot, ticket);
    if (index == no_call) return Begun::no_memory;
    if (!forwarder_.submit_for_value(token_of(index), command)) {
        give_back(index);
        return Begun::no_memory;
    }
    ++calls_[index].pieces_out;
    return Begun::yes;
}

// Sends pieces while there is room. true when none is left.
bool OwnerCalls::push_on(std::uint32_t index) {
    Call& call = calls_[index];
    while (!call.into.empty()) {
        if (!ask_piece(index)) return false;
    }
    while (call.sent < call.bytes.size()) {
        const auto rest = std::span<const std::byte>(call.bytes).subspan(call.sent);
        const auto piece = rest.first(std::min(rest.size(), piece_bytes_));
        if (!send_piece(index, piece)) return false;
        call.sent += piece.size();
    }
    return true;
}

void OwnerCalls::close_when_done(std::uint32_t index) noexcept {
    const Call& call = calls_[index];
    if (call.pieces_out > 0 || !call.into.empty() || call.sent < call.bytes.size()) return;
    ended_.add({call.ticket, call.code, call.value});  // open() made room
    give_back(index);
}

bool OwnerCalls::poll() {
    refused_.clear();
    if (under_way_ == 0 && !port_.has_mail() && !forwarder_.has_backlog()) return false;
    bool has_moved = forwarder_.poll() > 0;
    for (const mailbox::ForwardedEnd& end : forwarder_.ended()) {
        const auto index = static_cast<std::uint32_t>(end.token);
        Call& call = calls_[index];
        --call.pieces_out;
        call.value = end.value;
        if (end.code != base::Code::ok) {
            call.code = end.code;
            call.into = {};  // the rest would fare no better
            call.sent = call.bytes.size();
        }
        close_when_done(index);
        has_moved = true;
    }
    forwarder_.forget_ended();
    std::erase_if(unsent_,
                  [this](std::uint32_t index) { return !calls_[index].is_open || push_on(index); });
    return has_moved;
}

bool OwnerCalls::has_work() const noexcept {
    const auto has_room_for_call = [this](std::uint32_t index) {
        return port_.has_room(calls_[index].slot);
    };
    const auto has_room = [this](std::uint32_t slot) { return port_.has_room(slot); };
    return !ended_.is_empty() || port_.has_mail() || forwarder_.has_work() ||
           std::any_of(unsent_.begin(), unsent_.end(), has_room_for_call) ||
           std::any_of(refused_.begin(), refused_.end(), has_room);
}

void OwnerCalls::on_death(std::uint32_t slot) {
    forwarder_.on_death(slot);
}

}  // namespace acp::engine
