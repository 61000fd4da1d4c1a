// SPDX-License-Identifier: BSD-3-Clause
// Sort by regular samples: each rank sorts its part, all ranks choose the same splitters from all
// samples, each rank moves its numbers to the ranges between them, and sorts one range.
#include <algorithm>
#include <cstring>
#include <vector>

#include "os/clock.hpp"

#include "dsm_program.hpp"

namespace acp::bench {

namespace {

using Number = std::uint64_t;

class SortProgram final : public DsmProgram {
public:
    explicit SortProgram(const ProgramPlace& place)
        : place_(place),
          count_(place.is_quick ? 1 << 12 : 1 << 20),
          first_(place.cut(count_, place.own())),
          last_(place.cut(count_, place.own() + 1)),
          input_(count_),
          output_(count_),
          samples_(place.all() * place.all()),
          counts_(place.all() * place.all()) {}

    void prepare() override {
        for (std::size_t i = first_; i < last_; ++i) input_[i] = random_at(i);
        program_barrier();
    }

    void run() override {
        Number* const own = input_.data() + first_;
        const std::size_t own_count = last_ - first_;
        std::sort(own, own + own_count);
        for (std::size_t i = 0; i < place_.all(); ++i)
            samples_[place_.own() * place_.all() + i] = own[own_count * i / place_.all()];
        program_barrier();
        const std::vector<std::size_t> cuts = cut_own_part();
        for (std::size_t i = 0; i < place_.all(); ++i)
            counts_[place_.own() * place_.all() + i] = cuts[i + 1] - cuts[i];
        program_barrier();
        move(cuts);
        program_barrier();
        std::sort(output_.data() + range_at(place_.own()),
                  output_.data() + range_at(place_.own() + 1));
        program_barrier();
    }

    double run_alone() override {
        alone_.clear();
        for (std::size_t i = 0; i < count_; ++i) alone_.push_back(random_at(i));
        const std::uint64_t start = os::now_ns();
        std::sort(alone_.begin(), alone_.end());
        return static_cast<double>(os::now_ns() - start);
    }

    bool is_right() override {
        const std::size_t first = range_at(place_.own());
        const std::size_t count = range_at(place_.own() + 1) - first;
        return std::memcmp(output_.data() + first, alone_.data() + first, count * sizeof(Number)) ==
               0;
    }

private:
    // Where the ranges begin in the rank's sorted part, and the part's end.
    [[nodiscard]] std::vector<std::size_t> cut_own_part() const {
        std::vector<Number> samples(samples_.data(), samples_.data() + place_.all() * place_.all());
        std::sort(samples.begin(), samples.end());
        std::vector<std::size_t> cuts = {first_};
        for (std::size_t i = 1; i < place_.all(); ++i) {
            const Number splitter = samples[i * place_.all()];
            const Number* const at =
                std::lower_bound(input_.data() + cuts.back(), input_.data() + last_, splitter);
            cuts.push_back(static_cast<std::size_t>(at - input_.data()));
        }
        cuts.push_back(last_);
        return cuts;
    }

    // Where a range begins in the output.
    [[nodiscard]] std::size_t range_at(std::size_t range) const {
        std::size_t at = 0;
        for (std::size_t rank = 0; rank < place_.all(); ++rank) {
            for (std::size_t i = 0; i < range; ++i) at += counts_[rank * place_.all() + i];
        }
        return at;
    }

    void move(const std::vector<std::size_t>& cuts) const {
        for (std::size_t range = 0; range < place_.all(); ++range) {
            std::size_t at = range_at(range);
            for (std::size_t rank = 0; rank < place_.own(); ++rank)
                at += counts_[rank * place_.all() + range];
            std::copy(input_.data() + cuts[range], input_.data() + cuts[range + 1],
                      output_.data() + at);
        }
    }

    ProgramPlace place_;
    std::size_t count_;
    std::size_t first_;
    std::size_t last_;
    SharedArray<Number> input_;
    SharedArray<Number> output_;
    SharedArray<Number> samples_;        // rank * ranks + sample
    SharedArray<std::uint64_t> counts_;  // rank * ranks + range
    std::vector<Number> alone_;
};

}  // namespace

std::unique_ptr<DsmProgram> make_sort(const ProgramPlace& place) {
    return std::make_unique<SortProgram>(place);
}

}  // namespace acp::bench
