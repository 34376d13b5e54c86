// The parts of CodeMirror that app/static/js/editor.js uses, and nothing else.
export { EditorState, StateEffect, StateField, Compartment, RangeSetBuilder } from "@codemirror/state";
export {
  EditorView, Decoration, keymap, lineNumbers, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentMore, indentLess } from "@codemirror/commands";
export { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting, syntaxTree, HighlightStyle } from "@codemirror/language";
export { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
export { python } from "@codemirror/lang-python";
export { tags } from "@lezer/highlight";
