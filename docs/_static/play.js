/* The figure of "One number a round": a Gaussian process on 61 arms, played in the page.
   Everything is computed here; nothing is fetched. */
"use strict";

(function () {
  const ARMS = 61;
  const LENGTH = 0.1;
  const NOISE = 0.15;
  const RIDGE = NOISE * NOISE;
  const points = Array.from({ length: ARMS }, (_, i) => i / (ARMS - 1));

  /* A small generator, so that a seed gives the same game for everybody (mulberry32). */
  function generator(seed) {
    let state = seed >>> 0;
    return function () {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  function normal(random) {
    return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  }

  const kernel = (x, z) => Math.exp(-((x - z) ** 2) / (2 * LENGTH * LENGTH));

  /* The weight w_t of each law. */
  const LAWS = {
    always: { name: "w = 1 in every round (UCB)", draw: () => 1 },
    bernoulli: {
      name: "w = 1 with chance p, else 0 (Bernoulli)",
      draw: (random, p) => (random() < p ? 1 : 0),
    },
    gaussian: { name: "w is normal (like Thompson sampling)", draw: (random) => normal(random) },
    never: { name: "w = 0 in every round (greedy)", draw: () => 0 },
  };

  /* Mean and standard deviation of all arms after some results, by the Cholesky factor of K + ridge. */
  function posterior(results) {
    const n = results.length;
    if (n === 0) return { mean: points.map(() => 0), sd: points.map(() => 1) };
    const L = [];
    for (let i = 0; i < n; i++) {
      L.push(new Float64Array(n));
      for (let j = 0; j <= i; j++) {
        let sum = kernel(points[results[i].arm], points[results[j].arm]) + (i === j ? RIDGE : 0);
        for (let k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
        L[i][j] = i === j ? Math.sqrt(sum) : sum / L[j][j];
      }
    }
    const solve = (b) => {
      const x = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        let sum = b[i];
        for (let k = 0; k < i; k++) sum -= L[i][k] * x[k];
        x[i] = sum / L[i][i];
      }
      return x;
    };
    const y = solve(results.map((one) => one.reward));
    const mean = [];
    const sd = [];
    for (const x of points) {
      const v = solve(results.map((one) => kernel(x, points[one.arm])));
      let m = 0;
      let s = 1;
      for (let i = 0; i < n; i++) {
        m += v[i] * y[i];
        s -= v[i] * v[i];
      }
      mean.push(m);
      sd.push(Math.sqrt(Math.max(s, 1e-9)));
    }
    return { mean, sd };
  }

  function makeTruth(random) {
    const centres = Array.from({ length: 8 }, () => random());
    const heights = centres.map(() => normal(random));
    const values = points.map((x) => centres.reduce((sum, z, i) => sum + heights[i] * kernel(x, z), 0));
    const low = Math.min(...values);
    const high = Math.max(...values);
    return values.map((value) => (2 * (value - low)) / (high - low) - 1);
  }

  function start(root) {
    const field = (name) => root.querySelector(`[name=${name}]`);
    const say = (name, text) => {
      root.querySelector(`[data-say=${name}]`).textContent = text;
    };
    let game;

    function begin() {
      const seed = Number(field("seed").value) || 1;
      const random = generator(seed);
      const truth = makeTruth(random);
      game = { truth, best: Math.max(...truth), random, results: [], regret: [0], last: null };
      draw();
    }

    function play(rounds) {
      for (let i = 0; i < rounds && game.results.length < 200; i++) {
        const { mean, sd } = posterior(game.results);
        const law = LAWS[field("law").value];
        const weight = law.draw(game.random, Number(field("chance").value));
        const width = Number(field("width").value);
        let arm = 0;
        let top = -Infinity;
        for (let a = 0; a < ARMS; a++) {
          // Equal scores, as in the first round, are decided by chance.
          const score = mean[a] + weight * width * sd[a] + 1e-9 * game.random();
          if (score > top) [arm, top] = [a, score];
        }
        game.results.push({ arm, reward: game.truth[arm] + NOISE * normal(game.random) });
        game.regret.push(game.regret[game.regret.length - 1] + game.best - game.truth[arm]);
        game.last = { arm, weight };
      }
      draw();
    }

    const W = 640;
    const H = 300;
    const X = (x) => 46 + x * (W - 62);
    const Y = (y) => H / 2 - y * 58;
    const path = (ys) => ys.map((y, i) => `${i ? "L" : "M"}${X(points[i]).toFixed(1)},${Y(y).toFixed(1)}`).join("");

    function draw() {
      const { mean, sd } = posterior(game.results);
      const width = Number(field("width").value);
      const upper = mean.map((m, i) => m + width * sd[i]);
      const lower = mean.map((m, i) => m - width * sd[i]);
      const back = [...points.keys()].reverse();
      const band = path(upper) + back.map((i) => `L${X(points[i]).toFixed(1)},${Y(lower[i]).toFixed(1)}`).join("") + "Z";
      const dots = game.results
        .map((one) => `<circle class="result" cx="${X(points[one.arm]).toFixed(1)}" cy="${Y(one.reward).toFixed(1)}" r="3.5"/>`)
        .join("");
      const last = game.last
        ? `<line class="last" x1="${X(points[game.last.arm])}" x2="${X(points[game.last.arm])}" y1="18" y2="${H - 26}"/>`
        : "";
      const truth = field("truth").checked ? `<path class="truth" d="${path(game.truth)}"/>` : "";
      const ticks = [-2, -1, 0, 1, 2]
        .map((y) => `<text x="38" y="${Y(y) + 4}" text-anchor="end">${String(y).replace("-", "−")}</text>`)
        .join("");
      root.querySelector("[data-draw=estimate]").innerHTML =
        `<svg viewBox="0 0 ${W} ${H}" role="img" aria-label="Estimate, band and results of the game">` +
        `<clipPath id="inside"><rect x="46" y="10" width="${W - 62}" height="${H - 34}"/></clipPath>` +
        `${ticks}<text x="${W / 2}" y="${H - 6}" text-anchor="middle">arm</text>` +
        `<g clip-path="url(#inside)"><path class="band" d="${band}"/>${truth}<path class="mean" d="${path(mean)}"/>${last}${dots}</g></svg>`;
      drawRegret();
      const n = game.results.length;
      say("width", width.toFixed(1));
      say("chance", Number(field("chance").value).toFixed(2));
      const weight = game.last ? game.last.weight.toFixed(2).replace("-", "−") : "";
      const guess = mean.indexOf(Math.max(...mean));
      say(
        "state",
        n === 0
          ? "No result yet: all arms look the same."
          : `Round ${n}: the weight was ${weight}. Regret so far ${game.regret[n].toFixed(1)}. The arm with the ` +
              `highest estimate is worth ${(game.best - game.truth[guess]).toFixed(2)} less than the best.`,
      );
      field("chance").disabled = field("law").value !== "bernoulli";
    }

    function drawRegret() {
      const n = Math.max(game.regret.length - 1, 20);
      const top = Math.max(...game.regret, 5);
      const x = (t) => 46 + (t / n) * (W - 62);
      const y = (r) => 122 - (r / top) * 104;
      const line = game.regret.map((r, t) => `${t ? "L" : "M"}${x(t).toFixed(1)},${y(r).toFixed(1)}`).join("");
      root.querySelector("[data-draw=regret]").innerHTML =
        `<svg viewBox="0 0 ${W} 150" role="img" aria-label="Cumulative regret by round">` +
        `<text x="38" y="22" text-anchor="end">${top.toFixed(0)}</text><text x="38" y="126" text-anchor="end">0</text>` +
        `<text x="${W - 16}" y="146" text-anchor="end">round ${n}</text>` +
        `<text x="52" y="22">regret</text><path class="axis" d="M46,14V122H${W - 16}"/><path class="mean" d="${line}"/></svg>`;
    }

    root.querySelector("[data-do=one]").addEventListener("click", () => play(1));
    root.querySelector("[data-do=twenty]").addEventListener("click", () => play(20));
    root.querySelector("[data-do=again]").addEventListener("click", begin);
    for (const name of ["width", "chance", "law", "truth"]) field(name).addEventListener("input", draw);
    field("seed").addEventListener("change", begin);
    begin();
    play(5);
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const root of document.querySelectorAll(".play")) start(root);
  });
})();
