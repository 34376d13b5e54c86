// Vim keys, for those who choose them. A file of its own, which only they load; it shares its parts with the editor.
export { vim, Vim, getCM } from "@replit/codemirror-vim";
