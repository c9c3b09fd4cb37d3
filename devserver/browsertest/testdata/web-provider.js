// What the tests call in the page: the web SDK with the OFREP provider.
import { OpenFeature, ProviderEvents } from "@openfeature/web-sdk";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";

const client = OpenFeature.getClient();
const changed = new Set(); // the keys that configuration changes named

client.addHandler(ProviderEvents.ConfigurationChanged, (event) => {
  for (const key of event?.flagsChanged ?? []) changed.add(key);
});

const details = {
  boolean: (key, value) => client.getBooleanDetails(key, value),
  string: (key, value) => client.getStringDetails(key, value),
  number: (key, value) => client.getNumberDetails(key, value),
  object: (key, value) => client.getObjectDetails(key, value),
};

// start answers with the code of the error that the provider failed with.
window.start = async (options, context) => {
  await OpenFeature.setContext(context);
  try {
    await OpenFeature.setProviderAndWait(new OFREPWebProvider(options));
    return "";
  } catch (error) {
    return error.code ?? error.name;
  }
};
window.ask = (questions) => questions.map((q) => details[q.type](q.key, q.default));
window.changed = () => [...changed].sort();

// watch has the page show a value whenever it hears of a change, and notes when each text
// has come to stand in it.
const times = new Map();
let waiting = () => {};
window.watch = (q) => {
  const show = () => {
    document.body.textContent = String(details[q.type](q.key, q.default).value);
  };
  new MutationObserver(() => {
    times.set(document.body.textContent, performance.timeOrigin + performance.now());
    waiting();
  }).observe(document.body, { childList: true, characterData: true });
  client.addHandler(ProviderEvents.ConfigurationChanged, show);
  show();
};

// shown answers when the page came to show a text, in milliseconds since 1970.
window.shown = async (text) => {
  while (!times.has(text)) await new Promise((resolve) => (waiting = resolve));
  return times.get(text);
};
