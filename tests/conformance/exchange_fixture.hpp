// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests of scheduled exchanges: a pattern, the buffers of its messages, and
// rounds that check each byte. Collective, like all ranked tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/team_fixture.hpp"

namespace acp::test {

// The byte at `place` of message `number` from one member to another in a round.
inline std::uint8_t byte_of(int from, int to, int number, std::size_t place, int round) {
    return static_cast<std::uint8_t>(31 * from + 57 * to + 7 * number + 3 * round +
                                     static_cast<int>(place % 251));
}

// Memory of one message: private, of the heap, or starter memory.
class Buffer {
public:
    enum class Kind { own, heap };

    Buffer(Kind kind, std::size_t bytes) : bytes_(bytes) {
        if (kind == Kind::own) {
            own_ = std::make_unique<std::uint8_t[]>(bytes + 1);
            memory_ = own_.get();
            return;
        }
        address_ = acp_malloc(bytes + 1, acp_rank());
        EXPECT_NE(address_, ACP_GA_NULL) << acp_error_message();
        memory_ = static_cast<std::uint8_t*>(acp_query_address(address_));
    }

    Buffer(Buffer&& other) noexcept
        : own_(std::move(other.own_)),
          address_(std::exchange(other.address_, ACP_GA_NULL)),
          memory_(other.memory_),
          bytes_(other.bytes_) {}

    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    ~Buffer() {
        if (address_ != ACP_GA_NULL) acp_free(address_);
    }

    [[nodiscard]] std::uint8_t* data() const { return memory_; }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    [[nodiscard]] acp_ga_t address() const { return address_; }

private:
    std::unique_ptr<std::uint8_t[]> own_;
    acp_ga_t address_ = ACP_GA_NULL;
    std::uint8_t* memory_ = nullptr;
    std::size_t bytes_;
};

struct Message {
    int partner;
    int number;
    Buffer buffer;
};

class ExchangeTest : public TeamTest {
protected:
    void SetUp() override {
        TeamTest::SetUp();
        pattern_ = acp_create_pattern(world_);
        ASSERT_NE(pattern_, ACP_PATTERN_NULL) << acp_error_message();
    }

    void TearDown() override {
        EXPECT_EQ(acp_free_pattern(pattern_), 0) << acp_error_message();
        TeamTest::TearDown();
    }

    void add_send(int to, int number, Buffer::Kind kind, std::size_t bytes) {
        sent_.push_back({to, number, Buffer(kind, bytes)});
        EXPECT_EQ(acp_add_send_pattern(pattern_, to - rank_, sent_.back().buffer.data(), bytes), 0)
            << acp_error_message();
    }

    void add_receive(int from, int number, Buffer::Kind kind, std::size_t bytes) {
        received_.push_back({from, number, Buffer(kind, bytes)});
        EXPECT_EQ(
            acp_add_recv_pattern(pattern_, from - rank_, received_.back().buffer.data(), bytes), 0)
            << acp_error_message();
    }

    void fill(int round) {
        for (const Message& message : sent_) {
            for (std::size_t i = 0; i < message.buffer.bytes(); ++i)
                message.buffer.data()[i] =
                    byte_of(rank_, message.partner, message.number, i, round);
        }
        for (const Message& message : received_)
            std::memset(message.buffer.data(), 0xee, message.buffer.bytes() + 1);
    }

    void check(int round) {
        for (const Message& message : received_) {
            for (std::size_t i = 0; i < message.buffer.bytes(); ++i) {
                ASSERT_EQ(message.buffer.data()[i],
                          byte_of(message.partner, rank_, message.number, i, round))
                    << "byte " << i << " of message " << message.number << " of "
                    << message.buffer.bytes() << " bytes from " << message.partner << " in round "
                    << round;
            }
            ASSERT_EQ(message.buffer.data()[message.buffer.bytes()], 0xee) << "one byte too many";
        }
    }

    acp_plan_t compile(const char* network = nullptr) {
        const acp_plan_t plan = acp_compile_pattern(pattern_, network);
        EXPECT_NE(plan, ACP_PLAN_NULL) << acp_error_message();
        return plan;
    }

    static void end(acp_plan_t plan, bool is_testing) {
        while (is_testing) {
            const int ended = acp_test_plan(plan);
            ASSERT_GE(ended, 0) << acp_error_message();
            if (ended == 1) return;
        }
        ASSERT_EQ(acp_wait_plan(plan), 0) << acp_error_message();
    }

    void run_rounds(acp_plan_t plan, int rounds) {
        for (int round = 0; round < rounds; ++round) {
            fill(round);
            ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
            end(plan, (round + rank_) % 2 == 0);
            check(round);
        }
    }

    static void free_plan(acp_plan_t plan) {
        EXPECT_EQ(acp_free_plan(plan), 0) << acp_error_message();
    }

    static void expect_none(acp_plan_t plan, int code, const std::string& part) {
        EXPECT_EQ(plan, ACP_PLAN_NULL);
        EXPECT_EQ(acp_errno(), code) << acp_error_message();
        EXPECT_NE(std::string(acp_error_message()).find(part), std::string::npos)
            << part << " is not in: " << acp_error_message();
    }

    [[nodiscard]] int next() const { return (rank_ + 1) % procs_; }

    [[nodiscard]] int before() const { return (rank_ + procs_ - 1) % procs_; }

    static std::string explained(acp_plan_t plan) {
        const int bytes = acp_explain_plan(plan, nullptr, 0);
        EXPECT_GT(bytes, 0) << acp_error_message();
        std::string text(static_cast<std::size_t>(bytes) + 1, '?');
        EXPECT_EQ(acp_explain_plan(plan, text.data(), text.size()), bytes);
        EXPECT_EQ(text.back(), '\0');
        text.pop_back();
        return text;
    }

    acp_pattern_t pattern_ = ACP_PATTERN_NULL;
    std::vector<Message> sent_;
    std::vector<Message> received_;
};

}  // namespace acp::test
