// A certified provider of OpenID Connect for the tests, on loopback: node provider.mjs CONFIG
// CONFIG is JSON: port, back (of the client), home (where people come after signing out), secret,
// and the claims of each account.  Whoever signs in is the account whose name they type.
import { Provider } from "oidc-provider";

const config = JSON.parse(process.argv[2]);
const issuer = `http://127.0.0.1:${config.port}`;

const provider = new Provider(issuer, {
  clients: [{
    client_id: "tacit",
    client_secret: config.secret,
    redirect_uris: [config.back],
    post_logout_redirect_uris: [config.home],
    response_types: ["code"],
    grant_types: ["authorization_code"],
  }],
  claims: { openid: ["sub", "groups", "department"], profile: ["name"] },
  conformIdTokenClaims: false,
  cookies: { keys: ["a key for the cookies of a test"] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: id, ...(config.accounts[id] ?? {}) }),
  }),
});

const server = provider.listen(config.port, "127.0.0.1", () => console.log(issuer));
process.stdin.on("close", () => server.close(() => process.exit(0)));
process.stdin.resume();
