// SPDX-License-Identifier: BSD-3-Clause
// <acp/pm.h>.
#include <cstdint>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/fatal.hpp"
#include "api/library.hpp"
#include "api/shared_range.hpp"
#include "base/format.hpp"
#include "gma/commands.hpp"

#include <acp/access.h>
#include <acp/error.h>
#include <acp/pm.h>

#include "pm/contexts.hpp"
#include "pm/waits.hpp"

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using base::Code;
using base::Result;
using base::Status;
using pm::Context;

static_assert(ACP_PM_CONTEXTS == pm::pm_contexts);
static_assert(ACP_PM_MESSAGE_BYTES == pm::message_bytes_max);

struct PmCopy {
    acp_ga_t target;
    acp_ga_t source;
    std::size_t size;
};

std::uint64_t number_of(acp_pm_t handle) noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
}

// nullptr: there is none, or no call may be made now. Calls no function.
[[gnu::always_inline]] inline Context* context_at_hand(acp_pm_t handle) noexcept {
    const api::Library* const instance = api::usable_library();
    return instance != nullptr ? instance->contexts->find(number_of(handle)) : nullptr;
}

// "acp_send_pm(context 3) by rank 0 on host": with the number that acp_open_pm was given.
Status named(const char* call, acp_pm_t handle, Status failure) {
    const std::uint64_t number = pm::Contexts::number_of(number_of(handle));
    const std::string context = handle == ACP_PM_NULL ? "ACP_PM_NULL"
                                : number < pm::pm_contexts
                                    ? "context " + std::to_string(number)
                                    : "handle " + base::hex(number_of(handle));
    return std::move(failure).within(std::string(call) + "(" + context + ")" +
                                     gma::by_rank(library().member->rank()));
}

std::uint32_t process_of(int rank) noexcept {
    return library().gma->space().segment().process_of(static_cast<std::uint32_t>(rank));
}

int rank_of(std::uint32_t process) noexcept {
    return static_cast<int>(library().gma->space().segment().rank_of(process));
}

bool is_rank(int rank) noexcept {
    return rank >= 0 && static_cast<std::uint32_t>(rank) < library().member->procs();
}

// Returns body(context).
template <typename Body>
Result<int> in_context(acp_pm_t handle, const Body& body) {
    Context* const context = library().contexts->find(number_of(handle));
    if (context != nullptr) return body(*context);
    return Status(Code::stale, "there is no such context, or it was closed");
}

Result<int> tell_gone(Context& context, int* source) {
    const auto gone = context.take_gone();
    if (!gone.has_value()) return 0;
    if (source != nullptr) *source = rank_of(*gone);
    return Status::worded(Code::peer, [&] { return context.fate_of(*gone); });
}

// Runs the slow path of a call and reports its failure: body(context) returns the result.
template <typename Body>
[[gnu::noinline]] int run(const char* call, acp_pm_t handle, const Body& body) noexcept {
    return api::run<Gravity::misuse_ends>(call, -1, [&]() -> Result<int> {
        Result<int> result = in_context(handle, body);
        if (result.is_ok()) return result;
        return named(call, handle, std::move(result).failure());
    });
}

// 0: there may be room later.
[[gnu::noinline]] int explain_no_room(
    const char* call, acp_pm_t handle, int rank, std::size_t size, void** buffer) noexcept {
    return run(call, handle, [&](Context& context) -> Result<int> {
        if (!is_rank(rank)) {
            return Status(Code::argument, "rank " + std::to_string(rank) +
                                              " is not one of ranks 0 to " +
                                              std::to_string(library().member->procs() - 1));
        }
        if (buffer == nullptr) return Status(Code::argument, "buffer is NULL");
        if (size > pm::message_bytes_max) {
            return Status(Code::argument, "size " + std::to_string(size) + " is more than " +
                                              std::to_string(pm::message_bytes_max));
        }
        if (context.has_reserved())
            return Status(Code::state, "a message is being composed: send it first");
        Status status = context.why_no_room(process_of(rank));
        if (!status.is_ok()) return status;
        return 0;
    });
}

[[gnu::always_inline]] inline bool try_get_buffer(acp_pm_t pm,
                                                  int rank,
                                                  std::size_t size,
                                                  void** buffer) noexcept {
    Context* const context = context_at_hand(pm);
    if (context == nullptr || buffer == nullptr) [[unlikely]]
        return false;
    if (!context->is_rank(rank) || size > pm::message_bytes_max) [[unlikely]]
        return false;
    char* const room = context->reserve(context->process_of(rank), size);
    if (room == nullptr) [[unlikely]]
        return false;
    *buffer = room;
    return true;
}

// An address of a copy, with the argument's name.
struct PmAddress {
    const char* name;
    acp_ga_t ga;
};

// Issues a copy if this rank owns the address `own`.
acp_handle_t copy(const char* call,
                  acp_pm_t handle,
                  const PmCopy& wanted,
                  const PmAddress& own) noexcept {
    const int is_right = run(call, handle, [&](const Context& /*context*/) -> Result<int> {
        const local::Space& space = library().gma->space();
        if (space.layout().process(own.ga) == space.process()) return 1;
        return Status(Code::argument, std::string(own.name) + " " +
                                          library().allocator->name_of(own.ga) +
                                          " is not an address of the calling rank");
    });
    if (is_right != 1) return ACP_HANDLE_NULL;
    return acp_copy(wanted.target, wanted.source, wanted.size, ACP_HANDLE_NULL);
}

// Called when there is no message: tests whether a rank is gone.
[[gnu::noinline]] int explain_no_message(acp_pm_t handle,
                                         const void** data,
                                         std::size_t* size,
                                         int* source) noexcept {
    return run("acp_receive_pm", handle, [&](Context& context) -> Result<int> {
        if (data == nullptr) return Status(Code::argument, "data is NULL");
        if (context.is_holding()) return Status(Code::state, "a message is held: release it first");
        if (auto gone = tell_gone(context, source); !gone.is_ok()) return gone;
        // a message that has come since is returned before the loss of its sender
        const Context::PmMessage found = context.receive();
        if (found.data == nullptr) return 0;
        *data = found.data;
        if (size != nullptr) *size = found.bytes;
        if (source != nullptr) *source = rank_of(found.source);
        return 1;
    });
}

[[gnu::noinline]] int explain_nothing_to_send(acp_pm_t handle) noexcept {
    return run("acp_send_pm", handle, [](Context& context) -> Result<int> {
        if (!context.has_reserved()) return Status(Code::state, "no message is being composed");
        context.send();
        return 0;
    });
}

[[gnu::noinline]] int explain_nothing_held(acp_pm_t handle) noexcept {
    return run("acp_release_pm", handle, [](Context& context) -> Result<int> {
        if (!context.is_holding()) return Status(Code::state, "no message is held");
        context.release();
        return 0;
    });
}

}  // namespace

extern "C" {

acp_pm_t acp_open_pm(int number) {
    constexpr const char* call = "acp_open_pm";
    return api::run<Gravity::misuse_ends>(call, ACP_PM_NULL, [&]() -> Result<acp_pm_t> {
        if (number < 0 || number >= ACP_PM_CONTEXTS) {
            return api::in_call(
                call,
                Status(Code::argument, "number " + std::to_string(number) + " is not one of 0 to " +
                                           std::to_string(ACP_PM_CONTEXTS - 1)));
        }
        auto opened = library().contexts->open(static_cast<std::uint32_t>(number));
        if (!opened.is_ok()) return api::in_call(call, std::move(opened).failure());
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number that has the type of a pointer
        return reinterpret_cast<acp_pm_t>(static_cast<std::uintptr_t>(opened.value()));
    });
}

int acp_close_pm(acp_pm_t pm) {
    return run("acp_close_pm", pm, [&](const Context& /*context*/) -> Result<int> {
        (void)library().contexts->close(number_of(pm));
        return 0;
    });
}

int acp_get_buffer_pm(acp_pm_t pm, int rank, size_t size, void** buffer) {
    if (try_get_buffer(pm, rank, size, buffer)) [[likely]]
        return 1;
    return explain_no_room("acp_get_buffer_pm", pm, rank, size, buffer);
}

int acp_wait_buffer_pm(acp_pm_t pm, int rank, size_t size, void** buffer, int64_t timeout_ns) {
    constexpr const char* call = "acp_wait_buffer_pm";
    if (try_get_buffer(pm, rank, size, buffer)) [[likely]]
        return 1;
    if (const int failed = explain_no_room(call, pm, rank, size, buffer); failed != 0)
        return failed;
    return run(call, pm, [&](Context& context) -> Result<int> {
        pm::RoomFound found = wait_for_room(context, process_of(rank), size, timeout_ns);
        switch (found.outcome) {
            case pm::RoomWait::room:
                *buffer = found.room;
                return 1;
            case pm::RoomWait::message:
                return ACP_PM_RECEIVE_FIRST;
            case pm::RoomWait::never:
                return std::move(found.why);
            case pm::RoomWait::timeout:
                break;
        }
        return 0;
    });
}

int acp_truncate_pm(acp_pm_t pm, size_t size) {
    return run("acp_truncate_pm", pm, [&](Context& context) -> Result<int> {
        if (!context.has_reserved()) return Status(Code::state, "no message is being composed");
        if (size > context.reserved_bytes()) {
            return Status(Code::argument, "size " + std::to_string(size) + " is more than the " +
                                              std::to_string(context.reserved_bytes()) +
                                              " bytes that were got");
        }
        context.truncate(size);
        return 0;
    });
}

int acp_send_pm(acp_pm_t pm) {
    Context* const context = context_at_hand(pm);
    if (context == nullptr || !context->has_reserved()) [[unlikely]]
        return explain_nothing_to_send(pm);
    context->send();
    return 0;
}

int acp_test_sent_pm(acp_pm_t pm) {
    return run("acp_test_sent_pm", pm,
               [](Context& context) -> Result<int> { return context.is_sent() ? 1 : 0; });
}

int acp_receive_pm(acp_pm_t pm, const void** data, size_t* size, int* source) {
    Context* const context = context_at_hand(pm);
    if (context != nullptr && data != nullptr && !context->is_holding()) [[likely]] {
        const Context::PmMessage found = context->receive();
        if (found.data != nullptr) [[likely]] {
            *data = found.data;
            if (size != nullptr) *size = found.bytes;
            if (source != nullptr) *source = rank_of(found.source);
            return 1;
        }
        if (!context->has_new_deaths()) [[likely]]
            return 0;
    }
    return explain_no_message(pm, data, size, source);
}

int acp_release_pm(acp_pm_t pm) {
    Context* const context = context_at_hand(pm);
    if (context == nullptr || !context->is_holding()) [[unlikely]]
        return explain_nothing_held(pm);
    context->release();
    return 0;
}

int acp_wait_pm(acp_pm_t pm, int64_t timeout_ns) {
    return run("acp_wait_pm", pm, [&](Context& context) -> Result<int> {
        return wait_for_message(context, timeout_ns) ? 1 : 0;
    });
}

int acp_before_select_pm(acp_pm_t pm, int* descriptor) {
    return run("acp_before_select_pm", pm, [&](Context& context) -> Result<int> {
        if (descriptor == nullptr) return Status(Code::argument, "descriptor is NULL");
        if (context.is_holding()) return Status(Code::state, "a message is held: release it first");
        auto may_sleep = context.before_select(*descriptor);
        if (!may_sleep.is_ok()) return std::move(may_sleep).failure();
        return may_sleep.value() ? 1 : 0;
    });
}

int acp_lock_pm(acp_pm_t pm, void* address, size_t size, acp_ga_t* first) {
    return run("acp_lock_pm", pm, [&](const Context& /*context*/) -> Result<int> {
        if (first == nullptr) return Status(Code::argument, "first is NULL");
        if (Status status = api::refuse_shared("address", address, size); !status.is_ok())
            return status;
        auto locked = library().contexts->registrations().lock(address, size);
        if (!locked.is_ok()) return std::move(locked).failure();
        *first = locked.value();
        return 0;
    });
}

int acp_unlock_pm(acp_pm_t pm, acp_ga_t first) {
    return run("acp_unlock_pm", pm, [&](const Context& /*context*/) -> Result<int> {
        Status status = library().contexts->registrations().unlock(first);
        if (!status.is_ok()) return status;
        return 0;
    });
}

acp_handle_t acp_write_pm(acp_pm_t pm, acp_ga_t target, acp_ga_t source, size_t size) {
    return copy("acp_write_pm", pm, {target, source, size}, {"source", source});
}

acp_handle_t acp_read_pm(acp_pm_t pm, acp_ga_t target, acp_ga_t source, size_t size) {
    return copy("acp_read_pm", pm, {target, source, size}, {"target", target});
}

int acp_after_select_pm(acp_pm_t pm) {
    return run("acp_after_select_pm", pm, [](Context& context) -> Result<int> {
        context.after_select();
        return 0;
    });
}

}  // extern "C"
