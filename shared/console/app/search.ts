// Which rows of a list somebody looks for.
import type { Row } from "./answers";

export const wordsOf = (typed: string) => typed.toLowerCase().split(/\s+/).filter(Boolean);

/** Whether a text has the letters of a word in their order, near to each other. */
export function inOrder(word: string, text: string) {
  for (let from = text.indexOf(word[0]); from >= 0; from = text.indexOf(word[0], from + 1)) {
    let at = from;
    for (const letter of word.slice(1)) at = at < 0 ? at : text.indexOf(letter, at + 1);
    if (at >= 0 && at - from < 2 * word.length) return true;
  }
  return false;
}

/** The rows with all words in them or, where none has, those whose key has their letters. */
export function matching(rows: Row[], words: string[]): Row[] {
  const exact = rows.filter((row) => words.every((word) => row.text?.includes(word)));
  if (exact.length || !words.length) return exact;
  return rows.filter((row) => words.every((word) => inOrder(word, row.key.toLowerCase())));
}
