// How a program reads an item, in its language.
import type { Detail } from "./answers";
import { servedHere } from "./api";
import { useState } from "./lib";
import { Copy } from "./parts";

type Words = { ts: string; python: string; go: string; js: string; py: string; gone: string };

const number = { ts: "Number", js: "0" };

/** By the type of a value: what a client's method is called, and a default of the program's own. */
const types: Record<string, Words> = {
  bool: { ts: "Boolean", python: "boolean", go: "Bool", js: "false", py: "False", gone: "false" },
  string: { ts: "String", python: "string", go: "String", js: '""', py: '""', gone: '""' },
  int: { ...number, python: "integer", go: "Int", py: "0", gone: "0" },
  double: { ...number, python: "float", go: "Float", py: "0.0", gone: "0" },
  json: { ts: "Object", python: "object", go: "JSON", js: "{}", py: "{}", gone: "nil" },
  string_list: {
    ts: "Object",
    python: "object",
    go: "StringList",
    js: "[]",
    py: "[]",
    gone: "nil",
  },
  duration: {
    ts: "String",
    python: "string",
    go: "Duration",
    js: '"PT0S"',
    py: '"PT0S"',
    gone: "0",
  },
};

/** The programs, by language. A directory asks for no key unless it has some. */
export function snippets(
  key: string,
  type: string,
  base: string,
  keyed: boolean,
): Record<string, string> {
  const of = types[type],
    name = JSON.stringify(key);
  if (!of) return {};
  return {
    TypeScript: `import { OpenFeature } from "@openfeature/web-sdk";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";

await OpenFeature.setContext({ targetingKey: "user-1" });
await OpenFeature.setProviderAndWait(
  new OFREPWebProvider({
    baseUrl: "${base}",${keyed ? '\n    headers: [["X-API-Key", "svc_pk_..."]],' : ""}
  }),
);
const value = OpenFeature.getClient().get${of.ts}Value(${name}, ${of.js});`,
    Python: `from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext

api.set_provider(OFREPProvider("${base}"${keyed ? ', headers_factory=lambda: {"X-API-Key": key}' : ""}))
value = api.get_client().get_${of.python}_value(${name}, ${of.py}, EvaluationContext("user-1"))`,
    Go: `flags, err := client.Open(ctx, client.Options{${keyed ? `URL: "${base}", Key: key` : `Datadir: "our-config"`}})
if err != nil {
	return err
}
ctx = contexts.With(ctx, contexts.Named("user", map[string]any{"key": "user-1"}))
value := flags.${of.go}(ctx, ${name}, ${of.gone})`,
    curl: `curl -sS ${base}/ofrep/v1/evaluate/flags/${encodeURIComponent(key)} \\
  ${keyed ? '-H "X-API-Key: $SVC_SDK_KEY" ' : ""}-d '{"context": {"targetingKey": "user-1"}}'`,
  };
}

/** Programs to copy, one at a time. */
export function Programs({
  all,
  label,
  each = "Language",
  copied,
}: {
  all: Record<string, string>;
  label: string;
  /** what each of them is for */
  each?: string;
  copied?: () => void;
}) {
  const [chosen, choose] = useState("");
  const language = chosen in all ? chosen : Object.keys(all)[0];
  return (
    <>
      <div class="segmented" role="group" aria-label={each}>
        {Object.keys(all).map((name) => (
          <button
            type="button"
            aria-pressed={name === language ? "true" : "false"}
            onClick={() => choose(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div class="snippet">
        <pre tabindex={0} role="region" aria-label={`${label} in ${language}`}>
          {all[language]}
        </pre>
        <Copy text={all[language]} copied={copied} />
      </div>
    </>
  );
}

/** Where applications ask. */
export const base = new URL("..", document.baseURI).href.replace(/\/$/, "");

export function InCode({ item }: { item: Detail }) {
  const all = snippets(item.key, item.valueType ?? "", base, !servedHere);
  if (!all.curl) return null;
  return (
    <details class="in-code">
      <summary>Read it in code</summary>
      <Programs all={all} label={item.key} />
      <p class="note">
        <a href={new URL("../v1/docs", document.baseURI).href}>API reference</a>
        {!servedHere && (
          <>
            . A key comes from an admin's settings, or from{" "}
            <code>svc key create --kind public</code>; for Go it is a <code>secret</code> one.
          </>
        )}
      </p>
    </details>
  );
}
