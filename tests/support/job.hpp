// SPDX-License-Identifier: BSD-3-Clause
// Starts jobs under acprun and watches them from outside: their output, their processes, their end,
// and what they leave behind. Every process of a job has a mark in its environment, by which it is
// found even if its parent has changed. Knows nothing of the library. One driver thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

namespace acp::test {

struct JobOptions {
    int ranks = 4;
    std::vector<std::string>
        launcher;  // further options of acprun; "" launcher_path starts without it
    std::vector<std::string> program;      // path and arguments
    std::vector<std::string> environment;  // "NAME=VALUE", added to the driver's own
    bool is_launched = true;          // false: the program is started by itself, a job of one rank
    void (*before_exec)() = nullptr;  // run in the child before exec, for limits; async-signal-safe
};

// How a process ended, in shell terms: the exit code, or 128 + signal.
[[nodiscard]] int shell_code(int wait_status);

class Job {
public:
    explicit Job(const JobOptions& options);
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    // Kills what is left of the job.
    ~Job();

    // The process started: acprun, or the program itself.
    [[nodiscard]] pid_t process() const noexcept { return process_; }

    // Waits until that process ends. Returns its shell code, or nothing when the time ran out.
    std::optional<int> wait_ended(std::int64_t timeout_ns);

    // All living processes with the job's mark, acprun included; zombies are not counted.
    [[nodiscard]] std::vector<pid_t> living();

    // Waits until none is left. Returns the nanoseconds it took, or nothing when the time ran out.
    std::optional<std::int64_t> wait_gone(std::int64_t timeout_ns);

    // What the job wrote to standard output and error so far.
    [[nodiscard]] std::string output() const;

    // Lines "pid name" of the living processes, for messages.
    [[nodiscard]] std::string describe_living();

private:
    void reap();

    std::string mark_;
    int output_file_;
    pid_t process_ = -1;
    std::optional<int> wait_status_;
};

// Runs a job to its end. ended is empty when it was still running after the time; it is killed
// then.
struct JobResult {
    std::optional<int> code;
    std::string output;
};

JobResult run_job(const JobOptions& options, std::int64_t timeout_ns = 60'000'000'000);

// The process id of a process's parent, as the kernel states it.
[[nodiscard]] pid_t parent_of(pid_t process);
// The scheduling state that the kernel states for a process, as one character: 'S' sleeping,
// 'T' stopped, 'Z' ended and not awaited; '?' where no such process exists.
[[nodiscard]] char state_of(pid_t process);

// Waits until the process is in one of the states, under the caller's watchdog.
void await_state(pid_t process, const std::string& states);

// Names that outlive processes on this machine: /dev/shm, System V shared memory, and entries of
// /tmp whose name contains "acp". Abstract sockets end with the processes that hold them, and
// wait_gone() finds these.
[[nodiscard]] std::set<std::string> lasting_names();

// Those of lasting_names() that were not there before; waits a while for what is still being
// removed.
[[nodiscard]] std::set<std::string> new_lasting_names(const std::set<std::string>& before);

// Orphans of the jobs become children of this process, which reaps them.
void adopt_orphans();

}  // namespace acp::test
