// SPDX-License-Identifier: BSD-3-Clause
// The path of one end of a ring to the other end on another node: what is placed and published goes there in one numbered operation
// (operations/put_signal.hpp), which also wakes whoever waits there. What ring.hpp calls the journal is not written: a header that is lost
// costs a request and its answer. Nor is the first of a ring's two credits: what comes by datagrams comes whole or not at all.
// For the thread that uses the end. Tests: tests/conformance/channel_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>

#include "gma/gma.hpp"
#include "message/ring_layout.hpp"

#include "operations/put_signal.hpp"

namespace acp::message {

class FarPath {
public:
    using Word = std::atomic<std::uint64_t>;

    // The most bytes of a record's payload.
    static constexpr std::uint64_t payload_bytes_max = operations::put_signal_bytes_max;

    // Where a ring's parts lie for one of its ends.
    struct RingPlace {
        char* home = nullptr;             // the part of the ring that this end reads
        std::uint64_t home_begin = 0;     // the offset in the ring at which that part begins
        std::uint32_t process = 0;        // of the other end
        memory::GlobalAddress there = 0;  // where offset 0 would lie there
        std::uint64_t unsent_begin = 0;   // what is stored in this range of offsets is left out
        std::uint64_t unsent_end = 0;
        bool is_overwriting = false;  // this end stores the same few words again and again
    };

    //   gma  outlives this
    // Throws std::bad_alloc, as copies do.
    FarPath(gma::Gma& gma, const RingPlace& place) : gma_(&gma), place_(place) {}

    FarPath(const FarPath&) = default;
    FarPath& operator=(const FarPath&) = default;
    ~FarPath() = default;

    [[nodiscard]] Word& word(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<Word*>(home_at(offset));
    }

    // Of a receiver: where a payload lies.
    [[nodiscard]] char* room(std::uint64_t offset) const noexcept { return home_at(offset); }

    // 1 .. payload_bytes_max bytes. They leave with the next publish().
    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) noexcept {
        placed_at_ = offset;
        placed_bytes_ = bytes;
        std::memcpy(message_.bytes.data(), source, bytes);
    }

    void store(std::uint64_t offset, std::uint64_t value) noexcept {
        if (offset >= place_.unsent_begin && offset < place_.unsent_end) return;
        (void)publish(offset, value);
    }

    // false, always: the operation rings.
    [[nodiscard]] bool publish(std::uint64_t offset, std::uint64_t value) noexcept;

    [[nodiscard]] static bool ring() noexcept { return false; }

    // Whether something that was sent has failed because the other node is lost.
    [[nodiscard]] bool is_cut_off() noexcept;

    // Sends a word that means nothing, if nothing is under way: whoever waits long learns by it whether the other node is lost.
    void probe() noexcept {
        if (under_way_.empty()) (void)publish(place_.unsent_begin, 0);
    }

    // Whether more may be sent without waiting for what is under way. Where words are overwritten nothing may be under way: then this waits a
    // while for it, but for a partner that was found not to answer, as one that is stopped, only looks.
    [[nodiscard]] bool may_send() noexcept;

    // Whether nothing that was sent is under way any more.
    [[nodiscard]] bool is_idle() noexcept;

    // Waits for what was sent, so that nothing of it is under way any more.
    void settle() noexcept;

private:
    static constexpr std::size_t under_way_max = 32;

    struct Message {  // NOLINT: written as far as read
        operations::PutSignal head;
        std::array<std::byte, payload_bytes_max> bytes;  // NOLINT: written as far as read
    };

    struct SentWord {
        gma::Handle handle = gma::handle_null;
        std::uint64_t offset = 0;  // of the word
    };

    [[nodiscard]] bool is_under_way(std::uint64_t offset) const noexcept {
        return std::any_of(under_way_.begin(), under_way_.end(),
                           [offset](const SentWord& sent) { return sent.offset == offset; });
    }

    void forget_ended() noexcept;
    void end_oldest() noexcept;

    [[nodiscard]] char* home_at(std::uint64_t offset) const noexcept {
        return place_.home + (offset - place_.home_begin);
    }

    gma::Gma* gma_;
    RingPlace place_;
    std::uint64_t placed_at_ = 0;
    std::uint64_t placed_bytes_ = 0;
    Message message_;
    std::deque<SentWord> under_way_;
    bool is_cut_off_ = false;
    bool is_partner_silent_ =
        false;  // of words that are overwritten: the last one was waited for in vain
};

}  // namespace acp::message
