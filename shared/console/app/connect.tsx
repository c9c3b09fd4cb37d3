// How an application connects with an SDK key, in each language that may have it, and how alerts
// come with a guard key.
import { base, Programs } from "./in-code";

/** @param key the key itself, once; else what stands for it */
const programs = (key: string, isPublic: boolean): Record<string, string> =>
  isPublic
    ? {
        Browser: `const context = { user: { key: "user-1", plan: "pro" } };

const json = new TextEncoder().encode(JSON.stringify(context));
const token = encodeURIComponent(btoa(String.fromCharCode(...json)));
const answer = await fetch(\`${base}/api/v2/configs/eval-with-context/\${token}\`, {
  headers: { Authorization: "Basic " + btoa("1:${key}") },
});
const { evaluations, message } = await answer.json();
if (!answer.ok) throw new Error(message);

// A flag that no rule matches is not in the answer, and the page's default applies.
const on = evaluations["new-checkout"]?.value.value ?? false;`,
        "OpenFeature web": `import { OpenFeature } from "@openfeature/web-sdk";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";

await OpenFeature.setContext({ targetingKey: "user-1", "user.plan": "pro" });
await OpenFeature.setProviderAndWait(
  new OFREPWebProvider({
    baseUrl: "${base}",
    headers: [["X-API-Key", "${key}"]],
  }),
);
const on = OpenFeature.getClient().getBooleanValue("new-checkout", false);`,
        "OpenFeature server": `import { OpenFeature } from "@openfeature/server-sdk";
import { OFREPProvider } from "@openfeature/ofrep-provider";

await OpenFeature.setProviderAndWait(
  new OFREPProvider({
    baseUrl: "${base}",
    headers: [["X-API-Key", "${key}"]],
  }),
);
const context = { targetingKey: "user-1", "user.plan": "pro" };
const client = OpenFeature.getClient();
const on = await client.getBooleanValue("new-checkout", false, context);`,
        curl: `curl -sS ${base}/ofrep/v1/evaluate/flags \\
  -H "X-API-Key: ${key}" -d '{"context": {"targetingKey": "user-1"}}'`,
      }
    : {
        Go: `flags, err := client.Open(ctx, client.Options{
	URL: "${base}",
	Key: os.Getenv("SVC_SDK_KEY"),
})
if err != nil {
	return err
}
defer flags.Close()
user := map[string]any{"key": "user-1", "plan": "pro"}
ctx = contexts.With(ctx, contexts.Named("user", user))
on := flags.Bool(ctx, "new-checkout", false)

// SVC_SDK_KEY=${key}`,
        curl: `curl -sS ${base}/api/v2/configs -u "1:${key}"`,
      };

/** Where alerts are sent to with a guard key. */
const alerts = (key: string, owner: string, topic?: string): Record<string, string> => ({
  Alertmanager: `# alertmanager.yml
route:
  receiver: on-call
  routes:
    - receiver: ${JSON.stringify(owner)}
      matchers: [alertname = CheckoutErrors]
      continue: true             # on-call is told too
      group_by: ["..."]          # each alert by itself
      group_wait: 0s             # at once, not after 30 s
      group_interval: 10s
    - receiver: on-call
receivers:
  - name: on-call                # as you have it
  - name: ${JSON.stringify(owner)}
    webhook_configs:
      - url: ${base}/v1/guards/alertmanager
        send_resolved: false
        http_config:
          authorization:
            credentials_file: /etc/alertmanager/svc-guard.key

# /etc/alertmanager/svc-guard.key
${key}`,
  ...(topic && {
    SNS: `aws sns set-topic-attributes --topic-arn ${topic} \\
  --attribute-name SignatureVersion --attribute-value 2
aws sns subscribe --topic-arn ${topic} \\
  --protocol https \\
  --notification-endpoint '${base.replace("://", `://svc:${key}@`)}/v1/guards/sns'`,
  }),
});

const stands: Record<string, string> = {
  public_sdk: "svc_pk_...",
  secret_sdk: "svc_sk_...",
  guard: "svc_gk_...",
};

export const Connect = ({
  kind,
  text = stands[kind],
  owner = "svc",
  topic,
  copied,
}: {
  kind: string;
  text?: string;
  /** the account that a guard key is of */
  owner?: string;
  /** whose alarms a guard key takes */
  topic?: string;
  /** does something once a program, which holds the key, is copied */
  copied?: () => void;
}) => {
  const guard = kind === "guard";
  return (
    <div class="form connect">
      {guard && (
        <p class="note">
          Alerts are sent to <code>{base}/v1/guards/alertmanager</code>
          {topic ? (
            <>
              , alarms of CloudWatch to <code>{base}/v1/guards/sns</code>, where the subscription is
              confirmed by itself.
            </>
          ) : (
            ". A key for alarms of CloudWatch names their SNS topic when it is made."
          )}
        </p>
      )}
      <Programs
        all={guard ? alerts(text, owner, topic) : programs(text, kind === "public_sdk")}
        label="Connect"
        each={guard ? "What sends alerts" : undefined}
        copied={copied}
      />
    </div>
  );
};
