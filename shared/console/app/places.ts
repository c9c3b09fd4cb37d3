// Places in a document, which the server names by JSON Pointers, in words.
import type { Issue, ItemOutcome } from "./answers";

const pointer = new RegExp(
  String.raw`(?:/operations/\d+)?(?:/document)?/(default|environments/(\d+))/rules/(\d+)` +
    String.raw`(?:/criteria/(\d+))?(?:/[A-Za-z0-9_~/]*)?`,
  "g",
);

/** A text without pointers to rules. */
export const inWords = (text: string, document?: any): string =>
  text
    .replace(/\bat "(\/[^"]*)": /g, "$1: ")
    .replace(pointer, (_, scope, environment, rule, criterion) => {
      const name =
        scope === "default" ? "default" : document?.environments?.[Number(environment)]?.id;
      return (
        (criterion === undefined ? "" : `condition ${Number(criterion) + 1} of `) +
        `rule ${Number(rule) + 1}` +
        (name === "default" ? " of the default rules" : name ? ` in ${name}` : "")
      );
    });

/** A warning of a change, in a sentence that names the place. */
export function warned({ path, message }: Issue, document: any, results: ItemOutcome[] = []) {
  const of = /^\/operations\/(\d+)/.exec(path ?? "")?.[1],
    result = of === undefined ? undefined : results[Number(of)],
    about = result?.after ?? document,
    said = inWords(message, about),
    place = inWords(path ?? "", about);
  // Of a change set the message has the place already.
  return place.includes("/") || !place || (said !== message && of !== undefined)
    ? said
    : `${place}: ${said}`;
}
