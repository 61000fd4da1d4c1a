// SPDX-License-Identifier: BSD-3-Clause
// Commands on memory of devices, through the forwarders of three processes in one, two of which have
// devices: copies between memory of every kind, atomics, requests, receivers that take nothing, dead
// processes and lost devices. One thread polls all forwarders in turn.
#include "mailbox/forwarder_devices.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "mailbox/forwarder.hpp"
#include "node/death.hpp"

#include "device/far.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"
#include "unit/mailbox/test_rank.hpp"

namespace acp::mailbox::test {
namespace {

using base::Code;
using local::test::all_kinds;
using local::test::Kind;
using local::test::make_segment;
using local::test::name_of;
using memory::GlobalAddress;

constexpr std::uint32_t procs = 3;
constexpr std::uint32_t datagram_bytes = 1408;
constexpr std::uint64_t block_bytes = 1'300'000;

// One process's devices, 1 and 2, and its registers.
class TestHost final : public DeviceHost {
public:
    TestHost(Rank& rank, std::uint64_t fails_at) {
        for (std::uint32_t number : {1U, 2U}) {
            auto made =
                device::FarDevice::open({4 * block_bytes, number, number == 1 ? fails_at : 0});
            EXPECT_TRUE(made.is_ok());
            devices_.push_back(std::move(made).value());
            auto address = devices_.back()->allocate(block_bytes);
            EXPECT_TRUE(address.is_ok());
            auto key = rank.registry->add_device(address.value(), block_bytes, number);
            EXPECT_TRUE(key.is_ok());
            blocks[number] = key.value();
        }
        auto key = rank.registry->add_device(0, registers_bytes(3), memory::device_registers);
        EXPECT_TRUE(key.is_ok());
        registers = key.value();
        rank.forwarder->open_devices(*this);
    }

    [[nodiscard]] std::uint32_t device_count() const noexcept override { return 3; }

    [[nodiscard]] device::Device* device(std::uint32_t number) noexcept override {
        return number == 1 || number == 2 ? devices_[number - 1].get() : nullptr;
    }

    base::Result<std::uint64_t> on_request(std::uint64_t offset,
                                           std::uint64_t operand) noexcept override {
        if (operand == 13) return base::Status::bare(Code::memory);
        return offset * 1000 + operand;
    }

    std::map<std::uint32_t, GlobalAddress> blocks;
    GlobalAddress registers = 0;

private:
    std::vector<std::unique_ptr<device::Device>> devices_;
};

class ForwarderDevicesTest : public testing::TestWithParam<Kind> {
protected:
    ForwarderDevicesTest() : segment_(make_segment(GetParam(), procs, datagram_bytes)) {
        acp::test::arm_watchdog(120, "a test of devices");
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            ranks_.push_back(std::make_unique<Rank>(segment_, slot, true, false));
        }
    }

    ~ForwarderDevicesTest() override { acp::test::arm_watchdog(0, ""); }

    void make_hosts(std::uint64_t fails_at = 0) {
        for (std::uint32_t slot : {0U, 1U}) {
            hosts_.push_back(std::make_unique<TestHost>(*ranks_[slot], fails_at));
        }
    }

    void poll_all() {
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            if (!is_stopped_[slot]) ranks_[slot]->forwarder->poll();
        }
    }

    // Polls until all commands of a process have ended.
    std::vector<ForwardedEnd> finish(std::uint32_t slot) {
        std::vector<ForwardedEnd> ended;
        while (ranks_[slot]->forwarder->outstanding() > 0) poll_all();
        take_ended(*ranks_[slot]->forwarder, ended);
        return ended;
    }

    ForwardedEnd run(std::uint32_t slot, const memory::Command& command) {
        EXPECT_TRUE(ranks_[slot]->forwarder->submit(1, command));
        const std::vector<ForwardedEnd> ended = finish(slot);
        EXPECT_EQ(ended.size(), 1U);
        return ended.empty() ? ForwardedEnd{} : ended.front();
    }

    static memory::Command atomic(memory::Operation operation,
                                  GlobalAddress target,
                                  GlobalAddress word,
                                  std::uint64_t operand,
                                  std::uint64_t expected = 0) {
        return {operation, 8, target, word, 8, operand, expected};
    }

    node::Segment segment_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    std::vector<std::unique_ptr<TestHost>> hosts_;
    std::array<bool, procs> is_stopped_{};
    acp::test::Random random_{99};
};

TEST_P(ForwarderDevicesTest, copies_between_memory_of_every_kind_move_the_right_bytes) {
    make_hosts();

    struct End {
        GlobalAddress address;
        char* host;  // nullptr: a device
    };

    std::vector<End> ends;
    for (const auto& rank : ranks_) {
        ends.push_back({rank->own.address, rank->own.bytes});
        ends.push_back({rank->shared.address, rank->shared.bytes});
    }
    for (const auto& host : hosts_) {
        ends.push_back({host->blocks[1], nullptr});
        ends.push_back({host->blocks[2], nullptr});
    }
    std::vector<std::vector<char>> model(ends.size(), std::vector<char>(block_bytes));
    for (std::size_t i = 0; i < ends.size(); ++i) {
        for (char& byte : model[i]) byte = static_cast<char>(random_.next());
        char* const from = ranks_[2]->own.bytes + 2 * block_bytes;
        std::memcpy(from, model[i].data(), block_bytes);
        EXPECT_EQ(
            run(2, copy(ends[i].address, ranks_[2]->own.address + 2 * block_bytes, block_bytes))
                .code,
            Code::ok);
    }
    for (int i = 0; i < 150; ++i) {
        const std::size_t to = random_.below(ends.size());
        const std::size_t from = random_.below(ends.size());
        if (to == from) continue;
        const std::uint64_t most = std::uint64_t{1} << random_.below(21);
        const std::uint64_t bytes = 1 + random_.below(std::min(most, block_bytes));
        const std::uint64_t target = random_.below(block_bytes - bytes + 1);
        const std::uint64_t source = random_.below(block_bytes - bytes + 1);
        std::memmove(model[to].data() + target, model[from].data() + source, bytes);
        const ForwardedEnd end =
            run(static_cast<std::uint32_t>(random_.below(procs)),
                copy(ends[to].address + target, ends[from].address + source, bytes));
        ASSERT_EQ(end.code, Code::ok) << end.message;
    }
    for (std::size_t i = 0; i < ends.size(); ++i) {
        char* const at = ranks_[2]->own.bytes + 2 * block_bytes;
        EXPECT_EQ(
            run(2, copy(ranks_[2]->own.address + 2 * block_bytes, ends[i].address, block_bytes))
                .code,
            Code::ok);
        EXPECT_EQ(std::memcmp(at, model[i].data(), block_bytes), 0) << i;
    }
}

TEST_P(ForwarderDevicesTest, atomics_of_several_processes_lose_nothing) {
    make_hosts();
    const GlobalAddress word = hosts_[0]->blocks[1] + 64;
    const std::uint64_t zero = 0;
    std::memcpy(ranks_[1]->own.bytes, &zero, 8);
    EXPECT_EQ(run(1, copy(word, ranks_[1]->own.address, 8)).code, Code::ok);
    constexpr std::uint64_t count = 100;
    for (std::uint64_t i = 0; i < count; ++i) {
        for (const auto& rank : ranks_) {
            ASSERT_TRUE(rank->forwarder->submit(
                i, atomic(memory::Operation::add, rank->own.address + 8 * i, word, 1)));
        }
    }
    std::vector<std::uint64_t> old;
    for (std::uint32_t slot = 0; slot < procs; ++slot) {
        for (const ForwardedEnd& end : finish(slot)) EXPECT_EQ(end.code, Code::ok) << end.message;
        for (std::uint64_t i = 0; i < count; ++i) {
            std::uint64_t value = 0;
            std::memcpy(&value, ranks_[slot]->own.bytes + 8 * i, 8);
            old.push_back(value);
        }
    }
    std::sort(old.begin(), old.end());
    for (std::uint64_t i = 0; i < procs * count; ++i) ASSERT_EQ(old[i], i);
}

TEST_P(ForwarderDevicesTest, an_old_value_is_stored_on_a_device) {
    make_hosts();
    const GlobalAddress word = ranks_[2]->shared.address;
    const std::uint64_t value = 77;
    std::memcpy(ranks_[2]->shared.bytes, &value, 8);
    for (const std::uint32_t initiator : {0U, 1U, 2U}) {
        const GlobalAddress target = hosts_[0]->blocks[2] + 8 * initiator;
        const ForwardedEnd end =
            run(initiator, atomic(memory::Operation::swap, target, word, 100 + initiator));
        EXPECT_EQ(end.code, Code::ok) << end.message;
        EXPECT_EQ(run(2, copy(ranks_[2]->own.address, target, 8)).code, Code::ok);
        std::uint64_t stored = 0;
        std::memcpy(&stored, ranks_[2]->own.bytes, 8);
        EXPECT_EQ(stored, initiator == 0 ? 77U : 99 + initiator);
    }
}

TEST_P(ForwarderDevicesTest, a_swap_on_a_register_is_a_request_and_nothing_else_is) {
    make_hosts();
    for (const std::uint32_t initiator : {0U, 2U}) {
        Rank& rank = *ranks_[initiator];
        const GlobalAddress at = hosts_[0]->registers + allocate_register(1);
        EXPECT_EQ(run(initiator, atomic(memory::Operation::swap, rank.own.address, at, 5)).code,
                  Code::ok);
        std::uint64_t answer = 0;
        std::memcpy(&answer, rank.own.bytes, 8);
        EXPECT_EQ(answer, allocate_register(1) * 1000 + 5);
        EXPECT_EQ(run(initiator, atomic(memory::Operation::swap, rank.own.address, at, 13)).code,
                  Code::memory);
        EXPECT_EQ(run(initiator, atomic(memory::Operation::add, rank.own.address, at, 5)).code,
                  Code::unsupported);
        memory::Command half = atomic(memory::Operation::swap, rank.own.address, at, 5);
        half.width = 4;
        EXPECT_EQ(run(initiator, half).code, Code::unsupported);
        EXPECT_EQ(run(initiator, copy(rank.own.address, at, 8)).code, Code::unsupported);
        EXPECT_EQ(run(initiator, copy(at, rank.own.address, 8)).code, Code::unsupported);
    }
}

TEST_P(ForwarderDevicesTest, a_receiver_that_takes_nothing_delays_no_other) {
    make_hosts();
    Rank& owner = *ranks_[0];
    is_stopped_[2] = true;
    for (std::uint64_t i = 0; i < 40; ++i) {
        ASSERT_TRUE(owner.forwarder->submit(
            i, copy(ranks_[2]->own.address + i * 100, hosts_[0]->blocks[1], 100'000)));
    }
    for (int i = 0; i < 50; ++i) poll_all();
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(run(1, copy(ranks_[1]->own.address, hosts_[0]->blocks[1], 300'000)).code,
                  Code::ok);
    }
    is_stopped_[2] = false;
    const std::vector<ForwardedEnd> ended = finish(0);
    EXPECT_EQ(ended.size(), 40U);
    for (const ForwardedEnd& end : ended) EXPECT_EQ(end.code, Code::ok) << end.message;
}

TEST_P(ForwarderDevicesTest, a_dead_receiver_and_a_dead_initiator_leave_all_staging_memory_free) {
    make_hosts();
    is_stopped_[2] = true;
    for (std::uint64_t i = 0; i < 30; ++i) {
        ASSERT_TRUE(ranks_[0]->forwarder->submit(
            i, copy(ranks_[2]->own.address, hosts_[0]->blocks[1], 400'000)));
        ASSERT_TRUE(ranks_[2]->forwarder->submit(
            i, copy(ranks_[1]->own.address, hosts_[0]->blocks[1], 400'000)));
        ASSERT_TRUE(ranks_[2]->forwarder->submit(
            i, atomic(memory::Operation::add, 0, hosts_[0]->blocks[1], 1)));
    }
    ranks_[2]->forwarder->poll();  // it dies with commands in flight
    for (int i = 0; i < 3; ++i) poll_all();
    node::mark_dead(segment_, 2, 9);
    for (const std::uint32_t slot : {0U, 1U}) ranks_[slot]->forwarder->on_death(2);
    for (const ForwardedEnd& end : finish(0)) EXPECT_EQ(end.code, Code::peer) << end.message;
    for (int i = 0; i < 20; ++i) {
        for (std::uint64_t many = 0; many < 20; ++many) {
            ASSERT_TRUE(ranks_[1]->forwarder->submit(
                many, copy(ranks_[1]->own.address, hosts_[0]->blocks[1], 100'000)));
        }
        const std::vector<ForwardedEnd> ended = finish(1);
        EXPECT_EQ(ended.size(), 20U);
        for (const ForwardedEnd& end : ended) EXPECT_EQ(end.code, Code::ok) << end.message;
    }
    const GlobalAddress word = hosts_[0]->blocks[1];
    EXPECT_EQ(run(1, atomic(memory::Operation::add, 0, word, 1)).code, Code::ok)
        << "the atomic of a dead process keeps the device";
    while (ranks_[0]->forwarder->poll() != 0) {
    }
    EXPECT_FALSE(ranks_[0]->forwarder->has_work()) << "nothing is left to do";
}

TEST_P(ForwarderDevicesTest, a_lost_device_ends_all_its_commands_and_no_others) {
    for (const std::uint64_t step : {1U, 2U, 3U, 5U, 8U, 13U, 30U}) {
        ranks_.clear();
        hosts_.clear();
        segment_ = make_segment(GetParam(), procs, datagram_bytes);
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            ranks_.push_back(std::make_unique<Rank>(segment_, slot, true, false));
        }
        make_hosts(step);
        const GlobalAddress lost = hosts_[0]->blocks[1];
        for (std::uint64_t i = 0; i < 15; ++i) {
            for (const auto& rank : ranks_) {
                const GlobalAddress own = rank->own.address;
                ASSERT_TRUE(rank->forwarder->submit(1, copy(lost, own, 600'000)));
                ASSERT_TRUE(rank->forwarder->submit(2, copy(own, lost, 600'000)));
                ASSERT_TRUE(rank->forwarder->submit(3, copy(hosts_[0]->blocks[2], lost, 600'000)));
                ASSERT_TRUE(rank->forwarder->submit(4, atomic(memory::Operation::add, 0, lost, 1)));
                ASSERT_TRUE(rank->forwarder->submit(5, copy(own, hosts_[0]->blocks[2], 600'000)));
            }
        }
        std::uint32_t failures = 0;
        for (std::uint32_t slot = 0; slot < procs; ++slot) {
            for (const ForwardedEnd& end : finish(slot)) {
                if (end.code == Code::ok) continue;
                ++failures;
                EXPECT_EQ(end.code, Code::system) << end.message;
                EXPECT_NE(end.token, 5U) << "the other device is not lost";
                EXPECT_NE(end.message.find("its device is lost"), std::string::npos) << end.message;
            }
        }
        EXPECT_GT(failures, 0U) << step;
    }
}

INSTANTIATE_TEST_SUITE_P(Ports, ForwarderDevicesTest, testing::ValuesIn(all_kinds), name_of);

}  // namespace
}  // namespace acp::mailbox::test
