// SPDX-License-Identifier: BSD-3-Clause
// Brings the credits and requests of one ring to its sender on another node: of each of the two kinds one word at a time, so that a later one is
// not overtaken by an earlier one, and of several that wait the last one. Each is a numbered operation (operations/put_signal.hpp), which also
// wakes whoever waits there. Of a ring's two credits one goes: what comes by datagrams comes whole or not at all. For the receiver's thread.
// Tests: tests/unit/message/far_credits_test.cpp, tests/conformance/channel_test.cpp, pm_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "gma/gma.hpp"
#include "message/ring_layout.hpp"

namespace acp::message {

class FarCredits {
public:
    // Where the credits of a ring lie for its sender.
    struct CreditPlace {
        std::uint32_t process = 0;          // the sender
        memory::GlobalAddress address = 0;  // of its first credit
        std::uint64_t credits_begin = 0;    // BasicRingShape::credit_offset(0) of the ring
    };

    //   gma  outlives this
    // Throws std::bad_alloc: afterwards no word is lost for want of memory.
    explicit FarCredits(gma::Gma& gma);

    ~FarCredits() { settle(); }

    FarCredits(const FarCredits&) = delete;
    FarCredits& operator=(const FarCredits&) = delete;

    // Begins with a sender. Of the one before, what waits is dropped, and what is under way goes on.
    void begin(const CreditPlace& place) noexcept;

    // Sends a word, or keeps it until an earlier one of its kind has arrived. Waits for nobody.
    //   offset  in the ring: of a credit, or of the request
    void carry(std::uint64_t offset, std::uint64_t word) noexcept;

    // Waits until the word of this offset that was carried last has been sent.
    void wait_until_sent(std::uint64_t offset) noexcept;

    // Whether a word has not yet been sent.
    [[nodiscard]] bool has_waiting() const noexcept {
        return std::any_of(words_.begin(), words_.end(),
                           [](const CarriedWord& word) { return word.is_waiting; });
    }

    // Sends what waits and may go.
    void carry_on() noexcept;

    // Whether all words have been sent and have arrived, or never will.
    [[nodiscard]] bool is_idle() noexcept;

    // Whether that is so within a while; a sender that was found not to answer, as one that is stopped, is only looked at.
    [[nodiscard]] bool is_idle_soon() noexcept;

    // Whether something that was sent has failed because the other node is lost.
    [[nodiscard]] bool is_cut_off() noexcept;

    // Waits for what is under way.
    void settle() noexcept;

private:
    // One of a kind.
    struct CarriedWord {
        gma::Handle handle = gma::handle_null;  // of the one that is under way
        bool is_waiting = false;                // what follows
        std::uint64_t offset = 0;               // from the first credit
        std::uint64_t word = 0;
    };

    // nullptr: it is not sent.
    [[nodiscard]] CarriedWord* word_at(std::uint64_t offset) noexcept;
    void carry_on(CarriedWord& word) noexcept;
    void look(CarriedWord& word, std::int64_t timeout_ns) noexcept;
    void end(CarriedWord& word) noexcept;

    gma::Gma& gma_;
    CreditPlace place_;
    std::array<CarriedWord, 2> words_;  // a credit, a request
    bool is_cut_off_ = false;
    bool is_sender_silent_ = false;  // the last word was waited for in vain
};

}  // namespace acp::message
