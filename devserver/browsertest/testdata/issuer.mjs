// An OpenID Connect provider for tests, with the pages of its own for signing in: whoever
// names an account is that. Usage: node issuer.mjs <address> <client id> <secret> <redirect address>
// POST /test changes what it says of accounts, or of itself.
import { createServer } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import { Provider } from "oidc-provider";

const [address, clientId, secret, redirect] = process.argv.slice(2);
const accounts = {};
let away = false;

async function key(kid) {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, use: "sig", alg: "RS256" };
}

async function provider(keys) {
  const made = new Provider(address, {
    clients: [{ client_id: clientId, client_secret: secret, redirect_uris: [redirect], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] }],
    jwks: { keys },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
    scopes: ["openid", "profile", "email", "groups", "offline_access"],
    conformIdTokenClaims: false,
    issueRefreshToken: async () => true,
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: () => ({ sub, name: sub, email: `${sub}@acme.example`, email_verified: true, groups: [], ...accounts[sub] }),
    }),
    ttl: { RefreshToken: 3600, Session: 3600, Grant: 3600, AccessToken: 3600, IdToken: 600, Interaction: 600 },
  });
  made.proxy = false;
  return made;
}

let current = await provider([await key("first")]);
let answer = current.callback();

createServer(async (request, response) => {
  if (request.method === "POST" && request.url === "/test") {
    let text = "";
    for await (const part of request) text += part;
    const { account, claims, rotate, gone } = JSON.parse(text);
    if (account) accounts[account] = claims;
    if (gone !== undefined) away = gone;
    if (rotate) answer = (current = await provider([await key(rotate)])).callback();
    return response.end("{}");
  }
  if (away) return response.writeHead(503).end();
  answer(request, response);
}).listen(Number(new URL(address).port), "127.0.0.1", () => console.log("ready"));
