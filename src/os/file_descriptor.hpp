// SPDX-License-Identifier: BSD-3-Clause
// Ownership of one kernel file descriptor: the object closes it, exactly once. Knows nothing of what the descriptor names. Any
// thread; one object belongs to one thread at a time.
#pragma once

#include <utility>

namespace acp::os {

class FileDescriptor {
public:
    FileDescriptor() noexcept = default;

    // Takes ownership; a negative value owns nothing.
    explicit FileDescriptor(int descriptor) noexcept : descriptor_(descriptor) {}

    FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(other.release()) {}

    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        if (this != &other) {
            close();
            descriptor_ = other.release();
        }
        return *this;
    }

    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;

    ~FileDescriptor() { close(); }

    // The descriptor, still owned here; -1 when none.
    [[nodiscard]] int get() const noexcept { return descriptor_; }

    // Gives ownership to the caller; the object is empty afterwards.
    [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }

    [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }

    // Closes now; an empty object stays empty.
    void close() noexcept;

private:
    int descriptor_ = -1;
};

}  // namespace acp::os
