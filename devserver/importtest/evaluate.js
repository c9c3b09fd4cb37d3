// Reads {"system", "definition", "contexts"} and writes what each context is served: a
// list of objects of values by key, null for what the default in the code would stand for.
import { readFileSync } from "node:fs";

const silent = { error() {}, warn() {}, info() {}, debug() {} };

const systems = {
  async flagd(definition) {
    const { FlagdCore } = await import("@openfeature/flagd-core");
    const core = new FlagdCore(undefined, silent);
    core.setConfigurations(JSON.stringify(definition));
    const types = Object.entries(definition.flags).map(([key, flag]) => [key, typeof Object.values(flag.variants)[0]]);
    return (context) =>
      Object.fromEntries(types.map(([key, type]) => [key, core.resolve(type, key, null, context, silent).value ?? null]));
  },
  async growthbook(definition) {
    const { GrowthBookClient } = await import("@growthbook/growthbook");
    const client = new GrowthBookClient().initSync({ payload: definition });
    const keys = Object.keys(definition.features);
    return ({ targetingKey, ...attributes }) => {
      const scoped = client.createScopedInstance({ attributes: { id: targetingKey, ...attributes } });
      return Object.fromEntries(keys.map((key) => [key, scoped.getFeatureValue(key, null)]));
    };
  },
  async unleash({ features, segments }) {
    const { default: client } = await import("unleash-client/lib/client.js");
    const { default: strategies } = await import("unleash-client/lib/strategy/index.js");
    const evaluator = new client.default(
      { getToggle: (name) => features.find((f) => f.name === name), getSegment: (id) => segments.find((s) => s.id === id) },
      strategies.defaultStrategies,
    );
    const variant = (name, context) => {
      const chosen = evaluator.getVariant(name, context);
      return chosen.payload?.value ?? chosen.name;
    };
    const varied = (f) => f.variants?.length || f.strategies.some((s) => s.variants?.length);
    return ({ targetingKey, ...properties }) => {
      const context = { userId: targetingKey, properties };
      return Object.fromEntries(
        features.map((f) => [f.name, varied(f) ? variant(f.name, context) : evaluator.isEnabled(f.name, context, () => false)]),
      );
    };
  },
  async flipt({ flags, segments }) {
    const { FliptClient } = await import("@flipt-io/flipt-client-js");
    // What Flipt makes of its files for its clients.
    const named = ({ keys, operator }) => ({
      segmentOperator: operator,
      segments: keys.map((key) => {
        const { match_type, constraints } = segments.find((s) => s.key === key);
        const matchType = match_type.replace("MATCH", "SEGMENT_MATCH");
        return { key, matchType, constraints: constraints.map((c) => ({ ...c, type: c.type.replace("COMPARISON", "CONSTRAINT_COMPARISON") })) };
      }),
    });
    const attachment = (v) => v.attachment && JSON.stringify(v.attachment);
    const document = {
      namespace: { key: "default" },
      flags: flags.map(({ key, type, enabled, variants = [], rules = [], rollouts = [] }) => {
        const variant = (name) => variants.find((v) => v.key === name);
        const chosen = variants.find((v) => v.default);
        return {
          key,
          name: key,
          type,
          enabled,
          defaultVariant: chosen && { id: chosen.key, key: chosen.key, attachment: attachment(chosen) },
          rules: rules.map(({ segment, distributions }) => ({
            ...named(segment),
            distributions: distributions.map((d) => ({ variantKey: d.variant, rollout: d.rollout, variantAttachment: attachment(variant(d.variant)) })),
          })),
          rollouts: rollouts.map(({ segment, threshold }) => ({ threshold, segment: segment && { ...named(segment), value: segment.value } })),
        };
      }),
    };
    const fetcher = async () => ({ ok: true, status: 200, statusText: "OK", headers: { get: () => null }, json: async () => document });
    const client = await FliptClient.init({ fetcher, updateInterval: 0 });
    return ({ targetingKey, ...properties }) => {
      const context = Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, String(value)]));
      return Object.fromEntries(
        flags.map(({ key: flagKey, type }) => {
          const question = { flagKey, entityId: targetingKey, context };
          if (type === "BOOLEAN_FLAG_TYPE") return [flagKey, client.evaluateBoolean(question).enabled];
          return [flagKey, client.evaluateVariant(question).variantKey || null];
        }),
      );
    };
  },
};

const { system, definition, contexts } = JSON.parse(readFileSync(0, "utf8"));
const evaluate = await systems[system](definition);
process.stdout.write(JSON.stringify(contexts.map(evaluate)));
