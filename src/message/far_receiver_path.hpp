// SPDX-License-Identifier: BSD-3-Clause
// The path of the receiver of a ring to a sender on another node: the records come to memory of the receiver, and what it tells goes by FarCredits.
// A ring's receiver may never be called again, so a word that cannot go at once is waited for. For the thread that uses the end.
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

    //   ring     its records and its journal; outlives this
    //   credits  have begun; of this path and its copies alone
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

    // false, always: the operation rings.
    [[nodiscard]] bool publish(std::uint64_t offset, std::uint64_t value) const noexcept {
        store(offset, value);
        return false;
    }

    [[nodiscard]] static bool ring() noexcept { return false; }

    // A word that is not sent now is sent when somebody looks again, which may be never: so it is put off only where the sender takes
    // nothing, and else this waits a while.
    [[nodiscard]] bool may_send() const noexcept { return credits_->is_idle_soon(); }

    [[nodiscard]] bool is_cut_off() const noexcept { return credits_->is_cut_off(); }

    [[nodiscard]] bool is_idle() const noexcept { return credits_->is_idle(); }

    void settle() const noexcept { credits_->settle(); }

private:
    char* ring_;
    std::shared_ptr<FarCredits> credits_;
};

}  // namespace acp::message
