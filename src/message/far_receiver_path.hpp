// SPDX-License-Identifier: BSD-3-Clause
// The path of a ring's receiver to a sender on another node: records arrive in the receiver's
// memory; FarCredits sends its credits and requests. The receiver may never be called again, so a
// word that cannot be issued at once is waited for. For the thread that uses the end.
// Tests: tests/conformance/channel_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "message/far_credits.hpp"

namespace acp::message {

class FarReceiverPath {
public:
    using Word = std::atomic<std::uint64_t>;

    //   ring     the records and the journal; must outlive this
    //   credits  already begun; used by this path and its copies alone
    FarReceiverPath(char* ring, std::shared_ptr<FarCredits> credits) noexcept
        : ring_(ring), credits_(std::move(credits)) {}

    [[nodiscard]] Word& word(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<Word*>(ring_ + offset);
    }

    [[nodiscard]] char* room(std::uint64_t offset) const noexcept { return ring_ + offset; }

    void store(std::uint64_t offset, std::uint64_t value) const noexcept {
        credits_->carry(offset, value);
        credits_->wait_until_sent(offset);
    }

    // Always false: the operation itself rings the sender's bell.
    [[nodiscard]] bool publish(std::uint64_t offset, std::uint64_t value) const noexcept {
        store(offset, value);
        return false;
    }

    [[nodiscard]] static bool ring() noexcept { return false; }

    // False: the sender does not take words now. A word that is put off is issued at the next poll,
    // which may never come: so this waits a short time before it returns false.
    [[nodiscard]] bool may_send() const noexcept { return credits_->is_idle_soon(); }

    [[nodiscard]] bool is_cut_off() const noexcept { return credits_->is_cut_off(); }

    [[nodiscard]] bool is_idle() const noexcept { return credits_->is_idle(); }

    void settle() const noexcept { credits_->settle(); }

private:
    char* ring_;
    std::shared_ptr<FarCredits> credits_;
};

}  // namespace acp::message
