// Contexts that applications were seen with: find a person, see what they get.
import { useRef, useState } from "./lib";
import { query } from "./api";
import { address, place, refine } from "./router";
import { useGet } from "./workspace";
import { Coming, Empty, Heading, Link, Problem } from "./parts";
import { Icon } from "./icons";
import { Time } from "./time";
import {
  ContextField,
  EnvironmentChoice,
  Everything,
  contextOf,
  inLink,
  useEnvironment,
  writtenIn,
} from "./evaluate";
import { plain } from "./words";
import type { SavedContext } from "./answers";

export function Contexts() {
  const [environment] = useEnvironment();
  const q = place.value.query.get("q") ?? "";
  const [asked, ask] = useState(q);
  const timer = useRef(0);
  const { data, problem } = useGet(
    environment && `contexts${query({ environment, query: asked, limit: 100 })}`,
  );
  const search = (event: any) => {
    clearTimeout(timer.current);
    refine({ q: event.target.value });
    timer.current = setTimeout(ask, 300, event.target.value);
  };
  const found: SavedContext[] = data?.contexts ?? [];
  return (
    <>
      <Heading
        title="Contexts"
        note="People, devices and whatever else applications have asked for. Find one, see what it gets, and why."
      />
      <div class="filters" role="search">
        <label class="search">
          <Icon name="search" />
          <span class="hidden">Search contexts</span>
          <input
            type="search"
            placeholder="Key, name, e-mail or another property"
            value={q}
            onInput={search}
          />
        </label>
        <EnvironmentChoice />
      </div>
      {problem && <Problem problem={problem} />}
      {!data ? (
        !problem && <Coming />
      ) : found.length > 0 ? (
        <ul class="people">
          {found.map((one) => (
            <li key={`${one.type}/${one.key}`}>
              <a href={address(["contexts", one.type, one.key], { in: environment })}>
                <span class="key">{one.name || one.key}</span>
                <span class="note clip">
                  {one.name ? one.key : ""}
                  {one.email && ` ${one.email}`}
                </span>
                <span class="tag">{one.type || "unnamed"}</span>
                <span class="note seen">
                  <Time at={one.lastSeenAt} plain />
                </span>
              </a>
            </li>
          ))}
        </ul>
      ) : (
        <Empty title={asked ? "Nobody fits" : "Nobody has been seen yet"}>
          <p>
            {asked
              ? "No context that was seen lately in this environment has this in its key or properties."
              : "Contexts appear when applications send telemetry. Until then you can write one yourself."}
          </p>
          <a
            class="button"
            href={address(["contexts", "user", asked.trim() || "user-1"], { in: environment })}
          >
            See what the user {plain(asked.trim() || "user-1", 40)} would get
          </a>
        </Empty>
      )}
    </>
  );
}

export function OneContext({ type, contextKey }: { type: string; contextKey: string }) {
  const [environment] = useEnvironment();
  const { data, problem: unseen } = useGet(
    `contexts${query({ type, key: contextKey, properties: "true", limit: 100 })}`,
  );
  const saved: SavedContext[] = (data?.contexts ?? []).filter(
    (one: SavedContext) => one.type === type,
  );
  const here = saved.find((one) => one.environment === environment);
  const [text, setText] = useState(() => writtenIn(place.peek().query));
  const shown = text ?? JSON.stringify(here?.context ?? { [type]: { key: contextKey } }, null, 2);
  const { context, problem } = contextOf(shown);
  const edit = (next: string | null) => {
    setText(next);
    refine({ context: inLink(next) });
  };
  const others = saved.filter((one) => one.environment !== environment);
  return (
    <>
      <p class="crumbs">
        <a href={address(["contexts"], { in: environment })}>Contexts</a>
      </p>
      <Heading
        title={contextKey}
        note={
          <>
            {here?.name && (
              <>
                <b>{here.name}</b>{" "}
              </>
            )}
            {type || "unnamed context"}
            {here && (
              <>
                , last seen <Time at={here.lastSeenAt} />
              </>
            )}
          </>
        }
      >
        <Link />
      </Heading>
      <div class="evaluate">
        <form class="form" onSubmit={(event: Event) => event.preventDefault()}>
          <EnvironmentChoice />
          <ContextField text={shown} set={edit} problem={problem} />
          <p class="note">
            {text !== null ? (
              <button type="button" class="link" onClick={() => edit(null)}>
                Back to what was seen
              </button>
            ) : unseen ? (
              "Its properties could not be read: add those that it would have."
            ) : !data ? (
              "Looking for its properties…"
            ) : here ? (
              "As it was last seen. Change it to try something else; nothing is saved."
            ) : (
              "Not among the contexts that were seen here: add the properties that it would have."
            )}
            {others.length > 0 && (
              <>
                {" "}
                Also seen in{" "}
                {others.map((one, i) => (
                  <>
                    {i > 0 && ", "}
                    <a href={address(["contexts", type, contextKey], { in: one.environment })}>
                      {one.environment}
                    </a>
                  </>
                ))}
                .
              </>
            )}
          </p>
        </form>
        <section class="result" aria-label="What it gets">
          {data || unseen || text !== null ? (
            <Everything context={context} environment={environment} />
          ) : (
            <Coming />
          )}
        </section>
      </div>
    </>
  );
}
