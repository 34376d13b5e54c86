// The figure of the home page: three faulty online softmax kernels, computed here in reduced precision.
// Nothing is stored: every point is the error of a kernel that ran in this page, against double precision.

const TILE = 64;
const TOLERANCE = 1e-3; // relative to the expected value
const LONGEST = 8192;
const LENGTHS = [16, 32, 48, 63, 64, 65, 96, 127, 128, 129, 192, 255, 256, 257, 384, 511, 512, 513, 768, 1000, 1023, 1024, 1025,
  1536, 2000, 2047, 2048, 2049, 3000, 4000, 4095, 4096, 4097, 6000, 8000, 8191, 8192];

/** Round to the nearest half-precision number, ties to even. */
const toHalf = Math.f16round ?? ((x) => {
  const size = Math.abs(x);
  if (size === 0 || Number.isNaN(x)) return x;
  if (size >= 65520) return Math.sign(x) * Infinity;
  const step = 2 ** (Math.max(Math.floor(Math.log2(size)), -14) - 10);
  const exact = x / step;
  let whole = Math.round(exact);
  if (Math.abs(exact - Math.trunc(exact)) === 0.5 && whole % 2 !== 0) whole -= 1;
  return whole * step;
});
const f32 = Math.fround;

/** Normal numbers that are the same on every visit. */
function noise(seed, count) {
  let state = seed;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return Float64Array.from({ length: count }, () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()));
}

const COLUMNS = 8;
const wobble = noise(7, LONGEST);
const values = Float32Array.from(noise(11, LONGEST * COLUMNS), (x) => 1 + 0.5 * x);
const SCORES = {
  rising: (j) => 2 * (j / LONGEST) ** 4, // flat enough at first that all three kernels agree at 512
  normal: (j) => wobble[j],
  falling: (j) => 10 - 10 * (j / LONGEST) ** (1 / 3),
  flat: () => 0.25,
};

/** The one-pass kernel over tiles: softmax-weighted means of the value columns. `fault` names what is wrong with it. */
function kernel(scores, length, fault) {
  const keep = fault === "half" ? toHalf : f32;
  const acc = new Float64Array(COLUMNS), tileAcc = new Float64Array(COLUMNS);
  let most = -Infinity, sum = 0;
  for (let start = 0; start < length; start += TILE) {
    const stop = Math.min(start + TILE, length);
    const padded = fault === "padding" ? start + TILE - stop : 0;
    let top = padded > 0 ? Math.max(most, 0) : most;
    for (let j = start; j < stop; j++) if (scores[j] > top) top = scores[j];
    const scale = most === -Infinity ? 0 : f32(Math.exp(f32(most - top)));
    let tileSum = f32(padded * f32(Math.exp(-top)));
    tileAcc.fill(0);
    for (let j = start; j < stop; j++) {
      const weight = f32(Math.exp(f32(scores[j] - top)));
      tileSum = f32(tileSum + weight);
      for (let c = 0; c < COLUMNS; c++) tileAcc[c] = f32(tileAcc[c] + f32(weight * values[j * COLUMNS + c]));
    }
    sum = keep(f32(f32(sum * (fault === "rescale" ? 1 : scale)) + tileSum));
    for (let c = 0; c < COLUMNS; c++) acc[c] = keep(f32(f32(acc[c] * scale) + tileAcc[c]));
    most = top;
  }
  return acc.map((total) => total / sum);
}

/** The same means in double precision, in two passes. */
function reference(scores, length) {
  const acc = new Float64Array(COLUMNS);
  let top = -Infinity, sum = 0;
  for (let j = 0; j < length; j++) if (scores[j] > top) top = scores[j];
  for (let j = 0; j < length; j++) {
    const weight = Math.exp(scores[j] - top);
    sum += weight;
    for (let c = 0; c < COLUMNS; c++) acc[c] += weight * values[j * COLUMNS + c];
  }
  return acc.map((total) => total / sum);
}

const FAULTS = [["rescale", "not rescaled"], ["half", "half precision"], ["padding", "padding counted"]];

/** For each fault, the largest relative error at each length, in units of the tolerance. */
function errorsOf(kind) {
  const scores = Float32Array.from({ length: LONGEST }, (_, j) => SCORES[kind](j));
  const expected = LENGTHS.map((length) => reference(scores, length));
  return Object.fromEntries(FAULTS.map(([fault]) => [fault, LENGTHS.map((length, i) =>
    Math.max(...kernel(scores, length, fault).map((out, c) => Math.abs(out - expected[i][c]) / Math.abs(expected[i][c]) / TOLERANCE)))]));
}

// --- drawing --------------------------------------------------------------------------------------------------------

const BOX = { left: 66, right: 612, top: 24, bottom: 300, low: -3, high: 3 };
const xOf = (length) => BOX.left + (BOX.right - BOX.left) * (Math.log2(length) - 4) / (Math.log2(LONGEST) - 4);
const yOf = (error) => {
  const power = Number.isFinite(error) ? Math.log10(Math.max(error, 10 ** BOX.low)) : BOX.high;
  return BOX.bottom - (BOX.bottom - BOX.top) * (Math.min(power, BOX.high) - BOX.low) / (BOX.high - BOX.low);
};

function draw(name, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function frame() {
  const parts = [];
  for (let power = BOX.low; power <= BOX.high; power++) {
    const y = yOf(10 ** power);
    parts.push(draw("path", { class: power === 0 ? "d-tol" : "d-grid", d: `M${BOX.left} ${y}H${BOX.right}` }));
    const label = power === 0 ? "1" : power > 0 ? String(10 ** power) : power === BOX.low ? "≤0.001" : String(10 ** power);
    parts.push(draw("text", { x: BOX.left - 8, y: y + 4, "text-anchor": "end" }, label));
  }
  for (const length of [16, 64, 256, 512, 1024, 2048, 4096, 8192]) {
    if (length === 1024 || length === 4096) continue;
    parts.push(draw("text", { x: xOf(length), y: BOX.bottom + 20, "text-anchor": "middle" }, length.toLocaleString("en")));
  }
  parts.push(draw("text", { x: (BOX.left + BOX.right) / 2, y: BOX.bottom + 42, "text-anchor": "middle" }, "length in tokens, tiles of 64"));
  parts.push(draw("text", { x: BOX.left - 54, y: 12, class: "name" }, "error ÷ tolerance"));
  return parts;
}

function curves(errors, at) {
  const parts = [draw("path", { class: "d-now", d: `M${xOf(LENGTHS[at])} ${BOX.top}V${BOX.bottom}` })];
  FAULTS.forEach(([fault], k) => {
    if (fault === "padding") { // it jumps between neighbouring lengths: a stem for each length whose last tile is partial
      errors[fault].forEach((error, i) => {
        const x = xOf(LENGTHS[i]).toFixed(1);
        if (error > 10 ** BOX.low) parts.push(draw("path", { class: `d-stem k${k}`, d: `M${x} ${BOX.bottom}V${yOf(error).toFixed(1)}` }));
      });
      return;
    }
    const d = errors[fault].map((error, i) => `${i ? "L" : "M"}${xOf(LENGTHS[i]).toFixed(1)} ${yOf(error).toFixed(1)}`).join("");
    parts.push(draw("path", { class: `d-line k${k}`, d }));
  });
  FAULTS.forEach(([fault], k) => {
    parts.push(draw("circle", { class: `d-dot k${k}`, cx: xOf(LENGTHS[at]), cy: yOf(errors[fault][at]), r: 5.5 }));
  });
  parts.push(draw("text", { x: BOX.left + 8, y: yOf(1) - 7, class: "tol" }, "tolerance"));
  return parts;
}

const readable = (error) => !Number.isFinite(error) ? "NaN" : error < 0.001 ? "< 0.001" : error >= 100 ? error.toFixed(0)
  : error >= 10 ? error.toFixed(1) : error.toPrecision(2);

function mark(passes) {
  const holder = document.createElement("span");
  holder.className = `outcome ${passes ? "is-passed" : "is-failed"}`;
  const glyph = draw("svg", { class: "glyph", viewBox: "0 0 16 16", "aria-hidden": "true" });
  glyph.append(draw("path", { class: "glyph-box", d: passes ? "M1 1h14v14H1z" : "M8 .6 15.4 8 8 15.4.6 8z" }),
    draw("path", { class: "glyph-line", d: passes ? "m4 8.4 2.7 2.8L12 4.9" : "m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" }));
  holder.append(glyph, passes ? "passes" : "fails");
  return holder;
}

const root = document.querySelector("[data-drift]");
if (root) {
  const plot = root.querySelector("[data-plot]");
  const slider = root.querySelector("input[type=range]");
  const kept = plot.querySelectorAll("title, desc");
  let errors = errorsOf("rising");

  const show = () => {
    const at = Number(slider.value), length = LENGTHS[at];
    const tiles = Math.ceil(length / TILE);
    root.querySelector("[data-length]").textContent = length.toLocaleString("en");
    root.querySelector("[data-tiles]").textContent = `${tiles} ${tiles === 1 ? "tile" : "tiles"}`;
    slider.setAttribute("aria-valuetext", `${length} tokens, ${tiles} tiles`);
    const said = [];
    for (const [fault, name] of FAULTS) {
      const row = root.querySelector(`[data-fault="${fault}"]`), error = errors[fault][at], passes = error <= 1;
      row.querySelector("[data-error]").textContent = readable(error);
      row.querySelector("[data-verdict]").replaceChildren(mark(passes));
      said.push(`${name}: ${readable(error)} times the tolerance`);
    }
    root.querySelector("[data-desc]").textContent = `At ${length} tokens, ${said.join("; ")}.`;
    plot.replaceChildren(...kept, ...frame(), ...curves(errors, at));
  };

  slider.max = String(LENGTHS.length - 1);
  slider.value = String(LENGTHS.indexOf(512));
  slider.addEventListener("input", show);
  for (const choice of root.querySelectorAll("[name=drift-data]")) {
    choice.addEventListener("change", () => { errors = errorsOf(choice.value); show(); });
    if (choice.checked) errors = errorsOf(choice.value);
  }
  show();
}

export { kernel, reference, errorsOf, LENGTHS, toHalf };
