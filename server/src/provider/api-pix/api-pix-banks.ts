import type { TokenForm } from '../oauth.ts';

/**
 * Banks that give charges over the Central Bank's API Pix, by how each differs from it. Hardly one publishes its settings openly: what is
 * known comes mostly from clients that are used against them, so every value says where it is from. **Compare it with the bank's own portal
 * before the first real charge**; what a connection is created with (`--url`, `tokenUrl`) goes before this table.
 */
export interface ApiPixBank {
  /** As people know it. */
  name: string;
  live: Place;
  /** Null: known to have none that works like the live one. */
  test: Place | null;
  /** Further hosts (`Adapter.otherHosts`). */
  otherHosts?: Said<{ live?: readonly string[]; test?: readonly string[] }>;
  token: Said<TokenForm>;
  /** Permissions that are asked for with a token, where the bank wants them named; `scopes` of the credentials goes before it. */
  scopes?: Said<string>;
  /** With an id of its own on each call. */
  correlationHeader?: Said<string>;
  /** Header that carries the client's id. */
  clientIdHeader?: Said<string>;
  /** Parameter of every call's query that carries the credential `appKey`. */
  appKeyQuery?: Said<string>;
  /** Where the text of the QR stands beside `pixCopiaECola`. */
  codeField?: Said<string>;
  /** Refuses milliseconds in the times of a list. */
  wholeSeconds?: Said<boolean>;
  /** The last part of its address, and what stands there in its place for the calls of one charge. */
  chargeVersion?: { listed: string; usual: Said<string> };
  /** It has no list of charges (`GET /cob`). */
  listsNoCharges?: Said<true>;
  /** The longest window of `GET /pix`, in days. */
  windowMostDays?: Said<number>;
}

interface Place {
  /** Everything before `/cob` and `/pix`. */
  url: Said<string>;
  tokenUrl: Said<string>;
}

/** How sure a value is: by one client that is in use, by clients that differ. */
export interface Said<T> {
  value: T;
  sure: 'client' | 'differs';
  source: string;
}

/** Another client, in use against the bank: `pypix_api/banks` of version 0.14.0. */
const client = (file: string): string => `github.com/laddertech/pypix-api 0.14.0, pypix_api/banks/${file}`;
const unit = (name: string): string => `github.com/frones/ACBr, Fontes/ACBrPIXCD/ACBrPIXPSP${name}.pas`;

/** Read in a client that many shops use against the bank. */
const seen = <T>(value: T, file: string): Said<T> => ({ value, sure: 'client', source: unit(file) });
const seenIn = <T>(value: T, source: string): Said<T> => ({ value, sure: 'client', source });
/** Clients, or versions of one, say different things. */
const disputed = <T>(value: T, source: string): Said<T> => ({ value, sure: 'differs', source });

const basicForm: TokenForm = { body: 'form', client: 'basic' };
/** As the client asks, and what API Pix 2.9.0 demands for the calls about webhooks. Refunds need `pix.write`, and not every application has it. */
const receiptScopes = (file: string): Said<string> => ({
  value: 'cob.read cob.write pix.read pix.write webhook.read webhook.write',
  sure: 'client',
  source: `${unit(file)} for cob and pix; API Pix 2.9.0 of the Central Bank for webhook`,
});

export const banks = {
  bb: {
    name: 'Banco do Brasil',
    live: {
      url: seenIn('https://api-pix.bb.com.br/pix/v2', client('bb.py')),
      tokenUrl: seen('https://oauth.bb.com.br/oauth/token', 'BancoDoBrasil'),
    },
    test: {
      url: seenIn('https://api-pix.hm.bb.com.br/pix/v2', client('bb.py')),
      tokenUrl: seen('https://oauth.hm.bb.com.br/oauth/token', 'BancoDoBrasil'),
    },
    // The hosts without a client certificate.
    otherHosts: seen(
      { live: ['api.bb.com.br'], test: ['api.hm.bb.com.br', 'api.sandbox.bb.com.br'] },
      'BancoDoBrasil',
    ),
    token: seen(basicForm, 'BancoDoBrasil'),
    scopes: receiptScopes('BancoDoBrasil'),
    appKeyQuery: seen('gw-dev-app-key', 'BancoDoBrasil'),
    codeField: seen('textoImagemQRcode', 'BancoDoBrasil'),
    listsNoCharges: seen(true, 'BancoDoBrasil'),
    windowMostDays: disputed(
      4,
      `${client('bb.py')}: no limit; another product that is in use asks for four days at once`,
    ),
  },
  itau: {
    name: 'Itaú',
    live: {
      url: seen('https://secure.api.itau/pix_recebimentos/v2', 'Itau'),
      tokenUrl: seen('https://sts.itau.com.br/as/token.oauth2', 'Itau'),
    },
    // Two versions of one client name two hosts, and the later one wants a fixed token of the portal.
    test: null,
    otherHosts: seen({ test: ['devportal.itau.com.br', 'sandbox.devportal.itau.com.br'] }, 'Itau'),
    token: seen({ body: 'form', client: 'body' }, 'Itau'),
    correlationHeader: seen('x-correlationID', 'Itau'),
  },
  santander: {
    name: 'Santander',
    live: {
      url: seen('https://trust-pix.santander.com.br/api/v1', 'Santander'),
      tokenUrl: seen('https://trust-pix.santander.com.br/oauth/token', 'Santander'),
    },
    test: {
      url: seen('https://trust-pix-h.santander.com.br/api/v1', 'Santander'),
      tokenUrl: seen('https://trust-pix-h.santander.com.br/oauth/token', 'Santander'),
    },
    token: seen({ body: 'query', client: 'body' }, 'Santander'),
    wholeSeconds: seen(true, 'Santander'),
  },
  sicoob: {
    name: 'Sicoob',
    live: {
      url: seen('https://api.sicoob.com.br/pix/api/v2', 'Sicoob'),
      tokenUrl: seen(
        'https://auth.sicoob.com.br/auth/realms/cooperado/protocol/openid-connect/token',
        'Sicoob',
      ),
    },
    // Its sandbox takes a fixed token of the portal, and no client.
    test: null,
    otherHosts: seen({ test: ['sandbox.sicoob.com.br'] }, 'Sicoob'),
    token: seen({ body: 'form', client: 'none' }, 'Sicoob'),
    // An application gets the permissions of "Pix Recebimentos" as one: clients of this bank ask for them all.
    scopes: seenIn(
      `${receiptScopes('Sicoob').value} cobv.read cobv.write`,
      'github.com/laddertech/pypix-api, pypix_api/scopes/sicoob.py, group pix',
    ),
    clientIdHeader: seen('client_id', 'Sicoob'),
    codeField: seen('brcode', 'Sicoob'),
  },
  sicredi: {
    name: 'Sicredi',
    live: {
      url: seen('https://api-pix.sicredi.com.br/api/v2', 'Sicredi'),
      tokenUrl: seen('https://api-pix.sicredi.com.br/oauth/token', 'Sicredi'),
    },
    test: {
      url: seen('https://api-pix-h.sicredi.com.br/api/v2', 'Sicredi'),
      tokenUrl: seen('https://api-pix-h.sicredi.com.br/oauth/token', 'Sicredi'),
    },
    token: seen(basicForm, 'Sicredi'),
    scopes: receiptScopes('Sicredi'),
    chargeVersion: {
      listed: 'v2',
      usual: disputed(
        'v2',
        `${unit('Sicredi')}; ${client('sicredi.py')} has v3 for PUT, GET and PATCH of a charge`,
      ),
    },
  },
  bradesco: {
    name: 'Bradesco',
    live: {
      url: seen('https://qrpix.bradesco.com.br/v2', 'Bradesco'),
      tokenUrl: disputed(
        'https://qrpix.bradesco.com.br/auth/server/oauth/token',
        `${unit('Bradesco')}: later versions; an earlier one has /oauth/token`,
      ),
    },
    test: {
      url: seen('https://qrpix-h.bradesco.com.br/v2', 'Bradesco'),
      tokenUrl: disputed(
        'https://qrpix-h.bradesco.com.br/auth/server/oauth/token',
        `${unit('Bradesco')}: later versions; an earlier one has /oauth/token`,
      ),
    },
    token: seen(basicForm, 'Bradesco'),
  },
  c6: {
    name: 'C6 Bank',
    live: {
      url: seen('https://baas-api.c6bank.info/v2/pix', 'C6Bank'),
      tokenUrl: seen('https://baas-api.c6bank.info/v1/auth', 'C6Bank'),
    },
    test: {
      url: seen('https://baas-api-sandbox.c6bank.info/v2/pix', 'C6Bank'),
      tokenUrl: seen('https://baas-api-sandbox.c6bank.info/v1/auth', 'C6Bank'),
    },
    token: seen(basicForm, 'C6Bank'),
  },
} satisfies Record<string, ApiPixBank>;
