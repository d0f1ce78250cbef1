// A certified OpenID provider for the browser stories: users with groups, in
// memory. It takes over the port of OP_PORT, or any, and prints "ready ISSUER".
// The folder of its package is OP_MODULES.
import http from 'node:http';
import { pathToFileURL } from 'node:url';

const { Provider } = await import(pathToFileURL(`${process.env.OP_MODULES}/oidc-provider/lib/index.js`));

const users = {
  ada: { password: 'ada-pw', name: 'Ada Lovelace', email: 'ada@example.test', groups: ['ml-admins', 'data-science'] },
  grace: { password: 'grace-pw', name: 'Grace Hopper', email: 'grace@example.test', groups: ['data-science'] },
  nobody: { password: 'nobody-pw', name: 'Nemo Nilsson', email: 'nemo@example.test', groups: [] },
};

const page = (uid, message = '') => `<!doctype html><html lang="en"><title>Sign in</title><main><h1>Test identity provider</h1><p role="alert">${message}</p>
<form method="post" action="/login/${uid}"><label>User <input name="login" autocomplete="username"></label><label>Password <input type="password" name="password"></label><button>Sign in</button></form></main></html>`;

function html(res, status, body) {
  res.writeHead(status, { 'content-type': 'text/html' });
  res.end(body);
}

function makeProvider(issuer) {
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'forge', client_secret: 'forge-secret-for-tests-only-0123456789',
      redirect_uris: [process.env.OP_REDIRECT], post_logout_redirect_uris: [process.env.OP_AFTER_LOGOUT],
      grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'client_secret_basic',
    }],
    cookies: { keys: ['test-only-key'] },
    pkce: { required: () => true },
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'profile', 'email', 'groups', 'offline_access'],
    conformIdTokenClaims: process.env.OP_GROUPS_IN !== 'id_token', // else UserInfo alone tells groups
    features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
    interactions: { url: (_ctx, interaction) => `/login/${interaction.uid}` },
    ttl: { Session: 3600, Interaction: 600, Grant: 3600, IdToken: 600, AccessToken: 600, AuthorizationCode: 60, RefreshToken: 3600 },
    async findAccount(_ctx, id) {
      const user = users[id];
      return user && { accountId: id, claims: async () => ({ sub: id, name: user.name, email: user.email, email_verified: true, groups: user.groups }) };
    },
  });
  provider.on('server_error', (_ctx, err) => console.error('server_error', err));
  return provider;
}

async function interact(provider, req, res) {
  const { uid, prompt, params, session, grantId } = await provider.interactionDetails(req, res);
  if (prompt.name === 'consent') { // a first-party client: nobody is asked
    const grant = grantId ? await provider.Grant.find(grantId) : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope);
    return provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
  }
  if (req.method === 'GET') return html(res, 200, page(uid));
  let body = '';
  for await (const chunk of req) body += chunk;
  const form = new URLSearchParams(body);
  const user = users[form.get('login')];
  if (!user || user.password !== form.get('password')) return html(res, 401, page(uid, 'Wrong user or password'));
  return provider.interactionFinished(req, res, { login: { accountId: form.get('login') } }, { mergeWithLastSubmission: false });
}

let provider;
let app;
const server = http.createServer(async (req, res) => {
  if (!/^\/login\/[\w-]+$/.test(req.url)) return app(req, res);
  try {
    await interact(provider, req, res);
  } catch (err) {
    console.error(err);
    html(res, 500, String(err));
  }
});
server.listen(Number(process.env.OP_PORT || 0), '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  provider = makeProvider(issuer);
  app = provider.callback();
  console.log(`ready ${issuer}`);
});
