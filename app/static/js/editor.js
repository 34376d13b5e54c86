// CodeMirror over the real textarea. It lives in a shadow root, where its styles are adopted sheets: the page's
// security policy allows no inline style, and needs no exception for the editor.

import {
  EditorState, StateEffect, StateField, RangeSetBuilder, EditorView, Decoration, keymap, lineNumbers, drawSelection,
  highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, defaultKeymap, history, historyKeymap, indentMore, indentLess,
  bracketMatching, indentOnInput, indentUnit, syntaxHighlighting, syntaxTree, HighlightStyle, Compartment, closeBrackets, closeBracketsKeymap,
  python, tags,
} from "../vendor/codemirror.js";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword], color: "var(--c-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--c-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--c-number)" },
  { tag: tags.comment, color: "var(--c-comment)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName)), tags.className, tags.meta], color: "var(--c-func)" },
]);

const look = EditorView.theme({
  "&": { flex: "1", minWidth: "0", height: "100%", fontSize: "13px", backgroundColor: "var(--raised)", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)", padding: "10px 0" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--soft)", border: "none", fontVariantNumeric: "tabular-nums" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 12px 0 14px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--sunk) 55%, transparent)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-wash)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--mark)", color: "inherit" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--fail-wash)" },
  ".cm-misread": { textDecoration: "underline wavy var(--warn) 1px", textUnderlineOffset: "4px" },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--ink)" },
  ".cm-fat-cursor": { background: "var(--accent) !important", color: "var(--on-accent) !important" },
  "&:not(.cm-focused) .cm-fat-cursor": { background: "none !important", outline: "solid 1px var(--accent) !important" },
  ".cm-fails": { backgroundColor: "var(--fail-wash)", boxShadow: "inset 3px 0 var(--fail)" },
  ".cm-remarked": { backgroundColor: "var(--warn-wash)", boxShadow: "inset 3px 0 var(--warn)" },
});

const SYNTAX_MS = 600; // after the last key

/** The first place where the text does not read as Python, as {line, from, to}, or null. By the editor's own parser. */
function misread(state) {
  let found = null;
  syntaxTree(state).iterate({
    enter(node) {
      if (!found && node.type.isError) found = { from: node.from, to: Math.max(node.to, node.from + 1) };
      return !found;
    },
  });
  return found && { ...found, line: state.doc.lineAt(Math.min(found.from, state.doc.length)).number };
}

const setSyntax = StateEffect.define();
const syntax = StateField.define({
  create: () => Decoration.none,
  update(set, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setSyntax)) continue;
      const { value } = effect, line = value && transaction.state.doc.line(value.line);
      return line ? Decoration.set([Decoration.line({ class: "cm-misread" }).range(line.from)]) : Decoration.none;
    }
    return set.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const setMarks = StateEffect.define();
const marks = StateField.define({
  create: () => Decoration.none,
  update(set, transaction) {
    for (const effect of transaction.effects) if (effect.is(setMarks)) return build(transaction.state, effect.value);
    return set.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

function build(state, lines) {
  const builder = new RangeSetBuilder();
  for (const { line, kind } of [...lines].sort((a, b) => a.line - b.line)) {
    if (line < 1 || line > state.doc.lines) continue;
    builder.add(state.doc.line(line).from, state.doc.line(line).from, Decoration.line({ class: `cm-${kind}` }));
  }
  return builder.finish();
}

// Typing over a selection: left to itself the browser writes style attributes into the line, which the policy refuses.
const typeOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main;
    if (event.inputType !== "insertText" || !event.data || empty || view.composing) return false;
    event.preventDefault();
    const insert = () => view.state.update(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    const taken = view.state.facet(EditorView.inputHandler).some((handler) => handler(view, from, to, event.data, insert));
    if (!taken) view.dispatch(insert());
    return true;
  },
});

/**
 * Put an editor over `textarea`. `changed(text)` runs at each edit, `run()` on Mod-Enter, `submit()` on Shift-Mod-Enter,
 * `save()` on Mod-S, `leave()` on Escape; `reads(place)` is told where the text stops being Python, or null. With
 * `vim`, Escape leaves in normal mode.
 */
export function mount(textarea, { changed, run: execute, submit, save, leave, reads, vim = false }) {
  const host = document.createElement("div");
  host.className = "code-host";
  const root = host.attachShadow({ mode: "open" });
  const run = (action) => () => { action(); return true; };
  const keys = new Compartment();
  let modeOf = () => null; // vim's mode, once it is there
  const first = EditorView.domEventHandlers({ // before vim, which would take these for its own
    keydown(event) {
      const mod = event.ctrlKey || event.metaKey;
      const action = mod && event.key === "Enter" ? (event.shiftKey ? submit : execute) : mod && event.key.toLowerCase() === "s" ? save
        : event.key === "Escape" && modeOf() === "normal" ? leave : null;
      if (!action) return false;
      event.preventDefault();
      action();
      return true;
    },
  });
  let waiting = 0;
  const parseSoon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const place = misread(view.state);
      view.dispatch({ effects: setSyntax.of(place) });
      reads(place);
    }, SYNTAX_MS);
  };
  const view = new EditorView({
    root,
    state: EditorState.create({
      doc: textarea.value,
      extensions: [
        first, keys.of([]), syntax,
        lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), highlightSpecialChars(), drawSelection(), history(), indentOnInput(),
        bracketMatching(), closeBrackets(), python(), indentUnit.of("    "), EditorState.tabSize.of(4), syntaxHighlighting(colours), look, marks, typeOver,
        EditorView.contentAttributes.of({ "aria-label": "Your code, in Python. Escape leaves the editor.", tabindex: "0", spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          textarea.value = update.state.doc.toString();
          changed(textarea.value);
          parseSoon();
        }),
        keymap.of([
          { key: "Escape", run: run(leave) }, { key: "Tab", run: indentMore, shift: indentLess },
          ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap,
        ]),
      ],
    }),
    parent: root,
  });
  if (vim) {
    import("../vendor/codemirror-vim.js").then((part) => {
      view.dispatch({ effects: keys.reconfigure(part.vim({ status: true })) });
      modeOf = () => {
        const state = part.getCM(view)?.state.vim;
        return state && (state.insertMode ? "insert" : state.visualMode ? "visual" : "normal");
      };
    });
  }
  textarea.hidden = true;
  textarea.after(host);
  return {
    focus: () => view.focus(),
    text: () => view.state.doc.toString(),
    replace: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    mark: (lines) => view.dispatch({ effects: setMarks.of(lines) }),
    reveal: (line) => {
      const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines)).from;
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    },
  };
}
