// SPDX-License-Identifier: BSD-3-Clause
// Makes, connects, sends, releases, disconnects and frees an end.
#include "message/segbuf_end.hpp"

#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <utility>

#include "base/format.hpp"
#include "memory/ga_layout.hpp"
#include "message/signalled_put.hpp"
#include "node/loss.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/mapping.hpp"

#include "operations/put_signal.hpp"

namespace acp::message {

using base::Code;
using base::Result;
using base::Status;

// The start of an end's block, in the heap of its rank. At words_offset follow the words. Source:
// one word, the number of segments given back, written by the destination. Destination: one word
// for each place, the number of segments that have arrived there, written by the source; then the
// landing area.
struct SegbufEnd::OwnBlock {
    Letter letter;                          // written by the partner
    std::atomic<std::uint64_t> goodbye{0};  // 1: the partner has disconnected; written by it
};

namespace {

constexpr std::uint64_t words_offset = 64;
constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

// Up to this length segments land in the heap, if all together fit into landing_bytes_max: one
// datagram carries such a segment.
constexpr std::uint64_t landing_segment_bytes_max = operations::put_signal_bytes_max;
constexpr std::uint64_t landing_bytes_max = std::uint64_t{1} << 20;

constexpr std::uint32_t looks_per_yield = 32;
constexpr std::uint64_t probe_pause_ns = 100'000'000;

std::string sizes_of(const char* side,
                     std::uint32_t rank,
                     std::uint64_t count,
                     std::uint64_t bytes) {
    return std::string(side) + ", rank " + std::to_string(rank) + ", has " + std::to_string(count) +
           " segments of " + std::to_string(bytes) + " bytes";
}

// "the buffer at 0x7f03a040 (8 segments of 64 bytes)"
std::string name_of(const SegmentRing& ring) {
    return "the buffer at " + base::hex(reinterpret_cast<std::uintptr_t>(ring.buffer)) + " (" +
           std::to_string(ring.segments) + " segments of " + base::in_bytes(ring.segment_bytes) +
           ")";
}

// A failure may be returned many times.
Status copy_of(const Status& failure) {
    return Status::worded(failure.code(), [&] { return std::string(failure.message()); });
}

}  // namespace

SegbufEnd::OwnBlock& SegbufEnd::own() const noexcept {
    static_assert(sizeof(OwnBlock) <= words_offset);
    return *reinterpret_cast<OwnBlock*>(memory_);
}

std::atomic<std::uint64_t>& SegbufEnd::own_word(std::uint64_t index) const noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(memory_ + words_offset)[index];
}

// A pointer into the heap of this process.
char* SegbufEnd::pointer_to(GlobalAddress address) const noexcept {
    const local::Space& space = tools_->gma.space();
    return space.segment().claimed(space.slot(), node::heap_blocks) +
           (address - tools_->allocator.start_of(space.process()));
}

// The address of a place in the partner's block, which begins with its introduction slot.
GlobalAddress SegbufEnd::there(std::uint64_t block_offset) const noexcept {
    return partner_.letter + block_offset;
}

Status SegbufEnd::make(SegbufTools& tools,
                       const ChannelName& name,
                       Side side,
                       const SegmentRing& ring) {
    tools_ = &tools;
    name_ = name;
    side_ = side;
    ring_ = ring;
    phase_ = Phase::in_use;
    is_near_ = tools.gma.space().is_on_node(partner());
    is_known_ = has_found_ = is_connected_ = false;
    block_ = key_ = 0;
    memory_ = landing_ = nullptr;
    partner_ = {};
    counts_ = {};
    commands_.reset(tools.gma);
    probed_at_ns_ = looks_ = 0;
    if (is_partner_gone()) return why_gone();
    std::uint64_t where = 0;
    Status status = prepare(where);
    if (status.is_ok()) {
        auto met = tools.pairing.match(
            name, side,
            {block_ + offsetof(OwnBlock, letter), where, ring.segment_bytes, ring.segments},
            is_known_);
        if (!met.is_ok()) {
            status = std::move(met).failure();
        } else if (met.value().has_value()) {
            has_found_ = true;
            partner_ = *met.value();
        }
    }
    if (!status.is_ok()) drop();
    return status;
}

// Allocates the block, and determines the address at which segments are to be put.
Status SegbufEnd::prepare(std::uint64_t& where) {
    const local::Space& space = tools_->gma.space();
    const std::uint64_t bytes = ring_.segment_bytes * ring_.segments;
    const bool is_source = side_ == Side::sender;
    // The destination's buffer, if it lies in memory that all processes of the node have mapped.
    const auto in_starter =
        static_cast<std::uint64_t>(ring_.buffer - space.segment().starter(space.slot()));
    const char* const heap = space.segment().claimed(space.slot(), node::heap_blocks);
    const auto in_heap = static_cast<std::uint64_t>(ring_.buffer - heap);
    if (memory::is_within(in_starter, space.segment().shape().starter_bytes, bytes)) {
        where = space.starter_address(space.process()) + in_starter;
    } else if (memory::is_within(in_heap, space.segment().shape().heap_bytes, bytes)) {
        where = tools_->allocator.start_of(space.process()) + in_heap;
    } else {
        const auto rights = is_source ? os::Rights::read : os::Rights::read_write;
        if (auto status = os::check_mapped(ring_.buffer, bytes, rights); !status.is_ok())
            return std::move(status).within(name_of(ring_));
    }
    const bool is_landing = !is_source && where == 0 &&
                            ring_.segment_bytes <= landing_segment_bytes_max &&
                            bytes <= landing_bytes_max;
    const std::uint64_t words = is_source ? 1 : ring_.segments;
    // Far below 2^64, since memory for that many segments exists.
    const std::uint64_t head_bytes = words_offset + words * word_bytes;
    auto block = tools_->allocator.allocate(space.process(), head_bytes + (is_landing ? bytes : 0),
                                            words_offset);
    if (!block.is_ok()) return std::move(block).failure();
    block_ = block.value();
    memory_ = pointer_to(block_);
    std::memset(memory_, 0, head_bytes);
    if (is_source) return {};
    if (is_landing) {
        where = block_ + head_bytes;
        landing_ = pointer_to(where);
    } else if (where == 0) {
        auto key = tools_->gma.register_memory(ring_.buffer, bytes, 0);
        if (!key.is_ok()) return std::move(key).failure();
        where = key_ = key.value();
    }
    return {};
}

bool SegbufEnd::has_met() noexcept {
    if (is_connected_) return true;
    if (!has_found_) {
        const Letter& letter = own().letter;
        // acquire: makes the introduction visible; partner: operations::put_signal_set
        if (letter.has_come.load(std::memory_order_acquire) == 0) return false;
        partner_ = letter.from;
    }
    is_connected_ = true;
    return true;
}

Status SegbufEnd::check_partner() const {
    if (partner_.record_bytes == ring_.segment_bytes && partner_.key == ring_.segments) [[likely]]
        return {};
    return Status::worded(Code::argument, [&] {
        const local::Space& space = tools_->gma.space();
        const std::string here = sizes_of(side_ == Side::sender ? "the source" : "the destination",
                                          space.rank(), ring_.segments, ring_.segment_bytes);
        const std::string other =
            sizes_of(side_ == Side::sender ? "the destination" : "the source",
                     space.segment().rank_of(partner()), partner_.key, partner_.record_bytes);
        return here + "; " + other;
    });
}

Status SegbufEnd::refuse_state() const {
    return {Code::state, is_in_use() ? "it is not connected; acp_connect_segbuf waits "
                                       "until the other rank has made its end"
                                     : "it is disconnected"};
}

Result<bool> SegbufEnd::is_connected() {
    if (!is_in_use()) return refuse_state();
    // Checked before has_met(): then the introduction of a partner that has died since is seen.
    const bool is_gone = is_partner_gone();
    Status status;
    if (has_met()) {
        status = check_partner();
    } else if (is_gone) {
        status = why_gone();
    } else {
        probe();
        return false;
    }
    phase_ = status.is_ok() ? Phase::in_use : Phase::failed;
    if (!status.is_ok()) return status;
    return true;
}

bool SegbufEnd::is_partner_gone() const noexcept {
    const node::Segment& segment = tools_->gma.space().segment();
    if (segment.control().deaths.load(std::memory_order_relaxed) == 0) [[likely]]
        return false;
    return node::is_gone(segment, partner());
}

// Whether the partner has disconnected, and all its segments and words have arrived.
bool SegbufEnd::has_partner_ended() const noexcept {
    // acquire: makes the partner's earlier writes visible; partner: operations::put_signal_set
    return own().goodbye.load(std::memory_order_acquire) != 0;
}

Status SegbufEnd::why_gone() const {
    return Status::worded(Code::peer, [this] {
        return node::fate_of_process(tools_->gma.space().segment(), partner());
    });
}

// Reads the words that the partner has written, and copies landed segments.
void SegbufEnd::take_in() noexcept {
    if (side_ == Side::sender) {
        // acquire: the destination no longer reads these segments; partner: its addition
        counts_.released = own_word(0).load(std::memory_order_acquire);
        return;
    }
    // Counts the segments that have arrived, among those that may have.
    for (; counts_.sent - counts_.released < ring_.segments; ++counts_.sent) {
        const std::uint64_t place = counts_.sent % ring_.segments;
        // acquire: makes the segment visible; partner: the addition after its put
        const std::uint64_t come = own_word(place).load(std::memory_order_acquire);
        if (come != counts_.sent / ring_.segments + 1) return;
        if (landing_ != nullptr) {
            std::memcpy(ring_.buffer + place * ring_.segment_bytes,
                        landing_ + place * ring_.segment_bytes, ring_.segment_bytes);
        }
    }
}

Result<SegbufEnd::Counts> SegbufEnd::counts() {
    // Checked before take_in(): then segments that arrived before a death are seen.
    const bool is_gone = is_partner_gone();
    if (!is_in_use() || !has_met()) {
        if (is_in_use() && is_gone) return why_gone();
        return refuse_state();
    }
    if (Status status = check_partner(); !status.is_ok()) return status;
    commands_.forget_ended();
    const bool has_ended = has_partner_ended();
    const Counts before = counts_;
    counts_.left = commands_.segments_left();
    take_in();
    if (counts_.released != before.released || counts_.sent != before.sent) looks_ = 0;
    // A destination may still use segments that have arrived.
    if (side_ == Side::receiver && counts_.sent != counts_.released) return counts_;
    if (is_gone) return why_gone();
    if (!commands_.failure().is_ok()) return copy_of(commands_.failure());
    if (has_ended) {
        return Status(Code::stale, "the other rank has disconnected");
    }
    return counts_;
}

Result<SegbufEnd::Counts> SegbufEnd::look(bool is_asked_for_news) {
    auto seen = counts();
    if (!seen.is_ok() || !is_asked_for_news) return seen;
    if (++looks_ % looks_per_yield == 0) os::yield_cpu();
    (void)tools_->gma.help();
    probe();
    return counts();
}

void SegbufEnd::probe() {
    if (is_near_ || !is_connected_ || !commands_.is_empty()) return;
    const std::uint64_t now_ns = os::now_ns();
    if (now_ns - probed_at_ns_ < probe_pause_ns) return;
    probed_at_ns_ = now_ns;
    // To a word that is never freed: the partner's block is freed once it has taken this end's last
    // word.
    add(tools_->gma.space().claimed_address(partner(), channel_map), 0);
}

// Adds to a word of the partner's process.
void SegbufEnd::add(GlobalAddress word, std::uint64_t value) {
    commands_.begin(Kind::word, [&] {
        return tools_->gma.issue(
            gma::PointerIssuer::add_of({word, value}, memory::IssuedBy::segment), gma::handle_null);
    });
}

Status SegbufEnd::send() {
    auto seen = counts();
    if (!seen.is_ok()) return std::move(seen).failure();
    if (side_ != Side::sender) return {Code::argument, "this rank is its destination"};
    if (counts_.sent - counts_.released >= ring_.segments) {
        return {Code::limit, "the destination has given no segment back that could be filled"};
    }
    const std::uint64_t place = counts_.sent % ring_.segments;
    const std::uint64_t offset = place * ring_.segment_bytes;
    commands_.begin(Kind::segment, [&] {
        return issue_signalled(tools_->gma,
                               {partner_.ring + offset,
                                {ring_.buffer + offset, ring_.segment_bytes, false},
                                memory::IssuedBy::segment},
                               {there(words_offset + place * word_bytes), 1}, gma::handle_null);
    });
    ++counts_.sent;
    commands_.forget_ended();
    return commands_.failure().is_ok() ? Status() : copy_of(commands_.failure());
}

Status SegbufEnd::release() {
    auto seen = counts();
    if (!seen.is_ok()) return std::move(seen).failure();
    if (side_ != Side::receiver) return {Code::argument, "this rank is its source"};
    if (counts_.sent == counts_.released) {
        return {Code::limit, "no segment has come that could be given back"};
    }
    add(there(words_offset), 1);
    ++counts_.released;
    commands_.forget_ended();
    return {};
}

Status SegbufEnd::disconnect() {
    if (!is_in_use()) return refuse_state();
    if (has_met()) say_goodbye();
    phase_ = Phase::disconnected;
    return {};
}

// After all sends have ended. A command ordered after them would fail with any command of the
// program, and would never be repeated.
void SegbufEnd::say_goodbye() {
    if (commands_.has_said_goodbye()) return;
    commands_.settle();
    const GlobalAddress word = there(offsetof(OwnBlock, goodbye));
    // The operation wakes a partner that waits.
    const operations::PutSignal told{word, word, 1};
    commands_.begin(Kind::goodbye, [&] {
        return tools_->gma.issue_invoke({partner(),
                                         operations::put_signal_set_number,
                                         std::as_bytes(std::span(&told, 1)),
                                         {},
                                         nullptr},
                                        gma::handle_null);
    });
}

Status SegbufEnd::begin_free() {
    if (phase_ == Phase::in_use) {
        return {Code::state, "it was not disconnected; acp_disconnect_segbuf comes first"};
    }
    if (phase_ == Phase::being_freed) return {Code::stale, "another thread frees it"};
    phase_ = Phase::being_freed;
    return {};
}

bool SegbufEnd::is_over() noexcept {
    const bool is_gone = is_partner_gone();
    if (!has_met()) return is_gone;
    try {
        if (!is_gone) say_goodbye();
        commands_.forget_ended();
        if (!commands_.is_empty()) return false;
        if (is_gone || (commands_.has_said_goodbye() && has_partner_ended())) return true;
        probe();
    } catch (const std::bad_alloc&) {
        // Repeated at the next poll.
    }
    return false;
}

Status SegbufEnd::finish_free() {
    Status status = has_met() && has_partner_ended() ? commands_.take_failure() : why_gone();
    drop();
    return status;
}

void SegbufEnd::drop() noexcept {
    try {
        if (key_ != 0) (void)tools_->gma.registry().remove(key_);
        // A partner that has taken this end's entry will write to the introduction slot: then, or
        // if that is unknown, the block stays.
        bool is_letter_awaited = false;
        if (is_known_ && !has_found_ && !has_met()) {
            const auto withdrawn = tools_->pairing.withdraw(name_, side_);
            is_letter_awaited = !(withdrawn.is_ok() && withdrawn.value()) && !is_partner_gone();
        }
        if (block_ != 0 && !is_letter_awaited) (void)tools_->allocator.free(block_);
    } catch (const std::exception&) {
        // free() may need memory for its request; without it the block is reclaimed when the heaps
        // are emptied.
    }
    block_ = key_ = 0;
}

}  // namespace acp::message
