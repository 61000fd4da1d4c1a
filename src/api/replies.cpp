// SPDX-License-Identifier: BSD-3-Clause
// Builds the arguments, and reads the result. A reply keeps the arguments until it has a result: if
// a swap by another process has made the copy of the directory outdated, acp_result_of_reply()
// repeats the call when the program asks for the result.
#include "api/replies.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "allocator/entry_operations.hpp"

namespace acp::api {

using allocator::ChangeKind;
using allocator::ChangeWords;
using allocator::EntryRequest;
using allocator::EntryResult;
using base::Code;
using base::Result;
using base::Status;
using table::Effect;

namespace {

static_assert(sizeof(acp_reply_t::room) == memory::invoke_bytes_max);

bool stores(BatchKind kind) noexcept {
    return allocator::stores_values(kind);
}

// Calls call(Operation()) with the operation of a kind.
template <typename Call>
auto with_operation(BatchKind kind, const Call& call) {
    if (kind == BatchKind::find) return call(allocator::FindEntry());
    if (stores(kind)) return call(allocator::PutEntry());
    if (kind == BatchKind::erase) return call(allocator::EraseEntry());
    return call(allocator::ChangeEntry());
}

std::uint32_t operation_of(BatchKind kind) noexcept {
    return with_operation(kind, [](auto operation) {
        return local::operation_number<std::decay_t<decltype(operation)>>;
    });
}

// The offset of the key in the arguments of an operation.
std::size_t key_offset(BatchKind kind) noexcept {
    return with_operation(kind, [](auto operation) {
        return sizeof(typename std::decay_t<decltype(operation)>::Input);
    });
}

// Stores the call and its arguments, without a place, in the reply's room: they stay there until
// the result arrives, and behind the EntryRequest also if the result is no_table.
Status fill(acp_reply_t& reply,
            const ContainerName& name,
            BatchKind kind,
            const acp_entry_t& entry) {
    auto value =
        value_of(stores(kind) ? entry.value : nullptr, stores(kind) ? entry.value_size : 0);
    if (!value.is_ok()) return std::move(value).failure();
    const std::span<const std::byte> key = bytes_at(entry.key, entry.key_size);
    const std::size_t most = sizeof reply.room - key_offset(kind);
    if (key.size() > most || value.value().size() > most - key.size()) {
        return {Code::limit,
                "key and value have " + base::in_bytes(key.size() + value.value().size()) +
                    ": a call that does not wait takes at most " + std::to_string(most)};
    }
    constexpr std::uint32_t all = ~0U;  // the whole value found
    reply.what = static_cast<std::uint32_t>(kind);
    reply.key_size = static_cast<std::uint32_t>(entry.key_size);
    reply.value_size = stores(kind) ? static_cast<std::uint32_t>(entry.value_size) : all;
    reply.id = name.id;
    reply.container = name.directory;
    static_assert(sizeof(EntryResult) <= sizeof(EntryRequest));
    with_operation(kind, [&](auto operation) {
        using Operation = std::decay_t<decltype(operation)>;
        typename Operation::Input input{};
        if constexpr (std::is_same_v<Operation, allocator::PutEntry>) {
            input.put.mode =
                kind == BatchKind::insert ? table::PutMode::insert : table::PutMode::assign;
        } else if constexpr (std::is_same_v<Operation, allocator::ChangeEntry>) {
            input.change = {ChangeKind::fetch_add_or_insert, entry.number, 0};
        }
        std::memcpy(reply.room, &input, sizeof input);
    });
    auto* const into = reinterpret_cast<std::byte*>(reply.room) + key_offset(kind);
    std::copy(value.value().begin(), value.value().end(), std::copy(key.begin(), key.end(), into));
    return {};
}

EntryResult result_in(const acp_reply_t& reply) noexcept {
    EntryResult result;
    std::memcpy(&result, reply.room, sizeof result);
    return result;
}

// Issues the operation of a stored call. Errors: those of Hashed::at_table.
Result<gma::Handle> issue(data::Hashed& hashed, acp_reply_t& reply) {
    const auto kind = static_cast<BatchKind>(reply.what);
    const std::size_t bytes = key_offset(kind) + std::size_t{reply.key_size} +
                              (stores(kind) ? std::size_t{reply.value_size} : 0);
    if (bytes > sizeof reply.room) return Status(Code::state, "no call was started with the reply");
    // The result of an operation on this node is written while it runs.
    std::array<std::byte, sizeof reply.room> asked;  // NOLINT: written as far as read
    std::memcpy(asked.data(), reply.room, bytes);
    const auto arguments = data::Bytes(asked).first(bytes);
    return hashed.at_table(
        {reply.container, reply.id, ContainerKind::map},
        arguments.subspan(key_offset(kind), reply.key_size),
        [&](const data::TablePlace& place) -> Result<gma::Handle> {
            const EntryRequest request{
                {place.table, place.id}, place.hash, reply.key_size, reply.value_size};
            std::memcpy(asked.data(), &request, sizeof request);
            reply.bytes = 0;
            const gma::Handle handle = library().gma->issue_invoke(
                {hashed.tables().process_of(place.table), operation_of(kind), arguments,
                 std::as_writable_bytes(std::span(reply.room)), &reply.bytes},
                gma::handle_null);
            const bool is_over = handle % 2 != 0;
            if (is_over && result_in(reply).effect == Effect::no_table)
                return data::TableCalls::no_table(place);
            return handle;
        });
}

}  // namespace

Result<acp_handle_t> start_call(data::Hashed& hashed,
                                const ContainerName& name,
                                BatchKind kind,
                                const acp_entry_t& entry,
                                acp_reply_t& reply) {
    reply.bytes = 0;  // a refused call leaves no result, not that of the call before
    if (auto status = fill(reply, name, kind, entry); !status.is_ok()) return status;
    auto handle = issue(hashed, reply);
    if (!handle.is_ok()) return std::move(handle).failure();
    return static_cast<acp_handle_t>(handle.value());
}

namespace {

// Repeats a call after the directory has changed since its copy was made.
Status ask_anew(data::Hashed& hashed, acp_reply_t& reply) {
    hashed.directories().forget(reply.container);
    auto handle = issue(hashed, reply);
    if (!handle.is_ok()) return std::move(handle).failure();
    auto status = library().gma->wait_for_one(handle.value());
    if (status.is_ok() && result_in(reply).effect == Effect::no_table)
        return {Code::stale, "the map was destroyed, or is being swapped"};
    return status;
}

Result<int> read_reply(acp_reply_t& reply, const void** value, std::size_t* value_size) {
    if (reply.bytes < sizeof(EntryResult)) {
        return Status(Code::state,
                      "the call is not over, or has failed: acp_wait on its handle tells");
    }
    if (result_in(reply).effect == Effect::no_table) {
        auto status = ask_anew(*library().hashed, reply);
        if (!status.is_ok()) return status;
    }
    const EntryResult result = result_in(reply);
    const auto kind = static_cast<BatchKind>(reply.what);
    const auto tell_value = [&](const unsigned char* at, std::size_t size) {
        if (value != nullptr) *value = at;
        if (value_size != nullptr) *value_size = size;
    };
    if (result.effect == Effect::no_room) {
        return Status(Code::memory,
                      "no room in the heap of the key's rank; acprun --heap-size sets "
                      "how much a heap may take");
    }
    if (result.effect == Effect::damaged) return data::TableCalls::damage(reply.container);
    if (result.effect == Effect::no_number) {
        return Status(Code::argument, "the value has not 8 bytes");
    }
    if (kind == BatchKind::find && result.effect == Effect::done) {
        if (result.is_whole == 0) {
            return Status(Code::limit, "the value has " + base::in_bytes(result.value_bytes) +
                                           ": acp_retrieve_map gets one that long");
        }
        tell_value(reply.room + sizeof result, result.value_bytes);
    }
    if (kind == BatchKind::fetch_add_or_insert) {
        tell_value(reply.room + offsetof(EntryResult, number), sizeof result.number);
    }
    if (kind == BatchKind::assign) return result.was_there != 0 ? 0 : 1;
    const bool is_done = result.effect == Effect::done;
    return is_done == (kind != BatchKind::fetch_add_or_insert) ? 1 : 0;
}

}  // namespace

}  // namespace acp::api

extern "C" int acp_result_of_reply(acp_reply_t* reply, const void** value, size_t* value_size) {
    using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
    return api::run<api::Gravity::misuse_ends>(
        "acp_result_of_reply", -1, [&]() -> base::Result<int> {
            if (reply == nullptr) return base::Status(base::Code::argument, "reply is NULL");
            return api::read_reply(*reply, value, value_size);
        });
}
