import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { Type } from 'typebox';
import { Body, NullableTime, Text, Time, Uuid } from '../../ground/schema.ts';
import { Code, Nullable, Word } from '../schema.ts';

/** Schemas of passkeys, as browsers read and write them (WebAuthn 3, 5.1: the JSON forms). What is not named here is not looked at. */

const Coded = (description: string, maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[A-Za-z0-9_-]+$', description });

const Kind = Type.Literal('public-key');
const named = { id: Coded('Id of the passkey', 1400), rawId: Coded('The same', 1400), type: Kind };

const Signed = Type.Unsafe<AuthenticationResponseJSON>(
  Type.Object({
    ...named,
    response: Type.Object({
      clientDataJSON: Coded('What the browser says', 2000),
      authenticatorData: Coded('What the authenticator says', 2000),
      signature: Coded('Its signature over both', 2000),
    }),
  }),
);
const Made = Type.Unsafe<RegistrationResponseJSON>(
  Type.Object({
    ...named,
    response: Type.Object({
      clientDataJSON: Coded('What the browser says', 2000),
      attestationObject: Coded('What the authenticator says, with the key', 8000),
    }),
  }),
);

const List = Type.Array(Type.Object({ id: Type.String(), type: Kind }));
export const AskedToSign = Type.Unsafe<PublicKeyCredentialRequestOptionsJSON>(
  Type.Object({
    challenge: Type.String(),
    timeout: Type.Integer(),
    rpId: Type.String(),
    allowCredentials: List,
    userVerification: Type.Literal('required'),
  }),
);
export const AskedToMake = Type.Unsafe<PublicKeyCredentialCreationOptionsJSON>(
  Type.Object({
    challenge: Type.String(),
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    pubKeyCredParams: Type.Array(Type.Object({ alg: Type.Integer(), type: Kind })),
    timeout: Type.Integer(),
    attestation: Type.Literal('none'),
    excludeCredentials: List,
    authenticatorSelection: Type.Object({
      residentKey: Type.Literal('required'),
      requireResidentKey: Type.Boolean(),
      userVerification: Type.Literal('required'),
    }),
  }),
);

export const PasskeySignInBody = Body({ response: Signed });
/** One of the two. */
export const FactorBody = Body({ code: Type.Optional(Code), response: Type.Optional(Signed) });
export const PasskeyBody = Body({
  name: Text('Name of the passkey', { minLength: 1, maxLength: 60, 'x-trim': true }),
  response: Made,
});

export const FactorsSchema = Type.Object({
  passkeys: Type.Array(
    Type.Object({
      id: Uuid('Passkey'),
      name: Word('Its name'),
      synced: Type.Boolean({ description: 'Several devices have it' }),
      addedAt: Time('Added'),
      usedAt: NullableTime('Used last'),
    }),
  ),
  oidc: Nullable('Host of the OpenID provider; null: there is none'),
  identity: Type.Unsafe<{ issuer: string; subject: string; boundAt: string } | null>({
    anyOf: [
      Type.Object({
        issuer: Word('OpenID provider'),
        subject: Word('Its id of the person'),
        boundAt: Time('Bound'),
      }),
      { type: 'null' },
    ],
    description: 'The account of the caller there; null: none is bound',
  }),
});
