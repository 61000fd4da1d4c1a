// SPDX-License-Identifier: BSD-3-Clause
// The links between two ends.
#include "ipc_end.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <memory>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <new>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ipc_loops.hpp"

namespace acp::bench {

namespace {

constexpr int patience_s = 20;

// Repeats open(), a call that returns -1 and sets errno, while the other end has not come.
//   is_not_yet(error)  whether errno says so
template <typename Open, typename IsNotYet>
int open_patiently(const Open& open, const IsNotYet& is_not_yet) {
    const std::uint64_t end = ipc_now_ns() + std::uint64_t{patience_s} * 1'000'000'000;
    for (;;) {
        const int opened = open();
        if (opened >= 0 || !is_not_yet(errno)) return opened;
        if (ipc_now_ns() > end) {
            errno = ETIMEDOUT;
            return -1;
        }
        usleep(1000);
    }
}

// Returns 0, or ETIMEDOUT if nothing can be read.
int wait_to_read(int descriptor) {
    pollfd one{descriptor, POLLIN, 0};
    const int ready = poll(&one, 1, patience_s * 1000);
    return ready > 0 ? 0 : ready == 0 ? ETIMEDOUT : errno;
}

// Blocks SIGPIPE in this thread, because it would end the process.
class NoPipeSignal {
public:
    NoPipeSignal() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &set, &before_);
    }

    NoPipeSignal(const NoPipeSignal&) = delete;
    NoPipeSignal& operator=(const NoPipeSignal&) = delete;

    // A write to an end that has gone leaves the signal pending.
    ~NoPipeSignal() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGPIPE);
        const timespec at_once{};
        while (sigtimedwait(&set, nullptr, &at_once) > 0) {
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t before_{};
};

// Two streams of bytes, one in and one out; one descriptor for both is a socket.
class StreamLink {
public:
    explicit StreamLink(const IpcExchange& exchange)
        : folder_(exchange.folder.data()), is_client_(exchange.is_client != 0) {}

    StreamLink(const StreamLink&) = delete;
    StreamLink& operator=(const StreamLink&) = delete;

    ~StreamLink() {
        if (in_ >= 0) close(in_);
        if (out_ >= 0 && out_ != in_) close(out_);
    }

    // The server opens the pipe to the client first, and the client the one to the server last: so
    // both are open in both ends when the client begins.
    int open_pipes() {
        const std::string to_client = folder_ + "/to_client";
        const std::string to_server = folder_ + "/to_server";
        for (const std::string& path : {to_client, to_server}) {
            if (mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST) return errno;
        }
        const auto open_in = [&](const std::string& path) {
            in_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
            return in_ >= 0;
        };
        const auto open_out = [&](const std::string& path) {
            out_ = open_patiently(
                [&] { return open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC); },
                [](int error) { return error == ENXIO; });
            return out_ >= 0;
        };
        const bool are_open = is_client_ ? open_in(to_client) && open_out(to_server)
                                         : open_out(to_client) && open_in(to_server);
        if (!are_open || fcntl(in_, F_SETFL, 0) != 0 || fcntl(out_, F_SETFL, 0) != 0) return errno;
        return is_client_ ? 0 : wait_to_read(in_);
    }

    int open_local_socket() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = folder_ + "/socket";
        if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
        std::copy(path.begin(), path.end(), address.sun_path);
        const auto* const any = reinterpret_cast<const sockaddr*>(&address);
        return is_client_ ? connect_to(AF_UNIX, any, sizeof address)
                          : accept_at(AF_UNIX, any, sizeof address, [](int) { return 0; });
    }

    // The server writes its port number to a file, which the client reads.
    int open_tcp() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const auto* const any = reinterpret_cast<const sockaddr*>(&address);
        const std::string path = folder_ + "/port";
        const int failed = is_client_ ? read_port(path, address.sin_port)
                                      : accept_at(AF_INET, any, sizeof address, [&](int socket) {
                                            return write_port(path, socket);
                                        });
        if (failed != 0) return failed;
        if (is_client_) {
            if (const int error = connect_to(AF_INET, any, sizeof address); error != 0)
                return error;
        }
        const int yes = 1;
        return setsockopt(in_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0 ? 0 : errno;
    }

    int send(std::uint64_t /*round*/, const char* data, std::uint64_t bytes) {
        while (bytes > 0) {
            const ssize_t written = write(out_, data, bytes);
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) return errno;
            data += written;
            bytes -= static_cast<std::uint64_t>(written);
        }
        return 0;
    }

    int receive(std::uint64_t /*round*/, char* data, std::uint64_t bytes) {
        while (bytes > 0) {
            const ssize_t got = read(in_, data, bytes);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return got == 0 ? EPIPE : errno;
            data += got;
            bytes -= static_cast<std::uint64_t>(got);
        }
        return 0;
    }

private:
    int connect_to(int family, const sockaddr* address, socklen_t length) {
        in_ = out_ = open_patiently(
            [&] {
                const int made = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
                if (made < 0 || connect(made, address, length) == 0) return made;
                const int error = errno;
                close(made);
                errno = error;
                return -1;
            },
            [](int error) { return error == ENOENT || error == ECONNREFUSED; });
        return in_ >= 0 ? 0 : errno;
    }

    //   listens(socket)  is called once the socket listens; returns 0 or an errno value
    template <typename Listens>
    int accept_at(int family, const sockaddr* address, socklen_t length, const Listens& listens) {
        const int made = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (made < 0) return errno;
        int failed = bind(made, address, length) == 0 && listen(made, 1) == 0 ? 0 : errno;
        if (failed == 0) failed = listens(made);
        if (failed == 0) failed = wait_to_read(made);
        if (failed == 0) {
            in_ = out_ = accept4(made, nullptr, nullptr, SOCK_CLOEXEC);
            failed = in_ >= 0 ? 0 : errno;
        }
        close(made);
        return failed;
    }

    static int write_port(const std::string& path, int socket) {
        sockaddr_in address{};
        socklen_t length = sizeof address;
        if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return errno;
        const std::string made = path + ".new";
        std::FILE* const file = std::fopen(made.c_str(), "we");
        if (file == nullptr) return errno;
        std::fprintf(file, "%u\n", static_cast<unsigned>(ntohs(address.sin_port)));
        if (std::fclose(file) != 0) return errno;
        return std::rename(made.c_str(), path.c_str()) == 0 ? 0 : errno;
    }

    static int read_port(const std::string& path, in_port_t& port) {
        const int file = open_patiently([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); },
                                        [](int error) { return error == ENOENT; });
        if (file < 0) return errno;
        char text[16] = {};
        const ssize_t got = read(file, text, sizeof text - 1);
        close(file);
        port = htons(static_cast<std::uint16_t>(std::strtoul(text, nullptr, 10)));
        return got > 0 && port != 0 ? 0 : EBADMSG;
    }

    std::string folder_;
    bool is_client_;
    int in_ = -1;
    int out_ = -1;
};

// Two message queues, each with the lengths that the system gives to one by default: a longer
// message travels as several.
class QueueLink {
public:
    explicit QueueLink(const IpcExchange& exchange) : is_client_(exchange.is_client != 0) {
        const std::string folder = exchange.folder.data();
        for (std::size_t i = 0; i < names_.size(); ++i) {
            names_[i] = "/" + folder.substr(folder.rfind('/') + 1) + (i == 0 ? "-in" : "-out");
        }
    }

    QueueLink(const QueueLink&) = delete;
    QueueLink& operator=(const QueueLink&) = delete;

    ~QueueLink() {
        if (in_ != -1) mq_close(in_);
        if (out_ != -1) mq_close(out_);
        if (!is_client_) return;
        for (const std::string& name : names_) mq_unlink(name.c_str());
    }

    int open_queues() {
        const std::string& own = names_[is_client_ ? 0 : 1];
        const std::string& others = names_[is_client_ ? 1 : 0];
        in_ = mq_open(own.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600, nullptr);
        if (in_ == -1) return errno;
        out_ = mq_open(others.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600, nullptr);
        mq_attr attributes{};
        if (out_ == -1 || mq_getattr(out_, &attributes) != 0) return errno;
        part_bytes_ = static_cast<std::uint64_t>(attributes.mq_msgsize);
        part_.reset(new (std::nothrow) char[part_bytes_]);
        return part_ != nullptr ? 0 : ENOMEM;
    }

    int send(std::uint64_t /*round*/, const char* data, std::uint64_t bytes) {
        const timespec end = deadline();
        while (bytes > 0) {
            const std::uint64_t part = std::min(bytes, part_bytes_);
            const int sent = mq_timedsend(out_, data, part, 0, &end);
            if (sent != 0 && errno == EINTR) continue;
            if (sent != 0) return errno;
            data += part;
            bytes -= part;
        }
        return 0;
    }

    // A queue gives only messages for which there is room for the longest.
    int receive(std::uint64_t /*round*/, char* data, std::uint64_t bytes) {
        const timespec end = deadline();
        while (bytes > 0) {
            char* const to = bytes >= part_bytes_ ? data : part_.get();
            const ssize_t got = mq_timedreceive(in_, to, part_bytes_, nullptr, &end);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return errno;
            const auto part = static_cast<std::uint64_t>(got);
            if (part > bytes) return EBADMSG;
            if (to != data) std::memcpy(data, to, part);
            data += part;
            bytes -= part;
        }
        return 0;
    }

private:
    static timespec deadline() {
        timespec end{};
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += patience_s;
        return end;
    }

    std::array<std::string, 2> names_;  // the client receives from the first queue, the server from
                                        // the second one
    bool is_client_;
    mqd_t in_ = -1;
    mqd_t out_ = -1;
    std::uint64_t part_bytes_ = 0;
    std::unique_ptr<char[]> part_;
};

// The end's words of its board.
class BoardLink {
public:
    explicit BoardLink(IpcBoard& board) : board_(board) {}

    int send(std::uint64_t round, const char* /*data*/, std::uint64_t /*bytes*/) {
        // release: the bytes of the message; partner: the mover
        board_.sent.store(round + 1, std::memory_order_release);
        return 0;
    }

    int receive(std::uint64_t round, char* /*data*/, std::uint64_t /*bytes*/) {
        constexpr std::uint32_t looks_before_yield = 4096;
        const std::uint64_t end = ipc_now_ns() + std::uint64_t{patience_s} * 1'000'000'000;
        // acquire: the bytes of the message; partner: the mover
        for (std::uint32_t looks = 1; board_.arrived.load(std::memory_order_acquire) != round + 1;
             ++looks) {
            if (looks % looks_before_yield != 0) continue;
            sched_yield();
            if (ipc_now_ns() > end) return ETIMEDOUT;
        }
        return 0;
    }

private:
    IpcBoard& board_;
};

template <typename Link, typename Open>
int run_between_buffers(Link& link,
                        const Open& open,
                        const IpcExchange& exchange,
                        std::uint64_t* times_ns) {
    const std::unique_ptr<char[]> in(new (std::nothrow) char[exchange.bytes]);
    const std::unique_ptr<char[]> out(new (std::nothrow) char[exchange.bytes]);
    if (in == nullptr || out == nullptr) return ENOMEM;
    ipc_fill(in.get(), exchange.bytes, 0);  // takes the memory before anything is timed
    const int failed = open();
    if (failed != 0) return failed;
    return run_ipc_end(link, exchange.is_client != 0, exchange.bytes, exchange.rounds,
                       {in.get(), out.get()}, times_ns);
}

}  // namespace

}  // namespace acp::bench

int acpbench_ipc_end(const acp::bench::IpcExchange* exchange,
                     acp::bench::IpcBoard* board,
                     std::uint64_t* times_ns) {
    using namespace acp::bench;
    const NoPipeSignal no_signal;
    switch (exchange->way) {
        case IpcWay::fifo: {
            StreamLink link(*exchange);
            return run_between_buffers(
                link, [&] { return link.open_pipes(); }, *exchange, times_ns);
        }
        case IpcWay::local_socket: {
            StreamLink link(*exchange);
            return run_between_buffers(
                link, [&] { return link.open_local_socket(); }, *exchange, times_ns);
        }
        case IpcWay::tcp: {
            StreamLink link(*exchange);
            return run_between_buffers(
                link, [&] { return link.open_tcp(); }, *exchange, times_ns);
        }
        case IpcWay::queue: {
            QueueLink link(*exchange);
            return run_between_buffers(
                link, [&] { return link.open_queues(); }, *exchange, times_ns);
        }
        case IpcWay::board: {
            BoardLink link(*board);
            auto* const start = reinterpret_cast<char*>(board);
            return run_ipc_end(link, exchange->is_client != 0, exchange->bytes, exchange->rounds,
                               {start + board->in, start + board->out}, times_ns);
        }
    }
    return EINVAL;
}
