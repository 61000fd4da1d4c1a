// SPDX-License-Identifier: BSD-3-Clause
// A plan that is carried out round by round. start() copies to the outbox what its receivers cannot read in place, tells the receivers of this
// node by one word, and hands parcels to the network; when the outbox or a landing area is still in use for the round before the last one,
// that is done by a later call. Receivers take what has come, and say by a word for each sender that they have it. So a member is at most two
// rounds ahead of those it sends to, and nobody waits for others than its partners.
//
// That a member is dead each notices by itself. A member that gives up for another reason (its network, its memory) tells its partners, and
// they theirs.
// For one thread at a time. Tests: tests/conformance/exchange_test.cpp, tests/exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "gma/gma.hpp"
#include "team/breakage.hpp"
#include "team/telling.hpp"

#include "execution/rail_balance.hpp"
#include "execution/routes.hpp"

namespace acp::execution {

class Rounds {
public:
    //   gma, telling  outlive this
    // Throws std::bad_alloc.
    Rounds(gma::Gma& gma, team::Telling& telling, PlanRoutes routes);

    Rounds(const Rounds&) = delete;
    Rounds& operator=(const Rounds&) = delete;
    ~Rounds() = default;

    // Errors: state, peer, memory, or those with which a parcel has failed: then the plan is broken.
    base::Status start();

    // Whether the round has ended. Errors: likewise.
    base::Result<bool> test();

    // Goes on with a round that was started, in a thread that waits for something else.
    void go_on() noexcept;

    // Whether a round was started that has not ended yet, as far as anybody has looked.
    [[nodiscard]] bool is_under_way() const noexcept {
        return is_started_ && !is_over_ && !is_broken();
    }

    // Waits for its end.
    //   looks        before the full wait begins
    //   is_checking  as of team::TeamTools: a member that is in a call of all ranks instead is told of
    // Errors: likewise; mismatch.
    base::Status wait(int looks, bool is_checking);

    [[nodiscard]] bool is_started() const noexcept { return is_started_; }

    // Why start() and wait() fail; it stays so.
    [[nodiscard]] bool is_broken() const noexcept { return breakage_.is_broken(); }

    // The same, after a look whether a member has died.
    [[nodiscard]] bool has_broken() noexcept;

    // The plan is of no use to the caller: breaks it, and tells its partners, who may have begun a round.
    void fail(const base::Status& why) noexcept;

    // Waits for what was handed to the network, and takes its failures.
    void settle() noexcept;

    [[nodiscard]] const PlanRoutes& routes() const noexcept { return routes_; }

    [[nodiscard]] const RailBalance& balance() const noexcept { return balance_; }

private:
    class RoundEnd;

    // Runs body(); where it is refused memory the plan is broken, for a part of the round may be missing.
    template <typename Body>
    void run(const Body& body) noexcept;
    // Goes on, and tells whether the round has ended, or the plan is broken.
    bool look_whether_over();
    bool step();
    void send_if_possible();
    void look_at_rails(std::uint64_t now_ns);
    void send_all(std::size_t parity);
    void send_parcel(const RoutedParcel& parcel, std::size_t parity, GlobalAddress to);
    void set_word(std::uint32_t process,
                  GlobalAddress word,
                  std::span<const std::byte> bytes,
                  GlobalAddress target,
                  gma::Handle order);
    [[nodiscard]] bool has_come(IncomingRoute& incoming) const noexcept;
    void take(IncomingRoute& incoming);
    [[nodiscard]] bool are_all_consumed() const noexcept;
    void publish(RoundWord& word) const noexcept;
    void ring_partners() noexcept;
    void wait_and_watch(RoundEnd& end);
    void forget_ended();
    void end_oldest();
    void look();
    void give_up(base::Code code, std::string_view why) noexcept;
    void tell_partners() noexcept;
    [[nodiscard]] base::Status end_round();
    [[nodiscard]] std::uint32_t process_awaited() const noexcept;

    struct UnderWay {
        gma::Handle handle = gma::handle_null;
        bool is_in_place = false;  // the round lasts until it has ended
    };

    gma::Gma& gma_;
    PlanRoutes routes_;
    team::TellingRoom telling_room_;  // for all partners on other nodes
    RailBalance balance_;
    std::uint64_t round_ = 0;
    std::size_t missing_ = 0;   // members that something must come from in this round
    std::size_t in_place_ = 0;  // commands under way that the round lasts for
    bool is_started_ = false;
    bool is_over_ = false;  // the round that was started
    bool is_sent_ = false;
    bool is_fence_by_each_;  // the kernel refuses the barrier that a sleeper would ask for
    std::deque<UnderWay> under_way_;
    team::Breakage breakage_;
};

}  // namespace acp::execution
