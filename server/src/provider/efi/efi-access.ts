import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClientCertificate, Net } from '../../ports/net.ts';
import { balanceCall, readBalance, readBuckets } from '../api-pix/efi-account.ts';
import {
  balanceFinding,
  clockFindings,
  keyFindings,
  limitsFinding,
  tokenFindings,
  unasked,
} from '../diagnosis.ts';
import { createExchange, type Exchange, lacksScope } from '../exchange.ts';
import type { Provider } from '../provider.ts';

/** The calls of one application at Efí: its permissions, and what is said when one is missing. */

/**
 * The permission that each call needs (dev.efipay.com.br, credenciais). An application that was made before 2024-07-29 has to
 * switch `pix.send` off and on again.
 */
const scopes: readonly { method: string; path: string; scope: string }[] = [
  { method: 'PUT', path: '/v2/cob', scope: 'cob.write' },
  { method: 'GET', path: '/v2/cob', scope: 'cob.read' },
  { method: 'GET', path: '/v2/pix', scope: 'pix.read' },
  { method: 'PUT', path: '/v2/pix', scope: 'pix.write' },
  { method: 'PUT', path: '/v3/gn/pix', scope: 'pix.send' },
  { method: 'GET', path: '/v2/gn/pix/enviados', scope: 'gn.pix.send.read' },
  { method: 'PUT', path: '/v2/webhook', scope: 'webhook.write' },
  { method: 'GET', path: '/v2/webhook', scope: 'webhook.read' },
  { method: 'GET', path: '/v2/gn/saldo', scope: 'gn.balance.read' },
  { method: 'GET', path: '/v2/gn/infracoes', scope: 'gn.infractions.read' },
  { method: 'POST', path: '/v2/gn/relatorios', scope: 'gn.reports.write' },
  { method: 'GET', path: '/v2/gn/relatorios', scope: 'gn.reports.read' },
];

const needed = scopes.map(({ scope }) => scope);

/**
 * Not among them: the operator grants it once Efí has confirmed how a defence is read (docs/operators/efi.md). Where it is certain
 * that it is not granted, no defence is offered: it would wait until its deadline.
 */
const defenceScope = 'gn.infractions.write';

/** Nor these: an application that was made before due-date charges were used lacks them, and none is offered there. */
const dueScopes = ['cobv.read', 'cobv.write'] as const;

export interface EfiAccess extends Pick<Provider, 'diagnose'> {
  exchange: Exchange;
  /** False where it is certain that the permission for defences is not granted. */
  mayDefend(): boolean;
  /** The same of due-date charges. */
  takesDueCharges(): boolean;
}

export function efiAccess(options: {
  connection: string;
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  pixKey: string;
  certificate?: ClientCertificate;
  callTimeoutMs: number;
  net: Net;
  clock: Clock;
  log: Log;
}): EfiAccess {
  const { connection, baseUrl, clientId, clientSecret, pixKey, callTimeoutMs, net, clock, log } = options;
  /** Those of the last token; null: there was none yet. */
  let granted: readonly string[] | null = null;
  const calls = createExchange({
    baseUrl,
    credentials: {
      type: 'oauth',
      clientId,
      clientSecret,
      onScopes(scopesOfToken) {
        granted = scopesOfToken;
        const missing = needed.filter((scope) => !scopesOfToken.includes(scope));
        if (missing.length > 0)
          log.warn({ connection, missing }, 'the provider credentials lack permissions (scopes)');
      },
    },
    ...(options.certificate === undefined ? {} : { certificate: options.certificate }),
    callTimeoutMs,
    net,
    clock,
  });

  const exchange: Exchange = async (call) => {
    const reply = await calls(call);
    if (lacksScope(reply)) {
      const lacking = scopes.find(({ method, path }) => method === call.method && call.path.startsWith(path));
      log.error(
        { connection, scope: lacking?.scope },
        'the provider refused a call: grant this permission (scope) in its panel',
      );
    }
    return reply;
  };

  return {
    exchange,
    mayDefend: () => granted === null || granted.includes(defenceScope),
    takesDueCharges: () => dueScopes.every((scope) => granted === null || granted.includes(scope)),

    async diagnose({ webhookUrl }) {
      const path = `/v2/webhook/${encodeURIComponent(pixKey)}`;
      const reply = await exchange({ method: 'GET', path });
      const findings = tokenFindings(reply, { needed, granted });
      if (reply.kind !== 'answer' || reply.status === 401) return findings;
      findings.push(...clockFindings(reply, clock), ...keyFindings(reply, webhookUrl));
      const balance = await exchange(balanceCall);
      findings.push(balanceFinding(balance, clock, (body) => readBalance(body)?.availableCents ?? null));
      const limits = await exchange({ method: 'GET', path: '/v2/gn/chaves/balde' });
      findings.push(
        limitsFinding(limits, readBuckets),
        unasked(
          'payout limit',
          'Efi names it by no call: a new account sends R$ 0.30 to R$ 1.00 a day by API until it is raised (Efi Empresas)',
        ),
        unasked('fees', 'read from deliveries and the report of each day, and booked'),
      );
      return findings;
    },
  };
}
