// SPDX-License-Identifier: BSD-3-Clause
// Puts the arguments together, and reads what was told.
#include "api/replies.hpp"

#include <cstring>

#include "allocator/entry_operations.hpp"

namespace acp::api {

using allocator::ChangeKind;
using allocator::ChangeWords;
using allocator::EntryResult;
using base::Code;
using base::Result;
using base::Status;
using table::Effect;

namespace {

static_assert(sizeof(acp_reply_t::room) == memory::invoke_bytes_max);

std::uint32_t operation_of(BatchKind kind) noexcept {
    switch (kind) {
        case BatchKind::find:
            return allocator::entry_find_number;
        case BatchKind::insert:
        case BatchKind::assign:
            return allocator::entry_put_number;
        case BatchKind::erase:
            return allocator::entry_erase_number;
        case BatchKind::fetch_add_or_insert:
        case BatchKind::add_to_count:
            break;
    }
    return allocator::entry_change_number;
}

// The arguments of an operation. Nothing: they do not fit.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): written as far as read
class Arguments {
public:
    template <typename Words>
    void add(const Words& words) noexcept {
        add(std::as_bytes(std::span(&words, 1)));
    }

    void add(std::span<const std::byte> bytes) noexcept {
        is_whole_ = is_whole_ && bytes.size() <= room_.size() - used_;
        if (!is_whole_ || bytes.empty()) return;
        std::memcpy(room_.data() + used_, bytes.data(), bytes.size());
        used_ += bytes.size();
    }

    [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return std::span<const std::byte>(room_).first(used_);
    }

private:
    std::array<std::byte, memory::invoke_bytes_max> room_;  // NOLINT: written as far as read
    std::size_t used_ = 0;
    bool is_whole_ = true;
};

// Fills the arguments for a key at its place.
Status fill(Arguments& arguments,
            const data::TablePlace& place,
            BatchKind kind,
            const acp_entry_t& entry) {
    const bool stores = kind == BatchKind::insert || kind == BatchKind::assign;
    auto value = value_of(stores ? entry.value : nullptr, stores ? entry.value_size : 0);
    if (!value.is_ok()) return std::move(value).failure();
    constexpr std::uint32_t all = ~0U;  // of a value that is found
    arguments.add(allocator::EntryRequest{
        {place.table, place.id},
        place.hash,
        static_cast<std::uint32_t>(std::min<std::size_t>(entry.key_size, all)),
        stores ? static_cast<std::uint32_t>(std::min<std::size_t>(entry.value_size, all)) : all});
    if (stores) {
        allocator::PutWords words;
        words.mode = kind == BatchKind::insert ? table::PutMode::insert : table::PutMode::assign;
        arguments.add(words);
    } else if (kind == BatchKind::fetch_add_or_insert) {
        arguments.add(ChangeWords{ChangeKind::fetch_add_or_insert, entry.number, 0});
    }
    arguments.add(bytes_at(entry.key, entry.key_size));
    arguments.add(value.value());
    if (arguments.is_whole()) return {};
    return {Code::limit, "key and value have " +
                             base::in_bytes(entry.key_size + value.value().size()) +
                             ": a call that does not wait takes less than 1000 or so"};
}

}  // namespace

Result<acp_handle_t> start_call(data::Hashed& hashed,
                                const ContainerName& name,
                                BatchKind kind,
                                const acp_entry_t& entry,
                                acp_reply_t& reply) {
    return hashed.at_table(
        name, bytes_at(entry.key, entry.key_size),
        [&](const data::TablePlace& place) -> Result<acp_handle_t> {
            Arguments arguments;
            if (auto status = fill(arguments, place, kind, entry); !status.is_ok()) return status;
            reply.what = static_cast<std::uint64_t>(kind);
            reply.bytes = 0;
            reply.code = 0;
            const gma::Handle handle = library().gma->issue_invoke(
                {hashed.tables().process_of(place.table), operation_of(kind), arguments.bytes(),
                 std::as_writable_bytes(std::span(reply.room)), &reply.bytes},
                gma::handle_null);
            return static_cast<acp_handle_t>(handle);
        });
}

namespace {

Result<int> read_reply(const acp_reply_t& reply, const void** value, std::size_t* value_size) {
    EntryResult result;
    if (reply.bytes < sizeof result) {
        return Status(Code::state,
                      "the call is not over, or has failed: acp_wait on its handle tells");
    }
    std::memcpy(&result, reply.room, sizeof result);
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
    if (kind == BatchKind::assign) return 0;
    return result.effect == Effect::done ? 1 : 0;
}

}  // namespace

}  // namespace acp::api

extern "C" int acp_result_of_reply(const acp_reply_t* reply,
                                   const void** value,
                                   size_t* value_size) {
    using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
    return api::run<api::Gravity::misuse_ends>(
        "acp_result_of_reply", -1, [&]() -> base::Result<int> {
            if (reply == nullptr) return base::Status(base::Code::argument, "reply is NULL");
            return api::read_reply(*reply, value, value_size);
        });
}
