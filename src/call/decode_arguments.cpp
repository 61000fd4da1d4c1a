// SPDX-License-Identifier: BSD-3-Clause
// The server's part of arguments: checks each field and makes offsets pointers. Knows no ring and
// calls nothing. Any thread.
#include <cstring>
#include <string>

#include "call/function_call.hpp"

namespace acp::call {

namespace {

using base::Code;

// The kinds of a call's arguments.
class Kinds {
public:
    explicit Kinds(std::uint32_t of_shape) noexcept : words_{of_shape} {}

    //   list  kind_words(count) words
    Kinds(const std::byte* list, std::uint32_t count) noexcept : words_{} {
        std::memcpy(words_.data(), list, kind_words(count) * sizeof(std::uint64_t));
    }

    [[nodiscard]] ArgumentKind operator[](std::uint32_t index) const noexcept {
        constexpr std::uint32_t per_word = 64 / kind_bits;
        return static_cast<ArgumentKind>(
            words_[index / per_word] >> (index % per_word * kind_bits) & ((1U << kind_bits) - 1));
    }

private:
    std::array<std::uint64_t, kind_words(arguments_max)> words_;
};

[[nodiscard]] Status check_shape(const CallShape& shape) {
    if (shape.count > arguments_max) {
        return {Code::argument, "a call has " + std::to_string(shape.count) +
                                    " arguments; at most " + std::to_string(arguments_max) +
                                    " are possible"};
    }
    if (shape.result > ResultKind::single) {
        return {Code::argument, "the function of a call returns a value of the unknown kind " +
                                    std::to_string(static_cast<unsigned>(shape.result))};
    }
    return {};
}

// Makes the offset of an argument a pointer.
[[nodiscard]] Status place_pointer(std::uint32_t index,
                                   ArgumentKind kind,
                                   const ServerMemory& memory,
                                   std::uint64_t& word) {
    const std::span<std::byte> range =
        kind == ArgumentKind::address ? memory.device : memory.staging;
    if (word >= range.size()) {
        return {Code::argument,
                "argument " + std::to_string(index) + " of a call is at offset " +
                    std::to_string(word) + " of " + std::to_string(range.size()) + " bytes of " +
                    (kind == ArgumentKind::address ? "device memory" : "staging memory")};
    }
    word = reinterpret_cast<std::uintptr_t>(range.data() + word);
    return {};
}

}  // namespace

Status decode_arguments(const CallShape& shape,
                        std::span<const std::uint64_t, slot_words> slot,
                        const ServerMemory& memory,
                        FunctionArguments& arguments) {
    if (Status status = check_shape(shape); !status.is_ok()) return status;
    const std::uint64_t bytes_of_words = shape.count * sizeof(std::uint64_t);
    Kinds kinds(shape.kinds);
    if (shape.is_in_slot()) {
        std::memcpy(arguments.words.data(), slot.data(), bytes_of_words);
    } else {
        const std::uint64_t bytes =
            bytes_of_words + kind_words(shape.count) * sizeof(std::uint64_t);
        if (slot[1] != bytes || bytes > memory.staging.size() ||
            slot[0] > memory.staging.size() - bytes) {
            return {Code::argument, "the list of " + std::to_string(shape.count) +
                                        " arguments is " + std::to_string(slot[1]) +
                                        " bytes at offset " + std::to_string(slot[0]) + " of " +
                                        std::to_string(memory.staging.size()) +
                                        " bytes of staging memory"};
        }
        const std::byte* list = memory.staging.data() + slot[0];
        std::memcpy(arguments.words.data(), list, bytes_of_words);
        kinds = Kinds(list + bytes_of_words, shape.count);
    }
    arguments.count = shape.count;
    arguments.is_real.reset();
    for (std::uint32_t i = 0; i < shape.count; ++i) {
        const ArgumentKind kind = kinds[i];
        if (kind == ArgumentKind::real) {
            arguments.is_real.set(i);
        } else if (kind != ArgumentKind::integer) {
            Status status = place_pointer(i, kind, memory, arguments.words[i]);
            if (!status.is_ok()) return status;
        }
    }
    return {};
}

}  // namespace acp::call
