// SPDX-License-Identifier: BSD-3-Clause
// The relay's rounds: which descriptors are ready, and which bytes are moved.
#include "launch/relay.hpp"

#include <algorithm>
#include <span>

#include "os/pipe.hpp"
#include "os/secret_memory.hpp"

namespace acp::launch {

using base::Result;
using base::Status;

namespace {

constexpr std::size_t head_bytes = 8;
constexpr std::size_t words_bytes_max = 4096;
constexpr std::size_t read_bytes = 16384;
constexpr std::size_t to_send_bytes_max = 4 * relay_window_bytes;  // credits and ends may exceed it
constexpr std::uint64_t token_given = 16;                          // + stream
constexpr std::uint64_t token_from_trunk = 32;
constexpr std::uint64_t token_to_trunk = 33;
constexpr std::uint64_t token_side = 34;

// Removes bytes from the front of a text, and wipes the copies that this leaves.
void drop_front(std::string& text, std::size_t count) {
    const std::size_t size = text.size();
    std::copy(text.begin() + static_cast<std::ptrdiff_t>(count), text.end(), text.begin());
    os::wipe(std::as_writable_bytes(std::span(text)).subspan(size - count));
    text.resize(size - count);
}

}  // namespace

Result<Relay> Relay::create(os::FileDescriptor from_trunk, os::FileDescriptor to_trunk) {
    auto poll = os::PollSet::create();
    if (!poll.is_ok()) return std::move(poll).failure();
    Relay relay(std::move(poll).value());
    for (const int fd : {from_trunk.get(), to_trunk.get()}) {
        if (auto status = os::set_nonblocking(fd); !status.is_ok()) return status;
    }
    if (auto status = relay.poll_.add(from_trunk.get(), token_from_trunk); !status.is_ok()) {
        return status;
    }
    relay.from_trunk_ = std::move(from_trunk);
    relay.to_trunk_ = std::move(to_trunk);
    // Reserved so that neither string is moved to other memory, where copies of its bytes would
    // remain.
    relay.received_.reserve(relay_streams * relay_window_bytes + 2 * read_bytes);
    relay.to_send_.reserve(to_send_bytes_max + 2 * relay_window_bytes);
    for (Incoming& incoming : relay.incoming_) incoming.held.reserve(relay_window_bytes);
    return relay;
}

Status Relay::take_from(RelayStream stream, os::FileDescriptor from) {
    Outgoing& outgoing = outgoing_[static_cast<std::size_t>(stream)];
    auto status = poll_.add(from.get(), static_cast<std::uint64_t>(stream));
    outgoing.is_watched = status.is_ok();
    outgoing.is_always_ready = status.code() == base::Code::unsupported;
    if (!status.is_ok() && !outgoing.is_always_ready) return status;
    outgoing.from = std::move(from);
    return {};
}

Status Relay::give_to(RelayStream stream, os::FileDescriptor to, bool is_kept_open) {
    Incoming& incoming = incoming_[static_cast<std::size_t>(stream)];
    if (auto status = os::set_nonblocking(to.get()); !status.is_ok()) return status;
    incoming.to = std::move(to);
    incoming.is_expected = true;
    incoming.is_kept_open = is_kept_open;
    return {};
}

Status Relay::listen_to(os::FileDescriptor from) {
    side_ = std::move(from);
    return poll_.add(side_.get(), token_side);
}

void Relay::poll(std::uint64_t timeout_ns) {
    watch();
    bool is_ready = false;
    for (std::size_t i = 0; i < relay_streams; ++i) {
        const Outgoing& outgoing = outgoing_[i];
        is_ready = is_ready || (outgoing.is_always_ready && outgoing.from.is_open() &&
                                outgoing.credit > 0 && to_send_.size() < to_send_bytes_max);
    }
    std::array<os::PollEvent, 16> events;
    const std::size_t count = poll_.wait(events, is_ready ? 0 : timeout_ns);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t token = events[i].token;
        if (token == token_from_trunk) {
            read_trunk();
        } else if (token == token_to_trunk) {
            write_trunk();
        } else if (token == token_side) {
            hear();
        } else if (token == token_wake) {
            continue;
        } else if (token >= token_given) {
            give(token - token_given);
        } else {
            take(token);
        }
    }
    for (std::size_t i = 0; i < relay_streams; ++i) {
        if (outgoing_[i].is_always_ready) take(i);
    }
    write_trunk();
}

// Watches only descriptors whose bytes can be moved now, because epoll reports readiness again and
// again as long as it lasts.
void Relay::watch() {
    for (std::size_t i = 0; i < relay_streams; ++i) {
        Outgoing& outgoing = outgoing_[i];
        const bool may_take =
            outgoing.from.is_open() && !outgoing.is_always_ready &&
            (!is_sending() || (outgoing.credit > 0 && to_send_.size() < to_send_bytes_max));
        if (may_take && !outgoing.is_watched) {
            outgoing.is_watched = poll_.add(outgoing.from.get(), i).is_ok();
        } else if (!may_take && outgoing.is_watched) {
            poll_.remove(outgoing.from.get());
            outgoing.is_watched = false;
        }
        Incoming& incoming = incoming_[i];
        const bool may_give =
            incoming.to.is_open() &&
            (!incoming.held.empty() || (incoming.is_at_line_start && !incoming.own.empty()));
        if (may_give && !incoming.is_watched) {
            incoming.is_watched =
                poll_.add(incoming.to.get(), token_given + i, os::PollFor::writing).is_ok();
        } else if (!may_give && incoming.is_watched) {
            if (incoming.to.is_open()) poll_.remove(incoming.to.get());
            incoming.is_watched = false;
        }
    }
    watch_trunk();
}

void Relay::watch_trunk() {
    const bool has_more = !to_send_.empty() && is_sending();
    if (has_more && !is_trunk_watched_) {
        is_trunk_watched_ =
            poll_.add(to_trunk_.get(), token_to_trunk, os::PollFor::writing).is_ok();
    } else if (!has_more && is_trunk_watched_) {
        if (is_sending()) poll_.remove(to_trunk_.get());
        is_trunk_watched_ = false;
    }
}

void Relay::take(std::size_t stream) {
    Outgoing& outgoing = outgoing_[stream];
    if (!outgoing.from.is_open()) return;
    if (is_sending() && (outgoing.credit == 0 || to_send_.size() >= to_send_bytes_max)) return;
    std::array<char, read_bytes> room{};
    const std::size_t most = is_sending() ? std::min(room.size(), outgoing.credit) : room.size();
    const os::ReadResult result = os::read_some(outgoing.from.get(), std::span(room).first(most));
    if (result.outcome == os::ReadOutcome::would_block) return;
    if (result.outcome != os::ReadOutcome::some) {
        end_taking(stream);
        send(stream, Kind::end, 0);
        return;
    }
    if (is_sending()) {
        outgoing.credit -= result.bytes;
        send(stream, Kind::bytes, static_cast<std::uint32_t>(result.bytes),
             {room.data(), result.bytes});
    }
    os::wipe(std::as_writable_bytes(std::span(room)).first(result.bytes));
}

void Relay::end_taking(std::size_t stream) {
    Outgoing& outgoing = outgoing_[stream];
    if (outgoing.is_watched) poll_.remove(outgoing.from.get());
    outgoing.is_watched = false;
    outgoing.from.close();
}

void Relay::insert_line(RelayStream stream, std::string_view line) {
    Incoming& incoming = incoming_[static_cast<std::size_t>(stream)];
    incoming.own.append(line).append(1, '\n');
    give(static_cast<std::size_t>(stream));
}

// Writes what insert_line() left, if the last byte that was written ends a line. false: the rest
// must be written before anything else.
bool Relay::give_own(Incoming& incoming) {
    if (!incoming.is_at_line_start || !incoming.to.is_open()) return true;
    const std::int64_t taken = os::write_some(incoming.to.get(), incoming.own);
    incoming.own.erase(0, taken < 0 ? incoming.own.size() : static_cast<std::size_t>(taken));
    return incoming.own.empty();
}

void Relay::give(std::size_t stream) {
    Incoming& incoming = incoming_[stream];
    if (!incoming.own.empty() && !give_own(incoming)) return;
    if (incoming.to.is_open() && !incoming.held.empty()) {
        const std::int64_t taken = os::write_some(incoming.to.get(), incoming.held);
        if (taken < 0) {  // the reader has closed its end: the other side need not send
            incoming.is_refused = true;
            drop_front(incoming.held, incoming.held.size());
            send(stream, Kind::refused, 0);
        } else if (taken > 0) {
            incoming.is_at_line_start = incoming.held[static_cast<std::size_t>(taken) - 1] == '\n';
            drop_front(incoming.held, static_cast<std::size_t>(taken));
            send(stream, Kind::credit, static_cast<std::uint32_t>(taken));
        }
    }
    if (!incoming.own.empty() && !give_own(incoming)) return;
    const bool is_over =
        (incoming.has_ended || is_cut_) && incoming.held.empty() && !incoming.is_kept_open;
    if (!incoming.to.is_open() || !(is_over || incoming.is_refused)) return;
    if (incoming.is_watched) poll_.remove(incoming.to.get());
    incoming.is_watched = false;
    os::end_writing(incoming.to.get());
    incoming.to.close();
}

void Relay::hear() {
    std::array<char, words_bytes_max> room{};
    const os::ReadResult result = os::read_some(side_.get(), room);
    if (result.outcome == os::ReadOutcome::would_block) return;
    if (result.outcome != os::ReadOutcome::some) {
        poll_.remove(side_.get());
        side_.close();
        return;
    }
    words_.append(room.data(), result.bytes);
    if (words_.size() > words_bytes_max) words_.erase(0, words_.size() - words_bytes_max);
}

void Relay::read_trunk() {
    std::array<char, read_bytes> room{};
    const os::ReadResult result = os::read_some(from_trunk_.get(), room);
    if (result.outcome == os::ReadOutcome::would_block) return;
    if (result.outcome != os::ReadOutcome::some) return cut();
    received_.append(room.data(), result.bytes);
    os::wipe(std::as_writable_bytes(std::span(room)).first(result.bytes));
    if (!obey_frames()) cut();
}

// false when the bytes are no frame that a relay sends.
bool Relay::obey_frames() {
    std::size_t at = 0;
    bool is_sound = true;
    while (is_sound && received_.size() - at >= head_bytes) {
        const auto byte = [&](std::size_t i) {
            return static_cast<std::uint8_t>(received_[at + i]);
        };
        const std::uint32_t count = byte(4) | static_cast<std::uint32_t>(byte(5)) << 8U |
                                    static_cast<std::uint32_t>(byte(6)) << 16U |
                                    static_cast<std::uint32_t>(byte(7)) << 24U;
        const auto kind = static_cast<Kind>(byte(1));
        is_sound = byte(0) < relay_streams && kind <= Kind::refused && count <= relay_window_bytes;
        if (!is_sound) break;
        const std::size_t length = kind == Kind::bytes ? count : 0;
        if (received_.size() - at - head_bytes < length) break;
        is_sound = obey(byte(0), kind, {received_.data() + at + head_bytes, length}, count);
        at += head_bytes + length;
    }
    drop_front(received_, at);
    return is_sound;
}

bool Relay::obey(std::size_t stream, Kind kind, std::string_view bytes, std::uint32_t count) {
    Incoming& incoming = incoming_[stream];
    switch (kind) {
        case Kind::bytes:
            if (incoming.held.size() + bytes.size() > relay_window_bytes) return false;
            if (!incoming.to.is_open()) return true;
            incoming.held.append(bytes);
            give(stream);
            return true;
        case Kind::credit:
            if (outgoing_[stream].credit + count > relay_window_bytes) return false;
            outgoing_[stream].credit += count;
            return true;
        case Kind::end:
            incoming.has_ended = true;
            give(stream);
            return true;
        case Kind::refused:
            end_taking(stream);
            return true;
    }
    return false;
}

void Relay::send(std::size_t stream, Kind kind, std::uint32_t count, std::string_view bytes) {
    if (!is_sending()) return;
    const auto byte = [](std::uint32_t value) { return static_cast<char>(value & 0xffU); };
    const std::array<char, head_bytes> head{
        static_cast<char>(stream), static_cast<char>(kind), 0, 0, byte(count), byte(count >> 8U),
        byte(count >> 16U),        byte(count >> 24U)};
    to_send_.append(head.data(), head.size());
    to_send_.append(bytes);
}

void Relay::write_trunk() {
    if (to_send_.empty() || !is_sending()) return;
    const std::int64_t taken = os::write_some(to_trunk_.get(), to_send_);
    if (taken < 0) return stop_sending();
    drop_front(to_send_, static_cast<std::size_t>(taken));
}

// The other relay reads no more. Frames that it sent before may still arrive, its last words among
// them.
void Relay::stop_sending() {
    if (is_trunk_watched_) poll_.remove(to_trunk_.get());
    is_trunk_watched_ = false;
    to_trunk_.close();
    drop_front(to_send_, to_send_.size());
}

// Ends all streams: each descriptor that is given bytes learns that they end.
void Relay::cut() {
    if (is_cut_) return;
    is_cut_ = true;
    poll_.remove(from_trunk_.get());
    from_trunk_.close();
    stop_sending();
    for (std::size_t i = 0; i < relay_streams; ++i) give(i);
}

bool Relay::has_sent_all() const noexcept {
    return to_send_.empty() &&
           std::none_of(outgoing_.begin(), outgoing_.end(),
                        [](const Outgoing& outgoing) { return outgoing.from.is_open(); });
}

bool Relay::has_given_all() const noexcept {
    return std::all_of(incoming_.begin(), incoming_.end(), [this](const Incoming& incoming) {
        const bool is_given = incoming.held.empty() || !incoming.to.is_open();
        return !incoming.is_expected || ((incoming.has_ended || is_cut_) && is_given);
    });
}

}  // namespace acp::launch
