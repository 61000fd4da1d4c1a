// SPDX-License-Identifier: BSD-3-Clause
// Starts ssh, waits for the greeting, and carries the streams.
#include "reach.hpp"

#include <algorithm>
#include <array>
#include <csignal>

#include "base/parse.hpp"
#include "base/status.hpp"
#include "os/child.hpp"
#include "os/clock.hpp"
#include "os/pipe.hpp"
#include "os/poll_set.hpp"
#include "os/process.hpp"
#include "os/signal_fd.hpp"
#include "os/standard_streams.hpp"
#include "os/terminal.hpp"
#include "os/thread.hpp"

#include "launch/exit_codes.hpp"
#include "launch/relay.hpp"
#include "stdin_pump.hpp"

namespace acp::agent {

using base::Result;
using base::Status;
using launch::Relay;
using launch::RelayStream;

namespace {

// most bytes that a login may print before the greeting
constexpr std::size_t noise_bytes_max = 65536;
// most bytes of it that are shown to the user
constexpr std::size_t said_bytes_max = 1000;
constexpr std::uint64_t farewell_ns = 10'000'000'000;  // after acprun has closed its end
constexpr std::uint64_t token_output = 0;
constexpr std::uint64_t token_error = 1;
constexpr std::uint64_t token_channel = 2;
constexpr std::uint64_t token_signal = 3;
// The line that an agent sends to acprun when it gets SIGTERM.
constexpr std::string_view asked = "asked";

// A running ssh, with pipes to it.
struct Ssh {
    int pid = 0;
    os::FileDescriptor input;
    os::FileDescriptor output;
    os::FileDescriptor error;
};

// Quotes a text as one word for any shell.
std::string quoted(const std::string& text) {
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

// The command with the host in the place of "%h", else behind it.
std::vector<std::string> words_for(const Reach& wanted) {
    constexpr std::string_view place = "%h";
    std::vector<std::string> words = wanted.ssh;
    bool is_placed = false;
    for (std::string& word : words) {
        const std::size_t at = word.find(place);
        if (at == std::string::npos) continue;
        word.replace(at, place.size(), wanted.host);
        is_placed = true;
    }
    if (!is_placed) words.push_back(wanted.host);
    return words;
}

Result<Ssh> start_ssh(const Reach& wanted) {
    auto input = os::make_pipe();
    auto output = os::make_pipe();
    auto error = os::make_pipe();
    for (auto* pipe : {&input, &output, &error}) {
        if (!pipe->is_ok()) return std::move(*pipe).failure();
    }
    os::ChildPlan child;
    child.path = wanted.ssh.front();
    child.arguments = words_for(wanted);
    child.arguments.push_back("exec " + quoted(wanted.agent) + " --relay");
    child.environment = os::environment();
    child.input = input.value().reading.get();
    child.output = output.value().writing.get();
    child.error = error.value().writing.get();
    child.dies_with_parent = true;
    child.hears_signals = false;  // signals of a terminal are not for ssh
    auto started = os::start_child(child);
    if (!started.is_ok()) return std::move(started).failure().within("starting " + child.path);
    return Ssh{started.value(), std::move(input.value().writing), std::move(output.value().reading),
               std::move(error.value().reading)};
}

// The end of what was printed, on one line; "" for none.
std::string last_words(const std::string& text) {
    std::string words;
    for (const char c : text) {
        const bool is_blank = static_cast<unsigned char>(c) <= ' ';
        if (!is_blank) words += c;
        if (is_blank && !words.empty() && words.back() != ' ') words += ' ';
    }
    while (!words.empty() && words.back() == ' ') words.pop_back();
    if (words.size() > said_bytes_max) words = "..." + words.substr(words.size() - said_bytes_max);
    return words;
}

// Waits for the other machine's answer.
class Greeting {
public:
    //   signals  receives SIGTERM
    Greeting(const Reach& wanted, Ssh& ssh, int channel, os::SignalFd& signals)
        : wanted_(wanted), ssh_(ssh), channel_(channel), signals_(signals) {}

    // Returns ok when the relay has answered; the next byte then belongs to it. Errors: timeout,
    // peer (ssh has ended, or acprun has closed its end), system.
    Status await() {
        auto poll = os::PollSet::create();
        if (!poll.is_ok()) return std::move(poll).failure();
        for (const auto& [fd, token] :
             {std::pair{ssh_.output.get(), token_output}, std::pair{ssh_.error.get(), token_error},
              std::pair{channel_, token_channel}, std::pair{signals_.fd(), token_signal}}) {
            if (auto status = poll.value().add(fd, token); !status.is_ok()) return status;
        }
        const std::uint64_t deadline = os::now_ns() + wanted_.patience_ns;
        std::array<os::PollEvent, 4> events;
        for (std::uint64_t now = os::now_ns(); now < deadline; now = os::now_ns()) {
            const std::size_t count = poll.value().wait(events, deadline - now);
            for (std::size_t i = 0; i < count; ++i) {
                if (events[i].token == token_channel) return {base::Code::peer, ""};
                if (events[i].token != token_output) {
                    on_other(events[i].token, poll.value());
                    continue;
                }
                if (!hear_output()) return ended();
                if (is_there_) return {};
            }
        }
        return {base::Code::timeout,
                "did not answer within " + base::seconds_text(wanted_.patience_ns) + " s" + said()};
    }

    [[nodiscard]] std::string said() const {
        const std::string all = last_words(said_.empty() ? noise_ : said_);
        return all.empty() ? "" : "; it said: " + all;
    }

private:
    static bool hear(int fd, std::string& into) {
        std::array<char, 4096> room{};
        const os::ReadResult result = os::read_some(fd, room);
        if (result.outcome != os::ReadOutcome::some) {
            return result.outcome == os::ReadOutcome::would_block;
        }
        into.append(room.data(), result.bytes);
        if (into.size() > noise_bytes_max) into.erase(0, into.size() - noise_bytes_max);
        return true;
    }

    // Reads byte by byte, so that nothing behind the greeting is taken.
    bool hear_output() {
        char byte = 0;
        const os::ReadResult result = os::read_some(ssh_.output.get(), {&byte, 1});
        if (result.outcome != os::ReadOutcome::some) return false;
        noise_ += byte;
        const std::size_t length = launch::relay_greeting.size();
        is_there_ = noise_.size() >= length &&
                    noise_.compare(noise_.size() - length, length, launch::relay_greeting) == 0;
        if (noise_.size() > noise_bytes_max) noise_.erase(0, noise_bytes_max / 2);
        return true;
    }

    // Handles SIGTERM, after which acprun ends the job and this process, and messages of ssh.
    void on_other(std::uint64_t token, os::PollSet& poll) {
        if (token == token_error && !hear(ssh_.error.get(), said_)) poll.remove(ssh_.error.get());
        if (token != token_signal) return;
        while (signals_.take()) {
            static_cast<void>(os::write_all(channel_, std::string(asked) + "\n"));
        }
    }

    Status ended() {
        while (hear(ssh_.error.get(), said_)) {
        }
        const os::WaitStatus status = os::wait_for_end(ssh_.pid);
        const std::string& program = wanted_.ssh.front();
        const std::string name = program.substr(program.rfind('/') + 1);
        return {
            base::Code::peer,
            name +
                (status.is_exit() ? " exited with code " + std::to_string(status.exit_code())
                                  : " was killed by signal " + std::to_string(status.signal())) +
                " before acp-agent answered" + said()};
    }

    const Reach& wanted_;
    Ssh& ssh_;
    int channel_;
    os::SignalFd& signals_;
    std::string said_;   // text on ssh's standard error
    std::string noise_;  // text before the greeting
    bool is_there_ = false;
};

// Only the foreground process group may read a terminal: this thread, which observes that, reads it
// into a pipe.
class Terminal {
public:
    Result<os::FileDescriptor> start() {
        auto pipe = os::make_pipe();
        if (!pipe.is_ok()) return std::move(pipe).failure();
        auto poll = os::PollSet::create();
        if (!poll.is_ok()) return std::move(poll).failure();
        poll_.emplace(std::move(poll).value());
        if (auto status = pump_.start(*poll_, std::move(pipe.value().writing), 0, 1);
            !status.is_ok()) {
            return status;
        }
        auto thread = os::Thread::start("acp-terminal", [this] { run(); });
        if (!thread.is_ok()) return std::move(thread).failure();
        thread.value().forget();  // not joined: the process ends without waiting for it
        return std::move(pipe.value().reading);
    }

private:
    [[noreturn]] void run() noexcept {
        std::array<os::PollEvent, 2> events;
        for (;;) {
            const std::uint64_t now = os::now_ns();
            const std::uint64_t due = pump_.deadline_ns();
            const std::size_t count =
                poll_->wait(events, due == os::poll_forever ? due : due - std::min(due, now));
            for (std::size_t i = 0; i < count; ++i) {
                if (events[i].token == 0) {
                    pump_.on_readable(os::now_ns());
                } else {
                    pump_.on_writable();
                }
            }
            if (os::now_ns() >= pump_.deadline_ns()) pump_.on_time();
        }
    }

    std::optional<os::PollSet> poll_;
    StdinPump pump_;
};

Result<os::FileDescriptor> own_input() {
    static Terminal terminal;  // its thread runs until the process ends
    if (os::is_terminal(os::standard_input)) return terminal.start();
    auto copy = os::duplicate(os::standard_input);
    // Closed here, so that the writer notices when rank 0 reads no more.
    if (copy.is_ok()) static_cast<void>(os::detach_standard_input());
    return copy;
}

Status connect(Relay& relay, os::FileDescriptor channel) {
    auto copy = os::duplicate(channel.get());
    auto input = own_input();
    auto output = os::duplicate(os::standard_output);
    auto error = os::duplicate(os::standard_error);
    for (auto* fd : {&copy, &input, &output, &error}) {
        if (!fd->is_ok()) return std::move(*fd).failure();
    }
    // acprun takes the end of the channel for the end of everything, so the channel must end last:
    // the relay keeps it open.
    auto status = relay.give_to(RelayStream::channel, std::move(copy).value(), true);
    if (status.is_ok()) status = relay.take_from(RelayStream::channel, std::move(channel));
    if (status.is_ok()) status = relay.take_from(RelayStream::input, std::move(input).value());
    if (status.is_ok()) status = relay.give_to(RelayStream::output, std::move(output).value());
    if (status.is_ok()) status = relay.give_to(RelayStream::error, std::move(error).value());
    return status;
}

// Sends an error in the agent's place. A line that the agent had begun is cut off by the newline.
void say_error(int channel, const std::string& text) {
    const std::string code = std::to_string(launch::exit_unavailable);
    static_cast<void>(
        os::write_all(channel, "\nerror " + code + " " + text + "\nended " + code + " 0 0\n"));
}

// Carries as long as acprun is there, and then for a limited time in which the agent can end its
// ranks.
// SIGTERM, which a batch system may send to each process of a job, ends the job by way of acprun.
void carry(Relay& relay, os::SignalFd& signals) {
    std::uint64_t deadline = os::poll_forever;
    while (!relay.has_given_all()) {
        const std::uint64_t now = os::now_ns();
        if (deadline == os::poll_forever && !relay.is_taking(RelayStream::channel)) {
            deadline = now + farewell_ns;
        }
        if (now >= deadline) return;
        relay.poll(deadline == os::poll_forever ? deadline : deadline - now);
        while (signals.take()) relay.insert_line(RelayStream::channel, asked);
    }
}

int end_ssh(int pid) {
    auto process = os::open_process(pid);
    auto poll = os::PollSet::create();
    std::array<os::PollEvent, 1> events;
    const bool is_watched =
        process.is_ok() && poll.is_ok() && poll.value().add(process.value().get(), 0).is_ok();
    if (is_watched) poll.value().wait(events, farewell_ns);
    if (!os::ended_child(pid)) os::send_signal(pid, SIGKILL);
    return os::wait_for_end(pid).shell_code();
}

}  // namespace

int reach(const Reach& wanted, os::FileDescriptor channel) {
    const int talk = channel.get();
    constexpr std::array<int, 1> heard{SIGTERM};
    auto signals = os::SignalFd::create(heard);
    if (!signals.is_ok()) {
        say_error(talk, std::string(signals.failure().message()));
        return launch::exit_unavailable;
    }
    auto ssh = start_ssh(wanted);
    if (!ssh.is_ok()) {
        say_error(talk, std::string(ssh.failure().message()));
        return launch::exit_unavailable;
    }
    Greeting greeting(wanted, ssh.value(), talk, signals.value());
    auto status = greeting.await();
    if (!status.is_ok()) {
        if (!status.message().empty()) say_error(talk, std::string(status.message()));
        os::send_signal(ssh.value().pid, SIGKILL);
        return launch::exit_unavailable;
    }
    auto relay = Relay::create(std::move(ssh.value().output), std::move(ssh.value().input));
    if (relay.is_ok()) status = relay.value().listen_to(std::move(ssh.value().error));
    if (relay.is_ok() && status.is_ok()) status = relay.value().wake_for(signals.value().fd());
    if (relay.is_ok() && status.is_ok()) status = connect(relay.value(), std::move(channel));
    if (!relay.is_ok() || !status.is_ok()) return launch::exit_unavailable;
    static_cast<void>(os::write_all(talk, "reached\n"));
    carry(relay.value(), signals.value());
    const bool was_lost = !relay.value().has_ended(RelayStream::channel);
    const std::string words = last_words(relay.value().words());
    if (was_lost && relay.value().is_taking(RelayStream::channel)) {
        say_error(talk, "the connection was lost" + (words.empty() ? "" : "; it said: " + words));
    }
    relay.value().hang_up();
    return end_ssh(ssh.value().pid);
}

}  // namespace acp::agent
