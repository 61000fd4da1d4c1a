// SPDX-License-Identifier: BSD-3-Clause
// Child processes: starts a program, notices its end while its process id stays reserved, and ends
// whole families of processes. Knows nothing of ranks. One thread of the process uses this file; it
// starts children before it starts other threads.
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

// The program that a child runs, and its settings.
struct ChildPlan {
    std::string path;                      // path of the program; it is not searched for
    std::vector<std::string> arguments;    // argv: the program's name first
    std::vector<std::string> environment;  // all of it, "NAME=VALUE"
    // descriptors that become 0, 1 and 2; the caller keeps them
    int input = keep_stream;
    int output = keep_stream;
    int error = keep_stream;
    // descriptors that stay open across exec, under their own numbers
    std::vector<int> inherited;
    // write end of a pipe that receives an ExecFailure; -1 = none
    int failures = -1;
    std::uint32_t number = 0;           // named in ExecFailure
    int nth_cpu = any_cpu;              // index into the usable CPUs, taken modulo their count
    std::uint64_t descriptors_max = 0;  // soft RLIMIT_NOFILE of the child; 0 = as the caller's
    // soft RLIMIT_CORE of the child; none = as the caller's
    std::optional<std::uint64_t> core_bytes;
    bool leads_group = false;       // becomes the leader of a new process group
    bool dies_with_parent = false;  // the kernel kills it when the calling thread ends
    // true: no signal is blocked in the child; false: the caller's mask is kept
    bool hears_signals = true;
};

// Written when the child could not run the program; the child ends right afterwards.
struct ExecFailure {
    std::uint32_t number;
    std::int32_t error;  // errno
};

// The failure of a fork(): errors limit (the message names what bounds the number of processes),
// memory, system.
//   error  its errno
//   name   of what was to be started
[[nodiscard]] Status fork_failure(int error, const std::string& name);

// Starts a child and returns its process id. If the program could not be run, an ExecFailure is
// written to plan.failures, and the child exits with code 127 (no such file) or 126.
// Errors: limit (the message names what bounds the number of processes), memory, system.
Result<int> start_child(const ChildPlan& plan);

// How a process ended, as waitpid reports it.
class WaitStatus {
public:
    explicit WaitStatus(std::uint32_t raw) noexcept : raw_(raw) {}

    [[nodiscard]] std::uint32_t raw() const noexcept { return raw_; }

    [[nodiscard]] bool is_exit() const noexcept { return (raw_ & 0x7fU) == 0; }

    // Valid only when is_exit().
    [[nodiscard]] int exit_code() const noexcept { return static_cast<int>(raw_ >> 8U & 0xffU); }

    // Valid only when not is_exit().
    [[nodiscard]] int signal() const noexcept { return static_cast<int>(raw_ & 0x7fU); }

    [[nodiscard]] bool dumped_core() const noexcept { return (raw_ & 0x80U) != 0; }

    // The code that a shell reports: the exit code, or 128 + signal.
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

// Finds a child that has ended and is not yet reaped. The child stays so, and its process id stays
// reserved.
//   pid  a child, or 0 for any child
// nullopt when there is none. Does not block.
std::optional<EndedChild> ended_child(int pid = 0) noexcept;

// Waits for the end of a child, which is not reaped. Blocks.
//   pid  of a child
WaitStatus wait_for_end(int pid) noexcept;

// Reaps an ended child; its process id may be used again afterwards.
void reap(int pid) noexcept;

[[nodiscard]] bool has_children() noexcept;

// For how long a process that was killed may wait for a CPU before it is taken for one that does
// not die.
inline constexpr std::uint64_t starved_ns = 120'000'000'000;

// Makes orphans among this process's descendants its children from now on, so that only reap()
// reaps them. Errors: system.
Status adopt_orphans();

// Continues in a child of this process and leaves a keeper (a subreaper) behind: the process
// itself, under another name, without descriptors, and ignoring the signals that are blocked here.
// When the child ends, in whatever way, the keeper ends all remaining descendants and then ends as
// the child did. When the keeper ends, the kernel kills the child. When the process that started
// this one has ended, the child has five seconds to end too. So no process is left even if the
// child is killed or stopped together with the process that started it. Returns in the child only.
//   name  of the keeper, for ps; cut to 15 characters. The caller must have blocked all signals and
//         have no other thread.
// Errors: those of fork_failure(); then there is no keeper and nothing has changed.
Status leave_keeper_behind(const char* name);

// Sends a signal to the process, and to its whole group when it leads one.
void send_signal(int pid, int signal) noexcept;

// Sends a signal to every child; grandchildren become children as their parents end. Returns the
// number of children that may be signalled.
std::size_t signal_children(int signal);

// Whether a child waits in a system call that no signal interrupts. If none does, killed children
// only wait for a CPU: if a thousand processes end at once, this takes longer than a deadline that
// suits a few.
[[nodiscard]] bool is_any_child_uninterruptible();

// Kills and reaps all children, and their children, until none is left or the deadline has passed.
// The caller must have blocked SIGCHLD.
//   deadline_ns  by now_ns(); needed because a process in an uninterruptible system call survives
//                every signal. While there is no such process the deadline is put off, by
//                starved_ns at most.
// Returns whether none is left.
bool end_all_children(std::uint64_t deadline_ns);

}  // namespace acp::os
