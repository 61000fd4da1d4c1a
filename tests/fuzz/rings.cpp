// SPDX-License-Identifier: BSD-3-Clause
// A hostile process beside the gateway of its node: it writes anything into its own rings and rings
// any bell, also while the gateway is reading; and a hostile gateway beside an honest process. The
// other processes' commands arrive in order and end once, and neither side reads or writes outside
// its rings. One thread.
#include <deque>

#include "node/death.hpp"

#include "fuzz/fuzz.hpp"
#include "unit/remote/test_gateway.hpp"

namespace acp::fuzz {
namespace {

using namespace remote;

constexpr std::uint32_t procs = 3;
constexpr std::uint32_t mad = 0;
constexpr std::uint32_t honest = 1;
// An honest process; the test overwrites the gateway's words for it.
constexpr std::uint32_t deceived = 2;
constexpr int steps_max = 256;

class Node {
public:
    // One action of the hostile process.
    void go_mad(Input& input) {
        RingPair& pair = ring_pair(segment_, mad);
        switch (input.below(7)) {
            case 0:
                pair.commands_published.store(any_count(input), std::memory_order_relaxed);
                return;
            case 1:
                pair.commands_taken.store(any_count(input), std::memory_order_relaxed);
                return;
            case 2:
                pair.ended_taken.store(any_count(input), std::memory_order_relaxed);
                return;
            case 3:
                pair.ended_published.store(any_count(input), std::memory_order_relaxed);
                return;
            case 4:
                segment_.control().commands_rung.set(input.below(procs));
                return;
            case 5:
                (void)links_[mad]->submit(input.byte(), any_command(input));
                links_[mad]->flush();
                return;
            default: {
                CommandRecord record{};
                const auto some = input.bytes(sizeof record);
                if (!some.empty()) std::memcpy(&record, some.data(), some.size());
                pair.commands[input.byte() % node::ring_records] = record;
                pair.commands_published.fetch_add(1, std::memory_order_relaxed);
                segment_.control().commands_rung.set(mad);
            }
        }
    }

    // Overwrites words as a hostile gateway would, and checks what a process gets from them.
    void deceive(Input& input) {
        RingPair& pair = ring_pair(segment_, deceived);
        EndedRecord record{};
        const auto some = input.bytes(sizeof record);
        if (!some.empty()) std::memcpy(&record, some.data(), some.size());
        pair.ended[input.byte() % node::ring_records] = record;
        if (input.below(2) == 0) {
            pair.ended_published.fetch_add(1, std::memory_order_relaxed);
        } else {
            pair.ended_published.store(any_count(input), std::memory_order_relaxed);
        }
        (void)links_[deceived]->submit(2, remote::test::copy_to(segment_, procs));
        std::vector<Ended> ended;
        (void)links_[deceived]->poll(ended);
        for (const Ended& one : ended) {
            require(one.process <= procs, "a process that there is");
            require(static_cast<std::uint32_t>(one.code) < base::code_count,
                    "a code that there is");
            require(one.blamed <= memory::BlamedAddress::source && one.count >= 1 &&
                        one.count <= node::ring_records,
                    "an end that there is");
        }
    }

    void submit() {
        if (links_[honest]->submit(2 * (submitted_ + 1), remote::test::copy_to(segment_, procs)))
            ++submitted_;
        links_[honest]->flush();
    }

    // The gateway takes commands, and the hostile process acts between them.
    void take(Input& input) {
        const std::uint32_t most = 1 + input.below(64);
        const std::uint32_t taken = rings_.take(
            [&](std::uint32_t slot, std::uint64_t token, const memory::Command& command) {
                if (input.below(4) == 3) go_mad(input);
                if (slot == deceived) return true;
                if (input.below(8) == 7) return false;
                if (slot == honest) {
                    require(token == 2 * (taken_ + 1), "in order, none lost and none twice");
                    require(command.bytes == 8, "as it was handed over");
                    ++taken_;
                }
                to_end_.emplace_back(slot, token);
                return true;
            },
            most);
        require(taken <= most, "no more than asked for");
    }

    void end_some(Input& input) {
        for (std::uint32_t left = 1 + input.below(16); left > 0 && !to_end_.empty(); --left) {
            const auto [slot, token] = to_end_.front();
            to_end_.pop_front();
            rings_.complete(slot, {.token = token});
        }
        rings_.flush();
        hear();
    }

    void finish() {
        submit();
        Input nothing({});
        for (std::uint64_t left = 2 * node::ring_records; left > 0; --left) {
            take(nothing);
            end_some(nothing);
        }
        hear();
        require(!rings_.is_closed(honest), "records of an honest process arrive");
        require(taken_ == submitted_ && ended_ == submitted_, "an honest process is served");
        require(rings_.outstanding(honest) == 0, "nothing is outstanding");
        rings_.forget(mad);
        require(rings_.outstanding(mad) == 0 && !rings_.has_commands(),
                "a misbehaving process that has ended keeps no thread awake");
    }

private:
    static std::uint64_t any_count(Input& input) {
        return input.below(2) == 0 ? input.byte() : input.take<std::uint64_t>();
    }

    static memory::Command any_command(Input& input) {
        memory::Command command;
        command.operation = static_cast<memory::Operation>(input.byte());
        command.width = input.byte();
        command.bytes = input.below(2) == 0 ? command.width : input.take<std::uint64_t>();
        command.target = input.take<std::uint64_t>();
        command.source = input.take<std::uint64_t>();
        return command;
    }

    void hear() {
        std::vector<Ended> ended;
        (void)links_[honest]->poll(ended);
        for (const Ended& one : ended) {
            require(one.code == base::Code::ok, "as the gateway said");
            ended_ += one.count;
        }
    }

    node::Segment segment_ = remote::test::make_segment(procs);
    GatewayRings rings_{segment_};
    std::vector<std::unique_ptr<RingLink>> links_ = [this] {
        std::vector<std::unique_ptr<RingLink>> links;
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            links.push_back(std::make_unique<RingLink>(segment_, slot));
        }
        return links;
    }();
    std::deque<std::pair<std::uint32_t, std::uint64_t>> to_end_;
    std::uint64_t submitted_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t ended_ = 0;
};

}  // namespace

void run(Input& input) {
    Node node;
    for (int i = 0; i < steps_max && !input.is_empty(); ++i) {
        const std::uint32_t kind = input.below(8);
        if (kind < 3) node.go_mad(input);
        if (kind == 3) node.submit();
        if (kind == 4) node.deceive(input);
        if (kind == 5 || kind == 6) node.take(input);
        if (kind == 7) node.end_some(input);
    }
    node.finish();
}

}  // namespace acp::fuzz
