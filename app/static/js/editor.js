// CodeMirror over the real textarea. It lives in a shadow root, where its styles are adopted sheets: the page's
// security policy allows no inline style, and needs no exception for the editor.

import {
  EditorState, StateEffect, StateField, RangeSetBuilder, EditorView, Decoration, keymap, lineNumbers, drawSelection,
  highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, defaultKeymap, history, historyKeymap, indentMore, indentLess,
  bracketMatching, indentOnInput, indentUnit, syntaxHighlighting, HighlightStyle, closeBrackets, closeBracketsKeymap, python, tags,
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
  ".cm-fails": { backgroundColor: "var(--fail-wash)", boxShadow: "inset 3px 0 var(--fail)" },
  ".cm-remarked": { backgroundColor: "var(--warn-wash)", boxShadow: "inset 3px 0 var(--warn)" },
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
 * `save()` on Mod-S, `leave()` on Escape.
 */
export function mount(textarea, { changed, run: execute, submit, save, leave }) {
  const host = document.createElement("div");
  host.className = "code-host";
  const root = host.attachShadow({ mode: "open" });
  const run = (action) => () => { action(); return true; };
  const view = new EditorView({
    root,
    state: EditorState.create({
      doc: textarea.value,
      extensions: [
        lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), highlightSpecialChars(), drawSelection(), history(), indentOnInput(),
        bracketMatching(), closeBrackets(), python(), indentUnit.of("    "), EditorState.tabSize.of(4), syntaxHighlighting(colours), look, marks, typeOver,
        EditorView.contentAttributes.of({ "aria-label": "Your code, in Python. Escape leaves the editor.", tabindex: "0", spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          textarea.value = update.state.doc.toString();
          changed(textarea.value);
        }),
        keymap.of([
          { key: "Mod-Enter", run: run(execute), shift: run(submit) }, { key: "Mod-s", run: run(save) }, { key: "Escape", run: run(leave) }, { key: "Tab", run: indentMore, shift: indentLess },
          ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap,
        ]),
      ],
    }),
    parent: root,
  });
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
