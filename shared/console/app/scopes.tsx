// An item's environments side by side, and its default rules.
import { environments } from "./workspace";
import type { Family } from "./workspace";
import type { Detail, Environment } from "./answers";
import { Rules, rulesIn, stateOf } from "./rules";
import { open } from "./router";
import { Icon } from "./icons";
import { UsedIn } from "./used-in";
import { Status, Stored } from "./words";

/** What the button does beside the rules: a switch is there for all or nothing. */
const deed = (family: Family, item: Detail): [word: string, kind?: string] =>
  family === "flags" && item.valueType === "bool"
    ? ["Roll out", "rollout"]
    : [family === "log-levels" ? "Set level" : "Set value"];

export function Scopes({ family, item }: { family: Family; item: Detail }) {
  if (family === "segments")
    return (
      <div class="scopes">
        <section class="scope">
          <header>
            <h2>Who is in it</h2>
          </header>
          <Rules rules={item.default?.rules ?? []} otherwise="not in it" membership />
          <footer>
            <button type="button" onClick={() => open({ edit: "default", kind: "rules" })}>
              Edit rules
            </button>
          </footer>
        </section>
        <UsedIn segment={item.key} />
      </div>
    );
  const [word, kind] = deed(family, item);
  const inheriting = environments.value
    .filter((environment) => rulesIn(item, environment.name).inherited)
    .map((environment) => environment.name);
  return (
    <div class="scopes">
      {environments.value.map((environment) => (
        <Scope key={environment.name} family={family} item={item} environment={environment} />
      ))}
      <section class="scope default" aria-labelledby="scope-default">
        <header>
          <div>
            <h2 id="scope-default">Default rules</h2>
            <p class="note">
              {inheriting.length
                ? `Used by ${inheriting.join(", ")}.`
                : "Every environment has rules of its own."}
            </p>
          </div>
        </header>
        <Rules
          rules={item.default?.rules ?? []}
          otherwise="nothing: the program's own default applies"
        />
        <footer>
          <span class="actions">
            <button
              type="button"
              class="quiet"
              aria-label="Edit rules (default)"
              onClick={() => open({ edit: "default", kind: "rules" })}
            >
              Edit rules
            </button>
            <button
              type="button"
              aria-label={`${word} (default)`}
              onClick={() => open({ edit: "default", kind })}
            >
              {word}
            </button>
          </span>
        </footer>
      </section>
      {family === "flags" && item.variants && item.variants.length > 0 && (
        <section class="scope default" aria-labelledby="variants">
          <header>
            <div>
              <h2 id="variants">Values</h2>
              <p class="note">What this flag may serve.</p>
            </div>
          </header>
          <ul class="rules">
            {item.variants.map((variant) => (
              <li>
                <div>
                  <Stored value={variant.value} /> {variant.name}
                </div>
                {variant.description && <p class="note">{variant.description}</p>}
              </li>
            ))}
          </ul>
          <footer>
            <span class="actions">
              <button type="button" class="quiet" onClick={() => open({ variants: "1" })}>
                Edit values
              </button>
            </span>
          </footer>
        </section>
      )}
    </div>
  );
}

function Scope({
  family,
  item,
  environment,
}: {
  family: Family;
  item: Detail;
  environment: Environment;
}) {
  const { name } = environment,
    [word, kind] = deed(family, item);
  const { rules, inherited } = rulesIn(item, name);
  const boolean = family === "flags" && item.valueType === "bool",
    { word: state, on } = stateOf(rules);
  const status = item.environmentStatuses?.[name];
  const id = `scope-${name}`;
  return (
    <section class="scope" aria-labelledby={id}>
      <header>
        <div>
          <h2 id={id}>
            {name}
            {environment.protected && (
              <>
                {" "}
                <span class="protected" title="Protected: only some roles may edit here">
                  <Icon name="lock" label="protected" />
                </span>
              </>
            )}
          </h2>
          <p class="note">
            {inherited
              ? "Uses the default rules"
              : rules.length === 0
                ? "Own rules, none yet"
                : "Own rules"}
          </p>
        </div>
        {status && <Status status={status} />}
      </header>
      <Rules
        rules={rules}
        otherwise={inherited ? "nothing: the program's own default applies" : undefined}
      />
      <footer>
        {boolean && (
          <span class="state">
            <button
              type="button"
              role="switch"
              class="switch"
              aria-checked={on ? "true" : "false"}
              aria-label={`Serve true to everyone${rules.length > 1 ? " else" : ""} in ${name}`}
              title={`Turn ${on ? "off" : "on"} for everyone${rules.length > 1 ? " whom no rule above covers" : ""}`}
              onClick={() => open({ edit: name, kind: "value", set: on ? "false" : "true" })}
            >
              <i />
            </button>
            {state}
          </span>
        )}
        <span class="actions">
          <button
            type="button"
            class="quiet"
            aria-label={`Edit rules in ${name}`}
            onClick={() => open({ edit: name, kind: "rules" })}
          >
            Edit rules
          </button>
          <button
            type="button"
            aria-label={`${word} in ${name}`}
            onClick={() => open({ edit: name, kind })}
          >
            {word}
          </button>
        </span>
      </footer>
    </section>
  );
}
