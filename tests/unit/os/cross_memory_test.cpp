// SPDX-License-Identifier: BSD-3-Clause
// Copies between this process and a child.
#include "os/cross_memory.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "os/file_descriptor.hpp"
#include "os/mapping.hpp"

#include "support/child_process.hpp"

namespace acp::os {
namespace {

// Private memory that parent and child have at the same address, with different contents after
// fork.
class CrossMemory : public testing::Test {
protected:
    void SetUp() override {
        auto mapping = Mapping::map_anonymous(4 * page_bytes());
        ASSERT_TRUE(mapping.is_ok()) << mapping.failure().message();
        mapping_ = std::move(mapping).value();
        std::memset(data(), 'p', bytes());
    }

    [[nodiscard]] char* data() { return mapping_.data(); }

    [[nodiscard]] std::uint64_t bytes() { return mapping_.bytes(); }

    // A child that has filled its copy with 'c' and then waits to be killed.
    [[nodiscard]] std::unique_ptr<test::ChildProcess> child_with_own_memory() {
        int ready[2];
        EXPECT_EQ(pipe(ready), 0);
        auto child = std::make_unique<test::ChildProcess>([this, &ready]() -> int {
            std::memset(data(), 'c', bytes());
            munmap(data() + 3 * page_bytes(), page_bytes());
            const ssize_t written = write(ready[1], "r", 1);
            if (written != 1) return 1;
            for (;;) pause();
        });
        char byte = 0;
        EXPECT_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        return child;
    }

    // Whether this machine lets a parent into its child at all.
    [[nodiscard]] bool is_allowed(int pid) {
        char byte = 0;
        const Piece here{&byte, 1};
        const Piece there{data(), 1};
        const std::int64_t moved = read_process(pid, {&here, 1}, {&there, 1});
        return moved != -EPERM && moved != -ENOSYS;
    }

private:
    Mapping mapping_;
};

TEST_F(CrossMemory, reads_and_writes_a_childs_own_memory) {
    const auto child = child_with_own_memory();
    if (!is_allowed(child->pid())) GTEST_SKIP() << "process_vm_readv is not allowed here";
    std::vector<char> buffer(100, 'w');
    const Piece here{buffer.data(), buffer.size()};
    const Piece there{data() + 7, buffer.size()};
    EXPECT_EQ(write_process(child->pid(), {&here, 1}, {&there, 1}), 100);
    EXPECT_EQ(data()[7], 'p') << "the parent's copy is another one";
    std::vector<char> seen(102, ' ');
    const Piece all{seen.data(), seen.size()};
    const Piece around{data() + 6, seen.size()};
    EXPECT_EQ(read_process(child->pid(), {&all, 1}, {&around, 1}), 102);
    EXPECT_EQ(std::string(seen.begin(), seen.end()), "c" + std::string(100, 'w') + "c");
}

TEST_F(CrossMemory, moves_lists_that_are_cut_differently) {
    const auto child = child_with_own_memory();
    if (!is_allowed(child->pid())) GTEST_SKIP() << "process_vm_readv is not allowed here";
    std::string text = "abcdefgh";
    const std::array<Piece, 2> here{{{text.data(), 3}, {text.data() + 3, 5}}};
    const std::array<Piece, 3> there{{{data() + 20, 1}, {data(), 6}, {data() + 40, 1}}};
    EXPECT_EQ(write_process(child->pid(), here, there), 8);
    std::string seen(8, ' ');
    const Piece back{seen.data(), seen.size()};
    EXPECT_EQ(read_process(child->pid(), {&back, 1}, there), 8);
    EXPECT_EQ(seen, text);
}

TEST_F(CrossMemory, stops_where_the_other_process_has_no_memory) {
    const auto child = child_with_own_memory();
    if (!is_allowed(child->pid())) GTEST_SKIP() << "process_vm_readv is not allowed here";
    std::vector<char> buffer(2 * page_bytes());
    const Piece here{buffer.data(), buffer.size()};
    const Piece there{data() + 2 * page_bytes(), buffer.size()};
    EXPECT_EQ(read_process(child->pid(), {&here, 1}, {&there, 1}),
              static_cast<std::int64_t>(page_bytes()));
    const Piece beyond{data() + 3 * page_bytes(), 8};
    EXPECT_EQ(read_process(child->pid(), {&here, 1}, {&beyond, 1}), -EFAULT);
    EXPECT_EQ(write_process(child->pid(), {&here, 1}, {&beyond, 1}), -EFAULT);
}

TEST_F(CrossMemory, takes_the_maximum_of_pieces_and_not_one_more) {
    const auto child = child_with_own_memory();
    if (!is_allowed(child->pid())) GTEST_SKIP() << "process_vm_readv is not allowed here";
    std::vector<char> buffer(cross_memory_pieces_max + 1, ' ');
    std::vector<Piece> here;
    std::vector<Piece> there;
    for (std::size_t i = 0; i < buffer.size(); ++i) {
        here.push_back({&buffer[i], 1});
        there.push_back({data() + i, 1});
    }
    EXPECT_EQ(read_process(child->pid(), here, there), -EINVAL);
    here.pop_back();
    there.pop_back();
    EXPECT_EQ(read_process(child->pid(), here, there), cross_memory_pieces_max);
    EXPECT_EQ(buffer[cross_memory_pieces_max - 1], 'c');
    EXPECT_EQ(buffer[cross_memory_pieces_max], ' ');
    EXPECT_EQ(read_process(child->pid(), {}, {}), 0);
}

TEST_F(CrossMemory, finds_no_process_that_is_gone) {
    if (!is_allowed(getpid())) GTEST_SKIP() << "process_vm_readv is not allowed here";
    test::ChildProcess child([] { return 0; });
    const int pid = child.pid();
    child.wait();
    char byte = 0;
    const Piece piece{&byte, 1};
    EXPECT_EQ(read_process(pid, {&piece, 1}, {&piece, 1}), -ESRCH);
}

TEST_F(CrossMemory, ordinary_memory_is_readable_by_all_and_secret_memory_by_none) {
    EXPECT_FALSE(is_hidden_from_others(data(), bytes()));
    EXPECT_FALSE(is_hidden_from_others(data(), 0));
    constexpr long call_memfd_secret = 447;
    const FileDescriptor file(static_cast<int>(syscall(call_memfd_secret, 0)));
    if (!file.is_open()) GTEST_SKIP() << "this kernel has no memfd_secret";
    ASSERT_EQ(ftruncate(file.get(), static_cast<off_t>(page_bytes())), 0);
    const auto secret = Mapping::map_shared(file.get(), page_bytes());
    ASSERT_TRUE(secret.is_ok()) << secret.failure().message();
    EXPECT_TRUE(is_hidden_from_others(secret.value().data(), 8));
    EXPECT_TRUE(check_mapped(secret.value().data(), page_bytes()).is_ok())
        << "it can be registered";
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
