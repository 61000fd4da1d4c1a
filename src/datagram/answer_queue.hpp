// SPDX-License-Identifier: BSD-3-Clause
// Signed handshake messages and CLOSEs that wait to be sent. The queue holds copies, so that no
// state is kept for the nodes they go to: most of those nodes are unauthenticated. A message that
// finds the queue full is dropped and counted. One thread.
// Tests: tests/unit/datagram/answer_queue_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "datagram/counters.hpp"
#include "datagram/credentials.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/handshake_packets.hpp"

namespace acp::datagram {

class AnswerQueue {
public:
    static constexpr std::uint32_t answers_max = 64;

    // Both arguments must outlive it.
    AnswerQueue(const Credentials& credentials, EndpointCounters& counters)
        : credentials_(credentials), counters_(counters) {}

    [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }

    // Signs a message and appends it to the queue.
    template <typename Packet>
    void push(const Address& to, Packet& packet) noexcept {
        if (count_ == answers_max) {
            ++counters_.answers_full;
            return;
        }
        credentials_.sign(packet);
        Answer& answer = answers_[(first_ + count_++) % answers_max];
        answer.to = to;
        answer.bytes = sizeof packet;
        store(answer.data.data(), packet);
    }

    // Moves the oldest message from the queue to `into`. The queue must not be empty.
    [[nodiscard]] Transmit transmit(MutableBytes into) noexcept {
        const Answer& answer = answers_[first_];
        first_ = (first_ + 1) % answers_max;
        --count_;
        std::memcpy(into.data(), answer.data.data(), answer.bytes);
        ++counters_.datagrams_sent;
        counters_.bytes_sent += answer.bytes;
        return {answer.to, answer.bytes, answer.bytes, 1, false};
    }

private:
    struct Answer {
        Address to;
        std::uint32_t bytes = 0;
        std::array<std::byte, handshake_bytes_max> data{};
    };

    const Credentials& credentials_;
    EndpointCounters& counters_;
    std::array<Answer, answers_max> answers_;
    std::uint32_t first_ = 0;  // index of the oldest in the ring
    std::uint32_t count_ = 0;
};

}  // namespace acp::datagram
