// An item's document as it is stored.
import { useGet, itemPath } from "./workspace";
import type { Family } from "./workspace";
import { place, address, open } from "./router";
import { Act, mayNothing } from "./may";
import { Coming, Copy } from "./parts";

export function Document({ family, itemKey }: { family: Family; itemKey: string }) {
  const at = place.value.query.get("at");
  const { data, problem } = useGet(
    `${itemPath(family, itemKey)}/document${at ? `?at=${encodeURIComponent(at)}` : ""}`,
  );
  if (!data) return problem ? null : <Coming />;
  const text = JSON.stringify(data.document, null, 2),
    most = 200_000;
  return (
    <div class="document">
      <p class="note">
        {at ? (
          <>
            As it was after <code>{at.slice(0, 10)}</code>.{" "}
            <a href={address([family, itemKey, "document"])}>As it is now</a>
          </>
        ) : (
          <>
            As it is stored, at <code>{data.commitSha.slice(0, 10)}</code>.
          </>
        )}{" "}
        <Copy text={text} />{" "}
        {!at && (
          <Act refused={mayNothing()} class="small" onClick={() => open({ raw: "1" })}>
            Edit
          </Act>
        )}
      </p>
      <pre tabindex={0} role="region" aria-label="Document">
        {text.slice(0, most)}
      </pre>
      {text.length > most && (
        <p class="note">
          The first {most.toLocaleString("en")} of {text.length.toLocaleString("en")} characters.
          The button copies all.
        </p>
      )}
    </div>
  );
}
