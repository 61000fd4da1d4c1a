// SPDX-License-Identifier: BSD-3-Clause
// Sends, takes, waits for and gives up rounds.
#include "execution/rounds.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "gma/condition.hpp"
#include "local/direct.hpp"
#include "node/awaited.hpp"
#include "node/wait.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/futex.hpp"
#include "sync/lines.hpp"
#include "team/meeting_watch.hpp"

#include "operations/put_signal.hpp"

namespace acp::execution {

using base::Code;
using base::Result;
using base::Status;

namespace {

std::vector<std::uint64_t> bytes_of(const std::vector<RoutedParcel>& parcels) {
    std::vector<std::uint64_t> bytes;
    bytes.reserve(parcels.size());
    for (const RoutedParcel& parcel : parcels) bytes.push_back(parcel.bytes);
    return bytes;
}

std::size_t count_far(const std::vector<Partner>& partners) {
    return static_cast<std::size_t>(std::count_if(
        partners.begin(), partners.end(), [](const Partner& one) { return one.head == nullptr; }));
}

// Empty if the plan is not for a network.
std::vector<unsigned> planned_rails(const PlanRoutes& routes) {
    std::vector<unsigned> rails;
    if (routes.rails.engines == 0) return rails;
    for (const RoutedParcel& parcel : routes.parcels) rails.push_back(parcel.rail);
    return rails;
}

}  // namespace

// Condition: the round has ended, or the plan is broken. WorkUnderWay counts the round, so a thread
// that has announced a sleep polls again after a fence (gma/completion.cpp); partner:
// Rounds::publish().
class Rounds::RoundEnd final : public gma::Condition {
public:
    explicit RoundEnd(Rounds& rounds) noexcept : rounds_(rounds) {}

    gma::LookResult look() override {
        const std::size_t missing = rounds_.missing_;
        if (rounds_.look_whether_over()) return gma::LookResult::all;
        return rounds_.missing_ < missing ? gma::LookResult::progress : gma::LookResult::nothing;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        memory::Command told;
        told.source = rounds_.routes_.number;
        told.target = rounds_.gma_.space().starter_address(rounds_.process_awaited());
        entry.tell(node::WaitFor::member, since_ns, &told);
    }

private:
    Rounds& rounds_;
};

Rounds::Rounds(gma::Gma& gma, team::Telling& telling, PlanRoutes routes)
    : gma_(gma),
      routes_(std::move(routes)),
      telling_room_(telling, count_far(routes_.partners)),
      balance_(routes_.rails.rails, bytes_of(routes_.parcels), planned_rails(routes_)),
      is_fence_by_each_(!gma.hazards().has_membarrier()),
      breakage_(gma, telling) {}

template <typename Body>
void Rounds::run(const Body& body) noexcept {
    try {
        body();
    } catch (const std::bad_alloc&) {
        give_up(Code::memory, {});  // no text, which would need memory
    }
}

Status Rounds::start() {
    if (is_broken()) [[unlikely]]
        return breakage_.failure();
    if (is_started_) return {Code::state, "it was started, and no call has returned its end yet"};
    ++round_;
    missing_ = routes_.incoming.size();
    is_started_ = true;
    is_over_ = false;
    is_sent_ = false;
    run([this] {
        send_if_possible();
        if (is_sent_ && !routes_.parcels.empty()) gma_.send_rest();
        if (!under_way_.empty()) forget_ended();
    });
    return is_broken() ? breakage_.failure() : Status();
}

bool Rounds::has_broken() noexcept {
    run([this] { look(); });
    return is_broken();
}

Result<bool> Rounds::test() {
    if (!is_started_ && !is_broken()) return Status(Code::state, "it was not started");
    bool is_over = is_broken();
    run([this, &is_over] {
        if (is_over || look_whether_over()) {
            is_over = true;
            return;
        }
        (void)gma_.help();
        is_over = look_whether_over();
    });
    if (!is_over && !is_broken()) return false;
    Status status = end_round();
    if (!status.is_ok()) return status;
    return true;
}

Status Rounds::wait(int looks, bool is_checking) {
    if (!is_started_ && !is_broken()) return {Code::state, "it was not started"};
    run([this, looks, is_checking] {
        for (int i = 0; i < looks; ++i) {
            if (is_broken() || look_whether_over()) return;
            os::relax();
        }
        RoundEnd end(*this);
        if (is_checking) return wait_and_watch(end);
        (void)gma_.wait_until(end, node::for_ever);
    });
    return end_round();
}

// Breaks the plan if the awaited member has entered a call of all ranks instead.
void Rounds::wait_and_watch(RoundEnd& end) {
    std::uint32_t awaited = team::nobody;
    const std::string call = team::MeetingWatch(gma_).wait(end, [this, &awaited] {
        awaited = process_awaited();
        return awaited == gma_.space().process() ? team::nobody : awaited;
    });
    if (call.empty()) return;
    const node::Segment& segment = gma_.space().segment();
    const auto rank_of = [&segment](std::uint32_t process) {
        return std::to_string(segment.rank_of(process));
    };
    give_up(Code::mismatch, "rank " + rank_of(gma_.space().process()) +
                                " waits for a plan, and rank " + rank_of(awaited) +
                                ", which has not done its part, has called " + call);
}

Status Rounds::end_round() {
    if (is_broken()) return breakage_.failure();
    is_started_ = false;
    return {};
}

void Rounds::go_on() noexcept {
    if (!is_under_way()) return;
    run([this] { (void)look_whether_over(); });
}

bool Rounds::look_whether_over() {
    is_over_ = is_over_ || step();
    return is_over_;
}

bool Rounds::step() {
    if (!is_sent_) send_if_possible();
    if (missing_ != 0) {
        for (IncomingRoute& incoming : routes_.incoming) {
            if (incoming.taken != round_ && has_come(incoming)) take(incoming);
        }
    }
    if (balance_.is_looking()) look_at_rails(os::now_ns());
    if (!under_way_.empty()) forget_ended();
    if (is_sent_ && missing_ == 0 && in_place_ == 0 && are_all_consumed()) return true;
    look();
    return is_broken();
}

// Whether all receivers that read the program's buffers on this node have consumed this round.
bool Rounds::are_all_consumed() const noexcept {
    return std::all_of(
        routes_.outgoing.begin(), routes_.outgoing.end(), [this](const OutgoingRoute& outgoing) {
            // acquire: the receiver has stopped reading; partner: take()
            return !outgoing.is_read_in_place ||
                   outgoing.line->consumed[round_ % 2].load(std::memory_order_acquire) >= round_;
        });
}

// Sends this round if all receivers have consumed the round before the last one, whose outbox and
// landing areas it uses.
void Rounds::send_if_possible() {
    for (const OutgoingRoute& outgoing : routes_.outgoing) {
        // acquire: as in are_all_consumed()
        if (outgoing.line->consumed[round_ % 2].load(std::memory_order_acquire) + 2 < round_)
            return;
    }
    const std::size_t parity = round_ % 2;
    for (const PackedMessage& message : routes_.packed) {
        if (message.block != nullptr) {
            message.block->pack(message.to[parity], message.source);
        } else {
            local::move_bytes(message.to[parity], message.source, message.bytes);
        }
    }
    publish(routes_.head->started);
    ring_partners();
    is_sent_ = true;
    send_all(parity);
}

void Rounds::look_at_rails(std::uint64_t now_ns) {
    balance_.look(now_ns, [this](gma::Handle handle) { return gma_.has_ended(handle); });
}

// The rail is chosen by the colour of the target's address.
void Rounds::send_all(std::size_t parity) {
    if (!balance_.is_on()) {
        for (const RoutedParcel& parcel : routes_.parcels)
            send_parcel(parcel, parity, parcel.to[parity]);
        return;
    }
    const std::uint64_t now_ns = os::now_ns();
    look_at_rails(now_ns);  // parcels may have completed while the program computed
    balance_.begin(now_ns);
    for (std::size_t i = 0; i < routes_.parcels.size(); ++i) {
        const RoutedParcel& parcel = routes_.parcels[i];
        const std::size_t before = under_way_.size();
        if (!balance_.has(i)) {
            send_parcel(parcel, parity, parcel.to[parity]);
            continue;
        }
        send_parcel(parcel, parity,
                    gma_.space().layout().colored(parcel.to[parity], balance_.rail(i)));
        balance_.note_sent(i, under_way_[before].handle);
    }
}

// A short parcel travels in one operation with its word; the word of a long one follows its copy.
void Rounds::send_parcel(const RoutedParcel& parcel, std::size_t parity, GlobalAddress to) {
    if (parcel.bytes <= operations::put_signal_bytes_max) {
        const std::span bytes(parcel.memory[parity], parcel.bytes);
        set_word(parcel.process, parcel.arrived[parity], std::as_bytes(bytes), to);
        return;
    }
    under_way_.push_back({gma::handle_null, parcel.is_in_place});
    if (parcel.is_in_place) ++in_place_;
    const GlobalAddress word = parcel.arrived[parity];
    const operations::PutSignal put{word, word, round_};
    under_way_.back().handle =
        gma_.issue_followed({.target = to,
                             .source = parcel.from[parity],
                             .bytes = parcel.bytes,
                             .expected = memory::Command::note(memory::IssuedBy::move)},
                            {parcel.process,
                             operations::put_signal_set_number,
                             std::as_bytes(std::span(&put, 1)),
                             {},
                             nullptr},
                            gma::Departure::together);
}

// Writes `bytes` to `target` on another node, then the round's number to `word`, and wakes the
// threads that wait there.
void Rounds::set_word(std::uint32_t process,
                      GlobalAddress word,
                      std::span<const std::byte> bytes,
                      GlobalAddress target) {
    std::array<std::byte, memory::invoke_bytes_max> arguments;  // NOLINT: written as far as read
    const operations::PutSignal head{target, word, round_};
    std::memcpy(arguments.data(), &head, sizeof head);
    if (!bytes.empty()) std::memcpy(arguments.data() + sizeof head, bytes.data(), bytes.size());
    under_way_.push_back({gma::handle_null, false});
    under_way_.back().handle =
        gma_.issue_invoke({process,
                           operations::put_signal_set_number,
                           std::span(arguments).first(sizeof head + bytes.size()),
                           {},
                           nullptr},
                          gma::handle_null);
}

bool Rounds::has_come(IncomingRoute& incoming) const noexcept {
    // acquire, both: makes the sender's bytes visible; partners: publish() of the sender, and
    // operations::put_signal_set
    if (incoming.started != nullptr)
        return incoming.started->load(std::memory_order_acquire) >= round_;
    while (incoming.parcels_seen < incoming.parcels) {
        const RoundWord& word = incoming.arrived[incoming.parcels_seen][round_ % 2];
        if (word.load(std::memory_order_acquire) < round_) return false;
        ++incoming.parcels_seen;
    }
    return true;
}

void Rounds::take(IncomingRoute& incoming) {
    const std::size_t parity = round_ % 2;
    for (const TakenMessage& message : incoming.messages) {
        if (message.block != nullptr) {
            message.block->unpack(message.target, message.from[parity]);
        } else if (message.is_in_lines) {
            sync::take_lines(message.target, message.from[parity], message.bytes, message.bytes);
        } else {
            local::move_bytes(message.target, message.from[parity], message.bytes);
        }
    }
    incoming.taken = round_;
    incoming.parcels_seen = 0;
    --missing_;
    if (incoming.consumed == nullptr) {
        const GlobalAddress word = incoming.consumed_address[parity];
        set_word(incoming.process, word, {}, word);
        return;
    }
    publish((*incoming.consumed)[parity]);
    ring_partners();
}

// Stores the round's number. The caller must ring the partners afterwards.
void Rounds::publish(RoundWord& word) const noexcept {
    if (is_fence_by_each_) [[unlikely]] {
        word.exchange(round_, std::memory_order_seq_cst);  // partner: Bell::announce()
        return;
    }
    word.store(round_, std::memory_order_release);
    // The sleeper's expedited barrier orders the processor, this fence the compiler; partner:
    // os::expedite() of the sleeper.
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

void Rounds::ring_partners() noexcept {
    for (const Partner& partner : routes_.partners) {
        if (partner.bell != nullptr && partner.bell->ring()) [[unlikely]]
            os::futex_wake(partner.bell->word(), os::everybody);
    }
}

void Rounds::forget_ended() {
    while (!under_way_.empty() && gma_.has_ended(under_way_.front().handle)) end_oldest();
}

// Waits for the oldest command in flight.
void Rounds::end_oldest() {
    const UnderWay ended = under_way_.front();
    under_way_.pop_front();
    if (ended.is_in_place) --in_place_;
    const Status status = gma_.wait_for_one(ended.handle);
    if (status.is_ok()) return;
    look();  // a member's death is a better reason than a command that failed because of it
    give_up(status.code(), status.message());
}

void Rounds::settle() noexcept {
    while (!under_way_.empty()) {
        try {
            end_oldest();
        } catch (const std::bad_alloc&) {
            // No memory for the text of a failure, which breaks the plan all the same.
            give_up(Code::memory, {});
        }
    }
}

// Breaks the plan if a member has died or a partner has notified this one of a failure.
void Rounds::look() {
    if (is_broken()) return;
    if (breakage_.look(routes_.processes, &routes_.head->trouble) != team::Breakage::News::none)
        tell_partners();
}

void Rounds::fail(const Status& why) noexcept {
    give_up(why.code(), why.message());
}

void Rounds::give_up(Code code, std::string_view why) noexcept {
    if (is_broken()) return;
    breakage_.note(code, why);
    tell_partners();
}

// Called once, when the plan has become broken.
void Rounds::tell_partners() noexcept {
    for (const Partner& partner : routes_.partners) {
        breakage_.tell({partner.process, partner.head != nullptr ? &partner.head->trouble : nullptr,
                        partner.block + offsetof(BlockHead, trouble)});
    }
    ring_partners();
}

// A member that the round waits for, for diagnostics; the own process if there is none.
std::uint32_t Rounds::process_awaited() const noexcept {
    for (const IncomingRoute& incoming : routes_.incoming) {
        if (incoming.taken != round_) return incoming.process;
    }
    for (const OutgoingRoute& outgoing : routes_.outgoing) {
        const std::uint64_t consumed =
            outgoing.line->consumed[round_ % 2].load(std::memory_order_relaxed);
        if (consumed + (is_sent_ ? 0 : 2) < round_) return routes_.processes[outgoing.rank];
    }
    return gma_.space().process();
}

}  // namespace acp::execution
