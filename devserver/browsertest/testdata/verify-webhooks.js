// Says of each delivery which of two secrets it is signed by, and whether it still is once a
// byte of its body has changed: with the library of Standard Webhooks.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { secrets, deliveries } = JSON.parse(readFileSync(0, "utf8"));
const good = (secret, body, headers) => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
};
for (const { headers, body } of deliveries) {
  console.log(
    ...secrets.map((secret) => good(secret, body, headers)),
    secrets.some((secret) => good(secret, body.replace("{", "{ "), headers)),
  );
}
