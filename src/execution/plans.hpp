// SPDX-License-Identifier: BSD-3-Clause
// The patterns and plans of a process, named by handles. Waiting threads make progress on all
// started plans (gma/under_way.hpp). There is one Plans per epoch. Any thread may call it, but only
// one at a time for each pattern or plan.
// Tests: tests/unit/execution/plans_test.cpp, tests/conformance/exchange_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "exchange/send_order.hpp"
#include "gma/gma.hpp"
#include "gma/under_way.hpp"
#include "message/slots.hpp"
#include "team/call_lock.hpp"
#include "team/teams.hpp"

#include "execution/pattern.hpp"
#include "execution/rounds.hpp"

namespace acp::execution {

using PatternHandle = message::SlotHandle;
using PlanHandle = message::SlotHandle;

class Plans final : public gma::WorkUnderWay {
public:
    // How many pattern and plan handles earlier epochs have made.
    struct HandlesMade {
        std::uint64_t patterns = 0;
        std::uint64_t plans = 0;
    };

    //   rails  how many rails connect the nodes
    //   made   handles_made() of the epoch before this one
    //   all other arguments must outlive this
    Plans(gma::Gma& gma,
          data::Allocator& allocator,
          team::Teams& teams,
          unsigned rails,
          const HandlesMade& made) noexcept;
    ~Plans() override = default;
    Plans(const Plans&) = delete;
    Plans& operator=(const Plans&) = delete;

    // An empty pattern of a team. Errors: stale, limit.
    base::Result<PatternHandle> make_pattern(team::TeamHandle team);

    // Calls add(pattern), which returns a Status. Errors: stale, state.
    template <typename Add>
    base::Status add(PatternHandle handle, const Add& add) {
        const Use use(patterns_, handle);
        return use.is_ok() ? add(*use.entry().pattern) : use.why("pattern");
    }

    base::Status free_pattern(PatternHandle handle);

    //   network  a network as text; nullptr: none
    // Errors: stale, which is local. On all members: argument and limit (from the network), and
    // those of Compiler::compile.
    base::Result<PlanHandle> compile(PatternHandle handle, const char* network);

    // compile() with the send order of a saved plan. Errors: stale, which is local. On all members:
    // argument, mismatch, limit, system (reading the file), and those of Compiler::compile.
    base::Result<PlanHandle> load(PatternHandle handle, const char* path);

    // Errors: stale, state, system.
    base::Status save(PlanHandle handle, const char* path);

    base::Status start(PlanHandle handle);

    base::Result<bool> test(PlanHandle handle);
    base::Status wait(PlanHandle handle);
    base::Result<std::string> explain(PlanHandle handle);

    // Errors: state (the plan is started), stale: the plan stays. After any other error the plan is
    // freed.
    base::Status free_plan(PlanHandle handle);

    void go_on(bool is_thorough) noexcept override;

    // Waits until every command that plans have issued has ended.
    void settle_sent() noexcept;

    [[nodiscard]] HandlesMade handles_made() {
        return {patterns_.handles_made(), plans_.handles_made()};
    }

private:
    struct PatternEntry {
        static constexpr message::SlotKind slot_kind = message::slot_kind_above<2>;
        message::SlotEntry slot;
        team::CallLock lock;
        team::TeamHandle team = team::no_team;
        std::optional<Pattern> pattern;
    };

    struct PlanEntry {
        static constexpr message::SlotKind slot_kind = message::slot_kind_above<3>;
        message::SlotEntry slot;
        team::CallLock lock;
        team::TeamHandle team = team::no_team;
        std::uint64_t number = 0;  // counts the plans of the team; the same on all members
        std::uint32_t member = 0;  // this member's team rank, below `members`
        std::uint32_t members = 0;
        std::vector<exchange::SentMessage> sent;
        exchange::SendOrder order;  // the order in which the messages of `sent` leave
        std::unique_ptr<Rounds> rounds;
        bool is_counted = false;  // WorkUnderWay counts this plan
    };

    // Finds the entry of a handle and locks it for the calling thread.
    template <typename Entry>
    class Use {
    public:
        Use(const message::Slots<Entry>& slots,
            message::SlotHandle handle,
            team::CallLock::Use how = team::CallLock::Use::call) noexcept
            : entry_(slots.find(handle)) {
            is_mine_ = entry_ != nullptr && entry_->lock.lock(how);
            // Another thread may have freed the entry between find() and lock().
            if (!is_mine_ || slots.is_still(*entry_, handle)) return;
            let_go();
            entry_ = nullptr;
        }

        ~Use() { let_go(); }

        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

        void let_go() noexcept {
            if (std::exchange(is_mine_, false)) entry_->lock.unlock();
        }

        // Frees the entry, which this thread has locked.
        void give_back(message::Slots<Entry>& slots) noexcept {
            slots.hide(*entry_);
            let_go();
            slots.give_back(*entry_);
        }

        [[nodiscard]] bool is_ok() const noexcept { return is_mine_; }

        [[nodiscard]] Entry& entry() const noexcept { return *entry_; }

        [[nodiscard]] base::Status why(const char* what) const {
            return entry_ == nullptr ? none(what) : busy(what);
        }

    private:
        Entry* entry_;
        bool is_mine_ = false;
    };

    static base::Status none(const char* what);
    static base::Status busy(const char* what);
    struct Preparation;
    template <typename OrderOf>
    Preparation prepare(const Pattern& pattern, const OrderOf& order_of);
    base::Result<PlanHandle> compile_in(const PatternEntry& entry, Preparation own);
    base::Status release(PlanEntry& plan);
    void count(PlanEntry& plan) noexcept;

    gma::Gma& gma_;
    data::Allocator& allocator_;
    team::Teams& teams_;
    team::Telling telling_;
    unsigned rails_;
    int looks_;  // polls before a wait becomes a full one
    message::Slots<PatternEntry> patterns_;
    message::Slots<PlanEntry> plans_;
};

}  // namespace acp::execution
