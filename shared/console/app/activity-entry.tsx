// One commit of the change feed.
import type { Activity as Entry } from "./answers";
import { familyOf } from "./workspace";
import { Author } from "./parts";
import { address, open } from "./router";
import { Messages } from "./messages";
import { Time } from "./time";

/** Several: it is the first of the entries of a commit that changed several items. */
export function One({ entry, several }: { entry: Entry; several: boolean }) {
  const family = familyOf(entry.type);
  return (
    <li>
      <div class="what">
        <p>
          <Author who={entry} /> <span class="note">{entry.action}</span>{" "}
          {entry.key &&
            (family ? (
              <a class="key" href={address([family, entry.key])}>
                {entry.key}
              </a>
            ) : (
              <code>{entry.key}</code>
            ))}
        </p>
        <Messages messages={entry.messages} />
      </div>
      <p class="note when">
        <Time at={entry.date} full />
        {family && entry.key && (
          <>
            {" "}
            <a href={address([family, entry.key], { undo: entry.sha })}>Undo</a>
          </>
        )}
        {(several || !entry.key) && (
          <>
            {" "}
            <button type="button" class="link" onClick={() => open({ undo: entry.sha })}>
              Undo all
            </button>
          </>
        )}
      </p>
    </li>
  );
}
