// SPDX-License-Identifier: BSD-3-Clause
// Child processes: starting a program, hearing of its end without losing its number, and ending whole
// families of processes. Knows nothing of ranks. One thread of the process uses this file; processes are
// started before other threads are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

inline constexpr int keep_stream = -1;
inline constexpr int any_cpu = -1;

// What a child is to become.
struct ChildPlan {
    std::string path;                      // of the program; no search
    std::vector<std::string> arguments;    // with the program's name first
    std::vector<std::string> environment;  // all of it, "NAME=VALUE"
    int input = keep_stream;               // descriptors to become 0, 1 and 2; still the caller's
    int output = keep_stream;
    int error = keep_stream;
    std::vector<int> inherited;         // pass exec under their own numbers
    int failures = -1;                  // end of a pipe to which ExecFailure is written; -1 = none
    std::uint32_t number = 0;           // named in ExecFailure
    int nth_cpu = any_cpu;              // index into the usable CPUs, taken modulo their count
    std::uint64_t descriptors_max = 0;  // soft RLIMIT_NOFILE of the child; 0 = as the caller's
    std::optional<std::uint64_t>
        core_bytes;                 // soft RLIMIT_CORE of the child; none = as the caller's
    bool leads_group = false;       // becomes the leader of a process group of its own
    bool dies_with_parent = false;  // the kernel kills it when the calling thread ends
    bool hears_signals = true;      // no signal is blocked; else as in the caller
};

// Written when the child could not become the program; it ends right after.
struct ExecFailure {
    std::uint32_t number;
    std::int32_t error;  // errno
};

// Starts a child and returns its process id. That the program could not be run is told through
// plan.failures, and by exit code 127 (no such file) or 126.
// Errors: limit (the message names what bounds the number of processes), memory, system.
Result<int> start_child(const ChildPlan& plan);

// How a process ended, as waitpid tells it.
class WaitStatus {
public:
    explicit WaitStatus(std::uint32_t raw) noexcept : raw_(raw) {}

    [[nodiscard]] std::uint32_t raw() const noexcept { return raw_; }

    [[nodiscard]] bool is_exit() const noexcept { return (raw_ & 0x7fU) == 0; }

    // Only when is_exit().
    [[nodiscard]] int exit_code() const noexcept { return static_cast<int>(raw_ >> 8U & 0xffU); }

    // Only when not is_exit().
    [[nodiscard]] int signal() const noexcept { return static_cast<int>(raw_ & 0x7fU); }

    [[nodiscard]] bool dumped_core() const noexcept { return (raw_ & 0x80U) != 0; }

    // As a shell tells it: the exit code, or 128 + signal.
    [[nodiscard]] int shell_code() const noexcept {
        return is_exit() ? exit_code() : 128 + signal();
    }

private:
    std::uint32_t raw_;
};

struct EndedChild {
    int pid;
    WaitStatus status;
};

// A child that has ended and is not yet reaped; it stays so, and its number stays its own.
//   pid  of one child, or 0 for any
// nullopt when there is none. Does not block.
std::optional<EndedChild> ended_child(int pid = 0) noexcept;

// Waits for the end of a child, which is not yet reaped afterwards. Blocks.
//   pid  of a child
WaitStatus wait_for_end(int pid) noexcept;

// Lets an ended child go; its number may be used again afterwards.
void reap(int pid) noexcept;

[[nodiscard]] bool has_children() noexcept;

// From now on orphans among this process's descendants become its children, and no child is reaped but by
// reap(). Errors: system.
Status adopt_orphans();

// Goes on in a child of this process and leaves a keeper behind: the process itself, under another name, without
// descriptors and deaf to what is blocked here. When the child ends, however it does, the keeper ends all that is
// left of its family and then ends as the child did; when the keeper ends, the child is killed; when whoever started
// this process has ended, the child has five seconds to end too. So nobody is left even if the child is killed, or
// stopped, together with whoever started it. Returns in the child only.
//   name  of the keeper, for ps; cut to 15 characters. The caller blocks all signals and has no other thread.
// Errors: limit, system; then there is no keeper and nothing has changed.
Status leave_keeper_behind(const char* name);

// Sends a signal to the process, and to its whole group when it leads one.
void send_signal(int pid, int signal) noexcept;

// Sends SIGKILL, or another signal, to every child; grandchildren become children as these end.
// Returns how many children there are that may be signalled.
std::size_t signal_children(int signal);

// Ends and reaps all children, and their children, until none is left or the time is over. The caller
// blocks SIGCHLD.
//   deadline_ns  by now_ns(); a process in an uninterruptible call outlives everything
// Returns whether none is left.
bool end_all_children(std::uint64_t deadline_ns);

}  // namespace acp::os
