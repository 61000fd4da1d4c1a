// SPDX-License-Identifier: BSD-3-Clause
// Memory for the datagrams of one receive call. The kernel may join several datagrams of one sender
// into one message; for_each() splits them again. The length of the parts comes from the kernel or,
// for a message that is received alone, from the datagrams themselves, because requesting it from
// the kernel costs a fiftieth of a round trip. If their lengths do not add up, a sender may have
// forged one, and the batch requests the length from the kernel for the next messages_asked_about
// messages. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "os/mapping.hpp"
#include "os/socket_address.hpp"

namespace acp::os {

class DatagramBatch {
public:
    static constexpr std::uint32_t messages_max = 64;
    // with that much room no message is truncated
    static constexpr std::uint32_t longest_message = 65'536;

    // number of messages whose length is requested from the kernel after one that did not add up
    static constexpr std::uint32_t messages_asked_about = 4096;

    // The length that the first datagram of a message states: 1 .. all bytes; 0: it states no
    // possible length.
    using FirstBytes = std::uint32_t (*)(std::span<const std::byte> message) noexcept;

    //   messages       number of messages there is room for, 1 .. messages_max
    //   message_bytes  room for each, 1 .. longest_message; memory is allocated when it is touched
    //   first_bytes    nullptr: the length of every message is requested from the kernel
    // Errors: argument, memory.
    static Result<DatagramBatch> create(std::uint32_t messages,
                                        std::uint32_t message_bytes = longest_message,
                                        FirstBytes first_bytes = nullptr);

    DatagramBatch(DatagramBatch&& other) noexcept;
    DatagramBatch& operator=(DatagramBatch&& other) noexcept;
    DatagramBatch(const DatagramBatch&) = delete;
    DatagramBatch& operator=(const DatagramBatch&) = delete;
    ~DatagramBatch();

    // Calls visit(const SocketAddress& from, std::span<std::byte> datagram) for each datagram, in
    // the order of their arrival. The visitor may change the bytes, which stay valid until the next
    // receive call. Datagrams of 0 bytes and truncated ones are skipped.
    template <typename Visitor>
    void for_each(Visitor&& visit) {
        for (std::uint32_t i = 0; i < count_; ++i) {
            const Message& message = messages_[i];
            std::byte* start = memory_of(i);
            for (std::uint32_t at = 0; at < message.usable_bytes; at += message.segment_bytes) {
                const std::uint32_t rest = message.usable_bytes - at;
                const std::uint32_t bytes =
                    rest < message.segment_bytes ? rest : message.segment_bytes;
                visit(message.from, std::span<std::byte>(start + at, bytes));
            }
        }
    }

    [[nodiscard]] std::uint32_t datagrams() const noexcept;

    // Number of messages of the last receive call; if it is less than there is room for, no other
    // message had arrived.
    [[nodiscard]] std::uint32_t messages() const noexcept { return count_; }

    [[nodiscard]] bool is_full() const noexcept { return count_ == messages_.size(); }

    // Number of datagrams that were too long for their room, since the batch was made.
    [[nodiscard]] std::uint64_t cut_datagrams() const noexcept { return cut_; }

private:
    friend class DatagramSocket;
    struct Headers;  // the message headers that the kernel reads and writes

    struct Message {
        SocketAddress from;
        std::uint32_t usable_bytes = 0;   // bytes of whole datagrams
        std::uint32_t segment_bytes = 1;  // length of each datagram but the last
    };

    DatagramBatch(Mapping memory,
                  std::uint32_t messages,
                  std::uint32_t message_bytes,
                  FirstBytes first_bytes);

    [[nodiscard]] std::byte* memory_of(std::uint32_t message) noexcept {
        return reinterpret_cast<std::byte*>(memory_.data()) + std::size_t{message} * message_bytes_;
    }

    void receive(int fd, std::uint32_t at_most) noexcept;
    void receive_one(int fd) noexcept;
    [[nodiscard]] bool adds_up(std::uint32_t bytes, std::uint32_t first) noexcept;
    void receive_many(int fd, std::uint32_t room) noexcept;
    void note(std::uint32_t message) noexcept;

    Mapping memory_;
    std::uint32_t message_bytes_;
    FirstBytes first_bytes_;
    std::unique_ptr<Headers> headers_;
    std::vector<Message> messages_;
    std::uint32_t count_ = 0;
    std::uint64_t cut_ = 0;
    std::uint32_t asks_ = 0;  // messages whose length is still to be requested from the kernel
};

}  // namespace acp::os
