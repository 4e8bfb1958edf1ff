/* The best point of a box by a compiled multi-start: Matern kernel (nu = 5/2), index mean + beta sd.

   Candidates are evaluated eight at a time; the best of them that are not within half a lengthscale of each
   other ascend by projected BFGS. Every third step the lower half of the starts stops, until five are left. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define MOST_D 16
#define AT_ONCE 8
#define LONGEST 2.0
#define FIRST 0.3

typedef struct {
    const double *restrict points, *restrict inverse, *restrict alpha; /* (m, d), (m, m) lower, (m,) */
    int64_t m, d;
    double beta;
    const double *restrict lower, *restrict upper;
    double *restrict work; /* 3 m numbers, then 8 (m + 1) */
} Index;

typedef struct {
    double x[MOST_D], g[MOST_D], h[MOST_D * MOST_D], value;
    int active, fresh;
} Start;

/* Index and gradient at one point; the rows of the inverse factor are read once. */
static double slope(const Index *f, const double *x, double *g) {
    int64_t m = f->m, d = f->d;
    double *restrict k = f->work, *restrict s = k + m, *restrict w = s + m, mean = 0.0, explained = 0.0;
    for (int64_t j = 0; j < m; j++) {
        double square = 0.0;
        for (int64_t c = 0; c < d; c++) {
            double apart = x[c] - f->points[j * d + c];
            square += apart * apart;
        }
        k[j] = square;
    }
    for (int64_t j = 0; j < m; j++) {
        double a = sqrt(5.0 * k[j]), decay = exp(-a);
        k[j] = (1.0 + a + a * a / 3.0) * decay;
        s[j] = 5.0 / 3.0 * (1.0 + a) * decay;
        mean += f->alpha[j] * k[j];
        w[j] = 0.0;
    }
    for (int64_t i = 0; i < m; i++) {
        const double *restrict row = f->inverse + i * m;
        double v = 0.0;
        for (int64_t j = 0; j <= i; j++) v += row[j] * k[j];
        for (int64_t j = 0; j <= i; j++) w[j] += v * row[j];
        explained += v * v;
    }
    double sd = sqrt(fmax(1.0 - explained, 1e-300));
    for (int64_t c = 0; c < d; c++) g[c] = 0.0;
    for (int64_t j = 0; j < m; j++) {
        double pull = -s[j] * (f->alpha[j] - f->beta / sd * w[j]);
        for (int64_t c = 0; c < d; c++) g[c] += pull * (x[c] - f->points[j * d + c]);
    }
    return mean + f->beta * sd;
}

/* The index of eight rows. */
static void values_of_eight(const Index *f, const double *rows, double *out) {
    int64_t m = f->m, d = f->d;
    double *restrict k = f->work + 3 * m, mean[AT_ONCE] = {0}, explained[AT_ONCE] = {0};
    for (int64_t j = 0; j < m; j++) {
        double square[AT_ONCE] = {0};
        for (int64_t c = 0; c < d; c++)
            for (int64_t b = 0; b < AT_ONCE; b++) {
                double apart = rows[b * d + c] - f->points[j * d + c];
                square[b] += apart * apart;
            }
        for (int64_t b = 0; b < AT_ONCE; b++) {
            double a = sqrt(5.0 * square[b]);
            k[j * AT_ONCE + b] = (1.0 + a + a * a / 3.0) * exp(-a);
            mean[b] += f->alpha[j] * k[j * AT_ONCE + b];
        }
    }
    int64_t i = 0;
    for (; i + 4 <= m; i += 4) { /* four rows of the factor for one reading of the kernels */
        const double *restrict r = f->inverse + i * m;
        double v[4][AT_ONCE] = {{0}};
        for (int64_t j = 0; j < i + 4; j++)
            for (int64_t b = 0; b < AT_ONCE; b++) {
                double value = k[j * AT_ONCE + b];
                v[0][b] += r[j] * value, v[1][b] += r[m + j] * value;
                v[2][b] += r[2 * m + j] * value, v[3][b] += r[3 * m + j] * value;
            }
        for (int64_t a = 0; a < 4; a++)
            for (int64_t b = 0; b < AT_ONCE; b++) explained[b] += v[a][b] * v[a][b];
    }
    for (; i < m; i++) {
        double v[AT_ONCE] = {0};
        for (int64_t j = 0; j <= i; j++)
            for (int64_t b = 0; b < AT_ONCE; b++) v[b] += f->inverse[i * m + j] * k[j * AT_ONCE + b];
        for (int64_t b = 0; b < AT_ONCE; b++) explained[b] += v[b] * v[b];
    }
    for (int64_t b = 0; b < AT_ONCE; b++) out[b] = mean[b] + f->beta * sqrt(fmax(1.0 - explained[b], 0.0));
}

/* The best rows of which no two are within half a lengthscale: their number. */
static int64_t separate(const double *rows, double *heights, int64_t n, int64_t d, int64_t count, Start *starts) {
    int64_t found = 0;
    while (found < count) {
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++)
            if (heights[i] > heights[best]) best = i;
        if (heights[best] == -INFINITY) break;
        Start *s = &starts[found++];
        memset(s, 0, sizeof *s);
        memcpy(s->x, rows + best * d, d * sizeof(double));
        for (int64_t i = 0; i < n; i++) {
            double square = 0.0;
            for (int64_t c = 0; c < d; c++) {
                double apart = rows[i * d + c] - s->x[c];
                square += apart * apart;
            }
            if (square <= 0.25) heights[i] = -INFINITY;
        }
    }
    return found;
}

/* One step of projected BFGS with halving; the start stops when its predicted rise is below `least`. */
static int64_t step(const Index *f, Start *s, double least) {
    int64_t d = f->d, evaluations = 0;
    double p[MOST_D], x[MOST_D], g[MOST_D], rise = 0.0, length = 0.0;
    int held[MOST_D];
    for (int64_t c = 0; c < d; c++)
        held[c] = (s->x[c] <= f->lower[c] && s->g[c] <= 0) || (s->x[c] >= f->upper[c] && s->g[c] >= 0);
    for (int64_t c = 0; c < d; c++) {
        p[c] = 0.0;
        for (int64_t e = 0; e < d; e++)
            if (!held[c] && !held[e]) p[c] += s->h[c * d + e] * s->g[e];
        rise += p[c] * s->g[c], length += p[c] * p[c];
    }
    length = sqrt(length);
    double longest = s->fresh ? FIRST : LONGEST;
    if (length > longest || s->fresh) {
        double cut = length > 0 ? longest / length : 0.0;
        for (int64_t c = 0; c < d; c++) p[c] *= cut;
        rise *= cut;
    }
    if (!(rise > least)) {
        s->active = 0;
        return 0;
    }
    for (double share = 1.0;; share *= 0.4) {
        double value, promised = 0.0;
        for (int64_t c = 0; c < d; c++) {
            x[c] = fmin(fmax(s->x[c] + share * p[c], f->lower[c]), f->upper[c]);
            promised += s->g[c] * (x[c] - s->x[c]);
        }
        value = slope(f, x, g), evaluations++;
        if (value >= s->value + 1e-4 * promised) {
            double y[MOST_D], hy[MOST_D], sy = 0.0, yhy = 0.0;
            for (int64_t c = 0; c < d; c++) p[c] = x[c] - s->x[c], y[c] = s->g[c] - g[c], sy += p[c] * y[c];
            if (sy > 1e-14) {
                if (s->fresh) {
                    double yy = 0.0;
                    for (int64_t c = 0; c < d; c++) yy += y[c] * y[c];
                    for (int64_t c = 0; c < d * d; c++) s->h[c] = 0.0;
                    for (int64_t c = 0; c < d; c++) s->h[c * d + c] = sy / yy;
                }
                for (int64_t c = 0; c < d; c++) {
                    hy[c] = 0.0;
                    for (int64_t e = 0; e < d; e++) hy[c] += s->h[c * d + e] * y[e];
                    yhy += y[c] * hy[c];
                }
                for (int64_t c = 0; c < d; c++)
                    for (int64_t e = 0; e < d; e++)
                        s->h[c * d + e] +=
                            (1.0 + yhy / sy) * p[c] * p[e] / sy - (hy[c] * p[e] + p[c] * hy[e]) / sy;
                s->fresh = 0;
            }
            memcpy(s->x, x, sizeof x), memcpy(s->g, g, sizeof g);
            s->value = value;
            return evaluations;
        }
        if (share < 1e-9) {
            s->active = 0;
            return evaluations;
        }
    }
}

/* The lower half of the active starts stops. */
static void drop_lower_half(Start *starts, int64_t count, int64_t active) {
    for (int64_t stops = active / 2; stops > 0; stops--) {
        int64_t lowest = -1;
        for (int64_t i = 0; i < count; i++)
            if (starts[i].active && (lowest < 0 || starts[i].value < starts[lowest].value)) lowest = i;
        starts[lowest].active = 0;
    }
}

/* The largest index found; `best` is its row. The count of evaluations with gradient goes to `evaluations`. */
double maximise(const Index *f, const double *rows, int64_t n, double *heights, Start *starts, int64_t count,
                int64_t steps, double *best, int64_t *evaluations) {
    int64_t d = f->d;
    for (int64_t i = 0; i < n; i += AT_ONCE) values_of_eight(f, rows + i * d, heights + i);
    count = separate(rows, heights, n, d, count, starts);
    *evaluations = 0;
    double least = 1e300, most = -1e300;
    for (int64_t i = 0; i < count; i++) {
        Start *s = &starts[i];
        s->value = slope(f, s->x, s->g), s->active = s->fresh = 1, (*evaluations)++;
        for (int64_t c = 0; c < d; c++) s->h[c * d + c] = 1.0;
        least = fmin(least, s->value), most = fmax(most, s->value);
    }
    for (int64_t t = 1; t <= steps; t++) {
        int64_t active = 0;
        for (int64_t i = 0; i < count; i++)
            if (starts[i].active) *evaluations += step(f, &starts[i], 1e-10 * (most - least));
        for (int64_t i = 0; i < count; i++) active += starts[i].active;
        if (!active) break;
        if (t % 3 == 0 && active > 5) drop_lower_half(starts, count, active);
    }
    int64_t top = 0;
    for (int64_t i = 1; i < count; i++)
        if (starts[i].value > starts[top].value) top = i;
    memcpy(best, starts[top].x, d * sizeof(double));
    return starts[top].value;
}

int64_t start_bytes(void) { return sizeof(Start); }
