// SPDX-License-Identifier: BSD-3-Clause
// A plan that is carried out round by round. start() copies messages that receivers cannot read in
// place to the outbox, publishes the round to the receivers of this node by one word, and issues
// the parcels to other nodes. While the outbox or a landing area is still in use for the round
// before the last one, start() sends nothing, and a later call does. Receivers take the messages
// that have arrived, and acknowledge them by one word for each sender. So a member is at most two
// rounds ahead of its receivers, and waits for its partners only.
// Each member detects the death of a member by itself. A member that gives up for another reason
// (its network, its memory) notifies its partners, and these notify theirs.
// One thread at a time. Tests: tests/unit/execution/rounds_test.cpp,
// tests/conformance/exchange_test.cpp, tests/exchange.
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
    // Throws std::bad_alloc.
    //   gma, telling  must outlive this
    Rounds(gma::Gma& gma, team::Telling& telling, PlanRoutes routes);

    Rounds(const Rounds&) = delete;
    Rounds& operator=(const Rounds&) = delete;
    ~Rounds() = default;

    // Errors: state, peer, memory, or the error of a failed parcel. After any of them but state the
    // plan is broken.
    base::Status start();

    // Whether the round has ended. Errors: those of start().
    base::Result<bool> test();

    // Makes progress on a started round, in a thread that waits for something else.
    void go_on() noexcept;

    // Whether a round is in flight, as of the last poll.
    [[nodiscard]] bool is_under_way() const noexcept {
        return is_started_ && !is_over_ && !is_broken();
    }

    // Waits for the end of the round. Errors: those of start(); mismatch.
    //   looks        how many polls precede the full wait
    //   is_checking  as in team::TeamTools: fails with mismatch if an awaited member is in a call
    //                all ranks instead
    base::Status wait(int looks, bool is_checking);

    [[nodiscard]] bool is_started() const noexcept { return is_started_; }

    // A broken plan stays broken: start() and wait() fail with the same error.
    [[nodiscard]] bool is_broken() const noexcept { return breakage_.is_broken(); }

    // is_broken() after a check for members that have died.
    [[nodiscard]] bool has_broken() noexcept;

    // The caller cannot use the plan: breaks it and notifies its partners, which may have started a
    // round.
    void fail(const base::Status& why) noexcept;

    // Waits for all commands in flight. A failure breaks the plan; no error is returned.
    void settle() noexcept;

    [[nodiscard]] const PlanRoutes& routes() const noexcept { return routes_; }

    [[nodiscard]] const RailBalance& balance() const noexcept { return balance_; }

private:
    class RoundEnd;

    // Runs body(). If it throws bad_alloc, the plan is broken, for a part of the round may be
    // missing.
    template <typename Body>
    void run(const Body& body) noexcept;
    // Makes progress. True: the round has ended, or the plan is broken.
    bool look_whether_over();
    bool step();
    void send_if_possible();
    void look_at_rails(std::uint64_t now_ns);
    void send_all(std::size_t parity);
    void send_parcel(const RoutedParcel& parcel, std::size_t parity, GlobalAddress to);
    void set_word(std::uint32_t process,
                  GlobalAddress word,
                  std::span<const std::byte> bytes,
                  GlobalAddress target);
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
        bool is_in_place = false;  // the round ends only after this command
    };

    gma::Gma& gma_;
    PlanRoutes routes_;
    team::TellingRoom telling_room_;  // one place for each partner on another node
    RailBalance balance_;
    std::uint64_t round_ = 0;
    std::size_t missing_ = 0;   // members whose messages of this round have not arrived
    std::size_t in_place_ = 0;  // commands in flight with is_in_place
    bool is_started_ = false;
    bool is_over_ = false;  // the started round has ended
    bool is_sent_ = false;
    bool is_fence_by_each_;  // no membarrier: each publish() is itself a full fence
    std::deque<UnderWay> under_way_;
    team::Breakage breakage_;
};

}  // namespace acp::execution
