// One commit of the change feed.
import type { Activity as Entry } from "./answers";
import { familyOf } from "./workspace";
import { Author } from "./parts";
import { address, open } from "./router";
import { Messages } from "./messages";
import { Time } from "./time";

/**
 * Of is how many of the items that are shown were changed by the same commit, told of
 * the first of them.
 */
export function One({ entry, of }: { entry: Entry; of: number }) {
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
        {(of > 1 || (!entry.key && !entry.type)) && (
          <>
            {" "}
            <button type="button" class="link" onClick={() => open({ undo: entry.sha })}>
              Undo all{of > 1 ? ` ${of}` : ""}
            </button>
          </>
        )}
      </p>
    </li>
  );
}
