// SPDX-License-Identifier: BSD-3-Clause
// What an end of a channel does once it has met its partner: moves messages between the buffers of its requests and the ring. A sender
// is a Sending, a receiver a Receiving, each over the path to its partner. For the holder of the end's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "local/shared_memory.hpp"
#include "message/lending.hpp"
#include "message/request_queue.hpp"

namespace acp::message {

// What a record of a channel's ring is; the tag of its header.
enum class RecordTag : std::uint8_t {
    whole,   // a message
    length,  // 8 bytes: so long is the message of which pieces follow
    piece,   // the next bytes of such a message
    slot,    // a PipePiece: the next bytes of a message lie in the pipe
    offer,   // a FetchOffer: the receiver fetches the message
    loan,    // a LentMessage: the receiver copies out of the sender's buffer
    end      // the sender frees its end
};

// A message that the receiver fetches from the sender's memory.
struct FetchOffer {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

// A message that the sender lends (lending.hpp). Places are those of local::node_memory.
struct LentMessage {
    std::uint64_t words = 0;   // place of the LendingWords
    std::uint64_t number = 0;  // of the loan, counted with offers
    std::uint64_t source = 0;  // place of the buffer
    std::uint64_t bytes = 0;

    // Whether the words and the buffer lie in memory of the node.
    [[nodiscard]] bool lies_in(const local::SharedRange& node) const noexcept {
        return words % alignof(LendingWords<>) == 0 &&
               node.has_place(words, sizeof(LendingWords<>)) && node.has_place(source, bytes);
    }
};

class EndWork {
public:
    EndWork() = default;
    EndWork(const EndWork&) = delete;
    EndWork& operator=(const EndWork&) = delete;
    virtual ~EndWork() = default;

    // Goes on with the requests as far as it can, and ends those that are over. true: something moved.
    virtual bool go_on(RequestQueue& queue) noexcept = 0;

    // Nothing has come for long: mends the ring's words. May wake the partner, so it is not called often.
    virtual void recover() noexcept = 0;

    // Whether what this end sends to its partner's node fails, since that node is lost.
    [[nodiscard]] virtual bool is_cut_off() noexcept = 0;

    // Whether the request to free has ended in order: then the partner no longer looks at anything of this end.
    [[nodiscard]] virtual bool is_over() const noexcept = 0;

    // Whether nothing is under way that may read or write memory of this end: then settle() does not wait.
    [[nodiscard]] virtual bool is_idle() noexcept = 0;

    // Waits for what was sent, and takes its failures, which are nobody's to be told.
    virtual void settle_sent() noexcept = 0;

    // The same, and for whatever else this end has under way: of a lent message a receiver waits for the sender's last piece, and a sender,
    // whose buffer the receiver may still read, takes the loan back, so that the receive fails. Called before it is destroyed.
    virtual void settle() noexcept = 0;
};

}  // namespace acp::message
