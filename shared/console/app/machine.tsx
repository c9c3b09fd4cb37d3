// What only a directory on this machine has: the values that are tried out on it, what
// is wrong with its files, and who has asked for flags.
import { useEffect, useState } from "./lib";
import { address, open } from "./router";
import { lists, refresh, useGet } from "./workspace";
import { Coming, Copy, Empty, Heading, Problem } from "./parts";
import { Icon } from "./icons";
import { keyOf } from "./as";
import { inLink } from "./evaluate";
import { Override, clear } from "./override";
import { Time } from "./time";
import { Bare, count, plain, sentence } from "./words";

export type Override = {
  key: string;
  value?: any;
  for?: { property: string; value: string };
  until?: string;
  problem?: string;
};

/** Has what is shown asked again every few seconds: nothing tells of it. */
function useFresh() {
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && refresh(), 3000);
    return () => clearInterval(timer);
  }, []);
}

export function Overrides() {
  useFresh();
  const { data, problem } = useGet("overrides");
  const all: Override[] = data?.overrides ?? [];
  return (
    <>
      <Heading
        title="Overrides"
        note={
          `Values that are served on this machine${data ? ` in ${data.environment}` : ""}, ` +
          "whatever the files say. Nobody else gets them."
        }
      >
        {all.length > 1 && (
          <button type="button" class="quiet" onClick={() => clear()}>
            Clear all
          </button>
        )}
        <button type="button" class="primary" onClick={() => open({ override: "*" })}>
          <Icon name="plus" />
          New override
        </button>
      </Heading>
      <Override />
      {problem && <Problem problem={problem} />}
      {!data && !problem && <Coming />}
      {data && !all.length && (
        <Empty title="Everything is served as the files say">
          <p>
            Override a flag to try a value out, for one user or for everyone who asks here, without
            editing a file.
          </p>
        </Empty>
      )}
      {all.length > 0 && (
        <ol class="feed apart">
          {all.map((one) => (
            <li key={one.key + (one.for?.value ?? "")}>
              <div class="what">
                <p>
                  <a class="key" href={address([familyOfKey(one.key), one.key])}>
                    {one.key}
                  </a>{" "}
                  <span class="note">is</span> <Bare value={one.value} absent="not shown" />
                  {one.for && (
                    <>
                      {" "}
                      <span class="note">
                        where <code>{one.for.property}</code> is <code>{one.for.value}</code>
                      </span>
                    </>
                  )}
                </p>
                {one.problem && <p class="problem">It comes to nothing: {one.problem}.</p>}
              </div>
              <p class="note when">
                <span>
                  {one.until ? (
                    <>
                      until <Time at={one.until} full />
                    </>
                  ) : (
                    "until it is cleared"
                  )}
                </span>
                <button
                  type="button"
                  class="small"
                  aria-label={`Clear the override of ${one.key}`}
                  onClick={() => clear(one.key, one.for ?? null)}
                >
                  Clear
                </button>
              </p>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

const familyOfKey = (key: string) =>
  lists.configs.value.rows.some((row) => row.key === key) ? "configs" : "flags";

export type Found = {
  severity: string;
  code: string;
  file: string;
  line?: number;
  column?: number;
  path: string;
  message: string;
};

export function Problems() {
  useFresh();
  const { data, problem } = useGet("problems");
  const all: Found[] = data?.problems ?? [];
  const counted =
    data &&
    [
      [data.errors, "error"],
      [data.warnings, "warning"],
    ]
      .filter(([n]) => n > 0)
      .map(([n, word]) => `${n} ${word}${n === 1 ? "" : "s"}`)
      .join(", ");
  return (
    <>
      <Heading
        title="Problems"
        note={
          data
            ? counted || `${data.files} files, and nothing wrong with them`
            : "What svc verify says"
        }
      />
      {problem && <Problem problem={problem} />}
      {!data && !problem && <Coming />}
      {data && !all.length && (
        <Empty title="All is well">
          <p>Every file can be served as it stands.</p>
        </Empty>
      )}
      {all.length > 0 && (
        <ol class="feed apart">
          {all.map((one, i) => (
            <li key={i}>
              <div class="what">
                <p class={one.severity}>
                  <Icon name="warning" label={one.severity} />{" "}
                  <code>
                    {one.file}
                    {one.line ? `:${one.line}` : ""}
                  </code>{" "}
                  {one.path && <code class="note">{one.path}</code>}
                </p>
                <p>{sentence(one.message)}</p>
              </div>
              <p class="note when">
                <code>{one.code}</code>
              </p>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

const protocols = { native: "polls", ofrep: "OpenFeature (OFREP)", events: "event streams" };

const most = 3; // contexts and flags of a client that are told without being asked for

function Asked({
  contexts,
  flags,
  all,
}: {
  protocol: string;
  contexts: any[];
  flags: string[];
  all: boolean;
}) {
  const [more, show] = useState(false),
    some = more ? Infinity : most;
  const hidden = Math.max(0, contexts.length - most) + Math.max(0, flags.length - most);
  return (
    <p>
      {contexts.length > 0 && (
        <>
          <span class="note">as</span>{" "}
          {contexts.slice(0, some).map((context, i) => (
            <>
              {i > 0 && ", "}
              <a
                href={address(["flags"], { context: inLink(JSON.stringify(context)) })}
                title={plain(context, 400)}
              >
                {keyOf(context)?.[1] ?? plain(context, 60)}
              </a>
            </>
          ))}{" "}
        </>
      )}
      {(all || flags.length > 0) && (
        <>
          <span class="note">for</span> {all && <>all flags{flags.length > 0 && ", and "}</>}
          {flags.slice(0, some).map((key, i) => (
            <>
              {i > 0 && ", "}
              <a class="key" href={address(["flags", key])}>
                {key}
              </a>
            </>
          ))}{" "}
        </>
      )}
      {hidden > 0 && (
        <button
          type="button"
          class="link"
          aria-expanded={more ? "true" : "false"}
          onClick={() => show(!more)}
        >
          {more ? "Less" : `${hidden} more`}
        </button>
      )}
    </p>
  );
}

export function Clients() {
  useFresh();
  const { data, problem } = useGet("clients");
  const all: {
    protocol: string;
    userAgent?: string;
    origin?: string;
    requests: number;
    lastSeenAt: string;
    contexts: any[];
    flags: string[];
    all: boolean;
  }[] = data?.clients ?? [];
  return (
    <>
      <Heading
        title="Clients"
        note="Who has asked for flags since the server was started, and as whom."
      />
      {problem && <Problem problem={problem} />}
      {!data && !problem && <Coming />}
      {data && !all.length && (
        <Empty title="Nobody has asked yet">
          <p>
            Open a page that asks this server, and it appears here, with the contexts that it asks
            with. Or ask from a terminal:
          </p>
          <div class="snippet">
            <pre tabindex={0} role="region" aria-label="Command">
              {poll}
            </pre>
            <Copy text={poll} />
          </div>
        </Empty>
      )}
      {all.length > 0 && (
        <ol class="feed apart">
          {all.map((one) => (
            <li key={one.protocol + one.origin + one.userAgent}>
              <div class="what">
                <p>
                  <b>{one.origin || "A program"}</b>{" "}
                  <span class="note">
                    by {(protocols as Record<string, string>)[one.protocol] ?? one.protocol}
                  </span>
                </p>
                <Asked {...one} />
                {one.userAgent && (
                  <p class="note clip" title={one.userAgent}>
                    {one.userAgent}
                  </p>
                )}
              </div>
              <p class="note when">
                <span>{count(one.requests, "request")}</span>
                <Time at={one.lastSeenAt} full />
              </p>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

/** Asks as the user user-1 does. */
const endpoint = new URL("../api/v2/configs/eval-with-context/", document.baseURI);
const poll = `curl ${endpoint}${btoa('{"user":{"key":"user-1"}}')}`;
