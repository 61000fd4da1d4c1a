// SPDX-License-Identifier: BSD-3-Clause
// Lets a call that makes a file longer than RLIMIT_FSIZE allows fail with EFBIG, where the kernel would also end the process by SIGXFSZ. Any thread.
// Tests: tests/unit/os/memory_test.cpp.
#pragma once

namespace acp::os {

// Blocks SIGXFSZ for the calling thread. The kernel sends that signal to the thread that writes, so the destructor discards it
// and restores the mask. A SIGXFSZ that was pending before stays pending.
class FileSizeSignalBlock {
public:
    FileSizeSignalBlock() noexcept;
    ~FileSizeSignalBlock();  // keeps errno
    FileSizeSignalBlock(const FileSizeSignalBlock&) = delete;
    FileSizeSignalBlock& operator=(const FileSizeSignalBlock&) = delete;

private:
    bool was_blocked_ = false;
    bool was_pending_ = false;
};

}  // namespace acp::os
