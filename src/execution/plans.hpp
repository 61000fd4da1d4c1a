// SPDX-License-Identifier: BSD-3-Clause
// The patterns and plans of a process by handle. Threads that wait go on with all plans that were started (gma/under_way.hpp). One for each
// epoch. Any thread, but one at a time for each pattern or plan.
// Tests: tests/conformance/exchange_test.cpp.
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
    // How many patterns and plans the epochs before have made.
    struct HandlesMade {
        std::uint64_t patterns = 0;
        std::uint64_t plans = 0;
    };

    //   rails  that connect the nodes
    //   made   handles_made() of the epoch before this one
    //   all else outlives this
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

    //   network  text; nullptr: none
    // Errors: stale; argument and limit (of the network), and those of Compiler::compile, are told to all members.
    base::Result<PlanHandle> compile(PatternHandle handle, const char* network);

    // compile() in the order of a plan that was saved. Errors: stale; argument, mismatch, limit, system (the file), and those of
    // Compiler::compile, are told to all members.
    base::Result<PlanHandle> load(PatternHandle handle, const char* path);

    // Errors: stale, state, system.
    base::Status save(PlanHandle handle, const char* path);

    base::Status start(PlanHandle handle);

    base::Result<bool> test(PlanHandle handle);
    base::Status wait(PlanHandle handle);
    base::Result<std::string> explain(PlanHandle handle);

    // Errors: state (it is started), stale; after any other one it is gone.
    base::Status free_plan(PlanHandle handle);

    void go_on(bool is_thorough) noexcept override;

    // Waits for what plans have handed to the network.
    void settle_sent() noexcept;

    [[nodiscard]] HandlesMade handles_made() {
        return {patterns_.handles_made(), plans_.handles_made()};
    }

private:
    struct PatternEntry {
        static constexpr message::SlotKind slot_kind = message::SlotKind::pattern;
        message::SlotEntry slot;
        team::CallLock lock;
        team::TeamHandle team = team::no_team;
        std::optional<Pattern> pattern;
    };

    struct PlanEntry {
        static constexpr message::SlotKind slot_kind = message::SlotKind::plan;
        message::SlotEntry slot;
        team::CallLock lock;
        team::TeamHandle team = team::no_team;
        std::uint64_t number = 0;  // of the plans of the team, the same on all members
        std::uint32_t member = 0;  // of so many
        std::uint32_t members = 0;
        std::vector<exchange::SentMessage> sent;
        exchange::SendOrder order;  // of these
        std::unique_ptr<Rounds> rounds;
        bool is_counted = false;  // as under way
    };

    // What a handle names, for one thread.
    template <typename Entry>
    class Use {
    public:
        Use(const message::Slots<Entry>& slots,
            message::SlotHandle handle,
            team::CallLock::Use how = team::CallLock::Use::call) noexcept
            : entry_(slots.find(handle)) {
            is_mine_ = entry_ != nullptr && entry_->lock.lock(how);
            // It may have been freed since it was found.
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

        // What was used is freed.
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
    int looks_;  // before a wait becomes a full one
    message::Slots<PatternEntry> patterns_;
    message::Slots<PlanEntry> plans_;
};

}  // namespace acp::execution
