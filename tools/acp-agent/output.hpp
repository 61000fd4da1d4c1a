// SPDX-License-Identifier: BSD-3-Clause
// Carries one output stream, stdout or stderr, of all ranks to this process's own, in a thread of its own:
// when nobody takes the output it blocks there, reads no more, and so the ranks block, while deaths are
// still watched. Memory is bounded by one unfinished line per rank. Knows nothing of the ranks' fates.
// Built, filled and started by one thread, which also asks and finishes; the rest runs in the thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "os/event.hpp"
#include "os/file_descriptor.hpp"
#include "os/poll_set.hpp"
#include "os/thread.hpp"

#include "line_gate.hpp"

namespace acp::agent {

// When bytes of a stream are passed on.
enum class Passing {
    at_once,
    by_lines,               // once their line is whole
    by_lines_and_questions  // likewise, or when nothing followed for a moment: a user is being asked
};

class OutputThread {
public:
    //   target  descriptor written to, not owned
    // Errors: limit (descriptors used up), system.
    static base::Result<std::unique_ptr<OutputThread>> create(const char* name, int target);

    // Adds a rank's stream, before start().
    //   tag  before each line; "" for none
    base::Status add(os::FileDescriptor stream, std::string tag, Passing passing);

    // After the last process was started. Errors: limit, system.
    base::Status start();

    // All writers are gone: passes on what is still in the pipes, then ends. Does not block.
    void finish() noexcept;

    // Readable when is_done() or failure() has something new to tell.
    [[nodiscard]] int news_fd() const noexcept { return news_.fd(); }

    void take_news() noexcept { news_.drain(); }

    // All streams have been passed on to their ends.
    [[nodiscard]] bool is_done() const noexcept {
        return is_done_.load(std::memory_order_acquire);  // partner: the thread's last store
    }

    // errno of the write that failed, EPIPE when nobody reads, ENOMEM when there was no memory to carry output; 0 = none.
    // From then on output is dropped.
    [[nodiscard]] int failure() const noexcept {
        return failure_.load(std::memory_order_relaxed);  // the number alone is told
    }

    // Lets the thread go, blocked or not; the process is about to end.
    void abandon() noexcept { thread_.forget(); }

private:
    struct Stream {
        os::FileDescriptor descriptor;
        LineGate gate;
        Passing passing;
    };

    OutputThread(const char* name, int target, os::PollSet poll, os::Event finish, os::Event news)
        : name_(name),
          target_(target),
          poll_(std::move(poll)),
          finish_(std::move(finish)),
          news_(std::move(news)) {}

    void run() noexcept;
    void carry_all();            // these four throw std::bad_alloc
    bool carry(Stream& stream);  // false when there is nothing more to read now
    void end(Stream& stream);
    void release_questions();
    [[nodiscard]] bool has_question() const noexcept;
    void write_out() noexcept;
    void fail(int error) noexcept;

    const char* name_;
    int target_;
    os::PollSet poll_;
    os::Event finish_;
    os::Event news_;
    std::vector<Stream> streams_;
    std::size_t open_streams_ = 0;
    std::unique_ptr<char[]> room_;
    std::string out_;
    std::atomic<bool> is_done_{false};
    std::atomic<int> failure_{0};
    os::Thread thread_;
};

// What a failure() other than EPIPE is told as, and the exit code it gives the job.
struct OutputFailure {
    std::string text;
    int code;
};

[[nodiscard]] OutputFailure describe_output_failure(int error);

}  // namespace acp::agent
