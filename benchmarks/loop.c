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
