// SPDX-License-Identifier: BSD-3-Clause
// Runs the programs and checks the rules: a command begins when its order allows and completes
// exactly once; it succeeds only when all its bytes are in place, and fails only for a reason that
// a fault gave; an operation runs once; a meeting ends when all nodes have joined it; all nodes
// report a death. Other classes judge meetings, memory and reports of losses; they do not know the
// referee. Knows routers by their calls and reports alone, and neither endpoint nor network. One
// thread.
// Tests: tests/unit/sim/world_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "router/router.hpp"
#include "sim/casualties.hpp"
#include "sim/command_name.hpp"
#include "sim/meeting_judge.hpp"
#include "sim/memory_judge.hpp"
#include "sim/placement.hpp"

namespace acp::sim {

struct RefereeCounts {
    std::uint64_t ended_well = 0;
    std::uint64_t ended_badly = 0;
    std::uint64_t bytes = 0;  // copied by successful commands
};

class Referee final : public Witness {
public:
    // All arguments must outlive it.
    Referee(const Plan& plan, const Workplan& work, Memory& memory, Judge& judge);

    // Gives the router of a node the commands that its processes are to begin now. Returns when to
    // call again.
    Time issue(NodeId node, Time now, router::Router& router);

    // Judge what routers report.
    void on_completion(NodeId node, const router::CommandEnd& completion);
    void on_result(NodeId node,
                   std::uint32_t initiator,
                   std::uint64_t token,
                   std::span<const std::byte> result);

    void on_process_dead(NodeId node, std::uint32_t process, const base::ProcessEnd& end) {
        casualties_.on_process_dead(node, process, end);
    }

    void on_node_dead(NodeId node, NodeId dead) { casualties_.on_node_dead(node, dead); }

    void on_met(NodeId node, std::uint32_t number, std::span<const std::uint32_t> table) {
        meetings_.on_met(node, number, table);
    }

    void on_invoked(std::uint32_t process, std::span<const std::byte> arguments) override;

    // Note what the faults did.
    void kill(std::uint32_t process);
    void restart(NodeId node);

    // Notes that one of the two has severed the other.
    void cut(NodeId a, NodeId b) { casualties_.cut(a, b); }

    [[nodiscard]] bool is_dead(std::uint32_t process) const noexcept {
        return casualties_.is_dead(process);
    }

    [[nodiscard]] const std::vector<std::uint8_t>& dead() const noexcept {
        return casualties_.dead();
    }

    // Whether any node has severed this one, it has severed any node, or it was restarted.
    [[nodiscard]] bool is_broken(NodeId node) const noexcept { return casualties_.is_broken(node); }

    [[nodiscard]] bool is_any_cut() const noexcept { return casualties_.is_any_cut(); }

    // Whether all commands, meetings and reports that must come have come.
    [[nodiscard]] bool is_done() const;

    // Whether a node joined a meeting that has not ended there. If is_done(), a loss keeps that
    // meeting from ending.
    [[nodiscard]] bool is_meeting_stuck() const { return meetings_.is_stuck(); }

    // Describes the unfinished commands, meetings and reports, for a message.
    [[nodiscard]] std::string unfinished() const;

    // Checks all memory and all shared words. Call once at the end of each round.
    void look_at_all() { memory_.look_at_all(); }

    // Begins another round: all programs run again on memory as it is now, and as many meetings
    // follow. Only when is_done().
    void begin_round(Time now);

    // Bytes of the successful copies of this process.
    [[nodiscard]] std::uint64_t bytes_of(std::uint32_t process) const noexcept {
        return initiators_[process].bytes;
    }

    [[nodiscard]] const RefereeCounts& counts() const noexcept { return counts_; }

private:
    enum class State : std::uint8_t { uncalled, waiting, issued, well, badly };

    struct StepProgress {
        State state = State::uncalled;
        std::uint8_t invoked = 0;  // how often its operation ran
        bool has_result = false;
        std::uint32_t result_bytes = 0;
        std::vector<std::byte> arguments;  // while the router has an invoke
    };

    struct Initiator {
        std::vector<StepProgress> steps;
        std::uint32_t called = 0;  // steps that the program has reached
        std::uint32_t prefix = 0;  // all steps before this one have ended
        std::uint64_t bytes = 0;
        Time next_call = 0;
        // steps that the program has reached and that wait for their order, or for room in the
        // router
        std::vector<std::uint32_t> waiting;
        bool is_gone = false;  // the process died, or its node was restarted
    };

    void call(std::uint32_t process, Time now);
    [[nodiscard]] std::span<const std::uint32_t> run_at(std::uint32_t process,
                                                        std::size_t first) const;
    std::size_t submit(std::uint32_t process,
                       std::span<const std::uint32_t> run,
                       Time now,
                       router::Router& router);
    bool invoke(std::uint32_t process, std::uint32_t index, Time now, router::Router& router);

    [[nodiscard]] const ProgramStep& step_of(std::uint32_t process, std::uint32_t index) const {
        return work_->programs[process][index];
    }

    bool find(NodeId node, std::uint32_t initiator, std::uint64_t token, std::uint32_t& index);
    void end_one(std::uint32_t process, std::uint32_t index, const router::CommandEnd& completion);
    void end_well(std::uint32_t process, std::uint32_t index);
    void end_badly(std::uint32_t process,
                   std::uint32_t index,
                   const router::CommandEnd& completion);
    void check_bad(std::uint32_t process,
                   std::uint32_t index,
                   const router::CommandEnd& completion);
    void check_invoke(std::uint32_t process, std::uint32_t index);
    void abandon(std::uint32_t process);
    [[nodiscard]] bool may_fail(std::uint32_t process, const ProgramStep& step) const;

    [[nodiscard]] CommandName name_of(std::uint32_t process, std::uint32_t index) const noexcept {
        return {work_, process, index};
    }

    const Plan* plan_;
    const Workplan* work_;
    Judge* judge_;
    Casualties casualties_;
    MeetingJudge meetings_;
    MemoryJudge memory_;
    std::vector<Initiator> initiators_;
    RefereeCounts counts_;
    std::uint64_t left_ = 0;  // steps of living processes that have not ended
};

}  // namespace acp::sim
