// SPDX-License-Identifier: BSD-3-Clause
// Passes one output stream, stdout or stderr, of all ranks on to this process's own or to a file for
// each rank, in a thread of its own. When what it writes to takes nothing, the thread blocks and
// reads no more, so the ranks block too, while the main thread still watches deaths. Memory is
// bounded by one incomplete line per rank. Knows nothing of how ranks end. One thread builds, fills and starts the
// object, and calls all functions; the rest runs in the object's thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/event.hpp"
#include "os/file_descriptor.hpp"
#include "os/poll_set.hpp"
#include "os/thread.hpp"

#include "line_gate.hpp"
#include "line_state.hpp"

namespace acp::agent {

// As many bytes of one pipe are passed on at least, if it holds them, before a request to flush is
// carried out. A pipe holds 64 KiB unless its user enlarges it.
inline constexpr std::size_t flush_bytes_max = 1048576;

// When bytes of a stream are passed on.
enum class Passing {
    at_once,
    by_lines,  // when their line is complete, or its writer has left it (LeftLine)
    // likewise, or when nothing followed for a moment: the line may be a question to the user
    by_lines_and_questions
};

// What is put into the output of one stream.
struct Marks {
    std::string tag;  // before each line; "" for none
    // Before a piece of a line longer than line_piece_bytes, if another stream was passed on since
    // the piece before; that one was then ended by a newline.
    std::string rest_of_line;
};

// An unfinished line in a stream, after which its writer writes no rest of that line.
struct LeftLine {
    std::size_t stream = 0;  // the number of the stream, in the order of add()
    std::uint64_t at = 0;    // as many bytes of the stream end with it; 0: there is none
};

class OutputThread {
public:
    //   target  descriptor that is written to; stays the caller's
    //   line    notes the ends of all writes, and outlives the thread; nullptr: no other thread writes
    //           to the target
    // Errors: limit (descriptors used up), system.
    static base::Result<std::unique_ptr<OutputThread>> create(const char* name,
                                                              int target,
                                                              LineState* line);

    // Adds a rank's stream; call it before start().
    //   marks  put before lines and pieces of lines
    base::Status add(os::FileDescriptor stream, Marks marks, Passing passing);

    // Adds a rank's stream whose bytes go to a file as they are; call it before start(). A failure
    // to write one file ends only the writes to that file.
    //   path  the file's name, for messages
    base::Status add_to_file(os::FileDescriptor stream, os::FileDescriptor file, std::string path);

    // Starts the thread; call it after the last process was started. Errors: limit, system.
    base::Status start();

    // Call when all writers have ended: passes on what is still in the pipes, then ends. Does not
    // block.
    void finish() noexcept;

    // Asks the thread to pass on all that the pipes hold now, of each pipe at most flush_bytes_max:
    // whole lines, and this unfinished one. Does not block. Returns the number of the request; 0,
    // without a request, if the thread has no LineState: no message is written where it writes.
    // Throws std::bad_alloc.
    std::uint64_t request_flush(const LeftLine& left = {});

    // How many bytes the thread has written to the target, if a stream has left the last line
    // unfinished; else 0. It includes all writes before the last flushed().
    [[nodiscard]] std::uint64_t left_at() const noexcept {
        return left_at_.load(std::memory_order_relaxed);  // ordered by flushed()
    }

    // The number of the last request_flush() that has been carried out; the largest number once
    // is_done().
    [[nodiscard]] std::uint64_t flushed() const noexcept {
        // acquire: partner is the thread's store after its writes
        return is_done() ? ~0ULL : flushed_.load(std::memory_order_acquire);
    }

    // Readable when is_done(), flushed(), failure() or the LineState has changed.
    [[nodiscard]] int news_fd() const noexcept { return news_.fd(); }

    void take_news() noexcept { news_.drain(); }

    // Whether all streams have been passed on to their ends.
    [[nodiscard]] bool is_done() const noexcept {
        // acquire: partner is the thread's last store
        return is_done_.load(std::memory_order_acquire);
    }

    // errno of the first write that failed: EPIPE when the reader has closed its end; ENOMEM when
    // memory for the output ran out; 0 = none. After a failure output for `target` is dropped.
    [[nodiscard]] int failure() const noexcept {
        return failure_.load(std::memory_order_acquire);  // acquire: partner is fail()
    }

    // The path of the file whose write failed, "" for `target`. Call it when failure() is not 0.
    [[nodiscard]] std::string failed_file() const {
        return failed_stream_ == nullptr ? std::string() : failed_stream_->path;
    }

    // Forgets the thread, blocked or not; the process is about to end.
    void abandon() noexcept { thread_.forget(); }

private:
    struct Stream {
        os::FileDescriptor descriptor;
        LineGate gate;
        Passing passing;
        std::string rest_of_line;
        os::FileDescriptor file;     // add_to_file() sets it, a failed write closes it
        std::string path;            // likewise; "" for a stream that goes to target_
        bool has_left_line = false;  // it ends with an unfinished line: LineState::leave()
        std::uint64_t read_bytes = 0;
        std::uint64_t left_at = 0;  // see LeftLine
    };

    OutputThread(const char* name,
                 int target,
                 LineState* line,
                 os::PollSet poll,
                 os::Event wake,
                 os::Event news)
        : name_(name),
          target_(target),
          line_(line),
          poll_(std::move(poll)),
          wake_(std::move(wake)),
          news_(std::move(news)) {}

    void run() noexcept;
    void carry_all();            // this and the functions up to separate() throw std::bad_alloc
    bool carry(Stream& stream);  // false when nothing more can be read now
    template <typename Take>
    void pass_on(Stream& stream, const Take& take, bool is_leaving = false);
    void end(Stream& stream);
    void flush();
    void release_left(Stream& stream);
    void release_questions();
    [[nodiscard]] bool has_question() const noexcept;
    void write_out(Stream& stream, bool is_leaving);
    void separate(const Stream& stream);
    void note_line(LineState::Known known) noexcept;

    [[nodiscard]] LineState& line() noexcept { return line_ != nullptr ? *line_ : own_line_; }

    void write_to_file(Stream& stream, std::string_view bytes) noexcept;
    void fail(int error, const Stream* of_file) noexcept;

    const char* name_;
    int target_;
    LineState* line_;
    LineState own_line_;  // used without line_
    os::PollSet poll_;
    os::Event wake_;  // signalled after finish() and request_flush()
    os::Event news_;
    std::vector<Stream> streams_;
    std::size_t open_streams_ = 0;
    std::unique_ptr<char[]> room_;
    std::string out_;
    const Stream* last_ = nullptr;  // whose bytes were written last
    std::atomic<bool> is_finish_wanted_{false};
    std::atomic<std::uint64_t> flush_wanted_{0};  // the number of the last request_flush()
    std::atomic<std::uint64_t> flushed_{0};
    std::atomic<std::uint64_t> left_at_{0};
    std::uint64_t written_bytes_ = 0;  // to target_
    std::mutex left_mutex_;
    std::vector<LeftLine> left_lines_;  // those that flush() has not taken; guarded by left_mutex_
    std::atomic<bool> is_done_{false};
    const Stream* failed_stream_ = nullptr;  // whose file failed; written before failure_
    std::atomic<int> failure_{0};
    os::Thread thread_;
};

// Of stdout and stderr; null before they are made, and where none are needed.
using OutputThreads = std::array<std::unique_ptr<OutputThread>, 2>;

struct OutputFailure {
    std::string text;  // the message; "" when the reader has closed its end, as with other tools
    int code;          // the job's exit code
};

// The failure that ends the job; nullopt for none.
[[nodiscard]] std::optional<OutputFailure> find_output_failure(const OutputThreads& threads);

}  // namespace acp::agent
