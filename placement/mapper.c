/*
 * The mapper. Every placement it tries is a traversal of the ranks poured over a sequence of nodes:
 *
 *   traversal   the mesh's axes as digits, some of them split, in any order: first the digits that
 * fill a node (all of tp that fits), then strips: "two stages, all of dp, the other stages"
 *   sequence    the nodes by switch, with the leaves under each switch packed so that strips end
 * where leaves end
 *
 * A ring along a digit then meets each switch in one arc: it enters once and leaves once. Small
 * jobs are solved exactly, by trying each way to hand the cells of a traversal to the leaves;
 * larger ones by the best pair of traversal and sequence, improved by exchanging nodes until
 * nothing helps or the budget is spent. The budget counts ring edges, not time, so that the answer
 * never depends on the machine.
 */
#include "mapper.h"
#include "sequence.h"

#include <stdlib.h>
#include <string.h>

#define BUDGET_EXACT 4000000L     /* edges that one exhaustive search may cost */
#define BUDGET_FILLINGS 16000000L /* edges for such searches, one per way to fill a node */
#define BUDGET_TRY 4000000L       /* edges for trying traversals x sequences */
#define BUDGET_SWAP 6000000L      /* edges for exchanging nodes */
#define LEAST_TRIES 20            /* however large the job is */

struct digit {
    int stride, size;
};

#define DIGITS_MAX (2 * BERTH_AXES_MAX + 2)

struct traversal {
    int n, inner; /* digits fastest first; the first `inner` fill a node */
    struct digit digits[DIGITS_MAX];
    bool snake; /* every pass over the outer digits turns round */
};

struct search {
    const struct job *job;
    struct cost_model *model;
    struct placement *best;
    struct cost *best_cost;
    struct placement trial;
    struct cost trial_cost;
    int *ranks;      /* of the traversal in hand */
    int *best_ranks; /* traversal and sequence behind the best so far, if any is */
    int *best_order;
    int *order;
    bool improved;
    bool exact;        /* one traversal per filling will do: all orders of its cells are tried */
    bool stop;         /* the budget is spent: no further traversal */
    long spent, edges; /* edges: what one evaluation costs */
    struct sequences *sequences;
};

/* Ranks in the order of a traversal. */
static void traverse(const struct traversal *t, int world, int *ranks)
{
    int at[DIGITS_MAX] = {0}, step[DIGITS_MAX], rank = 0;

    for (int i = 0; i < t->n; i++)
        step[i] = 1;
    for (int k = 0; k < world; k++) {
        ranks[k] = rank;
        for (int i = 0; i < t->n; i++) {
            const struct digit *d = &t->digits[i];
            int next = at[i] + step[i];
            if (next >= 0 && next < d->size) {
                at[i] = next;
                rank += step[i] * d->stride;
                break;
            }
            if (t->snake && i >= t->inner) {
                step[i] = -step[i];
            } else {
                rank -= at[i] * d->stride;
                at[i] = 0;
            }
        }
    }
}

/* Evaluates s->ranks over `order`, and keeps it if it is better. */
static bool try_order(struct search *s, const int *order)
{
    placement_pour(s->job, s->ranks, order, &s->trial);
    cost_evaluate(s->model, &s->trial, &s->trial_cost);
    s->spent += s->edges;
    if (!cost_better(&s->trial_cost, s->best_cost))
        return false;
    struct placement p = *s->best;
    *s->best = s->trial;
    s->trial = p;
    struct cost c = *s->best_cost;
    *s->best_cost = s->trial_cost;
    s->trial_cost = c;
    memcpy(s->best_ranks, s->ranks, (size_t)s->job->mesh.world * sizeof(int));
    memmove(s->best_order, order, (size_t)s->job->n_nodes * sizeof(int));
    s->improved = true;
    return true;
}

/* ---- exact: every way to give cells to classes of equal nodes ---- */

static bool next_permutation(int *label, int n)
{
    int i = n - 2, j = n - 1;
    while (i >= 0 && label[i] >= label[i + 1])
        i--;
    if (i < 0)
        return false;
    while (label[j] <= label[i])
        j--;
    int t = label[i];
    label[i] = label[j];
    label[j] = t;
    for (i++, j = n - 1; i < j; i++, j--) {
        t = label[i];
        label[i] = label[j];
        label[j] = t;
    }
    return true;
}

/* n! / (product of class sizes!), or a number above `limit`. */
static double arrangements(const struct sequences *q, int n, double limit)
{
    double ways = 1;
    int placed = 0;
    for (int c = 0; c < q->n_classes; c++)
        for (int i = 1; i <= q->class_size[c]; i++) {
            placed++;
            ways = ways * placed / i;
            if (ways > limit * n)
                return ways;
        }
    return ways;
}

static void solve_exactly(struct search *s, int *label)
{
    const struct sequences *q = s->sequences;
    int n = s->job->n_nodes, k = 0;

    for (int c = 0; c < q->n_classes; c++)
        for (int i = 0; i < q->class_size[c]; i++)
            label[k++] = c;
    do {
        int used[SEQUENCE_CLASSES_MAX] = {0};
        for (int i = 0; i < n; i++)
            s->order[i] = q->class_nodes[q->class_first[label[i]] + used[label[i]]++];
        try_order(s, s->order);
    } while (next_permutation(label, n));
}

/* ---- traversals ---- */

typedef void (*traversal_visit)(struct search *s, struct traversal *t, void *arg);

/* Strips: the outer digits in every order, at most one of them split into a fast and a slow part.
 */
static void strips(struct search *s, struct traversal *t, const struct digit *outer, int n,
                   bool *used, int placed, struct digit slow, traversal_visit visit, void *arg)
{
    if (s->stop)
        return;
    if (placed == n) {
        int digits = t->n;
        if (slow.size > 1)
            t->digits[t->n++] = slow;
        for (int snake = 0; snake < 2; snake++) {
            t->snake = snake;
            visit(s, t, arg);
        }
        t->n = digits;
        return;
    }
    for (int i = 0; i < n; i++) {
        if (used[i])
            continue;
        used[i] = true;
        for (int part = outer[i].size; part >= 1; part--) {
            bool split = part < outer[i].size;
            if (outer[i].size % part || (split && (placed || part == 1 || n == 1)))
                continue;
            struct digit rest = {outer[i].stride * part, outer[i].size / part};
            t->digits[t->n++] = (struct digit){outer[i].stride, part};
            strips(s, t, outer, n, used, placed + 1, split ? rest : slow, visit, arg);
            t->n--;
        }
        used[i] = false;
    }
}

/* With the node filled: what is left of each axis are the outer digits. */
static void outer_digits(struct search *s, const int *factor, traversal_visit visit, void *arg)
{
    const struct berth_mesh *mesh = &s->job->mesh;
    struct digit outer[BERTH_AXES_MAX];
    bool used[BERTH_AXES_MAX] = {false};
    struct traversal t = {0};
    int n = 0;

    for (int a = 0; a < mesh->n_axes; a++) {
        const struct berth_axis *axis = &mesh->axes[a];
        if (factor[a] > 1)
            t.digits[t.n++] = (struct digit){axis->stride, factor[a]};
        if (axis->size / factor[a] > 1)
            outer[n++] = (struct digit){axis->stride * factor[a], axis->size / factor[a]};
    }
    t.inner = t.n;
    if (s->exact) {
        memcpy(&t.digits[t.n], outer, (size_t)n * sizeof(*outer));
        t.n += n;
        visit(s, &t, arg);
        return;
    }
    strips(s, &t, outer, n, used, 0, (struct digit){0, 1}, visit, arg);
}

static int common_divisor(int a, int b)
{
    while (b) {
        int t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* Every way to fill a node of `left` slots with factors of the axes; tp takes all it can. */
static void node_fillings(struct search *s, int axis, int left, int *factor, traversal_visit visit,
                          void *arg)
{
    const struct berth_mesh *mesh = &s->job->mesh;

    if (s->stop)
        return;
    if (axis == mesh->n_axes) {
        if (left == 1)
            outer_digits(s, factor, visit, arg);
        return;
    }
    int size = mesh->axes[axis].size, most = common_divisor(size, left);
    bool tensor = !strcmp(mesh->axes[axis].name, "tp");
    for (int f = most; f >= 1; f--) {
        if (size % f || left % f || (tensor && f != most))
            continue;
        factor[axis] = f;
        node_fillings(s, axis + 1, left / f, factor, visit, arg);
    }
}

/* One launcher per node: a node holds consecutive ranks, so its digits are the order's own. */
static bool natural_filling(const struct berth_mesh *mesh, int slots, int *factor)
{
    for (int a = 0; a < mesh->n_axes; a++) {
        int size = mesh->axes[a].size;
        if (slots >= size ? slots % size : size % slots)
            return false;
        factor[a] = slots >= size ? size : slots;
        slots /= factor[a];
    }
    return slots == 1;
}

static void each_traversal(struct search *s, traversal_visit visit, void *arg)
{
    const struct job *job = s->job;
    int factor[BERTH_AXES_MAX];

    for (int a = 0; a < BERTH_AXES_MAX; a++)
        factor[a] = 1;
    if (job->blocks) {
        struct traversal natural = {.n = 1, .inner = 1, .digits = {{1, job->mesh.world}}};
        if (s->sequences->slots && natural_filling(&job->mesh, s->sequences->slots, factor))
            outer_digits(s, factor, visit, arg);
        else
            visit(s, &natural, arg);
    } else if (s->sequences->slots) {
        node_fillings(s, 0, s->sequences->slots, factor, visit, arg);
    } else {
        /* unequal nodes: no filling fits all, so pour tp first and let nodes end where they end */
        int tp = berth_mesh_axis(&job->mesh, "tp");
        if (tp >= 0 && tp < job->mesh.n_axes)
            factor[tp] = job->mesh.axes[tp].size;
        outer_digits(s, factor, visit, arg);
    }
}

static void visit_exactly(struct search *s, struct traversal *t, void *label)
{
    s->stop = s->spent > BUDGET_FILLINGS;
    if (s->stop)
        return;
    traverse(t, s->job->mesh.world, s->ranks);
    solve_exactly(s, label);
}

/* The likeliest pairs go first, so that a budget cuts the unlikely ones. */
struct pass {
    bool likely; /* turning round, over packed leaves; else all that is not */
    int tries;
};

static void visit_sequences(struct search *s, struct traversal *t, void *arg)
{
    struct pass *pass = arg;
    int strip = 1;

    if (pass->likely && !t->snake)
        return;
    s->stop = s->spent > BUDGET_TRY && pass->tries >= LEAST_TRIES;
    if (s->stop)
        return;
    for (int i = t->inner; i < t->n - 1; i++)
        strip *= t->digits[i].size;
    traverse(t, s->job->mesh.world, s->ranks);
    s->spent += s->job->mesh.world;
    for (int kind = 0; kind < SEQUENCE_KINDS; kind++) {
        if ((t->snake && kind == SEQUENCE_PACKED) != pass->likely)
            continue;
        sequence_make(s->sequences, (enum sequence_kind)kind, strip, s->order);
        try_order(s, s->order);
        pass->tries++;
    }
}

/* ---- exchanging nodes ---- */

static void exchange_nodes(struct search *s)
{
    const int *class_of = s->sequences->class_of;
    int n = s->job->n_nodes;
    bool helped = true;

    memcpy(s->ranks, s->best_ranks, (size_t)s->job->mesh.world * sizeof(int));
    s->spent = 0;
    if (s->edges * n > BUDGET_SWAP)
        return; /* not even one node could be tried against all others */
    while (helped && s->spent < BUDGET_SWAP) {
        helped = false;
        for (int i = 0; i < n && s->spent < BUDGET_SWAP; i++)
            for (int j = i + 1; j < n && s->spent < BUDGET_SWAP; j++) {
                if (class_of[s->best_order[i]] == class_of[s->best_order[j]])
                    continue; /* alike: no cost would change */
                memcpy(s->order, s->best_order, (size_t)n * sizeof(int));
                int t = s->order[i];
                s->order[i] = s->order[j];
                s->order[j] = t;
                helped |= try_order(s, s->order);
            }
    }
}

static long edges_per_evaluation(const struct job *job)
{
    long edges = job->n_nodes + job->cluster->n_switches;
    for (int i = 0; i < job->traffic.n; i++)
        edges += 2L * job->mesh.world * (job->traffic.items[i].kind == TRAFFIC_ALLTOALL ? 2 : 1);
    return edges;
}

static void search_run(struct search *s)
{
    struct pass pass = {.likely = true};
    double affordable = (double)BUDGET_EXACT / (double)s->edges;

    if (s->sequences->n_classes <= SEQUENCE_CLASSES_MAX &&
        arrangements(s->sequences, s->job->n_nodes, affordable) <= affordable) {
        int *label = malloc((size_t)s->job->n_nodes * sizeof(int));
        if (label) {
            s->exact = true;
            each_traversal(s, visit_exactly, label);
            s->exact = s->stop = false;
            s->spent = 0;
            free(label);
            if (s->sequences->slots)
                return; /* unequal nodes: another traversal makes other cells */
        }
    }
    each_traversal(s, visit_sequences, &pass);
    pass.likely = s->stop = false;
    each_traversal(s, visit_sequences, &pass);
    if (!s->improved) {
        /* Slurm's own order won so far: exchange nodes from there */
        for (int r = 0; r < s->job->mesh.world; r++)
            s->best_ranks[r] = r;
        sequence_make(s->sequences, SEQUENCE_TOPOLOGY, 1, s->best_order);
    }
    exchange_nodes(s);
}

int mapper_solve(const struct job *job, struct cost_model *model, struct placement *best,
                 struct cost *cost, struct berth_error *err)
{
    size_t world = (size_t)job->mesh.world, nodes = (size_t)job->n_nodes;
    struct search s = {.job = job, .model = model, .best = best, .best_cost = cost};
    int rv = -1;

    s.edges = edges_per_evaluation(job);
    s.ranks = malloc(world * sizeof(int));
    s.best_ranks = malloc(world * sizeof(int));
    s.best_order = malloc(nodes * sizeof(int));
    s.order = malloc(nodes * sizeof(int));
    s.sequences = sequences_new(job);
    if (!s.ranks || !s.best_ranks || !s.best_order || !s.order || !s.sequences) {
        berth_error_memory(err);
        goto out;
    }
    if (placement_init(&s.trial, job->mesh.world, err) || cost_init(&s.trial_cost, job, err))
        goto out;
    search_run(&s);
    rv = 0;
out:
    placement_clear(&s.trial);
    cost_clear(&s.trial_cost);
    sequences_free(s.sequences);
    free(s.ranks);
    free(s.best_ranks);
    free(s.best_order);
    free(s.order);
    return rv;
}
