import { OpenFeature, ProviderEvents } from "@openfeature/web-sdk";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";

await OpenFeature.setContext({ targetingKey: "user-1", "user.plan": "pro" });
const connect = () =>
  OpenFeature.setProviderAndWait(
    new OFREPWebProvider({
      baseUrl: "http://127.0.0.1:6580",
      cacheMode: "disabled", // a reload shows what the files say, not what the browser remembers
    }),
  ).catch(() => setTimeout(connect, 1000)); // the server is away: the page shows its defaults

const client = OpenFeature.getClient();
const show = () => {
  const on = client.getBooleanValue("new-checkout", false);
  document.body.textContent = on ? "the new checkout" : "the old checkout";
};
client.addHandler(ProviderEvents.Ready, show);
client.addHandler(ProviderEvents.ConfigurationChanged, show); // edits show at once
show();
connect();
