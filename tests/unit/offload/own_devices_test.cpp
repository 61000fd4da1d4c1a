// SPDX-License-Identifier: BSD-3-Clause
// The owner's side of allocations on devices: what it publishes, the blocks that requests allocate
// and free, and requests that a peer should not have made.
#include "offload/own_devices.hpp"

#include <cstring>
#include <set>
#include <vector>

#include "unit/local/test_owner.hpp"

namespace acp::offload {
namespace {

using base::Code;
using local::test::make_node;
using local::test::Owner;
using mailbox::allocate_register;
using mailbox::free_register;

class OwnDevicesTest : public testing::Test {
protected:
    void open(const char* list) {
        auto opened = OwnDevices::open(list);
        ASSERT_TRUE(opened.is_ok()) << opened.failure().message();
        devices_ = std::move(opened).value();
        ASSERT_TRUE(devices_->publish(node_, 0, *owner_.registry).is_ok());
    }

    [[nodiscard]] std::uint64_t published() const {
        std::uint64_t address = 0;
        std::memcpy(&address, node_.claimed(0, device_registers_range), sizeof address);
        return address;
    }

    Code code_of(std::uint64_t offset, std::uint64_t operand) {
        const auto answer = devices_->on_request(offset, operand);
        return answer.is_ok() ? Code::ok : answer.failure().code();
    }

    std::uint64_t allocated(std::uint32_t device, std::uint64_t bytes) {
        const auto answer = devices_->on_request(allocate_register(device), bytes);
        EXPECT_TRUE(answer.is_ok());
        return answer.is_ok() ? answer.value() : 0;
    }

    node::Segment node_ = make_node(1, 1);
    Owner owner_{node_, 0};
    std::unique_ptr<OwnDevices> devices_;
};

TEST_F(OwnDevicesTest, without_a_list_there_is_none_and_no_register) {
    open("");
    EXPECT_EQ(devices_->device_count(), 0U);
    EXPECT_EQ(published(), 0U);
    EXPECT_EQ(devices_->device(0), nullptr);
    EXPECT_EQ(devices_->device(1), nullptr);
    EXPECT_EQ(code_of(free_register, 0), Code::argument);
    EXPECT_EQ(code_of(allocate_register(1), 8), Code::argument);
}

TEST_F(OwnDevicesTest, publishes_registers_that_no_load_reaches) {
    open("far:64K,far:1M");
    EXPECT_EQ(devices_->device_count(), 3U);
    EXPECT_EQ(devices_->device(0), nullptr);
    ASSERT_NE(devices_->device(1), nullptr);
    EXPECT_EQ(devices_->device(2)->info().name, "far:1M");
    EXPECT_EQ(devices_->device(3), nullptr);
    local::Place place;
    ASSERT_EQ(owner_.space.find(published() + allocate_register(2), 8, place), Code::ok);
    EXPECT_TRUE(place.is_device());
    EXPECT_EQ(place.device, memory::device_registers);
    EXPECT_EQ(place.owner_address, allocate_register(2));
    EXPECT_EQ(place.direct, nullptr);
    EXPECT_EQ(owner_.space.find(published() + allocate_register(3), 8, place), Code::address);
}

TEST_F(OwnDevicesTest, allocates_blocks_of_their_device_and_frees_them) {
    open("far:64K,far:1M");
    for (const std::uint32_t device : {1U, 2U}) {
        const std::uint64_t block = allocated(device, 1000);
        local::Place place;
        ASSERT_EQ(owner_.space.find(block, 1000, place), Code::ok);
        EXPECT_EQ(place.device, device);
        EXPECT_EQ(owner_.space.find(block, 1001, place), Code::address);
        EXPECT_EQ(code_of(free_register, block), Code::ok);
        EXPECT_EQ(owner_.space.find(block, 1, place), Code::stale);
        EXPECT_EQ(code_of(free_register, block), Code::stale);
    }
    EXPECT_EQ(code_of(allocate_register(1), 64 * 1024 + 1), Code::memory);
    EXPECT_EQ(code_of(allocate_register(1), ~0ULL), Code::memory);
    EXPECT_EQ(code_of(allocate_register(1), 0), Code::argument);
    const std::uint64_t all = allocated(1, 64 * 1024);
    EXPECT_EQ(code_of(allocate_register(1), 1), Code::memory);
    EXPECT_EQ(code_of(free_register, all), Code::ok);
    EXPECT_NE(allocated(1, 64 * 1024), 0U);
}

TEST_F(OwnDevicesTest, refuses_requests_that_name_no_register_and_no_block) {
    open("far:64K");
    EXPECT_EQ(code_of(allocate_register(0), 8), Code::argument) << "device 0 is the heap";
    EXPECT_EQ(code_of(allocate_register(2), 8), Code::argument);
    EXPECT_EQ(code_of(allocate_register(1) + 4, 8), Code::argument);
    EXPECT_EQ(code_of(~0ULL, 8), Code::argument);
    EXPECT_EQ(code_of(free_register, 0), Code::argument);
    EXPECT_EQ(code_of(free_register, ~0ULL), Code::argument);
    EXPECT_EQ(code_of(free_register, published()), Code::argument) << "registers are no block";
    const std::uint64_t block = allocated(1, 1000);
    EXPECT_EQ(code_of(free_register, block + 256), Code::argument);
    std::vector<char> memory(64);
    const local::Key key = owner_.add(memory.data(), memory.size());
    EXPECT_EQ(code_of(free_register, key), Code::argument) << "a registration is no block";
    EXPECT_EQ(owner_.remove(key), Code::ok);
    EXPECT_EQ(code_of(free_register, block), Code::ok);
}

// Each block takes a granule of the rank's addresses at least.
TEST_F(OwnDevicesTest, gives_no_block_without_room_for_its_address_and_keeps_its_memory) {
    open("far:64M");
    std::vector<std::uint64_t> blocks;
    while (true) {
        const auto answer = devices_->on_request(allocate_register(1), 8);
        if (!answer.is_ok()) {
            EXPECT_EQ(answer.failure().code(), Code::limit);
            break;
        }
        blocks.push_back(answer.value());
        ASSERT_LE(blocks.size(), memory::granules_per_process);
    }
    EXPECT_EQ(std::set<std::uint64_t>(blocks.begin(), blocks.end()).size(), blocks.size());
    for (const std::uint64_t block : blocks) ASSERT_EQ(code_of(free_register, block), Code::ok);
    EXPECT_NE(allocated(1, 64ULL << 20U), 0U) << "the memory of the refused block is not lost";
}

TEST_F(OwnDevicesTest, a_lost_device_refuses_requests) {
    open("far:1M:fail=1");
    const std::uint64_t block = allocated(1, 1000);
    char byte = 0;
    local::Place place;
    ASSERT_EQ(owner_.space.find(block, 1, place), Code::ok);
    ASSERT_TRUE(devices_->device(1)->copy_in(place.owner_address, &byte, 1).is_ok());
    (void)devices_->device(1)->poll();
    EXPECT_EQ(code_of(allocate_register(1), 8), Code::system);
    EXPECT_EQ(code_of(free_register, block), Code::system);
}

}  // namespace
}  // namespace acp::offload
