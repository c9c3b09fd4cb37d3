// One saved context, and what it gets.
import { useEnvironment } from "./evaluation";
import { useGet } from "./workspace";
import { query } from "./api";
import type { SavedContext } from "./answers";
import { useState } from "./lib";
import { writtenIn, contextOf, inLink } from "./written";
import { place, refine, address } from "./router";
import { Heading } from "./heading";
import { Time } from "./time";
import { Link, Coming } from "./parts";
import { EnvironmentChoice } from "./environment-choice";
import { ContextField } from "./context-field";
import { Everything } from "./everything";

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
