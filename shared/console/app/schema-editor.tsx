// Edits the schema of a config.
import { useBegun } from "./begun";
import { useMemo, useState } from "./lib";
import { loadEditor } from "./json-text";
import type { Mark } from "./editor/editor";
import { valueOf, Field } from "./values";
import { Review } from "./review";
import { UsedIn } from "./used-in";

/** What a schema may say. */
const keywords = () => loadEditor().then((it) => it.keywords);

const blank = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {},
};

export function Editor({
  itemKey,
  config,
  schema,
  read,
  shut,
}: {
  itemKey: string;
  config: any;
  schema: any;
  read: () => Promise<{ config: any; schema: any }>;
  shut: () => void;
}) {
  const {
    work: { key, text, seen },
    set,
    done,
    cancel,
    resumed,
  } = useBegun(`configs/${itemKey} schema`, () => ({
    key: config.document.schemaKey ?? itemKey,
    text: JSON.stringify(schema?.document ?? blank, null, 2),
    seen: { config, schema },
  }));
  const bound = seen.config.document.schemaKey;
  const { value, problem } = useMemo(() => valueOf("json", text), [text]);
  const [marks, mark] = useState([] as Mark[]);
  const wrong =
    problem ??
    (value && typeof value === "object" && !Array.isArray(value)
      ? undefined
      : "A schema is a JSON object.");
  // A new schema and the config that names it are one commit, or none.
  const put = {
    op: "put",
    type: "schema",
    key,
    document: value,
    ...(seen.schema && { expectedCommitSha: seen.schema.commitSha }),
  };
  const name = {
    op: "put",
    type: "config",
    key: itemKey,
    document: { ...seen.config.document, schemaKey: key },
    expectedCommitSha: seen.config.commitSha,
  };
  return (
    <>
      <form class="form raw" onSubmit={(event: Event) => event.preventDefault()}>
        {resumed}
        {bound ? (
          <p class="note">Whatever config names it has to fit it, with all its values.</p>
        ) : (
          <Field
            type="line"
            label="Name of the schema"
            text={key}
            set={(key: string) => set({ key })}
          />
        )}
        <Field
          type="json"
          label="JSON Schema (draft 2020-12)"
          text={text}
          set={(text: string) => set({ text })}
          problem={wrong}
          marks={marks}
          schema={keywords}
          autofocus
        />
        {bound && <UsedIn schema={bound} />}
      </form>
      <Review
        family="configs"
        itemKey=""
        before={seen.schema?.document ?? null}
        tell={(issues) =>
          mark(
            issues.flatMap(({ path, ...rest }) => {
              const within = path.match(/^\/operations\/0\/document(\/.*)?$/);
              return within ? [{ ...rest, path: within[1] ?? "" }] : [];
            }),
          )
        }
        renew={() =>
          read().then(
            (seen) => set({ seen }),
            () => {},
          )
        }
        cancel={() => {
          cancel();
          shut();
        }}
        done={() => {
          done();
          shut();
        }}
        proposal={{
          method: "POST",
          path: "changes",
          body: { operations: bound ? [put] : [put, name] },
          verb: "Apply",
          waiting: wrong
            ? "Once this is a schema, what it would do is shown here."
            : !key
              ? "Give the schema a name."
              : undefined,
        }}
      />
    </>
  );
}
