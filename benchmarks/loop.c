/* The loop of kernelbandits.compiled.play_index in C: the same equations in the same order, so the same arms. */

#include <math.h>
#include <stdint.h>

#define TIE_TOLERANCE 1e-12
#define ROUNDING (1 + 1e-6)

typedef struct {
    double *restrict mean, *restrict cov;
    int64_t *restrict counts;
    double *restrict sums, *restrict lost, *restrict ceiling, *restrict totals;
} State;

static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

/* index = mean + scale * sd */
static void fill_index(double *restrict index, const State *s, int64_t n, double scale) {
    for (int64_t i = 0; i < n; i++) index[i] = s->mean[i] + scale * sqrt(larger(s->cov[i * n + i], 0.0));
}

/* The arm of the greatest index, ties within 1e-12 max(1, |best|) settled by u or by the lowest number. */
static int64_t best_arm(const double *restrict index, int64_t n, int lowest, double u) {
    double best = index[0];
    for (int64_t i = 1; i < n; i++) best = larger(best, index[i]);
    double threshold = best - TIE_TOLERANCE * larger(1.0, fabs(best));
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += index[i] >= threshold;
    int64_t wanted = lowest ? 0 : (int64_t)(u * count);
    for (int64_t i = 0; i < n; i++)
        if (index[i] >= threshold && wanted-- == 0) return i;
    return 0;
}

/* mean += c (y - mean[arm]) / e, cov -= c c' / e with e = c[arm] + ridge; the step of the log-determinant. */
static double condition(State *s, double *restrict column, int64_t n, int64_t arm, double reward, double ridge) {
    double *restrict cov = s->cov, *restrict mean = s->mean;
    double variance = cov[arm * n + arm], evidence = variance + ridge;
    if (!(variance > 0)) return 0.0;
    double step = (reward - mean[arm]) / evidence, root = 1.0 / sqrt(evidence);
    for (int64_t i = 0; i < n; i++) {
        mean[i] += cov[arm * n + i] * step;
        column[i] = cov[arm * n + i] * root;
    }
    for (int64_t i = 0; i < n; i++) {
        double scaled = column[i], *restrict row = cov + i * n;
        for (int64_t j = 0; j < n; j++) row[j] -= scaled * column[j];
    }
    return log1p(variance / ridge);
}

/* Neumaier's sum of the rewards, their count, and the ceiling ridge / n of the arm's variance. */
static void tally(State *s, int64_t arm, double reward, double ridge) {
    double before = s->sums[arm], after = before + reward;
    s->sums[arm] = after;
    s->lost[arm] += fabs(before) >= fabs(reward) ? (before - after) + reward : (reward - after) + before;
    s->counts[arm] += 1;
    s->ceiling[arm] = smaller(s->ceiling[arm], ROUNDING * ridge / s->counts[arm]);
}

static int64_t greatest(const double *restrict mean, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (mean[i] > mean[best]) best = i;
    return best;
}

/* Rounds 1..horizon of mean + w_t (a_t + sqrt(b_t + c_t L)) sd: the round reached. */
int64_t play_index(State *s, int64_t n, const double *restrict values, const double *restrict noise,
                   const double *restrict widths, const double *restrict weights, const double *restrict ties,
                   int32_t *restrict arms, int32_t *restrict recommended, double ridge, int lowest,
                   int64_t horizon) {
    double index[n], column[n];
    for (int64_t t = 0; t < horizon; t++) {
        double width = widths[3 * t] + sqrt(widths[3 * t + 1] + widths[3 * t + 2] * s->totals[0]);
        fill_index(index, s, n, weights[t] * width);
        int64_t arm = best_arm(index, n, lowest, ties[t]);
        double reward = values[arm] + noise[t], variance = s->cov[arm * n + arm];
        int sound = 0.0 <= variance && variance <= s->ceiling[arm];
        s->totals[0] += condition(s, column, n, arm, reward, ridge);
        s->totals[1] = larger(s->totals[1], fabs(reward));
        s->totals[2] += variance < 0;
        tally(s, arm, reward, ridge);
        arms[t] = (int32_t)arm;
        recommended[t] = (int32_t)greatest(s->mean, n);
        if (!sound) return t + 1;
    }
    return horizon;
}

/* ------------------------------------------------------------------------------------------------
   Distinct arms: the rows V = L^-1 k(played, .) with L L' = K + ridge I, and S with
   cov(x, z) = k(x, z) - V(x)' S V(z). A first play computes the Matern kernel (nu = 5/2) and needs two
   combinations of the rows, a repeat one, a repeat in succession none. */

#define AT_ONCE 512

static void combine(double *restrict out, const double *restrict rows, const double *restrict weights, int64_t m,
                    int64_t n, int64_t start, int64_t size) {
    for (int64_t j = 0; j < size; j++) out[j] = 0.0;
    int64_t i = 0;
    for (; i + 4 <= m; i += 4) {
        const double *r = rows + i * n + start;
        double a = weights[i], b = weights[i + 1], c = weights[i + 2], d = weights[i + 3];
        for (int64_t j = 0; j < size; j++)
            out[j] += (a * r[j] + b * r[n + j]) + (c * r[2 * n + j] + d * r[3 * n + j]);
    }
    for (; i < m; i++)
        for (int64_t j = 0; j < size; j++) out[j] += weights[i] * rows[i * n + start + j];
}

/* k(arm, .) of a block of arms; the points are stored by coordinate, in units of the lengthscale. */
static void matern52(double *restrict out, const double *restrict points, int64_t n, int64_t d, int64_t arm,
                     int64_t start, int64_t size) {
    for (int64_t j = 0; j < size; j++) out[j] = 0.0;
    for (int64_t c = 0; c < d; c++) {
        double x = points[c * n + arm];
        for (int64_t j = 0; j < size; j++) {
            double apart = points[c * n + start + j] - x;
            out[j] += apart * apart;
        }
    }
    for (int64_t j = 0; j < size; j++) {
        double a = sqrt(5.0 * out[j]);
        out[j] = (1.0 + a + a * a / 3.0) * exp(-a);
    }
}

/* Rounds 1..horizon on a pool whose kernel has variance 1; the number of distinct arms played.
   `rows` has room for `room` rows, `factor` and `core` for room x room numbers, `work` for 4 n + 4 room. */
int64_t play_distinct(const double *restrict points, int64_t n, int64_t d, const double *restrict values,
                      const double *restrict noise, const double *restrict widths, const double *restrict weights,
                      const double *restrict ties, int32_t *restrict arms, int32_t *restrict recommended,
                      double ridge, int lowest, int64_t horizon, int64_t room, double *restrict rows,
                      double *restrict factor, double *restrict core, double *restrict work,
                      int64_t *restrict slots) {
    double *mean = work, *variance = work + n, *index = work + 2 * n, *column = work + 3 * n;
    double *p = work + 4 * n, *e = p + room, *q = e + room, log_det = 0.0, keep = 0.0;
    int64_t m = 0, last_arm = -1;
    double scale = weights[0] * (widths[0] + sqrt(widths[1]));
    for (int64_t i = 0; i < n; i++) {
        mean[i] = 0.0, variance[i] = 1.0, index[i] = scale, slots[i] = -1;
    }
    for (int64_t t = 0; t < horizon; t++) {
        int64_t arm = best_arm(index, n, lowest, ties[t]), slot = slots[arm], fresh = slot < 0;
        double left, pivot = 0.0;
        if (arm == last_arm) {
            for (int64_t i = 0; i < m; i++) q[i] *= keep;
            left = column[arm] * keep;
        } else {
            keep = 0.0;
            for (int64_t i = 0; i < m; i++) p[i] = rows[i * n + arm], e[i] = 0.0;
            for (int64_t j = 0; j < m; j++)
                for (int64_t i = 0; i < m; i++) e[i] += core[j * room + i] * p[j];
            double own = 0.0;
            left = 0.0;
            for (int64_t i = 0; i < m; i++) {
                q[i] = (fresh ? p[i] : factor[slot * room + i]) - e[i];
                own += p[i] * p[i];
                left += fresh ? p[i] * e[i] : q[i] * p[i];
            }
            if (fresh) {
                left = 1.0 - left;
                pivot = sqrt(ridge + larger(1.0 - own, 0.0));
                for (int64_t i = 0; i < m; i++) factor[m * room + i] = p[i];
                factor[m * room + m] = q[m] = pivot;
                slots[arm] = m;
            }
        }
        double evidence = left + ridge, reward = values[arm] + noise[t];
        double step = (reward - mean[arm]) / evidence, root = 1.0 / sqrt(evidence);
        log_det += log1p(left / ridge);
        scale = 0.0;
        if (t + 1 < horizon)
            scale = weights[t + 1] * (widths[3 * t + 3] + sqrt(widths[3 * t + 4] + widths[3 * t + 5] * log_det));
        for (int64_t start = 0; start < n; start += AT_ONCE) {
            int64_t size = n - start < AT_ONCE ? n - start : AT_ONCE;
            double *c = column + start, kernel[AT_ONCE], part[AT_ONCE];
            if (keep != 0.0) {
                for (int64_t j = 0; j < size; j++) c[j] *= keep;
            } else if (!fresh) {
                combine(c, rows, q, m, n, start, size);
            } else {
                matern52(kernel, points, n, d, arm, start, size);
                combine(part, rows, p, m, n, start, size);
                combine(c, rows, e, m, n, start, size);
                for (int64_t j = 0; j < size; j++) {
                    rows[m * n + start + j] = (kernel[j] - part[j]) / pivot;
                    c[j] = kernel[j] - c[j];
                }
            }
            for (int64_t j = start; j < start + size; j++) {
                double scaled = column[j] * root;
                mean[j] += column[j] * step;
                variance[j] -= scaled * scaled;
                index[j] = mean[j] + scale * sqrt(larger(variance[j], 0.0));
            }
        }
        m += fresh;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < m; j++) core[i * room + j] += q[i] / evidence * q[j];
        arms[t] = (int32_t)arm;
        recommended[t] = (int32_t)greatest(mean, n);
        last_arm = arm;
        keep = ridge / evidence;
    }
    return m;
}
