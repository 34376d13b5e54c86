// Rebuilds every vendored file and its lock. Run after changing a version in package.json, then commit the result.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";
import subsetFont from "subset-font";

const STATIC = "../../app/static/vendor/";
const COURSE = "../../app/course/vendor/";
const TESTS = "../../tests/browser/vendor/";
const FONTS = "node_modules/@fontsource";
const here = (name) => JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));

const codes = (from, to) => String.fromCodePoint(...Array.from({ length: to - from + 1 }, (_, i) => from + i));
const SIGNS = "–—‘’“”…•−×·°±²³µ↑↓\u00a0\u2009\u202f";
const WESTERN = codes(0x20, 0x7e) + codes(0xa0, 0xff) + SIGNS + "ŒœıŠšŽž€™′″†‡‹›„‚∕";
const BASIC = codes(0x20, 0x7e) + SIGNS + "äöüéèñßÄÖÜÉ";

const FEATURES = ["kern", "liga", "tnum", "lnum", "mark", "ccmp"];

// Reading is set in Source Serif (weights 400 to 700), interface in Plex Sans, code in Plex Mono: 67 KB in all.
const FACES = [
  ["source-serif-roman", "@fontsource-variable/source-serif-4", "source-serif-4-latin-wght-normal", WESTERN, { wght: { min: 400, max: 700 } }],
  ["source-serif-italic", "@fontsource-variable/source-serif-4", "source-serif-4-latin-wght-italic", BASIC, { wght: 400 }],
  ["plex-sans-400", "@fontsource/ibm-plex-sans", "ibm-plex-sans-latin-400-normal", BASIC, undefined],
  ["plex-sans-600", "@fontsource/ibm-plex-sans", "ibm-plex-sans-latin-600-normal", BASIC, undefined],
  ["plex-mono-400", "@fontsource/ibm-plex-mono", "ibm-plex-mono-latin-400-normal", BASIC, undefined],
];

async function face([name, source, file, text, variationAxes]) {
  const original = readFileSync(`node_modules/${source}/files/${file}.woff2`);
  writeFileSync(`${STATIC}${name}.woff2`, await subsetFont(original, text, { targetFormat: "woff2", variationAxes, noHinting: true, keepFeatures: FEATURES }));
  copyFileSync(`node_modules/${source}/LICENSE`, `${STATIC}${name.split("-").slice(0, 2).join("-")}.LICENSE.txt`);
  return { file: `${name}.woff2`, name: source, version: here(source).version, licence: "OFL-1.1" };
}

// Vim keys are a file of their own, which only those load who chose them; both share the parts in the middle one.
async function editor() {
  await build({
    entryPoints: { codemirror: "editor.mjs", "codemirror-vim": "vim.mjs" }, outdir: STATIC, bundle: true, splitting: true, chunkNames: "codemirror-shared",
    minify: true, format: "esm", target: "es2022", legalComments: "none",
    banner: { js: "/* CodeMirror 6, MIT licence, see codemirror.LICENSE.txt; built by scripts/vendor/build.mjs */" },
  });
  copyFileSync("node_modules/@codemirror/view/LICENSE", `${STATIC}codemirror.LICENSE.txt`);
  copyFileSync("node_modules/@replit/codemirror-vim/LICENSE", `${STATIC}codemirror-vim.LICENSE.txt`);
  const own = JSON.parse(readFileSync("package.json", "utf8")).dependencies;
  const parts = Object.entries(own).filter(([name]) => /^@(codemirror|lezer)\//.test(name)).map(([name, version]) => `${name}@${version}`);
  const core = { name: "codemirror", version: own["@codemirror/view"], licence: "MIT", parts };
  const vim = "@replit/codemirror-vim";
  return [
    { file: "codemirror.js", ...core }, { file: "codemirror-shared.js", ...core },
    { file: "codemirror-vim.js", name: vim, version: own[vim], licence: "MIT" },
  ];
}

/** KaTeX lets its faces come late, and lines break anew under the reader's eyes. The two that every formula needs
 *  (pages preload them) may not; of the formats only the one that is kept here stays. */
const steady = (css) => css
  .replace(/@font-face\{font-display:block;font-family:KaTeX_(Main;font-style:normal;font-weight:400|Math;font-style:italic;font-weight:400)/g, "@font-face{font-display:optional;font-family:KaTeX_$1")
  .replace(/,url\([^)]*\.(woff|ttf)\) format\("(woff|truetype)"\)/g, "");

// The compiler of content runs KaTeX itself; pages need its sheet, made steady, and its faces.
function katex() {
  const from = "node_modules/katex/dist/", fonts = readdirSync(`${from}fonts`).filter((name) => name.endsWith(".woff2")).sort();
  mkdirSync(`${STATIC}katex/fonts`, { recursive: true });
  writeFileSync(`${STATIC}katex/katex.min.css`, steady(readFileSync(`${from}katex.min.css`, "utf8")));
  copyFileSync(`${from}katex.min.js`, `${COURSE}katex.min.js`);
  copyFileSync("node_modules/katex/LICENSE", `${STATIC}katex/LICENSE.txt`);
  for (const font of fonts) copyFileSync(`${from}fonts/${font}`, `${STATIC}katex/fonts/${font}`);
  const files = ["katex/katex.min.css", ...fonts.map((font) => `katex/fonts/${font}`), "../../course/vendor/katex.min.js"];
  return files.map((file) => ({ file, name: "katex", version: here("katex").version, licence: "MIT" }));
}

function axe() {
  copyFileSync("node_modules/axe-core/axe.min.js", `${TESTS}axe.min.js`);
  return { file: "axe.min.js", name: "axe-core", version: here("axe-core").version, licence: "MPL-2.0" };
}

function lock(folder, entries) {
  const files = entries.map((entry) => ({
    ...entry, sha256: createHash("sha256").update(readFileSync(folder + entry.file)).digest("hex"),
  }));
  writeFileSync(`${folder}vendor.lock.json`, JSON.stringify({ files }, null, 2) + "\n");
}

mkdirSync(STATIC, { recursive: true });
mkdirSync(TESTS, { recursive: true });
const faces = [];
for (const one of FACES) faces.push(await face(one));
lock(STATIC, [...faces, ...await editor(), ...katex()]);
lock(TESTS, [axe()]);
