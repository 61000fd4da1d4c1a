// SPDX-License-Identifier: BSD-3-Clause
// An end's life: it is made, finds its partner, fails if the partner dies, and is freed.
#include "message/channel_end.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "local/shared_memory.hpp"
#include "message/far_receiver_path.hpp"
#include "message/far_sender_path.hpp"
#include "message/mapped_path.hpp"
#include "message/receiving.hpp"
#include "message/sending.hpp"
#include "node/loss.hpp"
#include "node/wait.hpp"
#include "os/clock.hpp"
#include "os/random_bytes.hpp"

namespace acp::message {

using base::Code;
using base::Status;

// The start of an end's block. Behind it: the ring of a receiver; the credits of a sender to
// another node; the LendingWords of a sender to its own node.
struct ChannelEnd::OwnBlock {
    Letter letter;
    alignas(line_bytes) std::atomic<std::uint64_t> taken{0};
};

namespace {

constexpr std::uint64_t block_head_bytes = 2 * line_bytes;
constexpr std::uint64_t recovery_pause_ns = 200'000'000;
// Between nodes a ring holds the bytes in flight during a round trip, which is longer than on a
// node: docs/adr/0023-channels.md.
constexpr std::uint64_t far_ring_factor = 4;
// Longer pieces of a message gain nothing; see docs/adr/0024-pipe.md.
constexpr std::uint64_t slot_bytes_max = 64 << 10;

constexpr std::uint64_t pipe_slots = PipeSender<MappedPath<>>::slots;

// The size of a pipe's slot, in multiples of the ring's. Where ranks share CPUs, the sender of a
// full pipe waits until the receiver is scheduled, so a larger pipe saves switches.
std::uint64_t slot_rings(const node::Segment& segment) noexcept {
    const node::WaitLoad load = node::load_of(segment, 1);
    return load.ranks <= load.cpus ? 2 : 4;
}

// The offset of the first credit, where the sender's part of a ring begins.
constexpr std::uint64_t credits_begin(RingShape shape) noexcept {
    return shape.credit_offset(0);
}

// Writes the credits that open a ring under a key while it is empty.
void grant_all(char* credits, std::uint64_t key) noexcept {
    const std::uint64_t credit = RingKey(static_cast<std::uint32_t>(key)).credit(0);
    for (const std::uint64_t offset : {std::uint64_t{0}, line_bytes})
        std::memcpy(credits + offset, &credit, sizeof credit);
}

RingKey key_of(const Introduction& receiver) noexcept {
    return RingKey(static_cast<std::uint32_t>(receiver.key));
}

std::uint64_t block_bytes(Side side, RingShape shape) noexcept {
    if (side == Side::receiver) return block_head_bytes + shape.bytes();
    return block_head_bytes +
           std::max(shape.bytes() - credits_begin(shape), std::uint64_t{sizeof(LendingWords<>)});
}

}  // namespace

ChannelEnd::OwnBlock& ChannelEnd::own() const noexcept {
    static_assert(sizeof(OwnBlock) == block_head_bytes);
    return *reinterpret_cast<OwnBlock*>(pointer_to(block_));
}

// A pointer into the heap of a process of this node.
char* ChannelEnd::pointer_to(GlobalAddress address) const noexcept {
    const auto process = static_cast<std::uint32_t>(tools_->gma.space().layout().process(address));
    return blocks_of(process) + (address - tools_->allocator.start_of(process));
}

// The start of the heap of a process of this node.
char* ChannelEnd::blocks_of(std::uint32_t process) const noexcept {
    const local::Space& space = tools_->gma.space();
    return local::heap_memory(space.segment(), space.slot_of(process)).start;
}

Status ChannelEnd::make(ChannelTools& tools, const ChannelName& name, Side side) {
    tools_ = &tools;
    name_ = name;
    side_ = side;
    is_being_freed_ = false;
    is_broken_ = is_abandoned_ = false;
    deaths_heeded_ = 0;
    has_found_ = false;
    recovered_at_ns_ = 0;
    is_known_ = false;
    partner_ring_ = 0;
    if (is_partner_gone()) return Status::worded(Code::peer, [this] { return fate_of_partner(); });
    const bool is_from_afar = side == Side::receiver && !tools.gma.space().is_on_node(name.sender);
    const RingShape shape(
        is_from_afar ? std::min(far_ring_factor * tools.settings.record_bytes, ring_bytes_max)
                     : tools.settings.record_bytes);
    const std::uint64_t bytes = block_bytes(side, shape);
    auto block = tools.allocator.allocate(tools.gma.space().process(), bytes, line_bytes);
    if (!block.is_ok()) return std::move(block).failure();
    block_ = block.value();
    std::memset(pointer_to(block_), 0, bytes);
    introduction_ = {block_ + offsetof(OwnBlock, letter), block_ + block_head_bytes,
                     shape.record_bytes(), 0};
    os::fill_random(std::as_writable_bytes(std::span(&introduction_.key, 1)).first(4));
    if (side == Side::receiver) open_own_ring();
    Status status = introduce();
    if (!status.is_ok()) drop();
    return status;
}

// Exchanges introductions with the partner if it exists already. After a failure no partner knows
// of this end.
Status ChannelEnd::introduce() {
    const bool is_near_receiver =
        side_ == Side::receiver && tools_->gma.space().is_on_node(name_.sender);
    if (is_near_receiver) {
        // It needs no more data about the sender, whose messages may arrive before this end polls
        // its introduction slot.
        Status status = open({});
        if (!status.is_ok()) return status;
    }
    auto partner = tools_->pairing.match(name_, side_, introduction_, is_known_);
    if (!partner.is_ok()) return std::move(partner).failure();
    if (!partner.value().has_value()) return {};
    has_found_ = true;
    if (is_near_receiver) return {};
    if (!open(*partner.value()).is_ok()) {
        // The partner knows this end already. The next request opens it, as if the partner's
        // introduction had arrived later.
        own().letter.from = *partner.value();
        own().letter.has_come.store(1, std::memory_order_relaxed);
    }
    return {};
}

// Opens an empty ring with credit for all of it, so that the sender need not wait for the receiver.
void ChannelEnd::open_own_ring() noexcept {
    const RingShape shape(introduction_.record_bytes);
    grant_all(pointer_to(introduction_.ring) + credits_begin(shape), introduction_.key);
}

bool ChannelEnd::has_met() noexcept {
    const Letter& letter = own().letter;
    // acquire: makes the introduction visible; partner: operations::PutSignal
    if (letter.has_come.load(std::memory_order_acquire) == 0) return false;
    if (open(letter.from).is_ok()) return true;
    // Without memory all requests fail but one to free: that must notify the partner, so it waits
    // for memory.
    while (!queue_.is_empty() && queue_.front().kind != RequestKind::free)
        queue_.end_front({Status::bare(Code::memory), 0});
    return false;
}

Status ChannelEnd::open(const Introduction& partner) {
    try {
        const Introduction& receiver = side_ == Side::receiver ? introduction_ : partner;
        if (is_near()) {
            const auto fence = tools_->gma.hazards().has_membarrier()
                                   ? MappedPath<>::Fence::by_sleeper
                                   : MappedPath<>::Fence::by_each;
            const MappedPath<> path(pointer_to(receiver.ring), bell(), fence);
            if (side_ == Side::sender) {
                near_sender_ = &make_sending(path, partner);
            } else {
                near_receiver_ = &make_receiving(path, partner);
            }
        } else if (side_ == Side::sender) {
            char* const credits = pointer_to(introduction_.ring);
            grant_all(credits, partner.key);
            const FarSenderPath path(tools_->gma, {credits, RingShape(partner.record_bytes),
                                                   name_.receiver, partner.ring, &pipe_});
            (void)make_sending(path, partner);
        } else {
            auto credits = std::make_shared<FarCredits>(tools_->gma);
            credits->begin(
                {name_.sender, partner.ring, credits_begin(RingShape(introduction_.record_bytes))});
            (void)make_receiving(
                FarReceiverPath(pointer_to(introduction_.ring), std::move(credits)), partner);
        }
    } catch (const std::bad_alloc&) {
        return Status::bare(Code::memory);
    }
    if (is_being_freed_) end_short_way();
    partner_ring_ = side_ == Side::sender ? partner.ring - block_head_bytes : 0;
    return {};
}

template <typename Path>
RingReceiver<Path>& ChannelEnd::make_receiving(const Path& path, const Introduction& sender) {
    SenderPlaces places;
    places.taken = sender.letter + (offsetof(OwnBlock, taken) - offsetof(OwnBlock, letter));
    if (is_near()) {
        places.slot = tools_->gma.space().slot_of(partner());
        places.heap = local::heap_memory(tools_->gma.space().segment(), places.slot);
    }
    auto work =
        std::make_unique<Receiving<Path>>(tools_->gma, path, RingShape(introduction_.record_bytes),
                                          key_of(introduction_), places, bell());
    RingReceiver<Path>& ring = work->ring();
    work_ = std::move(work);
    return ring;
}

template <typename Path>
RingSender<Path>& ChannelEnd::make_sending(const Path& path, const Introduction& receiver) {
    const node::Segment& segment = tools_->gma.space().segment();
    const RingShape shape(receiver.record_bytes);
    SendingRule rule;
    pipe_.begin(tools_->allocator, name_.sender, blocks_of(name_.sender));
    if (is_near()) {
        rule.pipe = &pipe_;
        rule.lend_bytes = pipe_slots * std::min(2 * shape.record_bytes(), slot_bytes_max);
        rule.slot_bytes = std::min(slot_rings(segment) * shape.record_bytes(), slot_bytes_max);
        rule.lending = reinterpret_cast<LendingWords<>*>(pointer_to(block_) + block_head_bytes);
        rule.node = local::node_memory(segment);
    } else {
        rule.offer_bytes = tools_->settings.eager_bytes;
    }
    std::atomic<std::uint64_t>& taken = is_near() ? rule.lending->taken : own().taken;
    auto work = std::make_unique<Sending<Path>>(tools_->gma, path, shape, key_of(receiver), rule,
                                                taken, bell());
    RingSender<Path>& ring = work->ring();
    work_ = std::move(work);
    return ring;
}

bool ChannelEnd::is_near() const noexcept {
    return tools_->gma.space().is_on_node(partner());
}

// The bell of a partner on this node; otherwise the own bell, as no process is to be woken by it.
sync::Bell<>& ChannelEnd::bell() const noexcept {
    const local::Space& space = tools_->gma.space();
    return space.segment()
        .slot(is_near() ? space.slot_of(partner()) : space.slot())
        .door.waiter_bell;
}

bool ChannelEnd::is_partner_gone() const noexcept {
    return node::is_gone(tools_->gma.space().segment(), partner());
}

void ChannelEnd::go_on_thoroughly() noexcept {
    // Both are determined before the last poll: it then takes all that a partner sent before its
    // death, and its release of all records, which it had published when it freed its own end.
    // While a command is in flight, neither credits nor a last record are taken
    // (RingSender::read_credits, Receiving::go_on). Then that poll is not the last one; the command
    // ends soon, and a waiting thread polls again.
    const bool is_gone = is_partner_gone() || (work_ != nullptr && work_->is_cut_off());
    const bool is_settled = work_ == nullptr || work_->is_idle();
    // Sends to a partner that is gone fail at once.
    if (is_gone && side_ == Side::sender && !is_being_freed_) break_off();
    (void)go_on();
    if (is_broken_) return;
    // Not at every poll: recover() may wake the partner, whose poll would wake this process again.
    const std::uint64_t now_ns = os::now_ns();
    if (work_ != nullptr && now_ns - recovered_at_ns_ >= recovery_pause_ns) {
        recovered_at_ns_ = now_ns;
        work_->recover();
        (void)work_->go_on(queue_);
    }
    // Records in the ring stay for later requests: without a request the end is not broken yet.
    if (!is_gone || queue_.is_empty()) return;
    if (!is_settled) {
        if (!work_->is_idle()) return;
        (void)go_on();
    }
    break_off();
    (void)go_on();
}

void ChannelEnd::break_off() noexcept {
    is_broken_ = true;
    end_short_way();
}

void ChannelEnd::abandon() noexcept {
    break_off();
    is_abandoned_ = true;
    if (work_ != nullptr) work_->settle();
    (void)fail_all();
}

std::string ChannelEnd::fate_of_partner() const {
    return node::fate_of_process(tools_->gma.space().segment(), partner());
}

// Fails all requests of a broken end. Does nothing while a command is in flight that may still
// write to a buffer; it ends soon, and a waiting thread polls again. True: requests have ended.
bool ChannelEnd::fail_all() noexcept {
    if (queue_.is_empty() || (work_ != nullptr && !work_->is_idle())) return false;
    if (work_ != nullptr) work_->settle();
    while (!queue_.is_empty()) {
        const std::uint32_t lent = queue_.front().lent.number;
        if (lent != 0) tools_->gma.registrations().end(lent);
        // The partner of an abandoned end may be alive, so its fate is not the reason.
        queue_.end_front({Status::worded(Code::peer,
                                         [this] {
                                             return is_abandoned_ ? "this end was abandoned"
                                                                  : fate_of_partner();
                                         }),
                          0});
    }
    return true;
}

void ChannelEnd::drop() noexcept {
    const bool is_in_order = work_ != nullptr && work_->is_over();
    if (work_ != nullptr) work_->settle();
    end_short_way();
    work_.reset();
    const bool has_met = has_found_ || own().letter.has_come.load(std::memory_order_acquire) != 0;
    try {
        pipe_.give_back();
        // A partner that has taken this end's entry will write to the introduction slot: then, or
        // if that is unknown, the block stays.
        bool is_letter_awaited = false;
        if (!has_met && is_known_) {
            const auto withdrawn = tools_->pairing.withdraw(name_, side_);
            is_letter_awaited = !(withdrawn.is_ok() && withdrawn.value()) && !is_partner_gone();
        }
        if (block_ != 0 && !is_letter_awaited && (side_ == Side::sender || !is_in_order))
            (void)tools_->allocator.free(block_);
        if (side_ == Side::sender && partner_ring_ != 0)
            (void)tools_->allocator.free(partner_ring_);
    } catch (const std::exception&) {
        // free() may need memory for its request; without it the blocks are reclaimed when the
        // heaps are emptied.
    }
    block_ = 0;
}

}  // namespace acp::message
