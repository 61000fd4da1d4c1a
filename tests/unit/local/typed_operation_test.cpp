// SPDX-License-Identifier: BSD-3-Clause
// An operation that is stated as a type: its row, the arguments of its function, and the requests
// that are refused before it runs.
#include "local/typed_operation.hpp"

#include <initializer_list>
#include <utility>
#include <vector>

#include "node/heap_limit.hpp"

#include "unit/local/test_owner.hpp"

namespace acp::local::test {
namespace {

using base::Code;

constexpr std::uint64_t heap_bytes = 4 * node::heap_step_bytes;

// Returns the sum of the words of its tail, and after it each of them doubled.
struct Doubling {
    static constexpr OperationName name{"test.double", "doubling words"};

    struct Owner {
        explicit Owner(OperationContext& context) : process(context.process()) { ++made; }

        std::uint32_t process;
        static inline int made = 0;
    };

    struct Input {
        std::uint64_t start = 0;
        std::uint64_t process = 0;  // the owner
    };

    struct Output {
        std::uint64_t sum = 0;
    };

    static constexpr std::uint32_t tail_max = 4 * sizeof(std::uint64_t);
    static constexpr std::uint32_t result_tail_max = 3 * sizeof(std::uint64_t);

    static Code check(const OperationCall<Input>& call, const OwnerShape& shape) noexcept {
        if (!TailOf<std::uint64_t>(call.tail).is_sound(1, 4)) return Code::argument;
        return call->process == shape.process && shape.procs == 2 ? Code::ok : Code::address;
    }

    static Code run(Owner& owner,
                    const OperationCall<Input>& call,
                    OperationReply<Output>& reply) noexcept {
        if (owner.process != call->process) return Code::system;
        reply->sum = call->start;
        const TailOf<std::uint64_t> words(call.tail);
        for (std::size_t i = 0; i < words.size(); ++i) {
            reply->sum += words[i];
            if (!reply.tail.add(2 * words[i])) return Code::limit;
        }
        return Code::ok;
    }

    static std::string places_of(const Input& request) {
        return "it starts at " + std::to_string(request.start);
    }
};

// Takes and returns nothing.
struct Silent {
    static constexpr OperationName name{"test.silent", "nothing"};

    struct Owner {
        explicit Owner(OperationContext& /*context*/) {}
    };

    using Input = Nothing;
    using Output = Nothing;
    static constexpr std::uint32_t tail_max = 0;
    static constexpr std::uint32_t result_tail_max = 0;

    static Code check(const OperationCall<Input>& /*call*/, const OwnerShape& shape) noexcept {
        return shape.heap_bytes != 0 ? Code::ok : Code::unsupported;
    }

    static Code run(Owner& /*owner*/,
                    const OperationCall<Input>& /*call*/,
                    OperationReply<Output>& /*reply*/) noexcept {
        return Code::ok;
    }
};

// Returns the lengths of its two byte strings, and copies the second one.
struct Splitting {
    static constexpr OperationName name{"test.split", "two byte strings"};

    using Owner = Silent::Owner;

    struct Input {
        std::uint64_t first_bytes = 0;
        std::uint64_t second_bytes = 0;
    };

    struct Output {
        std::uint64_t first_bytes = 0;
    };

    struct Tail {
        Bytes first = {};
        Bytes second = {};

        [[nodiscard]] TailParts parts() const noexcept { return {first, second}; }
    };

    static constexpr std::uint32_t tail_max = 8;
    static constexpr std::uint32_t result_tail_max = 8;

    static bool split(const Input& input, Bytes bytes, Tail& tail) noexcept {
        if (input.first_bytes > bytes.size() ||
            input.second_bytes != bytes.size() - input.first_bytes) {
            return false;
        }
        tail.first = bytes.first(input.first_bytes);
        tail.second = bytes.subspan(input.first_bytes);
        return true;
    }

    static Code check(const OperationCall<Input, Tail>& /*call*/,
                      const OwnerShape& /*shape*/) noexcept {
        return Code::ok;
    }

    static Code run(Owner& /*owner*/,
                    const OperationCall<Input, Tail>& call,
                    OperationReply<Output>& reply) noexcept {
        reply->first_bytes = call.tail.first.size();
        const std::size_t bytes = call.tail.second.size();
        if (bytes != 0) std::memcpy(reply.tail.room().data(), call.tail.second.data(), bytes);
        reply.tail.advance(bytes);
        return Code::ok;
    }
};

constexpr NumberedOperation doubling = row_of<Doubling>();

std::vector<std::byte> request_of(std::vector<std::uint64_t> words) {
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
}

class TypedOperationTest : public testing::Test {
protected:
    Code run(const NumberedOperation& row, const std::vector<std::byte>& arguments) {
        Doubling::Owner::made = 0;
        result_.assign(row.result_bytes_max, std::byte{0xee});
        OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(), 1);
        const auto ran = run_operation(row, context, arguments, result_);
        result_.resize(ran.result_bytes);
        return ran.code;
    }

    [[nodiscard]] std::vector<std::uint64_t> returned() const {
        std::vector<std::uint64_t> words(result_.size() / sizeof(std::uint64_t));
        if (!words.empty())
            std::memcpy(words.data(), result_.data(), words.size() * sizeof words[0]);
        return words;
    }

    node::Segment node_ = make_node(2, 2, heap_bytes);
    Owner owner_{node_, 0};
    std::vector<std::byte> result_;
};

TEST_F(TypedOperationTest, has_a_row_that_follows_from_the_type) {
    static_assert(doubling.number == operation_number<Doubling>);
    static_assert(doubling.number >= typed_numbers_first && doubling.number < operation_numbers);
    static_assert(operation_number<Doubling> != operation_number<Silent>);
    EXPECT_STREQ(doubling.name, "doubling words");
    EXPECT_EQ(doubling.argument_bytes_max, 16U + 32U);
    EXPECT_EQ(doubling.result_bytes_max, 8U + 24U);
    constexpr NumberedOperation silent = row_of<Silent>();
    EXPECT_EQ(silent.argument_bytes_max, 0U);
    EXPECT_EQ(silent.result_bytes_max, 0U);
    EXPECT_EQ(silent.places_of, nullptr);
}

TEST_F(TypedOperationTest, is_given_request_and_tail_and_returns_result_and_tail) {
    EXPECT_EQ(run(doubling, request_of({100, 1, 7, 9})), Code::ok);
    EXPECT_EQ(returned(), (std::vector<std::uint64_t>{116, 14, 18}));
    EXPECT_EQ(Doubling::Owner::made, 1);
    EXPECT_EQ(run(row_of<Silent>(), {}), Code::ok);
    EXPECT_TRUE(result_.empty());
}

TEST_F(TypedOperationTest, never_runs_on_a_request_of_a_wrong_size_or_with_a_wrong_field) {
    for (std::size_t bytes = 0; bytes <= 48; ++bytes) {
        std::vector<std::byte> arguments = request_of({5, 1, 1, 2, 3, 4});
        arguments.resize(bytes);
        const bool is_right = bytes > 16 && bytes % 8 == 0 && bytes < 48;
        // more words than its result has room for
        const Code expected = is_right ? Code::ok : bytes == 48 ? Code::limit : Code::argument;
        EXPECT_EQ(run(doubling, arguments), expected) << bytes;
        EXPECT_EQ(Doubling::Owner::made, expected == Code::argument ? 0 : 1) << bytes;
    }
    EXPECT_EQ(run(doubling, request_of({5, 1, 1, 2, 3, 4, 5})), Code::argument) << "a long tail";
    EXPECT_EQ(run(doubling, request_of({5, 0, 1})), Code::address);
    EXPECT_EQ(Doubling::Owner::made, 0);
    EXPECT_EQ(run(row_of<Silent>(), request_of({5})), Code::argument);
}

TEST_F(TypedOperationTest, sends_no_result_of_a_run_that_failed) {
    EXPECT_EQ(run(doubling, request_of({5, 1, 1, 2, 3, 4})), Code::limit);
    EXPECT_TRUE(result_.empty());
}

TEST_F(TypedOperationTest, names_the_places_of_a_request_that_is_whole) {
    EXPECT_EQ(doubling.places_of(request_of({17, 1, 1})), "it starts at 17");
    EXPECT_EQ(doubling.places_of(request_of({17})), "the request is cut short");
}

TEST_F(TypedOperationTest, divides_a_tail_of_several_byte_strings_and_refuses_other_lengths) {
    constexpr NumberedOperation row = row_of<Splitting>();
    for (std::uint64_t first = 0; first <= 8; ++first) {
        ASSERT_EQ(run(row, request_of({first, 8 - first, 0x0807060504030201})), Code::ok);
        EXPECT_EQ(returned().front(), first);
        ASSERT_EQ(result_.size(), 8 + (8 - first));
        for (std::size_t i = 8; i < result_.size(); ++i)
            EXPECT_EQ(result_[i], static_cast<std::byte>(first + i - 7)) << first;
    }
    const std::uint64_t wraps = ~std::uint64_t{0} - 7;
    for (const auto& [first, second] :
         std::initializer_list<std::pair<std::uint64_t, std::uint64_t>>{
             {0, 0}, {8, 1}, {1, 8}, {9, 0}, {9, ~std::uint64_t{0}}, {wraps, 16}, {4, 3}}) {
        EXPECT_EQ(run(row, request_of({first, second, 1})), Code::argument) << first;
    }
}

}  // namespace
}  // namespace acp::local::test
