// SPDX-License-Identifier: BSD-3-Clause
// What this program asks the operating system for beyond what the library's os layer offers:
// starting processes, their memory and CPU time, huge pages, the terminal. The only header behind
// which system headers are used. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "os/socket_address.hpp"

namespace acp::bench {

// A started process whose standard input and output are pipes held here. Ends when the object does:
// input closed, then waited for.
class Child {
public:
    // Starts argv[0] (a path) with the environment plus `variables` ("NAME=VALUE", replacing).
    // Ends this process when the program cannot be started.
    Child(const std::vector<std::string>& argv, const std::vector<std::string>& variables);
    Child(Child&& other) noexcept;
    Child& operator=(Child&&) = delete;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    [[nodiscard]] int pid() const { return pid_; }

    // The next line of its output without the newline; false at its end. Blocks.
    bool read_line(std::string& line);
    // Ends its standard input.
    void close_input();
    // Waits for its end: its exit code, or 128 + signal. Reads and drops remaining output.
    int wait();

private:
    int pid_ = -1;
    int input_ = -1;
    int output_ = -1;
    std::string pending_;
};

// Ends this process, with what its other parts registered by atexit.
[[noreturn]] void end_process(int code);

// The path of this program.
[[nodiscard]] std::string own_path();
// acprun beside this program, else by PATH.
[[nodiscard]] std::string acprun_path();

// Proportional set size in KiB of a process of this user; 0 when it cannot be read.
[[nodiscard]] double pss_kib(int pid);
// CPU time of all threads of a process so far, in ns; 0 when it is gone.
[[nodiscard]] std::uint64_t cpu_ns(int pid);
// CPU time of this process so far, in ns.
[[nodiscard]] std::uint64_t own_cpu_ns();
[[nodiscard]] int own_process_id();
[[nodiscard]] int parent_of(int pid);

// Asks for huge (or for ordinary) pages in a range of whole 2 MiB units that is not yet touched.
void advise_huge_pages(void* address, std::uint64_t bytes, bool are_huge);
// KiB of huge pages under this process's memory.
[[nodiscard]] double huge_kib();

// Standard error is a terminal, or acprun says (ACP_TERMINAL) that it writes to one.
[[nodiscard]] bool is_terminal();
[[nodiscard]] bool may_colour();

// sendto and recvfrom as they are, not blocking. -1 when nothing has come.
void send_datagram(int fd, const os::SocketAddress& to, std::span<const std::byte> datagram);
[[nodiscard]] std::int64_t receive_datagram(int fd,
                                            std::span<std::byte> datagram,
                                            os::SocketAddress& from);

void sleep_ns(std::uint64_t duration_ns);

}  // namespace acp::bench
