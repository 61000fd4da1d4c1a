// SPDX-License-Identifier: BSD-3-Clause
// One end of a channel, in its rank's process. It is made, exchanges introductions with its
// partner, moves messages (end_work.hpp), and is freed by a last request, or because its partner is
// dead. Its memory in the heap of its rank is one block:
//   sender    the introduction slot, the count of taken offers, and the ring's credits (receiver on
//             another node) or the words of its loans (receiver on its own node)
//   receiver  the introduction slot, and the ring
// For long messages, the sender has a pipe there too, or a mirror of a ring on another node
// (pipe_block.hpp). The sender frees
// the receiver's block, because it accesses it last; each end frees its own if the other is dead.
// The holder of `mutex` may access every member; other threads only `slot`. Tests:
// tests/conformance/channel_test.cpp.
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

// The settings of all channels.
struct ChannelSettings {
    std::uint64_t record_bytes = 16384;  // size of a receiver's ring; a power of two
    // longer messages to other nodes are fetched by the receiver
    std::uint64_t eager_bytes = 16384;
    std::uint32_t requests_max = 1024;  // the most requests in flight on one channel
};

// Objects that the ends of a process use. One set per epoch.
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

    // Makes the end, and exchanges introductions with its partner if that exists. Errors: those of
    // Pairing::match, memory; then nothing of the end is left.
    base::Status make(ChannelTools& tools, const ChannelName& name, Side side);

    [[nodiscard]] Side side() const noexcept { return side_; }

    [[nodiscard]] const ChannelName& name() const noexcept { return name_; }

    [[nodiscard]] RequestQueue& queue() noexcept { return queue_; }

    [[nodiscard]] std::uint32_t partner() const noexcept {
        return side_ == Side::sender ? name_.receiver : name_.sender;
    }

    // Every request fails: the partner is dead or cut off.
    [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

    // A request to free was begun: no other may follow.
    [[nodiscard]] bool is_being_freed() const noexcept { return is_being_freed_; }

    void begin_free() noexcept {
        is_being_freed_ = true;
        end_short_way();
    }

    // The ring of a sender to a rank of its node, for messages without a request (short_way.hpp).
    // nullptr: a request is in flight, or the message needs one.
    [[nodiscard]] NearSender* ring_to_send() const noexcept {
        return queue_.is_empty() ? near_sender_ : nullptr;
    }

    // ring_to_send() of a receiver.
    [[nodiscard]] NearReceiver* ring_to_receive() const noexcept {
        return queue_.is_empty() ? near_receiver_ : nullptr;
    }

    // Makes progress on the requests. True: a record or piece was moved.
    bool go_on() noexcept {
        if (is_broken_) return fail_all();
        if (work_ == nullptr && !has_met()) return false;
        return work_->go_on(queue_);
    }

    // go_on(), after a long time without progress or before the thread sleeps: also checks whether
    // the partner lives.
    void go_on_thoroughly() noexcept;

    // Calls go_on_thoroughly() if a process of the job has died since the last call: then a request
    // with a dead partner fails at once.
    //   deaths  ControlBlock::deaths
    void heed_deaths(std::uint32_t deaths) noexcept {
        if (std::exchange(deaths_heeded_, deaths) != deaths) [[unlikely]]
            go_on_thoroughly();
    }

    // Calls EndWork::settle_sent, if the end knows its partner.
    void settle_sent() noexcept {
        if (work_ != nullptr) work_->settle_sent();
    }

    // Gives up the end's resources, after its last request has ended.
    void drop() noexcept;

    // Fails all requests: no buffer of theirs is written from now on, and a partner that reads one
    // discards the message. The end's block stays, for the partner may be alive.
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
    RingSender<Path>& make_sending(const Path& path, const Introduction& receiver);
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
    bool has_found_ = false;     // Pairing found the partner's entry
    bool is_known_ = false;      // the partner may know of this end (Pairing::match)
    bool is_broken_ = false;     // the partner is dead or cut off, or the end is abandoned
    bool is_abandoned_ = false;  // abandon() was called
    std::uint32_t deaths_heeded_ = 0;
    std::uint64_t recovered_at_ns_ = 0;
    GlobalAddress block_ = 0;         // this end's block
    Introduction introduction_;       // this end's
    GlobalAddress partner_ring_ = 0;  // sender: the receiver's block, to be freed
    PipeBlock pipe_;                  // sender: the pipe, or the mirror of the ring
    std::unique_ptr<EndWork> work_;   // nullptr: the partner's introduction has not arrived
    // The ring of work_, while messages may pass without a request: the partner is on this node,
    // and the end is neither broken nor being freed.
    NearSender* near_sender_ = nullptr;
    NearReceiver* near_receiver_ = nullptr;
    RequestQueue queue_;
};

}  // namespace acp::message
