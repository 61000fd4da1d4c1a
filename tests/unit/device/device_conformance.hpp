// SPDX-License-Identifier: BSD-3-Clause
// The contract of device/device.hpp as tests. An implementation instantiates the suite with a type
// that has:
//   static constexpr std::uint64_t bytes             memory of the device, 48 MiB or more
//   std::unique_ptr<Device> make(fails_at)           a device whose engine fails in a step; 0: never
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::device::test {

inline std::vector<char> random_bytes(acp::test::Random& random, std::uint64_t bytes) {
    std::vector<char> made(bytes);
    for (char& byte : made) byte = static_cast<char>(random.next());
    return made;
}

template <typename Maker>
class DeviceConformance : public testing::Test {
protected:
    DeviceConformance() { acp::test::arm_watchdog(120, "a device test"); }

    ~DeviceConformance() override { acp::test::arm_watchdog(0, ""); }

    static std::unique_ptr<Device> make(std::uint64_t fails_at = 0) {
        return Maker::make(fails_at);
    }

    // Waits for a copy; false: the device is lost.
    static bool finish(Device& device, const base::Result<Ticket>& ticket) {
        if (!ticket.is_ok()) {
            ADD_FAILURE() << ticket.failure().message();
            return false;
        }
        while (!device.has_ended(ticket.value())) {
            if (device.is_lost()) return false;
            (void)device.poll();
        }
        return true;
    }

    static DeviceAddress allocated(Device& device, std::uint64_t bytes) {
        auto address = device.allocate(bytes);
        if (!address.is_ok()) {
            ADD_FAILURE() << address.failure().message();
            return 0;
        }
        return address.value();
    }

    static std::vector<char> content(Device& device, DeviceAddress at, std::uint64_t bytes) {
        std::vector<char> read(bytes);
        EXPECT_TRUE(finish(device, device.copy_out(read.data(), at, bytes)));
        return read;
    }

    acp::test::Random random_{7};
};

TYPED_TEST_SUITE_P(DeviceConformance);

TYPED_TEST_P(DeviceConformance, says_what_it_is) {
    const auto device = this->make();
    EXPECT_FALSE(device->info().name.empty());
    EXPECT_GE(device->info().bytes, TypeParam::bytes);
    EXPECT_TRUE(device->info().can_copy);
    EXPECT_EQ(device->info().why_not.empty(), device->info().can_call);
    EXPECT_FALSE(device->is_lost());
    EXPECT_FALSE(device->poll()) << "there is nothing to do";
}

TYPED_TEST_P(DeviceConformance, keeps_bytes_of_every_size_at_every_offset) {
    const auto device = this->make();
    for (const std::uint64_t bytes :
         {1ULL, 3ULL, 8ULL, 255ULL, 4096ULL, 65537ULL, 1ULL << 20, 16ULL << 20}) {
        for (const std::uint64_t offset : {0ULL, 1ULL, 13ULL}) {
            const DeviceAddress block = this->allocated(*device, bytes + offset + 1);
            EXPECT_EQ(block % Device::alignment, 0U);
            const std::vector<char> written = random_bytes(this->random_, bytes);
            ASSERT_TRUE(
                this->finish(*device, device->copy_in(block + offset, written.data(), bytes)));
            EXPECT_EQ(this->content(*device, block + offset, bytes), written);
            EXPECT_TRUE(device->free(block).is_ok());
        }
    }
}

TYPED_TEST_P(DeviceConformance, a_copy_changes_no_byte_beside_its_target) {
    const auto device = this->make();
    const DeviceAddress block = this->allocated(*device, 3000);
    std::vector<char> model(3000, 'a');
    ASSERT_TRUE(this->finish(*device, device->copy_in(block, model.data(), model.size())));
    for (int i = 0; i < 200; ++i) {
        const std::uint64_t at = this->random_.below(2999);
        const std::uint64_t bytes = 1 + this->random_.below(3000 - at);
        const std::vector<char> written = random_bytes(this->random_, bytes);
        ASSERT_TRUE(this->finish(*device, device->copy_in(block + at, written.data(), bytes)));
        std::copy(written.begin(), written.end(), model.begin() + static_cast<std::ptrdiff_t>(at));
        ASSERT_EQ(this->content(*device, block, model.size()), model);
    }
}

TYPED_TEST_P(DeviceConformance, copies_inside_as_memmove_does) {
    const auto device = this->make();
    const std::uint64_t bytes = 3 * Device::step_bytes;
    const DeviceAddress block = this->allocated(*device, bytes);
    std::vector<char> model = random_bytes(this->random_, bytes);
    ASSERT_TRUE(this->finish(*device, device->copy_in(block, model.data(), bytes)));
    for (const auto& [target, source, count] : {std::array<std::uint64_t, 3>{0, 1, bytes - 1},
                                                {1, 0, bytes - 1},
                                                {Device::step_bytes / 2, 0, 2 * Device::step_bytes},
                                                {0, Device::step_bytes / 2, 2 * Device::step_bytes},
                                                {0, 0, bytes},
                                                {2 * Device::step_bytes, 0, Device::step_bytes}}) {
        ASSERT_TRUE(
            this->finish(*device, device->copy_inside(block + target, block + source, count)));
        std::memmove(model.data() + target, model.data() + source, count);
        ASSERT_EQ(this->content(*device, block, bytes), model) << target << " from " << source;
    }
}

TYPED_TEST_P(DeviceConformance, copies_take_effect_in_their_order) {
    const auto device = this->make();
    const DeviceAddress block = this->allocated(*device, 64);
    std::vector<std::vector<char>> values;
    std::vector<std::vector<char>> read(Device::copies_max / 2, std::vector<char>(64));
    for (std::uint32_t i = 0; i < Device::copies_max / 2; ++i) {
        values.push_back(random_bytes(this->random_, 64));
    }
    Ticket last = 0;
    for (std::uint32_t i = 0; i < Device::copies_max / 2; ++i) {
        auto in = device->copy_in(block, values[i].data(), 64);
        ASSERT_TRUE(in.is_ok());
        EXPECT_EQ(in.value(), last + 1);
        auto out = device->copy_out(read[i].data(), block, 64);
        ASSERT_TRUE(out.is_ok());
        last = out.value();
    }
    EXPECT_FALSE(device->has_ended(last)) << "a copy ends in poll()";
    const auto more = device->copy_out(read[0].data(), block, 64);
    ASSERT_FALSE(more.is_ok());
    EXPECT_EQ(more.failure().code(), base::Code::limit);
    while (!device->has_ended(last)) ASSERT_TRUE(device->poll());
    EXPECT_TRUE(device->has_ended(1));
    EXPECT_EQ(read, values);
}

TYPED_TEST_P(DeviceConformance, one_poll_copies_no_more_than_a_step) {
    const auto device = this->make();
    const std::uint64_t bytes = 4 * Device::step_bytes;
    const DeviceAddress block = this->allocated(*device, bytes);
    const std::vector<char> written(bytes, 'x');
    auto ticket = device->copy_in(block, written.data(), bytes);
    ASSERT_TRUE(ticket.is_ok());
    for (int polls = 0; polls < 3; ++polls) (void)device->poll();
    EXPECT_FALSE(device->has_ended(ticket.value()));
    EXPECT_TRUE(this->finish(*device, ticket));
}

TYPED_TEST_P(DeviceConformance, refuses_ranges_outside_an_allocation) {
    const auto device = this->make();
    const DeviceAddress block = this->allocated(*device, 1000);
    const DeviceAddress next = this->allocated(*device, 1000);
    char byte[2000] = {};
    const auto code_of = [](const base::Result<Ticket>& result) {
        return result.is_ok() ? base::Code::ok : result.failure().code();
    };
    EXPECT_EQ(code_of(device->copy_in(block, byte, 1001)), base::Code::argument);
    EXPECT_EQ(code_of(device->copy_in(block, byte, 0)), base::Code::argument);
    EXPECT_EQ(code_of(device->copy_out(byte, block + 999, 2)), base::Code::argument);
    EXPECT_EQ(code_of(device->copy_out(byte, block, ~0ULL)), base::Code::argument);
    EXPECT_EQ(code_of(device->copy_inside(next, block, 1001)), base::Code::argument);
    EXPECT_EQ(code_of(device->copy_inside(next + 1, block, 1000)), base::Code::argument);
    EXPECT_EQ(code_of(device->copy_in(block + 1000, byte, 1)), base::Code::stale);
    EXPECT_EQ(code_of(device->copy_in(0, byte, 1)), base::Code::stale);
    EXPECT_EQ(code_of(device->copy_in(~0ULL, byte, 1)), base::Code::stale);
    EXPECT_FALSE(device->poll()) << "a refused copy was begun";
}

TYPED_TEST_P(DeviceConformance, freed_memory_is_stale_and_given_anew) {
    const auto device = this->make();
    const std::uint64_t half = device->info().bytes / 2;
    const DeviceAddress first = this->allocated(*device, half);
    const DeviceAddress second = this->allocated(*device, half);
    const auto third = device->allocate(1);
    ASSERT_FALSE(third.is_ok());
    EXPECT_EQ(third.failure().code(), base::Code::memory);
    EXPECT_NE(third.failure().message().find(device->info().name), std::string::npos);
    EXPECT_TRUE(device->free(first).is_ok());
    EXPECT_EQ(device->free(first).code(), base::Code::stale);
    EXPECT_EQ(device->free(second + 1).code(), base::Code::stale);
    char byte = 0;
    const auto copy = device->copy_out(&byte, first, 1);
    ASSERT_FALSE(copy.is_ok());
    EXPECT_EQ(copy.failure().code(), base::Code::stale);
    EXPECT_NE(this->allocated(*device, half), 0U);
    EXPECT_EQ(device->allocate(0).failure().code(), base::Code::argument);
    EXPECT_EQ(device->allocate(~0ULL).failure().code(), base::Code::memory);
}

TYPED_TEST_P(DeviceConformance, memory_that_is_freed_under_a_copy_is_not_given_before_its_end) {
    const auto device = this->make();
    const std::uint64_t all = device->info().bytes;
    const DeviceAddress block = this->allocated(*device, all);
    const std::vector<char> old(4 * Device::step_bytes, 'o');
    auto in = device->copy_in(block, old.data(), old.size());
    ASSERT_TRUE(in.is_ok());
    EXPECT_TRUE(device->free(block).is_ok());
    const DeviceAddress again = this->allocated(*device, all);  // the engine ends the copy before
    EXPECT_TRUE(device->has_ended(in.value()));
    const std::vector<char> fresh(old.size(), 'n');
    ASSERT_TRUE(this->finish(*device, device->copy_in(again, fresh.data(), fresh.size())));
    EXPECT_EQ(this->content(*device, again, fresh.size()), fresh);
}

// Every step in turn is the one that fails.
TYPED_TEST_P(DeviceConformance, a_device_that_fails_is_lost_for_every_later_call) {
    for (std::uint64_t fails_at = 1; fails_at <= 12; ++fails_at) {
        const auto device = this->make(fails_at);
        const std::uint64_t bytes = 2 * Device::step_bytes;
        const DeviceAddress block = this->allocated(*device, 2 * bytes);
        std::vector<char> memory(bytes, 'm');
        int copies = 0;
        for (; copies < 20; ++copies) {
            if (!this->finish(*device, device->copy_in(block, memory.data(), bytes))) break;
        }
        EXPECT_LT(copies, 20) << "no step has failed";
        EXPECT_TRUE(device->is_lost());
        EXPECT_FALSE(device->poll());
        EXPECT_EQ(device->allocate(1).failure().code(), base::Code::system);
        EXPECT_EQ(device->free(block).code(), base::Code::system);
        const auto copy = device->copy_out(memory.data(), block, 1);
        ASSERT_FALSE(copy.is_ok());
        EXPECT_EQ(copy.failure().code(), base::Code::system);
        EXPECT_NE(copy.failure().message().find("lost"), std::string::npos);
    }
}

TYPED_TEST_P(DeviceConformance, random_allocations_never_overlap) {
    const auto device = this->make();

    struct Block {
        DeviceAddress at;
        std::vector<char> content;
    };

    std::vector<Block> blocks;
    for (int i = 0; i < 400; ++i) {
        if (!blocks.empty() && this->random_.chance(45)) {
            const std::size_t victim = this->random_.below(blocks.size());
            const Block& block = blocks[victim];
            ASSERT_EQ(this->content(*device, block.at, block.content.size()), block.content);
            ASSERT_TRUE(device->free(block.at).is_ok());
            blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(victim));
            continue;
        }
        const std::uint64_t bytes = 1 + this->random_.below(100'000);
        Block block{this->allocated(*device, bytes), random_bytes(this->random_, bytes)};
        ASSERT_TRUE(this->finish(*device, device->copy_in(block.at, block.content.data(), bytes)));
        blocks.push_back(std::move(block));
    }
    for (const Block& block : blocks) {
        EXPECT_EQ(this->content(*device, block.at, block.content.size()), block.content);
    }
}

REGISTER_TYPED_TEST_SUITE_P(DeviceConformance,
                            says_what_it_is,
                            keeps_bytes_of_every_size_at_every_offset,
                            a_copy_changes_no_byte_beside_its_target,
                            copies_inside_as_memmove_does,
                            copies_take_effect_in_their_order,
                            one_poll_copies_no_more_than_a_step,
                            refuses_ranges_outside_an_allocation,
                            freed_memory_is_stale_and_given_anew,
                            memory_that_is_freed_under_a_copy_is_not_given_before_its_end,
                            a_device_that_fails_is_lost_for_every_later_call,
                            random_allocations_never_overlap);

}  // namespace acp::device::test
