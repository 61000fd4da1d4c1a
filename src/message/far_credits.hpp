// SPDX-License-Identifier: BSD-3-Clause
// Sends the credits and the header requests of one ring to its sender on another node. Of each kind
// one word is in flight at a time, so that an older word never overwrites a newer one; of several
// waiting words of a kind only the last is sent. Each word is a numbered operation
// (operations/put_signal.hpp), which also wakes threads that wait at the sender. Only one of the
// ring's two credit words is sent, as a datagram arrives whole or not at all. Used by the
// receiver's thread.
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
    // Where the sender of a ring reads its credits.
    struct CreditPlace {
        std::uint32_t process = 0;          // the sender
        memory::GlobalAddress address = 0;  // address of its first credit
        std::uint64_t credits_begin = 0;    // BasicRingShape::credit_offset(0) of the ring
    };

    // Throws std::bad_alloc. Afterwards no word is lost for lack of memory.
    //   gma  must outlive this
    explicit FarCredits(gma::Gma& gma);

    ~FarCredits() { settle(); }

    FarCredits(const FarCredits&) = delete;
    FarCredits& operator=(const FarCredits&) = delete;

    // Starts with a new sender. Waiting words for the previous one are dropped; words in flight
    // continue.
    void begin(const CreditPlace& place) noexcept;

    // Issues a word, or keeps it until the word of its kind in flight has ended. Never waits.
    //   offset  in the ring: that of a credit or of the request
    void carry(std::uint64_t offset, std::uint64_t word) noexcept;

    // Waits until the last word of this offset has been issued.
    void wait_until_sent(std::uint64_t offset) noexcept;

    // Whether some word has not been issued yet.
    [[nodiscard]] bool has_waiting() const noexcept {
        return std::any_of(words_.begin(), words_.end(),
                           [](const CarriedWord& word) { return word.is_waiting; });
    }

    // Issues waiting words whose kind has none in flight.
    void carry_on() noexcept;

    // Whether no word is waiting or in flight.
    [[nodiscard]] bool is_idle() noexcept;

    // is_idle(), after waiting a short time for each word in flight. Once a sender has not answered
    // in that time (it may be stopped), the next calls only poll.
    [[nodiscard]] bool is_idle_soon() noexcept;

    // Whether a word has failed because the other node is lost.
    [[nodiscard]] bool is_cut_off() noexcept;

    // Waits for the words in flight.
    void settle() noexcept;

private:
    // The words of one kind.
    struct CarriedWord {
        gma::Handle handle = gma::handle_null;  // the word in flight
        bool is_waiting = false;                // the fields below are the next word
        std::uint64_t offset = 0;               // relative to the first credit
        std::uint64_t word = 0;
    };

    // nullptr: a word of this offset is not sent.
    [[nodiscard]] CarriedWord* word_at(std::uint64_t offset) noexcept;
    void carry_on(CarriedWord& word) noexcept;
    void look(CarriedWord& word, std::int64_t timeout_ns) noexcept;
    void end(CarriedWord& word) noexcept;

    gma::Gma& gma_;
    CreditPlace place_;
    std::array<CarriedWord, 2> words_;  // one for credits, one for requests
    bool is_cut_off_ = false;
    bool is_sender_silent_ = false;  // the last wait for an answer timed out
};

}  // namespace acp::message
