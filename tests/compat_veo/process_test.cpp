// SPDX-License-Identifier: BSD-3-Clause
// Processes, libraries and contexts by acp/compat_veo.h, and the refused functions: results and
// failures.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "compat_veo/veo_program.hpp"

namespace acp::test {
namespace {

TEST_F(CompatVeo, creates_processes_with_identifiers_and_destroys_them) {
    EXPECT_EQ(veo_proc_identifier(process_), 0);
    struct veo_proc_handle* const other = veo_proc_create(3);
    ASSERT_NE(other, nullptr) << acp_error_message();
    EXPECT_EQ(veo_proc_identifier(other), 1);
    EXPECT_EQ(veo_proc_destroy(other), 0);
    setenv("VE_NODE_NUMBER", "5", 1);
    struct veo_proc_handle* const again = veo_proc_create(-1);
    unsetenv("VE_NODE_NUMBER");
    EXPECT_EQ(veo_proc_identifier(again), 1) << "the lowest free one";
    void* memory = nullptr;
    EXPECT_EQ(veo_alloc_hmem(again, &memory, 8), 0);
    EXPECT_EQ(veo_get_venum_from_hmem(memory), 5);
    EXPECT_EQ(veo_proc_destroy(again), 0);
    errno = 0;
    EXPECT_EQ(veo_proc_create(-2), nullptr);
    EXPECT_EQ(errno, ENODEV);
    EXPECT_EQ(veo_proc_destroy(nullptr), -1);
    EXPECT_EQ(veo_proc_identifier(nullptr), -1);
    EXPECT_GT(veo_get_max_proc_identifier(), 1);
}

TEST_F(CompatVeo, creates_a_process_of_another_program) {
    char missing[] = "/no/such/program";
    errno = 0;
    EXPECT_EQ(veo_proc_create_static(0, missing), nullptr);
    EXPECT_EQ(errno, EINVAL);
    char program[] = ACP_TEST_BIN_DIR "/acp-worker";
    struct veo_proc_handle* const other = veo_proc_create_static(0, program);
    ASSERT_NE(other, nullptr) << acp_error_message();
    EXPECT_NE(veo_get_sym(other, 0, "labs"), 0U) << "a symbol of the program";
    EXPECT_EQ(veo_proc_destroy(other), 0);
    setenv("VEORUN_BIN", missing, 1);
    EXPECT_EQ(veo_proc_create(0), nullptr);
    unsetenv("VEORUN_BIN");
}

TEST_F(CompatVeo, has_as_many_processes_as_identifiers) {
    std::vector<struct veo_proc_handle*> all;
    while (all.size() + 1 < static_cast<std::size_t>(veo_get_max_proc_identifier())) {
        all.push_back(veo_proc_create(0));
        ASSERT_NE(all.back(), nullptr) << acp_error_message();
    }
    errno = 0;
    EXPECT_EQ(veo_proc_create(0), nullptr);
    EXPECT_EQ(errno, EAGAIN);
    for (struct veo_proc_handle* const one : all) EXPECT_EQ(veo_proc_destroy(one), 0);
}

TEST_F(CompatVeo, loads_libraries_and_finds_symbols) {
    errno = 0;
    EXPECT_EQ(veo_load_library(process_, "/no/such.so"), 0U);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(veo_load_library(nullptr, ACP_TEST_DEVICE_FUNCTIONS), 0U);
    EXPECT_EQ(veo_get_sym(process_, library_, "no_such_symbol"), 0U);
    EXPECT_EQ(veo_get_sym(process_, library_ + 1, "add"), 0U);
    EXPECT_EQ(veo_get_sym(process_, UINT64_MAX, "add"), 0U);
    EXPECT_EQ(veo_get_sym(nullptr, library_, "add"), 0U);
    EXPECT_EQ(veo_unload_library(process_, library_ + 1), -1);
    EXPECT_EQ(veo_unload_library(process_, 0), -1);
    EXPECT_EQ(veo_unload_library(nullptr, library_), -1);
    EXPECT_EQ(veo_unload_library(process_, library_), 0);
    EXPECT_EQ(veo_get_sym(process_, library_, "add"), 0U);
}

TEST_F(CompatVeo, calls_by_name_and_without_contexts) {
    EXPECT_EQ(veo_args_set_i64(args_, 0, 40), 0);
    EXPECT_EQ(veo_args_set_i64(args_, 1, 2), 0);
    std::uint64_t sum = 0;
    const std::uint64_t request = veo_call_async_by_name(context_, library_, "add", args_);
    EXPECT_EQ(veo_call_wait_result(context_, request, &sum), VEO_COMMAND_OK);
    EXPECT_EQ(sum, 42U);
    sum = 0;
    EXPECT_EQ(veo_call_sync(process_, symbol("add"), args_, &sum), 0);
    EXPECT_EQ(sum, 42U);
    EXPECT_EQ(veo_call_async_by_name(context_, library_, "no_such_symbol", args_),
              VEO_REQUEST_ID_INVALID);
    EXPECT_EQ(veo_call_async_by_name(nullptr, library_, "add", args_), VEO_REQUEST_ID_INVALID);
    EXPECT_EQ(veo_call_async(context_, 0, args_), VEO_REQUEST_ID_INVALID);
    EXPECT_EQ(veo_call_async_vh(context_, nullptr, nullptr), VEO_REQUEST_ID_INVALID);
    EXPECT_EQ(veo_call_sync(nullptr, 1, args_, &sum), -1);
}

TEST_F(CompatVeo, opens_contexts_of_which_the_first_is_the_main_one) {
    EXPECT_EQ(veo_num_contexts(process_), 1);
    EXPECT_EQ(veo_get_context(process_, 0), context_);
    EXPECT_EQ(veo_get_context_state(context_), VEO_STATE_RUNNING);
    struct veo_thr_ctxt* const other = veo_context_open(process_);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(veo_num_contexts(process_), 2);
    EXPECT_EQ(veo_get_context(process_, 1), other);
    EXPECT_EQ(veo_get_context(process_, 2), nullptr);
    EXPECT_EQ(veo_get_context(nullptr, 0), nullptr);
    auto* const words = make_words();
    const std::uint64_t running = begin_endless_call(words);
    veo_args_clear(args_);
    const std::uint64_t side = veo_call_async(other, symbol("own_process"), args_);
    EXPECT_EQ(veo_call_wait_result(other, side, nullptr), VEO_COMMAND_OK) << "side by side";
    words[1] = 1;
    veo_context_sync(context_);
    EXPECT_EQ(veo_call_peek_result(context_, running, nullptr), VEO_COMMAND_OK);
    EXPECT_EQ(veo_context_close(other), 0);
    EXPECT_EQ(veo_context_close(other), -1);
    EXPECT_EQ(veo_context_close(nullptr), -1);
    EXPECT_EQ(veo_get_context_state(other), VEO_STATE_EXIT);
    EXPECT_EQ(veo_get_context_state(nullptr), VEO_STATE_UNKNOWN);
    EXPECT_EQ(veo_num_contexts(process_), 1);
    EXPECT_EQ(veo_num_contexts(nullptr), -1);
    EXPECT_EQ(veo_context_open(nullptr), nullptr);
    // Without its main context a process still copies and calls.
    EXPECT_EQ(veo_context_close(context_), 0);
    EXPECT_EQ(veo_call_async(context_, symbol("own_process"), args_), VEO_REQUEST_ID_INVALID);
    EXPECT_EQ(veo_call_sync(process_, symbol("own_process"), args_, nullptr), 0);
    context_ = veo_context_open(process_);
    EXPECT_EQ(run("own_process"), VEO_COMMAND_OK);
    veo_context_sync(nullptr);
}

TEST_F(CompatVeo, opens_contexts_up_to_their_limit) {
    while (veo_num_contexts(process_) < 16)
        ASSERT_NE(veo_context_open(process_), nullptr) << acp_error_message();
    errno = 0;
    EXPECT_EQ(veo_context_open(process_), nullptr);
    EXPECT_EQ(errno, EAGAIN);
}

TEST_F(CompatVeo, opens_a_context_with_attributes) {
    struct veo_thr_ctxt_attr* const attributes = veo_alloc_thr_ctxt_attr();
    ASSERT_NE(attributes, nullptr);
    std::size_t size = 0;
    EXPECT_EQ(veo_get_thr_ctxt_stacksize(attributes, &size), 0);
    EXPECT_EQ(size, std::size_t{8} << 20U);
    EXPECT_EQ(veo_set_thr_ctxt_stacksize(attributes, std::size_t{1} << 20U), 0);
    EXPECT_EQ(veo_get_thr_ctxt_stacksize(attributes, &size), 0);
    EXPECT_EQ(size, std::size_t{1} << 20U);
    EXPECT_EQ(veo_set_thr_ctxt_stacksize(attributes, std::size_t{9} << 20U), -1);
    EXPECT_EQ(veo_set_thr_ctxt_stacksize(nullptr, 4096), -1);
    EXPECT_EQ(veo_get_thr_ctxt_stacksize(attributes, nullptr), -1);
    struct veo_thr_ctxt* const other = veo_context_open_with_attr(process_, attributes);
    EXPECT_NE(other, nullptr);
    EXPECT_EQ(veo_context_open_with_attr(process_, nullptr), nullptr);
    EXPECT_EQ(veo_free_thr_ctxt_attr(attributes), 0);
    EXPECT_EQ(veo_free_thr_ctxt_attr(nullptr), -1);
}

TEST_F(CompatVeo, has_stale_processes_after_a_reset_and_frees_no_memory_of_the_next_epoch) {
    void* memory = nullptr;
    ASSERT_EQ(veo_alloc_hmem(process_, &memory, 64), 0);
    ASSERT_EQ(acp_reset(acp_rank()), 0) << acp_error_message();
    const acp_ga_t next = acp_malloc(64, acp_rank());
    errno = 0;
    EXPECT_EQ(veo_free_hmem(memory), -1);
    EXPECT_EQ(errno, ESRCH);
    EXPECT_EQ(veo_context_open(process_), nullptr);
    EXPECT_EQ(veo_call_wait_result(context_, veo_call_async(context_, 16, args_), nullptr),
              VEO_COMMAND_ERROR);
    EXPECT_EQ(veo_proc_destroy(process_), -1);
    process_ = veo_proc_create(0);
    EXPECT_NE(process_, nullptr) << acp_error_message();
    EXPECT_EQ(acp_free(next), 0) << acp_error_message();
}

TEST_F(CompatVeo, names_its_version) {
    EXPECT_EQ(veo_api_version(), VEO_API_VERSION);
    EXPECT_STREQ(veo_version_string(), acp_version());
}

TEST_F(CompatVeo, refuses_what_a_vector_engine_alone_has) {
    const auto is_refused = [](bool has_failed) {
        const bool result = has_failed && errno == ENOSYS;
        errno = 0;
        return result;
    };
    int variable = 0;
    void* const place = &variable;
    ve_dma_handle_t handle{};
    EXPECT_TRUE(is_refused(veo_get_ve_arch(0) == -1));
    veo_register_hook(place, nullptr, nullptr);
    EXPECT_TRUE(is_refused(true));
    EXPECT_TRUE(is_refused(veo_get_hook(place) == nullptr));
    veo_unregister_hook(place);
    EXPECT_TRUE(is_refused(true));
    EXPECT_TRUE(is_refused(veo_shmget(process_, 1, 4096, 0) == -1));
    EXPECT_TRUE(is_refused(veo_shmat(process_, 1, nullptr, 0, nullptr) == nullptr));
    EXPECT_TRUE(is_refused(veo_shmdt(process_, place) == -1));
    EXPECT_TRUE(is_refused(veo_shared_mem_open(place, 4, 0, 0) == -1));
    EXPECT_TRUE(is_refused(veo_shared_mem_close(place, 4, 0, 0) == -1));
    EXPECT_TRUE(is_refused(veo_shared_mem_attach(process_, 1, place, 4, 0, 0) == nullptr));
    EXPECT_TRUE(is_refused(veo_shared_mem_detach(process_, place, 0) == -1));
    EXPECT_TRUE(is_refused(veo_dma_post(process_, 0, 0, 4, &handle) == -1));
    EXPECT_TRUE(is_refused(veo_dma_poll(process_, &handle) == -1));
    EXPECT_TRUE(is_refused(veo_dma_post_wait(process_, 0, 0, 4) == -1));
    EXPECT_TRUE(is_refused(veo_register_mem_to_dmaatb(place, 4) == UINT64_MAX));
    EXPECT_TRUE(is_refused(veo_unregister_mem_from_dmaatb(process_, 0) == -1));
    veo_access_pcircvsyc_register(process_);
    EXPECT_TRUE(is_refused(true));
}

}  // namespace
}  // namespace acp::test
