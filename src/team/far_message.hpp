// SPDX-License-Identifier: BSD-3-Clause
// A message of a collective call between two members, and the channel ends that carry such
// messages. The signature of the call precedes each message: packed together with a short message,
// as a message of its own before a long one.
// For the one thread that is in a call on the team. Tests: tests/unit/team/far_ends_test.cpp,
// call_queue_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/status.hpp"
#include "message/channel_end.hpp"
#include "team/signature.hpp"

namespace acp::team {

class FarMessage {
public:
    // Messages up to this length travel with their signature.
    static constexpr std::uint64_t packed_bytes_max = 960;

    FarMessage() = default;
    FarMessage(const FarMessage&) = delete;
    FarMessage& operator=(const FarMessage&) = delete;
    ~FarMessage() = default;

    // Begin a message. The message owns the buffer until it has ended, or its end was abandoned.
    // Throw std::bad_alloc.
    //   rank  the other member's team rank
    void begin_send(message::ChannelEnd& end,
                    std::uint32_t rank,
                    const Signature& signature,
                    const void* source,
                    std::uint64_t bytes);
    // A message may be shorter, if it travels with its signature: the rest of the buffer stays as it is.
    void begin_receive(message::ChannelEnd& end,
                       std::uint32_t rank,
                       const Signature& signature,
                       void* target,
                       std::uint64_t bytes);

    [[nodiscard]] bool is_begun() const noexcept { return end_ != nullptr; }

    [[nodiscard]] bool is_under_way() const noexcept { return is_begun() && !has_ended_; }

    // Makes progress. Returns whether the message has ended, with success or not.
    [[nodiscard]] bool has_ended() noexcept;

    void look_thoroughly() noexcept { end_->go_on_thoroughly(); }

    // The result of an ended message. mismatch: the other member has made the call in found().
    [[nodiscard]] base::Code code() const noexcept { return code_; }

    // The text of a failure of the channel.
    [[nodiscard]] std::string_view reason() const noexcept {
        const bool is_first = !first_.result.status.is_ok();
        return (is_first ? first_ : second_).result.status.message();
    }

    [[nodiscard]] const Signature& expected() const noexcept { return expected_; }

    [[nodiscard]] const Signature& found() const noexcept { return head_; }

    [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }

private:
    void begin(message::ChannelEnd& end, std::uint32_t rank, message::RequestKind kind);
    void request(message::ChannelRequest& request, void* buffer, std::uint64_t bytes);
    bool look() noexcept;
    base::Code check_head() noexcept;

    message::ChannelEnd* end_ = nullptr;
    std::uint32_t rank_ = 0;
    message::RequestKind kind_ = message::RequestKind::send;
    Signature expected_;
    Signature head_;  // the received signature
    char* buffer_ = nullptr;
    std::uint64_t bytes_ = 0;
    base::Code code_ = base::Code::ok;
    bool is_long_ = false;
    bool has_ended_ = false;
    message::ChannelRequest first_;   // the signature, and a short message
    message::ChannelRequest second_;  // a long message
    std::array<std::byte, sizeof(Signature) + packed_bytes_max> packed_{};
};

// The channel ends of one team, each made when it is first used.
class FarEnds {
public:
    //   tools  outlives this
    //   team   a number that distinguishes the team from all others that two processes share
    FarEnds(message::ChannelTools& tools, std::uint64_t team) noexcept
        : tools_(tools), team_(team) {}

    // Returns the end of a channel to or from a process. Errors: those of ChannelEnd::make. Throws
    // std::bad_alloc.
    base::Result<message::ChannelEnd*> end(std::uint32_t process, message::Side side);

    // Stops all ends: they access no buffer from now on (ChannelEnd::abandon). Their blocks in
    // heaps stay, for partners may still access them.
    void abandon() noexcept;

    // Calls ChannelEnd::settle_sent of all ends.
    void settle_sent() noexcept;

    // Starts to free all ends. Throws std::bad_alloc.
    void begin_free();

    // Makes progress on freeing. True: all ends are freed, or have failed.
    [[nodiscard]] bool are_freed() noexcept;
    void look_thoroughly() noexcept;

    // The process of a partner whose end is not freed yet.
    [[nodiscard]] std::optional<std::uint32_t> partner_awaited() const noexcept;

    // Gives up the ends' resources, after are_freed().
    void drop() noexcept;

private:
    struct Far {
        message::ChannelEnd end;
        message::ChannelRequest free;
    };

    message::ChannelTools& tools_;
    std::uint64_t team_;
    std::map<std::pair<std::uint32_t, message::Side>, std::unique_ptr<Far>> ends_;
};

}  // namespace acp::team
