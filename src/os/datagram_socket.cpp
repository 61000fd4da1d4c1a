// SPDX-License-Identifier: BSD-3-Clause
// Opens sockets and sends bursts: segmented by the kernel where it can, else as many datagrams in
// one call; in both cases in pieces of what one call takes.
#include "os/datagram_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <sys/uio.h>

#include "base/left_over_error.hpp"
#include "os/kernel_address.hpp"
#include "os/system_error.hpp"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace acp::os {

namespace {

constexpr std::uint32_t segments_max = 64;     // per call, in every kernel that segments
constexpr std::uint32_t payload_max = 65'507;  // per call: 65535 less the headers of IPv4 and UDP
constexpr std::uint32_t datagrams_per_call = 64;
constexpr int send_flags = MSG_DONTWAIT | MSG_NOSIGNAL;

// Repeats a call until it succeeds, or fails with an error of its own datagrams. An ICMP message
// leaves an error in a connected socket, which the kernel reports once, to a call whose datagrams
// it then does not try to send. Returns the call's result, with errno set when negative.
template <typename Call>
long send_past_errors(Call call) noexcept {
    long result = call();
    for (int tries = 1;
         result < 0 && base::may_be_left_over(errno) && tries < base::left_over_tries_max;
         ++tries) {
        result = call();
    }
    return result;
}

std::uint32_t datagrams_in(std::size_t bytes, std::uint32_t segment_bytes) noexcept {
    return static_cast<std::uint32_t>((bytes + segment_bytes - 1) / segment_bytes);
}

// A message to one destination with room for the size of its segments.
struct Outgoing {
    Outgoing(void* name, socklen_t name_bytes, std::span<const std::byte> bytes) noexcept {
        piece = {const_cast<std::byte*>(bytes.data()), bytes.size()};
        header.msg_namelen = name_bytes;
        header.msg_name = name;
        header.msg_iov = &piece;
        header.msg_iovlen = 1;
    }

    Outgoing(const Outgoing&) = delete;
    Outgoing& operator=(const Outgoing&) = delete;
    ~Outgoing() = default;

    void segment(std::uint16_t segment_bytes) noexcept {
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        cmsghdr* message = CMSG_FIRSTHDR(&header);
        message->cmsg_level = IPPROTO_UDP;
        message->cmsg_type = UDP_SEGMENT;
        message->cmsg_len = CMSG_LEN(sizeof segment_bytes);
        std::memcpy(CMSG_DATA(message), &segment_bytes, sizeof segment_bytes);
    }

    iovec piece{};
    msghdr header{};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> control{};
};

bool set_port_sharing(int fd, bool may_share) noexcept {
    const int value = may_share ? 1 : 0;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &value, sizeof value) == 0;
}

}  // namespace

// The destination as it is passed to the kernel: none when the socket is connected.
struct DatagramSocket::Destination {
    Destination(const SocketAddress& to, bool is_connected) noexcept
        : bytes(is_connected ? 0 : to_kernel(to, address)) {}

    [[nodiscard]] void* name() noexcept { return bytes == 0 ? nullptr : &address; }

    KernelAddress address{};
    socklen_t bytes;
};

// Tries the ports in their order. Returns 0, or the errno of the last one.
int bind_first_free(int fd, const DatagramSocket::Options& options) noexcept {
    SocketAddress wanted = options.bind_to;
    for (;; ++wanted.port) {
        KernelAddress kernel{};
        const socklen_t size = to_kernel(wanted, kernel);
        if (bind(fd, &kernel.any, size) == 0) return 0;
        if (errno != EADDRINUSE || wanted.port >= options.last_port) return errno;
    }
}

SendOutcome outcome_of(int error) noexcept {
    switch (error) {
        case EAGAIN:
        case ENOBUFS:
        case ENOMEM:
        case EINTR:
        case ECONNREFUSED:
            return SendOutcome::busy;
        case EMSGSIZE:
            return SendOutcome::too_long;
        case EBADF:
        case ENOTSOCK:
            return SendOutcome::closed;
        default:
            return SendOutcome::unreachable;
    }
}

Result<DatagramSocket> DatagramSocket::open(const Options& options) {
    auto opened = open_spare(options);
    if (!opened.is_ok()) return opened;
    std::string where = "UDP address " + address_text(options.bind_to);
    if (options.last_port > options.bind_to.port)
        where += " to " + std::to_string(options.last_port);
    const int fd = opened.value().fd();
    if (const int error = bind_first_free(fd, options); error != 0) {
        base::Status failure = system_failure("bind", error, where);
        if (error != EADDRINUSE) return failure;
        return base::Status(base::Code::state, std::string(failure.message()));
    }
    KernelAddress kernel{};
    socklen_t size = sizeof kernel;
    if (getsockname(fd, &kernel.any, &size) != 0) {
        return system_failure("getsockname", errno, where);
    }
    opened.value().address_ = from_kernel(kernel);
    return opened;
}

Result<DatagramSocket> DatagramSocket::open_spare(const Options& options) {
    KernelAddress kernel{};
    if (to_kernel(options.bind_to, kernel) == 0) {
        return base::Status(base::Code::argument, "a socket needs an IPv4 or IPv6 address");
    }
    const std::string where = "UDP address " + address_text(options.bind_to);
    FileDescriptor descriptor(
        socket(kernel.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!descriptor.is_open()) return system_failure("socket", errno, where);
    const int on = 1;
    if (options.bind_to.family == 6 &&
        setsockopt(descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) {
        return system_failure("setsockopt(IPV6_V6ONLY)", errno, where);
    }
    SocketAddress none;
    none.family = options.bind_to.family;
    DatagramSocket opened(std::move(descriptor), none);
    opened.use_options(options);
    return opened;
}

bool DatagramSocket::connect_beside(const DatagramSocket& beside,
                                    const SocketAddress& peer) noexcept {
    if (peer.family != address_.family || (address_.port != 0 && address_ != beside.address_)) {
        return false;
    }
    KernelAddress kernel{};
    socklen_t size = to_kernel(beside.address_, kernel);
    if (address_.port == 0) {
        // The port is shared with the other socket for this moment only: no other process shall
        // share it.
        const bool is_bound = set_port_sharing(beside.fd(), true) && set_port_sharing(fd(), true) &&
                              bind(fd(), &kernel.any, size) == 0;
        set_port_sharing(beside.fd(), false);
        if (!is_bound) return false;
        address_ = beside.address_;
    }
    size = to_kernel(peer, kernel);
    if (connect(fd(), &kernel.any, size) != 0) return false;
    peer_ = peer;
    return true;
}

void DatagramSocket::use_options(const Options& options) noexcept {
    const int fd = descriptor_.get();
    receive_bytes_ = grant_receive_buffer(fd, options.receive_bytes);
    if (options.send_bytes != 0) grant_send_buffer(fd, options.send_bytes);
    if (options.may_segment) {
        // each burst sets it; this call only tests whether the kernel knows the option
        const int none = 0;
        const bool is_known = setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &none, sizeof none) == 0;
        segment_bytes_max_ = is_known ? payload_max : 0;
    }
    const int on = 1;
    is_joining_ = options.may_join && setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0;
}

bool DatagramSocket::set_fragmenting(bool may_fragment) noexcept {
    if (may_fragment_ == may_fragment) return true;
    // IP_PMTUDISC_PROBE: never fragment, and ignore what routers report about the path's MTU; the
    // protocol finds it itself.
    const bool is_ipv4 = address_.family == 4;
    const int ipv4_value = may_fragment ? IP_PMTUDISC_DONT : IP_PMTUDISC_PROBE;
    const int ipv6_value = may_fragment ? IPV6_PMTUDISC_DONT : IPV6_PMTUDISC_PROBE;
    const int value = is_ipv4 ? ipv4_value : ipv6_value;
    const int failed =
        setsockopt(descriptor_.get(), is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
                   is_ipv4 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER, &value, sizeof value);
    if (failed == 0) may_fragment_ = may_fragment;
    return failed == 0;
}

Sent DatagramSocket::send_burst(const SocketAddress& to,
                                std::span<const std::byte> burst,
                                std::uint32_t segment_bytes,
                                bool may_fragment) noexcept {
    if (to.family != address_.family || to.port == 0) return {0, SendOutcome::unreachable};
    if (segment_bytes == 0 || segment_bytes > payload_max) return {0, SendOutcome::too_long};
    if (!set_fragmenting(may_fragment)) {
        const bool is_closed = outcome_of(errno) == SendOutcome::closed;
        return {0, is_closed ? SendOutcome::closed : SendOutcome::unreachable};
    }
    Destination destination(to, to == peer_);
    if (burst.size() <= segment_bytes) return send_one(destination, burst);
    Sent sent;
    if (segment_bytes <= segment_bytes_max_) {
        sent = send_segmented(destination, burst, segment_bytes);
        const std::size_t done = std::size_t{sent.datagrams} * segment_bytes;
        if (sent.outcome != SendOutcome::sent || done >= burst.size()) return sent;
        burst = burst.subspan(done);
    }
    const Sent rest = send_singly(destination, burst, segment_bytes);
    return {sent.datagrams + rest.datagrams, rest.outcome};
}

Sent DatagramSocket::send_one(Destination& to, std::span<const std::byte> datagram) noexcept {
    const long result = send_past_errors([&] {
        return sendto(descriptor_.get(), datagram.data(), datagram.size(), send_flags,
                      static_cast<const sockaddr*>(to.name()), to.bytes);
    });
    if (result < 0) return {0, outcome_of(errno)};
    return {1, SendOutcome::sent};
}

// Returns `sent` with a part of the burst left when this kernel or device refuses to segment it.
Sent DatagramSocket::send_segmented(Destination& to,
                                    std::span<const std::byte> burst,
                                    std::uint32_t segment_bytes) noexcept {
    const std::size_t whole = std::min(segments_max, payload_max / segment_bytes);
    Sent sent;
    while (!burst.empty()) {
        const auto piece = burst.first(std::min(burst.size(), whole * segment_bytes));
        Outgoing message(to.name(), to.bytes, piece);
        if (piece.size() > segment_bytes)
            message.segment(static_cast<std::uint16_t>(segment_bytes));
        const long result = send_past_errors(
            [&] { return sendmsg(descriptor_.get(), &message.header, send_flags); });
        if (result < 0) {
            if (errno == EIO) {  // the device cannot compute checksums
                segment_bytes_max_ = 0;
                return sent;
            }
            if (errno == EINVAL || errno == EMSGSIZE) {  // longer than this interface can carry
                segment_bytes_max_ = segment_bytes - 1;
                return sent;
            }
            sent.outcome = outcome_of(errno);
            return sent;
        }
        sent.datagrams += datagrams_in(piece.size(), segment_bytes);
        burst = burst.subspan(piece.size());
    }
    return sent;
}

Sent DatagramSocket::send_singly(Destination& to,
                                 std::span<const std::byte> burst,
                                 std::uint32_t segment_bytes) noexcept {
    std::array<mmsghdr, datagrams_per_call> messages{};
    std::array<iovec, datagrams_per_call> pieces{};
    Sent sent;
    while (!burst.empty()) {
        const std::uint32_t count =
            std::min(datagrams_per_call, datagrams_in(burst.size(), segment_bytes));
        for (std::size_t i = 0; i < count; ++i) {
            const auto piece = burst.subspan(i * segment_bytes);
            pieces[i] = {const_cast<std::byte*>(piece.data()),
                         std::min<std::size_t>(piece.size(), segment_bytes)};
            messages[i].msg_hdr.msg_name = to.name();
            messages[i].msg_hdr.msg_namelen = to.bytes;
            messages[i].msg_hdr.msg_iov = &pieces[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        const long result = send_past_errors([&]() -> long {
            return sendmmsg(descriptor_.get(), messages.data(), count, send_flags);
        });
        if (result <= 0) {
            sent.outcome = outcome_of(errno);
            return sent;
        }
        sent.datagrams += static_cast<std::uint32_t>(result);
        const std::size_t done = static_cast<std::size_t>(result) * segment_bytes;
        burst = burst.subspan(std::min(burst.size(), done));
    }
    return sent;
}

std::uint32_t DatagramSocket::receive_burst(DatagramBatch& batch, std::uint32_t at_most) noexcept {
    batch.receive(descriptor_.get(), at_most);
    return batch.messages();
}

std::optional<ReceiveQueue> DatagramSocket::receive_queue() const noexcept {
    std::array<std::uint32_t, SK_MEMINFO_VARS> values{};
    socklen_t bytes = sizeof values;
    if (getsockopt(descriptor_.get(), SOL_SOCKET, SO_MEMINFO, values.data(), &bytes) != 0 ||
        bytes < (SK_MEMINFO_DROPS + 1) * sizeof values[0]) {
        return std::nullopt;
    }
    return ReceiveQueue{values[SK_MEMINFO_RMEM_ALLOC], values[SK_MEMINFO_DROPS]};
}

std::string receive_buffer_advice(std::uint32_t wished, std::uint32_t granted) {
    // The size was halved for the request; an odd size loses a byte.
    if (granted >= wished - wished % 2) return {};
    return "the kernel granted a receive buffer of " + std::to_string(granted) + " bytes where " +
           std::to_string(wished) +
           " were wished for; bursts will be smaller. To allow it, as root: " +
           "sysctl -w net.core.rmem_max=" + std::to_string(wished / 2);
}

}  // namespace acp::os
