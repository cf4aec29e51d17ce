import { findOwner } from '../../server/src/api/transfers/draft.sql.ts';
import { createDraft, resendCode } from '../../server/src/api/transfers/draft.ts';
import type { Letter, Mail } from '../../server/src/ground/mail.ts';
import type { Action } from '../../server/src/operate/incidents/endings.ts';
import { listIncidents, resolveIncident } from '../../server/src/operate/incidents/incident.ts';
import type { Finding, Rows } from './checks.ts';
import type { Random } from './random.ts';
import type { Life } from './service.ts';
import type { World } from './world.ts';

/** People at the panel and at the command line: transfers confirmed by a mailed code, and incidents that a person ends. */
export interface People {
  /** Plans what they do during the storm. */
  plan(): void;
  /** A person looks at every open incident. */
  resolveAll(): Promise<void>;
  /** A code that was mailed belongs to a draft that was committed. */
  check(rows: Rows): Finding[];
}

type Answer = { status: number; body: unknown } | null;

export function createPeople(parts: {
  world: World;
  living(): Life;
  letters: Letters;
  chance: Random;
  operations: readonly string[];
  requestKey(): string;
  call(method: string, path: string, body?: object, operationId?: string): Promise<Answer>;
  say(line: string): void;
  findings: Finding[];
  /** Money in suspense may go back to its payer. */
  returns: boolean;
}): People {
  const { world, living, letters, chance, operations, requestKey, call, say, findings, returns } = parts;

  async function draft(operationId: string, again: boolean): Promise<void> {
    const { runtime } = living();
    const owner = await findOwner(runtime.sql, operationId);
    if (!owner) return;
    const who = {
      ...owner,
      operationId,
      operationNamed: true,
      keyId: null,
      permissions: new Set(['transfers'] as const),
      requestId: 'person',
    };
    const request = {
      amountCents: chance.pick([500, 500, 1_000, 3_000]),
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL' as const,
      description: '',
      requestKey: requestKey(),
    };
    const payment = await createDraft(runtime, who, request, 'ana@loja.example');
    say(`draft ${payment.id.slice(0, 8)}`);
    world.count('draft made');
    if (!again) return;
    await resendCode(runtime, who, payment.id);
    world.count('draft code mailed again');
  }

  async function onDraft(path: 'confirm' | 'cancel', id: string, code: string, operationId: string) {
    const body = path === 'confirm' ? { code } : {};
    const reply = await call('POST', `/pix/transfers/${id}/${path}`, body, operationId);
    if (!reply) return;
    const said = (reply.body as { code?: string; status?: string }) ?? {};
    say(`${path} ${id.slice(0, 8)} -> ${reply.status} ${said.status ?? said.code}`);
    world.count(`draft ${path} ${reply.status} ${said.code ?? 'ok'}`);
    // Who confirms has to keep the reference and look (503). Cancelling moves nothing, and may fail as any other call.
    if (reply.status === 500 && path === 'confirm') findings.push({ invariant: 18, what: '500 to confirm' });
  }

  function planDraft(): void {
    // The third has no money to send.
    const operationId = chance.pick(operations.slice(0, 2));
    const fate = chance.pick(['confirm', 'confirm', 'twice', 'wrong', 'lock', 'cancel', 'expire'] as const);
    const begins = world.now() + chance.below(10_000);
    const again = chance.chance(0.3);
    // A person reads the mail after a while, and does the same once more when nothing seems to have come of it.
    const reads = begins + chance.pick([500, 20_000, 5 * 60_000]);
    let about: string | null = null;
    const read = (): void => {
      const [id, code] = [...letters.codes].findLast(([one]) => about === null || one === about) ?? [];
      if (id === undefined || code === undefined) return;
      about = id;
      const wrong = code === '000000' ? '000001' : '000000';
      const confirm = (given: string) => onDraft('confirm', id, given, operationId);
      void (async () => {
        if (fate === 'cancel') return onDraft('cancel', id, code, operationId);
        if (fate === 'wrong') await confirm(wrong);
        if (fate === 'lock') for (let tries = 0; tries < 5; tries++) await confirm(wrong);
        if (fate === 'twice') await Promise.all([confirm(code), confirm(code)]);
        else await confirm(code);
      })();
    };
    world.at(begins, () => {
      if (!living().process.alive) return;
      // Refused, or broken off by a fault of the database: who asked sees it and gives up.
      draft(operationId, again).catch((error: unknown) => say(`no draft: ${(error as Error).message}`));
    });
    if (fate === 'expire') return;
    world.at(reads, read);
    world.at(reads + 60_000, read);
  }

  async function resolveAll(): Promise<void> {
    if (!living().process.alive) return;
    const operator = { ...living().runtime, actor: 'operator' };
    for (const { id, kind, state } of (await listIncidents(operator, null)).reverse()) {
      if (state !== 'open') continue;
      // Where no money has moved yet only the provider's word could tell which is right: a person may leave it at that.
      const tried: Action[] = truthNeeded.has(kind)
        ? ['none']
        : [...(returns ? (['return'] as const) : []), chance.pick(['credit', 'writeoff']), 'debit', 'none'];
      for (const action of tried) {
        const done = await resolveIncident(operator, id, { action, reason: 'looked at' }).then(
          () => true,
          () => false,
        );
        if (!done) continue;
        say(`${kind} resolved by ${action}`);
        world.count(`resolved by ${action}`);
        break;
      }
    }
  }

  return {
    plan() {
      planDraft();
      const looks = world.now() + chance.pick([20_000, 90_000, 10 * 60_000]);
      world.at(looks, () => void resolveAll().catch(() => world.count('incidents not read')));
    },
    resolveAll,
    check: ({ payments }) =>
      [...letters.codes.keys()]
        .filter((id) => !payments.some((payment) => payment.id === id))
        .map((id) => ({ invariant: 18, what: `a code was mailed for ${id}, which is not there` })),
  };
}

const truthNeeded: ReadonlySet<string> = new Set([
  'report_mismatch',
  'movement_mismatch',
  'contradiction',
  'undecided',
  'divergence',
  'close_difference',
  'cash_missing',
  'refund_mismatch',
  'refund_contradiction',
  'refund_undecided',
  'lost_payout',
]);

/** The mail server of the story: what it took, it keeps, whatever becomes of the process that sent it. */
export interface Letters {
  /** The last code of each draft. */
  codes: Map<string, string>;
  mailOf(life: Pick<Life, 'process'>): Mail;
}

export function createLetters(): Letters {
  const codes = new Map<string, string>();
  return {
    codes,
    mailOf: ({ process }) => ({
      send: async ({ en: { text } }: Letter) => {
        const id = /Payment\s+(\S+)/.exec(text)?.[1];
        const code = /Code: (\d{6})/.exec(text)?.[1];
        if (id !== undefined && code !== undefined) codes.set(id, code);
        await process.clock.sleep(50);
      },
    }),
  };
}
