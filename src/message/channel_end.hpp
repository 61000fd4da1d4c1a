// SPDX-License-Identifier: BSD-3-Clause
// One end of a channel, of its rank's process. It is made, meets its partner, moves messages (end_work.hpp), and is freed by a last request,
// or because its partner is dead. What it keeps in the heap of its rank, in one block:
//   sender    its letter, the count of taken offers, and, for a receiver on another node, the credits of the ring, for one on its own
//             the words about what it lends
//   receiver  its letter, and the ring
// A sender of long messages on a node keeps a pipe there too (pipe_block.hpp).
// The receiver's block is freed by the sender, who looks at it last; each frees its own where the other one is dead.
// All but `slot` is for the holder of `mutex`. Tests: tests/conformance/channel_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"
#include "message/end_lock.hpp"
#include "message/end_work.hpp"
#include "message/mapped_path.hpp"
#include "message/pairing.hpp"
#include "message/pipe_block.hpp"
#include "message/request_queue.hpp"
#include "message/ring.hpp"
#include "message/slots.hpp"

namespace acp::message {

// How channels are made.
struct ChannelSettings {
    std::uint64_t record_bytes = 16384;  // of the ring of a receiver: a power of two
    std::uint64_t eager_bytes =
        16384;  // longer messages to other nodes are fetched by the receiver
    std::uint32_t requests_max = 1024;  // under way on one channel
};

// What the ends of a process work with. One for each epoch.
struct ChannelTools {
    gma::Gma& gma;
    data::Allocator& allocator;
    Pairing& pairing;
    ChannelSettings settings;
};

using NearSender = RingSender<MappedPath<>>;
using NearReceiver = RingReceiver<MappedPath<>>;

class ChannelEnd {
public:
    ChannelEnd() = default;
    ChannelEnd(const ChannelEnd&) = delete;
    ChannelEnd& operator=(const ChannelEnd&) = delete;
    ~ChannelEnd() = default;

    // Makes the end, and lets it meet its partner if that is there. Errors: of Pairing::match, memory; then nothing is left of it.
    base::Status make(ChannelTools& tools, const ChannelName& name, Side side);

    [[nodiscard]] Side side() const noexcept { return side_; }

    [[nodiscard]] const ChannelName& name() const noexcept { return name_; }

    [[nodiscard]] RequestQueue& queue() noexcept { return queue_; }

    [[nodiscard]] std::uint32_t partner() const noexcept {
        return side_ == Side::sender ? name_.receiver : name_.sender;
    }

    // No request goes well any more: its partner is dead or cut off.
    [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

    // No request but that to free may follow.
    [[nodiscard]] bool is_being_freed() const noexcept { return is_being_freed_; }

    void begin_free() noexcept {
        is_being_freed_ = true;
        end_short_way();
    }

    // The ring of a sender to a rank of its node, for messages that take no request (short_way.hpp). nullptr: a request is under way, or
    // needed.
    [[nodiscard]] NearSender* ring_to_send() const noexcept {
        return queue_.is_empty() ? near_sender_ : nullptr;
    }

    // The same of a receiver.
    [[nodiscard]] NearReceiver* ring_to_receive() const noexcept {
        return queue_.is_empty() ? near_receiver_ : nullptr;
    }

    // Goes on with the requests as far as it can. true: something moved.
    bool go_on() noexcept {
        if (is_broken_) return fail_all();
        if (work_ == nullptr && !has_met()) return false;
        return work_->go_on(queue_);
    }

    // As go_on(), after nothing has come for long, or before the thread sleeps: also looks whether the partner lives.
    void go_on_thoroughly() noexcept;

    // The same where somebody of the job has died since the last call: then a request with a dead partner fails at once.
    //   deaths  ControlBlock::deaths
    void heed_deaths(std::uint32_t deaths) noexcept {
        if (std::exchange(deaths_heeded_, deaths) != deaths) [[unlikely]]
            go_on_thoroughly();
    }

    // EndWork::settle_sent, where the end has met its partner.
    void settle_sent() noexcept {
        if (work_ != nullptr) work_->settle_sent();
    }

    // Gives back what the end has, after its last request has ended.
    void drop() noexcept;

    // Ends all requests with a failure: no buffer of theirs is written any more, and nobody takes for a message what is
    // read of one. What the end has stays, for the partner may live.
    void abandon() noexcept;

    static constexpr SlotKind slot_kind = SlotKind::channel;

    SlotEntry slot;
    EndLock mutex;

private:
    struct OwnBlock;

    void open_own_ring() noexcept;
    base::Status introduce();
    bool has_met() noexcept;
    base::Status open(const Introduction& partner);
    template <typename Path>
    RingReceiver<Path>& make_receiving(const Path& path, const Introduction& sender);
    template <typename Path>
    RingSender<Path>& make_sending(const Path& path,
                                   const Introduction& receiver,
                                   std::uint64_t record_bytes_max);
    [[nodiscard]] bool is_near() const noexcept;
    [[nodiscard]] sync::Bell<>& bell() const noexcept;
    [[nodiscard]] bool is_partner_gone() const noexcept;
    [[nodiscard]] std::string fate_of_partner() const;
    bool fail_all() noexcept;
    void break_off() noexcept;

    void end_short_way() noexcept { near_sender_ = nullptr, near_receiver_ = nullptr; }

    [[nodiscard]] OwnBlock& own() const noexcept;
    [[nodiscard]] char* pointer_to(GlobalAddress address) const noexcept;
    [[nodiscard]] char* blocks_of(std::uint32_t process) const noexcept;

    ChannelTools* tools_ = nullptr;
    ChannelName name_;
    Side side_ = Side::sender;
    bool is_being_freed_ = false;
    bool has_found_ = false;     // the partner was there first
    bool is_known_ = false;      // others may know of this end: as Pairing::match says
    bool is_broken_ = false;     // the partner is dead or cut off, or
    bool is_abandoned_ = false;  // as abandon() says
    std::uint32_t deaths_heeded_ = 0;
    std::uint64_t recovered_at_ns_ = 0;
    GlobalAddress block_ = 0;         // own one
    Introduction introduction_;       // own one
    GlobalAddress partner_ring_ = 0;  // sender: the receiver's ring, to be freed
    PipeBlock pipe_;                  // of a sender to a receiver on its node
    std::unique_ptr<EndWork> work_;   // nullptr: knows too little of its partner yet
    // The ring of work_, while messages may pass without a request: on a node, of an end that is neither broken nor being freed.
    NearSender* near_sender_ = nullptr;
    NearReceiver* near_receiver_ = nullptr;
    RequestQueue queue_;
};

}  // namespace acp::message
