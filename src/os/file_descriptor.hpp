// SPDX-License-Identifier: BSD-3-Clause
// Ownership of one kernel file descriptor: the object closes it, exactly once. The kernel gives a
// new descriptor the lowest free number, and in a program that has closed its standard streams that
// is 0, 1 or 2: the object moves such a descriptor to a number above them, where no dup2() of the
// program onto its streams replaces it. Knows nothing of what the descriptor names. Any thread; one
// object belongs to one thread at a time.
// Tests: tests/unit/os/file_descriptor_test.cpp.
#pragma once

#include <utility>

namespace acp::os {

class FileDescriptor {
public:
    FileDescriptor() noexcept = default;

    // Takes ownership of a descriptor that this process has just opened; a negative value owns
    // nothing. A number below standard_streams is replaced by a higher one, close-on-exec; where
    // the process has no descriptor left, the object is empty and errno has the reason.
    explicit FileDescriptor(int descriptor) noexcept
        : descriptor_(descriptor < 0 || descriptor >= standard_streams ? descriptor
                                                                       : moved_up(descriptor)) {}

    // Takes ownership of a standard stream, under its number.
    [[nodiscard]] static FileDescriptor of_standard_stream(int descriptor) noexcept {
        FileDescriptor stream;
        stream.descriptor_ = descriptor;
        return stream;
    }

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

    // Descriptors 0, 1 and 2.
    static constexpr int standard_streams = 3;

private:
    [[nodiscard]] static int moved_up(int descriptor) noexcept;

    int descriptor_ = -1;
};

}  // namespace acp::os
