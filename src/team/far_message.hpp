// SPDX-License-Identifier: BSD-3-Clause
// A message of a collective call between two members, and the ends of channels that carry such messages. In front of each message goes the
// signature of the call: together with the message where that is short, else as a message before it.
// For the one thread that is in a call on the team. Tests: tests/conformance/team_test.cpp.
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

    // Begin; the buffer is the message's until it has ended, or its end was abandoned. Throw std::bad_alloc.
    //   rank  of the other member in the team
    void begin_send(message::ChannelEnd& end,
                    std::uint32_t rank,
                    const Signature& signature,
                    const void* source,
                    std::uint64_t bytes);
    void begin_receive(message::ChannelEnd& end,
                       std::uint32_t rank,
                       const Signature& signature,
                       void* target,
                       std::uint64_t bytes);

    [[nodiscard]] bool is_begun() const noexcept { return end_ != nullptr; }

    [[nodiscard]] bool is_under_way() const noexcept { return is_begun() && !has_ended_; }

    // Goes on, and tells whether it has ended, well or not.
    [[nodiscard]] bool has_ended() noexcept;

    void look_thoroughly() noexcept { end_->go_on_thoroughly(); }

    // Of one that has ended: how. mismatch: the other member has made the call that found() says.
    [[nodiscard]] base::Code code() const noexcept { return code_; }

    // In words, of a failure of the channel.
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
    Signature head_;  // as received
    char* buffer_ = nullptr;
    std::uint64_t bytes_ = 0;
    base::Code code_ = base::Code::ok;
    bool is_long_ = false;
    bool has_ended_ = false;
    message::ChannelRequest first_;   // the signature, and the message where it is short
    message::ChannelRequest second_;  // the message where it is long
    std::array<std::byte, sizeof(Signature) + packed_bytes_max> packed_{};
};

// The ends of one team, made when they are first needed.
class FarEnds {
public:
    //   tools  outlives this
    //   team   names the team among all that two processes share
    FarEnds(message::ChannelTools& tools, std::uint64_t team) noexcept
        : tools_(tools), team_(team) {}

    // Of a channel to or from a process. Errors: of ChannelEnd::make. Throws std::bad_alloc.
    base::Result<message::ChannelEnd*> end(std::uint32_t process, message::Side side);

    // Nothing goes on any more, and no buffer is touched, as ChannelEnd::abandon says. What the ends have in heaps stays there, for others may still use it.
    void abandon() noexcept;

    // ChannelEnd::settle_sent of all.
    void settle_sent() noexcept;

    // Begins to free all ends. Throws std::bad_alloc.
    void begin_free();

    // Goes on with that; true: all are freed, or have failed.
    [[nodiscard]] bool are_freed() noexcept;
    void look_thoroughly() noexcept;

    // The process of the partner of an end that is not freed yet.
    [[nodiscard]] std::optional<std::uint32_t> partner_awaited() const noexcept;

    // Gives back what the ends have, after are_freed().
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
