import type { ApiScope } from '../../edge/edge.ts';
import type { Log } from '../../ground/log.ts';
import type { Mail } from '../../ground/mail.ts';
import { IdParams } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import type { Attempts } from '../../panel/auth/attempts.ts';
import { PanelError } from '../../panel/errors.ts';
import { findIdentityOf } from '../people/identities.sql.ts';
import { endOtherSessionsOf, holdOperator, proveSession } from '../people/operators.sql.ts';
import { noteOperator } from '../people/operators.ts';
import { type Asked, insertPasskey, listPasskeys, removePasskey } from '../people/passkeys.sql.ts';
import { consoleConfig } from '../route.ts';
import { Done, Nothing } from '../schema.ts';
import { noteFactor, tellPerson } from './factor-change.ts';
import { AskedToMake, AskedToSign, FactorBody, FactorsSchema, PasskeyBody } from './factor-schema.ts';
import { type ProofDeps, requireProved, withFactor } from './proof.ts';
import type { SignedIn } from './sessions.ts';

const tags = ['Operator'];

export interface FactorRouteDeps {
  proof: ProofDeps;
  attempts: Attempts;
  mail: Mail;
  log: Log;
  /** Null: no OpenID provider is set. */
  oidc: { issuer: string } | null;
}

const askedBy = ({ id, network }: SignedIn, purpose: 'proof' | 'passkey'): Asked => ({
  purpose,
  sessionId: id,
  network,
});

/** How the operator who is signed in comes in: passkeys, beside password and app. */
export function factorRoutes(api: ApiScope, deps: FactorRouteDeps): void {
  const { sql } = deps.proof;

  api.get(
    '/factors',
    {
      schema: { tags, summary: 'How the caller signs in', response: { 200: FactorsSchema } },
      config: consoleConfig,
    },
    async ({ operator }) => {
      const passkeys = await listPasskeys(sql, operator.operatorId);
      const identity = await findIdentityOf(sql, operator.operatorId);
      return {
        passkeys: passkeys.map(({ id, name, synced, addedAt, usedAt }) => ({
          ...{ id, name, synced, addedAt: isoOf(addedAt) },
          usedAt: usedAt === null ? null : isoOf(usedAt),
        })),
        oidc: deps.oidc === null ? null : new URL(deps.oidc.issuer).host,
        identity: identity
          ? { issuer: identity.issuer, subject: identity.subject, boundAt: isoOf(identity.boundAt) }
          : null,
      };
    },
  );

  proofRoutes(api, deps);
  newPasskeyRoutes(api, deps);
  removalRoute(api, deps);
}

/** A factor is shown again, before the ways to sign in are changed. */
function proofRoutes(api: ApiScope, { proof, attempts }: FactorRouteDeps): void {
  const { passkeys, clock } = proof;

  api.post(
    '/factors/proof/options',
    {
      schema: {
        tags,
        summary: 'What a passkey of the caller has to sign',
        body: Nothing,
        response: { 200: AskedToSign },
      },
      config: consoleConfig,
    },
    async ({ operator }) => {
      await attempts.take('operatorChallenge', operator.operatorId);
      return passkeys.ask(askedBy(operator, 'proof'), operator.operatorId);
    },
  );

  api.post(
    '/factors/proof',
    {
      schema: {
        tags,
        summary: 'Shows a factor again: a code of the app, or a passkey',
        body: FactorBody,
        response: { 200: Done },
      },
      config: consoleConfig,
    },
    async ({ operator, body }) => {
      const { operatorId } = operator;
      await attempts.take('operatorProof', operatorId);
      const given = { asked: askedBy(operator, 'proof'), factor: body };
      const shown = await withFactor(proof, operatorId, given, async (tx, { email, method }) => {
        await proveSession(tx, operator.id, clock.now());
        await noteOperator(tx, proof, {
          ...{ actor: email, action: 'operator.proof', subject: operatorId, detail: { method } },
        });
        return true;
      });
      if (shown === null) throw new PanelError('factor_refused');
      await attempts.forget('operatorProof', operatorId);
      return { ok: true as const };
    },
  );
}

function newPasskeyRoutes(api: ApiScope, deps: FactorRouteDeps): void {
  const { sql, clock, ids, passkeys } = deps.proof;

  api.post(
    '/factors/passkeys/options',
    {
      schema: {
        tags,
        summary: 'What an authenticator needs to make a passkey',
        body: Nothing,
        response: { 200: AskedToMake },
      },
      config: consoleConfig,
    },
    async ({ operator }) => {
      requireProved(operator, clock.now());
      await deps.attempts.take('operatorChallenge', operator.operatorId);
      return passkeys.offer(askedBy(operator, 'passkey'), operator);
    },
  );

  api.post(
    '/factors/passkeys',
    {
      schema: { tags, summary: 'Adds a passkey', body: PasskeyBody, response: { 200: Done } },
      config: consoleConfig,
    },
    async ({ operator, body }) => {
      requireProved(operator, clock.now());
      const { operatorId } = operator;
      const made = await passkeys.made(askedBy(operator, 'passkey'), body.response);
      if (made === null) throw new PanelError('factor_refused');
      const passkey = { ...made, id: ids.uuid(), operatorId, name: body.name, addedAt: clock.now() };
      await sql.tx(async (tx) => {
        if ((await holdOperator(tx, operatorId)) === undefined) throw new PanelError('not_signed_in');
        if (!(await insertPasskey(tx, passkey))) throw new PanelError('act_refused');
        const { id, name, synced } = passkey;
        await noteFactor(tx, deps.proof, operator, 'passkey_add', { passkeyId: id, name, synced });
      });
      tellPerson(deps, operator, 'passkey_add', clock.now());
      return { ok: true as const };
    },
  );
}

function removalRoute(api: ApiScope, deps: FactorRouteDeps): void {
  const { sql, clock } = deps.proof;
  api.post(
    '/factors/passkeys/:id/removal',
    {
      schema: {
        tags,
        summary: 'Removes a passkey, and ends the other sessions',
        params: IdParams('Passkey'),
        body: Nothing,
        response: { 200: Done },
      },
      config: consoleConfig,
    },
    async ({ params, operator }) => {
      requireProved(operator, clock.now());
      await sql.tx(async (tx) => {
        if ((await holdOperator(tx, operator.operatorId)) === undefined)
          throw new PanelError('not_signed_in');
        const name = await removePasskey(tx, operator.operatorId, params.id);
        if (name === undefined) throw new PanelError('not_found');
        await endOtherSessionsOf(tx, operator.operatorId, operator.id);
        await noteFactor(tx, deps.proof, operator, 'passkey_remove', { passkeyId: params.id, name });
      });
      tellPerson(deps, operator, 'passkey_remove', clock.now());
      return { ok: true as const };
    },
  );
}
