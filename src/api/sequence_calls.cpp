// SPDX-License-Identifier: BSD-3-Clause
// Checks a program's arguments, calls data::Sequences, and names the call in a failure.
#include "api/sequence_calls.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/boundary.hpp"
#include "api/library.hpp"
#include "api/shared_range.hpp"
#include "base/format.hpp"
#include "data/sequence_algorithms.hpp"
#include "gma/commands.hpp"

namespace acp::api {

namespace {

using base::Code;
using base::Result;
using base::Status;
using sequence::ContentEnd;

// "0x.. on rank 1"
std::string name_of(acp_ga_t sequence) {
    return library().allocator->name_of(sequence);
}

// "acp_push_back_vector(0x.. on rank 1, 10 bytes) by rank 0 on host"
Status named(const SequenceCall& call, const std::string& what, Status failure) {
    return std::move(failure).within(std::string(call.name) + "(" + name_of(call.address) + what +
                                     ")" + gma::by_rank(library().member->rank()));
}

data::SequenceName sequence_of(const SequenceCall& call, acp_ga_t address) noexcept {
    return {address, call.kind};
}

Status check_bytes(const void* memory, std::uint64_t bytes) {
    if (memory != nullptr || bytes == 0) return refuse_shared("ptr", memory, bytes);
    return {Code::argument, "ptr is NULL, and size is " + std::to_string(bytes)};
}

Status check_index(std::int64_t index) {
    if (index >= 0) return {};
    return {Code::argument, "index " + std::to_string(index) + " is negative"};
}

Status check_range(const SequenceRange& range) {
    if (range.address != range.end_address) {
        return {Code::argument, "the iterators are of two containers, " + name_of(range.address) +
                                    " and " + name_of(range.end_address)};
    }
    auto status = check_index(range.begin);
    if (!status.is_ok() || range.begin <= range.end) return status;
    return {Code::argument, "the range ends at index " + std::to_string(range.end) +
                                " before it begins at " + std::to_string(range.begin)};
}

// The body of a call that returns whether it succeeded.   what()  the arguments behind the address
template <typename What, typename Body>
bool run_status(const SequenceCall& call, const What& what, const Body& body) noexcept {
    return run<Gravity::misuse_ends>(call.name, false, [&]() -> Status {
        Status status = body();
        if (status.is_ok()) return status;
        return named(call, what(), std::move(status));
    });
}

// Likewise of a call that returns a number of bytes; -1 after a failure.
template <typename What, typename Body>
std::int64_t run_count(const SequenceCall& call, const What& what, const Body& body) noexcept {
    return run<Gravity::misuse_ends>(call.name, std::int64_t{-1}, [&]() -> Result<std::int64_t> {
        if (inline_line == nullptr) open_inline_path();
        Result<std::uint64_t> count = body();
        if (count.is_ok()) return static_cast<std::int64_t>(count.value());
        return named(call, what(), std::move(count).failure());
    });
}

data::SequenceAlgorithms<> algorithms() noexcept {
    return data::SequenceAlgorithms(*library().sequences);
}

// The bytes of a range, as far as they exist. Further errors: argument (check_range).
Result<std::vector<char>> read_range(const SequenceCall& call, const SequenceRange& range) {
    if (auto status = check_range(range); !status.is_ok()) return status;
    return algorithms().read(sequence_of(call, range.address),
                             static_cast<std::uint64_t>(range.begin),
                             static_cast<std::uint64_t>(range.end));
}

Status insert(const data::SequenceName& to,
              std::int64_t& index,
              const char* source,
              std::uint64_t bytes) {
    sequence::Splice splice;
    splice.at = static_cast<std::uint64_t>(index);
    splice.source = source;
    splice.added = bytes;
    auto before = library().sequences->splice(to, splice);
    if (!before.is_ok()) return std::move(before).failure();
    index = std::min(index, static_cast<std::int64_t>(before.value()));
    return {};
}

Status erase(const data::SequenceName& from, std::int64_t index, std::uint64_t bytes) {
    sequence::Splice splice;
    splice.at = static_cast<std::uint64_t>(index);
    splice.removed = bytes;
    return algorithms().change(from, splice);
}

// These return functions that write the arguments of a call behind the address of its sequence.

std::string nothing() {
    return "";
}

auto of_bytes(std::uint64_t bytes) noexcept {
    return [=] { return ", " + base::in_bytes(bytes); };
}

auto at_index(std::int64_t index) noexcept {
    return [=] { return ", index " + std::to_string(index); };
}

auto at_index(std::int64_t index, std::uint64_t bytes) noexcept {
    return [=] { return at_index(index)() + of_bytes(bytes)(); };
}

auto and_sequence(acp_ga_t other) noexcept {
    return [=] { return ", " + name_of(other); };
}

auto of_range(const SequenceRange& range) noexcept {
    return [=] {
        return ", " + std::to_string(range.begin) + " to " + std::to_string(range.end) + " of " +
               name_of(range.address);
    };
}

}  // namespace

acp_ga_t create_sequence(const char* name,
                         sequence::SequenceKind kind,
                         std::uint64_t bytes,
                         std::uint64_t capacity,
                         int rank) noexcept {
    return run<Gravity::misuse_ends>(name, ACP_GA_NULL, [&]() -> Result<acp_ga_t> {
        const std::uint32_t procs = library().member->procs();
        const std::string call =
            std::string(name) + "(" + base::in_bytes(std::max(bytes, capacity)) + ", rank " +
            std::to_string(rank) + ")" + gma::by_rank(library().member->rank());
        if (rank < 0 || static_cast<std::uint32_t>(rank) >= procs) {
            return Status(Code::argument, "rank " + std::to_string(rank) + " is not one of 0 to " +
                                              std::to_string(procs - 1))
                .within(call);
        }
        const std::uint32_t process =
            library().gma->space().segment().process_of(static_cast<std::uint32_t>(rank));
        auto made = library().sequences->make(process, kind, bytes, capacity);
        if (made.is_ok()) return made;
        return std::move(made).failure().within(call);
    });
}

int destroy_sequence(const SequenceCall& call) noexcept {
    return code_of(run_status(call, nothing, [&] {
        return library().sequences->destroy(sequence_of(call, call.address));
    }));
}

std::int64_t push_sequence(const SequenceCall& call,
                           ContentEnd end,
                           const void* source,
                           std::size_t bytes) noexcept {
    return run_count(call, of_bytes(bytes), [&]() -> Result<std::uint64_t> {
        auto status = check_bytes(source, bytes);
        if (!status.is_ok()) return status;
        return library().sequences->push(sequence_of(call, call.address), end,
                                         static_cast<const char*>(source), bytes);
    });
}

std::int64_t drop_sequence(const SequenceCall& call, ContentEnd end, std::size_t bytes) noexcept {
    return run_count(call, of_bytes(bytes), [&] {
        return library().sequences->pop(sequence_of(call, call.address), end, nullptr, bytes);
    });
}

std::int64_t clear_sequence(const SequenceCall& call) noexcept {
    return run_count(call, nothing, [&] {
        return library().sequences->pop(sequence_of(call, call.address), ContentEnd::back, nullptr,
                                        ~std::uint64_t{0});
    });
}

std::int64_t take_sequence(const SequenceCall& call,
                           ContentEnd end,
                           void* target,
                           std::size_t bytes) noexcept {
    return run_count(call, of_bytes(bytes), [&]() -> Result<std::uint64_t> {
        auto status = check_bytes(target, bytes);
        if (!status.is_ok()) return status;
        char none = 0;
        return library().sequences->pop(sequence_of(call, call.address), end,
                                        bytes != 0 ? static_cast<char*>(target) : &none, bytes);
    });
}

std::int64_t read_sequence(const SequenceCall& call,
                           std::int64_t index,
                           void* target,
                           std::size_t bytes) noexcept {
    return run_count(call, at_index(index, bytes), [&]() -> Result<std::uint64_t> {
        auto status = check_bytes(target, bytes);
        if (status.is_ok()) status = check_index(index);
        if (!status.is_ok()) return status;
        char none = 0;
        const data::SequenceName from = sequence_of(call, call.address);
        auto copied =
            library().sequences->read(from, static_cast<std::uint64_t>(index),
                                      bytes != 0 ? static_cast<char*>(target) : &none, bytes);
        if (!copied.is_ok()) return std::move(copied).failure();
        const std::uint64_t there = copied.value().there;
        if (static_cast<std::uint64_t>(index) <= there) return copied.value().bytes;
        return Status(Code::argument, "index " + std::to_string(index) +
                                          " is behind the end: there are " + base::in_bytes(there));
    });
}

bool write_sequence(const SequenceCall& call,
                    std::int64_t index,
                    const void* source,
                    std::size_t bytes) noexcept {
    return run_status(call, at_index(index, bytes), [&]() -> Status {
        auto status = check_bytes(source, bytes);
        if (status.is_ok()) status = check_index(index);
        if (!status.is_ok()) return status;
        sequence::Splice splice;
        splice.at = static_cast<std::uint64_t>(index);
        splice.removed = bytes;
        splice.source = static_cast<const char*>(source);
        splice.added = bytes;
        splice.must_fit = true;
        return algorithms().change(sequence_of(call, call.address), splice);
    });
}

bool insert_sequence(const SequenceCall& call,
                     std::int64_t& index,
                     const void* source,
                     std::size_t bytes) noexcept {
    return run_status(call, at_index(index, bytes), [&]() -> Status {
        auto status = check_bytes(source, bytes);
        if (status.is_ok()) status = check_index(index);
        if (!status.is_ok()) return status;
        return insert(sequence_of(call, call.address), index, static_cast<const char*>(source),
                      bytes);
    });
}

bool insert_range_of_sequence(const SequenceCall& call,
                              std::int64_t& index,
                              const SequenceRange& range) noexcept {
    const auto what = [&] { return at_index(index)() + of_range(range)(); };
    return run_status(call, what, [&]() -> Status {
        if (auto status = check_index(index); !status.is_ok()) return status;
        auto content = read_range(call, range);
        if (!content.is_ok()) return std::move(content).failure();
        return insert(sequence_of(call, call.address), index, content.value().data(),
                      content.value().size());
    });
}

bool erase_sequence(const SequenceCall& call, std::int64_t index, std::uint64_t bytes) noexcept {
    return run_status(call, at_index(index, bytes), [&]() -> Status {
        auto status = check_index(index);
        if (!status.is_ok()) return status;
        return erase(sequence_of(call, call.address), index, bytes);
    });
}

bool erase_range_of_sequence(const SequenceCall& call, const SequenceRange& range) noexcept {
    return run_status(call, of_range(range), [&]() -> Status {
        auto status = check_range(range);
        if (!status.is_ok()) return status;
        return erase(sequence_of(call, call.address), range.begin,
                     static_cast<std::uint64_t>(range.end - range.begin));
    });
}

bool assign_sequence(const SequenceCall& call, acp_ga_t source) noexcept {
    return run_status(call, and_sequence(source), [&]() -> Status {
        auto content = algorithms().read(sequence_of(call, source));
        if (!content.is_ok()) return std::move(content).failure();
        return algorithms().assign(sequence_of(call, call.address), content.value());
    });
}

bool assign_range_of_sequence(const SequenceCall& call, const SequenceRange& range) noexcept {
    return run_status(call, of_range(range), [&]() -> Status {
        auto content = read_range(call, range);
        if (!content.is_ok()) return std::move(content).failure();
        return algorithms().assign(sequence_of(call, call.address), content.value());
    });
}

bool swap_sequences(const SequenceCall& call, acp_ga_t other) noexcept {
    return run_status(call, and_sequence(other), [&]() -> Status {
        const data::SequenceName one = sequence_of(call, call.address);
        const data::SequenceName two = sequence_of(call, other);
        if (call.address != other) return algorithms().exchange(one, two);
        auto told = library().sequences->tell(one, 0, 0);
        return told.is_ok() ? Status() : std::move(told).failure();
    });
}

bool reserve_sequence(const SequenceCall& call, std::uint64_t bytes) noexcept {
    return run_status(call, of_bytes(bytes), [&]() -> Status {
        sequence::Splice splice;
        splice.capacity_least = bytes;
        return algorithms().change(sequence_of(call, call.address), splice);
    });
}

SequenceSeen look_at_sequence(const SequenceCall& call,
                              std::int64_t index,
                              std::uint64_t bytes,
                              bool must_be_there) noexcept {
    SequenceSeen seen;
    const auto what = [&] { return must_be_there ? at_index(index, bytes)() : nothing(); };
    seen.is_seen = run_status(call, what, [&]() -> Status {
        auto status = check_index(index);
        if (!status.is_ok()) return status;
        auto told = library().sequences->tell(sequence_of(call, call.address),
                                              static_cast<std::uint64_t>(index), bytes);
        if (!told.is_ok()) return std::move(told).failure();
        const std::uint64_t there = told.value().bytes;
        if (must_be_there && bytes == 0) return {Code::argument, "size is 0"};
        if (must_be_there && static_cast<std::uint64_t>(index) >= there) {
            return {Code::argument, "no byte has index " + std::to_string(index) + ": there are " +
                                        base::in_bytes(there)};
        }
        seen.bytes = there;
        seen.capacity = told.value().capacity;
        seen.addresses = told.value().addresses;
        seen.pieces = told.value().pieces;
        return {};
    });
    return seen;
}

}  // namespace acp::api
