// What a change does, in words.
import type { Detail, ItemOutcome, Message } from "./answers";
import { count } from "./words";
import { useState } from "./lib";
import { Key } from "./key";
import { RuleChanges } from "./rule-changes";
import { said } from "./said";

const mostItems = 50;

/** What a change set does, item by item. */
export function ByItem({
  results,
  was,
  linked,
}: {
  results: ItemOutcome[];
  was?: (one: ItemOutcome) => any;
  /** whether a key leads to its item: over a dialog it would lead away from what is begun */
  linked?: boolean;
}) {
  const [most, show] = useState(mostItems);
  const done = results.filter((one) => one.changed),
    same = results.length - done.length;
  return (
    <ul class="messages by-item">
      {done.slice(0, most).map((one) => (
        <li>
          {linked && one.type ? (
            <Key of={{ type: one.type, key: one.key }} />
          ) : (
            <code>{one.key}</code>
          )}{" "}
          {was && <span class="note">now {was(one)}</span>}
          <Messages messages={one.messages} document={one.after} />
          <RulesOf result={one} />
        </li>
      ))}
      {done.length > most && (
        <li>
          <button type="button" class="link" onClick={() => show(done.length)}>
            Show {(done.length - most).toLocaleString("en")} more
          </button>
        </li>
      )}
      {same > 0 && (
        <li class="note">
          {count(same, "other")} {same === 1 ? "is" : "are"} already like this.
        </li>
      )}
    </ul>
  );
}

/** How the rules of an item change, where it is known. */
export const RulesOf = ({ result: { type, before, after } }: { result: ItemOutcome }) =>
  before && after && type !== "segment" && type !== "schema" ? (
    <RuleChanges before={before} after={after} />
  ) : null;

/** @param document what there is then, where it is known */
export const Messages = ({ messages, document }: { messages: Message[]; document?: Detail }) => (
  <ul class="messages">
    {messages.map((message) => {
      const { where, text } = said(message, document);
      return (
        <li>
          {where && <b>{where}</b>} {text}
        </li>
      );
    })}
  </ul>
);
