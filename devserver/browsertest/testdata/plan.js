// A page with several people, each by a domain of its own: when does whom get the flag, and is
// it ever taken away again?
import { OpenFeature, ProviderEvents } from "@openfeature/web-sdk";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";

// follow notes for each person every change of the flag, with its time in milliseconds.
const seen = {};
window.follow = async (name, options, flag, people) => {
  for (const person of people) {
    const domain = `${name} ${person}`;
    seen[domain] = [];
    await OpenFeature.setContext(domain, { targetingKey: person, "user.key": person });
    await OpenFeature.setProviderAndWait(domain, new OFREPWebProvider(options));
    const client = OpenFeature.getClient(domain);
    let last = false;
    const look = () => {
      const on = client.getBooleanValue(flag, false);
      if (on !== last) seen[domain].push({ on, at: performance.timeOrigin + performance.now() });
      last = on;
    };
    client.addHandler(ProviderEvents.ConfigurationChanged, look);
    look();
  }
};
window.seen = () => seen;
