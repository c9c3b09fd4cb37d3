// The overrides on this machine.
import { useFresh } from "./fresh";
import { useGet, lists } from "./workspace";
import { Heading } from "./heading";
import { clear } from "./override-calls";
import { open, address } from "./router";
import { Icon } from "./icons";
import { Problem, Empty } from "./problem";
import { Coming } from "./parts";
import { Bare } from "./words";
import { Time } from "./time";
import { Override } from "./override";

type Entry = {
  key: string;
  value?: any;
  for?: { property: string; value: string };
  until?: string;
  problem?: string;
};

export function Overrides() {
  useFresh();
  const { data, problem } = useGet("overrides");
  const all: Entry[] = data?.overrides ?? [];
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
