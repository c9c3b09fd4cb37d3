// The context that somebody has written, and that is in links.
import { signal } from "./lib";
import { parse } from "./api";

/** The context that was written last; it stays while views change. */
export const written = signal(JSON.stringify({ user: { key: "user-1" } }, null, 2));

export function contextOf(text: string): { context?: any; problem?: string } {
  try {
    const context = parse(text);
    const fits =
      context &&
      typeof context === "object" &&
      !Array.isArray(context) &&
      Object.values(context).every((one) => one && typeof one === "object" && !Array.isArray(one));
    return fits
      ? { context }
      : { problem: 'Write an object of objects, such as {"user": {"key": "user-1"}}.' };
  } catch (error) {
    return { problem: `This is not JSON: ${(error as Error).message}` };
  }
}

/** How long what is in a link may be. */
const longestLink = 2000;

/** A context as a link has it. */
export function inLink(text: string | null) {
  const short = text === null || contextOf(text).problem ? null : JSON.stringify(parse(text));
  return short && short.length <= longestLink ? short : null;
}

/** The context that a link has in it. */
export function writtenIn(query: URLSearchParams): string | null {
  const text = query.get("context");
  return text && !contextOf(text).problem ? JSON.stringify(parse(text), null, 2) : text;
}
