// SPDX-License-Identifier: BSD-3-Clause
// A library whose functions make system calls in worker processes. It is linked with no library of
// ACP: acp-worker has the functions.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <acp/device_side.h>

#pragma GCC visibility push(default)

extern "C" {

// The process id of the process that makes the system calls of this thread.
std::int64_t process_of_calls() {
    std::array<char, 64> text{};
    const auto file = static_cast<int>(acp_sys_open("/proc/self/stat", O_RDONLY, 0));
    const std::int64_t count = acp_sys_read(file, text.data(), text.size() - 1);
    acp_sys_close(file);
    return count > 0 ? std::atoll(text.data()) : -1;
}

// The process id of the process that makes the calls of the C library.
std::int64_t process_of_plain_calls() {
    FILE* const file = std::fopen("/proc/self/stat", "r");
    if (file == nullptr) return -1;
    long process = 0;
    const int found = std::fscanf(file, "%ld", &process);
    std::fclose(file);
    return found == 1 ? process : -2;
}

// A thread, a child and a program that a function starts run to their ends. Returns their number.
int count_ended_children() {
    int ended = 0;
    std::thread([&] { ended += getpid() > 0 ? 1 : 0; }).join();
    const pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    if (waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7) ++ended;
    if (std::system("exit 3") == 3 << 8) ++ended;
    return ended;
}

// Writes a file and reads it with the library's own calls. Returns what it has read, or an error.
std::int64_t write_and_read_back(const char* path, std::int64_t value) {
    const auto file = static_cast<int>(acp_sys_open(path, O_RDWR | O_CREAT | O_TRUNC, 0600));
    if (file < 0) return file;
    if (acp_sys_write(file, &value, sizeof value) != sizeof value) return -1;
    std::int64_t back = 0;
    if (pread(file, &back, sizeof back, 0) != sizeof back) return -2;
    acp_sys_close(file);
    return acp_sys_unlink(path) == 0 ? back : -3;
}

// Reads from an empty pipe, for ever.
std::int64_t read_for_ever(std::atomic<std::uint64_t>* begun) {
    std::array<int, 2> ends{};
    if (acp_sys_pipe(ends.data()) != 0) return -1;
    begun->fetch_add(1);
    char byte = 0;
    return acp_sys_read(ends[0], &byte, 1);
}

// Waits of the device process see the children of the program alone. Returns the number of defects.
int count_seen_children() {
    int defects = waitpid(-1, nullptr, WNOHANG) == -1 ? 0 : 1;
    std::array<int, 2> ends{};
    if (acp_sys_pipe(ends.data()) != 0) return 100;
    const pid_t child = fork();
    if (child == 0) _exit(acp_sys_write(ends[1], "c", 1) == 1 ? 7 : 8);
    int status = 0;
    if (waitpid(-1, &status, 0) != child) defects += 10;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) defects += 100;
    char byte = 0;
    if (acp_sys_read(ends[0], &byte, 1) != 1 || byte != 'c') defects += 1000;
    for (const int end : ends) acp_sys_close(end);
    return defects;
}

// An address that cannot be read, within a function that is guarded already.
std::int64_t write_from_nowhere() {
    std::array<int, 2> ends{};
    if (acp_sys_pipe(ends.data()) != 0) return -1;
    const std::int64_t result = acp_sys_write(ends[1], reinterpret_cast<const void*>(16), 8);
    for (const int end : ends) acp_sys_close(end);
    return result;
}

// Ends the process by a fault of the program's, or by another program.
void run_another_program() {
    execl("/bin/sleep", "sleep", "1000", nullptr);
}

}  // extern "C"
