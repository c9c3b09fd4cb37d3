// How the editor looks: in the page's colours, of both schemes.
import { EditorView } from "@codemirror/view";
import type { TagStyle } from "@codemirror/language";
import { tags } from "@lezer/highlight";

export const colours: TagStyle[] = [
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--later)" },
];

const dot = (colour: string) => ({
  content: "normal", // no image: the page's policy allows none
  width: "0.5rem",
  height: "0.5rem",
  borderRadius: "50%",
  marginTop: "0.35rem",
  background: colour,
});

const line = (colour: string) => ({
  backgroundImage: "none",
  paddingBottom: "0",
  textDecoration: `underline wavy ${colour}`,
  textDecorationSkipInk: "none",
});

export const frame = EditorView.theme({
  "&": {
    height: "100%",
    color: "var(--ink)",
  },
  "&.cm-focused": { outline: "none" }, // what it is in has one
  ".cm-scroller": { fontFamily: "inherit", lineHeight: "inherit" },
  ".cm-content": { padding: "0.375rem 0", caretColor: "var(--ink)" },
  ".cm-content:focus-visible": { outline: "none" },
  ".cm-gutters": {
    background: "var(--sunk)",
    color: "var(--soft)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-gutter-lint": { width: "0.875rem" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "0 0.125rem" },
  ".cm-lint-marker-error": dot("var(--bad)"),
  ".cm-lint-marker-warning": dot("var(--warn)"),
  ".cm-lintRange-error": line("var(--bad)"),
  ".cm-lintRange-warning": line("var(--warn)"),
  ".cm-lintPoint:after": { display: "none" },
  ".cm-specialChar": { color: "var(--bad)" },
  "&.cm-focused .cm-matchingBracket": { background: "var(--tint)" },
  "&.cm-focused .cm-nonmatchingBracket": { background: "var(--bad-tint)" },
  ".cm-tooltip, .cm-panels": {
    background: "var(--card)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "8px",
    boxShadow: "0 8px 30px #0003",
  },
  ".cm-tooltip": { maxWidth: "min(30rem, 90vw)", overflowWrap: "anywhere" },
  ".cm-diagnostic": { padding: "0.25rem 0.625rem", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)" },
  ".cm-diagnostic-warning": { borderLeft: "3px solid var(--warn)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "14rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.125rem 0.625rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    background: "var(--tint)",
    color: "var(--ink)",
  },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-tooltip.cm-completionInfo": {
    padding: "0.375rem 0.625rem",
    font: "var(--s)/1.4 system-ui, sans-serif",
  },
  ".cm-completionInfo.cm-completionInfo-left-narrow, .cm-completionInfo.cm-completionInfo-right-narrow":
    {
      display: "none", // it would stand before what is offered
    },
  ".cm-panel.cm-panel-lint ul [aria-selected]": { background: "var(--tint)", color: "var(--ink)" },
  ".cm-panel.cm-panel-lint ul:focus [aria-selected]": {
    background: "var(--tint)",
    color: "var(--ink)",
  },
});
