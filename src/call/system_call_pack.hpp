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

    // Copies back what the staged call has written. false: memory that the call reads and writes can
    // only be read; the call has then failed with EFAULT.
    //   result  of the call, or a negative errno
    [[nodiscard]] bool fetch(std::int64_t result) noexcept {
        bool is_whole = true;
        for (std::size_t i = 0; i < system_call_words; ++i) {
            if (result >= 0 && is_in_staging(record_.places[i]))
                is_whole = fetch_argument(i, result) && is_whole;
        }
        return is_whole;
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

    // Whether the kernel looks at a length: not where the address before it is none, but for options.
    [[nodiscard]] bool is_length_used(std::size_t i) const noexcept {
        const bool is_optional = record_.call == SystemCall::recvfrom ||
                                 record_.call == SystemCall::accept ||
                                 record_.call == SystemCall::accept4;
        return !is_optional || words_[i - 1] != 0;
    }

    // The first piece of more bytes than `most`. The others are whole pages, since a pipe fills its
    // pages by what is left over.
    [[nodiscard]] static std::uint64_t piece_of(std::uint64_t bytes, std::uint64_t most) noexcept {
        constexpr std::uint64_t page = 4096;
        return most < page ? most : most - (most - bytes) % page;
    }

    // Whether the kernel compares the whole range with the addresses of programs before anything
    // else. Others cut the number of bytes first, or look at no more than they move.
    [[nodiscard]] static bool checks_range(SystemCall call) noexcept {
        return call == SystemCall::read || call == SystemCall::write ||
               call == SystemCall::pread64 || call == SystemCall::pwrite64;
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
                if (address != 0 && is_length_used(i)) record_.places[i] = stage_length(address);
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
        const std::uint64_t bytes = extent_of(argument, record_.words);
        const std::uint64_t most = std::min(room(), system_call_piece_bytes);
        // The kernel reads it first, and writes it when the call has been made: fetch().
        const Passing passing =
            argument.passing == Passing::in_out ? Passing::in : argument.passing;
        if (bytes > most) {
            const bool may_be_short =
                argument.extent != ArgumentExtent::fixed && argument.unit == 1;
            if (checks_range(record_.call) && is_beyond_programs(address, bytes))
                return place_outside;
            if (!may_be_short) return wall();
            const std::uint64_t piece = piece_of(bytes, most);
            const StagedPlace place = stage_piece(passing, address, piece);
            // Where no byte can be accessed the kernel gets the whole count: a file that looks at
            // no byte takes them all.
            if (place != wall()) record_.words[argument.word] = piece;
            return place;
        }
        return stage_piece(passing, address, bytes);
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
        // A socket that is accepted is closed if its address cannot be returned.
        const bool must_be_writable =
            record_.call == SystemCall::accept || record_.call == SystemCall::accept4;
        const StagedPlace place = stage_piece(must_be_writable ? Passing::in_out : Passing::in,
                                              address, sizeof(std::int32_t));
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

    // The kernel takes 32 bits of it.
    [[nodiscard]] std::uint64_t vector_count(std::size_t i) const noexcept {
        return words_[arguments_[i].word] & 0xffffffffU;
    }

    // Whether the kernel takes a list of vectors, before it moves a byte.
    enum class VectorCheck : std::uint8_t { good, refused, inaccessible };

    [[nodiscard]] VectorCheck check_vectors(std::uint64_t address, std::uint64_t count) noexcept {
        if (count > io_vectors_max) return VectorCheck::refused;
        IoVector vector{};
        for (std::uint64_t v = 0; v < count; ++v) {
            if (!read_vector(v, address, vector)) return VectorCheck::inaccessible;
            if (vector.bytes >= no_program_address) return VectorCheck::refused;
        }
        for (std::uint64_t v = 0; v < count; ++v) {
            if (!read_vector(v, address, vector)) return VectorCheck::inaccessible;
            // The kernel cuts the bytes of a single vector before it compares the range.
            if (count == 1) vector.bytes = std::min(vector.bytes, transfer_bytes_max);
            if (is_beyond_programs(vector.address, vector.bytes)) return VectorCheck::inaccessible;
        }
        return VectorCheck::good;
    }

    // One piece for the bytes of all vectors. A list that the kernel would refuse has the place 0
    // and more vectors than it takes; one that it could not read is in the wall.
    void stage_vectors(std::size_t i, std::uint64_t address) noexcept {
        const bool is_in = arguments_[i].passing == Passing::vectors_in;
        std::uint64_t& total = record_.words[arguments_[i].word];
        const std::uint64_t count = vector_count(i);
        const VectorCheck check = check_vectors(address, count);
        if (check != VectorCheck::good) {
            const bool is_refused = check == VectorCheck::refused;
            total = is_refused ? io_vectors_max + 1 : 0;
            record_.places[i] = is_refused ? 0 : wall();
            return;
        }
        const std::uint64_t most = std::min(room(), system_call_piece_bytes);
        std::uint64_t bytes = 0;
        std::uint64_t accessible = 0;
        bool is_whole = true;  // all bytes so far can be accessed
        for (std::uint64_t v = 0; v < count; ++v) {
            IoVector vector{};
            if (!read_vector(v, address, vector)) break;  // changed by another thread
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

    [[nodiscard]] bool fetch_argument(std::size_t i, std::int64_t result) noexcept {
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
                return true;
            default:
                return true;
        }
        bytes = std::min(bytes, staging_.size() - (record_.places[i] - 1));
        return memory_.copy_out(words_[i], from, bytes) == bytes;
    }

    void scatter(std::size_t i, std::uint64_t bytes) noexcept {
        const std::byte* from = at(record_.places[i] - 1);
        bytes = std::min(bytes, staging_.size() - (record_.places[i] - 1));
        for (std::uint64_t v = 0; v < vector_count(i) && bytes != 0; ++v) {
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
