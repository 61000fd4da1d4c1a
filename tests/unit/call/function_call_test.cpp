// SPDX-License-Identifier: BSD-3-Clause
// Functions called by their addresses get the arguments that a compiled call would give them, in
// registers and on the stack, and their results are returned.
#include "call/function_call.hpp"

#include <bit>
#include <cstdint>
#include <gtest/gtest.h>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace acp::call {
namespace {

std::string seen;  // what the function got

template <typename... Values>
void note(const Values&... values) {
    seen.clear();
    ((seen += std::to_string(values) + ' '), ...);
}

template <typename Function>
std::uintptr_t address_of(Function* function) {
    return reinterpret_cast<std::uintptr_t>(function);
}

// An argument: a word, and whether it is real.
struct Value {
    Value(int integer)  // NOLINT(google-explicit-constructor)
        : word(static_cast<std::uint64_t>(std::int64_t{integer})), is_real(false) {}

    Value(double real)  // NOLINT(google-explicit-constructor)
        : word(std::bit_cast<std::uint64_t>(real)), is_real(true) {}

    Value(float real)  // NOLINT(google-explicit-constructor)
        : word(std::bit_cast<std::uint32_t>(real)), is_real(true) {}

    std::uint64_t word;
    bool is_real;
};

FunctionArguments arguments_of(std::initializer_list<Value> values) {
    FunctionArguments arguments;
    for (const Value& value : values) {
        arguments.is_real[arguments.count] = value.is_real;
        arguments.words[arguments.count++] = value.word;
    }
    return arguments;
}

template <typename Function>
std::uint64_t call(Function* function,
                   std::initializer_list<Value> values,
                   ResultKind result = ResultKind::integer) {
    return call_function(address_of(function), arguments_of(values), result);
}

void take_nothing() {
    note();
}

std::uint64_t take_integers(std::int8_t a, std::int16_t b, std::int32_t c, std::int64_t d) {
    note(a, b, c, d);
    return 77;
}

double take_mixed(int a, double b, float c, std::uint64_t d, double e) {
    note(a, b, c, d, e);
    return b + e;
}

float add_floats(float a, float b) {
    return a + b;
}

// More of both kinds than registers of any processor that is served; integers and reals alternate,
// and a float comes on the stack.
std::int64_t take_many(int a,
                       double p,
                       int b,
                       double q,
                       int c,
                       double r,
                       int d,
                       double s,
                       int e,
                       double t,
                       int f,
                       double u,
                       int g,
                       double v,
                       int h,
                       double w,
                       int i,
                       double x,
                       int j,
                       float y,
                       int k,
                       double z) {
    note(a, p, b, q, c, r, d, s, e, t, f, u, g, v, h, w, i, x, j, y, k, z);
    return -1;
}

TEST(FunctionCall, passes_no_arguments) {
    seen = "unchanged";
    (void)call(take_nothing, {});
    EXPECT_EQ(seen, "");
}

TEST(FunctionCall, passes_integers_of_all_widths) {
    EXPECT_EQ(call(take_integers, {-1, -300, -70000, -5}), 77U);
    EXPECT_EQ(seen, "-1 -300 -70000 -5 ");
}

TEST(FunctionCall, passes_reals_apart_from_integers_and_returns_a_double) {
    const std::uint64_t result = call(take_mixed, {1, 2.5, 3.5F, 4, 5.25}, ResultKind::real);
    EXPECT_EQ(seen, "1 2.500000 3.500000 4 5.250000 ");
    EXPECT_EQ(std::bit_cast<double>(result), 7.75);
}

TEST(FunctionCall, returns_a_float) {
    const std::uint64_t result = call(add_floats, {1.5F, 2.25F}, ResultKind::single);
    EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(result)), 3.75F);
    EXPECT_EQ(result >> 32U, 0U);
}

TEST(FunctionCall, passes_what_registers_do_not_hold_on_the_stack_in_order) {
    const std::uint64_t result =
        call(take_many, {1,   1.5, 2,   2.5, 3,   3.5, 4,   4.5, 5,     5.5, 6,
                         6.5, 7,   7.5, 8,   8.5, 9,   9.5, 10,  10.5F, 11,  11.5});
    EXPECT_EQ(seen, [] {
        std::string all;
        for (int i = 1; i <= 11; ++i)
            all += std::to_string(i) + ' ' + std::to_string(i + 0.5) + ' ';
        return all;
    }());
    EXPECT_EQ(static_cast<std::int64_t>(result), -1);
}

// The last real and the last integers are on the stack, the real before them.
std::uint64_t take_reals_first(double a,
                               double b,
                               double c,
                               double d,
                               double e,
                               double f,
                               double g,
                               double h,
                               double last,
                               int i,
                               int j,
                               int k,
                               int l,
                               int m,
                               int n,
                               int o) {
    note(a, b, c, d, e, f, g, h, last, i, j, k, l, m, n, o);
    return 1;
}

TEST(FunctionCall, keeps_the_order_of_reals_and_integers_on_the_stack) {
    (void)call(take_reals_first,
               {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1, 2, 3, 4, 5, 6, 7});
    EXPECT_EQ(seen.substr(seen.find("9.")), "9.000000 1 2 3 4 5 6 7 ");
}

// A function of 256 integers, each of which must have its own index.
template <std::size_t... I>
auto indexed_function(std::index_sequence<I...>) {
    return +[](decltype(I)... values) -> std::uint64_t {
        const std::uint64_t all[] = {values...};
        std::uint64_t right = 0;
        for (std::size_t i = 0; i < sizeof...(I); ++i) right += all[i] == i * 3 ? 1U : 0U;
        return right;
    };
}

template <std::size_t Count>
void expect_all_indexed() {
    FunctionArguments arguments;
    arguments.count = Count;
    for (std::uint32_t i = 0; i < Count; ++i) arguments.words[i] = i * 3;
    const auto function = indexed_function(std::make_index_sequence<Count>());
    EXPECT_EQ(call_function(address_of(function), arguments, ResultKind::integer), Count);
}

TEST(FunctionCall, passes_as_many_arguments_as_are_allowed) {
    expect_all_indexed<6>();
    expect_all_indexed<7>();
    expect_all_indexed<14>();
    expect_all_indexed<15>();
    expect_all_indexed<38>();
    expect_all_indexed<39>();
    expect_all_indexed<255>();
    expect_all_indexed<arguments_max>();
}

[[noreturn]] void throw_something() {
    throw std::runtime_error("from the function");
}

TEST(FunctionCall, lets_an_exception_of_the_function_through) {
    EXPECT_THROW((void)call(throw_something, {}), std::runtime_error);
}

}  // namespace
}  // namespace acp::call
