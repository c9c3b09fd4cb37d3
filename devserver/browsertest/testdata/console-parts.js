// Parts of the console that can be tried without a page: what is wrong is printed as a list.
globalThis.document = {
  baseURI: "http://127.0.0.1/console/",
  querySelector: () => null,
};
globalThis.location = { hash: "" };
globalThis.history = {
  state: null,
  replaceState(state) {
    this.state = state;
  },
};
globalThis.addEventListener = () => {};
const { rowScanner, parse } = await import("../../shared/console/app/api.ts");
const { difference } = await import("../../shared/console/app/diff.tsx");
const { share, wrongShares } =
  await import("../../shared/console/app/rollout.tsx");
const { textOf, valueOf } = await import("../../shared/console/app/values.tsx");
const { saidInLine } = await import("../../shared/console/app/said.ts");
const { folded } = await import("../../shared/console/app/fold.ts");
const { matching } = await import("../../shared/console/app/search.ts");
const found = [];
const same = (name, got, want) => {
  if (JSON.stringify(got) !== JSON.stringify(want))
    found.push(
      name + ": " + JSON.stringify(got) + ", not " + JSON.stringify(want),
    );
};

const rows = [
  { key: "a", s: '}]\\"{[\\\\' },
  { key: "\u00fc", deep: { list: [{}, [1, { x: "]" }]] } },
  {},
];
const text = JSON.stringify({
  first: [{ no: 1 }],
  flags: rows,
  next: "flags",
  total: 3,
});
for (let size = 1; size <= text.length; size++) {
  const scan = rowScanner("flags"),
    got = [];
  for (let at = 0; at < text.length; at += size)
    got.push(...scan(text.slice(at, at + size)));
  same("rows in pieces of " + size, got, rows);
}

const random = (n) => Math.floor(Math.random() * n);
for (let round = 0; round < 500; round++) {
  const lines = () =>
    Array.from({ length: random(12) }, () => "abc"[random(3)]);
  const a = lines(),
    b = lines(),
    way = difference(a, b);
  same(
    "what was, of " + a + " to " + b,
    way.filter((line) => line.kind !== "+").map((line) => line.text),
    a,
  );
  same(
    "what is, of " + a + " to " + b,
    way.filter((line) => line.kind !== "-").map((line) => line.text),
    b,
  );
}
same(
  "nothing changed",
  difference(["a", "b"], ["a", "b"]).map((line) => line.kind),
  [" ", " "],
);
same(
  "much changed",
  difference(
    Array.from({ length: 4000 }, (_, i) => "a" + i),
    Array.from({ length: 4000 }, (_, i) => "b" + i),
  ).length,
  8000,
);

const arms = (...weights) =>
    weights.map((weight, i) => ({ text: String(i), weight })),
  weights = (all) => all.map((arm) => arm.weight);
for (const [before, at, weight, after, wrong] of [
  [[100000, 0], 1, 25000, [75000, 25000], ""],
  [[100000, 0], 0, 33333.4, [33333, 66667], ""],
  [[50000, 50000, 0], 0, 60000, [60000, 50000, 0], "110%"],
  [[60000, 20000, 10000], 1, 30000, [60000, 30000, 10000], ""],
  [[60000, 20000, 10000], 2, 19999, [60000, 20000, 19999], "0.001% is left"],
  [[0, 100000], 0, 600000, [600000, 0], "from 0 to 100"],
  [[0, 50000, 50000], 0, -1, [-1, 50000, 50000], "from 0 to 100"],
]) {
  const now = share(arms(...before), at, weight);
  same("shares", weights(now), after);
  if (wrong ? !wrongShares(now)?.includes(wrong) : wrongShares(now))
    found.push(after + ": " + wrongShares(now));
}

for (const [type, text, want] of [
  ["int", "12345678901234567890", "12345678901234567890"],
  ["int", " -3 ", "-3"],
  ["double", "1.50", "1.50"],
  ["bool", "true", "true"],
  ["string", " x ", '" x "'],
  ["json", '{"a": [1.0]}', '{"a":[1.0]}'],
  ["string_list", "a\n\n b ", '["a","b"]'],
  ["duration", "PT1H30M", '"PT1H30M"'],
]) {
  const answer = valueOf(type, text);
  if (JSON.rawJSON || !/\d{16}|\.\d*0/.test(text))
    same(type + " " + text, JSON.stringify(answer.value), want);
}
for (const list of [
  [],
  ["a", "b"],
  ["a, b", "c\\nd", " e ", ""],
  [""],
  ["\\r"],
  ["[x"],
  ['["x"]'],
  ["[", '"'],
  ["]"],
  ["\u00a0"],
])
  same(
    "a list",
    valueOf("string_list", textOf("string_list", list)).value,
    list,
  );
for (const [type, text] of [
  ["string_list", '["a"'],
  ["string_list", '["a", 1]'],
  ["int", "1.5"],
  ["int", ""],
  ["int", "0x10"],
  ["double", "one"],
  ["double", ".5"],
  ["json", "{"],
  ["duration", "P"],
  ["duration", "PT"],
  ["duration", "30s"],
])
  if (!valueOf(type, text).problem) found.push(type + " " + text + " is taken");
const everyone = { criteria: [{ operator: "ALWAYS_TRUE" }], value: {} };
const one = (n) => ({
  default: { rules: Array.from({ length: n }, () => everyone) },
});
for (const [message, document, want] of [
  ["a: enabled set to true", undefined, "a: turned on"],
  ["a: enabled set to false", one(1), "a: off for everyone"],
  ["a: enabled set to true", one(2), "a: on for everyone else"],
  ["b: enabled set to true", one(2), "b: enabled set to true"], // of another scope
  ["a: 2 targeting rules added", undefined, "a: 2 rules added"],
  ["readyForCleanup: set to true", undefined, "marked as ready for cleanup"],
  ["other fields changed: owner", undefined, "other fields changed: owner"],
])
  same(message, saidInLine({ scope: "a", message }, document), want);
const simple = { default: { rules: [everyone] }, environments: [] };
same("what is folded", folded(simple, ["production"]), simple);
const keys = ["checkout.fast", "search", "a.b(c"].map((key) => ({ key }));
for (const [typed, want] of [
  ["chexkout", "checkout.fast"],
  ["chckout", "checkout.fast"],
  ["checkkout", "checkout.fast"],
  ["cehckout", "checkout.fast"],
  ["seerch", "search"],
  ["a.b(d", "a.b(c"],
  ["xxeckout", ""],
])
  same(
    typed,
    matching(keys, [typed])
      .map((row) => row.key)
      .join(),
    want,
  );
console.log(JSON.stringify(found));
