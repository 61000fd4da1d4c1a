// SPDX-License-Identifier: BSD-3-Clause
// The device process's end of a delegated system call: copies the input of the call to the staging
// memory, and its output back (system_call_record.hpp). Decides by the table whether a call is
// carried. Knows no ring, and reaches the program's memory through a class Memory alone,
// whose functions copy_in(to, from, bytes), copy_out(to, from, bytes) and writable(address, bytes)
// return how many bytes at the start can be accessed. One thread at a time.
// Tests: tests/unit/call/system_call_pack_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/assert.hpp"

#include "call/system_call_record.hpp"

namespace acp::call {

template <class Memory>
class SystemCallPack {
public:
    //   staging  system_call_staging_bytes, aligned to 64
    SystemCallPack(std::span<std::byte> staging, Memory& memory) noexcept
        : staging_(staging), memory_(memory) {
        ACP_ASSERT(staging.size() == system_call_staging_bytes);
    }

    // Stages a call. If it is carried, record() is the executor's work.
    //   words  as the program has them
    [[nodiscard]] Delegation stage(SystemCall call, const SystemCallWords& words) noexcept {
        const Delegation delegation = row_of(call).delegation;
        if (delegation != Delegation::carried) return delegation;
        record_ = {call, words, {}};
        words_ = words;
        front_ = 0;
        back_ = staging_.size();
        for (std::size_t i = 0; i < system_call_words; ++i) {
            if (!find_argument(call, words, i, arguments_[i])) return Delegation::staying;
            if (arguments_[i].passing == Passing::absent && words[i] != 0)
                return Delegation::staying;
        }
        for (std::size_t i = 0; i < system_call_words; ++i) stage_argument(i);
        return delegation;
    }

    [[nodiscard]] const SystemCallRecord& record() const noexcept { return record_; }

    // Copies back what the staged call has written.
    //   result  of the call, or a negative errno
    void fetch(std::int64_t result) noexcept {
        for (std::size_t i = 0; i < system_call_words; ++i) {
            if (result >= 0 && is_in_staging(record_.places[i])) fetch_argument(i, result);
        }
    }

private:
    // struct iovec
    struct IoVector {
        std::uint64_t address;
        std::uint64_t bytes;
    };

    static_assert(sizeof(IoVector) == io_vector_bytes);

    static constexpr std::uint64_t piece_alignment = 64;

    [[nodiscard]] std::byte* at(std::uint64_t offset) const noexcept {
        return staging_.data() + offset;
    }

    [[nodiscard]] std::uint64_t room() const noexcept { return back_ - front_; }

    // A place of which no byte can be accessed.
    [[nodiscard]] StagedPlace wall() const noexcept { return place_at(staging_.size()); }

    // Keeps the first `bytes` of the room.
    [[nodiscard]] StagedPlace keep(std::uint64_t bytes) noexcept {
        const StagedPlace place = place_at(front_);
        const std::uint64_t end = (front_ + bytes + piece_alignment - 1) & ~(piece_alignment - 1);
        front_ = std::min(end, back_);
        return place;
    }

    // Keeps the first `bytes` of the room at its end, before the wall. Of two such pieces one has
    // no byte there.
    [[nodiscard]] StagedPlace keep_before_wall(std::uint64_t bytes) noexcept {
        if (back_ != staging_.size() || bytes == 0) return wall();
        std::memmove(at(back_ - bytes), at(front_), bytes);
        back_ -= bytes;
        return place_at(back_);
    }

    void stage_argument(std::size_t i) noexcept {
        const std::uint64_t address = words_[i];
        switch (arguments_[i].passing) {
            case Passing::value:
            case Passing::absent:
            case Passing::by_request:
                return;
            case Passing::text:
                if (address != 0) record_.places[i] = stage_text(address);
                return;
            case Passing::in:
            case Passing::out:
            case Passing::in_out:
                if (address != 0) record_.places[i] = stage_bytes(arguments_[i], address);
                return;
            case Passing::up_to:
                if (address != 0) record_.places[i] = stage_up_to(arguments_[i], address);
                return;
            case Passing::length:
                if (address != 0) record_.places[i] = stage_length(address);
                return;
            case Passing::vectors_in:
            case Passing::vectors_out:
                stage_vectors(i, address);
                return;
        }
    }

    [[nodiscard]] StagedPlace stage_text(std::uint64_t address) noexcept {
        const std::uint64_t most = std::min(system_call_text_bytes, room());
        // In steps, since the text may be short and end before memory that cannot be read.
        constexpr std::uint64_t step = 64;
        std::uint64_t copied = 0;
        while (copied < most) {
            const std::uint64_t next = std::min(most - copied, step - (address + copied) % step);
            std::byte* const to = at(front_ + copied);
            const std::uint64_t got = memory_.copy_in(to, address + copied, next);
            copied += got;
            if (std::memchr(to, 0, got) != nullptr) return keep(copied);
            if (got < next) return keep_before_wall(copied);
        }
        return keep(copied);
    }

    // Where the bytes of an argument go. Makes its count smaller where that makes the call short.
    [[nodiscard]] StagedPlace stage_bytes(const ArgumentRow& argument,
                                          std::uint64_t address) noexcept {
        if (address >= no_program_address) return place_outside;
        std::uint64_t bytes = extent_of(argument, record_.words);
        const std::uint64_t most = std::min(room(), system_call_piece_bytes);
        if (bytes > most) {
            const bool may_be_short =
                argument.extent != ArgumentExtent::fixed && argument.unit == 1;
            if (bytes >= no_program_address || address + bytes >= no_program_address)
                return place_outside;
            if (!may_be_short) return wall();
            bytes = most;
            record_.words[argument.word] = bytes;
        }
        return stage_piece(argument.passing, address, bytes);
    }

    [[nodiscard]] StagedPlace stage_piece(Passing passing,
                                          std::uint64_t address,
                                          std::uint64_t bytes) noexcept {
        std::uint64_t accessible = bytes;
        if (passing != Passing::out && passing != Passing::up_to)
            accessible = memory_.copy_in(at(front_), address, bytes);
        if (passing != Passing::in) accessible = memory_.writable(address, accessible);
        return accessible == bytes ? keep(bytes) : keep_before_wall(accessible);
    }

    [[nodiscard]] StagedPlace stage_up_to(const ArgumentRow& argument,
                                          std::uint64_t address) noexcept {
        std::int32_t length = 0;
        const std::uint64_t at_length = words_[argument.word];
        if (at_length == 0 || memory_.copy_in(&length, at_length, sizeof length) != sizeof length)
            length = 0;
        const std::uint64_t bytes =
            length < 0 ? 0 : std::min(std::uint64_t(std::uint32_t(length)), up_to_max);
        return stage_piece(Passing::up_to, address, bytes);
    }

    [[nodiscard]] StagedPlace stage_length(std::uint64_t address) noexcept {
        const StagedPlace place = stage_piece(Passing::in_out, address, sizeof(std::int32_t));
        if (place > staging_.size() - sizeof(std::int32_t)) return wall();
        std::int32_t length = 0;
        std::memcpy(&length, at(place - 1), sizeof length);
        length = std::min(length, static_cast<std::int32_t>(up_to_max));
        std::memcpy(at(place - 1), &length, sizeof length);
        return place;
    }

    [[nodiscard]] bool read_vector(std::uint64_t i, std::uint64_t address, IoVector& vector) {
        return memory_.copy_in(&vector, address + i * sizeof vector, sizeof vector) ==
               sizeof vector;
    }

    // One piece for the bytes of all vectors. A list that the kernel would refuse has the place 0
    // and more vectors than it takes; one that cannot be read is in the wall.
    void stage_vectors(std::size_t i, std::uint64_t address) noexcept {
        const bool is_in = arguments_[i].passing == Passing::vectors_in;
        std::uint64_t& total = record_.words[arguments_[i].word];
        const std::uint64_t count = words_[arguments_[i].word];
        std::uint64_t bytes = 0;
        bool is_whole = true;  // all bytes so far can be accessed
        if (count > io_vectors_max) {
            total = io_vectors_max + 1;
            return;
        }
        const std::uint64_t most = std::min(room(), system_call_piece_bytes);
        std::uint64_t accessible = 0;
        for (std::uint64_t v = 0; v < count; ++v) {
            IoVector vector{};
            const bool is_read = read_vector(v, address, vector);
            if (is_read && vector.bytes >= no_program_address) {
                total = io_vectors_max + 1;
                return;
            }
            if (!is_read || vector.address >= no_program_address) {
                record_.places[i] = wall();
                total = 0;
                return;
            }
            const std::uint64_t next = std::min(vector.bytes, most - bytes);
            bytes += next;
            if (!is_whole) continue;
            const std::uint64_t got =
                is_in ? memory_.copy_in(at(front_ + accessible), vector.address, next)
                      : memory_.writable(vector.address, next);
            accessible += got;
            is_whole = got == next;
        }
        total = bytes;
        record_.places[i] = is_whole ? keep(bytes) : keep_before_wall(accessible);
    }

    void fetch_argument(std::size_t i, std::int64_t result) noexcept {
        const ArgumentRow& argument = arguments_[i];
        const std::byte* const from = at(record_.places[i] - 1);
        std::uint64_t bytes = 0;
        switch (argument.passing) {
            case Passing::out:
            case Passing::in_out:
                bytes = written_of(argument, record_.words, result);
                break;
            case Passing::up_to: {
                std::int32_t length = 0;
                const StagedPlace place = record_.places[argument.word];
                if (place != 0 && place <= staging_.size() - sizeof length)
                    std::memcpy(&length, at(place - 1), sizeof length);
                bytes = length < 0 ? 0 : std::min(std::uint64_t(std::uint32_t(length)), up_to_max);
                // The length that the call returns may be more than the program has room for.
                std::int32_t had = 0;
                if (memory_.copy_in(&had, words_[argument.word], sizeof had) != sizeof had) had = 0;
                bytes = had < 0 ? 0 : std::min(bytes, std::uint64_t(std::uint32_t(had)));
                break;
            }
            case Passing::length:
                bytes = sizeof(std::int32_t);
                break;
            case Passing::vectors_out:
                scatter(i, std::min(std::uint64_t(result), record_.words[argument.word]));
                return;
            default:
                return;
        }
        bytes = std::min(bytes, staging_.size() - (record_.places[i] - 1));
        (void)memory_.copy_out(words_[i], from, bytes);
    }

    void scatter(std::size_t i, std::uint64_t bytes) noexcept {
        const std::byte* from = at(record_.places[i] - 1);
        bytes = std::min(bytes, staging_.size() - (record_.places[i] - 1));
        for (std::uint64_t v = 0; v < words_[arguments_[i].word] && bytes != 0; ++v) {
            IoVector vector{};
            if (!read_vector(v, words_[i], vector)) return;
            const std::uint64_t next = std::min(bytes, vector.bytes);
            if (memory_.copy_out(vector.address, from, next) != next) return;
            from += next;
            bytes -= next;
        }
    }

    // From here on no address is a program's, and no number of bytes is one that the kernel takes.
    static constexpr std::uint64_t no_program_address = std::uint64_t{1} << 63U;

    // The most bytes of an address of a socket, or of an option.
    static constexpr std::uint64_t up_to_max = std::uint64_t{64} << 10U;

    std::span<std::byte> staging_;
    Memory& memory_;
    SystemCallRecord record_;
    SystemCallWords words_{};  // as the program has them
    std::array<ArgumentRow, system_call_words> arguments_{};
    std::uint64_t front_ = 0;  // pieces end there
    std::uint64_t back_ = 0;   // the pieces before the wall begin there
};

}  // namespace acp::call
