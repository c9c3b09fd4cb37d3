// The editor for JSON: CodeMirror with what the console needs of it. It is a file of its
// own, which the page loads when somebody edits JSON for the first time.
import { Annotation, Compartment, EditorState, Prec } from "@codemirror/state";
import type { Text } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import {
  HighlightStyle,
  bidiIsolates,
  bracketMatching,
  ensureSyntaxTree,
  syntaxHighlighting,
  syntaxTree,
} from "@codemirror/language";
import { json } from "@codemirror/lang-json";
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
  completionStatus,
} from "@codemirror/autocomplete";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import type { Diagnostic } from "@codemirror/lint";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { StyleModule } from "style-mod";
import { complete } from "./completion";
import { brokenAt, rangeAt, rootOf } from "./tree";
import { colours, frame } from "./look";

export { keywords } from "./keywords";

/** What is wrong, by a JSON Pointer into the text. */
export type Mark = { path: string; message: string; warning?: boolean };

export type Options = {
  text: string;
  /** of the element that is written in, and of what describes it */
  attributes: Record<string, string>;
  /** takes what is written, at once or, where it is long, once somebody pauses */
  set: (text: string) => void;
  /** what is offered goes by, read when it is first wanted */
  schema?: () => Promise<unknown>;
};

export type Editor = ReturnType<typeof open>;

// The page's policy has no place for <style>: styles are adopted by the document, as by a
// shadow root, which is the one that this library asks whether it can.
const adopting = {
  ownerDocument: document,
  get adoptedStyleSheets() {
    return document.adoptedStyleSheets;
  },
  set adoptedStyleSheets(all) {
    document.adoptedStyleSheets = all;
  },
};
const mount = StyleModule.mount;
StyleModule.mount = (root, modules) =>
  mount.call(StyleModule, root === document ? (adopting as unknown as ShadowRoot) : root, modules);

/** A text of more characters than this is looked at as a whole in pauses only. */
const long = 20_000;

const pause = 400;

/** What a text is read with: one of deep levels or very long lines stays plain. */
function parsed(doc: Text) {
  let depth = 0;
  for (const piece of doc.iterRange(0)) {
    if (piece.length > 100_000) return [];
    for (let i = 0; i < piece.length; i++) {
      const c = piece.charCodeAt(i);
      if (c === 91 || c === 123) depth++;
      else if (c === 93 || c === 125) depth--;
      if (depth > 500) return [];
    }
  }
  return highlighted;
}

/** Texts that the page has written itself. */
const outside = Annotation.define<true>();

const highlighted = [json(), syntaxHighlighting(HighlightStyle.define(colours))];

/** It has a tabindex for those who do not know that what one may write in takes the focus. */
const described = (attributes: Record<string, string>) =>
  EditorView.contentAttributes.of({ tabindex: "0", ...attributes });

/** Escape closes what is offered; where nothing is yet, it is left for the dialog. */
const offering = [
  ...completionKeymap.filter((one) => one.key !== "Escape"),
  {
    key: "Escape",
    run: (view: EditorView) => completionStatus(view.state) === "active" && closeCompletion(view),
  },
];

export function open(parent: HTMLElement, { text, attributes, set, schema }: Options) {
  const language = new Compartment(),
    about = new Compartment();
  let known = text, // what the page has of the text
    unsaid = false,
    timer = 0;
  /** Has the page take what is written. */
  const tell = () => {
    clearTimeout(timer);
    if (!unsaid) return;
    unsaid = false;
    known = view.state.doc.toString();
    set(known);
  };
  const view: EditorView = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        highlightSpecialChars(),
        history(),
        bracketMatching(),
        closeBrackets(),
        bidiIsolates(),
        schema
          ? autocompletion({ override: [complete(schema)], icons: false, defaultKeymap: false })
          : [],
        language.of([]),
        about.of(described(attributes)),
        Prec.highest(keymap.of(offering)),
        keymap.of([...closeBracketsKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
        frame,
        // A text that comes at once is looked at before the parser takes it, and one that goes.
        EditorState.transactionExtender.of(({ changes, newDoc }) => {
          let size = 0;
          changes.iterChanges((from, to, _a, _b, text) => (size += to - from + text.length));
          return size < 200 ? null : { effects: language.reconfigure(parsed(newDoc)) };
        }),
        EditorView.updateListener.of(({ docChanged, transactions, state }) => {
          if (!docChanged || transactions.some((one) => one.annotation(outside))) return;
          unsaid = true;
          clearTimeout(timer);
          if (state.doc.length < long) tell();
          else timer = setTimeout(tell, pause);
        }),
        EditorView.domEventHandlers({ blur: tell }),
      ],
    }),
  });
  view.dispatch({ effects: language.reconfigure(parsed(view.state.doc)) });
  addEventListener("beforeunload", tell, true); // before it is asked what is begun
  return {
    element: view.contentDOM,
    select: (from: number, to: number) => view.dispatch({ selection: { anchor: from, head: to } }),
    /** Takes a text that the page has, unless it is from here. */
    replace(text: string) {
      if (text === known) return;
      known = text;
      unsaid = false;
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: text },
        annotations: outside.of(true),
      });
    },
    describe: (attributes: Record<string, string>) =>
      view.dispatch({ effects: about.reconfigure(described(attributes)) }),
    /** Marks what is wrong: that it is no JSON, in words, or else what the server says. */
    mark(problem: string | undefined, marks: Mark[]) {
      const { state } = view,
        { doc } = state;
      if (!problem && !marks.length) return view.dispatch(setDiagnostics(state, []));
      const tree = ensureSyntaxTree(state, doc.length, 500) ?? syntaxTree(state);
      const broken = problem && brokenAt(doc, tree);
      const diagnostics: Diagnostic[] = broken
        ? [{ ...broken, severity: "error", message: problem }]
        : !rootOf(tree)
          ? []
          : marks.slice(0, 100).map(({ path, message, warning }) => ({
              ...rangeAt(doc, tree, path),
              severity: warning ? "warning" : "error",
              message: message.slice(0, 2000),
            }));
      view.dispatch(setDiagnostics(state, diagnostics));
    },
    close() {
      tell();
      removeEventListener("beforeunload", tell, true);
      view.destroy();
    },
  };
}
