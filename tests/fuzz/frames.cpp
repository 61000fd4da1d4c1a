// SPDX-License-Identifier: BSD-3-Clause
// Frames of a hostile node, in datagrams of their own, to the routers of two honest nodes, which
// carry their processes' commands and send some to the hostile node. Each command must end once,
// and nothing may be left in the routers; commands between honest nodes must succeed unless the
// hostile node has acted for them, as any node of a job may. One thread.
#include "router/frames.hpp"

#include <map>

#include "fuzz/fuzz.hpp"
#include "unit/router/fake_node.hpp"

namespace acp::fuzz {
namespace {

using namespace router;
using router::test::FakeJob;

constexpr int steps_max = 128;
constexpr NodeId mad = 2;
constexpr std::uint32_t procs_per_node = 2;
constexpr std::uint32_t mad_process = mad * procs_per_node;
constexpr std::uint64_t memory_bytes = 4096;
constexpr std::uint64_t commands_max = 200;

router::test::MemorySettings memory_of(Input& input) {
    router::test::MemorySettings settings;
    settings.bytes = memory_bytes;
    settings.refuse_percent = input.below(2) == 0 ? 0 : 30;
    settings.later_percent = input.below(2) == 0 ? 0 : 30;
    return settings;
}

// Small limits everywhere, to save memory and to reach the limits.
RouterSettings few() {
    RouterSettings settings;
    settings.commands_max = 64;
    settings.executions_max = 16;
    settings.undelivered_bytes_max = 2048;
    settings.invokes_max = 8;
    settings.notes_max = 256;
    settings.staging_buffers = 4;
    return settings;
}

class RandomJob {
public:
    explicit RandomJob(Input& input)
        : job_({procs_per_node, procs_per_node, procs_per_node}, 1, {}, memory_of(input), few()) {}

    // Submits a command of an honest process.
    void submit(Input& input) {
        if (submitted_.size() >= commands_max) return;
        const std::uint32_t initiator = input.below(mad_process);
        const std::uint32_t target = input.below(mad_process + 1);
        const std::uint32_t source = input.below(mad_process + 1);
        const std::uint64_t token = 2 * (submitted_.size() + 1);
        const auto address = [&](std::uint32_t process) {
            const std::uint64_t offset = 8 * input.byte();
            return input.below(2) == 0 ? job_.shared(process, offset)
                                       : job_.private_at(process, offset);
        };
        const bool is_copy = input.below(2) == 0;
        const auto to = address(target);
        const auto from = address(source);
        const std::uint64_t bytes = input.take<std::uint16_t>() % (memory_bytes / 2);
        const bool is_taken = is_copy ? job_.copy(initiator, token, to, from, bytes)
                                      : job_.add(initiator, token, to, from, 1);
        if (!is_taken) return;
        submitted_[{initiator, token}] = target < mad_process && source < mad_process;
    }

    // Sends frames of the hostile node. Frames built field by field reach deeper code than random
    // bytes.
    void inject(Input& input) {
        std::vector<std::byte> frames;
        for (std::uint32_t left = 1 + input.below(4); left > 0; --left) append(frames, input);
        job_.network.inject(mad, input.below(mad), std::move(frames));
    }

    void step() { job_.step(); }

    void finish() {
        job_.network.cut_off(mad);
        require(job_.run(), "everything comes to rest");
        const bool is_slandered = has_acted_for_others_ || has_false_news();
        std::map<std::pair<std::uint32_t, std::uint64_t>, int> ended;
        for (NodeId node = 0; node < mad; ++node) {
            for (const CommandEnd& one : job_.nodes[node]->ends.ended) {
                const std::pair name(one.initiator, one.token);
                require(++ended[name] == 1, "a command ends once");
                const auto found = submitted_.find(name);
                require(found != submitted_.end(), "only submitted commands complete");
                require(is_slandered || !found->second || one.code == base::Code::ok,
                        "commands between honest nodes succeed");
            }
            require(job_.nodes[node]->router.is_idle(), "nothing is left over");
            require(job_.nodes[node]->router.outstanding() == 0, "nothing is outstanding");
        }
        require(ended.size() == submitted_.size(), "every command ends");
    }

private:
    // Whether the hostile node has reported honest processes or nodes as lost, which the routers
    // believe.
    [[nodiscard]] bool has_false_news() const {
        for (NodeId node = 0; node < mad; ++node) {
            for (const auto& [process, status] : job_.nodes[node]->ends.dead) {
                if (process < mad_process) return true;
            }
            for (const NodeId dead : job_.nodes[node]->ends.dead_nodes) {
                if (dead < mad) return true;
            }
        }
        return false;
    }

    // An address in an honest process's memory, or outside it.
    [[nodiscard]] std::uint64_t any_address(Input& input) const {
        if (input.below(4) == 3) return input.take<std::uint64_t>();
        const std::uint32_t process = input.below(mad_process);
        const std::uint64_t offset = input.take<std::uint16_t>();
        return input.below(2) == 0 ? job_.shared(process, offset)
                                   : job_.private_at(process, offset);
    }

    template <typename Frame>
    static void put(std::vector<std::byte>& frames,
                    const Frame& frame,
                    std::size_t tail,
                    Input& input) {
        const std::size_t at = frames.size();
        frames.resize(at + sizeof frame + tail);
        std::memcpy(frames.data() + at, &frame, sizeof frame);
        const auto some = input.bytes(std::min<std::size_t>(tail, 8));
        std::copy(some.begin(), some.end(),
                  frames.begin() + static_cast<std::ptrdiff_t>(at + sizeof frame));
    }

    // The initiator that a frame names.
    std::uint32_t any_initiator(Input& input) {
        const std::uint32_t initiator = input.below(3 * procs_per_node + 1);
        has_acted_for_others_ = has_acted_for_others_ || initiator < mad_process;
        return initiator;
    }

    void append(std::vector<std::byte>& frames, Input& input);
    void append_answer(std::vector<std::byte>& frames, Input& input);

    FakeJob job_;
    bool has_acted_for_others_ = false;
    // By initiator and token: whether only honest nodes take part in the command.
    std::map<std::pair<std::uint32_t, std::uint64_t>, bool> submitted_;
};

void RandomJob::append(std::vector<std::byte>& frames, Input& input) {
    const std::uint32_t initiator = any_initiator(input);
    const std::uint64_t token = input.byte();
    switch (input.below(8)) {
        case 0: {
            PutFrame frame;
            frame.initiator = initiator;
            frame.token = token;
            frame.bytes = static_cast<std::uint16_t>(input.below(64));
            frame.total = input.below(2) == 0 ? frame.bytes : input.take<std::uint16_t>();
            frame.is_value = static_cast<std::uint8_t>(input.below(3));
            frame.target = any_address(input);
            return put(frames, frame, frame.bytes, input);
        }
        case 1: {
            CommandFrame frame;
            frame.operation =
                static_cast<memory::Operation>(input.below(memory::operation_count + 1));
            frame.width = static_cast<std::uint8_t>(input.below(3) * 4);
            frame.initiator = initiator;
            frame.token = token;
            frame.target = any_address(input);
            frame.source = any_address(input);
            frame.operand = input.take<std::uint16_t>();
            frame.expected = input.below(2) == 0 ? frame.operand : input.take<std::uint32_t>();
            return put(frames, frame, 0, input);
        }
        case 2: {
            InvokeFrame frame;
            frame.initiator = initiator;
            frame.token = token;
            frame.operation = input.below(3);
            frame.process = input.below(3 * procs_per_node + 1);
            frame.bytes = static_cast<std::uint16_t>(input.below(64));
            return put(frames, frame, frame.bytes, input);
        }
        case 3: {
            MeetFrame frame;
            frame.round = static_cast<std::uint8_t>(input.below(4));
            frame.count = static_cast<std::uint16_t>(input.below(8));
            frame.number = input.below(4);
            frame.offset = input.below(8);
            frame.total = input.below(8);
            return put(frames, frame, tail_bytes(frame), input);
        }
        case 4: {
            PutsFrame frame;
            frame.count = static_cast<std::uint8_t>(input.below(4));
            frame.bytes = static_cast<std::uint16_t>(input.below(64));
            frame.initiator = initiator;
            frame.token = token;
            std::vector<std::byte> run;
            for (std::uint32_t i = 0; i < frame.count; ++i) {
                const std::uint64_t target = any_address(input);
                const auto* first = reinterpret_cast<const std::byte*>(&target);
                run.insert(run.end(), first, first + sizeof target);
                run.resize(run.size() + frame.bytes, std::byte{0x5a});
            }
            put(frames, frame, 0, input);
            frames.insert(frames.end(), run.begin(), run.end());
            return;
        }
        case 5: {
            const auto some = input.bytes(input.below(64));
            has_acted_for_others_ = true;
            frames.insert(frames.end(), some.begin(), some.end());
            return;
        }
        default:
            append_answer(frames, input);
    }
}

// Appends a frame that answers a command, of the hostile node or of another one.
void RandomJob::append_answer(std::vector<std::byte>& frames, Input& input) {
    const std::uint32_t initiator = any_initiator(input);
    const std::uint64_t token = input.byte();
    switch (input.below(4)) {
        case 0: {
            ShortFrame frame;
            constexpr std::array types = {FrameType::end,  FrameType::ask,  FrameType::over,
                                          FrameType::dead, FrameType::gone, FrameType::after};
            frame.type = types[input.below(types.size())];
            frame.initiator = initiator;
            frame.count = static_cast<std::uint16_t>(input.below(4));
            frame.token = frame.type == FrameType::gone ? 0 : token;
            if (frame.type == FrameType::dead) {
                frame.count = 0;
                frame.state = input.byte();
                frame.token |= std::uint64_t{input.byte()} << (32U + input.below(25));
            }
            return put(frames, frame, 0, input);
        }
        case 1: {
            LongFrame frame;
            frame.type = input.below(2) == 0 ? FrameType::value : FrameType::failed;
            frame.code_and_end = input.byte();
            frame.initiator = initiator;
            frame.token = token;
            frame.detail = input.byte();
            return put(frames, frame, 0, input);
        }
        case 2: {
            RefusedFrame frame;
            frame.is_command = static_cast<std::uint8_t>(input.below(3));
            frame.initiator = initiator;
            frame.token = token;
            frame.target = any_address(input);
            frame.bytes = input.take<std::uint16_t>();
            return put(frames, frame, 0, input);
        }
        default: {
            ResultFrame frame;
            frame.code = static_cast<std::uint8_t>(input.below(20));
            frame.bytes = static_cast<std::uint16_t>(input.below(64));
            frame.initiator = initiator;
            frame.token = token;
            return put(frames, frame, frame.bytes, input);
        }
    }
}

}  // namespace

void run(Input& input) {
    RandomJob job(input);
    for (int i = 0; i < steps_max && !input.is_empty(); ++i) {
        const std::uint32_t kind = input.below(4);
        if (kind == 0) job.submit(input);
        if (kind == 1) job.step();
        if (kind >= 2) job.inject(input);
    }
    job.finish();
}

}  // namespace acp::fuzz
