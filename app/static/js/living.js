// Figures that answer: what each is made of and how it is drawn, as text and without a page, so that the compiler can
// draw the first state with the same lines (app/course/living.py) and the browser the ones after it (figures.js).

const KIB = 1024;
const GB = 1e9;

const round = (x, digits = 3) => {
  if (x === 0) return "0";
  const decimals = Math.max(digits - 1 - Math.floor(Math.log10(Math.abs(x))), 0);
  const [whole, part = ""] = x.toFixed(Math.min(decimals, 6)).split(".");
  const kept = part.replace(/0+$/, "");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (kept ? `.${kept}` : "");
};
const times = (count, one) => `${round(count, 6)} ${one}${count === 1 ? "" : "s"}`;
const kib = (bytes) => `${round(bytes / KIB, 4)} KiB`;
const gb = (bytes) => (bytes < GB ? `${round(bytes / 1e6)} MB` : `${round(bytes / GB, 4)} GB`);

const tag = (name, attributes, inner = "") =>
  `<${name}${Object.entries(attributes).map(([key, value]) => ` ${key}="${value}"`).join("")}>${inner}</${name}>`;
const px = (x) => String(Math.round(x * 10) / 10);
const rect = (kind, x, y, w, h) => tag("rect", { class: kind, x: px(x), y: px(y), width: px(Math.max(w, 0)), height: px(h) });
const line = (kind, x1, y1, x2, y2, more = {}) => tag("line", { class: kind, x1: px(x1), y1: px(y1), x2: px(x2), y2: px(y2), ...more });
const text = (x, y, words, kind = "fig-text", anchor = "start") => tag("text", { class: kind, x: px(x), y: px(y), "font-size": "13", "text-anchor": anchor }, words);

/** A choice by slider over `values`, or by list where they have names. */
const slider = (name, label, values, start, said = (value) => round(value, 6)) => ({ name, label, values, start, said, kind: "range" });
const choice = (name, label, values, start) => ({ name, label, values, start, said: (value) => value.name, kind: "select" });

/** A bar from 0 to `whole`, with what fills it piece by piece; what does not fit stands behind the mark in the colour of failure. */
function filled(y, label, pieces, whole, show, unit = "") {
  const left = 8, right = 472, room = 1.35; // the mark stands at 1 / 1.35 of the width
  const scale = (right - left) / (whole * room);
  let at = 0;
  const out = [text(left, y - 7, label)];
  pieces.forEach(([name, size], i) => {
    const inside = Math.max(Math.min(at + size, whole * room) - at, 0);
    out.push(rect(i % 2 ? "fig-accent fig-second" : "fig-accent", left + at * scale, y, inside * scale, 22));
    if (inside * scale > name.length * 7.4 + 8) out.push(text(left + at * scale + 5, y + 15.5, name, i % 2 ? "fig-text" : "fig-on-accent"));
    at += size;
  });
  if (at > whole) out.push(rect("fig-fail", left + whole * scale, y, (Math.min(at, whole * room) - whole) * scale, 22));
  out.push(rect("fig-line", left, y, right - left, 22));
  out.push(line("fig-line", left + whole * scale, y - 5, left + whole * scale, y + 27, { "stroke-width": "2" }));
  out.push(text(left + whole * scale, y + 41, `${show(whole)}${unit}`, "fig-text", "middle"));
  out.push(text(right, y - 7, show(at), at > whole ? "fig-fail" : "fig-text", "end"));
  return out.join("");
}

// --- tile size against on-chip memory -------------------------------------------------------------------------------

const SHARED = 227 * KIB, REGISTERS = 256 * KIB, LENGTH = 8192;

const tileMemory = {
  title: "What a tile takes on the chip",
  size: [480, 184],
  controls: [
    slider("rows", "Query rows of a tile", [16, 32, 64, 128, 192, 256], 3),
    slider("keys", "Keys of a tile", [16, 32, 64, 128, 176, 256], 3),
    slider("width", "Head dimension", [64, 128, 256], 1),
    slider("stages", "Tiles of K and V on their way", [1, 2, 3, 4], 1),
  ],
  compute({ rows, keys, width, stages }) {
    const q = rows * width * 2, kv = stages * 2 * keys * width * 2;
    const acc = rows * width * 4, scores = rows * keys * 4;
    return { q, kv, acc, scores, fits: q + kv <= SHARED && acc + scores <= REGISTERS, passes: Math.ceil(LENGTH / rows), intensity: rows };
  },
  draw(state) {
    const { q, kv, acc, scores } = this.compute(state);
    return filled(28, "shared memory of a block, 2-byte elements", [["Q", q], ["K and V", kv]], SHARED, kib)
      + filled(124, "registers of an SM, fp32", [["output", acc], ["scores", scores]], REGISTERS, kib);
  },
  rows(state) {
    const { q, kv, acc, scores, fits, passes, intensity } = this.compute(state);
    const over = q + kv > SHARED ? "no: shared memory overflows" : "no: the registers overflow";
    return [
      ["fits on one SM of an H100", fits ? "yes" : over],
      ["loads of all K and V, 8,192 queries", times(passes, "pass").replace("passs", "passes")],
      ["FLOPs per byte of K and V loaded", `${round(intensity)} FLOP/B`],
      ["shared memory", kib(q + kv)],
      ["registers for scores and output", kib(acc + scores)],
    ];
  },
};

// --- batch against intensity ----------------------------------------------------------------------------------------

const MACHINES = [{ name: "H100 SXM", peak: 989.4e12, band: 3.35e12 }, { name: "H200 SXM", peak: 989.4e12, band: 4.8e12 }];
const GROUPS = [{ name: "1: multi-head", group: 1 }, { name: "8: grouped, as in 70B", group: 8 }, { name: "64: multi-query", group: 64 }];
const WIDE = 8192, INNER = 28672;

const batchRoofline = {
  title: "Where batch moves an operation, and where it does not",
  size: [480, 290],
  controls: [
    slider("batch", "Sequences in the batch", [1, 2, 4, 8, 16, 32, 64, 128, 256, 310, 512, 1024], 4),
    choice("group", "Query heads a KV head", GROUPS, 1),
    choice("machine", "Machine", MACHINES, 0),
  ],
  compute({ batch, group, machine }) {
    const gemm = (2 * batch * WIDE * INNER) / (2 * (WIDE * INNER + batch * WIDE + batch * INNER));
    const reach = (intensity) => Math.min(machine.peak, machine.band * intensity) / machine.peak;
    return { gemm, attention: group.group, ridge: machine.peak / machine.band, reach };
  },
  draw(state) {
    const { gemm, attention, ridge, reach } = this.compute(state);
    const [left, right, top, bottom] = [52, 470, 24, 232];
    const x = (intensity) => left + (right - left) * (Math.log2(intensity) / 10);
    const y = (share) => bottom - (bottom - top) * (1 + Math.log10(share) / 3);
    const out = [];
    for (const power of [0, -1, -2]) {
      out.push(line("fig-grid", left, y(10 ** power), right, y(10 ** power)));
      out.push(text(left - 6, y(10 ** power) + 4, `${round(100 * 10 ** power)} %`, "fig-text", "end"));
    }
    for (const intensity of [1, 4, 16, 64, 256, 1024]) {
      out.push(line("fig-line", x(intensity), bottom, x(intensity), bottom + 5));
      out.push(text(Math.min(x(intensity), right - 10), bottom + 20, round(intensity, 6), "fig-text", "middle"));
    }
    out.push(line("fig-line", left, bottom, right, bottom));
    out.push(text((left + right) / 2, bottom + 42, "FLOP per byte", "fig-text", "middle"), text(4, 12, "of the peak"));
    const roof = `M${px(x(1))} ${px(y(reach(1)))}L${px(x(ridge))} ${px(y(1))}H${right}`;
    out.push(tag("path", { class: "fig-line", d: roof, "stroke-width": "2" }));
    out.push(line("fig-dash", x(ridge), y(1), x(ridge), bottom, { "stroke-dasharray": "3 4" }));
    out.push(text(x(ridge) - 6, bottom - 8, `ridge ${round(ridge)}`, "fig-text", "end"));
    const point = (intensity, label, square) => {
      const [cx, cy] = [x(intensity), y(reach(intensity))];
      const shape = square ? rect("fig-accent", cx - 6, cy - 6, 12, 12) : tag("circle", { class: "fig-fail", cx: px(cx), cy: px(cy), r: "7" });
      if (cx > 330) return shape + text(cx - 11, cy - 9, label, "fig-text", "end"); // above the roof, which falls to the left
      return shape + text(cx + 11, cy + (square ? 24 : 26), label);
    };
    out.push(point(attention, "attention", false), point(gemm, "weights", true));
    return out.join("");
  },
  rows(state) {
    const { gemm, attention, ridge, reach } = this.compute(state);
    const bound = (intensity) => (intensity < ridge ? "memory" : "arithmetic");
    return [
      ["products with weights, intensity", `${round(gemm, 4)} FLOP/B`],
      ["their limit, and their share of the peak at best", `${bound(gemm)}, ${round(100 * reach(gemm))} %`],
      ["decode attention, intensity", `${round(attention)} FLOP/B`],
      ["its limit, and its share of the peak at best", `${bound(attention)}, ${round(100 * reach(attention))} %`],
    ];
  },
};

// --- context against cache ------------------------------------------------------------------------------------------

const MODELS = [
  { name: "Llama 3.1 8B", token: 131072, weights: 8030261248 * 2 },
  { name: "Llama 3.1 70B", token: 327680, weights: 70553706496 * 2 },
  { name: "70B, were it multi-head", token: 2621440, weights: 70553706496 * 2 },
  { name: "DeepSeek-V3, latent", token: 70272, weights: 671e9 },
];

const contextCache = {
  title: "How context becomes memory",
  size: [480, 96],
  controls: [
    slider("context", "Tokens of a sequence", [1, 2, 4, 8, 16, 32, 64, 128].map((k) => k * 1024), 3),
    slider("sequences", "Sequences at once", [1, 2, 4, 8, 16, 32, 64, 128, 256], 4),
    choice("model", "Model", MODELS, 0),
  ],
  compute({ context, sequences, model }) {
    const cache = model.token * context * sequences;
    return { cache, weights: model.weights, all: cache + model.weights, token: model.token };
  },
  draw(state) {
    const { cache, weights, all } = this.compute(state);
    const whole = [80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480, 40960, 81920, 163840].find((size) => size * GB * 1.3 >= all) * GB;
    return filled(32, "memory, against GPUs of 80 GB", [["weights", weights], ["cache", cache]], whole, (bytes) => gb(bytes), ` = ${round(whole / 80e9, 6)} × 80 GB`);
  },
  rows(state) {
    const { cache, weights, all, token } = this.compute(state);
    return [
      ["a token", kib(token)],
      ["the cache", gb(cache)],
      ["the weights", gb(weights)],
      ["GPUs of 80 GB, for these two alone", round(Math.ceil(all / 80e9), 6)],
      ["share of a decode step's bytes that is cache, if every weight is read", `${round((100 * cache) / all)} %`],
    ];
  },
};

const FIGURES = { "tile-memory": tileMemory, "batch-roofline": batchRoofline, "context-cache": contextCache };

/** Values by name for the places of the controls. */
const stateOf = (figure, places) => Object.fromEntries(figure.controls.map(({ name, values, start }) => [name, values[places?.[name] ?? start]]));

const svg = (name, figure, state) => {
  const said = figure.rows(state).map(([label, value]) => `${label}: ${value}`).join("; ");
  const [w, h] = figure.size;
  return tag("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-labelledby": `live-${name}-title live-${name}-desc` },
    tag("title", { id: `live-${name}-title` }, figure.title) + tag("desc", { id: `live-${name}-desc` }, `${said}.`) + figure.draw(state));
};

const table = (figure, state) => figure.rows(state).map(([label, value]) => `<tr><th scope="row">${label}</th><td class="number">${value}</td></tr>`).join("");

function control(name, { name: key, label, values, start, said, kind }) {
  const id = `live-${name}-${key}`;
  const head = `<label for="${id}">${label}</label>`;
  if (kind === "select") {
    const options = values.map((value, i) => `<option value="${i}"${i === start ? " selected" : ""}>${said(value)}</option>`);
    return `<div>${head}<select id="${id}" name="${key}" autocomplete="off">${options.join("")}</select></div>`;
  }
  const shown = said(values[start]);
  return `<div>${head}<span class="live-shown" aria-hidden="true">${shown}</span><input type="range" id="${id}" name="${key}" min="0" max="${values.length - 1}" value="${start}" aria-valuetext="${shown}" autocomplete="off"></div>`;
}

/** The whole figure in its first state. The controls wait for the script: without it they would do nothing. */
function markup(name) {
  const figure = FIGURES[name];
  const state = stateOf(figure);
  return `<fieldset class="live-controls" disabled><legend class="visually-hidden">${figure.title}</legend>${figure.controls.map((each) => control(name, each)).join("")}</fieldset>`
    + `<div class="live-plot">${svg(name, figure, state)}</div><table class="live-values"><tbody>${table(figure, state)}</tbody></table>`;
}

export { FIGURES, markup, stateOf, svg, table };
