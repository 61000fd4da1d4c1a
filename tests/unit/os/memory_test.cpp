// SPDX-License-Identifier: BSD-3-Clause
// Memory files, their pages, and mappings.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <regex>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/limits.hpp"
#include "os/log_line.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"
#include "os/text_file.hpp"

#include "support/child_process.hpp"

namespace acp::os {
namespace {

using base::Code;

FileDescriptor file_of(std::uint64_t bytes) {
    auto file = create_memory_file("unit-test", bytes);
    EXPECT_TRUE(file.is_ok()) << file.failure().message();
    return file.is_ok() ? std::move(file).value() : FileDescriptor();
}

std::uint64_t committed_bytes(const FileDescriptor& file) {
    struct stat status {};

    EXPECT_EQ(fstat(file.get(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

TEST(MemoryFile, is_sparse_sealed_and_closed_on_exec) {
    constexpr std::uint64_t bytes = std::uint64_t{64} << 30;
    const FileDescriptor file = file_of(bytes);
    EXPECT_EQ(committed_bytes(file), 0U);
    EXPECT_EQ(lseek(file.get(), 0, SEEK_END), static_cast<off_t>(bytes));
    EXPECT_NE(fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(ftruncate(file.get(), 4096), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(2 * bytes)), -1);
    EXPECT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE), -1) << "no further seals";
}

TEST(MemoryFile, refuses_a_size_of_nothing_and_of_too_much) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, (std::uint64_t{1} << 62) + 1}) {
        const auto file = create_memory_file("unit-test", bytes);
        ASSERT_FALSE(file.is_ok());
        EXPECT_EQ(file.failure().code(), Code::argument);
    }
}

TEST(MemoryFile, commits_the_pages_it_is_asked_for_and_keeps_their_contents) {
    const std::uint64_t page = page_bytes();
    const FileDescriptor file = file_of(100 * page);
    ASSERT_EQ(pwrite(file.get(), "kept", 4, static_cast<off_t>(10 * page)), 4);
    EXPECT_TRUE(commit(file.get(), 8 * page, 4 * page).is_ok());
    EXPECT_EQ(committed_bytes(file), 4 * page);
    char text[5] = {};
    ASSERT_EQ(pread(file.get(), text, 4, static_cast<off_t>(10 * page)), 4);
    EXPECT_STREQ(text, "kept");
    EXPECT_TRUE(commit(file.get(), 0, 0).is_ok());
    EXPECT_TRUE(commit(file.get(), 99 * page, page).is_ok());
}

TEST(MemoryFile, commits_nothing_behind_its_end) {
    const std::uint64_t page = page_bytes();
    const FileDescriptor file = file_of(10 * page);
    EXPECT_EQ(commit(file.get(), 9 * page, page + 1).code(), Code::argument);
    EXPECT_EQ(commit(file.get(), 11 * page, 1).code(), Code::argument);
    EXPECT_EQ(commit(file.get(), page, UINT64_MAX).code(), Code::argument);
    EXPECT_EQ(committed_bytes(file), 0U);
}

TEST(MemoryFile, reports_a_shortage_with_what_was_asked_for_and_what_there_is) {
    ASSERT_NE(memory_limits().available_bytes(), unlimited);
    constexpr std::uint64_t too_much = std::uint64_t{1} << 50;
    const FileDescriptor file = file_of(2 * too_much);
    const Status status = commit(file.get(), 4096, too_much);
    ASSERT_FALSE(status.is_ok());
    EXPECT_EQ(status.code(), Code::memory);
    EXPECT_NE(status.message().find(std::to_string(too_much) + " bytes"), std::string::npos);
    EXPECT_NE(status.message().find("available"), std::string::npos) << status.message();
    EXPECT_EQ(committed_bytes(file), 0U);
}

// Runs the body in a child that may make files of `bytes` bytes at most; the exit code, 128 + signal when a signal ended it.
template <typename Body>
int run_with_file_size(std::uint64_t bytes, Body body) {
    test::ChildProcess child([&] {
        const rlimit limit{bytes, bytes};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 100;
        return body();
    });
    return child.exit_code();
}

TEST(MemoryFile, beyond_the_size_of_files_is_an_error_that_names_need_and_limit_and_no_signal) {
    EXPECT_EQ(run_with_file_size(4096,
                                 [] {
                                     const auto file = create_memory_file("unit-test", 1 << 20);
                                     if (file.is_ok()) return 1;
                                     if (file.failure().code() != Code::limit) return 2;
                                     const std::string why(file.failure().message());
                                     const bool is_named =
                                         why.find("of 1048576 bytes") != std::string::npos &&
                                         why.find("(RLIMIT_FSIZE, ulimit -f): 4096 bytes") !=
                                             std::string::npos;
                                     return is_named ? 0 : 3;
                                 }),
              0);
}

TEST(MemoryFile, is_not_written_beyond_the_size_of_files_and_no_signal_comes) {
    const FileDescriptor file = file_of(4 * page_bytes());
    EXPECT_EQ(run_with_file_size(page_bytes(),
                                 [&] {
                                     const std::byte one{1};
                                     const Status status =
                                         write_at(file.get(), 2 * page_bytes(), std::span(&one, 1));
                                     return status.code() == Code::limit ? 0 : 1;
                                 }),
              0);
}

TEST(NamedFile, beyond_the_size_of_files_is_an_error_that_names_the_limit_and_no_signal) {
    const std::string path = testing::TempDir() + "acp-named-file-" + std::to_string(getpid());
    EXPECT_EQ(
        run_with_file_size(
            100,
            [&] {
                const Status status = write_whole_file(path, std::string(200, 'x'));
                const std::string why(status.message());
                return why.find("RLIMIT_FSIZE, ulimit -f): 100 bytes") != std::string::npos ? 0 : 1;
            }),
        0);
    unlink(path.c_str());
}

TEST(StandardError, that_may_grow_no_longer_loses_the_library_s_message_and_not_the_process) {
    const std::string path = testing::TempDir() + "acp-standard-error-" + std::to_string(getpid());
    EXPECT_EQ(run_with_file_size(10,
                                 [&] {
                                     if (std::freopen(path.c_str(), "w", stderr) == nullptr)
                                         return 1;
                                     for (int i = 0; i < 3; ++i) print_error("%d ranks wait\n", i);
                                     write_line(2, "a line");
                                     return 0;
                                 }),
              0);
    unlink(path.c_str());
}

// The program's own signal is not taken with that of the library's call.
TEST(MemoryFile, a_signal_of_the_program_that_was_pending_stays_pending) {
    EXPECT_EQ(run_with_file_size(4096,
                                 [] {
                                     sigset_t one;
                                     sigemptyset(&one);
                                     sigaddset(&one, SIGXFSZ);
                                     sigprocmask(SIG_BLOCK, &one, nullptr);
                                     if (create_memory_file("unit-test", 1 << 20).is_ok()) return 1;
                                     sigset_t pending;
                                     sigpending(&pending);
                                     if (sigismember(&pending, SIGXFSZ) != 0) return 2;
                                     raise(SIGXFSZ);
                                     if (create_memory_file("unit-test", 1 << 20).is_ok()) return 3;
                                     sigpending(&pending);
                                     return sigismember(&pending, SIGXFSZ) == 1 ? 0 : 4;
                                 }),
              0);
}

TEST(Mapping, shares_a_file_with_another_process) {
    const FileDescriptor file = file_of(page_bytes());
    auto mapping = Mapping::map_shared(file.get(), page_bytes());
    ASSERT_TRUE(mapping.is_ok()) << mapping.failure().message();
    char* data = mapping.value().data();
    test::ChildProcess child([&] {
        auto own = Mapping::map_shared(file.get(), page_bytes());
        if (!own.is_ok()) return 1;
        std::strcpy(own.value().data(), "from the child");
        return 0;
    });
    EXPECT_EQ(child.exit_code(), 0);
    EXPECT_STREQ(data, "from the child");
}

TEST(Mapping, is_zeroed_and_private_when_anonymous) {
    auto mapping = Mapping::map_anonymous(3 * page_bytes());
    ASSERT_TRUE(mapping.is_ok());
    EXPECT_EQ(mapping.value().bytes(), 3 * page_bytes());
    EXPECT_EQ(std::string(mapping.value().data(), 100), std::string(100, '\0'));
    test::ChildProcess child([&] {
        mapping.value().data()[0] = 'x';
        return 0;
    });
    EXPECT_EQ(child.exit_code(), 0);
    EXPECT_EQ(mapping.value().data()[0], '\0');
}

TEST(Mapping, is_unmapped_with_its_last_owner) {
    char* data = nullptr;
    {
        auto made = Mapping::map_anonymous(page_bytes());
        ASSERT_TRUE(made.is_ok());
        Mapping first = std::move(made).value();
        data = first.data();
        Mapping second = std::move(first);
        EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): the state is defined
        first = std::move(second);
        EXPECT_EQ(first.data(), data);
        EXPECT_TRUE(check_mapped(data, 1).is_ok());
    }
    EXPECT_FALSE(check_mapped(data, 1).is_ok());
}

TEST(Mapping, reports_what_cannot_be_mapped) {
    EXPECT_EQ(Mapping::map_anonymous(0).failure().code(), Code::argument);
    const auto huge = Mapping::map_anonymous(std::uint64_t{1} << 60);
    ASSERT_FALSE(huge.is_ok());
    EXPECT_EQ(huge.failure().code(), Code::memory);
    EXPECT_NE(huge.failure().message().find("RLIMIT_AS"), std::string::npos);
    EXPECT_NE(huge.failure().message().find("RLIMIT_DATA"), std::string::npos);
    const auto closed = Mapping::map_shared(-1, 4096);
    ASSERT_FALSE(closed.is_ok());
    EXPECT_EQ(closed.failure().code(), Code::system);
    const FileDescriptor file = file_of(4096);
    for (const auto& too_long :
         {Mapping::map_shared(file.get(), 4097), Mapping::map_shared_read_only(file.get(), 4097)}) {
        ASSERT_FALSE(too_long.is_ok());
        EXPECT_EQ(too_long.failure().code(), Code::state);
        EXPECT_EQ(too_long.failure().message(), "cannot map 4097 bytes of a file of 4096");
    }
}

TEST(Mapping, names_the_limit_of_address_space_what_is_in_use_and_what_is_needed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers need more address space than any limit leaves";
#endif
    constexpr std::uint64_t allowed = std::uint64_t{1} << 30;
    test::ChildProcess child([] {
        const rlimit limit{allowed, allowed};
        if (setrlimit(RLIMIT_AS, &limit) != 0) return 100;
        const auto mapping = Mapping::map_anonymous(2 * allowed);
        if (mapping.is_ok()) return 1;
        const std::string why(mapping.failure().message());
        const std::regex told(
            "RLIMIT_AS, ulimit -v\\): 1073741824 bytes, of which [1-9][0-9]+ are in "
            "use and 2147483648 more are needed");
        return std::regex_search(why, told) ? 0 : 2;
    });
    EXPECT_EQ(child.exit_code(), 0);
}

TEST(Mapping, replaces_pages_of_a_range_by_private_and_shared_ones) {
    const std::uint64_t page = page_bytes();
    const FileDescriptor file = file_of(4 * page);
    auto mapping = Mapping::map_shared(file.get(), 4 * page);
    ASSERT_TRUE(mapping.is_ok());
    char* data = mapping.value().data();
    std::memset(data, 's', 4 * page);

    ASSERT_TRUE(map_private_over(data + page, 2 * page).is_ok());
    EXPECT_EQ(data[page], '\0');
    EXPECT_EQ(data[page - 1], 's');
    EXPECT_EQ(data[3 * page], 's');
    data[page] = 'p';
    char byte = 0;
    ASSERT_EQ(pread(file.get(), &byte, 1, static_cast<off_t>(page)), 1);
    EXPECT_EQ(byte, 's') << "the file does not see the private page";

    ASSERT_TRUE(map_shared_over(data + page, page, file.get(), 3 * page).is_ok());
    data[page] = 'n';
    EXPECT_EQ(data[3 * page], 'n') << "two views of one page of the file";
    EXPECT_EQ(data[2 * page], '\0');
}

TEST(Mapping, replaces_whole_pages_only) {
    auto mapping = Mapping::map_anonymous(2 * page_bytes());
    ASSERT_TRUE(mapping.is_ok());
    char* data = mapping.value().data();
    std::memset(data, 'x', 2 * page_bytes());
    EXPECT_EQ(map_private_over(data + 1, page_bytes()).code(), Code::argument);
    EXPECT_EQ(map_private_over(data, 100).code(), Code::argument);
    EXPECT_EQ(map_private_over(data, 0).code(), Code::argument);
    EXPECT_EQ(map_shared_over(data, page_bytes(), -1, 0).code(), Code::system);
    EXPECT_EQ(map_shared_over(data, page_bytes(), 0, 8).code(), Code::argument);
    EXPECT_EQ(data[page_bytes()], 'x');
}

TEST(Mapping, takes_a_place_where_nothing_is_mapped_and_no_other) {
    constexpr std::uintptr_t place = 0x2000'0000'0000;
    const std::uint64_t bytes = 4 * page_bytes();
    const FileDescriptor file = file_of(bytes);
    const int fd = file.get();
    auto plain = Mapping::map_shared(fd, bytes);
    ASSERT_TRUE(plain.is_ok()) << plain.failure().message();
    {
        ASSERT_TRUE(check_free(place, bytes).is_ok());
        auto placed = Mapping::map_shared_at(place, bytes - page_bytes(), fd, page_bytes());
        ASSERT_TRUE(placed.is_ok()) << placed.failure().message();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(placed.value().data()), place);
        placed.value().data()[5] = 7;
        EXPECT_EQ(plain.value().data()[page_bytes() + 5], 7);

        EXPECT_EQ(check_free(place, bytes).code(), base::Code::state);
        EXPECT_EQ(check_free(place - bytes, 2 * bytes).code(), base::Code::state);
        auto second = Mapping::map_shared_at(place + page_bytes(), bytes, fd, 0);
        ASSERT_FALSE(second.is_ok());
        EXPECT_EQ(second.failure().code(), base::Code::state);
        EXPECT_EQ(placed.value().data()[5], 7);
    }
    EXPECT_TRUE(check_free(place, bytes).is_ok());
    EXPECT_EQ(check_free(place + 1, bytes).code(), base::Code::argument);
    EXPECT_EQ(check_free(place, std::uint64_t{1} << 60).code(), base::Code::memory);
}

TEST(FileDescriptor, closes_with_its_last_owner_and_once) {
    int raw = -1;
    {
        FileDescriptor first(dup(STDERR_FILENO));
        raw = first.get();
        EXPECT_TRUE(first.is_open());
        FileDescriptor second = std::move(first);
        EXPECT_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move): the state is defined
        EXPECT_NE(fcntl(raw, F_GETFD), -1);
    }
    EXPECT_EQ(fcntl(raw, F_GETFD), -1);
    FileDescriptor given(dup(STDERR_FILENO));
    const int released = given.release();
    given.close();
    EXPECT_EQ(close(released), 0) << "a released descriptor is the caller's to close";
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
