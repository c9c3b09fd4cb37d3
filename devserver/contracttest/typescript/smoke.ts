// What a program does with the client that openapi-ts generates: it reads,
// tries a write, writes, meets a conflict, and takes the write back. It ends
// with status 1 at the first answer that is not as it should be.

import assert from "node:assert/strict";
import {
  createFlag,
  getFlag,
  getFlagDocument,
  getWhoami,
  listActivity,
  listEnvironments,
  listFlags,
  replaceFlagDocument,
  updateConfigEnvironment,
  updateFlagEnvironment,
  updateLogLevel,
} from "./client";
import { client } from "./client/client.gen";
import type { FlagSummary } from "./client";

const { SVC = "", KEY = "" } = process.env;
client.setConfig({ baseUrl: SVC, auth: () => KEY });
const key = "typescript.smoke";
const production = { key, env: "production" };

async function whoAmI() {
  const me = await getWhoami({ throwOnError: true });
  assert.equal(me.data.principal.type, "user");
  assert.equal(me.data.principal.name, "you");

  const stranger = await getWhoami({ auth: () => "svc_uk_nobody" });
  assert.equal(stranger.response?.status, 401);
  assert.equal(stranger.error?.error, "UNAUTHORIZED");

  const { environments } = (await listEnvironments({ throwOnError: true })).data;
  const names = environments.filter((e) => e.protected).map((e) => e.name);
  assert.deepEqual(names, ["production"]);
}

async function pages() {
  const all = (await listFlags({ throwOnError: true })).data;
  assert.equal(all.nextCursor, undefined);
  assert.equal(all.total, all.flags.length);

  const rows: FlagSummary[] = [];
  let cursor: string | undefined;
  do {
    const { data } = await listFlags({ query: { limit: 2, cursor }, throwOnError: true });
    assert.equal(data.total, all.total);
    rows.push(...data.flags);
    cursor = data.nextCursor;
  } while (cursor !== undefined);
  assert.deepEqual(rows.map((r) => r.key), all.flags.map((r) => r.key).sort());

  const wrong = await listFlags({ query: { limit: 101 } });
  assert.equal(wrong.response?.status, 400);
  assert.equal(wrong.error?.error, "BAD_REQUEST");
  const [issue] = (wrong.error?.details as { issues: { path: string }[] }).issues;
  assert.equal(issue?.path, "?limit");
}

async function dryRun() {
  const created = (await createFlag({ body: { key, tags: ["smoke"] }, throwOnError: true })).data;
  assert.equal(created.valueType, "bool");
  const tried = (await updateFlagEnvironment({ path: production, query: { dryRun: true }, body: { enabled: true }, throwOnError: true })).data;
  assert.ok(tried.dryRun && tried.changed && tried.document);
  assert.deepEqual(tried.messages?.map((m) => m.message), ["production: enabled set to true"]);
  const flag = (await getFlag({ path: { key }, throwOnError: true })).data;
  assert.equal(flag.environmentStatuses["production"], "pre_rollout");
  assert.equal(flag.commitSha, created.commitSha);
}

async function toggle() {
  const before = (await getFlag({ path: { key }, throwOnError: true })).data.commitSha;
  const written = (await updateFlagEnvironment({ path: production, body: { enabled: true, expectedCommitSha: before }, throwOnError: true })).data;
  assert.ok(written.changed && written.previousCommitSha && !written.dryRun);
  const flag = (await getFlag({ path: { key }, throwOnError: true })).data;
  assert.equal(flag.environmentStatuses["production"], "live");

  const again = (await updateFlagEnvironment({ path: production, body: { enabled: true }, throwOnError: true })).data;
  assert.equal(again.changed, false);

  const stale = await updateFlagEnvironment({ path: production, body: { enabled: false, expectedCommitSha: before } });
  assert.equal(stale.response?.status, 409);
  assert.equal(stale.error?.error, "CONFLICT");
  const details = stale.error?.details;
  assert.ok(details && "code" in details);
  assert.equal(details.code, "STALE_COMMIT_SHA");
  assert.equal(details.currentCommitSha, written.commitSha);
  assert.deepEqual(details.changes?.map((c) => [c.authorName, c.messages[0]?.message]), [["you", "production: enabled set to true"]]);
  return written.previousCommitSha;
}

async function undo(previous: string) {
  const { document } = (await getFlagDocument({ path: { key }, query: { at: previous }, throwOnError: true })).data;
  const { commitSha } = (await getFlagDocument({ path: { key }, throwOnError: true })).data;
  const undone = (await replaceFlagDocument({ path: { key }, body: { document, expectedCommitSha: commitSha }, throwOnError: true })).data;
  assert.ok(undone.changed);
  const flag = (await getFlag({ path: { key }, throwOnError: true })).data;
  assert.equal(flag.environmentStatuses["production"], "pre_rollout");
  const { activity } = (await listActivity({ query: { type: "feature_flag", key }, throwOnError: true })).data;
  assert.deepEqual(activity.map((a) => a.action), ["updated", "updated", "created"]);
}

async function otherWrites() {
  const rollout = [{ value: true, percent: 33.333 }, { value: false, percent: 66.667 }];
  const split = (await updateFlagEnvironment({ path: production, body: { rollout }, throwOnError: true })).data;
  const [rule] = split.rules;
  assert.ok(rule && rule.value.type === "weighted_values" && "weightedValues" in (rule.value.value as object));

  const path = { key: "api.timeout", env: "default" };
  const config = (await updateConfigEnvironment({ path, body: { value: "PT45S" }, throwOnError: true })).data;
  assert.equal(config.environment, "default");

  const level = (await updateLogLevel({ path: { key: "storefront" }, body: { level: "DEBUG", target: "com.acme.smoke" }, throwOnError: true })).data;
  assert.equal(level.key, "log-level.storefront");
  assert.equal(level.created, false);
}

async function main() {
  await whoAmI();
  await pages();
  await dryRun();
  await undo(await toggle());
  await otherWrites();
}

main().then(() => console.log("ok"), (problem) => {
  console.error(problem);
  process.exit(1);
});
