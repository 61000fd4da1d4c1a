// SPDX-License-Identifier: BSD-3-Clause
// The path of the sender of a ring to a receiver on another node: what is placed and published goes there in one numbered operation
// (operations/put_signal.hpp), which also wakes whoever waits there. What ring.hpp calls the journal is not written: a header that is lost
// costs a request and its answer. For the thread that uses the end. Tests: tests/unit/message/far_sender_path_test.cpp,
// tests/conformance/channel_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

#include "gma/gma.hpp"
#include "message/ring_layout.hpp"

#include "operations/put_signal.hpp"

namespace acp::message {

class FarSenderPath {
public:
    using Word = std::atomic<std::uint64_t>;

    // The most bytes of a record's payload.
    static constexpr std::uint64_t payload_bytes_max = operations::put_signal_bytes_max;

    // Where a ring's parts lie.
    struct RingPlace {
        char* credits = nullptr;          // the part that the receiver tells
        RingShape shape;                  // of the ring
        std::uint32_t process = 0;        // the receiver
        memory::GlobalAddress there = 0;  // the start of the ring
    };

    //   gma  outlives this
    // Throws std::bad_alloc: afterwards no record is lost for want of memory.
    FarSenderPath(gma::Gma& gma, const RingPlace& place);

    FarSenderPath(const FarSenderPath&) = default;
    FarSenderPath& operator=(const FarSenderPath&) = default;
    ~FarSenderPath() = default;

    [[nodiscard]] Word& word(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<Word*>(place_.credits + (offset - place_.shape.credit_offset(0)));
    }

    [[nodiscard]] char* room(std::uint64_t /*offset*/) noexcept { return message_.bytes.data(); }

    // 1 .. payload_bytes_max bytes. They leave with the next publish().
    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) noexcept {
        placed_at_ = offset;
        placed_bytes_ = bytes;
        if (source != message_.bytes.data()) std::memcpy(message_.bytes.data(), source, bytes);
    }

    void store(std::uint64_t offset, std::uint64_t value) noexcept {
        if (offset < place_.shape.record_bytes()) (void)publish(offset, value);
    }

    // false, always: the operation rings.
    [[nodiscard]] bool publish(std::uint64_t offset, std::uint64_t value) noexcept;

    [[nodiscard]] static bool ring() noexcept { return false; }

    // Whether something that was sent has failed because the other node is lost.
    [[nodiscard]] bool is_cut_off() noexcept;

    // Sends a word that means nothing, if nothing is under way: whoever waits long learns by it whether the other node is lost.
    void probe() noexcept {
        if (begun_ == ended_) (void)publish(place_.shape.journal_offset(0), 0);
    }

    // Whether another record may be sent without waiting for what is under way.
    [[nodiscard]] bool may_send() noexcept;

    // Whether nothing that was sent is under way any more.
    [[nodiscard]] bool is_idle() noexcept;

    // Waits for what was sent, so that nothing of it is under way any more.
    void settle() noexcept;

private:
    static constexpr std::uint64_t under_way_max = 32;
    static constexpr std::uint64_t handles_max = 2 * under_way_max;

    struct Message {  // NOLINT: written as far as read
        operations::PutSignal head;
        std::array<char, payload_bytes_max> bytes;  // NOLINT: written as far as read
    };

    [[nodiscard]] gma::Handle& handle_at(std::uint64_t number) noexcept {
        return handles_[number % handles_max];
    }

    void forget_ended() noexcept;
    void end_oldest() noexcept;

    gma::Gma* gma_;
    RingPlace place_;
    std::uint64_t placed_at_ = 0;
    std::uint64_t placed_bytes_ = 0;
    Message message_;
    // What is under way: from number ended_ on, before begun_.
    std::array<gma::Handle, handles_max> handles_{};
    std::uint64_t begun_ = 0;
    std::uint64_t ended_ = 0;
    bool is_cut_off_ = false;
};

}  // namespace acp::message
