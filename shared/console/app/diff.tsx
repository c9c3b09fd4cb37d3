// The difference of two documents, line by line.
import { useMemo } from "./lib";

export type Line = { kind: " " | "+" | "-"; text: string };

const mostSteps = 1500; // of the search; what differs more is shown as one block

/** The shortest way from one list of lines to another (Myers), within bounds. */
export function difference(a: string[], b: string[]): Line[] {
  let head = 0,
    tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  )
    tail++;
  const all = (kind: " " | "+" | "-", lines: string[]): Line[] =>
    lines.map((text) => ({ kind, text }));
  const was = a.slice(head, a.length - tail),
    is = b.slice(head, b.length - tail);
  return [
    ...all(" ", a.slice(0, head)),
    ...(shortest(was, is) ?? [...all("-", was), ...all("+", is)]),
    ...all(" ", tail ? a.slice(-tail) : []),
  ];
}

function shortest(a: string[], b: string[]): Line[] | null {
  const most = Math.min(a.length + b.length, mostSteps),
    ends = new Map([[1, 0]]);
  const trail: Map<number, number>[] = [];
  for (let d = 0; d <= most; d++) {
    trail.push(new Map(ends));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));
      let x = down ? (ends.get(k + 1) ?? 0) : (ends.get(k - 1) ?? 0) + 1,
        y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x++;
        y++;
      }
      ends.set(k, x);
      if (x >= a.length && y >= b.length) return walked(a, b, trail);
    }
    if (d > 200 && trail.length * d > 60_000) return null;
  }
  return null;
}

function walked(a: string[], b: string[], trail: Map<number, number>[]): Line[] {
  const lines: Line[] = [];
  let x = a.length,
    y = b.length;
  for (let d = trail.length - 1; d >= 0; d--) {
    const ends = trail[d],
      k = x - y;
    const down = k === -d || (k !== d && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));
    const fromK = down ? k + 1 : k - 1,
      fromX = d === 0 ? 0 : (ends.get(fromK) ?? 0),
      fromY = d === 0 ? 0 : fromX - fromK;
    while (x > fromX && y > fromY) lines.push({ kind: " ", text: a[--x + 0 * y--] });
    if (d > 0) lines.push(down ? { kind: "+", text: b[--y] } : { kind: "-", text: a[--x] });
  }
  return lines.reverse();
}

const around = 3,
  mostLines = 400,
  longest = 400;

/** Documents; null for none. */
export function Difference({ before, after }: { before: any; after: any }) {
  const lines = useMemo(() => {
    const text = (document: any) =>
      document === null || document === undefined
        ? []
        : JSON.stringify(document, null, 2).split("\n");
    const all = difference(text(before), text(after));
    const near = all.map((_, i) =>
      all.slice(Math.max(0, i - around), i + around + 1).some((line) => line.kind !== " "),
    );
    const shown: (Line | null)[] = [];
    all.forEach((line, i) =>
      near[i] ? shown.push(line) : shown.at(-1) !== null && shown.push(null),
    );
    return shown;
  }, [before, after]);
  if (lines.every((line) => line === null)) return <p class="note">The document is the same.</p>;
  const names = { "+": "added", "-": "removed", " ": "" };
  return (
    <pre class="diff" tabindex={0} role="region" aria-label="Difference of the document">
      {lines.slice(0, mostLines).map((line) =>
        line ? (
          <span class={names[line.kind]}>
            {names[line.kind] && <span class="hidden">{names[line.kind]} </span>}
            <span aria-hidden="true">{line.kind} </span>
            {line.text.length > longest ? `${line.text.slice(0, longest)}…` : line.text}
            {"\n"}
          </span>
        ) : (
          <span class="gap">⋯{"\n"}</span>
        ),
      )}
      {lines.length > mostLines && (
        <span class="gap">and {lines.length - mostLines} more lines</span>
      )}
    </pre>
  );
}
