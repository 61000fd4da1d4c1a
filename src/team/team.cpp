// SPDX-License-Identifier: BSD-3-Clause
// Waits for other members, and handles failures of a team.
#include "team/team.hpp"

#include <cstddef>
#include <new>
#include <optional>
#include <utility>

#include "base/fence.hpp"
#include "gma/condition.hpp"
#include "node/loss.hpp"
#include "node/node_table.hpp"
#include "os/clock.hpp"
#include "os/membarrier.hpp"
#include "team/meeting_watch.hpp"

namespace acp::team {

using base::Code;
using base::Status;

namespace {

static_assert(board_places_max >= node::local_procs_max);

constexpr std::int64_t reason_within_ns = 1'000'000'000;

// A pointer into memory of a process of this node.
char* pointer_to(const gma::Gma& gma, std::uint32_t process, GlobalAddress address) noexcept {
    const local::Space& space = gma.space();
    return space.segment().claimed(space.slot_of(process)) +
           (address - space.claimed_start(process));
}

std::vector<char*> near_blocks(const gma::Gma& gma,
                               const Membership& members,
                               const std::vector<GlobalAddress>& boards) {
    std::vector<char*> blocks;
    if (members.size() == 1) return blocks;  // a team of one has no board
    for (const std::uint32_t rank : members.near())
        blocks.push_back(pointer_to(gma, members.process(rank), boards[rank]));
    return blocks;
}

Board::Fence fence_of(gma::Gma& gma) noexcept {
    return gma.hazards().has_membarrier() ? Board::Fence::by_sleeper : Board::Fence::by_each;
}

}  // namespace

// Condition: an expectation of a team's thread has come true, or the team is broken.
class Team::Waiting final : public gma::Condition {
public:
    Waiting(Team& team, Expectation& expected) noexcept : team_(team), expected_(expected) {}

    [[nodiscard]] bool has_come() const noexcept { return has_come_; }

    gma::LookResult look() override {
        const bool is_thorough = std::exchange(is_announced_, false);
        if (is_thorough) {
            // Orders the announcement before the polls below; partners: Board::publish(), and the
            // rings of channels
            if (!os::expedite()) base::fence(std::memory_order_seq_cst);
            expected_.look_thoroughly();
        }
        has_come_ = has_come_ || expected_.has_come();
        if (is_thorough && !has_come_) team_.compare_calls();
        return has_come_ || !team_.look() ? gma::LookResult::all : gma::LookResult::nothing;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        is_announced_ = true;
        team_.announce(expected_, entry, since_ns);
    }

private:
    Team& team_;
    Expectation& expected_;
    bool has_come_ = false;
    bool is_announced_ = false;
};

Team::Team(TeamTools& tools,
           Membership members,
           std::vector<GlobalAddress> boards,
           std::uint64_t id)
    : tools_(tools),
      members_(std::move(members)),
      addresses_(std::move(boards)),
      id_(id),
      board_(
          near_blocks(tools.gma, members_, addresses_), members_.own_place(), fence_of(tools.gma)),
      ends_(tools_.channels, id),
      telling_room_(tools.telling, members_.size() - members_.near().size()),
      breakage_(tools.gma, tools.telling) {
    const local::Space& space = tools.gma.space();
    for (const std::uint32_t rank : members_.near()) {
        if (rank == members_.own()) continue;
        const std::uint32_t slot = space.slot_of(members_.process(rank));
        bells_.push_back(&space.segment().slot(slot).door.waiter_bell);
    }
}

void Team::announce(const Expectation& expected,
                    node::AwaitedEntry& entry,
                    std::uint64_t since_ns) const {
    const std::uint32_t rank = expected.rank();
    if (rank == nobody) return;  // the expectation has just come true
    memory::Command told;
    told.bytes = signature_.bytes;
    told.source = id_;
    told.target = tools_.gma.space().starter_address(members_.process(rank));
    entry.tell(node::WaitFor::member, since_ns, &told, CallName(signature_).text());
}

std::optional<std::uint32_t> Team::missing_rank() const noexcept {
    const std::uint32_t missing = late_for_.value_or(nobody);
    if (missing == nobody) return std::nullopt;
    return tools_.gma.space().segment().rank_of(members_.process(missing));
}

bool Team::can_go_on(bool is_thorough) noexcept {
    if (is_thorough) stopped_.expected->look_thoroughly();
    stopped_.has_come = stopped_.expected->has_come();
    if (is_thorough && !stopped_.has_come) compare_calls();
    return stopped_.has_come || !look() || deadline_.is_past();
}

bool Team::stop_for(Expectation& expected) {
    stopped_.expected = &expected;
    stopped_.fiber->stop();
    // Resumed: can_go_on() was true.
    stopped_.expected = nullptr;
    if (stopped_.has_come) return true;
    if (!is_broken()) late_for_ = expected.rank();
    tell_others();
    return false;
}

bool Team::wait_long(Expectation& expected) {
    if (stopped_.fiber != nullptr) return stop_for(expected);
    Waiting waiting(*this, expected);
    // A call with a deadline does not watch: a member that is in another call may still make this
    // one, which is too late only for a thread that would wait for ever.
    if (tools_.is_checking && deadline_.left_ns() < 0) {
        wait_and_watch(waiting, expected);
        if (waiting.has_come()) return true;
    } else {
        const node::Outcome outcome = tools_.gma.wait_until(waiting, deadline_.left_ns());
        if (waiting.has_come()) return true;
        if (!is_broken() && outcome == node::Outcome::timeout) late_for_ = expected.rank();
    }
    tell_others();
    return false;
}

// Breaks the team if the awaited member is in a call of all ranks instead.
void Team::wait_and_watch(Waiting& waiting, const Expectation& expected) {
    std::uint32_t rank = nobody;
    std::string call = MeetingWatch(tools_.gma).wait(waiting, [&] {
        rank = expected.rank();
        return rank == nobody ? nobody : members_.process(rank);
    });
    if (call.empty()) return;
    (void)fail_mismatch(rank, signature_, [&call] { return call; });
}

// Whether the team is whole, after a check for dead members and for notifications.
bool Team::look() noexcept {
    if (is_broken()) return false;
    const Trouble* const own =
        members_.size() == 1 ? nullptr : &board_.trouble(members_.own_place());
    const Breakage::News news = breakage_.look(members_.processes(), own);
    if (news == Breakage::News::none) [[likely]]
        return true;
    // Every member detects a death by itself, and a member that notifies this one notifies all.
    // Only the loss of a node may be visible to this member alone.
    is_untold_ = news == Breakage::News::death && has_lost_node();
    ends_.abandon();
    return false;
}

// Breaks the team if another member of the node has made another call than this one. They may
// exchange nothing in the two calls, and wait for each other for ever.
void Team::compare_calls() noexcept {
    for (std::uint32_t place = 0; place < board_.size(); ++place) {
        const std::optional<Signature> found =
            place == members_.own_place() ? std::nullopt : board_.call(place, board_.calls());
        if (!found.has_value() || *found == signature_) continue;
        const Status why =
            mismatch(members_.near()[place], signature_, [&found] { return describe(*found); });
        note_failure(why.code(), why.message());
        return;
    }
}

void Team::note_failure(Code code, std::string_view why) noexcept {
    if (is_broken()) return;
    breakage_.note(code, why);
    is_untold_ = true;
    ends_.abandon();
}

// If the team was broken before, note_failure() keeps the first reason, of which other members may
// still have to be notified.
bool Team::fail(const Status& why) noexcept {
    note_failure(why.code(), why.message());
    tell_others();
    return false;
}

// Whether this member cannot reach a node of the team; other members perhaps can.
bool Team::has_lost_node() const noexcept {
    const node::Segment& segment = tools_.gma.space().segment();
    if (segment.shape().nodes == 1) return false;
    for (std::uint32_t node = 0; node < members_.nodes(); ++node) {
        const std::uint32_t process = members_.process(members_.leader(node));
        if (node::is_node_lost(segment, node::NodeTable(segment).node_of(process))) return true;
    }
    return false;
}

// Notifies the other members once, if they must be notified.
void Team::tell_others() noexcept {
    if (!std::exchange(is_untold_, false) || is_leaving_) return;
    for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
        if (rank == members_.own()) continue;
        const bool is_near = members_.node_of(rank) == members_.own_node();
        breakage_.tell({members_.process(rank),
                        is_near ? &board_.trouble(members_.place_of(rank)) : nullptr,
                        addresses_[rank] + offsetof(BoardBlock, trouble)});
    }
    ring_near();
}

// "member 1 (rank 3)"
std::string Team::name_of_member(std::uint32_t rank) const {
    return "member " + std::to_string(rank) + " (rank " +
           std::to_string(tools_.gma.space().segment().rank_of(members_.process(rank))) + ")";
}

bool Team::begin_send(FarMessage& message,
                      std::uint32_t rank,
                      const void* source,
                      std::uint64_t bytes,
                      const Signature& signature) noexcept {
    try {
        auto end = ends_.end(members_.process(rank), message::Side::sender);
        if (!end.is_ok()) return fail(end.failure());
        message.begin_send(*end.value(), rank, signature, source, bytes);
        return true;
    } catch (const std::bad_alloc&) {
        return fail(Status::bare(Code::memory));
    }
}

bool Team::begin_receive(FarMessage& message,
                         std::uint32_t rank,
                         void* target,
                         std::uint64_t bytes,
                         const Signature& signature) noexcept {
    try {
        auto end = ends_.end(members_.process(rank), message::Side::receiver);
        if (!end.is_ok()) return fail(end.failure());
        message.begin_receive(*end.value(), rank, signature, target, bytes);
        return true;
    } catch (const std::bad_alloc&) {
        return fail(Status::bare(Code::memory));
    }
}

bool Team::settle(std::span<FarMessage> messages) {
    class Ends final : public Expectation {
    public:
        explicit Ends(std::span<FarMessage> messages) noexcept : messages_(messages) {}

        bool has_come() noexcept override {
            bool have_all = true;
            for (FarMessage& message : messages_)
                have_all = (!message.is_begun() || message.has_ended()) && have_all;
            return have_all;
        }

        void look_thoroughly() noexcept override {
            for (FarMessage& message : messages_) {
                if (message.is_begun()) message.look_thoroughly();
            }
        }

        [[nodiscard]] std::uint32_t rank() const noexcept override {
            for (const FarMessage& message : messages_) {
                if (message.is_under_way()) return message.rank();
            }
            return nobody;
        }

    private:
        std::span<FarMessage> messages_;
    };

    Ends ends(messages);
    bool have_ended = false;
    // Messages between nodes need a poll of the gateway, which may be this thread's task: such a
    // thread waits at once.
    const int looks = members_.nodes() == 1 && stopped_.fiber == nullptr ? tools_.looks : 1;
    for (int i = 0; i < looks && !have_ended; ++i) {
        have_ended = ends.has_come();
        if (!have_ended) os::relax();
    }
    if (!have_ended && !wait_long(ends)) return false;
    return have_gone_well(messages);
}

// Checks the results of messages, which have all ended.
bool Team::have_gone_well(std::span<FarMessage> messages) {
    for (const FarMessage& message : messages) {
        if (!message.is_begun() || message.code() == Code::ok) continue;
        if (message.code() == Code::mismatch)
            return fail_mismatch(message.rank(), message.expected(), message.found());
        // A live member that gives up a long message in flight ends it with `peer` too: then that
        // code is not the reason.
        const bool is_reason_known =
            message.code() == Code::memory ||
            (message.code() == Code::peer &&
             node::is_gone(tools_.gma.space().segment(), members_.process(message.rank())));
        if (!is_reason_known) await_reason(message.rank());
        return fail(Status::worded(message.code(), [&] { return std::string(message.reason()); }));
    }
    return true;
}

// A member that finds the team broken ends its messages at once. The notification with the reason
// is still in flight, from it or from the member that notified it: waits for that, at most
// reason_within_ns.
void Team::await_reason(std::uint32_t rank) {
    class Reason final : public Expectation {
    public:
        explicit Reason(std::uint32_t rank) noexcept : rank_(rank) {}

        bool has_come() noexcept override { return false; }

        [[nodiscard]] std::uint32_t rank() const noexcept override { return rank_; }

    private:
        std::uint32_t rank_;
    };

    Reason reason(rank);
    deadline_ = gma::Deadline(reason_within_ns);
    (void)wait_long(reason);
    late_for_ = std::nullopt;
}

bool Team::depart() {
    if (members_.size() == 1) return true;
    ends_.begin_free();  // if this throws, the other members, which wait for it, are notified
    is_leaving_ = true;

    class Freed final : public Expectation {
    public:
        Freed(FarEnds& ends, const Membership& members) noexcept : ends_(ends), members_(members) {}

        bool has_come() noexcept override { return ends_.are_freed(); }

        void look_thoroughly() noexcept override { ends_.look_thoroughly(); }

        [[nodiscard]] std::uint32_t rank() const noexcept override {
            const std::optional<std::uint32_t> process = ends_.partner_awaited();
            return process.has_value() ? members_.rank_of(*process).value_or(nobody) : nobody;
        }

    private:
        FarEnds& ends_;
        const Membership& members_;
    };

    Freed freed(ends_, members_);
    if (!freed.has_come() && !wait_long(freed)) return false;
    ends_.drop();
    for (std::uint32_t place = 0; place < board_.size(); ++place) {
        if (place != members_.own_place()) board_.depart_from(place);
    }
    ring_near();
    return wait([&] { return board_.place_not_departed() == nobody; },
                [&] { return rank_at(board_.place_not_departed()); });
}

}  // namespace acp::team
