// SPDX-License-Identifier: BSD-3-Clause
// Runs the programs and sees to the rules: a process's command begins when its order allows, ends exactly once,
// well only when all its bytes are in place, badly only for a reason the faults gave; an operation runs once; a
// meeting is over when all have come; a death is heard of. Knows routers by what they are asked and tell, no
// endpoint and no network. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "router/router.hpp"
#include "sim/judge.hpp"
#include "sim/memory.hpp"
#include "sim/placement.hpp"
#include "sim/program.hpp"

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
    void on_completion(NodeId node, const router::Completion& completion);
    void on_result(NodeId node,
                   std::uint32_t initiator,
                   std::uint64_t token,
                   std::span<const std::byte> result);
    void on_process_dead(NodeId node, std::uint32_t process, std::uint32_t wait_status);
    void on_node_dead(NodeId node, NodeId dead);
    void on_met(NodeId node, std::uint32_t number, std::span<const std::uint32_t> table);
    void on_invoked(std::uint32_t process, std::span<const std::byte> arguments) override;

    // What the faults did.
    void kill(std::uint32_t process);
    void restart(NodeId node);
    void cut(NodeId a, NodeId b);  // one of them has severed the other

    [[nodiscard]] bool is_dead(std::uint32_t process) const noexcept { return dead_[process] != 0; }

    [[nodiscard]] const std::vector<std::uint8_t>& dead() const noexcept { return dead_; }

    // Some node has severed it, or it has severed some node, or it began anew.
    [[nodiscard]] bool is_broken(NodeId node) const noexcept { return broken_[node] != 0; }

    [[nodiscard]] bool is_any_cut() const noexcept { return is_any_cut_; }

    // Everything that must end has ended.
    [[nodiscard]] bool is_done() const;

    // A meeting some nodes came to will never be over, because a process that should come is dead.
    [[nodiscard]] bool is_meeting_stuck() const;

    // What has not, for a message.
    [[nodiscard]] std::string unfinished() const;

    // Looks at all memory and all shared words.
    void look_at_all();

    // All programs begin anew over memory as it is now, and as many meetings again.   is_done()
    void begin_round(Time now);

    // Bytes whose copies by this process have ended well.
    [[nodiscard]] std::uint64_t bytes_of(std::uint32_t process) const noexcept {
        return initiators_[process].bytes;
    }

    [[nodiscard]] const RefereeCounts& counts() const noexcept { return counts_; }

private:
    enum class State : std::uint8_t { uncalled, waiting, issued, well, badly };

    struct Progress {
        State state = State::uncalled;
        std::uint8_t invoked = 0;
        bool has_result = false;
        std::uint32_t result_bytes = 0;
    };

    struct Initiator {
        std::vector<Progress> steps;
        std::uint32_t called = 0;  // steps the program has come to
        std::uint32_t prefix = 0;  // all before have ended
        std::uint64_t bytes = 0;
        Time next_call = 0;
        std::vector<std::uint32_t> waiting;  // called, not issued
        bool is_gone = false;
    };

    struct Met {
        std::uint32_t called = 0;
        std::uint32_t ended = 0;
        Time next_call = 0;
    };

    // What became of the commands on a shared word.
    struct Count {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;  // old value, operand
        std::vector<std::uint64_t> unseen;    // ran, but what it returned is lost
        std::vector<std::uint64_t> doubtful;  // may have run
    };

    // A command's name, made only when it is told.
    struct Name {
        const Referee* referee;
        std::uint32_t process;
        std::uint32_t index;

        [[nodiscard]] std::string text() const { return referee->name_of(process, index); }
    };

    void call(std::uint32_t process, Time now);
    [[nodiscard]] std::span<const std::uint32_t> run_at(std::uint32_t process,
                                                        std::size_t first) const;
    std::size_t submit(std::uint32_t process,
                       std::span<const std::uint32_t> run,
                       Time now,
                       router::Router& router);
    bool invoke(std::uint32_t process, std::uint32_t index, Time now, router::Router& router);
    void meet(NodeId node, Time now, router::Router& router);
    [[nodiscard]] router::Meeting::Gathers gathers_in(std::uint32_t number) const noexcept;
    [[nodiscard]] router::Meeting::Words words_of(NodeId node, std::uint32_t number) const noexcept;
    void check_least(NodeId node, std::uint32_t number, std::span<const std::uint32_t> least);

    // The command of a step in this round: what is swapped in is never the same twice.
    [[nodiscard]] memory::Command command_of(const Step& step) const noexcept;

    [[nodiscard]] const Step& step_of(std::uint32_t process, std::uint32_t index) const {
        return work_->programs[process][index];
    }

    bool find(NodeId node, std::uint32_t initiator, std::uint64_t token, std::uint32_t& index);
    void end_one(std::uint32_t process, std::uint32_t index, const router::Completion& completion);
    void end_well(std::uint32_t process, std::uint32_t index);
    void end_badly(std::uint32_t process,
                   std::uint32_t index,
                   const router::Completion& completion);
    void check_copy(const Step& step, const Name& name);
    void check_atomic(const Step& step, const Name& name);
    void check_count(const Step& step, const Name& name);
    void check_invoke(std::uint32_t process, std::uint32_t index, const Name& name);
    void doubt(const Step& step);
    void abandon(std::uint32_t process);
    void check_word(std::size_t word);
    [[nodiscard]] bool may_fail(std::uint32_t process, const Step& step) const;
    [[nodiscard]] std::string name_of(std::uint32_t process, std::uint32_t index) const;

    [[nodiscard]] bool are_meetings_due() const noexcept { return !is_any_cut_ && !is_any_dead_; }

    const Plan* plan_;
    const Workplan* work_;
    Memory* memory_;
    Judge* judge_;
    std::vector<Initiator> initiators_;
    std::vector<Met> meetings_;        // per node
    std::vector<std::uint32_t> come_;  // per meeting: nodes that have
    std::vector<Count> counts_of_words_;
    std::vector<std::uint64_t> word_starts_;
    std::vector<std::uint8_t> dead_;        // per process
    std::vector<std::uint8_t> broken_;      // per node: some other has severed it, or it some other
    std::vector<std::uint8_t> began_anew_;  // per node
    std::vector<std::vector<std::uint8_t>> heard_;  // per node, per process: of its death
    RefereeCounts counts_;
    std::uint32_t meetings_goal_ = 0;
    std::uint32_t round_ = 0;
    std::uint64_t left_ = 0;  // steps not ended, of processes that live
    bool is_any_cut_ = false;
    bool is_any_dead_ = false;
};

// The value a process of a node brings to a meeting.
[[nodiscard]] std::uint32_t wanted_value(std::uint64_t seed,
                                         std::uint32_t number,
                                         std::uint32_t process);

}  // namespace acp::sim
