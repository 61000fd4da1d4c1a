// SPDX-License-Identifier: BSD-3-Clause
// The work of a channel's end that knows its partner: it moves messages between the buffers of its
// requests and the ring. A sender has a Sending, a receiver a Receiving, each over the path to its
// partner. For the holder of the end's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "local/shared_memory.hpp"
#include "message/lending.hpp"
#include "message/request_queue.hpp"

namespace acp::message {

// The kind of a record in a channel's ring; the tag of its header.
enum class RecordTag : std::uint8_t {
    whole,   // a message
    length,  // 8 bytes: the length of a message whose pieces follow
    piece,   // the next piece of such a message
    slot,    // a PipePiece: the next piece of a message is in the pipe
    offer,   // a FetchOffer: the receiver fetches the message
    loan,    // a LentMessage: the receiver copies from the sender's buffer
    end      // the sender frees its end
};

// A message that the receiver fetches from the sender's memory.
struct FetchOffer {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

// A message in a buffer that the receiver reads (lending.hpp). Places are those of
// local::node_memory.
struct LentMessage {
    std::uint64_t words = 0;   // place of the LendingWords
    std::uint64_t number = 0;  // loans and offers are counted together
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

    // Makes progress on the requests, and ends those that are complete. True: a record or piece was
    // moved.
    virtual bool go_on(RequestQueue& queue) noexcept = 0;

    // Repairs the ring's words, after a long time without progress. May wake the partner, so it is
    // not called at every poll.
    virtual void recover() noexcept = 0;

    // Whether commands to the partner's node fail because that node is lost.
    [[nodiscard]] virtual bool is_cut_off() noexcept = 0;

    // Whether the request to free has ended regularly: then the partner no longer accesses this
    // end's memory.
    [[nodiscard]] virtual bool is_over() const noexcept = 0;

    // Whether no command or copy is in flight that may access memory of this end: then settle()
    // does not wait.
    [[nodiscard]] virtual bool is_idle() noexcept = 0;

    // Waits until the commands that were issued have ended; their failures are discarded.
    virtual void settle_sent() noexcept = 0;

    // settle_sent(), and ends all other work, before the end is destroyed. A receiver of a loan
    // waits for the sender's last piece. A sender whose buffer the receiver may still read revokes
    // the loan, so that the receive fails.
    virtual void settle() noexcept = 0;
};

}  // namespace acp::message
