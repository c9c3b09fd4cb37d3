// The JSON Schema that the values of a config have to fit: schema=1 in the query.
import { useEffect, useState } from "./lib";
import { get } from "./api";
import { useGet } from "./workspace";
import { useBegun } from "./begun";
import { Dialog } from "./dialog";
import { Coming, Problem } from "./parts";
import { Review } from "./review";
import { Field, valueOf } from "./values";
import type { Issue } from "./answers";

const path = (key: string) => `schemas/${encodeURIComponent(key)}/document`;

/** What a schema allows, to be read beside a value. */
export function Allowed({ schemaKey }: { schemaKey: string }) {
  const { data } = useGet(path(schemaKey));
  return data ? (
    <details>
      <summary>What the schema {schemaKey} allows</summary>
      <pre class="allowed" tabindex={0} role="region" aria-label="Schema">
        {JSON.stringify(data.document, null, 2).slice(0, 50_000)}
      </pre>
    </details>
  ) : null;
}

/** The problems of a value with its schema or type, by where they are in it. */
export const inValue = (issues: Issue[]) =>
  issues
    .map(({ path, message }) => {
      const within = path.match(/\/value\/value(\/.*)$/)?.[1] ?? path.match(/^\/value(\/.*)$/)?.[1];
      return within ? `${within}: ${message}` : message;
    })
    .join("\n");

const blank = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {},
};

export function Schema({ itemKey, shut }: { itemKey: string; shut: () => void }) {
  const [state, set] = useState({} as { config?: any; schema?: any; problem?: any });
  const read = async () => {
    const config = await get(`configs/${encodeURIComponent(itemKey)}/document`),
      key = config.document.schemaKey;
    return { config, schema: key ? await get(path(key)) : null };
  };
  useEffect(() => {
    read().then(set, (problem) => set({ problem }));
  }, []);
  const bound = state.config?.document.schemaKey;
  return (
    <Dialog
      title={
        bound ? (
          <>
            Schema <em>{bound}</em>
          </>
        ) : (
          <>
            New schema for <em>{itemKey}</em>
          </>
        )
      }
      close={shut}
      wide="wide"
    >
      {state.problem ? (
        <Problem problem={state.problem} />
      ) : !state.config ? (
        <Coming />
      ) : (
        <Editor
          itemKey={itemKey}
          config={state.config}
          schema={state.schema}
          read={read}
          shut={shut}
        />
      )}
    </Dialog>
  );
}

function Editor({
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
  const { value, problem } = valueOf("json", text);
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
          autofocus
        />
      </form>
      <Review
        family="configs"
        itemKey=""
        before={seen.schema?.document ?? null}
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
