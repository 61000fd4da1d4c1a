// SPDX-License-Identifier: BSD-3-Clause
// The section about the paths on one node. Every path is tried with its own means: a sealed memory
// file mapped twice, a token read across processes, a futex, a datagram.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "os/futex.hpp"
#include "os/kernel_features.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"
#include "os/udp_socket.hpp"

#include "kernel_text.hpp"
#include "sections.hpp"

namespace acp::acpinfo {

namespace {

using base::Code;
using base::Status;

constexpr const char* yama_file = "/proc/sys/kernel/yama/ptrace_scope";
constexpr std::int64_t datagram_patience_ns = 1'000'000'000;

// Writes through one mapping of a sealed memory file and reads through another.
Status try_shared_memory() {
    auto file = os::create_memory_file("acp-probe", os::page_bytes());
    if (!file.is_ok()) return std::move(file).failure();
    if (Status status = os::commit(file.value().get(), 0, os::page_bytes()); !status.is_ok())
        return status;
    auto first = os::Mapping::map_shared(file.value().get(), os::page_bytes());
    if (!first.is_ok()) return std::move(first).failure();
    auto second = os::Mapping::map_shared(file.value().get(), os::page_bytes());
    if (!second.is_ok()) return std::move(second).failure();
    constexpr char sent[] = "acp";
    std::memcpy(first.value().data(), sent, sizeof sent);
    if (std::memcmp(second.value().data(), sent, sizeof sent) != 0) {
        return {Code::system, "two mappings of one memory file do not show the same bytes"};
    }
    return {};
}

Status try_futex() {
    std::atomic<std::uint32_t> word{1};
    if (os::futex_wait(word, 0, 0) != os::Wake::changed) {
        return {Code::system, "futex is refused"};
    }
    return {};
}

Status try_datagram() {
    auto sender = os::UdpSocket::open_loopback(0);
    if (!sender.is_ok()) return std::move(sender).failure();
    auto receiver = os::UdpSocket::open_loopback(0);
    if (!receiver.is_ok()) return std::move(receiver).failure();
    constexpr std::array<std::byte, 4> sent{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    std::array<std::byte, 8> received{};
    const bool has_arrived = sender.value().send_to(receiver.value().port(), sent, {}) &&
                             receiver.value().wait_readable(-1, datagram_patience_ns) &&
                             receiver.value().receive(received) == std::ssize(sent);
    if (!has_arrived) {
        return {Code::system,
                "a datagram to 127.0.0.1 does not arrive (is lo up, is there a firewall?)"};
    }
    return {};
}

Fact fact_of(const char* name, const char* purpose, const Status& status) {
    if (status.is_ok()) return {name, std::string("works: ") + purpose, Verdict::good};
    return {name, "does not work: " + std::string(status.message()), Verdict::broken};
}

bool is_in_container() {
    return std::filesystem::exists("/.dockerenv") || std::filesystem::exists("/run/.containerenv");
}

Fact refused_attach(int refusal) {
    Fact fact{"attach",
              "refused: " + std::generic_category().message(refusal) +
                  "; private memory goes by mailbox, with its owner's help",
              Verdict::costly};
    const auto scope = number_in(yama_file);
    if (scope && *scope > 0) {
        fact.text += " (Yama's ptrace_scope is " + std::to_string(*scope) + ")";
        fact.remedies.push_back(*scope == 3
                                    ? "ptrace_scope 3 stays until the machine is started again; "
                                      "then, as root:"
                                    : "As root:");
        fact.remedies.emplace_back("$ sysctl -w kernel.yama.ptrace_scope=0");
    } else if (is_in_container()) {
        fact.remedies.emplace_back("Start the container with the capability:");
        fact.remedies.emplace_back("$ docker run --cap-add=SYS_PTRACE ...");
    } else if (refusal == ENOSYS) {
        fact.remedies.emplace_back("The kernel needs CONFIG_CROSS_MEMORY_ATTACH.");
    } else {
        fact.remedies.emplace_back(
            "A security module or a seccomp filter forbids process_vm_readv.");
    }
    return fact;
}

Fact attach_fact(const base::Config& config) {
    if (config.attach == base::AttachMode::off) {
        return {"attach",
                "switched off by ACP_ATTACH=off; private memory goes by mailbox",
                Verdict::costly,
                {"$ unset ACP_ATTACH"}};
    }
    const os::Refusal refusal = os::probe_attach();
    if (refusal != 0) return refused_attach(refusal);
    return {"attach", "works: one copy to and from private memory without its owner's help",
            Verdict::good};
}

}  // namespace

Section paths_section(const base::Config& config) {
    const Status memory = try_shared_memory();
    Status mailbox =
        memory.is_ok() ? try_futex() : Status(memory.code(), std::string(memory.message()));
    return {
        "paths",
        "Paths on one node",
        {fact_of("direct", "plain loads and stores in shared memory", memory), attach_fact(config),
         fact_of("mailbox", "the owner's service thread copies private memory", mailbox),
         fact_of("udp", "datagrams over loopback, for comparison", try_datagram())}};
}

}  // namespace acp::acpinfo
