// SPDX-License-Identifier: BSD-3-Clause
// Creates, runs and frees plans.
#include "execution/plans.hpp"

#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "base/format.hpp"
#include "exchange/network_text.hpp"
#include "exchange/order_text.hpp"
#include "local/shared_memory.hpp"
#include "node/wait.hpp"
#include "os/text_file.hpp"
#include "team/collectives.hpp"

#include "execution/compiler.hpp"
#include "execution/explanation.hpp"
#include "execution/send_layout.hpp"
#include "operations/put_signal.hpp"

namespace acp::execution {

using base::Code;
using base::Result;
using base::Status;
using team::CallLock;
using team::CollectiveCall;
using team::Signature;

namespace {

constexpr std::uint64_t saved_bytes_max = std::uint64_t{64} << 20;

constexpr int looks_alone = 2000;

std::vector<const PatternMessage*> sent_of(const Pattern& pattern) {
    std::vector<const PatternMessage*> sent;
    for (const PatternMessage& message : pattern.messages()) {
        if (message.kind != PatternMessageKind::receive) sent.push_back(&message);
    }
    return sent;
}

std::vector<exchange::SentMessage> messages_of(std::span<const PatternMessage* const> sent) {
    std::vector<exchange::SentMessage> messages;
    for (const PatternMessage* const one : sent) messages.push_back({one->partner, one->bytes});
    return messages;
}

Result<exchange::SendOrder> order_on(const char* network,
                                     const team::Membership& members,
                                     std::span<const exchange::SentMessage> messages,
                                     unsigned rails) {
    if (network == nullptr) return exchange::longest_first(messages, rails);
    auto model = exchange::network_from_text(network);
    if (!model.is_ok()) return std::move(model).failure().within("the network");
    if (model.value().nodes != members.size()) {
        return Status(Code::argument, "the network has " + std::to_string(model.value().nodes) +
                                          " nodes, and the team " + std::to_string(members.size()) +
                                          " members");
    }
    auto order = exchange::planned_order(model.value(), members.own(), messages, rails);
    if (!order.is_ok()) return std::move(order).failure().within("the network");
    return order;
}

Result<exchange::SendOrder> order_in(const char* path, const exchange::OrderOwner& owner) {
    if (path == nullptr) return Status(Code::argument, "the path is NULL");
    auto text = os::read_whole_file(path, saved_bytes_max);
    if (!text.is_ok()) return std::move(text).failure();
    auto order = exchange::order_from_text(text.value(), owner);
    if (!order.is_ok()) return std::move(order).failure().within(path);
    return order;
}

SendLayout layout_of(const local::Space& space,
                     const Pattern& pattern,
                     std::span<const PatternMessage* const> sent,
                     const exchange::SendOrder& order) {
    std::vector<LaidMessage> messages;
    messages.reserve(sent.size());
    for (const PatternMessage* const one : sent) {
        LaidMessage message;
        message.rank = one->partner;
        message.is_near = space.is_on_node(pattern.members().process(one->partner));
        message.is_shared =
            one->block == nullptr && shared_address(space, one->memory, one->bytes) != 0;
        message.bytes = one->bytes;
        messages.push_back(message);
    }
    return lay_out(std::move(messages), order, operations::put_signal_bytes_max);
}

}  // namespace

// What a member prepares locally before the collective part of compile().
struct Plans::Preparation {
    PlanEntry* plan = nullptr;
    std::vector<const PatternMessage*> sent;
    // sizes and receivers of `sent`
    std::vector<exchange::SentMessage> messages;
    exchange::SendOrder order;
    SendLayout layout;
    Status refusal;  // set: this member cannot take part, and all members get an error
};

Plans::Plans(gma::Gma& gma,
             data::Allocator& allocator,
             team::Teams& teams,
             unsigned rails,
             const HandlesMade& made) noexcept
    : gma::WorkUnderWay(gma.under_way()),
      gma_(gma),
      allocator_(allocator),
      teams_(teams),
      telling_(gma),
      rails_(rails),
      looks_(node::looks_before_wait(gma.space().segment(), looks_alone)),
      patterns_(made.patterns),
      plans_(made.plans) {}

Status Plans::none(const char* what) {
    return {Code::stale,
            std::string("there is no such ") + what + ": it was freed, or never made by this rank"};
}

Status Plans::busy(const char* what) {
    return {Code::state, std::string("another thread of this rank is in a call on the ") + what};
}

Result<PatternHandle> Plans::make_pattern(team::TeamHandle team) {
    std::optional<Pattern> pattern;
    auto status =
        teams_.ask(team, [&](const team::Membership& members) { pattern.emplace(members); });
    if (!status.is_ok()) return status;
    PatternEntry* const entry = patterns_.take();
    if (entry == nullptr) return Status(Code::limit, "this process has too many patterns");
    entry->team = team;
    entry->pattern = std::move(pattern);
    return patterns_.show(*entry);
}

Status Plans::free_pattern(PatternHandle handle) {
    Use use(patterns_, handle);
    if (!use.is_ok()) return use.why("pattern");
    PatternEntry& entry = use.entry();
    entry.pattern.reset();
    use.give_back(patterns_);
    return {};
}

Result<PlanHandle> Plans::compile(PatternHandle handle, const char* network) {
    const Use use(patterns_, handle);
    if (!use.is_ok()) return use.why("pattern");
    const team::Membership& members = use.entry().pattern->members();
    return compile_in(use.entry(), prepare(*use.entry().pattern, [&](const auto& messages) {
                          return order_on(network, members, messages, rails_);
                      }));
}

Result<PlanHandle> Plans::load(PatternHandle handle, const char* path) {
    const Use use(patterns_, handle);
    if (!use.is_ok()) return use.why("pattern");
    const team::Membership& members = use.entry().pattern->members();
    return compile_in(use.entry(), prepare(*use.entry().pattern, [&](const auto& messages) {
                          return order_in(path, {members.own(), members.size(), messages});
                      }));
}

//   order_of  a function that makes the send order of the messages
template <typename OrderOf>
Plans::Preparation Plans::prepare(const Pattern& pattern, const OrderOf& order_of) {
    Preparation made;
    try {
        made.plan = plans_.take();
        made.sent = sent_of(pattern);
        made.messages = messages_of(made.sent);
        auto order = order_of(made.messages);
        if (order.is_ok()) {
            made.order = std::move(order).value();
            made.layout = layout_of(gma_.space(), pattern, made.sent, made.order);
        } else {
            made.refusal = std::move(order).failure();
        }
        if (made.plan == nullptr)
            made.refusal = Status(Code::limit, "this process has too many plans");
    } catch (const std::bad_alloc&) {
        made.refusal = Status::bare(Code::memory);
    }
    return made;
}

// Every member takes part in the collective call, even one that failed to prepare. The last barrier
// begins only after all members have made their routes, so either all get a plan or none does.
Result<PlanHandle> Plans::compile_in(const PatternEntry& entry, Preparation own) {
    const Pattern& pattern = *entry.pattern;
    Status refusal = std::move(own.refusal);
    PlanEntry* const plan = own.plan;
    std::unique_ptr<Rounds> rounds;
    const RailUse rails{rails_, own.order.engines};
    std::uint64_t number = 0;
    auto status = teams_.run(
        entry.team, Signature(CollectiveCall::compile_pattern, 0), [&](team::Team& team) {
            number = team.next_plan();
            Compiler compiler(gma_, allocator_, team, pattern, own.sent, own.layout, rails);
            auto routes = compiler.compile(std::move(refusal));
            refusal = {};
            if (!routes.is_ok()) {
                refusal = std::move(routes).failure();
                return !team.is_broken();
            }
            rounds = std::make_unique<Rounds>(gma_, telling_, std::move(routes).value());
            return team::synchronize(team);
        });
    if (!refusal.is_ok()) status = std::move(refusal);
    if (!status.is_ok()) {
        // Other members may have left the last barrier with a plan: the failure notifies them.
        if (rounds != nullptr) rounds->fail(status);
        if (plan != nullptr) plans_.give_back(*plan);
        return status;
    }
    plan->team = entry.team;
    plan->number = number;
    plan->member = pattern.members().own();
    plan->members = pattern.members().size();
    plan->sent = std::move(own.messages);
    plan->order = std::move(own.order);
    plan->rounds = std::move(rounds);
    return plans_.show(*plan);
}

Status Plans::save(PlanHandle handle, const char* path) {
    if (path == nullptr) return {Code::argument, "the path is NULL"};
    std::string text;
    {
        const Use use(plans_, handle, CallLock::Use::moment);
        if (!use.is_ok()) return use.why("plan");
        const PlanEntry& plan = use.entry();
        text = exchange::text_of(plan.order, {plan.member, plan.members, plan.sent});
    }
    if (text.size() > saved_bytes_max) {
        return {Code::limit, "the plan takes " + base::in_bytes(text.size()) +
                                 ", and a saved plan " + base::in_bytes(saved_bytes_max) +
                                 " at most"};
    }
    return os::write_whole_file(path, text);
}

// Adds or removes a plan in the count of WorkUnderWay. The caller holds the plan's lock.
void Plans::count(PlanEntry& plan) noexcept {
    const bool is_under_way = plan.rounds->is_under_way();
    if (is_under_way == std::exchange(plan.is_counted, is_under_way)) return;
    if (is_under_way) {
        count_begun();
    } else {
        count_ended();
    }
}

Status Plans::start(PlanHandle handle) {
    const Use use(plans_, handle, CallLock::Use::moment);
    if (!use.is_ok()) return use.why("plan");
    Status status = use.entry().rounds->start();
    count(use.entry());
    return status;
}

Result<bool> Plans::test(PlanHandle handle) {
    Use use(plans_, handle, CallLock::Use::moment);
    if (!use.is_ok()) return use.why("plan");
    auto ended = use.entry().rounds->test();
    count(use.entry());
    use.let_go();
    if (ended.is_ok() && !ended.value()) gma_.under_way().look_in_vain();
    return ended;
}

Status Plans::wait(PlanHandle handle) {
    const Use use(plans_, handle);
    if (!use.is_ok()) return use.why("plan");
    Status status = use.entry().rounds->wait(looks_, teams_.is_checking());
    count(use.entry());
    return status;
}

// Skips a plan that is locked for a call: the thread in that call makes the plan's progress, or
// frees it.
void Plans::go_on(bool is_thorough) noexcept {
    plans_.for_each([this, is_thorough](PlanEntry& plan) {
        constexpr auto moment = CallLock::Use::moment;
        const bool is_mine = is_thorough ? plan.lock.lock(moment)
                                         : plan.lock.try_lock(moment) == CallLock::Use::none;
        if (!is_mine) return;
        if (plan.is_counted) {
            plan.rounds->go_on();
            count(plan);
        }
        plan.lock.unlock();
    });
}

Result<std::string> Plans::explain(PlanHandle handle) {
    const Use use(plans_, handle, CallLock::Use::moment);
    if (!use.is_ok()) return use.why("plan");
    const Rounds& rounds = *use.entry().rounds;
    return execution::explain(rounds.routes(), use.entry().order, rounds.balance());
}

Status Plans::free_plan(PlanHandle handle) {
    Use use(plans_, handle);
    if (!use.is_ok()) return use.why("plan");
    PlanEntry& entry = use.entry();
    if (entry.rounds->is_started() && !entry.rounds->has_broken()) {
        use.let_go();
        gma_.under_way().wake_waiters();  // they may have skipped this plan before they slept
        return {Code::state, "it was started, and no call has returned its end yet"};
    }
    count(entry);
    Status status = release(entry);
    if (status.code() == Code::state) return status;  // no member was reached: the plan stays
    entry.rounds.reset();
    use.give_back(plans_);
    return status;
}

// Frees the plan's blocks after a barrier, after which no other member uses them.
Status Plans::release(PlanEntry& plan) {
    plan.rounds->settle();
    if (plan.rounds->is_broken()) telling_.settle();  // telling_ writes to blocks of other members
    auto status = teams_.run(plan.team, Signature(CollectiveCall::free_plan, plan.number),
                             [](team::Team& team) { return team::synchronize(team); });
    if (!status.is_ok()) return status;
    for (const GlobalAddress block : plan.rounds->routes().blocks) {
        auto freed = allocator_.free(block);
        if (status.is_ok()) status = std::move(freed);
    }
    return status;
}

void Plans::settle_sent() noexcept {
    plans_.for_each([](PlanEntry& plan) { plan.rounds->settle(); });
    telling_.settle();
}

}  // namespace acp::execution
