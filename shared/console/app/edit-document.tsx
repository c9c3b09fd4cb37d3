// Edits a document as JSON.
import { itemPath } from "./workspace";
import type { Family } from "./workspace";
import { useForm } from "./form";
import { get } from "./api";
import { useMemo, useState } from "./lib";
import { valueOf, Field } from "./values";
import type { Mark } from "./editor/editor";
import { Review } from "./review";

/** The schema of documents, as the server publishes it. */
const documentSchema = () => get("../schemas/v1/stored-config.json");

/**
 * The document itself: rules, variants and whatever else there is. What the
 * person does not touch keeps its spelling.
 */
export function Raw({
  family,
  itemKey,
  stored,
}: {
  family: Family;
  itemKey: string;
  stored: { commitSha: string; document: any };
}) {
  const {
    work: { text },
    set,
    seen,
    renew,
    resumed,
    ends,
  } = useForm(family, itemKey, stored, "document", () => ({
    text: JSON.stringify(stored.document, null, 2),
  }));
  const { value, problem } = useMemo(() => valueOf("json", text), [text]);
  const [marks, mark] = useState([] as Mark[]);
  return (
    <>
      <form class="form raw" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        <Field
          type="json"
          label="Document, as JSON"
          text={text}
          set={(text: string) => set({ text })}
          problem={problem}
          marks={marks}
          schema={documentSchema}
          autofocus
        />
      </form>
      <Review
        family={family}
        itemKey={itemKey}
        before={seen?.document}
        renew={renew}
        {...ends}
        tell={mark}
        proposal={{
          method: "PUT",
          path: `${itemPath(family, itemKey)}/document`,
          body: { document: value },
          token: seen?.commitSha,
          verb: "Apply",
          waiting: problem && "Once this is JSON, what it would do is shown here.",
        }}
      />
    </>
  );
}
