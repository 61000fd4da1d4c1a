// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives messages with their signatures on channels.
#include "team/far_message.hpp"

#include <algorithm>
#include <cstring>

namespace acp::team {

using base::Code;
using message::ChannelEnd;
using message::ChannelRequest;
using message::RequestKind;
using message::Side;

void FarMessage::begin(ChannelEnd& end, std::uint32_t rank, RequestKind kind) {
    end_ = &end;
    rank_ = rank;
    kind_ = kind;
    code_ = Code::ok;
    has_ended_ = false;
}

void FarMessage::request(ChannelRequest& request, void* buffer, std::uint64_t bytes) {
    request.is_done.store(false, std::memory_order_relaxed);
    request.kind = kind_;
    request.buffer = static_cast<char*>(buffer);
    request.bytes = bytes;
    request.length = request.moved = request.offer = 0;
    request.lent = {};
    request.result = {};
    end_->queue().add(request);
}

void FarMessage::begin_send(ChannelEnd& end,
                            std::uint32_t rank,
                            const Signature& signature,
                            const void* source,
                            std::uint64_t bytes) {
    begin(end, rank, RequestKind::send);
    is_long_ = bytes > packed_bytes_max;
    std::memcpy(packed_.data(), &signature, sizeof signature);
    if (!is_long_ && bytes != 0) std::memcpy(packed_.data() + sizeof signature, source, bytes);
    request(first_, packed_.data(), sizeof signature + (is_long_ ? 0 : bytes));
    // A send only reads the buffer.
    if (is_long_) request(second_, const_cast<void*>(source), bytes);
}

void FarMessage::begin_receive(ChannelEnd& end,
                               std::uint32_t rank,
                               const Signature& signature,
                               void* target,
                               std::uint64_t bytes) {
    begin(end, rank, RequestKind::receive);
    is_long_ = bytes > packed_bytes_max;
    expected_ = signature;
    buffer_ = static_cast<char*>(target);
    bytes_ = bytes;
    request(first_, packed_.data(), sizeof signature + (is_long_ ? 0 : bytes));
    if (is_long_) request(second_, target, bytes);
}

bool FarMessage::has_ended() noexcept {
    if (has_ended_ || look()) return true;
    (void)end_->go_on();
    return look();
}

bool FarMessage::look() noexcept {
    // acquire, both: makes the bytes and the result visible; partner: RequestQueue::end_front
    if (!first_.is_done.load(std::memory_order_acquire)) return false;
    code_ = check_head();
    if (code_ == Code::ok && is_long_) {
        if (!second_.is_done.load(std::memory_order_acquire)) return false;
        code_ = second_.result.status.code();
    } else if (code_ == Code::ok && kind_ == RequestKind::receive && bytes_ != 0) {
        std::memcpy(buffer_, packed_.data() + sizeof head_,
                    std::min(bytes_, first_.result.bytes - sizeof head_));
    }
    has_ended_ = true;
    return true;
}

// Checks the signature. A message of another call may be longer than this one expects, so
// `truncated` is a mismatch too.
Code FarMessage::check_head() noexcept {
    const Code code = first_.result.status.code();
    if (kind_ == RequestKind::send || (code != Code::ok && code != Code::truncated)) return code;
    std::memcpy(&head_, packed_.data(), sizeof head_);
    const bool is_whole = first_.result.bytes >= sizeof head_;
    return is_whole && head_ == expected_ && code == Code::ok ? Code::ok : Code::mismatch;
}

base::Result<ChannelEnd*> FarEnds::end(std::uint32_t process, Side side) {
    std::unique_ptr<Far>& far = ends_[{process, side}];
    if (far != nullptr) return &far->end;
    auto made = std::make_unique<Far>();
    const std::uint32_t own = tools_.gma.space().process();
    const message::ChannelName name{side == Side::sender ? own : process,
                                    side == Side::sender ? process : own, team_,
                                    message::EndKind::internal};
    if (auto status = made->end.make(tools_, name, side); !status.is_ok()) return status;
    far = std::move(made);
    return &far->end;
}

void FarEnds::abandon() noexcept {
    for (auto& [key, far] : ends_) {
        if (far != nullptr) far->end.abandon();
    }
}

void FarEnds::settle_sent() noexcept {
    for (auto& [key, far] : ends_) {
        if (far != nullptr) far->end.settle_sent();
    }
}

void FarEnds::begin_free() {
    for (auto& [key, far] : ends_) {
        if (far == nullptr) continue;
        far->free.kind = RequestKind::free;
        far->end.queue().add(far->free);
        far->end.begin_free();
    }
}

bool FarEnds::are_freed() noexcept {
    bool are_all = true;
    for (auto& [key, far] : ends_) {
        if (far == nullptr || far->free.is_done.load(std::memory_order_acquire)) continue;
        (void)far->end.go_on();
        are_all = far->free.is_done.load(std::memory_order_acquire) && are_all;
    }
    return are_all;
}

void FarEnds::look_thoroughly() noexcept {
    for (auto& [key, far] : ends_) {
        if (far != nullptr) far->end.go_on_thoroughly();
    }
}

std::optional<std::uint32_t> FarEnds::partner_awaited() const noexcept {
    for (const auto& [key, far] : ends_) {
        if (far != nullptr && !far->free.is_done.load(std::memory_order_acquire)) return key.first;
    }
    return std::nullopt;
}

void FarEnds::drop() noexcept {
    for (auto& [key, far] : ends_) {
        if (far != nullptr) far->end.drop();
    }
    ends_.clear();
}

}  // namespace acp::team
