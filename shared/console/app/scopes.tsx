// An item's environments side by side, and its default rules.
import { environments } from "./workspace";
import type { Family } from "./workspace";
import type { Detail, Environment } from "./answers";
import { Rules, rulesIn, standing, stateOf, Served } from "./rules";
import { apart } from "./apart";
import { isFallback, isSplit } from "./rule-lists";
import { pause } from "./pause";
import { useState } from "./lib";
import { open } from "./router";
import { Icon } from "./icons";
import { Act, mayNot, WhyNot } from "./may";
import { UsedIn } from "./used-in";
import { bareOf, Paused, plain, Status, Stored } from "./words";

const Timed = apart("Timed");

/** What the button does beside the rules: a switch is there for all or nothing. */
const deed = (family: Family, item: Detail): [word: string, kind?: string] =>
  family === "flags" && item.valueType === "bool"
    ? ["Roll out", "rollout"]
    : [family === "log-levels" ? "Set level" : "Set value"];

const firstOf = (names: string[], most = 5) =>
  names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");

/** More environments than these are looked for, and those that matter come first. */
const mostUnsorted = 6;

export function Scopes({ family, item }: { family: Family; item: Detail }) {
  const refused = mayNot(item.access, "default");
  const [words, look] = useState(""),
    [which, choose] = useState("");
  if (family === "segments")
    return (
      <div class="scopes">
        <section class="scope">
          <header>
            <h2>Who is in it</h2>
          </header>
          <Rules rules={item.default?.rules ?? []} otherwise="not in it" membership />
          <WhyNot refused={refused} />
          <footer>
            <Act refused={refused} onClick={() => open({ edit: "default", kind: "rules" })}>
              Edit rules
            </Act>
          </footer>
        </section>
        <UsedIn segment={item.key} />
      </div>
    );
  const [word, kind] = deed(family, item);
  const inheriting = environments.value
    .filter((environment) => rulesIn(item, environment.name).inherited)
    .map((environment) => environment.name);
  const all = environments.value,
    many = all.length > mostUnsorted;
  const differs = ({ name }: Environment) => {
    const { rules, inherited } = rulesIn(item, name);
    return !inherited && JSON.stringify(rules) !== JSON.stringify(item.default?.rules ?? []);
  };
  const rank = (one: Environment) => (one.protected ? 0 : differs(one) ? 1 : 2);
  const shown = many
    ? all
        .filter(
          (one) =>
            one.name.includes(words.trim().toLowerCase()) &&
            (which === "" || (which === "protected" ? one.protected : differs(one))),
        )
        .sort((a, b) => rank(a) - rank(b))
    : all;
  return (
    <div class="scopes">
      {many && (
        <div class="filters" role="search">
          <label class="search">
            <Icon name="search" />
            <span class="hidden">Search environments</span>
            <input
              type="search"
              placeholder={`Search ${all.length} environments`}
              value={words}
              onInput={(event: any) => look(event.target.value)}
            />
          </label>
          <label class="choice">
            <span class="hidden">Which environments</span>
            <select value={which} onChange={(event: any) => choose(event.target.value)}>
              <option value="">Show all</option>
              <option value="differ">Other rules</option>
              <option value="protected">Protected</option>
            </select>
          </label>
          {shown.length < all.length && (
            <p class="note" role="status">
              {shown.length} of {all.length}
            </p>
          )}
        </div>
      )}
      {shown.map((environment) => (
        <Scope key={environment.name} family={family} item={item} environment={environment} />
      ))}
      <section class="scope default" aria-labelledby="scope-default">
        <header>
          <div>
            <h2 id="scope-default">Default rules</h2>
            <p class="note">
              {inheriting.length
                ? `Used by ${firstOf(inheriting)}.`
                : "Every environment has rules of its own."}
            </p>
          </div>
        </header>
        <Rules
          rules={standing(item.default?.rules ?? [])}
          otherwise="nothing: the program's own default applies"
        />
        {(item.default?.scheduled || item.default?.rolloutPlan) && (
          <Timed scope="default" timed={item.default} refused={refused} />
        )}
        <WhyNot refused={refused} />
        <footer>
          <span class="actions">
            <Act
              refused={refused}
              class="quiet"
              aria-label="Edit rules (default)"
              onClick={() => open({ edit: "default", kind: "rules" })}
            >
              Edit rules
            </Act>
            <Act
              refused={refused}
              aria-label={`${word} (default)`}
              onClick={() => open({ edit: "default", kind })}
            >
              {word}
            </Act>
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
              <Act refused={refused} class="quiet" onClick={() => open({ variants: "1" })}>
                Edit values
              </Act>
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
  const { rules: all, timed, inherited } = rulesIn(item, name);
  const rules = standing(all),
    paused = all[0]?.paused ? all[0] : undefined;
  const boolean = family === "flags" && item.valueType === "bool",
    { word: state, on } = stateOf(all),
    gradual =
      on &&
      (timed.rolloutPlan ||
        timed.scheduled?.some((one) => !one.come) ||
        all.some((rule) => isFallback(rule) && isSplit(rule.value))),
    told = timed.rolloutPlan || timed.scheduled?.some((one) => one.come),
    pausable = family === "flags" || family === "configs";
  const refused = mayNot(item.access, name);
  const pausing = pausable && !paused && (
    <Act
      refused={refused}
      class="quiet pause"
      aria-label={`Pause in ${name}`}
      title={`Everyone gets ${boolean ? "false at once" : "one value"}; the rules stay`}
      onClick={() =>
        boolean ? pause(family, item.key, name) : open({ edit: name, kind: "pause" })
      }
    >
      Pause
    </Act>
  );
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
        {paused && !isSplit(paused.value) ? (
          <Paused serves={plain(bareOf(paused.value), 40)} named />
        ) : (
          status && <Status status={status} />
        )}
      </header>
      {paused && (
        <div class="box warn paused">
          <div>
            <p>
              <b>Paused.</b> Everyone gets this, and the rules below wait:
            </p>
            <Served value={paused.value} />
            <Act
              refused={refused}
              class="primary"
              aria-label={`Resume in ${name}`}
              onClick={() => open({ edit: name, kind: "resume" })}
            >
              Resume
            </Act>
          </div>
        </div>
      )}
      <Rules
        rules={told ? rules.filter((rule) => !isFallback(rule)) : rules}
        otherwise={
          told ? null : inherited ? "nothing: the program's own default applies" : undefined
        }
      />
      {(timed.scheduled || timed.rolloutPlan) && (
        <Timed scope={name} timed={timed} refused={refused} />
      )}
      <WhyNot refused={refused} />
      <footer>
        {boolean && (
          <span class="state">
            <Act
              refused={refused}
              role="switch"
              class="switch"
              aria-checked={on ? "true" : "false"}
              aria-label={
                paused
                  ? `Paused in ${name}: switch on to resume`
                  : gradual
                    ? `Rollout in ${name}: switch off to pause`
                    : `Serve true to everyone${rules.length > 1 ? " else" : ""} in ${name}`
              }
              title={
                paused
                  ? "Resume: the rules hold again"
                  : gradual
                    ? "Pause: everyone gets false at once, and the shares stay"
                    : `Turn ${on ? "off" : "on"} for everyone${rules.length > 1 ? " whom no rule above covers" : ""}`
              }
              onClick={() =>
                paused
                  ? open({ edit: name, kind: "resume" })
                  : gradual
                    ? pause(family, item.key, name)
                    : open({ edit: name, kind: "value", set: on ? "false" : "true" })
              }
            >
              <i />
            </Act>
            {state}
            {pausing}
          </span>
        )}
        <span class="actions">
          {!boolean && pausing}
          <Act
            refused={refused}
            class="quiet"
            aria-label={`Edit rules in ${name}`}
            onClick={() => open({ edit: name, kind: "rules" })}
          >
            Edit rules
          </Act>
          <Act
            refused={refused}
            aria-label={`${word} in ${name}`}
            onClick={() => open({ edit: name, kind })}
          >
            {word}
          </Act>
        </span>
      </footer>
    </section>
  );
}
