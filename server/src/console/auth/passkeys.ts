import { hash } from 'node:crypto';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { isPlainAttestation } from '../../panel/auth/passkey-rules.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import { noteOperator } from '../people/operators.ts';
import {
  type Asked,
  countPasskey,
  findPasskey,
  insertChallenge,
  type KnownPasskey,
  listPasskeys,
  type NewPasskey,
  takeChallenge,
} from '../people/passkeys.sql.ts';

/** The site that passkeys of the console belong to (WebAuthn: the relying party). */
export interface Party {
  /** A name and never an address. */
  id: string;
  /** Where its pages are. */
  origins: ReadonlySet<string>;
}

export interface PasskeyDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  party: Party;
}

/** A passkey that has just signed, with its user verified. */
export interface Shown {
  passkey: KnownPasskey;
  counter: number;
}

type Person = { operatorId: string; email: string; name: string };

export interface Passkeys {
  /** For an authenticator that signs. @param operatorId null: of any operator */
  ask(asked: Asked, operatorId: string | null): Promise<PublicKeyCredentialRequestOptionsJSON>;
  /** @returns null: it is no answer to what was asked, or of no passkey that is known. An answer is looked at once */
  shownBy(asked: Asked, response: AuthenticationResponseJSON): Promise<Shown | null>;
  /** For an authenticator that makes a passkey. */
  offer(asked: Asked, person: Person): Promise<PublicKeyCredentialCreationOptionsJSON>;
  /** @returns null: it is no answer to what was asked */
  made(asked: Asked, response: RegistrationResponseJSON): Promise<MadePasskey | null>;
}

export type MadePasskey = Pick<NewPasskey, 'credentialId' | 'publicKey' | 'counter' | 'synced'>;

/** A person takes their time, and finds the key. */
const challengeLivesMs = 5 * 60_000;

/** Read when the first one is asked for. */
const library = () => import('@simplewebauthn/server');

export function passkeys({ sql, clock, ids, party }: PasskeyDeps): Passkeys {
  async function newChallenge(asked: Asked): Promise<Uint8Array<ArrayBuffer>> {
    const challenge = new Uint8Array(ids.bytes(32));
    const text = Buffer.from(challenge).toString('base64url');
    await insertChallenge(sql, hash('sha256', text, 'buffer'), asked, clock.now() + challengeLivesMs);
    return challenge;
  }

  /** The challenge that the authenticator signed, if it was asked for; it is asked for no more, whatever follows. */
  async function takenOf(asked: Asked, clientData: string): Promise<string | null> {
    const challenge = challengeIn(clientData);
    if (challenge === null) return null;
    const taken = await takeChallenge(sql, hash('sha256', challenge, 'buffer'), asked, clock.now());
    return taken ? challenge : null;
  }

  const expected = (challenge: string) => ({
    expectedChallenge: challenge,
    expectedOrigin: [...party.origins],
    expectedRPID: party.id,
    // With a fingerprint or a PIN a passkey is two factors; without, it is one that can be stolen.
    requireUserVerification: true,
  });

  return {
    async ask(asked, operatorId) {
      const { generateAuthenticationOptions } = await library();
      const own = operatorId === null ? [] : await listPasskeys(sql, operatorId);
      return generateAuthenticationOptions({
        rpID: party.id,
        challenge: await newChallenge(asked),
        timeout: challengeLivesMs,
        userVerification: 'required',
        allowCredentials: own.map(({ credentialId }) => ({ id: credentialId })),
      });
    },

    async shownBy(asked, response) {
      const challenge = await takenOf(asked, response.response.clientDataJSON);
      if (challenge === null) return null;
      const passkey = await findPasskey(sql, response.id);
      if (!passkey) return null;
      const { verifyAuthenticationResponse } = await library();
      const { credentialId, publicKey } = passkey;
      // The count is compared in the database, where the one of another call at the same moment stands: `countPasskey`.
      const credential = { id: credentialId, publicKey: new Uint8Array(publicKey), counter: 0 };
      const verified = await verifyAuthenticationResponse({
        response,
        ...expected(challenge),
        credential,
      }).catch(() => null);
      return verified?.verified ? { passkey, counter: verified.authenticationInfo.newCounter } : null;
    },

    async offer(asked, { operatorId, email, name }) {
      const { generateRegistrationOptions } = await library();
      const own = await listPasskeys(sql, operatorId);
      return generateRegistrationOptions({
        rpName: 'vintem operator',
        rpID: party.id,
        userName: email,
        userDisplayName: name,
        userID: new Uint8Array(Buffer.from(operatorId.replaceAll('-', ''), 'hex')),
        challenge: await newChallenge(asked),
        timeout: challengeLivesMs,
        attestationType: 'none',
        excludeCredentials: own.map(({ credentialId }) => ({ id: credentialId })),
        // It signs in without a name: the authenticator has to know whose it is.
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      });
    },

    async made(asked, response) {
      const challenge = await takenOf(asked, response.response.clientDataJSON);
      if (challenge === null || !(await isPlainAttestation(response.response.attestationObject))) return null;
      const { verifyRegistrationResponse } = await library();
      const verified = await verifyRegistrationResponse({ response, ...expected(challenge) }).catch(
        () => null,
      );
      if (!verified?.verified) return null;
      const { credential, credentialBackedUp } = verified.registrationInfo;
      const { id, publicKey, counter } = credential;
      return { credentialId: id, publicKey, counter, synced: credentialBackedUp };
    },
  };
}

/** Of the client data that the browser wrote (WebAuthn 3, 5.8.1); null: there is none to read. */
function challengeIn(clientData: string): string | null {
  try {
    const { challenge } = JSON.parse(Buffer.from(clientData, 'base64url').toString());
    return typeof challenge === 'string' ? challenge : null;
  } catch {
    return null;
  }
}

/**
 * Counts a passkey that has signed, under the lock of its operator. One that has counted less than before has a copy somewhere (WebAuthn 3, 6.1.1):
 * that is written to the audit log, and it opens nothing.
 */
export async function counts(
  tx: Queries,
  deps: Pick<PasskeyDeps, 'clock' | 'ids'>,
  { passkey, counter }: Shown,
): Promise<boolean> {
  if (await countPasskey(tx, passkey.id, counter, deps.clock.now())) return true;
  await noteOperator(tx, deps, {
    actor: passkey.email,
    action: 'operator.passkey_copied',
    subject: passkey.operatorId,
    detail: { passkeyId: passkey.id, counter },
  });
  return false;
}
