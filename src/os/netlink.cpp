// SPDX-License-Identifier: BSD-3-Clause
// Builds the bytes of routing messages. Attributes and messages are padded to 4 bytes.
#include "os/netlink.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/system_error.hpp"

namespace acp::os {

namespace {

constexpr std::size_t alignment_bytes = 4;

constexpr std::size_t padded(std::size_t bytes) noexcept {
    return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
}

}  // namespace

NetlinkRequest::NetlinkRequest(std::uint16_t type,
                               std::uint16_t flags,
                               std::span<const std::byte> head) {
    nlmsghdr message{};
    message.nlmsg_type = type;
    message.nlmsg_flags = static_cast<std::uint16_t>(flags | NLM_F_REQUEST | NLM_F_ACK);
    append(std::as_bytes(std::span(&message, 1)));
    append(head);
}

void NetlinkRequest::append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    bytes_.resize(padded(bytes_.size()));
}

void NetlinkRequest::add(std::uint16_t attribute, std::span<const std::byte> value) {
    const std::size_t opened = open(attribute);
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    close(opened);
}

void NetlinkRequest::add_text(std::uint16_t attribute, std::string_view text) {
    const std::size_t opened = open(attribute);
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    bytes_.push_back(std::byte{0});
    close(opened);
}

std::size_t NetlinkRequest::open(std::uint16_t attribute) {
    const std::size_t at = bytes_.size();
    rtattr head{};
    head.rta_type = attribute;
    append(std::as_bytes(std::span(&head, 1)));
    return at;
}

void NetlinkRequest::close(std::size_t opened) {
    const auto length = static_cast<std::uint16_t>(bytes_.size() - opened);
    std::memcpy(bytes_.data() + opened + offsetof(rtattr, rta_len), &length, sizeof length);
    bytes_.resize(padded(bytes_.size()));
}

std::span<const std::byte> NetlinkRequest::finish() {
    const auto length = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &length, sizeof length);
    return bytes_;
}

base::Result<NetlinkSocket> NetlinkSocket::open() {
    FileDescriptor descriptor(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!descriptor.is_open()) return system_failure("socket", errno, "netlink");
    return NetlinkSocket(std::move(descriptor));
}

int NetlinkSocket::ask(NetlinkRequest& request) noexcept {
    const auto bytes = request.finish();
    if (send(socket_.get(), bytes.data(), bytes.size(), 0) < 0) return errno;
    // The answer contains the errno and a copy of the request.
    alignas(nlmsghdr) std::array<char, 4096> room{};
    ssize_t got = 0;
    do {
        got = recv(socket_.get(), room.data(), room.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return errno;
    nlmsghdr head{};
    nlmsgerr answer{};
    if (static_cast<std::size_t>(got) < NLMSG_HDRLEN + sizeof answer) return EPROTO;
    std::memcpy(&head, room.data(), sizeof head);
    std::memcpy(&answer, room.data() + NLMSG_HDRLEN, sizeof answer);
    return head.nlmsg_type == NLMSG_ERROR ? -answer.error : EPROTO;
}

}  // namespace acp::os
