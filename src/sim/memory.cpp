// SPDX-License-Identifier: BSD-3-Clause
// Arrays that stand for the memory of processes. Words are little endian. One thread.
#include "sim/memory.hpp"

#include <algorithm>
#include <cstring>

#include "memory/address_table.hpp"

namespace acp::sim {

namespace {

constexpr std::uint32_t segment_granule = 3;
constexpr std::uint32_t segment_generation = 2;
constexpr std::uint32_t stale_generation = 1;

// Interprets a word of 4 or 8 bytes as a signed number.
std::int64_t signed_of(std::uint64_t word, std::uint8_t width) noexcept {
    return width == 4 ? std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(word))}
                      : static_cast<std::int64_t>(word);
}

}  // namespace

std::uint64_t load(std::span<const std::byte> word) noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, word.data(), word.size());
    return value;
}

void store(std::span<std::byte> word, std::uint64_t value) noexcept {
    std::memcpy(word.data(), &value, word.size());
}

std::uint64_t apply(const memory::Command& command, std::uint64_t old) noexcept {
    const auto is_less = [&](std::uint64_t first, std::uint64_t second) {
        return signed_of(first, command.width) < signed_of(second, command.width);
    };
    switch (command.operation) {
        case memory::Operation::compare_swap:
            return old == command.expected ? command.operand : old;
        case memory::Operation::swap:
            return command.operand;
        case memory::Operation::add:
            return old + command.operand;
        case memory::Operation::bit_xor:
            return old ^ command.operand;
        case memory::Operation::bit_or:
            return old | command.operand;
        case memory::Operation::bit_and:
            return old & command.operand;
        case memory::Operation::min:
            return is_less(command.operand, old) ? command.operand : old;
        case memory::Operation::max:
            return is_less(old, command.operand) ? command.operand : old;
        case memory::Operation::copy:
            break;
    }
    return old;
}

Memory::Memory(std::uint64_t seed, const std::vector<std::uint64_t>& bytes)
    : layout_(bytes.size()), arrays_(bytes.size()) {
    for (std::size_t process = 0; process < bytes.size(); ++process) {
        Array& array = arrays_[process];
        array.held.resize((bytes[process] + 7) / 8 * 8);
        base::Random random(base::mix64(seed + process));
        for (std::size_t at = 0; at < array.held.size(); at += 8) {
            const std::uint64_t word = random();
            std::memcpy(array.held.data() + at, &word, 8);
        }
        array.expected = array.held;
    }
}

memory::GlobalAddress Memory::address(std::uint32_t process, std::uint64_t offset) const noexcept {
    return layout_.segment_start(process, segment_granule, segment_generation) + offset;
}

memory::GlobalAddress Memory::stale_address(std::uint32_t process,
                                            std::uint64_t offset) const noexcept {
    return layout_.segment_start(process, segment_granule, stale_generation) + offset;
}

base::Code Memory::find(memory::GlobalAddress address,
                        std::uint64_t bytes,
                        Range& range) const noexcept {
    const std::uint64_t process = layout_.process(address);
    if (process >= arrays_.size()) return base::Code::address;
    const std::uint64_t start = layout_.segment_start(process, segment_granule, segment_generation);
    const std::uint64_t offset = (address & layout_.colorless_mask()) - start;
    if (!memory::is_within(offset, arrays_[process].held.size(), bytes)) {
        return layout_.generation(address) == stale_generation ? base::Code::stale
                                                               : base::Code::address;
    }
    range = {static_cast<std::uint32_t>(process), offset, bytes};
    return base::Code::ok;
}

void Memory::forget(const Range& range) {
    Array& array = arrays_[range.process];
    if (array.unknown.empty()) array.unknown.resize(array.held.size());
    std::fill_n(array.unknown.begin() + static_cast<std::ptrdiff_t>(range.offset), range.bytes,
                std::uint8_t{1});
}

bool Memory::is_known(const Range& range) const noexcept {
    const Array& array = arrays_[range.process];
    if (array.unknown.empty()) return true;
    const auto begin = array.unknown.begin() + static_cast<std::ptrdiff_t>(range.offset);
    return std::find(begin, begin + static_cast<std::ptrdiff_t>(range.bytes), 1) ==
           begin + static_cast<std::ptrdiff_t>(range.bytes);
}

bool Memory::is_as_expected(const Range& range, std::string& difference) {
    const std::span<std::byte> real = held(range);
    const std::span<std::byte> wanted = expected(range);
    if (std::memcmp(real.data(), wanted.data(), range.bytes) == 0) return true;
    const Array& array = arrays_[range.process];
    for (std::uint64_t i = 0; i < range.bytes; ++i) {
        const bool is_unknown = !array.unknown.empty() && array.unknown[range.offset + i] != 0;
        if (real[i] == wanted[i] || is_unknown) continue;
        difference = "process " + std::to_string(range.process) + " byte " +
                     std::to_string(range.offset + i) + " is " +
                     std::to_string(std::to_integer<unsigned>(real[i])) + ", must be " +
                     std::to_string(std::to_integer<unsigned>(wanted[i]));
        return false;
    }
    return true;
}

std::uint64_t Memory::run(const memory::Command& command, bool is_value_wanted) {
    Range source;
    Range target;
    if (find(command.source, command.bytes, source) != base::Code::ok) return 0;
    const bool has_target = find(command.target, command.bytes, target) == base::Code::ok;
    if (command.is_copy()) {
        if (has_target) std::memmove(held(target).data(), held(source).data(), command.bytes);
        return 0;
    }
    const std::uint64_t old = load(held(source));
    store(held(source), apply(command, old));
    if (!is_value_wanted && command.has_target() && has_target) store(held(target), old);
    return old;
}

}  // namespace acp::sim
