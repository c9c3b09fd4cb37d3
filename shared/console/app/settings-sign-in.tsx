// Which provider people sign in with, or how one is named.
import { base } from "./in-code";
import { Copy } from "./parts";

interface Provider {
  issuer: string;
  clientId: string;
  callback: string;
  scopes: string[] | null;
  rolesClaim: string;
  roles: Record<string, string[]> | null;
  allowedDomains: string[] | null;
}

const flags = `svc api --data /var/lib/svc \\
  --public-url ${base} \\
  --oidc-issuer https://id.example.com \\
  --oidc-client-id svc \\
  --oidc-client-secret-file /etc/svc/oidc.secret \\
  --oidc-roles-claim groups \\
  --oidc-role platform=engineer --oidc-role flag-admins=admin \\
  --oidc-allowed-domain example.com`;

const Guide = () => (
  <p class="note foot">
    The guide <i>Run svc api</i> has all of it, under <i>Signing in</i>; <code>svc api --help</code>{" "}
    lists the flags.
  </p>
);

/** What whoever runs the server does where there is no provider. */
const HowToName = () => (
  <div class="how">
    <p>
      There is none: people sign in by an address that an admin makes under <i>People</i>, or that{" "}
      <code>svc login</code> prints on the server. With a provider of OpenID Connect, such as
      Google, Microsoft Entra, Okta or Keycloak, they sign in there.
    </p>
    <ol>
      <li>
        Register a web application with the provider. It sends people back to{" "}
        <code>{base}/console/api/oidc/callback</code>.
      </li>
      <li>Put the secret that it gives you into a file that svc alone reads.</li>
      <li>
        Start the server with these flags, and your own values. Each <code>--oidc-role</code> is a
        value of the claim and the role that it gives; an allowed domain lets in whoever has a
        verified e-mail address of it.
      </li>
    </ol>
    <div class="snippet">
      <pre tabindex={0} role="region" aria-label="The flags of svc api">
        {flags}
      </pre>
      <Copy text={flags} />
    </div>
    <p class="note">
      Hosted on AWS, the same stands in the secret that the template names as{" "}
      <code>SignInSecret</code>.
    </p>
    <Guide />
  </div>
);

export const SignIn = ({
  issuer,
  clientId,
  callback,
  scopes,
  rolesClaim,
  roles,
  allowedDomains,
}: Provider) =>
  issuer ? (
    <>
      <dl class="told">
        <dt>Issuer</dt>
        <dd>
          <code>{issuer}</code>
        </dd>
        <dt>Client id</dt>
        <dd>
          <code>{clientId}</code> <span class="note">its secret is never shown</span>
        </dd>
        <dt>Sends people back to</dt>
        <dd>
          <code>{callback}</code>
        </dd>
        <dt>Newcomers</dt>
        <dd>
          {allowedDomains?.length
            ? `Whoever has a verified e-mail address of ${allowedDomains.join(" or ")}, and nobody else.`
            : rolesClaim
              ? "Whoever has a role by the claim. Everybody else asks an admin."
              : "Nobody: an admin adds people, who link themselves under You."}
        </dd>
        <dt>Roles by claim</dt>
        <dd>
          {rolesClaim ? (
            <>
              <code>{rolesClaim}</code>
              <ul>
                {Object.entries(roles ?? {}).map(([value, given]) => (
                  <li>
                    <code>{value}</code> gives <b>{given.join(", ")}</b>
                  </li>
                ))}
              </ul>
            </>
          ) : (
            "None: an admin gives roles."
          )}
        </dd>
        {scopes?.length ? (
          <>
            <dt>Asks for</dt>
            <dd>
              <code>openid profile email {scopes.join(" ")}</code>
            </dd>
          </>
        ) : null}
      </dl>
      <p class="note">
        It is changed where the server is started, by the flags that begin with <code>--oidc-</code>
        ; hosted on AWS, in the secret that the template names.
      </p>
      <Guide />
    </>
  ) : (
    <HowToName />
  );
