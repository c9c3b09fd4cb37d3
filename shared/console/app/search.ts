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

/** Finds a word with one letter that is wrong, missing, too many, or changed places with the next. */
export function almost(word: string): RegExp | null {
  if (word.length < 4) return null;
  const letters = [...word].map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const cut = (from: number, to?: number) => letters.slice(from, to).join("");
  const ways = letters.flatMap((letter, i) => [
    `${cut(0, i)}.${cut(i + 1)}`,
    `${cut(0, i)}.${cut(i)}`,
    ...(word.length > 4 ? [cut(0, i) + cut(i + 1)] : []),
    ...(i > 0 ? [cut(0, i - 1) + letter + letters[i - 1] + cut(i + 1)] : []),
  ]);
  return new RegExp(ways.join("|"));
}

/**
 * The rows with all words in them or, where none has, those whose key has their letters, or all of
 * them but one.
 */
export function matching<R extends Pick<Row, "key" | "text">>(rows: R[], words: string[]): R[] {
  const text = (row: R) => row.text ?? row.key.toLowerCase();
  const exact = rows.filter((row) => words.every((word) => text(row).includes(word)));
  if (exact.length || !words.length) return exact;
  const looked = words.map((word) => [word, almost(word)] as const);
  return rows.filter((row) => {
    const key = row.key.toLowerCase();
    return looked.every(([word, typo]) => inOrder(word, key) || typo?.test(key));
  });
}
