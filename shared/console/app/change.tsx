// The changes that can be made to an item, each over its own part of the query:
// edit=<scope>, raw=1, undo=<commit>, restore=<commit>, delete=1, schema=1,
// details=1, variants=1.
import { useState, useEffect } from "./lib";
import { get } from "./api";
import { itemPath } from "./workspace";
import type { Family } from "./workspace";
import { place } from "./router";
import { Schema } from "./schema";
import { shut } from "./form";
import { Dialog } from "./dialog";
import { Problem } from "./problem";
import { Coming } from "./parts";
import { Targeting } from "./targeting";
import { Level } from "./edit-level";
import { Edit } from "./edit-value";
import { Deliberate, deliberate } from "./deliberate";
import { Raw } from "./edit-document";
import { Whole } from "./change-whole";
import { Details } from "./edit-details";
import { Variants } from "./edit-variants";

/** A document as it is when a change begins, not as it was when it was last seen. */
function useFresh(path: string, occasion: string) {
  const [state, set] = useState({ of: "" } as { of: string; data?: any; problem?: any });
  const of = `${path}\n${occasion}`;
  useEffect(() => {
    const abort = new AbortController();
    get(path, abort.signal).then(
      (data) => set({ of, data }),
      (problem) => abort.signal.aborted || set({ of, problem }),
    );
    return () => {
      abort.abort();
      set({ of: "" }); // what is opened again begins with what there is then
    };
  }, [of]);
  return state.of === of ? state : { of };
}

export function Change({ family, itemKey }: { family: Family; itemKey: string }) {
  const { query } = place.value;
  const stored = useFresh(`${itemPath(family, itemKey)}/document`, query.toString());
  if (query.has("schema")) return <Schema itemKey={itemKey} shut={shut} />;
  const scope = query.get("edit");
  const deed = deliberate[query.get("kind") ?? ""];
  const editsRules = Boolean(scope) && (query.get("kind") === "rules" || family === "segments");
  const title = editsRules ? (
    <>
      Rules of <em>{itemKey}</em>{" "}
      {family === "segments" ? "" : scope === "default" ? "by default" : `in ${scope}`}
    </>
  ) : scope && deed ? (
    <>
      {deed.title} <em>{itemKey}</em> {scope === "default" ? "by default" : `in ${scope}`}
    </>
  ) : scope ? (
    <>
      Change <em>{itemKey}</em> {scope === "default" ? "by default" : `in ${scope}`}
    </>
  ) : query.has("raw") ? (
    <>
      Edit the document <em>{itemKey}</em>
    </>
  ) : query.has("details") ? (
    <>
      Details of <em>{itemKey}</em>
    </>
  ) : query.has("variants") ? (
    <>
      Values of <em>{itemKey}</em>
    </>
  ) : query.has("delete") ? (
    <>
      Delete <em>{itemKey}</em>
    </>
  ) : query.has("undo") ? (
    <>
      Undo a change of <em>{itemKey}</em>
    </>
  ) : (
    <>
      Bring back <em>{itemKey}</em> as it was
    </>
  );
  // A deleted item has no document, and its deletion can be undone.
  const gone = stored.problem?.status === 404 && (query.has("undo") || query.has("restore"));
  return (
    <Dialog
      title={title}
      close={shut}
      key={query.toString()}
      wide={editsRules ? "wide targeted" : query.has("raw") || query.has("variants") ? "wide" : ""}
    >
      {stored.problem && !gone ? (
        <Problem problem={stored.problem} />
      ) : !stored.data && !gone ? (
        <Coming />
      ) : scope && editsRules ? (
        <Targeting
          family={family}
          itemKey={itemKey}
          scope={scope}
          stored={stored.data}
          shut={shut}
        />
      ) : scope && deed ? (
        <Deliberate
          family={family}
          itemKey={itemKey}
          scope={scope}
          kind={query.get("kind") ?? ""}
          stored={stored.data}
        />
      ) : scope ? (
        family === "log-levels" ? (
          <Level itemKey={itemKey} scope={scope} stored={stored.data} />
        ) : (
          <Edit family={family} itemKey={itemKey} scope={scope} stored={stored.data} />
        )
      ) : query.has("raw") ? (
        <Raw family={family} itemKey={itemKey} stored={stored.data} />
      ) : query.has("details") && stored.data ? (
        <Details family={family} itemKey={itemKey} stored={stored.data} />
      ) : query.has("variants") && stored.data ? (
        <Variants itemKey={itemKey} stored={stored.data} />
      ) : (
        <Whole family={family} itemKey={itemKey} stored={gone ? null : stored.data} />
      )}
    </Dialog>
  );
}
