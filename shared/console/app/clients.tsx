// The clients that have asked this server.
import { useState } from "./lib";
import { address } from "./router";
import { inLink } from "./written";
import { plain, count } from "./words";
import { keyOf } from "./as";
import { useFresh } from "./fresh";
import { useGet } from "./workspace";
import { Heading } from "./heading";
import { Problem, Empty } from "./problem";
import { Coming, Copy } from "./parts";
import { Time } from "./time";

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
        <Empty title="No requests yet">
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
