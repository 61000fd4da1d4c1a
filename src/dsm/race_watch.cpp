// SPDX-License-Identifier: BSD-3-Clause
// Defines the meeting of the leaders, and the counters and messages that follow it.
#include "dsm/race_watch.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dsm/race_report.hpp"
#include "team/collectives.hpp"

namespace acp::dsm {

namespace {

using base::Code;
using base::Status;

// The next epoch begins before a rank of any node leaves.
class RaceMeeting final : public team::LeaderMeeting {
public:
    //   stops  a race becomes the outcome of the barrier
    RaceMeeting(RaceCheck& check, NodeState<> state, bool stops) noexcept
        : check_(check), state_(state), stops_(stops) {}

    [[nodiscard]] std::uint64_t bytes_max() const noexcept override { return sizeof(RaceLog); }

    std::span<const char> notice() override {
        check_.begin_epoch();
        return check_.notice();
    }

    void settle(std::span<const std::span<const char>> notices) override {
        check_.settle(notices);
        if (stops_ && check_.log().races != 0 && state_.outcome() == Code::ok)
            state_.set_outcome(Code::state);
    }

private:
    RaceCheck& check_;
    NodeState<> state_;
    bool stops_;
};

}  // namespace

std::unique_ptr<RaceWatch> RaceWatch::start(const Window& window,
                                            const node::Segment& segment,
                                            const RaceWatchPlan& plan,
                                            std::byte* memory) {
    if (plan.check == base::PageCheck::off) return nullptr;
    const auto* const block = reinterpret_cast<const char*>(window.plain(0).data());
    const BlockFile file{segment.has_file() ? segment.file() : -1,
                         static_cast<std::uint64_t>(block - segment.base())};
    return std::unique_ptr<RaceWatch>(new RaceWatch(window, plan, memory, file));
}

bool RaceWatch::meet(team::Team& team, NodeState<> state, RaceCounts& counts, Status& status) {
    const bool stops = plan_.check == base::PageCheck::stop;
    RaceMeeting meeting(check_, state, stops);
    if (!team::synchronize_with_leaders(team, meeting)) return false;
    const RaceLog& log = check_.log();
    counts.races.fetch_add(log.races, std::memory_order_relaxed);
    counts.unchecked.fetch_add(log.unchecked, std::memory_order_relaxed);
    const RaceReport report(window_, plan_.allocated, team.members());
    if (stops && log.races != 0 && status.is_ok())
        status = Status::worded(Code::state, [&] { return report.summary_of(log); });
    if (team.members().own() == 0) report.print(log, stops);
    return true;
}

Status RaceWatch::send_touches(HomeLink& link, std::uint32_t rank) {
    if (touches_ == nullptr) return {};
    std::vector<std::vector<operations::TouchedByte>> of_node(window_.nodes());
    Status first;
    const auto send = [&](pages::NodeNumber home) {
        if (of_node[home].empty()) return;
        Status status = link.wait(link.note_touches(of_node[home], home));
        if (first.is_ok()) first = std::move(status);
        of_node[home].clear();
    };
    const pages::HomeTable<> homes = window_.homes();
    touches_->take([&](pages::PageNumber page, std::uint32_t byte) {
        const pages::NodeNumber home = homes.home(page);
        if (home == window_.node()) check_.add_touch(page, byte, rank);
        if (home == pages::no_node || home == window_.node()) return;
        of_node[home].push_back({static_cast<std::uint32_t>(page), byte});
        if (of_node[home].size() == operations::touches_max) send(home);
    });
    for (pages::NodeNumber home = 0; home < window_.nodes(); ++home) send(home);
    return first;
}

}  // namespace acp::dsm
