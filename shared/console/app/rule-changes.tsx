// What a change does to the rules of an item: from what to what.
import type { Detail, Rule } from "./answers";
import { rulesIn, Served, Who } from "./rules";
import { isFallback, isSplit } from "./rule-lists";

type Pair = { before?: Rule; after?: Rule };

const same = (a: any, b: any) => JSON.stringify(a) === JSON.stringify(b);

/** Which rules became which: those that are alike are left out. */
export function paired(before: Rule[], after: Rule[]): { pairs: Pair[]; moved: boolean } {
  const rest = [...before],
    kept: number[] = [];
  const fresh = after.filter((rule) => {
    const at = rest.findIndex((one) => same(one, rule));
    if (at < 0) return true;
    kept.push(before.indexOf(rest[at]));
    rest.splice(at, 1);
    return false;
  });
  const take = (rule: Rule, fits: (one: Rule) => boolean) => {
    const at = rest.findIndex(fits);
    return at < 0 ? undefined : rest.splice(at, 1)[0];
  };
  const pairs: Pair[] = fresh.map((after) => ({
    after,
    before: take(after, (one) => same(one.criteria, after.criteria)),
  }));
  for (const pair of pairs)
    pair.before ??= take(
      pair.after as Rule,
      (one) => !isFallback(one) && !isFallback(pair.after) && same(one.value, pair.after?.value),
    );
  return {
    pairs: [...pairs, ...rest.map((before) => ({ before }))],
    moved: kept.some((at, i) => i > 0 && at < kept[i - 1]),
  };
}

export function RuleChanges({ before, after }: { before: Detail; after: Detail }) {
  const scopes = [
    ...new Set([
      "default",
      ...[before, after].flatMap((one) => (one.environments ?? []).map((e) => e.id)),
    ]),
  ];
  return (
    <>
      {scopes.map((scope) => {
        const was = rulesIn(before, scope),
          now = rulesIn(after, scope);
        const forked = scope !== "default" && was.inherited !== now.inherited;
        if (!forked && (was.inherited || same(was.rules, now.rules))) return null;
        const { pairs, moved } = paired(was.rules, now.rules);
        return (
          <div class="rule-changes">
            <p class="rule-scope">{scope === "default" ? "Default rules" : scope}</p>
            {forked && (
              <p class="note">
                {was.inherited
                  ? "No longer uses the default rules."
                  : "Uses the default rules from now on."}
              </p>
            )}
            <ul>
              {pairs.map((pair) => (
                <Became {...pair} only={now.rules.length < 2} />
              ))}
              {moved && <li class="note">The order of the rules changes.</li>}
            </ul>
          </div>
        );
      })}
    </>
  );
}

/** What looks the same whatever it is. */
const hidden = (value: Rule["value"]) =>
  !isSplit(value) && Boolean(value.confidential) && !value.decryptWith;

/** One rule, before and after. */
function Became({ before, after, only }: Pair & { only: boolean }) {
  const rule = (after ?? before) as Rule;
  const other = before && after && !same(before.criteria, after.criteria);
  return (
    <li>
      <Who rule={rule} only={only} />
      {other && (
        <div class="was">
          was: <Who rule={before} />
        </div>
      )}
      <div class="became">
        {before ? <Served value={before.value} /> : <span class="note">new rule</span>}
        {(!after || !before || !same(before.value, after.value)) && (
          <>
            <span class="arrow" aria-label="becomes">
              →
            </span>
            {!after ? (
              <span class="note">removed</span>
            ) : before && hidden(before.value) && hidden(after.value) ? (
              <span class="note">another confidential value</span>
            ) : (
              <Served value={after.value} />
            )}
          </>
        )}
      </div>
    </li>
  );
}
