/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat in a plate or a cube: at each step every point moves towards the mean of its neighbours, and the edges stay cold. The points are
 * divided among a grid of processes of two or three dimensions. Before each step every process needs the outermost points of its
 * neighbours, its halo: a plan that was compiled once exchanges them, while the process computes the points that need none of them.
 *
 *   acprun -n 4 ./heat 2 2
 *   acprun -n 8 ./heat 2 2 2
 *
 * The first prints
 *
 *   4 ranks as 2 x 2: after 200 steps of 96 x 96 points the heat is what the closed form says
 *
 * usage: heat [-n POINTS] [-s STEPS] [PROCESSES PROCESSES [PROCESSES]]
 * It is linked with -lm. POINTS is for each dimension; without a grid the processes stand in one row. Exits with 1 when a point is not as hot as it should be, with 2
 * for a wrong command line.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>

enum { dimensions_max = 3 };

static const double pi = 3.14159265358979323846;
static const double error_max = 1e-12;

static void must(int holds, const char* complaint) {
    if (!holds) acp_abort(complaint);
}

/* What all processes share. A plate is a cube that is one point thick and has no halo on those two sides. */
typedef struct {
    int dimensions; /* 2 or 3; of the three places below the last ones are used */
    int members[dimensions_max];
    int points; /* along each dimension */
    int steps;
} problem_t;

/* The points of this process, and around them their halo, in two arrays that take turns. */
typedef struct {
    size_t first[dimensions_max]; /* its first point within the whole */
    size_t points[dimensions_max];
    size_t halo[dimensions_max];
    size_t stride
        [dimensions_max]; /* from a point to the next one; 0 where there is none, and no heat flows */
    size_t row, layer;    /* points with halo in one row, and in one layer of rows */
    double rate;
    double* now;
    double* next;
    acp_plan_t fill_now; /* fill the halos of the two arrays */
    acp_plan_t fill_next;
} part_t;

static double* point_of(const part_t* part, double* array, size_t z, size_t y, size_t x) {
    return array + (z + part->halo[0]) * part->layer + (y + part->halo[1]) * part->row + x +
           part->halo[2];
}

/* Of acp_malloc: there neighbours on the node read what they need without a copy between. */
static double* make_array(size_t count) {
    const acp_ga_t memory = acp_malloc(count * sizeof(double), acp_rank());
    must(memory != ACP_GA_NULL, "heat: no memory");
    double* const array = acp_query_address(memory);
    for (size_t i = 0; i < count; ++i) array[i] = 0;
    return array;
}

static acp_plan_t compile(const problem_t* problem, const part_t* part, double* array) {
    const acp_grid_t grid = {dimensions_max, problem->members, NULL, part->points,
                             part->halo,     sizeof(double),   1};
    const acp_pattern_t pattern = acp_create_pattern(acp_world_team());
    must(pattern != ACP_PATTERN_NULL && acp_add_halo_pattern(pattern, array, &grid) == 0,
         "heat: the processes have too few points");
    const acp_plan_t plan = acp_compile_pattern(pattern, NULL);
    must(plan != ACP_PLAN_NULL && acp_free_pattern(pattern) == 0, "heat: no plan");
    return plan;
}

static part_t make_part(const problem_t* problem) {
    part_t part = {.rate = 0.4 / problem->dimensions};
    int rest = acp_rank();
    for (int d = dimensions_max - 1; d >= 0; --d) {
        const size_t members = (size_t)problem->members[d], place = (size_t)rest % members;
        const size_t all = d < dimensions_max - problem->dimensions ? 1 : (size_t)problem->points;
        rest /= problem->members[d];
        part.first[d] = all * place / members;
        part.points[d] = all * (place + 1) / members - part.first[d];
        part.halo[d] = all > 1;
    }
    part.row = part.points[2] + 2 * part.halo[2];
    part.layer = part.row * (part.points[1] + 2 * part.halo[1]);
    part.stride[0] = part.layer * part.halo[0];
    part.stride[1] = part.row * part.halo[1];
    part.stride[2] = part.halo[2];
    const size_t count = part.layer * (part.points[0] + 2 * part.halo[0]);
    part.now = make_array(count);
    part.next = make_array(count);
    part.fill_now = compile(problem, &part, part.now);
    part.fill_next = compile(problem, &part, part.next);
    return part;
}

static void compute_row(const part_t* part, size_t z, size_t y, size_t begin, size_t end) {
    const double* const now = point_of(part, part->now, z, y, 0);
    double* const next = point_of(part, part->next, z, y, 0);
    const size_t* const to = part->stride;
    for (size_t x = begin; x < end; ++x) {
        const double* const at = now + x;
        const double around =
            at[to[0]] + *(at - to[0]) + at[to[1]] + *(at - to[1]) + at[to[2]] + *(at - to[2]);
        next[x] = *at + part->rate * (around - 6 * *at);
    }
}

static int is_inside(const part_t* part, int dimension, size_t place) {
    return part->halo[dimension] == 0 || (place > 0 && place + 1 < part->points[dimension]);
}

/* Either the points that need no halo, or those that do. */
static void compute(const part_t* part, int is_border) {
    const size_t end = part->points[2];
    for (size_t z = 0; z < part->points[0]; ++z) {
        for (size_t y = 0; y < part->points[1]; ++y) {
            const int is_inner_row = is_inside(part, 0, z) && is_inside(part, 1, y);
            if (is_inner_row && !is_border) {
                compute_row(part, z, y, 1, end - 1);
            } else if (is_inner_row) {
                compute_row(part, z, y, 0, 1);
                compute_row(part, z, y, end - 1, end);
            } else if (is_border) {
                compute_row(part, z, y, 0, end);
            }
        }
    }
}

static void step(part_t* part) {
    must(acp_start_plan(part->fill_now) == 0, "heat: a neighbour is lost");
    compute(part, 0);
    must(acp_wait_plan(part->fill_now) == 0, "heat: a neighbour is lost");
    compute(part, 1);
    double* const array = part->now;
    const acp_plan_t plan = part->fill_now;
    part->now = part->next;
    part->next = array;
    part->fill_now = part->fill_next;
    part->fill_next = plan;
}

/* Two waves, of one and of three halves along each edge. A step leaves their shape and shrinks each by a factor of its own. */
static double closed_form(const problem_t* problem,
                          const part_t* part,
                          const size_t* place,
                          int steps) {
    static const int halves[] = {1, 3};
    double sum = 0;
    for (int w = 0; w < 2; ++w) {
        const double angle = halves[w] * pi / (problem->points + 1);
        double wave = pow(1 - 4 * part->rate * problem->dimensions * pow(sin(angle / 2), 2), steps);
        for (int d = dimensions_max - problem->dimensions; d < dimensions_max; ++d)
            wave *= sin(angle * (double)(part->first[d] + place[d] + 1));
        sum += wave / halves[w];
    }
    return sum;
}

/* Sets all points as hot as they are after so many steps. Returns by how much they differed at most. */
static double set_all(const problem_t* problem, const part_t* part, int steps) {
    double worst = 0;
    size_t at[dimensions_max];
    for (at[0] = 0; at[0] < part->points[0]; ++at[0]) {
        for (at[1] = 0; at[1] < part->points[1]; ++at[1]) {
            for (at[2] = 0; at[2] < part->points[2]; ++at[2]) {
                double* const point = point_of(part, part->now, at[0], at[1], at[2]);
                const double right = closed_form(problem, part, at, steps);
                /* What is no number is wrong too. */
                if (!(fabs(*point - right) <= worst)) worst = fabs(*point - right);
                *point = right;
            }
        }
    }
    return worst;
}

/* Returns whether there is such a problem. */
static int read_arguments(int argc, char** argv, problem_t* problem) {
    int grid[dimensions_max], given = 0;
    for (int i = 1; i < argc; ++i) {
        const int is_steps = strcmp(argv[i], "-s") == 0;
        if (is_steps || strcmp(argv[i], "-n") == 0) {
            if (++i == argc) return 0;
            *(is_steps ? &problem->steps : &problem->points) = atoi(argv[i]);
        } else {
            if (given == dimensions_max) return 0;
            grid[given++] = atoi(argv[i]);
        }
    }
    if (given == 1) return 0;
    if (given == dimensions_max) problem->dimensions = dimensions_max;
    if (given == 0) problem->members[dimensions_max - 1] = acp_procs();
    for (int i = 0; i < given; ++i) problem->members[dimensions_max - given + i] = grid[i];
    int product = 1;
    for (int d = 0; d < dimensions_max; ++d) {
        if (problem->members[d] < 1 || problem->members[d] > problem->points / 2) return 0;
        product *= problem->members[d];
    }
    return product == acp_procs() && problem->steps >= 0;
}

static void print_sizes(const problem_t* problem, const int* sizes) {
    const int first = dimensions_max - problem->dimensions;
    for (int d = first; d < dimensions_max; ++d) printf("%s%d", d > first ? " x " : "", sizes[d]);
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        fprintf(stderr, "heat: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    problem_t problem = {2, {1, 1, 1}, 96, 200};
    if (!read_arguments(argc, argv, &problem)) {
        if (acp_rank() == 0) {
            fprintf(stderr,
                    "usage: heat [-n POINTS] [-s STEPS] [PROCESSES PROCESSES [PROCESSES]]\n"
                    "the grid has as many processes as the job, %d, and two points or more for "
                    "each\n",
                    acp_procs());
        }
        acp_finalize();
        return 2;
    }
    part_t part = make_part(&problem);
    (void)set_all(&problem, &part, 0);
    for (int i = 0; i < problem.steps; ++i) step(&part);
    double worst = set_all(&problem, &part, problem.steps);
    must(acp_allreduce_team(acp_world_team(), &worst, &worst, 1, ACP_DOUBLE, ACP_MAX) == 0,
         "heat: a rank is lost");
    const int is_right = worst <= error_max;
    if (acp_rank() == 0) {
        printf("%d ranks as ", acp_procs());
        print_sizes(&problem, problem.members);
        printf(": after %d steps of ", problem.steps);
        const int sizes[] = {problem.points, problem.points, problem.points};
        print_sizes(&problem, sizes);
        printf(" points the heat is %s\n", is_right ? "what the closed form says" : "WRONG");
    }
    must(acp_free_plan(part.fill_now) == 0 && acp_free_plan(part.fill_next) == 0, "heat");
    must(acp_finalize() == 0, "heat");
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
