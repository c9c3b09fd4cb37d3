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
window.setContext = (context) => OpenFeature.setContext(context);
window.ask = (questions) => questions.map((q) => details[q.type](q.key, q.default));
window.changed = () => [...changed].sort();
