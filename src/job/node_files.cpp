// SPDX-License-Identifier: BSD-3-Clause
// A request is one message, the token; the answer is one message, `granted` with the files or the
// reason of a refusal.
#include "job/node_files.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "os/local_socket.hpp"
#include "os/random_bytes.hpp"

namespace acp::job {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::string_view granted = "granted";
constexpr std::string_view prefix = "acp-";
constexpr std::size_t name_bytes = 8;
constexpr std::size_t token_bytes = 16;

template <std::size_t count>
std::string random_hex() {
    constexpr const char* digits = "0123456789abcdef";
    std::array<std::byte, count> bytes{};
    os::fill_random(bytes);
    std::string text;
    for (const std::byte byte : bytes) {
        text += digits[std::to_integer<unsigned>(byte) >> 4U];
        text += digits[std::to_integer<unsigned>(byte) & 0xfU];
    }
    return text;
}

bool is_hex(std::string_view text, std::size_t bytes) {
    return text.size() == 2 * bytes &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Takes as long wherever the two differ.
bool is_same(std::string_view given, std::string_view token) {
    if (given.size() != token.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
        difference |= static_cast<unsigned char>(given[i] ^ token[i]);
    }
    return difference == 0;
}

}  // namespace

NodeSocket NodeSocket::invent() {
    return {std::string(prefix) + random_hex<name_bytes>(), random_hex<token_bytes>()};
}

Result<NodeSocket> NodeSocket::from(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const std::string_view token =
        colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    if (name.substr(0, prefix.size()) != prefix ||
        !is_hex(name.substr(prefix.size()), name_bytes) || !is_hex(token, token_bytes)) {
        return Status(Code::argument, "not the name of a socket and a token");
    }
    return NodeSocket{std::string(name), std::string(token)};
}

Result<std::vector<os::FileDescriptor>> ask_for_node_files(const NodeSocket& socket) {
    constexpr std::uint64_t patience_ns = 10'000'000'000;
    auto connection = os::connect_locally(socket.name, patience_ns);
    if (!connection.is_ok()) return std::move(connection).failure();
    const int fd = connection.value().get();
    if (!os::is_own_user(fd)) {
        return Status(Code::peer, "a process of another user answers in its place");
    }
    (void)os::send_locally(fd, socket.token);  // a refusal for the user may have come before
    auto answer = os::receive_locally(fd);
    if (!answer.is_ok()) return std::move(answer).failure();
    if (answer.value().text.empty()) return Status(Code::peer, "it ended before it answered");
    if (answer.value().text != granted) return Status(Code::state, answer.value().text);
    return std::move(answer.value().files);
}

bool answer_request(int connection, const NodeSocket& own, std::span<const int> files) {
    if (!os::is_own_user(connection)) {
        os::send_locally(connection, "this process runs as another user than the job");
        return true;
    }
    const auto request = os::receive_locally(connection);
    if (!request.is_ok()) return request.failure().code() != Code::state;
    if (is_same(request.value().text, own.token)) {
        os::send_locally(connection, granted, files);
    } else {
        os::send_locally(connection, "the token in ACP_NODE_SOCKET is not the job's");
    }
    return true;
}

}  // namespace acp::job
