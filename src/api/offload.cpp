// SPDX-License-Identifier: BSD-3-Clause
// <acp/offload.h>.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/check.hpp"
#include "api/ends.hpp"
#include "api/library.hpp"
#include "api/shared_range.hpp"
#include "gma/commands.hpp"
#include "local/space.hpp"
#include "offload/device_calls.hpp"
#include "offload/device_table.hpp"
#include "os/program_file.hpp"
#include "os/shared_library.hpp"
#include "os/system_call_dispatch.hpp"

#include <acp/error.h>
#include <acp/offload.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::handle_of;
using api::library;
using api::number_of;
using base::Code;
using base::Result;
using base::Status;
using call::CallArguments;
using call::CallEnd;
using offload::CallResult;
using offload::DeviceTable;

DeviceTable& devices() noexcept {
    return *library().devices;
}

// "acp_begin_call by rank 0 on host: ..."
Status named(const char* call, Status failure) {
    if (failure.is_ok()) return failure;
    return std::move(failure).within(call + gma::by_rank(library().member->rank()));
}

template <typename T>
Result<T> named(const char* call, Result<T> result) {
    if (result.is_ok()) return result;
    return named(call, std::move(result).failure());
}

template <typename Body>
int run_status(const char* call, const Body& body) noexcept {
    const bool is_ok = api::run<Gravity::misuse_ends>(
        call, false, [&]() -> Status { return named(call, body()); });
    return is_ok ? 0 : -1;
}

template <typename T, typename Body>
T run_result(const char* call, T failed, const Body& body) noexcept {
    return api::run<Gravity::misuse_ends>(call, failed,
                                          [&]() -> Result<T> { return named<T>(call, body()); });
}

Status no_text(const char* name) {
    return {Code::argument, std::string(name) + " is NULL"};
}

// The path of acp-worker, which is installed with the library.
Result<std::string> worker_program() {
    const std::string own = os::own_module_directory();
    const std::string beside = os::executable_directory();
    for (const std::string& path : {own + "/../bin/acp-worker", own + "/../../bin/acp-worker",
                                    beside + "/acp-worker", beside + "/../bin/acp-worker"}) {
        if (os::file_kind(path) == os::FileKind::program) return path;
    }
    return Status(Code::unsupported,
                  "acp-worker is neither at " + own +
                      "/../bin, where it is installed with the library, nor at " + beside +
                      ": pass its path");
}

Result<acp_process_t> create_process(int device, const char* program) {
    if (device != 0) {
        return Status(Code::argument,
                      "device " + std::to_string(device) +
                          " runs no processes: only device 0 does, on the own node");
    }
    const node::Segment& segment = library().member->segment();
    if (!segment.has_file()) {
        return Status(Code::state,
                      "the descriptor of the node segment is not there any more: a "
                      "program that closes descriptors must leave those it did not open");
    }
    offload::StartPlan plan{"", segment.file(), segment.layout().total};
    plan.dispatches_system_calls = library().config.system_calls == base::SystemCallWay::dispatch;
    if (plan.dispatches_system_calls && os::probe_system_call_dispatch() != 0) {
        return Status(
            Code::unsupported,
            "ACP_SYSTEM_CALLS=dispatch: this machine has no user dispatch of system calls "
            "(Linux 5.11 on x86-64); native is the value that it has");
    }
    if (program != nullptr) {
        plan.program = program;
    } else {
        auto found = worker_program();
        if (!found.is_ok()) return std::move(found).failure();
        plan.program = std::move(found).value();
    }
    auto created = devices().create_process(plan);
    if (!created.is_ok()) return std::move(created).failure();
    return handle_of<acp_process_t>(created.value());
}

// The offset of memory of this node in the node segment.
Result<std::uint64_t> offset_of(acp_ga_t address) {
    const local::Space& space = library().gma->space();
    local::Place place;
    const Code code = space.find(address, 1, place);
    if (code != Code::ok && !(code == Code::address && space.is_elsewhere(address, 1)))
        return Status(code, space.explain(address, 1));
    const node::Segment& segment = library().member->segment();
    const auto offset =
        static_cast<std::uint64_t>(place.direct == nullptr ? -1 : place.direct - segment.base());
    if (offset < segment.layout().total) return offset;
    return Status(
        Code::unsupported,
        "a device process reaches heaps and starter memory of its own node alone; copy the "
        "memory there, or pass it as a buffer");
}

// Negative numbers name no library.
Status check_library(int number) {
    if (number >= 0) return {};
    return offload::WorkerProcess::no_such_library(number);
}

template <typename Set>
int set_argument(const char* call, acp_args_t args, int index, const Set& set) noexcept {
    return run_status(call, [&]() -> Status {
        auto found = devices().arguments(number_of(args));
        if (!found.is_ok()) return std::move(found).failure();
        if (index < 0) return call::no_such_argument(index);
        return set(*found.value(), static_cast<std::uint32_t>(index));
    });
}

// What acp_wait_call and acp_test_call return.
Result<int> code_of(const offload::OpenContext& where, const CallResult& ended, uint64_t* result) {
    if (ended.end == CallEnd::ended) return where.process->end().failure();
    if (ended.end == CallEnd::refused) {
        return Status(Code::argument, "the device process has refused the arguments of the call");
    }
    int code = ACP_CALL_RETURNED;
    switch (ended.end) {
        case CallEnd::returned:
            break;
        case CallEnd::cancelled:
            code = ACP_CALL_CANCELLED;
            break;
        case CallEnd::faulted:
            code = ACP_CALL_FAULTED;
            break;
        case CallEnd::thrown:
            code = ACP_CALL_THREW;
            break;
        default:  // the function may have overwritten the memory that the process shares with the rank
            return Status(Code::mismatch,
                          "the device process has answered the call by the number " +
                              std::to_string(static_cast<std::uint64_t>(ended.end)) +
                              ", which means nothing");
    }
    if (result != nullptr) *result = ended.value;
    return code;
}

// The context and arguments of a call.
struct GivenCall {
    offload::OpenContext where;
    std::shared_ptr<CallArguments> list;  // nullptr: no arguments

    [[nodiscard]] const CallArguments& arguments() const noexcept {
        static const CallArguments none;
        return list != nullptr ? *list : none;
    }
};

Result<GivenCall> find_call(acp_context_t context, acp_args_t args) {
    GivenCall given;
    auto where = devices().context(number_of(context));
    if (!where.is_ok()) return std::move(where).failure();
    given.where = std::move(where).value();
    if (args == ACP_ARGS_NULL) return given;
    auto found = devices().arguments(number_of(args));
    if (!found.is_ok()) return std::move(found).failure();
    given.list = std::move(found).value();
    return given;
}

Result<gma::Handle> issue_call(acp_context_t context,
                               std::uint64_t function,
                               acp_args_t args,
                               std::uint64_t* result,
                               acp_handle_t order) {
    if (api::is_checking()) api::check_handle("the order of a call", order);
    Status refused = api::refuse_shared("result", result, sizeof *result);
    if (!refused.is_ok()) return refused;
    auto given = find_call(context, args);
    if (!given.is_ok()) return std::move(given).failure();
    return library().device_calls->issue(given.value().where, function, given.value().arguments(),
                                         result, static_cast<gma::Handle>(order));
}

template <typename Body>
int run_in_context(const char* call, acp_context_t context, const Body& body) noexcept {
    return run_result<int>(call, -1, [&]() -> Result<int> {
        auto found = devices().context(number_of(context));
        if (!found.is_ok()) return std::move(found).failure();
        return body(found.value());
    });
}

}  // namespace

extern "C" {

acp_process_t acp_create_process(int device, const char* program) {
    return run_result("acp_create_process", ACP_PROCESS_NULL,
                      [&] { return create_process(device, program); });
}

int acp_destroy_process(acp_process_t process) {
    return run_result<int>("acp_destroy_process", -1, [&]() -> Result<int> {
        auto ended = devices().destroy_process(number_of(process));
        if (!ended.is_ok()) return std::move(ended).failure();
        return ended.value() ? ended.value()->shell_code() : int{ACP_NONE};
    });
}

int acp_query_process(acp_process_t process) {
    return run_result<int>("acp_query_process", -1, [&]() -> Result<int> {
        auto found = devices().process(number_of(process));
        if (!found.is_ok()) return std::move(found).failure();
        return found.value()->end().has_ended() ? int{ACP_NONE} : found.value()->process();
    });
}

int acp_load_library(acp_process_t process, const char* path) {
    return run_result<int>("acp_load_library", -1, [&]() -> Result<int> {
        if (path == nullptr) return no_text("path");
        auto found = devices().process(number_of(process));
        if (!found.is_ok()) return std::move(found).failure();
        auto loaded = found.value()->load(path);
        if (!loaded.is_ok()) return std::move(loaded).failure();
        return static_cast<int>(loaded.value());
    });
}

int acp_unload_library(acp_process_t process, int number) {
    return run_status("acp_unload_library", [&]() -> Status {
        auto found = devices().process(number_of(process));
        if (!found.is_ok()) return std::move(found).failure();
        if (Status status = check_library(number); !status.is_ok()) return status;
        return found.value()->unload(static_cast<std::uint64_t>(number));
    });
}

uint64_t acp_find_symbol(acp_process_t process, int number, const char* name) {
    return run_result<std::uint64_t>("acp_find_symbol", UINT64_MAX, [&]() -> Result<std::uint64_t> {
        if (name == nullptr) return no_text("name");
        auto found = devices().process(number_of(process));
        if (!found.is_ok()) return std::move(found).failure();
        if (Status status = check_library(number); !status.is_ok()) return status;
        auto address = found.value()->find_symbol(static_cast<std::uint64_t>(number), name);
        if (address.is_ok())
            library().device_calls->names().add(found.value()->process(), address.value(), name);
        return address;
    });
}

void* acp_query_device_pointer(acp_process_t process, acp_ga_t address) {
    return run_result<void*>("acp_query_device_pointer", nullptr, [&]() -> Result<void*> {
        auto found = devices().process(number_of(process));
        if (!found.is_ok()) return std::move(found).failure();
        auto offset = offset_of(address);
        if (!offset.is_ok()) return std::move(offset).failure();
        return static_cast<void*>(devices().device_memory() + offset.value());
    });
}

acp_context_t acp_open_context(acp_process_t process) {
    return run_result("acp_open_context", ACP_CONTEXT_NULL, [&]() -> Result<acp_context_t> {
        auto opened = devices().open_context(number_of(process));
        if (!opened.is_ok()) return std::move(opened).failure();
        return handle_of<acp_context_t>(opened.value());
    });
}

int acp_close_context(acp_context_t context) {
    return run_status("acp_close_context",
                      [&] { return devices().close_context(number_of(context)); });
}

int acp_sync_context(acp_context_t context) {
    return run_in_context("acp_sync_context", context, [](auto& where) -> Result<int> {
        where.context->drain();
        if (where.process->end().has_ended()) return where.process->end().failure();
        return 0;
    });
}

acp_args_t acp_create_args(void) {
    return run_result("acp_create_args", ACP_ARGS_NULL, []() -> Result<acp_args_t> {
        auto made = devices().create_arguments();
        if (!made.is_ok()) return std::move(made).failure();
        return handle_of<acp_args_t>(made.value());
    });
}

int acp_free_args(acp_args_t args) {
    return run_status("acp_free_args", [&] { return devices().free_arguments(number_of(args)); });
}

int acp_clear_args(acp_args_t args) {
    return set_argument("acp_clear_args", args, 0, [](CallArguments& arguments, std::uint32_t) {
        arguments.clear();
        return Status();
    });
}

int acp_set_int_args(acp_args_t args, int index, int64_t value) {
    return set_argument("acp_set_int_args", args, index, [&](CallArguments& all, std::uint32_t at) {
        return all.set_integer(at, static_cast<std::uint64_t>(value));
    });
}

int acp_set_double_args(acp_args_t args, int index, double value) {
    return set_argument(
        "acp_set_double_args", args, index,
        [&](CallArguments& all, std::uint32_t at) { return all.set_double(at, value); });
}

int acp_set_float_args(acp_args_t args, int index, float value) {
    return set_argument(
        "acp_set_float_args", args, index,
        [&](CallArguments& all, std::uint32_t at) { return all.set_float(at, value); });
}

int acp_set_address_args(acp_args_t args, int index, acp_ga_t address) {
    return set_argument("acp_set_address_args", args, index,
                        [&](CallArguments& all, std::uint32_t at) -> Status {
                            auto offset = offset_of(address);
                            if (!offset.is_ok()) return std::move(offset).failure();
                            return all.set_address(at, offset.value());
                        });
}

int acp_set_buffer_args(acp_args_t args, int index, int intent, void* buffer, size_t size) {
    return set_argument(
        "acp_set_buffer_args", args, index, [&](CallArguments& all, std::uint32_t at) -> Status {
            if (intent < ACP_BUFFER_IN || intent > ACP_BUFFER_INOUT) {
                return {Code::argument, "intent " + std::to_string(intent) +
                                            " is none of ACP_BUFFER_IN, _OUT and _INOUT"};
            }
            if (Status status = api::refuse_shared("buffer", buffer, size); !status.is_ok())
                return status;
            return all.set_buffer(at, static_cast<call::Intent>(intent), buffer, size);
        });
}

int acp_set_result_args(acp_args_t args, int kind) {
    return set_argument(
        "acp_set_result_args", args, 0, [&](CallArguments& all, std::uint32_t) -> Status {
            if (kind < ACP_RESULT_INT || kind > ACP_RESULT_FLOAT) {
                return {Code::argument, "kind " + std::to_string(kind) +
                                            " is none of ACP_RESULT_INT, _DOUBLE and _FLOAT"};
            }
            all.set_result(static_cast<call::ResultKind>(kind));
            return {};
        });
}

int64_t acp_begin_call(acp_context_t context, uint64_t function, acp_args_t args) {
    return run_result<std::int64_t>("acp_begin_call", -1, [&]() -> Result<std::int64_t> {
        auto given = find_call(context, args);
        if (!given.is_ok()) return std::move(given).failure();
        auto posted = given.value().where.context->post(call::WorkerOperation::function, function,
                                                        given.value().arguments());
        if (!posted.is_ok()) return std::move(posted).failure();
        return static_cast<std::int64_t>(posted.value());
    });
}

acp_handle_t acp_call(acp_context_t context,
                      uint64_t function,
                      acp_args_t args,
                      uint64_t* result,
                      acp_handle_t order) {
    return api::run<Gravity::failure_ends>("acp_call", ACP_HANDLE_NULL, [&]() -> acp_handle_t {
        auto issued = issue_call(context, function, args, result, order);
        if (issued.is_ok()) return static_cast<acp_handle_t>(issued.value());
        return static_cast<acp_handle_t>(
            library().gma->fail(named("acp_call", std::move(issued).failure())));
    });
}

int acp_cancel(acp_handle_t call) {
    return run_result<int>("acp_cancel", -1, [&]() -> Result<int> {
        const auto handle = static_cast<gma::Handle>(call);
        return library().gma->layer_commands().cancel(handle).value_or(false) ? 0 : 1;
    });
}

int acp_wait_call(acp_context_t context, int64_t call, uint64_t* result) {
    return run_in_context("acp_wait_call", context, [&](auto& where) -> Result<int> {
        auto ended = where.context->wait(static_cast<std::uint64_t>(call));
        if (!ended.is_ok()) return std::move(ended).failure();
        return code_of(where, ended.value(), result);
    });
}

int acp_test_call(acp_context_t context, int64_t call, uint64_t* result) {
    return run_in_context("acp_test_call", context, [&](auto& where) -> Result<int> {
        auto ended = where.context->test(static_cast<std::uint64_t>(call));
        if (!ended.is_ok()) return std::move(ended).failure();
        if (!ended.value()) return int{ACP_NONE};
        return code_of(where, *ended.value(), result);
    });
}

int acp_cancel_call(acp_context_t context, int64_t call) {
    return run_in_context("acp_cancel_call", context, [&](auto& where) -> Result<int> {
        auto cancelled = where.context->cancel(static_cast<std::uint64_t>(call));
        if (!cancelled.is_ok()) return std::move(cancelled).failure();
        return cancelled.value() == call::Cancel::cancelled ? 0 : 1;
    });
}
}
