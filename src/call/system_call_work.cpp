// SPDX-License-Identifier: BSD-3-Clause
// Checks records of system calls.
#include "call/system_call_work.hpp"

#include <cstring>

namespace acp::call {

namespace {

constexpr std::uint64_t reach = system_call_staging_bytes + system_call_wall_bytes;
constexpr StagedPlace wall = place_at(system_call_staging_bytes);

// Whether the kernel stays in the staging memory and the wall. From the wall's start it does so
// whatever the number of bytes is, since it accesses them in order and fails at the first one.
[[nodiscard]] bool is_within(StagedPlace place, std::uint64_t bytes) noexcept {
    if (place == 0 || place == wall || place == place_outside) return true;
    return place < wall && bytes <= reach - (place - 1);
}

}  // namespace

std::uint64_t SystemCallWork::address_of(StagedPlace place) const noexcept {
    if (place == 0) return 0;
    // The kernel's half of the addresses.
    if (place == place_outside) return std::uint64_t{1} << 63U;
    return reinterpret_cast<std::uintptr_t>(staging_) + (place - 1);
}

bool SystemCallWork::take(const SystemCallRecord& record) noexcept {
    if (static_cast<std::size_t>(record.call) >= system_call_count) return false;
    if (row_of(record.call).delegation != Delegation::carried) return false;
    number_ = number_of(record.call);
    if (number_ < 0) return false;
    words_ = record.words;
    length_place_ = 0;
    for (std::size_t i = 0; i < system_call_words; ++i) {
        if (!take_argument(record, i)) return false;
    }
    return true;
}

bool SystemCallWork::take_argument(const SystemCallRecord& record, std::size_t i) noexcept {
    ArgumentRow argument;
    if (!find_argument(record.call, record.words, i, argument)) return false;
    const StagedPlace place = record.places[i];
    switch (argument.passing) {
        case Passing::value:
            return place == 0;
        case Passing::absent:
            return place == 0 && record.words[i] == 0;
        case Passing::by_request:
            return false;
        case Passing::text:
            if (!is_within(place, system_call_text_bytes)) return false;
            break;
        case Passing::in:
        case Passing::out:
        case Passing::in_out:
            if (!is_within(place, extent_of(argument, record.words))) return false;
            break;
        case Passing::up_to:
            // The kernel writes no more than the length, which take_length() bounds.
            if (!is_within(place, system_call_piece_bytes)) return false;
            break;
        case Passing::length:
            return take_length(i, place);
        case Passing::vectors_in:
        case Passing::vectors_out:
            return take_vectors(record, i, argument);
    }
    words_[i] = address_of(place);
    return true;
}

bool SystemCallWork::take_vectors(const SystemCallRecord& record,
                                  std::size_t i,
                                  const ArgumentRow& argument) noexcept {
    const StagedPlace place = record.places[i];
    const std::uint64_t bytes = record.words[argument.word];
    if (place == 0) {
        // A list that the kernel refuses, or an empty one.
        words_[i] = 0;
        words_[argument.word] = bytes == 0 ? 0 : io_vectors_max + 1;
        return true;
    }
    if (!is_within(place, bytes)) return false;
    words_[argument.word] = 1;
    // A list that the device process could not read: nor can the kernel.
    if ((place == wall && bytes == 0) || place == place_outside) {
        words_[i] = address_of(place);
        return true;
    }
    vector_ = {address_of(place), bytes};
    words_[i] = reinterpret_cast<std::uintptr_t>(&vector_);
    return true;
}

bool SystemCallWork::take_length(std::size_t i, StagedPlace place) noexcept {
    if (place == 0 || place == wall) {
        words_[i] = address_of(place);
        return true;
    }
    if (place > system_call_staging_bytes - sizeof length_) return false;
    std::memcpy(&length_, staging_ + (place - 1), sizeof length_);
    if (length_ > static_cast<std::int32_t>(system_call_piece_bytes)) return false;
    length_place_ = place;
    words_[i] = reinterpret_cast<std::uintptr_t>(&length_);
    return true;
}

void SystemCallWork::finish() noexcept {
    if (length_place_ != 0) std::memcpy(staging_ + (length_place_ - 1), &length_, sizeof length_);
}

}  // namespace acp::call
