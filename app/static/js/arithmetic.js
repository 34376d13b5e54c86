// The small arithmetic of worked blocks, as app/course/expression.py and quantities.py do it: rationals stay exact,
// only exp, log, log2 and sqrt leave for floating point, and every printed digit comes from whole numbers.
// Trees are JSON: a number as text, a name, or [operator, operand, …]. tests/app/course/test_arithmetic.py holds
// this file against the Python one.

const MOST_BITS = 4096;
const LONGEST_EXACT = 6;
const SIGNIFICANT = 4;
const GAP = "\u202f";

const gcd = (a, b) => {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
};
const ratio = (n, d = 1n) => {
  if (d === 0n) throw new Error("this divides by zero");
  if (d < 0n) [n, d] = [-n, -d];
  const shared = gcd(n, d) || 1n;
  return { n: n / shared, d: d / shared };
};
const isFloat = (x) => typeof x === "number";
const bits = (n) => (n < 0n ? -n : n).toString(2).length;
const floorDivide = (n, d) => { // d > 0
  const q = n / d;
  return n % d < 0n ? q - 1n : q;
};

/** A decimal such as "3.17e-05" as an exact ratio. */
function decimal(text) {
  const [, sign, whole, part = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(text);
  const places = part.length - Number(power);
  const digits = BigInt(whole + part) * (sign ? -1n : 1n);
  return places > 0 ? ratio(digits, 10n ** BigInt(places)) : ratio(digits * 10n ** BigInt(-places));
}

/** A finite double as the ratio that it is. */
function exactly(x) {
  if (!Number.isFinite(x)) throw new Error("this becomes too large");
  let places = 0;
  while (!Number.isInteger(x)) { x *= 2; places += 1; }
  return ratio(BigInt(x), 2n ** BigInt(places));
}
const exact = (x) => (isFloat(x) ? exactly(x) : x);

/** The double nearest to a ratio: 64 bits of the quotient and one that says whether anything is left over. */
function toFloat({ n, d }) {
  const size = n < 0n ? -n : n;
  const shift = 64 - bits(size) + bits(d);
  const top = shift > 0 ? size << BigInt(shift) : size;
  const below = shift > 0 ? d : d << BigInt(-shift);
  const quotient = ((top / below) << 1n) | (top % below ? 1n : 0n);
  const half = Math.trunc((shift + 1) / 2); // in two steps, so that neither power overflows alone
  const magnitude = Number(quotient) * 2 ** -half * 2 ** -(shift + 1 - half);
  if (!Number.isFinite(magnitude)) throw new Error("this becomes too large");
  return n < 0n ? -magnitude : magnitude;
}
const float = (x) => (isFloat(x) ? x : toFloat(x));

const compare = (a, b) => {
  const [x, y] = [exact(a), exact(b)];
  const left = x.n * y.d, right = y.n * x.d;
  return left < right ? -1 : left > right ? 1 : 0;
};

const either = (exactly, floating) => (a, b) => (isFloat(a) || isFloat(b) ? floating(float(a), float(b)) : exactly(a, b));
const divide = either((a, b) => ratio(a.n * b.d, a.d * b.n), (a, b) => {
  if (b === 0) throw new Error("this divides by zero");
  return a / b;
});
const floor = (x) => { const { n, d } = exact(x); return ratio(floorDivide(n, d)); };
const ceil = (x) => { const { n, d } = exact(x); return ratio(-floorDivide(-n, d)); };

const modulo = either((a, b) => {
  if (b.n === 0n) throw new Error("this divides by zero");
  const n = a.n * b.d, d = b.n * a.d; // a / b
  const whole = floorDivide(d < 0n ? -n : n, d < 0n ? -d : d);
  return ratio(a.n * b.d - whole * b.n * a.d, a.d * b.d);
}, (a, b) => {
  if (b === 0) throw new Error("this divides by zero");
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
});

function power(base, exponent) {
  const { n, d } = exact(exponent);
  if (d !== 1n || n > 64n || n < -64n) throw new Error("an exponent is a whole number of at most 64");
  if (isFloat(base)) return base ** Number(n);
  const size = n < 0n ? -n : n;
  return n < 0n ? ratio(base.d ** size, base.n ** size) : ratio(base.n ** size, base.d ** size);
}

/** A function that leaves the rationals, except where a whole result is confirmed by its inverse. */
const irrational = (call, inverse) => (x) => {
  const result = call(float(x));
  if (!Number.isFinite(result)) throw new Error("this is not defined there");
  const whole = Math.abs(result) <= 64 ? Math.round(result) : -1;
  const back = whole >= 0 ? inverse(whole) : null;
  return back !== null && compare(x, ratio(BigInt(back))) === 0 ? ratio(BigInt(whole)) : result;
};
const extreme = (sign) => (...all) => all.reduce((best, each) => (compare(each, best) * sign > 0 ? each : best));

const CALLS = {
  "+": either((a, b) => ratio(a.n * b.d + b.n * a.d, a.d * b.d), (a, b) => a + b),
  "-": either((a, b) => ratio(a.n * b.d - b.n * a.d, a.d * b.d), (a, b) => a - b),
  "*": either((a, b) => ratio(a.n * b.n, a.d * b.d), (a, b) => a * b),
  "/": divide,
  "//": (a, b) => floor(divide(a, b)),
  "%": modulo,
  "**": power,
  neg: (x) => (isFloat(x) ? -x : ratio(-x.n, x.d)),
  ceil,
  floor,
  min: extreme(-1),
  max: extreme(1),
  exp: irrational(Math.exp, (whole) => (whole === 1 ? 0 : null)),
  log: irrational(Math.log, (whole) => (whole === 0 ? 1 : null)),
  log2: irrational(Math.log2, (whole) => 2n ** BigInt(whole)),
  sqrt: irrational(Math.sqrt, (whole) => whole ** 2),
};

function evaluate(tree, names) {
  if (!Array.isArray(tree)) return /^\d/.test(tree) ? decimal(tree) : names.get(tree);
  const [operator, ...operands] = tree;
  const value = CALLS[operator](...operands.map((operand) => evaluate(operand, names)));
  if (isFloat(value) ? !Number.isFinite(value) : bits(value.n) > MOST_BITS || bits(value.d) > MOST_BITS) {
    throw new Error("this becomes too large");
  }
  return value;
}

// --- printing -------------------------------------------------------------------------------------------------------

function fixed({ n, d }, decimals) {
  const unit = 10n ** BigInt(decimals);
  const scaled = (2n * (n < 0n ? -n : n) * unit + d) / (2n * d); // half away from zero
  const whole = (scaled / unit).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  const rest = decimals ? `.${(scaled % unit).toString().padStart(decimals, "0")}` : "";
  return `${n < 0n && scaled ? "-" : ""}${whole}${rest}`;
}

const ten = (size) => (size < 0 ? ratio(1n, 10n ** BigInt(-size)) : ratio(10n ** BigInt(size)));
function sizeOf({ n, d }) {
  const positive = ratio(n < 0n ? -n : n, d);
  const size = positive.n.toString().length - d.toString().length;
  return compare(positive, ten(size)) >= 0 ? size : size - 1;
}

const isExact = (x, decimals) => !isFloat(x) && (x.n * 10n ** BigInt(decimals ?? LONGEST_EXACT)) % x.d === 0n;

function numberText(x, decimals) {
  const value = exact(x);
  if (decimals !== null) return fixed(value, decimals);
  if (isExact(x, null)) return fixed(value, LONGEST_EXACT).replace(/\.?0+$/, "");
  const size = value.n ? sizeOf(value) : 0;
  if (size >= -4 && size < 12) return fixed(value, Math.max(SIGNIFICANT - 1 - size, 0));
  const raised = String(size).replace(/./g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);
  return `${fixed(divide(value, ten(size)), SIGNIFICANT - 1)} × 10${raised}`;
}

/** A value in base units, in the unit of its row: "≈ 295.3 FLOP/B". `factor` is the unit's, such as "1/8". */
function quantityText(value, { unit, factor, decimals }) {
  const [above, below = "1"] = factor.split("/");
  const told = divide(value, ratio(BigInt(above), BigInt(below)));
  return `${isExact(told, decimals) ? "" : `≈${GAP}`}${numberText(told, decimals)}${unit ? GAP : ""}${unit}`;
}

// --- a block --------------------------------------------------------------------------------------------------------

/** What a reader typed as an exact ratio. Throws an error whose message is a sentence for them. */
function readInput(text, { unit }) {
  const plain = text.trim().replace(/(?<=\d)[,_\s\u202f](?=\d)/g, "");
  if (!plain) throw new Error("Write a number.");
  const shape = /^-?\d{1,30}(?:\.\d{1,30})?(?:e[+-]?\d{1,2})?$/i;
  if (!shape.test(plain)) throw new Error("That is not a number: write digits, such as 8192 or 3.35.");
  const value = decimal(plain.toLowerCase());
  if (unit && value.n < 0n) throw new Error(`An amount in ${unit} is not below zero.`);
  if (compare(value, ten(15)) > 0 || compare(value, ratio(-(10n ** 15n))) < 0) throw new Error("That number is too large here.");
  return value;
}

/**
 * Every row of a block for these inputs, `inputs[name]` being the text typed for a given row or nothing.
 * Returns by name {text} or {problem}; a row that depends on a problem says so.
 */
function compute(rows, inputs) {
  const names = new Map(), found = {};
  for (const row of rows) {
    try {
      const missing = row.tree === undefined ? null : uses(row.tree).find((name) => !names.has(name));
      if (missing) throw new Error(`This needs ${missing}.`);
      let value;
      if (row.tree === undefined) {
        const [above, below = "1"] = row.factor.split("/");
        value = CALLS["*"](readInput(inputs[row.name] ?? row.value, row), ratio(BigInt(above), BigInt(below)));
      } else value = evaluate(row.tree, names);
      names.set(row.name, value);
      found[row.name] = { text: quantityText(value, row) };
    } catch (error) {
      found[row.name] = { problem: error.message };
    }
  }
  return found;
}

const uses = (tree) => (Array.isArray(tree) ? tree.slice(1).flatMap(uses) : /^\d/.test(tree) ? [] : [tree]);

export { compute, evaluate, quantityText, readInput };
