// What a change does, in words.
import type { ItemOutcome, Message } from "./answers";
import { count } from "./words";

const mostItems = 50;

/** What a change set does, item by item. */
export function ByItem({ results }: { results: ItemOutcome[] }) {
  const done = results.filter((one) => one.changed),
    same = results.length - done.length;
  return (
    <ul class="messages by-item">
      {done.slice(0, mostItems).map((one) => (
        <li>
          <code>{one.key}</code>
          <Messages messages={one.messages} />
        </li>
      ))}
      {done.length > mostItems && (
        <li class="note">and {(done.length - mostItems).toLocaleString("en")} more</li>
      )}
      {same > 0 && (
        <li class="note">
          {count(same, "other")} {same === 1 ? "is" : "are"} like that already.
        </li>
      )}
    </ul>
  );
}

export const Messages = ({ messages }: { messages: Message[] }) => (
  <ul class="messages">
    {messages.map(({ scope, message }) => (
      <li>
        {message.startsWith(`${scope}: `) ? (
          <>
            <b>{scope}</b> {message.slice(scope.length + 2)}
          </>
        ) : (
          message
        )}
      </li>
    ))}
  </ul>
);
