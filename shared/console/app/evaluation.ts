// Asks what a context gets.
import { environments } from "./workspace";
import { place, refine } from "./router";
import { servedHere, epoch, change } from "./api";
import { useState, useEffect } from "./lib";
import type { Evaluation } from "./answers";

/** @returns the environment that is looked at */
export function useEnvironment(): [string, (name: string) => void] {
  const all = environments.value,
    asked = place.value.query.get("in");
  const name =
    all.find((one) => one.name === asked)?.name ??
    all.find((one) => one.name === servedHere)?.name ??
    (
      all.find((one) => one.name === "production") ??
      all.find((one) => one.protected && one.environmentType === "production") ??
      all.find((one) => one.environmentType === "production")
    )?.name ??
    all[0]?.name ??
    "";
  return [name, (next) => refine({ in: next })];
}

/**
 * What an environment serves to a context.
 * @param context undefined for nothing to ask
 */
export function useEvaluations(
  context: any,
  environment: string,
  keys?: string[],
  explain?: boolean,
) {
  const body =
      context === undefined || !environment
        ? ""
        : JSON.stringify({ environment, context, keys, explain }),
    now = epoch.value;
  const [state, set] = useState({ body: "" } as { body: string; data?: any; problem?: any });
  useEffect(() => {
    if (!body) return;
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        change("POST", "evaluate", body, { signal: abort.signal }).then(
          (data) => set({ body, data }),
          (problem) => abort.signal.aborted || set({ body, problem }),
        ),
      state.body ? 250 : 0,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [body, now]);
  return { data: state.data, problem: state.problem, fresh: state.body === body };
}

export function reason(evaluation: Evaluation) {
  if (!evaluation.ruleSource) return "No rule matches, so the program's own default applies.";
  if (evaluation.ruleSource === "override")
    return "Overridden on this machine, whatever the rules say.";
  const from = evaluation.ruleSource === "default" ? "a default rule" : "a rule of the environment";
  const by = { SPLIT: "By the percentages of", STATIC: "The same for everyone, by" };
  return `${by[evaluation.reason as keyof typeof by] ?? "Decided by"} ${from}.`;
}
