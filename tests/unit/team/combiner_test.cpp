// SPDX-License-Identifier: BSD-3-Clause
// Every operation on every type, and the combinations that do not exist.
#include "team/combiner.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <type_traits>

#include <acp/team.h>

namespace acp::team {
namespace {

template <typename Element>
Element combined(int type, int operation, Element first, Element second) {
    const Combiner* const combiner = Combiner::of(type, operation);
    EXPECT_NE(combiner, nullptr) << type << " " << operation;
    if (combiner == nullptr) return {};
    EXPECT_EQ(combiner->element_bytes(), sizeof(Element));
    const std::array<Element, 3> ones{first, first, first};
    const std::array<Element, 3> others{second, second, second};
    std::array<Element, 4> into{0, 0, 0, 77};
    combiner->combine(into.data(), ones.data(), others.data(), 3);
    EXPECT_EQ(into[0], into[2]);
    EXPECT_EQ(into[3], 77) << "one element too many";
    std::array<Element, 3> in_place = ones;
    combiner->combine(in_place.data(), in_place.data(), others.data(), 3);
    EXPECT_EQ(in_place[1], into[1]);
    return into[1];
}

template <typename Element>
void check_all(int type) {
    EXPECT_EQ(combined<Element>(type, ACP_SUM, 6, 3), 9);
    EXPECT_EQ(combined<Element>(type, ACP_MIN, 6, 3), 3);
    EXPECT_EQ(combined<Element>(type, ACP_MAX, 6, 3), 6);
    if constexpr (std::is_integral_v<Element>) {
        EXPECT_EQ(combined<Element>(type, ACP_AND, 6, 3), 2);
        EXPECT_EQ(combined<Element>(type, ACP_OR, 6, 3), 7);
        EXPECT_EQ(combined<Element>(type, ACP_XOR, 6, 3), 5);
    } else {
        for (const int operation : {ACP_AND, ACP_OR, ACP_XOR})
            EXPECT_EQ(Combiner::of(type, operation), nullptr);
    }
}

TEST(Combiner, combines_all_types_by_all_operations) {
    check_all<std::int32_t>(ACP_INT32);
    check_all<std::uint32_t>(ACP_UINT32);
    check_all<std::int64_t>(ACP_INT64);
    check_all<std::uint64_t>(ACP_UINT64);
    check_all<float>(ACP_FLOAT);
    check_all<double>(ACP_DOUBLE);
}

TEST(Combiner, signs_count_and_sums_wrap_around) {
    EXPECT_EQ(combined<std::int64_t>(ACP_INT64, ACP_MIN, -5, 3), -5);
    EXPECT_EQ(combined<std::uint64_t>(ACP_UINT64, ACP_MAX, ~std::uint64_t{0}, 3),
              ~std::uint64_t{0});
    EXPECT_EQ(
        combined<std::int32_t>(ACP_INT32, ACP_SUM, std::numeric_limits<std::int32_t>::max(), 1),
        std::numeric_limits<std::int32_t>::min());
}

TEST(Combiner, knows_no_other_types_and_operations) {
    for (const int wrong : {-1, 0, 7, 1 << 20}) {
        EXPECT_EQ(Combiner::of(wrong, ACP_SUM), nullptr);
        EXPECT_EQ(Combiner::of(ACP_INT64, wrong), nullptr);
    }
}

void append(void* into, const void* from, std::size_t count, void* context) {
    *static_cast<std::size_t*>(context) += count;
    for (std::size_t i = 0; i < count; ++i)
        static_cast<std::uint16_t*>(into)[i] = static_cast<std::uint16_t>(
            static_cast<std::uint16_t*>(into)[i] * 10 + static_cast<const std::uint16_t*>(from)[i]);
}

TEST(Combiner, calls_a_function_of_the_program_with_the_earlier_element_first) {
    std::size_t calls = 0;
    const Combiner combiner(append, &calls, sizeof(std::uint16_t));
    const std::array<std::uint16_t, 2> first{1, 2};
    const std::array<std::uint16_t, 2> second{3, 4};
    std::array<std::uint16_t, 2> into{};
    combiner.combine(into.data(), first.data(), second.data(), 2);
    EXPECT_EQ(into, (std::array<std::uint16_t, 2>{13, 24}));
    EXPECT_EQ(calls, 2U);
    EXPECT_TRUE(combiner.is_own());
}

}  // namespace
}  // namespace acp::team
