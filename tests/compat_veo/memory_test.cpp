// SPDX-License-Identifier: BSD-3-Clause
// Memory of a process by acp/compat_veo.h: results and failures.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "compat_veo/veo_program.hpp"

// Defined in other_file.c, which includes the same header.
extern "C" int is_block_known_in_another_file(const void* pointer);

namespace acp::test {
namespace {

TEST_F(CompatVeo, writes_and_reads_blocks_and_variables_of_the_process) {
    std::uint64_t address = 0;
    ASSERT_EQ(veo_alloc_mem(process_, &address, 4096), 0);
    std::vector<char> sent(4096, 'x'), back(4096);
    EXPECT_EQ(veo_write_mem(process_, address, sent.data(), sent.size()), 0);
    EXPECT_EQ(veo_read_mem(process_, back.data(), address, back.size()), 0);
    EXPECT_EQ(back, sent);
    EXPECT_EQ(veo_args_set_u64(args_, 0, address), 0);
    EXPECT_EQ(veo_args_set_u64(args_, 1, 4096), 0);
    std::uint64_t sum = 0;
    EXPECT_EQ(run("sum_of_bytes", &sum), VEO_COMMAND_OK);
    EXPECT_EQ(sum, 4096U * 'x');
    EXPECT_EQ(veo_free_mem(process_, address), 0);
    EXPECT_EQ(veo_free_mem(process_, address), -1) << "freed before";

    const std::uint64_t variable = symbol("device_counter");
    std::int64_t value = 0;
    EXPECT_EQ(veo_read_mem(process_, &value, variable, 8), 0);
    EXPECT_EQ(value, 5);
    value = 77;
    EXPECT_EQ(veo_write_mem(process_, variable, &value, 8), 0);
    value = 0;
    EXPECT_EQ(veo_read_mem(process_, &value, variable, 8), 0);
    EXPECT_EQ(value, 77);
    EXPECT_EQ(veo_write_mem(process_, 0, nullptr, 0), -1);
    EXPECT_EQ(veo_read_mem(nullptr, &value, variable, 8), -1);
    EXPECT_EQ(veo_alloc_mem(process_, &address, 0), -1);
    EXPECT_EQ(veo_alloc_mem(process_, nullptr, 8), -1);
    errno = 0;
    EXPECT_EQ(veo_alloc_mem(process_, &address, std::size_t{1} << 50U), -1);
    EXPECT_NE(errno, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_EQ(veo_read_mem(process_, &value, 16, 8), -1) << "no memory of the process";
    EXPECT_EQ(veo_write_mem(process_, 16, &value, 8), -1);
#endif
}

TEST_F(CompatVeo, copies_more_than_one_call_takes_to_memory_that_is_no_block) {
    const std::size_t bytes = (std::size_t{9} << 20U) + 5;
    EXPECT_EQ(veo_args_set_u64(args_, 0, bytes), 0);
    std::uint64_t memory = 0;
    EXPECT_EQ(
        veo_call_wait_result(
            context_, veo_call_async(context_, veo_get_sym(process_, 0, "malloc"), args_), &memory),
        VEO_COMMAND_OK);
    std::vector<char> sent(bytes), back(bytes);
    for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<char>(i * 7 / 3);
    EXPECT_EQ(veo_write_mem(process_, memory, sent.data(), bytes), 0);
    EXPECT_EQ(veo_read_mem(process_, back.data(), memory, bytes), 0);
    EXPECT_TRUE(back == sent);
}

TEST_F(CompatVeo, allocates_and_frees_in_the_order_of_a_context) {
    std::uint64_t address = 0;
    const std::uint64_t allocated = veo_alloc_mem_async(context_, 64);
    EXPECT_EQ(veo_call_wait_result(context_, allocated, &address), VEO_COMMAND_OK);
    std::uint64_t word = 8;
    EXPECT_EQ(veo_write_mem(process_, address, &word, 8), 0);
    const std::uint64_t freed = veo_free_mem_async(context_, address);
    const std::uint64_t again = veo_free_mem_async(context_, address);
    EXPECT_EQ(veo_call_wait_result(context_, freed, nullptr), VEO_COMMAND_OK);
    EXPECT_EQ(veo_call_wait_result(context_, again, nullptr), VEO_COMMAND_ERROR);
    EXPECT_EQ(veo_alloc_mem_async(context_, 0), VEO_REQUEST_ID_INVALID);
    EXPECT_EQ(veo_alloc_mem_async(nullptr, 8), VEO_REQUEST_ID_INVALID);
    EXPECT_EQ(veo_free_mem_async(nullptr, address), VEO_REQUEST_ID_INVALID);
    EXPECT_EQ(veo_async_read_mem(nullptr, &word, address, 8), VEO_REQUEST_ID_INVALID);
    EXPECT_EQ(veo_async_write_mem(context_, address, nullptr, 8), VEO_REQUEST_ID_INVALID);
}

TEST_F(CompatVeo, has_pointers_to_memory_of_a_process) {
    void* memory = nullptr;
    ASSERT_EQ(veo_alloc_hmem(process_, &memory, 64), 0);
    EXPECT_EQ(veo_is_ve_addr(memory), 1);
    EXPECT_EQ(veo_is_ve_addr(static_cast<char*>(memory) + 63), 1);
    EXPECT_EQ(veo_is_ve_addr(&memory), 0);
    EXPECT_EQ(veo_is_ve_addr(nullptr), 0);
    EXPECT_EQ(is_block_known_in_another_file(memory), 1) << "one state for all files of a program";
    EXPECT_EQ(veo_get_hmem_addr(memory), memory);
    EXPECT_EQ(veo_get_proc_handle_from_hmem(memory), process_);
    EXPECT_EQ(veo_get_proc_handle_from_hmem(&memory), nullptr);
    EXPECT_EQ(veo_get_proc_identifier_from_hmem(memory), 0);
    EXPECT_EQ(veo_get_proc_identifier_from_hmem(&memory), -1);
    EXPECT_EQ(veo_get_venum_from_hmem(memory), 0);
    EXPECT_EQ(veo_get_venum_from_hmem(nullptr), -1);
    std::uint64_t pid = 0;
    EXPECT_EQ(run("own_process", &pid), VEO_COMMAND_OK);
    EXPECT_EQ(veo_get_pid_from_hmem(memory), static_cast<int>(pid));
    EXPECT_EQ(veo_get_pid_from_hmem(nullptr), -1);
    EXPECT_EQ(veo_set_proc_identifier(memory, 0), memory);
    EXPECT_EQ(veo_set_proc_identifier(memory, 1), nullptr);
    auto* const word = static_cast<std::uint64_t*>(memory);
    *word = 6;  // the rank's own access
    EXPECT_EQ(veo_args_set_hmem(args_, 0, memory), 0);
    EXPECT_EQ(run("count_up"), VEO_COMMAND_OK);
    EXPECT_EQ(*word, 7U);
    EXPECT_EQ(veo_args_set_hmem(args_, 0, &memory), -1);
    EXPECT_EQ(veo_free_hmem(memory), 0);
    EXPECT_EQ(veo_free_hmem(memory), -1);
    EXPECT_EQ(veo_is_ve_addr(memory), 0);
    EXPECT_EQ(veo_alloc_hmem(process_, nullptr, 8), -1);
    EXPECT_EQ(veo_alloc_hmem(nullptr, &memory, 8), -1);
}

TEST_F(CompatVeo, copies_between_the_rank_and_one_process) {
    void* memory = nullptr;
    void* second = nullptr;
    ASSERT_EQ(veo_alloc_hmem(process_, &memory, 64), 0);
    ASSERT_EQ(veo_alloc_hmem(process_, &second, 64), 0);
    char sent[64] = "to and fro", back[64] = "", here[64] = "";
    EXPECT_EQ(veo_hmemcpy(memory, sent, 64), 0);
    EXPECT_EQ(veo_hmemcpy(second, memory, 64), 0);
    EXPECT_EQ(veo_hmemcpy(back, second, 64), 0);
    EXPECT_STREQ(back, sent);
    EXPECT_EQ(veo_hmemcpy(here, sent, 64), 0);
    EXPECT_STREQ(here, sent);
    EXPECT_EQ(veo_hmemcpy(memory, sent, 65), -1) << "beyond the block";
    EXPECT_EQ(veo_hmemcpy(back, memory, 65), -1);
    EXPECT_EQ(veo_hmemcpy(memory, nullptr, 8), -1);
    struct veo_proc_handle* const other = veo_proc_create(0);
    void* far = nullptr;
    ASSERT_EQ(veo_alloc_hmem(other, &far, 64), 0);
    errno = 0;
    EXPECT_EQ(veo_hmemcpy(far, memory, 64), -1);
    EXPECT_EQ(errno, EXDEV);
    EXPECT_EQ(veo_proc_destroy(other), 0);
    EXPECT_EQ(veo_is_ve_addr(far), 0) << "freed with its process";
}

std::vector<std::string> hooks_called;

TEST_F(CompatVeo, calls_hooks_of_memory) {
    veo_register_hmem_hook_functions(
        [](void*, std::size_t size) { hooks_called.push_back("alloc " + std::to_string(size)); },
        [](std::uint64_t) { hooks_called.emplace_back("free"); });
    void* memory = nullptr;
    EXPECT_EQ(veo_alloc_hmem(process_, &memory, 64), 0);
    EXPECT_EQ(veo_free_hmem(memory), 0);
    veo_unregister_hmem_hook_functions();
    EXPECT_EQ(veo_alloc_hmem(process_, &memory, 64), 0);
    EXPECT_EQ(hooks_called, (std::vector<std::string>{"alloc 64", "free"}));
}

}  // namespace
}  // namespace acp::test
