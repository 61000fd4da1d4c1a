// SPDX-License-Identifier: BSD-3-Clause
// A numbered operation stated once, as a type: its number, its row of the operation table, its
// server side and the caller's side (data/remote_call.hpp) are generated from the type. Knows no
// container. Any thread.
// Tests: tests/unit/local/typed_operation_test.cpp.
//
// An operation is a struct with these members:
//   name             an OperationName
//   Input, Output    what the caller sends and receives: a WireValue each
//   tail_max         the most bytes that follow a request (0: none follow)
//   result_tail_max  the most bytes that follow a result
//   Tail, split(const Input&, Bytes, Tail&) -> bool
//       Optional, if several byte strings follow a request. The lengths of its fields divide the
//       bytes: pure; false: they do not fit the bytes, and the request is refused. Tail::parts()
//       returns the byte strings.
//   Owner            what the operation runs on, made from an OperationContext
//   check(OperationCall<Input, Tail>, OwnerShape) -> Code
//       Pure. Compares every field of a request, which may come from a faulty process of another
//       node, with the shape of the job and of the owner's heap. Any other code than ok ends the
//       operation before an Owner is made.
//   run(Owner&, OperationCall<Input, Tail>, OperationReply<Output>&) -> Code Neither blocks nor throws.
//       Copies at most 64 KiB, and accesses the owner's memory at most as often as
//       tests/unit/operations/steps/operation_steps_test.cpp states for the row, at most 20,000
//       times: a gateway is away for about 100 us at most. With any other code than ok neither
//       output nor tail is sent.
//   places_of(const Input&) or places_of(const Input&, tail bytes) -> std::string Optional: the
//       addresses that a request names, for the message of a failure. May throw std::bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "local/numbered_operation.hpp"

namespace acp::local {

using Bytes = std::span<const std::byte>;

struct OperationName {
    const char* identity = "";  // "list.insert": unique in the library; the number follows from it
    const char* phrase = "";    // "an insertion into a list": for messages
};

// A request or result without fields.
struct Nothing {};

// A value that is sent as its bytes in memory. It has no padding, which would send bytes of the
// stack.
template <typename Value>
concept WireValue = std::is_empty_v<Value> ||
    (std::is_trivially_copyable_v<Value>&& std::has_unique_object_representations_v<Value>);

template <WireValue Value>
inline constexpr std::uint32_t wire_bytes = std::is_empty_v<Value> ? 0 : sizeof(Value);

// The values that check() compares a request with: those of the job, and of the process on whose
// memory the operation runs.
struct OwnerShape {
    std::uint32_t procs = 0;       // number of processes in the job
    std::uint32_t process = 0;     // the owner's index in it
    std::uint64_t heap_bytes = 0;  // 0: the job has no heaps
};

// The bytes that follow an output, written from front to back: into the frame of a gateway, or into
// the caller's own buffer.
class ResultTail {
public:
    ResultTail() noexcept = default;

    explicit ResultTail(std::span<std::byte> room) noexcept : room_(room) {}

    // The rest of the room.
    [[nodiscard]] std::span<std::byte> room() const noexcept { return room_.subspan(used_); }

    // The caller has written the next bytes of room().   bytes  <= room().size()
    void advance(std::size_t bytes) noexcept { used_ += bytes; }

    // False, and nothing is written: the value does not fit.
    template <WireValue Value>
    bool add(const Value& value) noexcept {
        if (room().size() < sizeof value) return false;
        std::memcpy(room().data(), &value, sizeof value);
        advance(sizeof value);
        return true;
    }

    [[nodiscard]] std::size_t used() const noexcept { return used_; }

private:
    std::span<std::byte> room_;
    std::size_t used_ = 0;
};

// The byte strings of a tail, which are sent one behind the other.
using TailParts = std::array<Bytes, 3>;

[[nodiscard]] inline TailParts parts_of(Bytes tail) noexcept {
    return {tail};
}

template <typename Tail>
[[nodiscard]] TailParts parts_of(const Tail& tail) noexcept {
    return tail.parts();
}

namespace detail {

template <typename Operation>
struct TailTypeOf {
    using Type = Bytes;
};

template <typename Operation>
requires requires {
    typename Operation::Tail;
}

struct TailTypeOf<Operation> {
    using Type = typename Operation::Tail;
};

}  // namespace detail

// What follows the input of an operation.
template <typename Operation>
using OperationTail = typename detail::TailTypeOf<Operation>::Type;

// The request of an operation. Refers to its input, and to a tail of several byte strings.
template <WireValue Input, typename Tail = Bytes>
struct OperationCall {
    const Input& input;
    std::conditional_t<std::is_same_v<Tail, Bytes>, Bytes, const Tail&> tail;

    [[nodiscard]] const Input* operator->() const noexcept { return &input; }
};

// The output of an operation, which its run() writes.
template <WireValue Output>
struct OperationReply {
    Output& output;
    ResultTail& tail;

    [[nodiscard]] Output* operator->() noexcept { return &output; }
};

// The values of one type that a tail consists of.
template <WireValue Value>
class TailOf {
public:
    explicit TailOf(Bytes tail) noexcept : tail_(tail) {}

    // Whether the tail is `least` to `most` whole values.
    [[nodiscard]] bool is_sound(std::size_t least, std::size_t most) const noexcept {
        return tail_.size() % sizeof(Value) == 0 && size() >= least && size() <= most;
    }

    [[nodiscard]] std::size_t size() const noexcept { return tail_.size() / sizeof(Value); }

    [[nodiscard]] Value operator[](std::size_t index) const noexcept {
        Value value;
        std::memcpy(&value, tail_.data() + index * sizeof value, sizeof value);
        return value;
    }

private:
    Bytes tail_;
};

// Rows that are no typed operations have the numbers below.
inline constexpr std::uint32_t typed_numbers_first = 128;

// The base of an operation: its declarations that follow from its types and from the limits of its
// tails.
template <typename OwnerType,
          WireValue InputType,
          WireValue OutputType,
          std::uint32_t tail_bytes = 0,
          std::uint32_t result_tail_bytes = 0,
          typename TailType = Bytes>
struct OperationTypes {
    using Owner = OwnerType;
    using Input = InputType;
    using Output = OutputType;
    using Call = OperationCall<Input, TailType>;
    using Reply = OperationReply<Output>;
    static constexpr std::uint32_t tail_max = tail_bytes;
    static constexpr std::uint32_t result_tail_max = result_tail_bytes;
};

// FNV-1a, so that the number depends on the identity alone, not on the order of the rows.
[[nodiscard]] constexpr std::uint32_t number_of(std::string_view identity) noexcept {
    std::uint32_t hash = 2'166'136'261U;
    for (const char letter : identity) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 16'777'619U;
    }
    return typed_numbers_first + (hash ^ hash >> 16U) % (operation_numbers - typed_numbers_first);
}

template <typename Operation>
inline constexpr std::uint32_t operation_number = number_of(Operation::name.identity);

// The owner of operations that reach memory by the addresses of their requests.
class AddressedMemory {
public:
    explicit AddressedMemory(OperationContext& context) noexcept : context_(context) {}

    [[nodiscard]] OperationContext& context() noexcept { return context_; }

private:
    OperationContext& context_;
};

[[nodiscard]] inline OwnerShape owner_shape(const Space& space, std::uint32_t process) noexcept {
    const node::Shape& shape = space.segment().shape();
    return {shape.procs, process, shape.heap_bytes};
}

namespace detail {

template <typename Operation>
NumberedOperation::Ran run_typed(OperationContext& context,
                                 Bytes arguments,
                                 std::span<std::byte> result) noexcept {
    using Input = typename Operation::Input;
    using Output = typename Operation::Output;
    Input input;
    constexpr std::uint32_t input_bytes = wire_bytes<Input>;
    if (arguments.size() < input_bytes || arguments.size() > input_bytes + Operation::tail_max)
        return {base::Code::argument, 0};
    if constexpr (!std::is_empty_v<Input>) std::memcpy(&input, arguments.data(), sizeof input);
    const Bytes following_input = arguments.subspan(input_bytes);
    OperationTail<Operation> tail{};
    if constexpr (requires { typename Operation::Tail; }) {
        if (!Operation::split(input, following_input, tail)) return {base::Code::argument, 0};
    } else {
        tail = following_input;
    }
    const OwnerShape shape = owner_shape(context.space(), context.process());
    const OperationCall<Input, OperationTail<Operation>> call{input, tail};
    if (const base::Code code = Operation::check(call, shape); code != base::Code::ok) {
        return {code, 0};
    }
    typename Operation::Owner owner(context);
    Output output{};
    ResultTail following(result.subspan(wire_bytes<Output>));
    OperationReply<Output> reply{output, following};
    const base::Code code = Operation::run(owner, call, reply);
    if (code != base::Code::ok) return {code, 0};
    if constexpr (!std::is_empty_v<Output>) std::memcpy(result.data(), &output, sizeof output);
    return {code, static_cast<std::uint32_t>(wire_bytes<Output> + following.used())};
}

template <typename Operation>
std::string places_of_typed(Bytes arguments) {
    typename Operation::Input input;
    if (arguments.size() < sizeof input) return "the request is cut short";
    std::memcpy(&input, arguments.data(), sizeof input);
    if constexpr (requires { Operation::places_of(input, arguments.size()); }) {
        return Operation::places_of(input, arguments.size() - sizeof input);
    } else {
        return Operation::places_of(input);
    }
}

}  // namespace detail

// The row of an operation in the operation table.
template <typename Operation>
[[nodiscard]] constexpr NumberedOperation row_of() noexcept {
    NumberedOperation row;
    row.number = operation_number<Operation>;
    row.name = Operation::name.phrase;
    row.argument_bytes_max = wire_bytes<typename Operation::Input> + Operation::tail_max;
    row.result_bytes_max = wire_bytes<typename Operation::Output> + Operation::result_tail_max;
    row.run = detail::run_typed<Operation>;
    if constexpr (requires { &Operation::places_of; }) {
        row.places_of = detail::places_of_typed<Operation>;
    }
    return row;
}

// The rows of a layer's operations.
template <typename... Operations>
inline constexpr std::array<NumberedOperation, sizeof...(Operations)> rows_of{
    row_of<Operations>()...};

// The most bytes of a tail after a value.
template <WireValue Value>
inline constexpr std::uint32_t tail_most = memory::invoke_bytes_max - wire_bytes<Value>;

}  // namespace acp::local
