// What has been changed, as one would say it: the server's words are those of its history.
import type { Detail, Message } from "./answers";
import { rulesIn, standing } from "./rules";

const plainer: [RegExp, string][] = [
  [/^readyForCleanup: set to true$/, "marked as ready for cleanup"],
  [/^readyForCleanup(: set to false| removed)$/, "no longer marked as ready for cleanup"],
  [/^sendToClientSdk: set to true$/, "sent to browsers"],
  [/^sendToClientSdk(: set to false| removed)$/, "no longer sent to browsers"],
  [/^schemaKey: set to /, "schema set to "],
  [/^schemaKey removed$/, "schema removed"],
  [/^name: set to /, "name set to "],
  [/^variants: /, "values: "],
  [/^(\d+) targeting rule/, "$1 rule"],
  [/^targeting rules /, "rules "],
  [/^fallback removed$/, "nothing set for everyone else any more"],
  [/^own rules removed; the default rules hold$/, "follows the default rules again"],
];

/** @param document what there is then, where it is known */
export function said({ scope, message }: Message, document?: Detail) {
  const where = message.startsWith(`${scope}: `) ? scope : "",
    text = where ? message.slice(scope.length + 2) : message;
  const on = /^enabled set to (true|false)$/.exec(text)?.[1];
  if (on === undefined)
    return { where, text: plainer.reduce((text, [from, to]) => text.replace(from, to), text) };
  const word = on === "true" ? "on" : "off",
    everyone =
      document && standing(rulesIn(document, scope).rules).length > 1
        ? "everyone else"
        : "everyone";
  return { where, text: document ? `${word} for ${everyone}` : `turned ${word}` };
}

/** In one line. */
export const saidInLine = (message: Message, document?: Detail) => {
  const { where, text } = said(message, document);
  return where ? `${where}: ${text}` : text;
};
