// SPDX-License-Identifier: BSD-3-Clause
// call_function() (function_call.hpp) for a number of integer registers. Included by the file of
// each processor. Any thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "call/function_call.hpp"

namespace acp::call {

inline constexpr std::size_t real_registers = 8;

// Where the calling convention puts the arguments.
template <std::size_t IntegerRegisters>
struct ArgumentPlaces {
    std::array<std::uint64_t, IntegerRegisters> integers{};
    std::array<double, real_registers> reals{};
    std::array<std::uint64_t, arguments_max> stack;  // the first stack_count are written
    std::size_t stack_count = 0;

    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the first words of the stack are written
    explicit ArgumentPlaces(const FunctionArguments& arguments) noexcept {
        std::size_t integer_count = 0;
        std::size_t real_count = 0;
        for (std::uint32_t i = 0; i < arguments.count; ++i) {
            const std::uint64_t word = arguments.words[i];
            if (arguments.is_real[i] && real_count < real_registers) {
                reals[real_count++] = std::bit_cast<double>(word);
            } else if (!arguments.is_real[i] && integer_count < IntegerRegisters) {
                integers[integer_count++] = word;
            } else {
                stack[stack_count++] = word;
            }
        }
    }
};

// Repeats a type for each number of a sequence.
template <std::size_t, typename T>
using Repeated = T;

template <std::size_t IntegerRegisters, typename Result>
class RegisterCall {
public:
    // Calls with all registers, and at least stack_count words on the stack: the smallest of a few
    // numbers of words, so that there is a function type for it.
    [[nodiscard]] static Result call(std::uintptr_t function,
                                     ArgumentPlaces<IntegerRegisters>& places) {
        if (places.stack_count == 0) return with_stack<0>(function, places);
        if (places.stack_count <= 8) return with_stack<8>(function, places);
        if (places.stack_count <= 32) return with_stack<32>(function, places);
        return with_stack<arguments_max>(function, places);
    }

private:
    template <std::size_t Words>
    [[nodiscard]] static Result with_stack(std::uintptr_t function,
                                           ArgumentPlaces<IntegerRegisters>& places) {
        for (std::size_t i = places.stack_count; i < Words; ++i) places.stack[i] = 0;
        return spread(function, places, std::make_index_sequence<IntegerRegisters>(),
                      std::make_index_sequence<real_registers>(),
                      std::make_index_sequence<Words>());
    }

    template <std::size_t... I, std::size_t... R, std::size_t... S>
    [[nodiscard]] static Result spread(std::uintptr_t function,
                                       const ArgumentPlaces<IntegerRegisters>& places,
                                       std::index_sequence<I...>,
                                       std::index_sequence<R...>,
                                       std::index_sequence<S...>) {
        using Function = Result (*)(Repeated<I, std::uint64_t>..., Repeated<R, double>...,
                                    Repeated<S, std::uint64_t>...);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of a function comes as a number
        return reinterpret_cast<Function>(function)(places.integers[I]..., places.reals[R]...,
                                                    places.stack[S]...);
    }
};

template <std::size_t IntegerRegisters>
[[nodiscard]] std::uint64_t call_with_registers(std::uintptr_t function,
                                                const FunctionArguments& arguments,
                                                ResultKind result) {
    ArgumentPlaces<IntegerRegisters> places(arguments);
    switch (result) {
        case ResultKind::real:
            return std::bit_cast<std::uint64_t>(
                RegisterCall<IntegerRegisters, double>::call(function, places));
        case ResultKind::single:
            return std::bit_cast<std::uint32_t>(
                RegisterCall<IntegerRegisters, float>::call(function, places));
        case ResultKind::integer:
            break;
    }
    return RegisterCall<IntegerRegisters, std::uint64_t>::call(function, places);
}

}  // namespace acp::call
