// SPDX-License-Identifier: BSD-3-Clause
// Failures that acprun reports while the job runs, each held back until the output that its rank
// wrote before has been passed on: the rank's own error then stands above the report. Two stages:
// the agent has passed that output on, then acprun's output threads have, if it has any. Knows no
// stream and no message. Main thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "outputs.hpp"
#include "report.hpp"

namespace acp::run {

class HeldFailures {
public:
    void add(NodeFailure failure) { held_.push_back({std::move(failure), {}, false}); }

    // Call when the agent has passed on what the process wrote.
    //   process  its rank at the start
    //   left     lines that ranks of its node have left unfinished
    void note_carried(std::uint32_t process, Outputs& outputs, const Outputs::LeftLines& left) {
        for (Held& held : held_) {
            if (held.failure.rank.process == process) advance(held, outputs, left);
        }
    }

    // Call when the agent of a node is gone: it has passed on all that it will.
    void note_gone(std::uint32_t node, Outputs& outputs) {
        for (Held& held : held_) {
            if (held.failure.node == node) advance(held, outputs, {});
        }
    }

    // Removes and returns the failures whose output has been passed on, in order of arrival. Looks
    // once at each: an output thread may carry out a request at any time.
    std::vector<NodeFailure> take_ready(const Outputs& outputs) {
        std::vector<NodeFailure> ready;
        std::erase_if(held_, [&](const Held& held) {
            const bool is_ready = held.is_carried && outputs.has_flushed(held.requests);
            if (is_ready) ready.push_back(held.failure);
            return is_ready;
        });
        return ready;
    }

    // Removes and returns all failures, in order of arrival.
    std::vector<NodeFailure> take_all() {
        std::vector<NodeFailure> all;
        for (Held& held : held_) all.push_back(std::move(held.failure));
        held_.clear();
        return all;
    }

private:
    struct Held {
        NodeFailure failure;
        Outputs::FlushRequests requests;
        bool is_carried;  // the agent has passed the output on
    };

    static void advance(Held& held, Outputs& outputs, const Outputs::LeftLines& left) {
        if (!held.is_carried) held.requests = outputs.request_flush(left);
        held.is_carried = true;
    }

    std::vector<Held> held_;
};

}  // namespace acp::run
