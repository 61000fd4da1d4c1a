// SPDX-License-Identifier: BSD-3-Clause
// Finds the library beside this program, and calls its function.
#include "ipc_device.hpp"

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "job.hpp"

namespace acp::bench {

namespace {

// Its place is known from the program's, wherever the tree was moved to.
std::string library_path() {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) give_up("/proc/self/exe cannot be read: " + error.message());
    return (program.parent_path() / ACP_BENCH_IPC_END).lexically_normal().string();
}

}  // namespace

IpcDevice::IpcDevice()
    : process_(acp_create_process(0, nullptr)),
      context_(process_ != ACP_PROCESS_NULL ? acp_open_context(process_) : ACP_CONTEXT_NULL),
      args_(acp_create_args()) {
    must(process_ != ACP_PROCESS_NULL && context_ != ACP_CONTEXT_NULL && args_ != ACP_ARGS_NULL);
    const int library = acp_load_library(process_, library_path().c_str());
    must(library > 0);
    function_ = acp_find_symbol(process_, library, "acpbench_ipc_end");
    must(function_ != UINT64_MAX);
}

IpcDevice::~IpcDevice() {
    (void)acp_close_context(context_);
    (void)acp_destroy_process(process_);
    (void)acp_free_args(args_);
}

void IpcDevice::begin(const IpcExchange& exchange, acp_ga_t board) {
    exchange_ = exchange;
    times_ns_.assign(exchange.is_client != 0 ? exchange.rounds : 0, 0);
    must(acp_clear_args(args_) == 0);
    must(acp_set_buffer_args(args_, 0, ACP_BUFFER_IN, &exchange_, sizeof exchange_) == 0);
    must((board == ACP_GA_NULL ? acp_set_int_args(args_, 1, 0)
                               : acp_set_address_args(args_, 1, board)) == 0);
    must((times_ns_.empty() ? acp_set_int_args(args_, 2, 0)
                            : acp_set_buffer_args(args_, 2, ACP_BUFFER_OUT, times_ns_.data(),
                                                  times_ns_.size() * sizeof(std::uint64_t))) == 0);
    outcome_ = ACP_NONE;
    call_ = acp_begin_call(context_, function_, args_);
    must(call_ > 0);
}

bool IpcDevice::has_ended() {
    if (outcome_ == ACP_NONE) outcome_ = acp_test_call(context_, call_, &result_);
    return outcome_ != ACP_NONE;
}

int IpcDevice::end(std::vector<std::uint64_t>& times_ns) {
    if (outcome_ == ACP_NONE) outcome_ = acp_wait_call(context_, call_, &result_);
    must(outcome_ >= 0);
    times_ns = std::exchange(times_ns_, {});
    return outcome_ == ACP_CALL_RETURNED ? static_cast<int>(result_) : EFAULT;
}

}  // namespace acp::bench
