// Contexts that applications were seen with: find a person, see what they get.
import { useEnvironment } from "./evaluation";
import { place, refine, address } from "./router";
import { useEffect, useState, useRef } from "./lib";
import { begin } from "./dialog";
import { useGet } from "./workspace";
import { query } from "./api";
import type { SavedContext } from "./answers";
import { Heading } from "./heading";
import { Icon } from "./icons";
import { EnvironmentChoice } from "./environment-choice";
import { Problem, Empty } from "./problem";
import { Coming } from "./parts";
import { Time } from "./time";
import { plain } from "./words";

export function Contexts() {
  const [environment] = useEnvironment();
  const q = place.value.query.get("q") ?? "";
  const [asked, ask] = useState(q);
  const timer = useRef(0),
    field = useRef(null as HTMLInputElement | null);
  useEffect(() => begin(field.current), []);
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
            ref={field}
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
        <Empty title={asked ? "No matches" : "No users seen yet"}>
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
