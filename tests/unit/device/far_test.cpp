// SPDX-License-Identifier: BSD-3-Clause
// The device `far`: the conformance suite of devices, and what it alone promises.
#include "device/far.hpp"

#include "unit/device/device_conformance.hpp"

namespace acp::device::test {
namespace {

struct FarMaker {
    static constexpr std::uint64_t bytes = 64ULL << 20;

    static std::unique_ptr<Device> make(std::uint64_t fails_at) {
        auto device = FarDevice::open({bytes, 1, fails_at});
        EXPECT_TRUE(device.is_ok());
        return std::move(device).value();
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Far, DeviceConformance, FarMaker);

TEST(FarDeviceTest, says_its_size_and_kind) {
    const auto device = FarMaker::make(0);
    EXPECT_EQ(device->info().kind, DeviceKind::far);
    EXPECT_STREQ(name_of(device->info().kind), "far");
    EXPECT_EQ(device->info().name, "far:64M");
    EXPECT_EQ(device->info().bytes, FarMaker::bytes);
}

TEST(FarDeviceTest, has_no_addresses_that_a_processor_accepts_and_none_of_another_device) {
    auto one = FarDevice::open({4096, 1, 0});
    auto two = FarDevice::open({4096, 2, 0});
    ASSERT_TRUE(one.is_ok() && two.is_ok());
    const auto first = one.value()->allocate(8);
    const auto second = two.value()->allocate(8);
    ASSERT_TRUE(first.is_ok() && second.is_ok());
    EXPECT_NE(first.value(), second.value());
    EXPECT_NE(first.value() >> 48U, 0U);
    EXPECT_NE(first.value() >> 48U, 0xffffU);
    char byte = 0;
    EXPECT_EQ(one.value()->copy_out(&byte, second.value(), 1).failure().code(), base::Code::stale);
}

TEST(FarDeviceTest, refuses_a_size_of_nothing_and_one_that_no_machine_has) {
    EXPECT_EQ(FarDevice::open({0, 1, 0}).failure().code(), base::Code::argument);
    EXPECT_FALSE(FarDevice::open({1ULL << 62U, 1, 0}).is_ok());
}

}  // namespace
}  // namespace acp::device::test
