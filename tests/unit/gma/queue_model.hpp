// SPDX-License-Identifier: BSD-3-Clause
// The rules of order and completion, written as plainly as can be: a list of commands, and one loop
// that tests for each waiting one whether it may start or must fail. Slow on purpose; independent
// of CommandQueue's methods. It has the same numbers and handles as CommandQueue. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "gma/command_queue.hpp"

namespace acp::gma::test {

class QueueModel {
public:
    enum class State { waiting, ready, succeeded, failed };

    struct Record {
        State state = State::waiting;
        base::Code code = base::Code::ok;
        bool is_reported = false;
        std::size_t prefix = 0;       // waits for the commands 1 .. prefix
        std::size_t predecessor = 0;  // waits for this one, 0: for none
    };

    std::uint64_t admit(Handle order) {
        Record record;
        bool is_failed = false;
        if (order == handle_cont) {
            record.predecessor = records_.size();
            is_failed = is_unreported(records_.size());
        } else if (order != handle_null) {
            record.prefix = count_of(order);
            is_failed = has_failed_handle(order) || has_unreported(record.prefix);
        }
        if (is_failed) {
            record.state = State::failed;
            record.code = base::Code::order;
        }
        records_.push_back(record);
        settle();
        return 2 * records_.size();
    }

    void finish(std::uint64_t number, base::Code code) {
        Record& record = records_[number / 2 - 1];
        record.state = code == base::Code::ok ? State::succeeded : State::failed;
        record.code = code;
        settle();
    }

    // Reports the first failure up to `number` that was not reported before. Returns its number.
    std::optional<std::uint64_t> take_failure(std::uint64_t number) {
        for (std::size_t count = 1; 2 * count <= number && count <= records_.size(); ++count) {
            if (is_unreported(count)) {
                records_[count - 1].is_reported = true;
                return 2 * count;
            }
        }
        return std::nullopt;
    }

    // May a command with this order start now?
    [[nodiscard]] bool is_satisfied(Handle order) const {
        if (order == handle_null) {
            return true;
        }
        if (order == handle_cont) {
            return records_.empty() ||
                   (has_ended(records_.size()) && !is_unreported(records_.size()));
        }
        const std::size_t prefix = count_of(order);
        return 2 * prefix <= done() && !has_failed_handle(order) && !has_unreported(prefix);
    }

    // The commands 1 .. n have ended: 2 n.
    [[nodiscard]] std::uint64_t done() const {
        std::size_t count = 0;
        while (count < records_.size() && has_ended(count + 1)) {
            ++count;
        }
        return 2 * count;
    }

    // The longest complete prefix without an unreported failure.
    [[nodiscard]] std::uint64_t complete_floor() const {
        std::size_t count = done() / 2;
        while (has_unreported(count)) {
            --count;
        }
        return 2 * count + 1;
    }

    // The longest complete prefix without any failure.
    [[nodiscard]] std::uint64_t order_floor() const {
        std::size_t count = 0;
        while (count < records_.size() && records_[count].state == State::succeeded) {
            ++count;
        }
        return 2 * count + 1;
    }

    [[nodiscard]] bool is_ready(std::uint64_t number) const {
        return records_[number / 2 - 1].state == State::ready;
    }

    [[nodiscard]] std::vector<std::uint64_t> numbers_in(State state) const {
        std::vector<std::uint64_t> numbers;
        for (std::size_t count = 1; count <= records_.size(); ++count) {
            if (records_[count - 1].state == state) {
                numbers.push_back(2 * count);
            }
        }
        return numbers;
    }

    [[nodiscard]] std::vector<std::uint64_t> outstanding() const {
        std::vector<std::uint64_t> numbers;
        for (std::size_t count = 1; count <= records_.size(); ++count) {
            if (!has_ended(count)) {
                numbers.push_back(2 * count);
            }
        }
        return numbers;
    }

    [[nodiscard]] const Record& record(std::uint64_t number) const {
        return records_[number / 2 - 1];
    }

    [[nodiscard]] std::uint64_t issued() const { return 2 * records_.size(); }

private:
    [[nodiscard]] bool has_ended(std::size_t count) const {
        const State state = records_[count - 1].state;
        return state == State::succeeded || state == State::failed;
    }

    [[nodiscard]] bool is_unreported(std::size_t count) const {
        return count != 0 && records_[count - 1].state == State::failed &&
               !records_[count - 1].is_reported;
    }

    [[nodiscard]] bool has_unreported(std::size_t prefix) const {
        for (std::size_t count = 1; count <= prefix; ++count) {
            if (is_unreported(count)) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] bool has_failed_handle(Handle order) const {
        return order % 2 == 0 && order != 0 && order <= issued() &&
               records_[order / 2 - 1].state == State::failed;
    }

    [[nodiscard]] std::size_t count_of(Handle order) const {
        if (order == handle_all) {
            return records_.size();
        }
        return order / 2 <= records_.size() ? order / 2 : 0;
    }

    // Starts and fails waiting commands until none can start or must fail.
    void settle() {
        for (bool has_changed = true; has_changed;) {
            has_changed = false;
            for (Record& record : records_) {
                if (record.state == State::waiting) {
                    has_changed = settle(record) || has_changed;
                }
            }
        }
    }

    bool settle(Record& record) const {
        const bool must_fail =
            has_unreported(record.prefix) ||
            (record.predecessor != 0 && records_[record.predecessor - 1].state == State::failed &&
             !records_[record.predecessor - 1].is_reported);
        const bool may_start = 2 * record.prefix <= done() &&
                               (record.predecessor == 0 || has_ended(record.predecessor));
        if (must_fail) {
            record.state = State::failed;
            record.code = base::Code::order;
        } else if (may_start) {
            record.state = State::ready;
        }
        return must_fail || may_start;
    }

    std::vector<Record> records_;
};

}  // namespace acp::gma::test
