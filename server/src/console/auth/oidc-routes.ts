import { Type } from 'typebox';
import { callerNetwork } from '../../edge/caller-address.ts';
import type { ApiScope } from '../../edge/edge.ts';
import type { Log } from '../../ground/log.ts';
import type { Mail } from '../../ground/mail.ts';
import { Body } from '../../ground/schema.ts';
import type { Attempts } from '../../panel/auth/attempts.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Queries } from '../../ports/sql.ts';
import {
  endFlow,
  findNamed,
  insertIdentity,
  nameOperatorOf,
  removeIdentity,
} from '../people/identities.sql.ts';
import { endOtherSessionsOf, holdOperator } from '../people/operators.sql.ts';
import { noteOperator } from '../people/operators.ts';
import { consoleConfig } from '../route.ts';
import { Done, Nothing, Nullable, Word } from '../schema.ts';
import { noteFactor, tellPerson } from './factor-change.ts';
import { FactorBody } from './factor-schema.ts';
import type { Flows } from './oidc-flow.ts';
import { type ProofDeps, requireProved, withFactor } from './proof.ts';
import type { ConsoleSessions } from './sessions.ts';

const tags = ['Operator'];

export interface OidcDeps {
  proof: ProofDeps;
  attempts: Attempts;
  sessions: ConsoleSessions;
  mail: Mail;
  log: Log;
  /** Null: no provider is set. */
  oidc: { issuer: string; flows: Flows } | null;
}

const Part = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 4000, pattern: '^[\\x20-\\x7e]+$', description }));
const AnswerBody = Body({
  code: Part('Code of the provider'),
  state: Part('Ours, given back'),
  iss: Part('Who answers (RFC 9207)'),
  error: Part('Name of a refusal'),
});
const UrlSchema = Type.Object({ url: Word('Where the browser goes') });

/** @throws PanelError `not_found` where no provider is set */
function set({ oidc }: OidcDeps): { issuer: string; flows: Flows } {
  if (oidc === null) throw new PanelError('not_found');
  return oidc;
}

/** A sign-in at the OpenID provider. Without its word that a second factor was shown, one is asked for here. */
export function oidcSignInRoutes(api: ApiScope, deps: OidcDeps): void {
  const { attempts } = deps;

  api.get(
    '/sign-in',
    {
      schema: {
        tags,
        summary: 'How one may sign in',
        response: {
          200: Type.Object({ oidc: Nullable('Host of the OpenID provider; null: there is none') }),
        },
      },
      config: consoleConfig,
    },
    async () => ({ oidc: deps.oidc === null ? null : new URL(deps.oidc.issuer).host }),
  );

  api.post(
    '/sign-in/oidc',
    {
      schema: { tags, summary: 'Begin at the OpenID provider', body: Nothing, response: { 200: UrlSchema } },
      config: consoleConfig,
    },
    async (request, reply) => {
      const { flows } = set(deps);
      await attempts.take('operatorChallenge', callerNetwork(request));
      const { url, cookie } = await flows.begin(request, null);
      reply.header('set-cookie', cookie);
      return { url };
    },
  );

  api.post(
    '/sign-in/oidc/answer',
    {
      schema: {
        tags,
        summary: 'The answer of the OpenID provider',
        body: AnswerBody,
        response: {
          200: Type.Object({ signedIn: Type.Boolean({ description: 'False: a second factor is missing' }) }),
        },
      },
      config: consoleConfig,
    },
    async (request, reply) => {
      const { flows } = set(deps);
      const network = callerNetwork(request);
      await attempts.take('operatorSignInNetwork', network);
      const named = await flows.whoIs(request, null, request.body);
      const { id } = await flows.operatorOf(named);
      await attempts.giveBack('operatorSignInNetwork', network);
      const { tokenHash } = flows.placeOf(request, null);
      if (!named.secondFactor) {
        await nameOperatorOf(deps.proof.sql, tokenHash, id);
        return { signedIn: false };
      }
      const cookie = await deps.proof.sql.tx(async (tx) => {
        const email = await holdOperator(tx, id);
        if (email === undefined) throw new PanelError('oidc_refused');
        await endFlow(tx, tokenHash);
        return begin(tx, deps, { request, id, email, factor: 'provider' });
      });
      reply.header('set-cookie', cookie);
      return { signedIn: true };
    },
  );

  factorRoute(api, deps);
}

function factorRoute(api: ApiScope, deps: OidcDeps): void {
  const { attempts, proof } = deps;
  api.post(
    '/sign-in/oidc/factor',
    {
      schema: {
        tags,
        summary: 'The second factor after the OpenID provider: a code of the app, or a passkey',
        body: FactorBody,
        response: { 200: Done },
      },
      config: consoleConfig,
    },
    async (request, reply) => {
      const { flows } = set(deps);
      const place = flows.placeOf(request, null);
      await attempts.take('operatorSignInNetwork', place.network);
      const id = await findNamed(proof.sql, place, proof.clock.now());
      if (id === undefined) throw new PanelError('oidc_refused');
      await attempts.take('operatorCode', id);
      const asked = { purpose: 'sign_in' as const, sessionId: null, network: place.network };
      const cookie = await withFactor(
        proof,
        id,
        { asked, factor: request.body },
        async (tx, { email, method }) => {
          if (!(await endFlow(tx, place.tokenHash))) throw new PanelError('oidc_refused');
          return begin(tx, deps, { request, id, email, factor: method });
        },
      );
      if (cookie === null) throw new PanelError('factor_refused');
      await attempts.giveBack('operatorSignInNetwork', place.network);
      await attempts.forget('operatorCode', id);
      reply.header('set-cookie', cookie);
      return { ok: true as const };
    },
  );
}

async function begin(
  tx: Queries,
  { proof, sessions, oidc }: OidcDeps,
  {
    request,
    id,
    email,
    factor,
  }: { request: Parameters<ConsoleSessions['begin']>[2]; id: string; email: string; factor: string },
): Promise<string> {
  await noteOperator(tx, proof, {
    actor: email,
    action: 'operator.sign_in',
    subject: id,
    detail: { network: callerNetwork(request), method: 'oidc', issuer: oidc?.issuer, factor },
  });
  return sessions.begin(tx, id, request);
}

/** Binds the identity of the operator who is signed in, and takes it away. */
export function oidcBindingRoutes(api: ApiScope, deps: OidcDeps): void {
  const { sql, clock } = deps.proof;

  api.post(
    '/factors/oidc',
    {
      schema: {
        tags,
        summary: 'Begin to bind the own account at the OpenID provider',
        body: Nothing,
        response: { 200: UrlSchema },
      },
      config: consoleConfig,
    },
    async (request, reply) => {
      const { flows } = set(deps);
      const { operator } = request;
      requireProved(operator, clock.now());
      await deps.attempts.take('operatorChallenge', operator.operatorId);
      const { url, cookie } = await flows.begin(request, operator.id);
      reply.header('set-cookie', cookie);
      return { url };
    },
  );

  api.post(
    '/factors/oidc/answer',
    {
      schema: {
        tags,
        summary: 'The answer of the OpenID provider',
        body: AnswerBody,
        response: { 200: Done },
      },
      config: consoleConfig,
    },
    async (request, reply) => {
      const { flows, issuer } = set(deps);
      const { operator } = request;
      const { subject } = await flows.whoIs(request, operator.id, request.body);
      await sql.tx(async (tx) => {
        if ((await holdOperator(tx, operator.operatorId)) === undefined)
          throw new PanelError('not_signed_in');
        if (!(await insertIdentity(tx, operator.operatorId, { issuer, subject }, clock.now())))
          throw new PanelError('act_refused');
        await endFlow(tx, flows.placeOf(request, operator.id).tokenHash);
        await noteFactor(tx, deps.proof, operator, 'oidc_bind', { issuer, subject });
      });
      reply.header('set-cookie', flows.gone);
      tellPerson(deps, operator, 'oidc_bind', clock.now());
      return { ok: true as const };
    },
  );

  api.post(
    '/factors/oidc/removal',
    {
      schema: { tags, summary: 'Unbinds the account', body: Nothing, response: { 200: Done } },
      config: consoleConfig,
    },
    async ({ operator }) => {
      requireProved(operator, clock.now());
      await sql.tx(async (tx) => {
        if ((await holdOperator(tx, operator.operatorId)) === undefined)
          throw new PanelError('not_signed_in');
        const removed = await removeIdentity(tx, operator.operatorId);
        if (!removed) throw new PanelError('not_found');
        await endOtherSessionsOf(tx, operator.operatorId, operator.id);
        await noteFactor(tx, deps.proof, operator, 'oidc_remove', removed);
      });
      tellPerson(deps, operator, 'oidc_remove', clock.now());
      return { ok: true as const };
    },
  );
}
