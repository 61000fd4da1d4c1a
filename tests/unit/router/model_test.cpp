// SPDX-License-Identifier: BSD-3-Clause
// Random programs over 2 to 5 routers with little room everywhere, compared with a reference that
// does the same commands one after the other: every byte, every atomic's total and old value, one
// completion per command, bytes in place at each successful completion, and no record left over.
// Some seeds kill processes, cut nodes off, or cut two nodes from each other; then only commands
// that involve these may fail. ACP_TEST_SEED repeats a run.
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

#include "unit/router/fake_node.hpp"

namespace acp::router::test {
namespace {

using memory::Operation;

// A segment: bytes that are only read, bytes each written by one command at most, words of atomics.
constexpr std::uint64_t segment_bytes = 1U << 16;
constexpr std::uint64_t source_bytes = 20'000;
constexpr std::uint64_t words_at = segment_bytes - 64;
constexpr std::uint64_t guard_bytes = 8;

std::uint8_t pattern(std::uint32_t process, bool is_private, std::uint64_t offset) {
    return static_cast<std::uint8_t>(offset * 7 + (offset >> 8) + process * 31 +
                                     (is_private ? 5 : 0));
}

struct Issued {
    std::uint32_t initiator = 0;
    memory::Command command;
    std::uint32_t process = 0;  // invoke: the process on whose memory it runs
    std::uint32_t operation = 0;
    bool is_invoke = false;
    // An invoke that is ordered after copies (ORD-66): the index of the first one, and their number.
    std::size_t before = 0;
    std::uint32_t before_count = 0;
    std::vector<std::byte> arguments;
    std::uint32_t completions = 0;
    Code code = Code::ok;
    std::uint32_t about = 0;  // failure: the process that the completion names
};

class Model {
public:
    Model(std::uint64_t seed, bool has_failures)
        : random_(seed),
          has_failures_(has_failures),
          job_(shape(), seed, network(), memory(), router()) {
        for (std::uint32_t process = 0; process < job_.map.procs(); ++process) {
            for (bool is_private : {false, true}) {
                for (std::uint64_t i = 0; i < source_bytes; ++i) {
                    job_.at<std::uint8_t>(address(process, is_private, i)) =
                        pattern(process, is_private, i);
                }
                next_target_[{process, is_private}] = source_bytes;
            }
            queues_.emplace_back();
            is_alive_.push_back(true);
        }
        for (auto& node : job_.nodes) {
            node->ends.observe = [this](const CommandEnd& end) { on_completion(end); };
        }
    }

    void run() {
        for (std::uint32_t i = 0; i < 60 * job_.map.procs(); ++i) {
            const auto initiator = static_cast<std::uint32_t>(random_.below(job_.map.procs()));
            make(initiator);
        }
        std::uint64_t failures = has_failures_ ? random_.between(1, 3) : 0;
        for (std::uint32_t round = 0; round < 100'000; ++round) {
            bool is_any_left = submit_some();
            job_.step();
            if (failures != 0 && random_.chance(5)) {
                --failures;
                fail_something();
            }
            if (!is_any_left) break;
        }
        ASSERT_TRUE(job_.run()) << "never came to rest: " << state();
        check();
    }

private:
    std::vector<std::uint32_t> shape() {
        std::vector<std::uint32_t> procs;
        const std::uint64_t nodes = random_.between(2, 5);
        for (std::uint64_t i = 0; i < nodes; ++i)
            procs.push_back(static_cast<std::uint32_t>(random_.between(1, 3)));
        return procs;
    }

    NetworkSettings network() {
        NetworkSettings settings;
        settings.datagram_bytes = static_cast<std::uint32_t>(random_.between(1100, 3000));
        settings.datagrams_max = static_cast<std::uint32_t>(random_.between(1, 8));
        settings.deliver_percent = static_cast<unsigned>(random_.between(10, 100));
        return settings;
    }

    MemorySettings memory() {
        MemorySettings settings;
        settings.bytes = segment_bytes;
        settings.refuse_percent = static_cast<unsigned>(random_.below(70));
        settings.later_percent = static_cast<unsigned>(random_.below(90));
        return settings;
    }

    RouterSettings router() {
        RouterSettings settings;
        settings.commands_max = static_cast<std::uint32_t>(random_.between(1, 64));
        settings.executions_max = static_cast<std::uint32_t>(random_.between(2, 32));
        settings.undelivered_bytes_max = random_.below(8000);
        settings.invokes_max = static_cast<std::uint32_t>(random_.between(1, 4));
        settings.staging_buffers = static_cast<std::uint32_t>(random_.between(1, 8));
        return settings;
    }

    [[nodiscard]] GlobalAddress address(std::uint32_t process,
                                        bool is_private,
                                        std::uint64_t offset) const {
        return is_private ? job_.private_at(process, offset) : job_.shared(process, offset);
    }

    std::uint32_t any_process() {
        return static_cast<std::uint32_t>(random_.below(job_.map.procs()));
    }

    std::uint64_t any_size() {
        static constexpr std::array<std::uint64_t, 8> sizes = {0, 1, 4, 8, 8, 100, 1500, 9000};
        return sizes[random_.below(sizes.size())];
    }

    GlobalAddress target(std::uint64_t bytes) { return target(any_process(), bytes); }

    // A target that no other command writes, or 0 when none is left.
    GlobalAddress target(std::uint32_t process, std::uint64_t bytes) {
        const bool is_private = random_.chance(50);
        std::uint64_t& next = next_target_[{process, is_private}];
        const std::uint64_t at = (next + 7) / 8 * 8;
        if (at + bytes + guard_bytes > words_at) return 0;
        next = at + bytes + guard_bytes;
        return address(process, is_private, at);
    }

    void make_invoke(Issued& issued, std::uint32_t process) {
        issued.is_invoke = true;
        issued.process = process;
        issued.operation = static_cast<std::uint32_t>(random_.below(2));
        issued.arguments.resize(random_.below(invoke_bytes_max + 1));
        for (std::byte& byte : issued.arguments) byte = static_cast<std::byte>(random_.below(256));
    }

    // Puts to a process of another node, and an invoke on it that is ordered after them.
    void make_ordered(std::uint32_t initiator) {
        const std::uint32_t process = any_process();
        if (job_.map.node_of(process) == job_.map.node_of(initiator)) return;
        Issued invoke;
        invoke.initiator = initiator;
        invoke.before = issued_.size();
        for (std::uint64_t i = random_.between(1, memory::commands_before_max); i > 0; --i) {
            Issued put;
            put.initiator = initiator;
            put.command.bytes = any_size();
            put.command.source = address(initiator, random_.chance(50),
                                         random_.below(source_bytes - put.command.bytes));
            put.command.target = target(process, put.command.bytes);
            if (put.command.target == 0) break;
            issued_.push_back(std::move(put));
            ++invoke.before_count;
        }
        if (invoke.before_count == 0) return;
        make_invoke(invoke, process);
        // Queues are taken from the back: the invoke is submitted last.
        queues_[initiator].push_back(issued_.size());
        for (std::size_t i = invoke.before; i < issued_.size(); ++i)
            queues_[initiator].push_back(i);
        issued_.push_back(std::move(invoke));
    }

    void make(std::uint32_t initiator) {
        if (random_.chance(3)) {
            make_ordered(initiator);
            return;
        }
        Issued issued;
        bool is_target_wanted = true;
        issued.initiator = initiator;
        if (random_.chance(10)) {
            make_invoke(issued, any_process());
        } else if (random_.chance(25)) {
            issued.command.operation = Operation::add;
            issued.command.width = 8;
            issued.command.operand = 1;
            issued.command.source =
                address(any_process(), random_.chance(50), words_at + 8 * random_.below(4));
            if (random_.chance(25)) {
                is_target_wanted = false;  // nor its old value
            } else {
                issued.command.target = target(8);
            }
        } else {
            const std::uint64_t bytes = any_size();
            issued.command.bytes = bytes;
            issued.command.source =
                address(any_process(), random_.chance(50), random_.below(source_bytes - bytes));
            issued.command.target = target(bytes);
        }
        if (!issued.is_invoke && is_target_wanted && issued.command.target == 0) return;
        queues_[initiator].push_back(issued_.size());
        issued_.push_back(std::move(issued));
    }

    [[nodiscard]] static std::uint64_t token(std::size_t index) { return 2 * (index + 1); }

    // Makes every process issue a few commands. true while any has commands left.
    bool submit_some() {
        bool is_any_left = false;
        for (std::uint32_t process = 0; process < queues_.size(); ++process) {
            std::vector<std::size_t>& queue = queues_[process];
            for (std::uint64_t i = random_.below(8); i > 0 && !queue.empty() && is_alive_[process];
                 --i) {
                Issued& issued = issued_[queue.back()];
                if (has_failed_before(issued)) {  // an initiator submits it no more
                    queue.pop_back();
                    continue;
                }
                Router& router = job_.node_of(process).router;
                const bool is_taken =
                    issued.is_invoke
                        ? router.invoke(
                              job_.now,
                              {token(queue.back()), process, issued.operation, issued.process, 0,
                               token(issued.before), issued.before_count},
                              issued.arguments)
                        : router.submit(job_.now, {process, token(queue.back()), issued.command});
                if (!is_taken) break;
                submitted_.insert(queue.back());
                queue.pop_back();
            }
            is_any_left = is_any_left || (!queue.empty() && is_alive_[process]);
        }
        return is_any_left;
    }

    // Whether one of the copies has failed that a command is ordered after.
    [[nodiscard]] bool has_failed_before(const Issued& issued) const {
        for (std::uint32_t i = 0; i < issued.before_count; ++i)
            if (issued_[issued.before + i].code != Code::ok) return true;
        return false;
    }

    void fail_something() {
        const auto nodes = job_.map.nodes();
        switch (random_.below(3)) {
            case 0: {
                const std::uint32_t victim = any_process();
                if (!is_alive_[victim]) return;
                is_alive_[victim] = false;
                job_.node_of(victim).router.note_death(victim, {9});
                return;
            }
            case 1: {
                const auto node = static_cast<NodeId>(random_.below(nodes));
                job_.network.cut_off(node);
                return;
            }
            default: {
                const auto one = static_cast<NodeId>(random_.below(nodes));
                const auto other = static_cast<NodeId>((one + 1) % nodes);
                job_.network.cut(one, other);
                return;
            }
        }
    }

    [[nodiscard]] std::uint32_t process_at(GlobalAddress address) const {
        return static_cast<std::uint32_t>(process_of(job_.layout, address));
    }

    void on_completion(const CommandEnd& end) {
        const std::size_t index = end.token / 2 - 1;
        Issued& issued = issued_[index];
        ++issued.completions;
        EXPECT_EQ(issued.completions, 1U) << "command " << end.token << " completed twice";
        EXPECT_EQ(end.initiator, issued.initiator);
        issued.code = end.code;
        issued.about = end.process;
        if (end.code != Code::ok) return;
        check_in_place(issued);
        for (std::uint32_t i = 0; i < issued.before_count; ++i) {
            EXPECT_EQ(issued_[issued.before + i].completions, 1U) << "ran before its copies ended";
            check_in_place(issued_[issued.before + i]);
        }
    }

    // ORD-60: after the completion the bytes are in place.
    void check_in_place(const Issued& issued) {
        if (issued.is_invoke || issued.command.bytes == 0) return;
        FakeMemory& source = job_.node_of(process_at(issued.command.source)).memory;
        FakeMemory& target = job_.node_of(process_at(issued.command.target)).memory;
        const std::uint64_t bytes = issued.command.bytes;
        const std::byte* from = source.find(issued.command.source, bytes);
        const std::byte* to = target.find(issued.command.target, bytes);
        EXPECT_TRUE(std::equal(from, from + bytes, to)) << "completed before it was in place";
    }

    // Whether a command may fail: it involves a dead process or a severed node.
    [[nodiscard]] bool may_fail(const Issued& issued) const {
        const std::uint32_t source =
            issued.is_invoke ? issued.process : process_at(issued.command.source);
        const std::uint32_t target =
            issued.is_invoke ? issued.process : process_at(issued.command.target_or_word());
        for (std::uint32_t process : {issued.initiator, source, target}) {
            if (!is_alive_[process]) return true;
            for (const auto& node : job_.nodes) {
                const std::vector<NodeId>& dead = node->ends.dead_nodes;
                if (std::find(dead.begin(), dead.end(), job_.map.node_of(process)) != dead.end())
                    return true;
            }
        }
        return false;
    }

    void check() {
        for (std::size_t index : submitted_) {
            const Issued& issued = issued_[index];
            EXPECT_EQ(issued.completions, 1U) << "command " << token(index);
            if (issued.code == Code::order) {
                EXPECT_TRUE(has_failed_before(issued)) << describe(index);
            } else if (issued.code != Code::ok) {
                EXPECT_EQ(issued.code, Code::peer) << "command " << token(index);
                EXPECT_TRUE(has_failures_ && may_fail(issued)) << describe(index);
            }
        }
        for (NodeId node = 0; node < job_.nodes.size(); ++node) {
            const Router& router = job_.nodes[node]->router;
            EXPECT_TRUE(router.is_idle()) << "node " << node;
            EXPECT_EQ(router.outstanding(), 0U);
            EXPECT_EQ(router.counters().commands, router.counters().completions);
            EXPECT_EQ(router.counters().bad_tickets, 0U);
            EXPECT_EQ(router.deadline(), datagram::never);
            EXPECT_FALSE(job_.network.endpoint(node).bad_unwatches());
            for (std::size_t fault = 0; fault < fault_count; ++fault) {
                EXPECT_EQ(router.counters().faults[fault], 0U)
                    << name_of(static_cast<Fault>(fault));
            }
            for (NodeId other = 0; other < job_.nodes.size(); ++other) {
                EXPECT_EQ(job_.network.endpoint(node).watches(other), 0U);
            }
        }
        check_atomics();
        check_results();
        check_memory();
    }

    [[nodiscard]] std::string describe(std::size_t index) const {
        const Issued& issued = issued_[index];
        std::string text = "command " + std::to_string(token(index)) + " of process " +
                           std::to_string(issued.initiator) + ", operation " +
                           std::to_string(static_cast<int>(issued.command.operation)) + ", bytes " +
                           std::to_string(issued.command.bytes);
        if (issued.is_invoke) {
            text += ", invoked on " + std::to_string(issued.process);
        } else {
            text += ", from " + std::to_string(process_at(issued.command.source)) + " to " +
                    std::to_string(process_at(issued.command.target_or_word()));
        }
        return text + ", failed about " + std::to_string(issued.about) + state();
    }

    [[nodiscard]] std::string state() const {
        std::string text;
        for (const auto& node : job_.nodes) {
            const Router& router = node->router;
            text += "\n  outstanding " + std::to_string(router.outstanding()) + ", idle " +
                    std::to_string(router.is_idle()) + ", deadline " +
                    std::to_string(router.deadline()) + ", now " + std::to_string(job_.now) +
                    ", taken " + std::to_string(node->memory.has_taken()) + ", lost " +
                    std::to_string(node->ends.dead_nodes.size()) + ", resends " +
                    std::to_string(router.counters().resends) + ", kept " +
                    std::to_string(router.counters().puts_kept) + ", refused " +
                    std::to_string(router.counters().puts_refused) + ", commands refused " +
                    std::to_string(router.counters().commands_refused);
        }
        return text + "\n  network empty " + std::to_string(job_.network.is_empty());
    }

    void check_atomics() {
        std::map<GlobalAddress, std::set<std::uint64_t>> olds;
        std::map<GlobalAddress, std::uint64_t> tried;
        for (std::size_t index : submitted_) {
            const Issued& issued = issued_[index];
            if (issued.is_invoke || issued.command.is_copy()) continue;
            ++tried[issued.command.source];
            if (issued.code != Code::ok || !issued.command.has_target()) continue;
            const auto old = job_.at<std::uint64_t>(issued.command.target);
            EXPECT_TRUE(olds[issued.command.source].insert(old).second)
                << "an old value twice: " << old;
        }
        for (const auto& [word, count] : tried) {
            const auto total = job_.at<std::uint64_t>(word);
            EXPECT_LE(total, count) << "an atomic ran twice";
            EXPECT_GE(total, olds[word].size());
            EXPECT_TRUE(has_failures_ || total == count) << total << " of " << count;
            EXPECT_TRUE(olds[word].empty() || *olds[word].rbegin() < total);
        }
    }

    void check_results() {
        for (const auto& node : job_.nodes) {
            for (const auto& [named, result] : node->ends.results) {
                EXPECT_EQ(result, issued_[named / 2 - 1].arguments);
            }
        }
    }

    // Compares every byte that is not a word with the reference, except for targets of failed
    // commands.
    void check_memory() {
        for (std::uint32_t process = 0; process < job_.map.procs(); ++process) {
            for (bool is_private : {false, true}) {
                std::vector<int> expected(words_at, 0);
                for (std::uint64_t i = 0; i < source_bytes; ++i)
                    expected[i] = pattern(process, is_private, i);
                for (std::size_t index : submitted_)
                    write_expected(issued_[index], process, is_private, expected);
                for (std::uint64_t i = 0; i < words_at; ++i) {
                    if (expected[i] < 0) continue;
                    ASSERT_EQ(job_.at<std::uint8_t>(address(process, is_private, i)), expected[i])
                        << "process " << process << " private " << is_private << " offset " << i;
                }
            }
        }
    }

    void write_expected(const Issued& issued,
                        std::uint32_t process,
                        bool is_private,
                        std::vector<int>& expected) const {
        if (issued.is_invoke || !issued.command.has_target() ||
            process_at(issued.command.target) != process) {
            return;
        }
        const std::uint64_t at = issued.command.target - address(process, is_private, 0);
        const bool is_copy = issued.command.is_copy();
        const std::uint64_t bytes = is_copy ? issued.command.bytes : 8;
        if (at >= words_at) return;  // the other segment
        const std::uint32_t from = process_at(issued.command.source);
        const bool is_from_private = issued.command.source - address(from, true, 0) < segment_bytes;
        const std::uint64_t start = issued.command.source - address(from, is_from_private, 0);
        for (std::uint64_t i = 0; i < bytes; ++i) {
            const bool is_known = is_copy && issued.code == Code::ok;
            expected[at + i] = is_known ? pattern(from, is_from_private, start + i) : -1;
        }
    }

    acp::test::Random random_;
    bool has_failures_;
    FakeJob job_;
    std::vector<Issued> issued_;
    std::vector<std::vector<std::size_t>>
        queues_;  // one queue per process: the commands still to be issued
    std::vector<bool> is_alive_;
    std::set<std::size_t> submitted_;
    std::map<std::pair<std::uint32_t, bool>, std::uint64_t> next_target_;
};

// Runs seeds until one fails, and prints that one.
void run_seeds(std::uint64_t count, bool has_failures) {
    const char* given = std::getenv("ACP_TEST_SEED");
    const std::uint64_t first =
        given != nullptr ? std::strtoull(given, nullptr, 0) : acp::test::fresh_seed();
    const char* wanted = std::getenv("TEST_ROUNDS");
    const std::uint64_t rounds = wanted != nullptr ? std::strtoull(wanted, nullptr, 0) : count;
    for (std::uint64_t i = 0; i < (given != nullptr ? 1 : rounds); ++i) {
        SCOPED_TRACE("repeat with ACP_TEST_SEED=" + std::to_string(first + i));
        Model(first + i, has_failures).run();
        if (testing::Test::HasFailure()) return;
    }
}

TEST(RouterModelTest, does_what_the_reference_does_with_little_room) {
    run_seeds(40, false);
}

TEST(RouterModelTest, completes_each_command_once_when_nodes_and_processes_are_lost) {
    run_seeds(40, true);
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
