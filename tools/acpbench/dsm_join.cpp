// SPDX-License-Identifier: BSD-3-Clause
// Hash join: ranks count their tuples by partition, move them there, and each joins its partition
// by a hash table in private memory. Pages at the ends of a rank's share have tuples of several
// ranks.
#include <algorithm>
#include <array>
#include <vector>

#include "os/clock.hpp"

#include "dsm_program.hpp"

namespace acp::bench {

namespace {

struct Tuple {
    std::uint64_t key;
    std::uint64_t payload;
};

struct JoinSum {
    std::uint64_t matches = 0;
    std::uint64_t sum = 0;  // the sum of the products of payloads

    bool operator==(const JoinSum&) const = default;
};

// Half of the keys of the second relation are in the first one, each of which has its key once.
Tuple build_tuple(std::uint64_t i) {
    return {random_at(i), i};
}

Tuple probe_tuple(std::uint64_t i, std::uint64_t build_count) {
    return {random_at(random_at(i + (std::uint64_t{1} << 40)) % (2 * build_count)), i};
}

std::uint64_t hash_of(std::uint64_t key) {
    return random_at(key);
}

// Open addressing; keys are not zero.
class JoinTable {
public:
    explicit JoinTable(std::size_t count) {
        std::size_t size = 16;
        while (size < 2 * count) size *= 2;
        slots_.resize(size);
    }

    void insert(const Tuple& tuple) {
        std::size_t at = hash_of(tuple.key) & (slots_.size() - 1);
        while (slots_[at].key != 0) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = tuple;
    }

    void probe(const Tuple& tuple, JoinSum& result) const {
        std::size_t at = hash_of(tuple.key) & (slots_.size() - 1);
        for (; slots_[at].key != 0; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at].key != tuple.key) continue;
            ++result.matches;
            result.sum += slots_[at].payload * tuple.payload;
        }
    }

private:
    std::vector<Tuple> slots_;
};

JoinSum join(const Tuple* build,
             std::size_t build_count,
             const Tuple* probe,
             std::size_t probe_count) {
    JoinTable table(build_count);
    for (std::size_t i = 0; i < build_count; ++i) table.insert(build[i]);
    JoinSum result;
    for (std::size_t i = 0; i < probe_count; ++i) table.probe(probe[i], result);
    return result;
}

// A relation, its tuples by partition, and how many tuples each rank has for each partition.
struct SharedRelation {
    SharedRelation(std::size_t size, std::size_t ranks)
        : count(size), input(size), parted(size), counts(ranks * ranks) {}

    std::size_t count;
    SharedArray<Tuple> input;
    SharedArray<Tuple> parted;
    SharedArray<std::uint64_t> counts;  // rank * ranks + partition
};

class JoinProgram final : public DsmProgram {
public:
    explicit JoinProgram(const ProgramPlace& place)
        : place_(place),
          build_(place.is_quick ? 1 << 10 : 1 << 17, place.all()),
          probe_(2 * build_.count, place.all()),
          results_(place.all()) {}

    void prepare() override {
        for (std::size_t i = begin_of(build_); i < end_of(build_); ++i)
            build_.input[i] = build_tuple(i);
        for (std::size_t i = begin_of(probe_); i < end_of(probe_); ++i)
            probe_.input[i] = probe_tuple(i, build_.count);
        program_barrier();
    }

    void run() override {
        for (SharedRelation* relation : {&build_, &probe_}) count(*relation);
        program_barrier();
        for (SharedRelation* relation : {&build_, &probe_}) move(*relation);
        program_barrier();
        const std::size_t own = place_.own();
        results_[own] = join(build_.parted.data() + partition_at(build_, own),
                             partition_at(build_, own + 1) - partition_at(build_, own),
                             probe_.parted.data() + partition_at(probe_, own),
                             partition_at(probe_, own + 1) - partition_at(probe_, own));
        program_barrier();
    }

    double run_alone() override {
        std::vector<Tuple> build;
        std::vector<Tuple> probe;
        for (std::size_t i = 0; i < build_.count; ++i) build.push_back(build_tuple(i));
        for (std::size_t i = 0; i < probe_.count; ++i)
            probe.push_back(probe_tuple(i, build_.count));
        const std::uint64_t start = os::now_ns();
        alone_ = join(build.data(), build.size(), probe.data(), probe.size());
        return static_cast<double>(os::now_ns() - start);
    }

    // The sum of all ranks is small: rank 0 reads it.
    bool is_right() override {
        if (place_.rank != 0) return true;
        JoinSum all;
        for (std::size_t rank = 0; rank < place_.all(); ++rank) {
            all.matches += results_[rank].matches;
            all.sum += results_[rank].sum;
        }
        return alone_.matches > 0 && all == alone_;
    }

private:
    [[nodiscard]] std::size_t begin_of(const SharedRelation& relation) const {
        return place_.cut(relation.count, place_.own());
    }

    [[nodiscard]] std::size_t end_of(const SharedRelation& relation) const {
        return place_.cut(relation.count, place_.own() + 1);
    }

    // High bits: the tables of partitions use low ones.
    [[nodiscard]] std::size_t partition_of(const Tuple& tuple) const {
        return (hash_of(tuple.key) >> 32) % place_.all();
    }

    void count(const SharedRelation& relation) const {
        std::vector<std::uint64_t> counts(place_.all());
        for (std::size_t i = begin_of(relation); i < end_of(relation); ++i)
            ++counts[partition_of(relation.input[i])];
        std::copy(counts.begin(), counts.end(),
                  relation.counts.data() + place_.own() * place_.all());
    }

    // Where a partition begins.
    [[nodiscard]] std::size_t partition_at(const SharedRelation& relation,
                                           std::size_t partition) const {
        std::size_t at = 0;
        for (std::size_t rank = 0; rank < place_.all(); ++rank) {
            for (std::size_t i = 0; i < partition; ++i)
                at += relation.counts[rank * place_.all() + i];
        }
        return at;
    }

    void move(const SharedRelation& relation) const {
        std::vector<std::size_t> places;
        for (std::size_t partition = 0; partition < place_.all(); ++partition) {
            std::size_t at = partition_at(relation, partition);
            for (std::size_t rank = 0; rank < place_.own(); ++rank)
                at += relation.counts[rank * place_.all() + partition];
            places.push_back(at);
        }
        for (std::size_t i = begin_of(relation); i < end_of(relation); ++i) {
            const Tuple tuple = relation.input[i];
            relation.parted[places[partition_of(tuple)]++] = tuple;
        }
    }

    ProgramPlace place_;
    SharedRelation build_;
    SharedRelation probe_;
    SharedArray<JoinSum> results_;
    JoinSum alone_;
};

}  // namespace

std::unique_ptr<DsmProgram> make_hash_join(const ProgramPlace& place) {
    return std::make_unique<JoinProgram>(place);
}

}  // namespace acp::bench
