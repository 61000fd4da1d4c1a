// SPDX-License-Identifier: BSD-3-Clause
// Room for the datagrams of one receive call. The kernel may join several datagrams of one sender into one
// message; for_each takes them apart again, as the kernel says, or, for a message that is taken alone, as its
// datagrams say: asking the kernel costs a fiftieth of a round trip. Where what they say does not add up, somebody may
// have sent one with a false length, and the kernel is asked about the next messages_asked_about. One thread.
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
    static constexpr std::uint32_t longest_message =
        65'536;  // no message is cut with that much room

    static constexpr std::uint32_t messages_asked_about = 4096;  // after one that did not add up

    // How long the first of the datagrams in a message says that it is: 1 .. all bytes; 0: it says nothing that can be.
    using FirstBytes = std::uint32_t (*)(std::span<const std::byte> message) noexcept;

    //   messages       room for so many messages, 1 .. messages_max
    //   message_bytes  room for each, 1 .. longest_message; memory is taken as it is touched
    //   first_bytes    nullptr: the kernel is asked about every message
    // Errors: argument, memory.
    static Result<DatagramBatch> create(std::uint32_t messages,
                                        std::uint32_t message_bytes = longest_message,
                                        FirstBytes first_bytes = nullptr);

    DatagramBatch(DatagramBatch&& other) noexcept;
    DatagramBatch& operator=(DatagramBatch&& other) noexcept;
    DatagramBatch(const DatagramBatch&) = delete;
    DatagramBatch& operator=(const DatagramBatch&) = delete;
    ~DatagramBatch();

    // Calls visit(const SocketAddress& from, std::span<std::byte> datagram) for each datagram, in the order of
    // their arrival; the bytes may be changed and stay until the next receive call. Datagrams of 0 bytes and
    // those that were cut off are left out.
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

    // Messages of the last receive call; less than there is room for when nothing more had arrived.
    [[nodiscard]] std::uint32_t messages() const noexcept { return count_; }

    [[nodiscard]] bool is_full() const noexcept { return count_ == messages_.size(); }

    // Datagrams that were too long for their room, since the batch was made.
    [[nodiscard]] std::uint64_t cut_datagrams() const noexcept { return cut_; }

private:
    friend class DatagramSocket;
    struct Headers;  // what the kernel reads and writes

    struct Message {
        SocketAddress from;
        std::uint32_t usable_bytes = 0;   // whole datagrams only
        std::uint32_t segment_bytes = 1;  // each but the last is so long
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
    std::uint32_t asks_ = 0;  // messages yet to be asked about
};

}  // namespace acp::os
