import { isIP } from 'node:net';
import type { ClientCertificate, Net } from '../../ports/net.ts';
import { certificateFindings } from '../../provider/diagnosis.ts';
import { type Finding, isOfEnvironment, type Provider } from '../../provider/provider.ts';
import { OperatorRefused } from '../../store/operator.ts';
import { findWebhookTokens } from '../../store/rows/inbound.sql.ts';
import { type ConnectionRow, findConnectionRow, listConnectionRows } from './connections.sql.ts';
import { type ConnectionDeps, environmentOf } from './connections.ts';
import { adapterNamed, openKept, settingsOf } from './credentials.ts';
import { examineDueOffer } from './due-offer.ts';
import { examineHold } from './held.ts';
import { findForeignAccounts, holderWarning } from './holders.ts';
import { examinePrintedCodes } from './printed-codes.ts';

/**
 * `vintem doctor`: what stands between a connection and its first payment, and what to do about it. It asks the provider, and it calls our
 * own address as a stranger would. It moves no money and changes no setting, so it may run before going live and beside a running service,
 * which stores its deliveries as it stores all others.
 */
export interface DoctorDeps extends ConnectionDeps {
  /** Connections that the settings make. */
  ofEnvironment: ReadonlyMap<string, Examined>;
}

/** A connection as it is examined. */
export interface Examined {
  provider: Provider;
  certificate: ClientCertificate | null;
}

export interface Examination {
  connection: string;
  adapter: string;
  findings: Finding[];
}

/**
 * Every connection that is in use, or the one that is named, also when it is retired.
 * @throws OperatorRefused there is none of that name
 */
export async function examineConnections(deps: DoctorDeps, name: string | null): Promise<Examination[]> {
  const rows = name === null ? await findInUse(deps) : [await findNamed(deps, name)];
  const foreign = new Map((await findForeignAccounts(deps.sql, name)).map((one) => [one.connection, one]));
  return Promise.all(
    rows.map(async (row) => {
      const others = foreign.get(row.name);
      return {
        connection: row.name,
        adapter: row.adapter ?? 'environment',
        findings: [...(await examine(deps, row)), ...(others ? [holderWarning(others)] : [])],
      };
    }),
  );
}

const findInUse = async (deps: DoctorDeps): Promise<ConnectionRow[]> =>
  (await listConnectionRows(deps.sql)).filter((row) => isInUse(deps, row));

/** @throws OperatorRefused there is none of that name */
async function findNamed({ sql }: DoctorDeps, name: string): Promise<ConnectionRow> {
  const row = await findConnectionRow(sql, name);
  if (!row) throw new OperatorRefused(`no connection ${name}`);
  return row;
}

const isInUse = ({ ofEnvironment }: DoctorDeps, row: ConnectionRow): boolean =>
  row.state === 'active' && (!isOfEnvironment(row.name) || ofEnvironment.has(row.name));

async function examine(deps: DoctorDeps, row: ConnectionRow): Promise<Finding[]> {
  const { clock, config, sql } = deps;
  const opened = open(deps, row);
  if (!('provider' in opened)) return [opened];
  const { provider, certificate } = opened;
  const tokens = await findWebhookTokens(sql, row.name);
  const address = `${config.hooksUrl}/hooks/providers/${row.name}`;
  const ours = `${address}/${tokens?.current ?? ''}`;
  const hold = await examineHold(sql, row, provider);
  const said = await provider.diagnose({ webhookUrl: ours });
  const printed = await examinePrintedCodes(sql, provider, said);
  const due = await examineDueOffer(deps, provider, said);
  return [
    ...(environmentOf(row) === 'sandbox' ? [sandboxFinding] : []),
    ...(hold === null ? [] : [hold]),
    ...(certificate === null ? [] : certificateFindings(certificate, clock.now())),
    ...said,
    ...(printed === null ? [] : [printed]),
    ...(due === null ? [] : [due]),
    ...(await examineWayIn(deps, {
      ours,
      wrong: `${address}/${deps.ids.bytes(24).toString('base64url')}`,
      trust: await trustOf(provider, clock.now()),
      local: row.simulated || row.name === 'simulator',
    })),
  ];
}

/** A token that goes with each delivery refuses strangers as a signature does, though nothing that the delivery says is believed. */
async function trustOf(provider: Provider, receivedAt: number): Promise<WayIn['trust']> {
  const { webhookTrust } = provider.capabilities;
  if (webhookTrust !== 'path') return webhookTrust;
  const bare = await provider.parseWebhook({ headers: {}, rawBody: Buffer.from(nothing), receivedAt });
  return bare.authentic ? 'path' : 'signed';
}

const sandboxFinding: Finding = {
  check: 'environment',
  ok: true,
  message: "the provider's own test environment: no money moves, and test accounts alone bind to it",
};

function open(deps: DoctorDeps, row: ConnectionRow): Examined | Finding {
  if (row.adapter === null) {
    return (
      deps.ofEnvironment.get(row.name) ?? {
        check: 'token',
        ok: false,
        message: 'the settings of the environment do not make this connection',
        action: 'set PROVIDER and the settings beside it, for open payments of it',
      }
    );
  }
  try {
    const adapter = adapterNamed(row.adapter);
    const settings = settingsOf(deps, adapter, row, openKept(deps.secrets, row).current);
    return { provider: adapter.create(settings, deps), certificate: settings.certificate };
  } catch (error) {
    return {
      check: 'token',
      ok: false,
      message: `its credentials cannot be used: ${(error as Error).message}`,
      action: 'set VINTEM_SECRET to the secret of this installation, or give the credentials again (rotate)',
    };
  }
}

// ---------------------------------------------------------------------------------------------- the way in

export interface WayIn {
  /** Our address, with its secret. */
  ours: string;
  /** The same with another secret. */
  wrong: string;
  trust: Provider['capabilities']['webhookTrust'];
  /** Its provider is the simulator of this installation: it needs no public address. */
  local: boolean;
}

/** A provider's registration waits longer, and a proxy may have to start something. */
const callTimeoutMs = 10_000;
/** Names no money, so it does nothing where it is believed. */
const nothing = '{"pix":[]}';

/**
 * Calls our address from here through `PUBLIC_URL`, its name, its TLS and its proxy, as a stranger who knows it: with its secret, with
 * another one, and, where a proxy must check certificates, without one and with a forged word that it was checked.
 */
export async function examineWayIn(
  { net, config }: { net: Net; config: { hooksUrl: string; hooksHeader?: string } },
  { ours, wrong, trust, local }: WayIn,
): Promise<Finding[]> {
  const problem = local ? null : publicProblem(config.hooksUrl);
  if (problem !== null) return [problem];
  const call = (url: string, headers: Record<string, string> = {}): Promise<Answer> =>
    answerOf(net, url, headers);
  const answer = await call(ours);
  if (trust === 'mtls')
    return underCertificates(
      answer,
      await call(ours, { [config.hooksHeader ?? 'x-ssl-client-verify']: 'SUCCESS' }),
    );
  const reached = wayInOf(answer, trust);
  if (!reached.ok) return [reached];
  const stranger = await call(wrong);
  if (stranger.status !== 404) return [fault('way in', 'it answers to a wrong secret too', elsewhere)];
  return trust === 'signed'
    ? [reached, { check: 'refusal', ok: true, message: 'a delivery without a signature is refused' }]
    : [reached];
}

const elsewhere =
  'something else than this service answers there: compare PUBLIC_URL and what the proxy does with /hooks/providers/';

function publicProblem(publicUrl: string): Finding | null {
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === 'https:' && hostname !== 'localhost' && !isOwnAddress(hostname)) return null;
  return fault(
    'way in',
    'PUBLIC_URL is no https address that a provider can reach',
    'set PUBLIC_URL to https and the public name of your proxy; until then nothing is delivered, and payments end by queries alone',
  );
}

const isOwnAddress = (hostname: string): boolean =>
  (isIP(hostname) === 4 && hostname.startsWith('127.')) || hostname === '[::1]';

/** `status` null: there was no answer, for the reason in `detail`. */
interface Answer {
  status: number | null;
  detail: string;
}

async function answerOf(net: Net, url: string, headers: Record<string, string>): Promise<Answer> {
  try {
    const { status } = await net.request({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...headers },
      body: nothing,
      timeoutMs: callTimeoutMs,
      maxBytes: 64 * 1024,
      cutsLongAnswers: true,
    });
    return { status, detail: String(status) };
  } catch (error) {
    return { status: null, detail: (error as Error).message };
  }
}

/** A service of ours believes (2xx) what comes to the secret address, or refuses it (401) because it is not signed. */
function wayInOf({ status, detail }: Answer, trust: 'signed' | 'path'): Finding {
  if (status === (trust === 'signed' ? 401 : 200))
    return { check: 'way in', ok: true, message: 'our address is reached from here' };
  if (status === null)
    return fault(
      'way in',
      `our address is not reached: ${detail}`,
      'start the service; compare PUBLIC_URL with the name, the certificate and the firewall of the proxy',
    );
  if (status === 404)
    return fault(
      'way in',
      'our address is not known there',
      'let the proxy pass /hooks/providers/ unchanged to this installation',
    );
  if (status >= 500)
    return fault('way in', `it answers ${status}`, 'start the service, and let the proxy reach it');
  return fault('way in', `it answers ${status}`, elsewhere);
}

/** Where the proxy asks for a certificate, we come without one: to be refused is right, and nothing further can be seen from here. */
function underCertificates(bare: Answer, withForgedWord: Answer): Finding[] {
  const taken = [bare, withForgedWord].findIndex(({ status }) => status !== null && status < 300);
  if (taken === 0)
    return [
      fault(
        'refusal',
        'a delivery without certificate is believed',
        'let the proxy ask for a certificate under /hooks/providers/, verify it against the chain of the provider alone, and say the result itself',
      ),
    ];
  if (taken === 1)
    return [
      fault(
        'refusal',
        "a caller's own header X-SSL-Client-Verify (HOOKS_HEADER) is believed",
        'let the proxy set this header on every request, and TRUSTED_PROXIES name the proxy alone',
      ),
    ];
  const refused: Finding = {
    check: 'refusal',
    ok: true,
    message: `a caller without certificate is refused (${bare.detail}), and so is a forged word that it has one`,
  };
  if (isRefusal(bare)) return [refused];
  return [wayInOf(bare, 'signed')];
}

/** 401 is this service's word, the others a proxy's: nginx says 400 (or 495, 496), and some end the handshake. */
const isRefusal = ({ status, detail }: Answer): boolean =>
  status === null
    ? /CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE/.test(detail)
    : [400, 401, 403, 495, 496].includes(status);

const fault = (check: Finding['check'], message: string, action: string): Finding => ({
  check,
  ok: false,
  message,
  action,
});
