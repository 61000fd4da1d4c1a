// SPDX-License-Identifier: BSD-3-Clause
// The conditions that waits poll, and the work before a sleep.
#include "pm/waits.hpp"

#include <algorithm>
#include <utility>

#include "gma/condition.hpp"

namespace acp::pm {

namespace {

using gma::LookResult;

// There is no notification when a remote context opens or regains a lease; the sender polls with
// exponential backoff. Credits and ends of puts wake it at once.
constexpr std::int64_t far_look_first_ns = 250'000;
constexpr std::int64_t far_look_last_ns = 16'000'000;

memory::Command told_of(const Context& context, std::uint32_t process) {
    const local::Space& space = context.gma().space();
    memory::Command told;
    told.source = space.starter_address(space.process());
    told.target = space.starter_address(process);
    return told;
}

class MessageCondition final : public gma::Condition {
public:
    explicit MessageCondition(Context& context) noexcept : context_(context) {}

    LookResult look() override {
        if (std::exchange(is_announced_, false)) context_.prepare_sleep();
        const bool has_come =
            context_.has_message() || (!context_.is_holding() && context_.has_gone());
        return has_come ? LookResult::all : LookResult::nothing;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        is_announced_ = true;
        const memory::Command told = told_of(context_, context_.gma().space().process());
        entry.tell(node::WaitFor::partner, since_ns, &told, "for a message from any rank");
    }

private:
    Context& context_;
    bool is_announced_ = false;
};

class RoomCondition final : public gma::Condition {
public:
    RoomCondition(Context& context, std::uint32_t process, std::uint64_t bytes) noexcept
        : context_(context), process_(process), bytes_(bytes) {}

    LookResult look() override {
        if (std::exchange(is_announced_, false)) context_.prepare_sleep();
        // Not repeated after success: the reserved room stays.
        if (found_.outcome == RoomWait::timeout) found_ = find();
        return found_.outcome == RoomWait::timeout ? LookResult::nothing : LookResult::all;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        is_announced_ = true;
        const memory::Command told = told_of(context_, process_);
        entry.tell(node::WaitFor::partner, since_ns, &told, "for rank % to receive messages");
    }

    // A wake after the pause counts as a ring: the wait is one sleep, which is shown since its
    // beginning.
    os::Wake sleep_on(const std::atomic<std::uint32_t>& bell,
                      std::uint32_t value,
                      std::int64_t timeout_ns,
                      os::SignalGate* signals) override {
        if (!context_.has_far() || timeout_ns <= pause_ns_) {
            return Condition::sleep_on(bell, value, timeout_ns, signals);
        }
        const os::Wake wake = Condition::sleep_on(bell, value, pause_ns_, signals);
        pause_ns_ = std::min(2 * pause_ns_, far_look_last_ns);
        return wake == os::Wake::timeout ? os::Wake::changed : wake;
    }

    [[nodiscard]] RoomFound take_found() noexcept { return std::move(found_); }

private:
    [[nodiscard]] RoomFound find() {
        char* const room = context_.reserve(process_, bytes_);
        if (room != nullptr) return {RoomWait::room, room, {}};
        if (auto why = context_.why_no_room(process_); !why.is_ok())
            return {RoomWait::never, nullptr, std::move(why)};
        const bool has_news =
            !context_.is_holding() && (context_.has_message() || context_.has_gone());
        return {has_news ? RoomWait::message : RoomWait::timeout, nullptr, {}};
    }

    Context& context_;
    std::uint32_t process_;
    std::uint64_t bytes_;
    bool is_announced_ = false;
    std::int64_t pause_ns_ = far_look_first_ns;  // until the next poll of a context on another node
    RoomFound found_;
};

}  // namespace

bool wait_for_message(Context& context, std::int64_t timeout_ns) {
    if (context.is_holding()) return true;
    MessageCondition condition(context);
    return context.gma().wait_until(condition, timeout_ns) == node::Outcome::ready;
}

RoomFound wait_for_room(Context& context,
                        std::uint32_t process,
                        std::uint64_t bytes,
                        std::int64_t timeout_ns) {
    RoomCondition condition(context, process, bytes);
    (void)context.gma().wait_until(condition, timeout_ns);
    return condition.take_found();
}

}  // namespace acp::pm
