// SPDX-License-Identifier: BSD-3-Clause
// The loop of an output thread.
#include "output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <new>
#include <system_error>

#include "os/limits.hpp"
#include "os/pipe.hpp"

#include "launch/exit_codes.hpp"

namespace acp::agent {

using base::Result;
using base::Status;

namespace {

constexpr std::size_t read_bytes_max = 65536;
// a line incomplete for longer is taken for a question
constexpr std::uint64_t question_ns = 100'000'000;
constexpr std::uint64_t wake_token = ~0ULL;
constexpr std::size_t stream_events_max = 32;

}  // namespace

Result<std::unique_ptr<OutputThread>> OutputThread::create(const char* name,
                                                           int target,
                                                           LineState* line) {
    auto poll = os::PollSet::create();
    if (!poll.is_ok()) return std::move(poll).failure();
    auto wake = os::Event::create();
    if (!wake.is_ok()) return std::move(wake).failure();
    auto news = os::Event::create();
    if (!news.is_ok()) return std::move(news).failure();
    std::unique_ptr<OutputThread> made(new OutputThread(name, target, line, std::move(poll).value(),
                                                        std::move(wake).value(),
                                                        std::move(news).value()));
    if (auto status = made->poll_.add(made->wake_.fd(), wake_token); !status.is_ok()) return status;
    return made;
}

Status OutputThread::add(os::FileDescriptor stream, Marks marks, Passing passing) {
    if (auto status = os::set_nonblocking(stream.get()); !status.is_ok()) return status;
    if (auto status = poll_.add(stream.get(), streams_.size()); !status.is_ok()) return status;
    streams_.push_back({std::move(stream), LineGate(std::move(marks.tag)), passing,
                        std::move(marks.rest_of_line), os::FileDescriptor(), "", false, 0, 0});
    ++open_streams_;
    return {};
}

Status OutputThread::add_to_file(os::FileDescriptor stream,
                                 os::FileDescriptor file,
                                 std::string path) {
    if (auto status = add(std::move(stream), {}, Passing::at_once); !status.is_ok()) return status;
    streams_.back().file = std::move(file);
    streams_.back().path = std::move(path);
    return {};
}

Status OutputThread::start() {
    room_ = std::make_unique<char[]>(read_bytes_max);
    auto thread = os::Thread::start(name_, [this] { run(); });
    if (!thread.is_ok()) return std::move(thread).failure();
    thread_ = std::move(thread).value();
    return {};
}

void OutputThread::finish() noexcept {
    if (thread_.is_joinable()) {
        // relaxed: ordered by the event's system calls
        is_finish_wanted_.store(true, std::memory_order_relaxed);
        wake_.signal();
    } else {
        // relaxed: the thread was never started, so no other thread looks
        is_done_.store(true, std::memory_order_relaxed);
    }
}

std::uint64_t OutputThread::request_flush(const LeftLine& left) {
    if (line_ == nullptr) return 0;
    if (left.at != 0) {
        const std::scoped_lock lock(left_mutex_);
        left_lines_.push_back(left);
    }
    // relaxed: ordered by the event's system calls
    const std::uint64_t number = flush_wanted_.fetch_add(1, std::memory_order_relaxed) + 1;
    wake_.signal();
    return number;
}

// When memory runs out the streams stay open, unread: their writers wait until the job is ended.
void OutputThread::run() noexcept {
    try {
        carry_all();
    } catch (const std::bad_alloc&) {
        fail(ENOMEM, nullptr);
    }
    is_done_.store(true, std::memory_order_release);  // release: partner is is_done()
    news_.signal();
}

void OutputThread::carry_all() {
    std::array<os::PollEvent, stream_events_max> events;
    bool is_finishing = false;
    while (open_streams_ > 0 && !is_finishing) {
        const std::size_t count =
            poll_.wait(events, has_question() ? question_ns : os::poll_forever);
        if (count == 0) release_questions();
        for (std::size_t i = 0; i < count; ++i) {
            if (events[i].token == wake_token) {
                wake_.drain();
                is_finishing = is_finish_wanted_.load(std::memory_order_relaxed);
                flush();
            } else if (Stream& stream = streams_[events[i].token]; stream.descriptor.is_open()) {
                carry(stream);
            }
        }
    }
    for (Stream& stream : streams_) {
        while (stream.descriptor.is_open() && carry(stream)) {
        }
        // a process that is not ours still has the other end open
        if (stream.descriptor.is_open()) end(stream);
    }
}

bool OutputThread::carry(Stream& stream) {
    const os::ReadResult result =
        os::read_some(stream.descriptor.get(), {room_.get(), read_bytes_max});
    if (result.outcome == os::ReadOutcome::would_block) return false;
    if (result.outcome != os::ReadOutcome::some) {
        end(stream);
        return false;
    }
    const std::string_view bytes(room_.get(), result.bytes);
    if (!stream.path.empty()) {
        write_to_file(stream, bytes);
        return true;
    }
    pass_on(stream, [&](std::string& out) {
        if (stream.passing == Passing::at_once) {
            out.append(bytes);
        } else {
            stream.gate.pass(bytes, out);
        }
    });
    stream.read_bytes += result.bytes;
    release_left(stream);
    return true;
}

// Writes what take(out) appends of a stream. If another stream was passed on before, a long line of
// that one is ended by a newline, and the rest of this one's is marked.
//   is_leaving  the stream will not finish its line
template <typename Take>
void OutputThread::pass_on(Stream& stream, const Take& take, bool is_leaving) {
    const bool is_rest = stream.gate.is_in_long_line();
    const bool is_interrupted = last_ != nullptr && last_->gate.is_in_long_line();
    take(out_);
    if (out_.empty()) return;
    if (last_ != &stream) {
        if (is_rest) out_.insert(0, stream.rest_of_line);
        if (is_interrupted) out_.insert(0, 1, '\n');
    }
    last_ = &stream;
    write_out(stream, is_leaving);
}

void OutputThread::flush() {
    const std::uint64_t wanted = flush_wanted_.load(std::memory_order_relaxed);
    if (wanted == flushed_.load(std::memory_order_relaxed)) return;
    for (Stream& stream : streams_) {
        for (std::size_t bytes = 0; bytes < flush_bytes_max; bytes += read_bytes_max) {
            if (!stream.descriptor.is_open() || !carry(stream)) break;
        }
    }
    std::vector<LeftLine> left;
    {
        const std::scoped_lock lock(left_mutex_);
        left.swap(left_lines_);
    }
    for (const LeftLine& one : left) {
        Stream& stream = streams_[one.stream];
        stream.left_at = std::max(stream.left_at, one.at);
        release_left(stream);
    }
    flushed_.store(wanted, std::memory_order_release);  // release: partner is flushed()
    news_.signal();
}

// Passes on an unfinished line only if its writer has left it: it is about to write the rest of any
// other one.
void OutputThread::release_left(Stream& stream) {
    if (stream.left_at == 0 || stream.read_bytes != stream.left_at) return;
    pass_on(
        stream, [&](std::string& out) { stream.gate.release(out); }, true);
}

void OutputThread::end(Stream& stream) {
    pass_on(
        stream, [&](std::string& out) { stream.gate.finish(out); }, true);
    poll_.remove(stream.descriptor.get());
    stream.descriptor.close();
    --open_streams_;
}

bool OutputThread::has_question() const noexcept {
    return std::any_of(streams_.begin(), streams_.end(), [](const Stream& stream) {
        return stream.passing == Passing::by_lines_and_questions && stream.gate.is_holding();
    });
}

void OutputThread::release_questions() {
    for (Stream& stream : streams_) {
        if (stream.passing != Passing::by_lines_and_questions) continue;
        pass_on(stream, [&](std::string& out) { stream.gate.release(out); });
    }
}

void OutputThread::write_out(Stream& stream, bool is_leaving) {
    if (failure() == 0) {
        const std::unique_lock<std::mutex> turn = line().begin_write();
        separate(stream);
        note_line(LineState::Known::begins);
        if (const int error = os::write_all(target_, out_); error != 0) fail(error, nullptr);
        written_bytes_ += out_.size();
        note_line(LineState::Known::was_written);
        if (is_leaving) line().leave(&stream);
        stream.has_left_line = line().left_by() == &stream;
        // relaxed: ordered by flushed_ and is_done_
        left_at_.store(stream.has_left_line ? written_bytes_ : 0, std::memory_order_relaxed);
    }
    out_.clear();
}

// Ends the line that another stream has left, unless the bytes begin with a newline by which their
// writer ends a line that this stream has left and that was ended since; drops that newline where
// no line is open.
void OutputThread::separate(const Stream& stream) {
    const void* const left_by = line().left_by();
    if (left_by == &stream) return;
    const bool begins_with_end = stream.has_left_line && out_.front() == '\n';
    if (left_by != nullptr && !begins_with_end) {
        out_.insert(0, 1, '\n');
    } else if (left_by == nullptr && begins_with_end) {
        out_.erase(0, 1);
    }
}

void OutputThread::note_line(LineState::Known known) noexcept {
    if (line().note(out_, known) && line_ != nullptr) news_.signal();
}

void OutputThread::write_to_file(Stream& stream, std::string_view bytes) noexcept {
    if (!stream.file.is_open()) return;
    if (const int error = os::write_all(stream.file.get(), bytes); error != 0) {
        stream.file.close();
        fail(error, &stream);
    }
}

void OutputThread::fail(int error, const Stream* of_file) noexcept {
    if (failure() != 0) return;
    failed_stream_ = of_file;
    failure_.store(error, std::memory_order_release);  // release: partner is failure()
    news_.signal();
}

std::optional<OutputFailure> find_output_failure(const OutputThreads& threads) {
    for (std::size_t i = 0; i < threads.size(); ++i) {
        const int error = threads[i] == nullptr ? 0 : threads[i]->failure();
        if (error == 0) continue;
        const std::string file = threads[i]->failed_file();
        if (error == ENOMEM && file.empty()) {
            return OutputFailure{std::string("no memory to carry the output of the ranks") +
                                     os::memory_limit_text().data(),
                                 launch::exit_unavailable};
        }
        if (file.empty() && error == EPIPE) {
            return OutputFailure{"", launch::exit_signal_base + SIGPIPE};
        }
        const std::string own = i == 0 ? "standard output" : "standard error";
        return OutputFailure{"cannot write " + (file.empty() ? own : file) + ": " +
                                 std::generic_category().message(error),
                             launch::exit_output};
    }
    return std::nullopt;
}

}  // namespace acp::agent
