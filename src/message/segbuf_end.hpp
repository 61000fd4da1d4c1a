// SPDX-License-Identifier: BSD-3-Clause
// One end of a segmented buffer, in its rank's process. Segments are counted from 0, and segment i
// is at place i modulo their number. The ends communicate by additions to words, so no operation in
// flight has to wait for another:
//
//   source                                 destination
//   segment i -> its place                 the place's word counts arrivals: has i arrived?
//   then + 1  -> the place's word          copy it to the buffer, if it landed elsewhere
//   released: places before it are free    give it back: + 1 -> released, in the source's heap
//
// The destination chooses where segments are put: directly into its buffer; or, if that is private
// memory and the segments are short, into a landing area in its heap. Then a put needs no system
// call on a node, and the segment and its word travel in one datagram between nodes. The
// destination copies landed segments when it polls. A disconnecting end issues a last word after
// all its sends have ended, and accesses nothing of the partner afterwards. When both have done so,
// or the partner is dead, each frees its block.
// The holder of `mutex` may access every member; other threads only `slot`.
// Tests: tests/conformance/segbuf_test.cpp, tests/segbuf.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"
#include "message/pairing.hpp"
#include "message/segbuf_commands.hpp"
#include "message/slots.hpp"

namespace acp::message {

// The program's arguments for an end.
struct SegmentRing {
    char* buffer = nullptr;
    std::uint64_t segment_bytes = 0;  // 1 ..
    std::uint64_t segments = 0;       // 1 ..; the product is below 2^61
};

// Objects that the ends of a process use. One set per epoch.
struct SegbufTools {
    gma::Gma& gma;
    data::Allocator& allocator;
    Pairing& pairing;
};

class SegbufEnd {
public:
    SegbufEnd() = default;
    SegbufEnd(const SegbufEnd&) = delete;
    SegbufEnd& operator=(const SegbufEnd&) = delete;
    ~SegbufEnd() = default;

    // Makes the end, and exchanges introductions with its partner if that exists. Errors: peer (the
    // partner is known to be gone), those of Pairing::match, memory, limit, argument (the buffer is
    // not mapped); then nothing of the end is left.
    base::Status make(SegbufTools& tools,
                      const ChannelName& name,
                      Side side,
                      const SegmentRing& ring);

    [[nodiscard]] Side side() const noexcept { return side_; }

    [[nodiscard]] const ChannelName& name() const noexcept { return name_; }

    [[nodiscard]] std::uint32_t partner() const noexcept {
        return side_ == Side::sender ? name_.receiver : name_.sender;
    }

    // Whether it has its partner's introduction. Errors: argument (the partner's segments differ),
    // peer, state (it is disconnected).
    base::Result<bool> is_connected();

    // Source: sends the next segment. Errors: limit (all are in flight or not given back), and
    // those of look().
    base::Status send();

    // Destination: gives the oldest segment back. Errors: limit (none has arrived), and those of
    // look().
    base::Status release();

    // Progress as this end knows it. Each field is a number of segments.
    struct Counts {
        std::uint64_t released = 0;  // given back to the source: `head`
        std::uint64_t sent = 0;      // sent; at the destination: arrived: `tail`
        std::uint64_t left = 0;      // source: no longer need the buffer
    };

    // The current counts, or a failure after which they cannot change. Copies landed segments.
    // Errors: state (not connected, disconnected), stale (the partner has disconnected), peer,
    // argument (see is_connected), or the error of a segment.
    //   is_asked_for_news  the caller polls for a change: the thread sometimes yields, and probes
    //                      the
    //                      partner's node
    base::Result<Counts> look(bool is_asked_for_news);

    [[nodiscard]] std::uint64_t segments() const noexcept { return ring_.segments; }

    // Errors: state (it is disconnected).
    base::Status disconnect();

    // Freeing, in steps, between which the lock is released: begin_free() (errors: stale; state, unless
    // the end is disconnected or is_connected() has failed), is_over() until it is true,
    // finish_free().
    base::Status begin_free();
    [[nodiscard]] bool is_over() noexcept;

    // Errors: peer, or the error of a segment; the end is freed nevertheless.
    base::Status finish_free();

    // Waits for commands in flight, and keeps the first failure.
    void settle_sent() noexcept { commands_.settle(); }

    // For a thread that waits long: if no command is in flight, adds 0 to a word of the partner's
    // process. If that fails, the node is lost.
    void probe();

    static constexpr SlotKind slot_kind = SlotKind::segbuf;

    SlotEntry slot;
    std::mutex mutex;

private:
    struct OwnBlock;

    // failed: in use, but is_connected() has failed, so it need not be disconnected
    enum class Phase : std::uint8_t { in_use, failed, disconnected, being_freed };

    using Kind = SegbufCommands::Kind;

    [[nodiscard]] bool is_in_use() const noexcept { return phase_ <= Phase::failed; }

    base::Status prepare(std::uint64_t& where);
    [[nodiscard]] bool has_met() noexcept;
    [[nodiscard]] base::Status check_partner() const;
    [[nodiscard]] base::Status refuse_state() const;
    base::Result<Counts> counts();
    void take_in() noexcept;
    [[nodiscard]] bool is_partner_gone() const noexcept;
    [[nodiscard]] bool has_partner_ended() const noexcept;
    [[nodiscard]] base::Status why_gone() const;
    void say_goodbye();
    void add(GlobalAddress word, std::uint64_t value);
    void drop() noexcept;
    [[nodiscard]] GlobalAddress there(std::uint64_t block_offset) const noexcept;
    [[nodiscard]] OwnBlock& own() const noexcept;
    [[nodiscard]] std::atomic<std::uint64_t>& own_word(std::uint64_t index) const noexcept;
    [[nodiscard]] char* pointer_to(GlobalAddress address) const noexcept;

    SegbufTools* tools_ = nullptr;
    ChannelName name_;
    Side side_ = Side::sender;
    Phase phase_ = Phase::in_use;
    bool is_near_ = false;    // the partner is on this node
    bool is_known_ = false;   // the partner may know of this end (Pairing::match)
    bool has_found_ = false;  // Pairing found the partner's entry
    bool is_connected_ = false;
    SegmentRing ring_;
    GlobalAddress block_ = 0;  // this end's block
    char* memory_ = nullptr;   // pointer to the block
    std::uint64_t key_ = 0;    // the registration of the destination's buffer; 0: none
    // destination: the landing area; nullptr: segments are put into the buffer
    char* landing_ = nullptr;
    Introduction partner_;  // valid once it is connected
    Counts counts_;         // source: `released` is the value read last
    SegbufCommands commands_;
    std::uint64_t probed_at_ns_ = 0;
    std::uint32_t looks_ = 0;  // polls since the counts last changed
};

}  // namespace acp::message
