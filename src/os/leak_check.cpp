// SPDX-License-Identifier: BSD-3-Clause
// A request to valgrind is an instruction sequence without an effect, which valgrind finds when it
// translates the code: it takes the request's number and arguments from one register, and puts the
// answer into another one.
#include "os/leak_check.hpp"

#include <array>

namespace acp::os {

namespace {

// Answers how many valgrinds run the program, one inside the other.
constexpr std::uint64_t running_on_valgrind = 0x1001;

// Requests of memcheck: the tool's letters in the upper half, the request's number in the lower
// one.
constexpr std::uint64_t memcheck = std::uint64_t{'M'} << 24 | std::uint64_t{'C'} << 16;
constexpr std::uint64_t make_inaccessible = memcheck + 0;
constexpr std::uint64_t enable_address_errors = memcheck + 13;
constexpr std::uint64_t disable_address_errors = memcheck + 14;

// 0 where no valgrind runs the program.
std::uint64_t request(std::uint64_t number, const void* address, std::uint64_t bytes) noexcept {
    const std::array<std::uint64_t, 6> arguments{
        number, reinterpret_cast<std::uintptr_t>(address), bytes, 0, 0, 0};
#if defined(__x86_64__)
    std::uint64_t answer = 0;
    // Four rotations that make 128 bits, and the request.
    asm volatile(
        "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
        "xchgq %%rbx, %%rbx"
        : "+d"(answer)
        : "a"(arguments.data())
        : "cc", "memory");
    return answer;
#elif defined(__aarch64__)
    register std::uint64_t answer asm("x3") = 0;
    register const std::uint64_t* asked asm("x4") = arguments.data();
    asm volatile(
        "ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t"
        "orr x10, x10, x10"
        : "+r"(answer)
        : "r"(asked)
        : "cc", "memory");
    return answer;
#else
    (void)arguments;
    return 0;
#endif
}

}  // namespace

bool is_under_valgrind() noexcept {
    return request(running_on_valgrind, nullptr, 0) != 0;
}

void leave_out_of_leak_checks(const void* address, std::uint64_t bytes) noexcept {
    (void)request(disable_address_errors, address, bytes);
    (void)request(make_inaccessible, address, bytes);
}

void end_leaving_out(const void* address, std::uint64_t bytes) noexcept {
    (void)request(enable_address_errors, address, bytes);
}

}  // namespace acp::os
