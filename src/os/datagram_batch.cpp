// SPDX-License-Identifier: BSD-3-Clause
// The kernel's message headers for many messages at once, and the evaluation of what it wrote to
// them.
#include "os/datagram_batch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/udp.h>
#include <string>
#include <sys/uio.h>
#include <utility>

#include "os/kernel_address.hpp"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace acp::os {

namespace {

// Most calls that are repeated because the kernel reports the error of an earlier datagram instead
// of a message.
constexpr int pending_errors_max = 8;

// Repeats the call until it receives a message, none has arrived, or pending_errors_max such errors
// were reported. Negative: no message.
template <typename Call>
long receive_past_errors(Call call) noexcept {
    long got = -1;
    for (int tries = 0; tries < pending_errors_max; ++tries) {
        got = call();
        if (got >= 0 || errno == EAGAIN) break;
    }
    return got;
}

}  // namespace

struct DatagramBatch::Headers {
    struct alignas(cmsghdr) Control {
        std::array<char, CMSG_SPACE(sizeof(int))> bytes;
    };

    std::array<mmsghdr, messages_max> messages{};
    std::array<iovec, messages_max> pieces{};
    std::array<KernelAddress, messages_max> sources{};
    std::array<Control, messages_max> controls{};
};

Result<DatagramBatch> DatagramBatch::create(std::uint32_t messages,
                                            std::uint32_t message_bytes,
                                            FirstBytes first_bytes) {
    if (messages == 0 || messages > messages_max || message_bytes == 0 ||
        message_bytes > longest_message) {
        return base::Status(base::Code::argument,
                            "a batch of " + std::to_string(messages) + " messages of " +
                                std::to_string(message_bytes) + " bytes: 1 to " +
                                std::to_string(messages_max) + " of 1 to " +
                                std::to_string(longest_message) + " are possible");
    }
    auto memory = Mapping::map_anonymous(std::uint64_t{messages} * message_bytes);
    if (!memory.is_ok()) return std::move(memory).failure().within("room for received datagrams");
    return DatagramBatch(std::move(memory).value(), messages, message_bytes, first_bytes);
}

DatagramBatch::DatagramBatch(Mapping memory,
                             std::uint32_t messages,
                             std::uint32_t message_bytes,
                             FirstBytes first_bytes)
    : memory_(std::move(memory)),
      message_bytes_(message_bytes),
      first_bytes_(first_bytes),
      headers_(std::make_unique<Headers>()),
      messages_(messages) {
    for (std::uint32_t i = 0; i < messages; ++i) {
        headers_->pieces[i] = {memory_of(i), message_bytes_};
    }
}

DatagramBatch::DatagramBatch(DatagramBatch&& other) noexcept = default;
DatagramBatch& DatagramBatch::operator=(DatagramBatch&& other) noexcept = default;
DatagramBatch::~DatagramBatch() = default;

std::uint32_t DatagramBatch::datagrams() const noexcept {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
        const Message& message = messages_[i];
        count += (message.usable_bytes + message.segment_bytes - 1) / message.segment_bytes;
    }
    return count;
}

void DatagramBatch::receive(int fd, std::uint32_t at_most) noexcept {
    const auto room = std::min(static_cast<std::uint32_t>(messages_.size()), at_most);
    if (room == 1 && first_bytes_ != nullptr && asks_ == 0) {
        receive_one(fd);
    } else {
        receive_many(fd, room);
        asks_ -= std::min(asks_, count_);
    }
}

// Whether all datagrams of message 0, except the last, are as long as the first, and each one's own
// length field agrees.
bool DatagramBatch::adds_up(std::uint32_t bytes, std::uint32_t first) noexcept {
    for (std::uint32_t at = 0; at < bytes; at += first) {
        const std::uint32_t one = std::min(first, bytes - at);
        if (first_bytes_({memory_of(0) + at, bytes - at}) != one) return false;
    }
    return true;
}

void DatagramBatch::receive_one(int fd) noexcept {
    KernelAddress& source = headers_->sources.front();
    socklen_t source_bytes = sizeof source;
    const long got = receive_past_errors([&] {
        return recvfrom(fd, memory_of(0), message_bytes_, MSG_DONTWAIT | MSG_TRUNC, &source.any,
                        &source_bytes);
    });
    count_ = got >= 0 ? 1 : 0;
    if (got < 0) return;
    Message& noted = messages_.front();
    noted.from = from_kernel(source);
    noted.usable_bytes = static_cast<std::uint32_t>(got);
    noted.segment_bytes = 1;
    if (noted.usable_bytes > message_bytes_) {
        noted.usable_bytes = 0;
        ++cut_;
    } else if (got > 0) {
        const std::uint32_t first = first_bytes_({memory_of(0), noted.usable_bytes});
        noted.segment_bytes = first == 0 ? noted.usable_bytes : first;
        if (!adds_up(noted.usable_bytes, noted.segment_bytes)) asks_ = messages_asked_about;
    }
}

void DatagramBatch::receive_many(int fd, std::uint32_t room) noexcept {
    Headers& headers = *headers_;
    for (unsigned i = 0; i < room; ++i) {
        msghdr& header = headers.messages[i].msg_hdr;
        header.msg_name = &headers.sources[i];
        header.msg_namelen = sizeof headers.sources[i];
        header.msg_iov = &headers.pieces[i];
        header.msg_iovlen = 1;
        header.msg_control = headers.controls[i].bytes.data();
        header.msg_controllen = headers.controls[i].bytes.size();
        header.msg_flags = 0;
    }
    const long got = receive_past_errors(
        [&] { return long{recvmmsg(fd, headers.messages.data(), room, MSG_DONTWAIT, nullptr)}; });
    count_ = got > 0 ? static_cast<std::uint32_t>(got) : 0;
    for (std::uint32_t i = 0; i < count_; ++i) note(i);
}

void DatagramBatch::note(std::uint32_t message) noexcept {
    mmsghdr& got = headers_->messages[message];
    Message& noted = messages_[message];
    noted.from = from_kernel(headers_->sources[message]);
    noted.usable_bytes = got.msg_len;
    noted.segment_bytes = got.msg_len > 0 ? got.msg_len : 1;
    for (cmsghdr* control = CMSG_FIRSTHDR(&got.msg_hdr); control != nullptr;
         control = CMSG_NXTHDR(&got.msg_hdr, control)) {
        if (control->cmsg_level != IPPROTO_UDP || control->cmsg_type != UDP_GRO) continue;
        int segment_bytes = 0;
        std::memcpy(&segment_bytes, CMSG_DATA(control), sizeof segment_bytes);
        if (segment_bytes > 0) noted.segment_bytes = static_cast<std::uint32_t>(segment_bytes);
    }
    if ((got.msg_hdr.msg_flags & MSG_TRUNC) != 0) {
        // Whole segments at the beginning of a truncated message are valid; the kernel does not say
        // how many are missing.
        const bool was_joined = noted.segment_bytes < got.msg_len;
        noted.usable_bytes =
            was_joined ? noted.usable_bytes / noted.segment_bytes * noted.segment_bytes : 0;
        ++cut_;
    }
}

}  // namespace acp::os
