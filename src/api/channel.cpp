// SPDX-License-Identifier: BSD-3-Clause
// <acp/channel.h>.
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/ends.hpp"
#include "api/library.hpp"
#include "api/shared_range.hpp"
#include "base/format.hpp"
#include "gma/commands.hpp"
#include "message/channels.hpp"
#include "message/short_way.hpp"

#include <acp/channel.h>
#include <acp/error.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::handle_of;
using api::library;
using api::number_of;
using api::process_of;
using base::Code;
using base::Result;
using base::Status;
using message::Channels;
using message::LineTaken;
using message::RequestEnd;
using message::RequestKind;
using message::SendAttempt;

constexpr auto no_bytes = static_cast<size_t>(-1);
constexpr std::uint64_t bytes_max = std::uint64_t{1} << 61;

constexpr int of_no_list = -1;

// The channel or the request that a call was given, for messages.
struct CallSubject {
    const char* kind;  // "channel", "request"
    std::uint64_t number;
    int place = of_no_list;     // the request's index in a list of several
    std::uint64_t channel = 0;  // handle of the failed request's channel; 0: unknown
};

CallSubject subject_of(acp_ch_t channel) noexcept {
    return {"channel", number_of(channel)};
}

CallSubject subject_of(acp_request_t request, int place = of_no_list) noexcept {
    return {"request", number_of(request), place};
}

// "acp_send_ch(channel 0x100000001) by rank 0 on host", "acp_waitall_ch(requests[2] 0x200000001 of
// channel 0x100000001) by rank 0 on host"
Status named(const char* call, const CallSubject& subject, Status failure) {
    if (failure.is_ok()) return failure;
    std::string text = std::string(call) + "(" + subject.kind;
    if (subject.place != of_no_list) text += "s[" + std::to_string(subject.place) + "]";
    text += " " + base::hex(subject.number);
    if (subject.channel != 0) text += " of channel " + base::hex(subject.channel);
    return std::move(failure).within(text + ")" + gma::by_rank(library().member->rank()));
}

Status check_buffer(const void* buffer, std::size_t bytes) {
    if (buffer == nullptr && bytes != 0) {
        return {Code::argument, "buf is NULL, and size is " + std::to_string(bytes)};
    }
    if (Status status = api::refuse_shared("buf", buffer, bytes); !status.is_ok()) return status;
    if (bytes >= bytes_max) {
        return {Code::argument, "size " + std::to_string(bytes) + " is not below 2^61"};
    }
    return {};
}

// The channels, for the fast path (message/short_way.hpp): it skips the boundary, which costs more
// than a message. nullptr: no call may be made now. Calls no function.
[[gnu::always_inline]] inline Channels* channels_at_hand() noexcept {
    const api::Library* const instance = api::usable_library();
    return instance != nullptr ? instance->channels.get() : nullptr;
}

// The channels, or nullptr also for an invalid buffer.
[[gnu::always_inline]] inline Channels* short_way_for(const void* buf, size_t size) noexcept {
    if (size >= bytes_max || (buf == nullptr && size != 0)) [[unlikely]]
        return nullptr;
    if (api::is_in_shared_range(buf)) [[unlikely]]
        return nullptr;
    return channels_at_hand();
}

[[gnu::noinline]] acp_request_t begin(
    const char* call, acp_ch_t ch, RequestKind kind, const void* buf, size_t size) {
    return api::run<Gravity::misuse_ends>(call, ACP_REQUEST_NULL, [&]() -> Result<acp_request_t> {
        Status status = check_buffer(buf, size);
        if (status.is_ok()) {
            // A send only reads from the buffer.
            auto begun = library().channels->begin(
                number_of(ch), kind, static_cast<char*>(const_cast<void*>(buf)), size);
            if (begun.is_ok()) return handle_of<acp_request_t>(begun.value());
            status = std::move(begun).failure();
        }
        return named(call, subject_of(ch), std::move(status));
    });
}

// The result of a call for an ended request: the bytes.
Result<size_t> told(const char* call, CallSubject subject, RequestEnd end) {
    if (end.status.is_ok()) return static_cast<size_t>(end.bytes);
    if (subject.number != end.channel) subject.channel = end.channel;
    return named(call, subject, std::move(end.status));
}

Result<size_t> wait_for(const char* call, const CallSubject& request) {
    auto ended = library().channels->wait(request.number, -1);
    if (!ended.is_ok()) return named(call, request, std::move(ended).failure());
    return told(call, request, std::move(ended).value());
}

// Waits for one request in a list of several; without memory for the message of a failure, returns
// the bare failure.
Result<size_t> wait_for_one_of(const acp_request_t* requests, int place) {
    try {
        return wait_for("acp_waitall_ch", subject_of(requests[place], place));
    } catch (const std::bad_alloc&) {
        return Status::bare(Code::memory);
    }
}

[[gnu::noinline]] size_t wait_long(acp_request_t request) {
    return api::run<Gravity::misuse_ends>(
        "acp_wait_ch", no_bytes, [&] { return wait_for("acp_wait_ch", subject_of(request)); });
}

[[gnu::noinline]] size_t run_blocking(
    const char* call, acp_ch_t ch, RequestKind kind, const void* buf, size_t size) {
    return api::run<Gravity::misuse_ends>(call, no_bytes, [&]() -> Result<size_t> {
        if (Status status = check_buffer(buf, size); !status.is_ok())
            return named(call, subject_of(ch), std::move(status));
        auto ended = library().channels->run(number_of(ch), kind,
                                             static_cast<char*>(const_cast<void*>(buf)), size);
        if (!ended.is_ok()) return named(call, subject_of(ch), std::move(ended).failure());
        return told(call, subject_of(ch), std::move(ended).value());
    });
}

// The tail call of acp_send_ch and similar calls if Channels::send_line() or receive_line() did not
// complete it: the fast path for messages of any length, and else the slow one. Never inline, so
// that the callers save no registers.
//   bell  of a receiver to be woken, whose message was sent; nullptr: nothing was sent

[[gnu::noinline]] int send_any(acp_ch_t ch,
                               const void* buf,
                               size_t size,
                               Channels::BellWord* bell) {
    if (bell != nullptr) {
        os::futex_wake(*bell, os::everybody);
        return 0;
    }
    Channels* const channels = short_way_for(buf, size);
    constexpr int looks = Channels::looks_at_once;
    if (channels != nullptr && channels->send_at_once(number_of(ch), buf, size, looks)) return 0;
    return run_blocking("acp_send_ch", ch, RequestKind::send, buf, size) == no_bytes ? -1 : 0;
}

[[gnu::noinline]] size_t receive_any(acp_ch_t ch, void* buf, size_t size, int looks) {
    Channels* const channels = short_way_for(buf, size);
    std::uint64_t length = 0;
    if (channels != nullptr &&
        channels->receive_at_once(number_of(ch), {static_cast<char*>(buf), size}, looks, length)) {
        return length;
    }
    return run_blocking("acp_recv_ch", ch, RequestKind::receive, buf, size);
}

[[gnu::noinline]] acp_request_t begin_send(acp_ch_t ch,
                                           const void* buf,
                                           size_t size,
                                           Channels::BellWord* bell) {
    if (bell != nullptr) os::futex_wake(*bell, os::everybody);
    Channels* const channels = short_way_for(buf, size);
    if (bell != nullptr ||
        (channels != nullptr && channels->send_at_once(number_of(ch), buf, size, 1))) {
        return handle_of<acp_request_t>(Channels::ended_at_once(0));
    }
    return begin("acp_nbsend_ch", ch, RequestKind::send, buf, size);
}

[[gnu::noinline]] acp_request_t begin_receive(acp_ch_t ch, void* buf, size_t size) {
    Channels* const channels = short_way_for(buf, size);
    std::uint64_t length = 0;
    if (channels != nullptr &&
        channels->receive_at_once(number_of(ch), {static_cast<char*>(buf), size}, 1, length)) {
        return handle_of<acp_request_t>(Channels::ended_at_once(length));
    }
    return begin("acp_nbrecv_ch", ch, RequestKind::receive, buf, size);
}

}  // namespace

extern "C" {

acp_ch_t acp_create_ch(int sender, int receiver) {
    return api::run<Gravity::misuse_ends>("acp_create_ch", ACP_CH_NULL, [&]() -> Result<acp_ch_t> {
        const auto make = [&]() -> Result<acp_ch_t> {
            auto from = process_of("sender", sender);
            if (!from.is_ok()) return std::move(from).failure();
            auto to = process_of("receiver", receiver);
            if (!to.is_ok()) return std::move(to).failure();
            auto made = library().channels->make(from.value(), to.value());
            if (!made.is_ok()) return std::move(made).failure();
            return handle_of<acp_ch_t>(made.value());
        };
        auto made = make();
        if (made.is_ok()) return made;
        return std::move(made).failure().within("acp_create_ch(sender " + std::to_string(sender) +
                                                ", receiver " + std::to_string(receiver) + ")" +
                                                gma::by_rank(library().member->rank()));
    });
}

acp_request_t acp_nbsend_ch(acp_ch_t ch, const void* buf, size_t size) {
    Channels* const channels = channels_at_hand();
    Channels::BellWord* bell = nullptr;
    if (channels == nullptr || buf == nullptr || api::is_in_shared_range(buf) ||
        channels->send_line(number_of(ch), buf, size, bell) != SendAttempt::sent) [[unlikely]]
        return begin_send(ch, buf, size, bell);
    return handle_of<acp_request_t>(Channels::ended_at_once(0));
}

acp_request_t acp_nbrecv_ch(acp_ch_t ch, void* buf, size_t size) {
    Channels* const channels = channels_at_hand();
    std::uint64_t length = 0;
    if (channels == nullptr || buf == nullptr || api::is_in_shared_range(buf) ||
        channels->receive_line(number_of(ch), {static_cast<char*>(buf), size}, 1, length) !=
            LineTaken::taken) {
        return begin_receive(ch, buf, size);
    }
    return handle_of<acp_request_t>(Channels::ended_at_once(length));
}

acp_request_t acp_nbfree_ch(acp_ch_t ch) {
    return begin("acp_nbfree_ch", ch, RequestKind::free, nullptr, 0);
}

size_t acp_wait_ch(acp_request_t request) {
    if (Channels::has_ended_at_once(number_of(request)) && library().life.is_usable()) [[likely]]
        return Channels::length_of(number_of(request));
    return wait_long(request);
}

int acp_waitall_ch(const acp_request_t* requests, int count, size_t* sizes) {
    return api::run<Gravity::misuse_ends>("acp_waitall_ch", -1, [&]() -> Result<int> {
        if (count < 0) {
            return Status(Code::argument,
                          "count is " + std::to_string(count) + ": it is 0 or more");
        }
        if (requests == nullptr && count != 0) {
            return Status(Code::argument,
                          "requests is NULL, and count is " + std::to_string(count));
        }
        Status first;
        for (int i = 0; i < count; ++i) {
            size_t size = 0;
            if (requests[i] != ACP_REQUEST_NULL) {
                auto ended = wait_for_one_of(requests, i);
                size = ended.is_ok() ? ended.value() : no_bytes;
                if (!ended.is_ok() && first.is_ok()) first = std::move(ended).failure();
            }
            if (sizes != nullptr) sizes[i] = size;
        }
        if (!first.is_ok()) return first;
        return 0;
    });
}

int acp_wait_ch_timeout(acp_request_t request, size_t* size, int64_t timeout_ns) {
    constexpr int refused = -1;
    const int ended_with =
        api::run<Gravity::reported>("acp_wait_ch_timeout", int{refused}, [&]() -> Result<int> {
            constexpr const char* call = "acp_wait_ch_timeout";
            auto ended = library().channels->wait(number_of(request), timeout_ns);
            const std::uint64_t bytes = ended.is_ok() ? ended.value().bytes : 0;
            CallSubject subject = subject_of(request);
            if (ended.is_ok()) subject.channel = ended.value().channel;
            Status status =
                ended.is_ok() ? std::move(ended.value().status) : std::move(ended).failure();
            const Code code = status.code();
            const bool is_retired = code != Code::timeout;
            if (size != nullptr && is_retired) *size = code == Code::ok ? bytes : no_bytes;
            if (code != Code::ok) {
                api::keep(named(call, subject, std::move(status)));
            }
            return static_cast<int>(code);
        });
    return ended_with == refused ? acp_errno() : ended_with;
}

int acp_test_ch(acp_request_t request, size_t* size) {
    return api::run<Gravity::misuse_ends>("acp_test_ch", -1, [&]() -> Result<int> {
        auto ended = library().channels->wait(number_of(request), 0);
        if (!ended.is_ok()) {
            if (ended.failure().code() == Code::timeout) return 0;
            return named("acp_test_ch", subject_of(request), std::move(ended).failure());
        }
        auto bytes = told("acp_test_ch", subject_of(request), std::move(ended).value());
        if (size != nullptr) *size = bytes.is_ok() ? bytes.value() : no_bytes;
        if (!bytes.is_ok()) return std::move(bytes).failure();
        return 1;
    });
}

int acp_send_ch(acp_ch_t ch, const void* buf, size_t size) {
    Channels* const channels = channels_at_hand();
    Channels::BellWord* bell = nullptr;
    if (channels == nullptr || buf == nullptr || api::is_in_shared_range(buf) ||
        channels->send_line(number_of(ch), buf, size, bell) != SendAttempt::sent) [[unlikely]]
        return send_any(ch, buf, size, bell);
    return 0;
}

size_t acp_recv_ch(acp_ch_t ch, void* buf, size_t size) {
    Channels* const channels = channels_at_hand();
    constexpr int looks = Channels::looks_at_once;
    std::uint64_t length = 0;
    auto taken = LineTaken::another;
    if (channels != nullptr && buf != nullptr && !api::is_in_shared_range(buf)) [[likely]] {
        taken =
            channels->receive_line(number_of(ch), {static_cast<char*>(buf), size}, looks, length);
    }
    if (taken == LineTaken::taken) [[likely]]
        return length;
    return receive_any(ch, buf, size, taken == LineTaken::none ? 1 : looks);
}

int acp_free_ch(acp_ch_t ch) {
    return run_blocking("acp_free_ch", ch, RequestKind::free, nullptr, 0) == no_bytes ? -1 : 0;
}

}  // extern "C"
