// The server SDK with the OFREP provider, asked over standard input: one JSON
// request a line, one JSON answer a line.
import { createInterface } from "node:readline";
import { OpenFeature } from "@openfeature/server-sdk";
import { OFREPProvider } from "@openfeature/ofrep-provider";

const client = OpenFeature.getClient();

const details = {
  boolean: (q, context) => client.getBooleanDetails(q.key, q.default, context),
  string: (q, context) => client.getStringDetails(q.key, q.default, context),
  number: (q, context) => client.getNumberDetails(q.key, q.default, context),
  object: (q, context) => client.getObjectDetails(q.key, q.default, context),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { options, questions, context } = JSON.parse(line);
  if (options) await OpenFeature.setProviderAndWait(new OFREPProvider(options));
  const answers = await Promise.all(questions.map((q) => details[q.type](q, context)));
  console.log(JSON.stringify(answers));
}
