// SPDX-License-Identifier: BSD-3-Clause
// The client's part of arguments: collects them, encodes them, and copies the output of buffers
// back. Knows no ring. One thread at a time.
#include "call/arguments.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace acp::call {

namespace {

using base::Code;

[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t bytes) noexcept {
    return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

// Puts a kind into the words that hold the kinds of all arguments.
void put_kind(std::uint64_t* kinds, std::uint32_t index, ArgumentKind kind) noexcept {
    constexpr std::uint32_t per_word = 64 / kind_bits;
    kinds[index / per_word] |= static_cast<std::uint64_t>(kind) << (index % per_word * kind_bits);
}

}  // namespace

Status no_such_argument(std::int64_t index) {
    return {Code::argument, "argument " + std::to_string(index) +
                                " does not exist: a call has at most " +
                                std::to_string(arguments_max) + " arguments, from 0"};
}

Status CallArguments::set_integer(std::uint32_t index, std::uint64_t value) {
    return set(index, ArgumentKind::integer, value);
}

Status CallArguments::set_double(std::uint32_t index, double value) {
    return set(index, ArgumentKind::real, std::bit_cast<std::uint64_t>(value));
}

Status CallArguments::set_float(std::uint32_t index, float value) {
    return set(index, ArgumentKind::real, std::bit_cast<std::uint32_t>(value));
}

Status CallArguments::set_address(std::uint32_t index, std::uint64_t offset) {
    return set(index, ArgumentKind::address, offset);
}

Status CallArguments::set_buffer(std::uint32_t index,
                                 Intent intent,
                                 void* buffer,
                                 std::uint64_t bytes) {
    if (buffer == nullptr || bytes == 0) {
        return {Code::argument, "the buffer of argument " + std::to_string(index) + " is " +
                                    (buffer == nullptr ? "a null pointer" : "0 bytes long")};
    }
    std::uint64_t others = 0;
    for (const Buffer& other : buffers_) {
        if (other.index != index) others += round_up(other.bytes);
    }
    if (bytes > buffer_bytes_max || round_up(bytes) > buffer_bytes_max - others) {
        return {Code::limit, "the buffer of argument " + std::to_string(index) + " has " +
                                 std::to_string(bytes) + " bytes, the other buffers of the call " +
                                 std::to_string(others) + "; together they may have " +
                                 std::to_string(buffer_bytes_max) +
                                 " (copy more to memory of the device, and pass its address)"};
    }
    try {
        buffers_.reserve(buffers_.size() + 1);
    } catch (const std::bad_alloc&) {
        return Status::bare(Code::memory);
    }
    Status status = set(index, ArgumentKind::buffer, 0);
    if (status.is_ok()) buffers_.push_back({index, intent, static_cast<std::byte*>(buffer), bytes});
    return status;
}

Status CallArguments::set(std::uint32_t index, ArgumentKind kind, std::uint64_t word) {
    if (index >= arguments_max) return no_such_argument(index);
    if (index >= words_.size()) {
        try {
            words_.reserve(index + 1);
            kinds_.reserve(index + 1);
        } catch (const std::bad_alloc&) {
            return Status::bare(Code::memory);
        }
        words_.resize(index + 1, 0);
        kinds_.resize(index + 1, ArgumentKind::integer);
    }
    drop_buffer(index);
    words_[index] = word;
    kinds_[index] = kind;
    return {};
}

void CallArguments::drop_buffer(std::uint32_t index) noexcept {
    if (kinds_[index] != ArgumentKind::buffer) return;
    std::erase_if(buffers_, [&](const Buffer& buffer) { return buffer.index == index; });
}

void CallArguments::clear() noexcept {
    words_.clear();
    kinds_.clear();
    buffers_.clear();
    result_ = ResultKind::integer;
}

std::uint64_t CallArguments::list_bytes() const noexcept {
    if (count() <= slot_words) return 0;
    return (count() + kind_words(count())) * sizeof(std::uint64_t);
}

std::uint64_t CallArguments::bytes_of_buffers() const noexcept {
    std::uint64_t bytes = 0;
    for (const Buffer& buffer : buffers_) bytes += round_up(buffer.bytes);
    return bytes;
}

std::uint64_t CallArguments::staging_bytes() const noexcept {
    return round_up(list_bytes()) + bytes_of_buffers();
}

CallRequest CallArguments::encode(std::uint64_t target,
                                  std::uint8_t operation,
                                  std::byte* staging,
                                  std::uint64_t offset) const noexcept {
    CallShape shape{operation, result_, static_cast<std::uint16_t>(count()), 0};
    std::array<std::uint64_t, arguments_max> words;  // NOLINT: the first count() are written
    std::copy(words_.begin(), words_.end(), words.begin());
    std::array<std::uint64_t, kind_words(arguments_max)> kinds{};
    for (std::uint32_t i = 0; i < count(); ++i) put_kind(kinds.data(), i, kinds_[i]);
    std::uint64_t place = round_up(list_bytes());
    for (const Buffer& buffer : buffers_) {
        words[buffer.index] = offset + place;
        if (buffer.intent != Intent::out) std::memcpy(staging + place, buffer.memory, buffer.bytes);
        place += round_up(buffer.bytes);
    }
    CallRequest request{target, 0, {}, 0};
    if (shape.is_in_slot()) {
        shape.kinds = static_cast<std::uint32_t>(kinds[0]);
        std::copy_n(words.begin(), count(), request.words.begin());
        request.word_count = count();
    } else {
        const std::uint64_t bytes_of_words = count() * sizeof(std::uint64_t);
        std::memcpy(staging, words.data(), bytes_of_words);
        std::memcpy(staging + bytes_of_words, kinds.data(), list_bytes() - bytes_of_words);
        request.words[0] = offset;
        request.words[1] = list_bytes();
        request.word_count = 2;
    }
    request.shape = shape.word();
    return request;
}

void CallArguments::fetch_output(const std::byte* staging) const noexcept {
    std::uint64_t place = round_up(list_bytes());
    for (const Buffer& buffer : buffers_) {
        if (buffer.intent != Intent::in) std::memcpy(buffer.memory, staging + place, buffer.bytes);
        place += round_up(buffer.bytes);
    }
}

}  // namespace acp::call
