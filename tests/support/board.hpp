// SPDX-License-Identifier: BSD-3-Clause
// A board: memory shared by a test's driver and all ranks of the jobs it starts, made without the
// library under test. It is a file, which the driver removes with its object; its path is in the
// environment variable TEST_BOARD. Its content is a struct of atomics of the test, valid when zero.
// Made by the driver, opened by every rank; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

namespace acp::test {

inline constexpr const char* board_variable = "TEST_BOARD";

class BoardFile {
public:
    // Driver: makes a zeroed board of `bytes` bytes in the current directory. Exits with a message
    // when the system refuses.
    static BoardFile create(std::size_t bytes);

    // Rank: maps the board named by the environment. Exits with a message when there is none.
    static BoardFile open_from_environment(std::size_t bytes);

    BoardFile(BoardFile&& other) noexcept;
    BoardFile(const BoardFile&) = delete;
    BoardFile& operator=(const BoardFile&) = delete;
    BoardFile& operator=(BoardFile&&) = delete;
    ~BoardFile();

    [[nodiscard]] void* data() const noexcept { return data_; }

    // "TEST_BOARD=path" for a job's environment.
    [[nodiscard]] std::string environment_entry() const;

private:
    BoardFile(std::string path, void* data, std::size_t bytes, bool is_owner) noexcept;

    std::string path_;
    void* data_;
    std::size_t bytes_;
    bool is_owner_;
};

// A board that holds one T.
template <typename T>
class Board {
    static_assert(std::is_standard_layout_v<T>);

public:
    static Board create() { return Board(BoardFile::create(sizeof(T))); }

    static Board open() { return Board(BoardFile::open_from_environment(sizeof(T))); }

    [[nodiscard]] T& operator*() const noexcept { return *static_cast<T*>(file_.data()); }

    [[nodiscard]] T* operator->() const noexcept { return static_cast<T*>(file_.data()); }

    [[nodiscard]] std::string environment_entry() const { return file_.environment_entry(); }

private:
    explicit Board(BoardFile file) : file_(std::move(file)) {}

    BoardFile file_;
};

}  // namespace acp::test
