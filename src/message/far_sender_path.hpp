// SPDX-License-Identifier: BSD-3-Clause
// The path of a ring's sender to a receiver on another node: place() and publish() together issue
// one numbered operation (operations/put_signal.hpp), which also wakes threads that wait at the
// receiver. A longer payload goes by a copy in the same flight, before the operation with the header:
// place() puts it into a mirror of the ring's records in the sender's heap, where it stays until a
// credit covers it, so that the buffer is the caller's at once. There is no mirror where such a pair
// takes two flights, or while the heap has no room. The path does not write the ring's journal
// (ring.hpp): a lost header costs a request and its answer. For the thread that uses the end.
// Tests: tests/unit/message/far_sender_path_test.cpp, tests/conformance/channel_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gma/gma.hpp"
#include "message/pipe_block.hpp"
#include "message/ring_layout.hpp"

#include "operations/put_signal.hpp"

namespace acp::message {

class FarSenderPath {
public:
    using Word = std::atomic<std::uint64_t>;

    // The most bytes of a payload that is an argument of the operation.
    static constexpr std::uint64_t argument_bytes_max = operations::put_signal_bytes_max;

    // Where the parts of a ring are.
    struct RingPlace {
        char* credits = nullptr;          // the part that the receiver writes, in this process
        RingShape shape;                  // the ring's shape
        std::uint32_t process = 0;        // the receiver
        memory::GlobalAddress there = 0;  // the start of the ring at the receiver
        PipeBlock* mirror = nullptr;      // allocates the mirror; nullptr: there is none
    };

    // Throws std::bad_alloc. Afterwards no record is lost for lack of memory.
    //   gma  must outlive this
    FarSenderPath(gma::Gma& gma, const RingPlace& place);

    FarSenderPath(const FarSenderPath&) = default;
    FarSenderPath& operator=(const FarSenderPath&) = default;
    ~FarSenderPath() = default;

    [[nodiscard]] Word& word(std::uint64_t offset) const noexcept {
        return *reinterpret_cast<Word*>(place_.credits + (offset - place_.shape.credit_offset(0)));
    }

    [[nodiscard]] char* room(std::uint64_t /*offset*/) noexcept { return room_.data(); }

    // The most bytes of a payload, for a record of `wanted` bytes: if that is long, this opens the
    // mirror. Later calls never return less.
    [[nodiscard]] std::uint64_t payload_bytes_max(std::uint64_t wanted) noexcept {
        if (wanted > argument_bytes_max && mirror_ == nullptr) open_mirror();
        return mirror_ != nullptr ? place_.shape.payload_bytes_max() : argument_bytes_max;
    }

    // Names 1 .. payload_bytes_max() bytes, which the next publish() reads and sends.
    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) noexcept {
        placed_at_ = offset;
        placed_ = {static_cast<const std::byte*>(source), bytes};
    }

    void store(std::uint64_t offset, std::uint64_t value) noexcept {
        if (offset < place_.shape.record_bytes()) (void)publish(offset, value);
    }

    // Always false: the operation itself rings the receiver's bell.
    [[nodiscard]] bool publish(std::uint64_t offset, std::uint64_t value) noexcept;

    [[nodiscard]] static bool ring() noexcept { return false; }

    // Whether an operation has failed because the other node is lost.
    [[nodiscard]] bool is_cut_off() noexcept;

    // Issues a word without meaning, if no operation is in flight: its failure reveals to a waiting
    // thread that the node is lost.
    void probe() noexcept {
        if (begun_ == ended_) (void)publish(place_.shape.journal_offset(0), 0);
    }

    // Whether a record may be sent without waiting for an operation in flight.
    [[nodiscard]] bool may_send() noexcept;

    // Whether no operation is in flight.
    [[nodiscard]] bool is_idle() noexcept;

    // Waits for all operations in flight.
    void settle() noexcept;

private:
    static constexpr std::uint64_t under_way_max = 32;
    static constexpr std::uint64_t handles_max = 2 * under_way_max;

    [[nodiscard]] gma::Handle& handle_at(std::uint64_t number) noexcept {
        return handles_[number % handles_max];
    }

    void open_mirror() noexcept;
    gma::Handle send(std::uint64_t offset, std::uint64_t value) noexcept;
    void forget_ended() noexcept;
    void end_oldest() noexcept;

    gma::Gma* gma_;
    RingPlace place_;
    std::uint64_t placed_at_ = 0;
    std::span<const std::byte> placed_;
    char* mirror_ = nullptr;  // a copy of the ring's records; nullptr: there is none
    std::array<char, argument_bytes_max> room_;  // NOLINT: written as far as read
    // Operations in flight: numbers ended_ up to begun_ - 1.
    std::array<gma::Handle, handles_max> handles_{};
    std::uint64_t begun_ = 0;
    std::uint64_t ended_ = 0;
    bool is_cut_off_ = false;
};

}  // namespace acp::message
