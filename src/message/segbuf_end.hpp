// SPDX-License-Identifier: BSD-3-Clause
// One end of a segmented buffer, of its rank's process. Segments are counted from 0 on, and segment i lies at place i modulo their number.
// All that the ends say to each other are additions to words, so that nothing that is under way has to wait for anything else:
//
//   source                                            destination
//   segment i -> its place                            word of that place says that i has come? (it counts arrivals)
//   then + 1  -> the place's word                     copy it to the buffer, if it has landed elsewhere
//   released: the places before it are free           give it back: + 1 -> released, in the source's heap
//
// A segment is put where the destination says: straight into its buffer; or, where that is private memory and the segment is short, into a
// landing area in the destination's heap, which needs no call of the kernel on a node and lets bytes and word go in one datagram between
// nodes. Then the destination copies it when it looks.
// An end that disconnects says so by a command that runs when all it had sent is there, and touches nothing of the other end afterwards.
// When both have, or the other one is dead, each frees its block. All but `slot` is for the holder of `mutex`.
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

// What an end is made of.
struct SegmentRing {
    char* buffer = nullptr;
    std::uint64_t segment_bytes = 0;  // 1 ..
    std::uint64_t segments = 0;       // 1 ..; the product is below 2^61
};

// What the ends of a process work with. One for each epoch.
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

    // Makes the end, and lets it meet its partner if that is there. Errors: of Pairing::match, memory, limit, argument (the buffer is not
    // mapped); then nothing is left of it.
    base::Status make(SegbufTools& tools,
                      const ChannelName& name,
                      Side side,
                      const SegmentRing& ring);

    [[nodiscard]] Side side() const noexcept { return side_; }

    [[nodiscard]] const ChannelName& name() const noexcept { return name_; }

    [[nodiscard]] std::uint32_t partner() const noexcept {
        return side_ == Side::sender ? name_.receiver : name_.sender;
    }

    // Whether it has met its partner. Errors: argument (the partner's segments are others), peer, state (it is disconnected).
    base::Result<bool> is_connected();

    // Source: sends the next segment. Errors: limit (all are under way or not given back), and those of look().
    base::Status send();

    // Destination: gives the oldest segment back. Errors: limit (none has come), and those of look().
    base::Status release();

    // How far the ends are, as this one knows: segments before it.
    struct Counts {
        std::uint64_t released = 0;  // given back: `head`
        std::uint64_t sent = 0;      // sent, at the destination: have come: `tail`
        std::uint64_t left = 0;      // source: need the buffer no longer
    };

    // What is so now; a failure where it will never be better. Copies what has landed.
    //   is_asked_for_news  the caller wants a change: the thread lets others run now and then, and the partner's node is tried
    // Errors: state (not connected, disconnected), stale (the partner has disconnected), peer, argument (see is_connected), or that with
    // which a segment has failed.
    base::Result<Counts> look(bool is_asked_for_news);

    [[nodiscard]] std::uint64_t segments() const noexcept { return ring_.segments; }

    // Errors: state (it is disconnected).
    base::Status disconnect();

    // free(), in its steps: whether it may begin (errors: state, stale), whether it is over, and the end of it. Between them the
    // lock is given up.
    base::Status begin_free();
    [[nodiscard]] bool is_over() noexcept;

    // Errors: peer, or that with which a segment has failed; all the same it is freed.
    base::Status finish_free();

    // Waits for what is under way, and keeps the first failure.
    void settle_sent() noexcept { commands_.settle(); }

    // For who waits long: if nothing is under way, adds 0 to a word of the partner's process, and so learns whether its node is lost.
    void probe();

    static constexpr SlotKind slot_kind = SlotKind::segbuf;

    SlotEntry slot;
    std::mutex mutex;

private:
    struct OwnBlock;

    enum class Phase : std::uint8_t { in_use, disconnected, being_freed };

    using Kind = SegbufCommands::Kind;

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
    bool is_known_ = false;   // others may know of it: as Pairing::match says
    bool has_found_ = false;  // the partner was there first
    bool is_connected_ = false;
    SegmentRing ring_;
    GlobalAddress block_ = 0;  // own one
    char* memory_ = nullptr;   // of it
    std::uint64_t key_ = 0;    // the registration of the destination's buffer; 0: there is none
    char* landing_ = nullptr;  // destination: where segments land; nullptr: in the buffer
    Introduction partner_;     // once it is connected
    Counts counts_;            // at the source `released` is as it was last read
    SegbufCommands commands_;
    std::uint64_t probed_at_ns_ = 0;
    std::uint32_t looks_ = 0;  // in vain, since something changed
};

}  // namespace acp::message
