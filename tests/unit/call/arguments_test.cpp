// SPDX-License-Identifier: BSD-3-Clause
// The server decodes the arguments that the client has encoded, in and beside the slot; both refuse
// wrong indexes, sizes and words.
#include "call/arguments.hpp"

#include <algorithm>
#include <bit>
#include <gtest/gtest.h>
#include <string>

#include "call/function_call.hpp"
#include "support/random.hpp"

namespace acp::call {
namespace {

using base::Code;

// Staging memory and device memory of a server in this process.
struct Memory {
    alignas(64) std::array<std::byte, 8192> staging{};
    std::array<std::byte, 128> device{};

    [[nodiscard]] ServerMemory view() { return {staging, device}; }
};

// Encodes at offset 64 of the staging memory, and decodes.
Status pass(const CallArguments& arguments, Memory& memory, FunctionArguments& decoded) {
    const CallRequest request = arguments.encode(1, 2, memory.staging.data() + 64, 64);
    EXPECT_EQ(request.target, 1U);
    const CallShape shape = CallShape::of(request.shape);
    EXPECT_EQ(shape.operation, 2U);
    return decode_arguments(shape, request.words, memory.view(), decoded);
}

TEST(CallArguments, pass_integers_and_reals_in_the_slot) {
    Memory memory;
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_integer(0, 5).is_ok());
    ASSERT_TRUE(arguments.set_double(1, 2.5).is_ok());
    ASSERT_TRUE(arguments.set_float(12, 1.5F).is_ok());
    EXPECT_EQ(arguments.staging_bytes(), 0U);
    FunctionArguments decoded;
    ASSERT_TRUE(pass(arguments, memory, decoded).is_ok());
    ASSERT_EQ(decoded.count, 13U);
    EXPECT_EQ(decoded.words[0], 5U);
    EXPECT_EQ(std::bit_cast<double>(decoded.words[1]), 2.5);
    EXPECT_EQ(decoded.words[12], std::bit_cast<std::uint32_t>(1.5F));
    EXPECT_EQ(decoded.words[7], 0U) << "an argument that was not set";
    EXPECT_EQ(decoded.is_real.to_ulong(), 1UL << 1U | 1UL << 12U);
}

TEST(CallArguments, pass_up_to_the_maximum_beside_the_slot) {
    Memory memory;
    for (const std::uint32_t count : {14U, 32U, 33U, 255U, 256U}) {
        CallArguments arguments;
        for (std::uint32_t i = count; i-- > 0;) {
            const Status status =
                i % 3 == 0 ? arguments.set_double(i, i * 0.5) : arguments.set_integer(i, i * 1000);
            ASSERT_TRUE(status.is_ok());
        }
        EXPECT_GE(arguments.staging_bytes(), count * 8);
        FunctionArguments decoded;
        ASSERT_TRUE(pass(arguments, memory, decoded).is_ok());
        ASSERT_EQ(decoded.count, count);
        for (std::uint32_t i = 0; i < count; ++i) {
            EXPECT_EQ(decoded.is_real[i], i % 3 == 0) << i;
            EXPECT_EQ(decoded.words[i],
                      i % 3 == 0 ? std::bit_cast<std::uint64_t>(i * 0.5) : i * 1000)
                << i;
        }
    }
}

TEST(CallArguments, pass_addresses_as_pointers_into_device_memory) {
    Memory memory;
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_address(0, 100).is_ok());
    FunctionArguments decoded;
    ASSERT_TRUE(pass(arguments, memory, decoded).is_ok());
    EXPECT_EQ(decoded.words[0], reinterpret_cast<std::uintptr_t>(&memory.device[100]));
    ASSERT_TRUE(arguments.set_address(0, memory.device.size()).is_ok());
    const Status refused = pass(arguments, memory, decoded);
    EXPECT_EQ(refused.code(), Code::argument);
    EXPECT_NE(
        refused.message().find("argument 0 of a call is at offset 128 of 128 bytes of device"),
        std::string::npos)
        << refused.message();
}

TEST(CallArguments, pass_buffers_by_their_intents) {
    Memory memory;
    std::array<std::string, 3> buffers{"input", "output....", "both"};
    CallArguments arguments;
    for (std::uint32_t i = 0; i < 14; ++i) ASSERT_TRUE(arguments.set_integer(i, i).is_ok());
    for (std::uint32_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(
            arguments.set_buffer(i, static_cast<Intent>(i), buffers[i].data(), buffers[i].size())
                .is_ok());
    }
    ASSERT_LE(arguments.staging_bytes(), memory.staging.size() - 64);
    FunctionArguments decoded;
    ASSERT_TRUE(pass(arguments, memory, decoded).is_ok());
    std::array<char*, 3> there{};
    for (std::uint32_t i = 0; i < 3; ++i) {
        there[i] = reinterpret_cast<char*>(static_cast<std::uintptr_t>(decoded.words[i]));
        EXPECT_EQ(decoded.words[i] % buffer_alignment, 0U);
    }
    EXPECT_EQ(std::string(there[0], 5), "input");
    EXPECT_NE(std::string(there[1], 10), "output....") << "the function only writes it";
    EXPECT_EQ(std::string(there[2], 4), "both");
    for (std::uint32_t i = 0; i < 3; ++i) std::fill_n(there[i], buffers[i].size(), 'x');
    arguments.fetch_output(memory.staging.data() + 64);
    EXPECT_EQ(buffers[0], "input");
    EXPECT_EQ(buffers[1], "xxxxxxxxxx");
    EXPECT_EQ(buffers[2], "xxxx");
}

TEST(CallArguments, replace_what_an_index_had) {
    Memory memory;
    char buffer[2048];
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_buffer(0, Intent::in, buffer, sizeof buffer).is_ok());
    EXPECT_EQ(arguments.staging_bytes(), sizeof buffer);
    ASSERT_TRUE(arguments.set_buffer(0, Intent::in, buffer, 16).is_ok());
    EXPECT_EQ(arguments.staging_bytes(), 16U);
    ASSERT_TRUE(arguments.set_integer(0, 9).is_ok());
    EXPECT_EQ(arguments.staging_bytes(), 0U);
    FunctionArguments decoded;
    ASSERT_TRUE(pass(arguments, memory, decoded).is_ok());
    EXPECT_EQ(decoded.words[0], 9U);
    arguments.clear();
    EXPECT_EQ(arguments.count(), 0U);
}

TEST(CallArguments, refuse_indexes_and_buffers_beyond_their_limits) {
    char buffer[16];
    CallArguments arguments;
    EXPECT_TRUE(arguments.set_integer(255, 1).is_ok());
    EXPECT_EQ(arguments.set_integer(256, 1).code(), Code::argument);
    EXPECT_EQ(arguments.set_buffer(256, Intent::in, buffer, 16).code(), Code::argument);
    EXPECT_EQ(arguments.set_buffer(0, Intent::in, nullptr, 16).code(), Code::argument);
    EXPECT_EQ(arguments.set_buffer(0, Intent::in, buffer, 0).code(), Code::argument);
    EXPECT_EQ(arguments.set_buffer(0, Intent::in, buffer, buffer_bytes_max + 1).code(),
              Code::limit);
    EXPECT_EQ(arguments.set_buffer(0, Intent::in, buffer, ~std::uint64_t{0}).code(), Code::limit);
    EXPECT_TRUE(arguments.set_buffer(0, Intent::in, buffer, buffer_bytes_max).is_ok());
    EXPECT_EQ(arguments.set_buffer(1, Intent::in, buffer, 1).code(), Code::limit);
    EXPECT_TRUE(arguments.set_buffer(0, Intent::in, buffer, buffer_bytes_max).is_ok())
        << "the new buffer of an argument replaces its old one";
    EXPECT_EQ(arguments.count(), 256U);
}

TEST(CallArguments, are_decoded_safely_from_any_words) {
    Memory memory;
    const std::uint64_t seed = test::fresh_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Random random(seed);
    const auto lies_in = [](std::uint64_t word, std::span<std::byte> range) {
        return word - reinterpret_cast<std::uintptr_t>(range.data()) < range.size();
    };
    int accepted = 0;
    for (int i = 0; i < 50'000; ++i) {
        CallShape shape = CallShape::of(random.below(~std::uint64_t{0}));
        shape.count = static_cast<std::uint16_t>(random.below(300));
        shape.result = static_cast<ResultKind>(random.below(4));
        std::array<std::uint64_t, slot_words> words{};
        for (std::uint64_t& word : words) word = random.below(random.below(2) == 0 ? 256 : 10'000);
        if (random.below(2) == 0) words[1] = (shape.count + kind_words(shape.count)) * 8;
        FunctionArguments decoded;
        const Status status = decode_arguments(shape, words, memory.view(), decoded);
        if (!status.is_ok()) {
            EXPECT_EQ(status.code(), Code::argument);
            continue;
        }
        ++accepted;
        ASSERT_LE(decoded.count, arguments_max);
        ASSERT_LE(shape.result, ResultKind::single);
        for (std::uint32_t at = 0; shape.is_in_slot() && at < decoded.count; ++at) {
            const auto kind = static_cast<ArgumentKind>(shape.kinds >> 2 * at & 3U);
            if (kind == ArgumentKind::address) {
                ASSERT_TRUE(lies_in(decoded.words[at], memory.device));
            } else if (kind == ArgumentKind::buffer) {
                ASSERT_TRUE(lies_in(decoded.words[at], memory.staging));
            }
        }
    }
    EXPECT_GT(accepted, 0);
}

TEST(CallArguments, name_a_list_that_is_not_in_staging_memory) {
    Memory memory;
    const CallShape shape{0, ResultKind::integer, 14, 0};
    std::array<std::uint64_t, slot_words> words{};
    words[1] = (14 + 1) * 8;
    FunctionArguments decoded;
    words[0] = memory.staging.size() - words[1];
    EXPECT_TRUE(decode_arguments(shape, words, memory.view(), decoded).is_ok());
    ++words[0];
    const Status late = decode_arguments(shape, words, memory.view(), decoded);
    EXPECT_NE(late.message().find("14 arguments is 120 bytes at offset 8073 of 8192"),
              std::string::npos)
        << late.message();
    words[0] = 0;
    words[1] += 8;
    EXPECT_EQ(decode_arguments(shape, words, memory.view(), decoded).code(), Code::argument)
        << "the list has another length than its count";
    words[1] -= 8;
    words[0] = ~std::uint64_t{0};
    EXPECT_EQ(decode_arguments(shape, words, memory.view(), decoded).code(), Code::argument);
    EXPECT_EQ(
        decode_arguments({0, ResultKind::integer, 257, 0}, words, memory.view(), decoded).code(),
        Code::argument);
}

}  // namespace
}  // namespace acp::call
