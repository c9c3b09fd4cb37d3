// The JSON Schema that the values of a config have to fit: schema=1 in the query.
import { useGet } from "./workspace";
import type { Issue } from "./answers";
import { useState, useEffect, useMemo } from "./lib";
import { get } from "./api";
import { Dialog } from "./dialog";
import { Problem } from "./problem";
import { Coming } from "./parts";
import { Editor } from "./schema-editor";

/** Where a schema is read. */
export const schemaPath = (key: string) => `schemas/${encodeURIComponent(key)}/document`;

/** What a schema allows, to be read beside a value. */
export function Allowed({ schemaKey }: { schemaKey: string }) {
  const { data } = useGet(schemaPath(schemaKey));
  return data ? (
    <details>
      <summary>What the schema {schemaKey} allows</summary>
      <pre class="allowed" tabindex={0} role="region" aria-label="Schema">
        {JSON.stringify(data.document, null, 2).slice(0, 50_000)}
      </pre>
    </details>
  ) : null;
}

/** What reads the schema that a config's values have to fit, if there is one. */
export const useSchemaOf = (document: any) => {
  const key = document?.schemaKey;
  return useMemo(
    () => key && (() => get(schemaPath(key)).then((stored) => stored.document)),
    [key],
  );
};

/** The problems of a value with its schema or type, by where they are in it. */
export const inValue = (issues: (Issue & { warning?: boolean })[]) =>
  issues
    .filter((one) => !one.warning && /\/value(\/|$)/.test(one.path))
    .map(({ path, message }) => ({
      path: path.match(/\/value\/value(\/.*)$/)?.[1] ?? path.match(/^\/value(\/.*)$/)?.[1] ?? "",
      message: message.replace(/^violates the schema "[^"]*": /, ""),
    }));

export function Schema({ itemKey, shut }: { itemKey: string; shut: () => void }) {
  const [state, set] = useState({} as { config?: any; schema?: any; problem?: any });
  const read = async () => {
    const config = await get(`configs/${encodeURIComponent(itemKey)}/document`),
      key = config.document.schemaKey;
    return { config, schema: key ? await get(schemaPath(key)) : null };
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
