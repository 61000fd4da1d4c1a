// SPDX-License-Identifier: BSD-3-Clause
// The lower parts of a forwarder for their tests: of process 0 of a node of three, over a port that
// keeps the sent messages and has the room that a test sets. The other processes own memory and run
// no code. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mailbox/forwarder_commands.hpp"
#include "mailbox/forwarder_counters.hpp"
#include "mailbox/forwarder_memory.hpp"
#include "mailbox/forwarder_queues.hpp"

#include "unit/local/test_owner.hpp"

namespace acp::mailbox::test {

using local::test::make_node;
using local::test::Owner;

inline constexpr std::uint32_t parts_epoch = 3;
inline constexpr std::uint32_t parts_datagram_bytes = 64;

class FakePort : public Port {
public:
    struct Sent {
        std::uint32_t receiver = 0;
        MessageHead head;
        std::string payload;
    };

    bool send(std::uint32_t receiver,
              const MessageHead& head,
              std::span<const char> payload) override {
        if (!has_room(receiver)) return false;
        const auto limited = room.find(receiver);
        if (limited != room.end()) --limited->second;
        if (on_send) on_send();
        sent.push_back({receiver, head, {payload.begin(), payload.end()}});
        return true;
    }

    [[nodiscard]] bool has_room(std::uint32_t receiver) const override {
        const auto limited = room.find(receiver);
        return limited == room.end() || limited->second > 0;
    }

    std::uint32_t receive(const Handler& /*handler*/, std::uint32_t /*max_messages*/) override {
        return 0;
    }

    [[nodiscard]] bool has_mail() const override { return false; }

    void forget(std::uint32_t dead_slot) override { forgotten.insert(dead_slot); }

    void wake_service() override {}

    void sleep_service(const std::function<bool()>& /*is_idle*/,
                       std::int64_t /*timeout_ns*/) override {}

    [[nodiscard]] std::uint32_t datagram_bytes() const override { return parts_datagram_bytes; }

    // The messages sent since the last call.
    std::vector<Sent> take_sent() { return std::exchange(sent, {}); }

    // room for messages by receiver; without an entry: no limit
    std::map<std::uint32_t, std::uint32_t> room;
    std::function<void()> on_send;
    std::vector<Sent> sent;
    std::set<std::uint32_t> forgotten;
};

class PartsTest : public testing::Test {
protected:
    static constexpr std::uint32_t self = 0;
    static constexpr std::uint32_t slots = 3;

    PartsTest() {
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251);
    }

    // A command that counts as running at a process.
    std::uint32_t running_at(std::uint32_t slot,
                             std::uint64_t user_token,
                             const memory::Command& command) {
        EXPECT_TRUE(commands.make_room());
        const std::uint32_t index = commands.add(user_token, command);
        EXPECT_TRUE(commands.send_to(index, slot, ForwarderCommands::nobody));
        return index;
    }

    // The only completion since the last call.
    ForwardedEnd only_end() {
        EXPECT_EQ(commands.ended().size(), 1U);
        ForwardedEnd end = commands.ended().empty() ? ForwardedEnd{} : commands.ended().front();
        commands.forget_ended();
        return end;
    }

    [[nodiscard]] std::uint64_t word_at(std::size_t offset) const {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + offset, sizeof word);
        return word;
    }

    static memory::Command copy(memory::GlobalAddress target,
                                memory::GlobalAddress source,
                                std::uint64_t count) {
        return {memory::Operation::copy, 0, target, source, count, 0, 0};
    }

    node::Segment node = make_node(slots, slots);
    Owner own{node, self};
    Owner other{node, 1};
    Owner third{node, 2};
    alignas(64) std::array<char, 4096> bytes{};
    alignas(64) std::array<char, 4096> other_bytes{};
    memory::GlobalAddress mine = own.add(bytes.data(), bytes.size());
    memory::GlobalAddress theirs = other.add(other_bytes.data(), other_bytes.size());
    FakePort port;
    ForwarderCounters counters{own.segment.slot(self)};
    ForwarderMemory accesses{own.space, own.hazards, counters};
    ForwarderQueues queues{port, self, slots, parts_epoch};
    ForwarderCommands commands{own.space, slots};
};

}  // namespace acp::mailbox::test
