// SPDX-License-Identifier: BSD-3-Clause
// Runs the programs and sees to the rules: a process's command begins when its order allows, ends exactly once,
// well only when all its bytes are in place, badly only for a reason the faults gave; an operation runs once; a
// meeting is over when all have come; a death is heard of. Has parts judge meetings, memory and news of losses, none of which
// knows it. Knows routers by what they are asked and tell, no endpoint and no network. One thread.
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
    std::uint64_t bytes = 0;  // copied
};

class Referee final : public Witness {
public:
    //   all must outlive it
    Referee(const Plan& plan, const Workplan& work, Memory& memory, Judge& judge);

    // Hands the router what the processes of its node are to begin now.   returns when to be asked again
    Time issue(NodeId node, Time now, router::Router& router);

    // What routers tell.
    void on_completion(NodeId node, const router::CommandEnd& completion);
    void on_result(NodeId node,
                   std::uint32_t initiator,
                   std::uint64_t token,
                   std::span<const std::byte> result);

    void on_process_dead(NodeId node, std::uint32_t process, std::uint32_t wait_status) {
        casualties_.on_process_dead(node, process, wait_status);
    }

    void on_node_dead(NodeId node, NodeId dead) { casualties_.on_node_dead(node, dead); }

    void on_met(NodeId node, std::uint32_t number, std::span<const std::uint32_t> table) {
        meetings_.on_met(node, number, table);
    }

    void on_invoked(std::uint32_t process, std::span<const std::byte> arguments) override;

    // What the faults did.
    void kill(std::uint32_t process);
    void restart(NodeId node);

    // One of them has severed the other.
    void cut(NodeId a, NodeId b) { casualties_.cut(a, b); }

    [[nodiscard]] bool is_dead(std::uint32_t process) const noexcept {
        return casualties_.is_dead(process);
    }

    [[nodiscard]] const std::vector<std::uint8_t>& dead() const noexcept {
        return casualties_.dead();
    }

    // Some node has severed it, or it has severed some node, or it began anew.
    [[nodiscard]] bool is_broken(NodeId node) const noexcept { return casualties_.is_broken(node); }

    [[nodiscard]] bool is_any_cut() const noexcept { return casualties_.is_any_cut(); }

    // Everything that must end has ended.
    [[nodiscard]] bool is_done() const;

    // A meeting some nodes came to will never be over, because a process that should come is dead.
    [[nodiscard]] bool is_meeting_stuck() const { return meetings_.is_stuck(); }

    // What has not, for a message.
    [[nodiscard]] std::string unfinished() const;

    // Looks at all memory and all shared words.
    void look_at_all() { memory_.look_at_all(); }

    // All programs begin anew over memory as it is now, and as many meetings again.   is_done()
    void begin_round(Time now);

    // Bytes whose copies by this process have ended well.
    [[nodiscard]] std::uint64_t bytes_of(std::uint32_t process) const noexcept {
        return initiators_[process].bytes;
    }

    [[nodiscard]] const RefereeCounts& counts() const noexcept { return counts_; }

private:
    enum class State : std::uint8_t { uncalled, waiting, issued, well, badly };

    struct StepProgress {
        State state = State::uncalled;
        std::uint8_t invoked = 0;
        bool has_result = false;
        std::uint32_t result_bytes = 0;
    };

    struct Initiator {
        std::vector<StepProgress> steps;
        std::uint32_t called = 0;  // steps the program has come to
        std::uint32_t prefix = 0;  // all before have ended
        std::uint64_t bytes = 0;
        Time next_call = 0;
        std::vector<std::uint32_t> waiting;  // called, not issued
        bool is_gone = false;
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
    std::uint64_t left_ = 0;  // steps not ended, of processes that live
};

}  // namespace acp::sim
