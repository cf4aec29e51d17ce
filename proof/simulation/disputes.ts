import { stepDisputes } from '../../server/src/jobs/poll.ts';
import { type Bank, moveDispute, openDispute, payCharge, returnPayment } from '../../simulator/src/bank.ts';
import type { Finding } from './checks.ts';
import type { Database } from './database.ts';
import type { Random } from './random.ts';
import type { Life } from './service.ts';
import type { World } from './world.ts';

/**
 * Payers contest what they paid, the merchant answers, the provider decides and takes the money, and the service reads of it every ten
 * minutes.
 */
export interface Disputes {
  /** Plans what happens during the storm. */
  plan(): void;
  /** The provider ends what is open; resolves when the service has read it. */
  settle(): Promise<void>;
  /** The provider's word on each dispute is on record, and its part of each defence. */
  check(): Finding[];
}

type Answer = { status: number; body: unknown } | null;

const readEveryMs = 10 * 60_000 + 1_000;
/** A short story is over before the first reading would come: here it comes at once, and the merchant's answer with it. */
const soonMs = { open: 5_000, read: 15_000, answers: [20_000, 50_000] };
/** Longer than a reading that died keeps the next one away. */
const lastReadings = 4;
/** Of a short story with disputes, whose answer must have time to leave. */
export const shortStormMs = 120_000;

export function createDisputes(parts: {
  world: World;
  db: Database;
  living(): Life;
  chance: Random;
  bank: Bank;
  bankWorld: { now(): number; letters(count: number): string };
  operations: readonly string[];
  /** The storm takes two minutes. */
  short: boolean;
  /** The service reads that a Pix is contested, and that some of it went back, before it learns of the Pix. */
  early: boolean;
  call(method: string, path: string, body?: object, operationId?: string): Promise<Answer>;
  wake(): void;
  say(line: string): void;
}): Disputes {
  const { world, db, living, chance, bank, bankWorld, operations, short, early, call, wake, say } = parts;
  /** Texts that were answered 201, by their dispute. */
  const answered = new Map<string, string>();
  /** Disputes that the provider reports as defended, by us or by a person at the provider: our answer counts as sent then. */
  const defended = new Set<string>();

  let over = false;
  /** During the storm alone. */
  const later = (when: number, act: () => void): void =>
    world.at(when, () => {
      if (!over) act();
    });

  async function read(): Promise<void> {
    const { process, home } = living();
    const provider = home.providers.get('simulator');
    if (!process.alive || !provider) return;
    await stepDisputes(home, provider).catch(() => world.count('disputes not read'));
  }

  /** The merchant looks at what is contested, and answers; the same again where he heard nothing. */
  async function answer(): Promise<void> {
    for (const operationId of operations) {
      const listed = (await call('GET', '/disputes', undefined, operationId))?.body as {
        disputes?: { id: string; status: string }[];
      } | null;
      for (const { id } of (listed?.disputes ?? []).filter((one) => one.status === 'open')) {
        const text = answered.get(id) ?? `entregue ${chance.below(1_000)}`;
        const tries = chance.chance(0.3) ? 2 : 1;
        const given = await Promise.all(
          Array.from({ length: tries }, () => call('POST', `/disputes/${id}/defence`, { text }, operationId)),
        );
        for (const one of given) {
          if (!one) continue;
          say(`defence of ${id.slice(0, 8)} -> ${one.status}`);
          world.count(`defence ${one.status}`);
          if (one.status === 201) answered.set(id, text);
        }
      }
    }
  }

  function open(): void {
    const all = [...bank.payments.values()];
    if (all.length > 0) contest(chance.pick(all));
  }

  /** A payer pays, contests it and gets some of it back in one moment, and the disputes are read before any delivery leaves. */
  function openUnheard(tries = 10): void {
    const unpaid = [...bank.charges.values()].filter((one) => one.status === 'ATIVA');
    if (unpaid.length === 0) {
      if (tries > 0) later(world.now() + 2_000, () => openUnheard(tries - 1));
      return;
    }
    const { txid } = chance.pick(unpaid);
    const { answer } = payCharge(bank, bankWorld, txid);
    const pix = typeof answer === 'string' ? undefined : bank.payments.get(answer.endToEnd);
    if (!pix) return;
    world.count('dispute before its payment');
    contest(pix);
    if (chance.chance(0.4)) {
      returnPayment(bank, bankWorld, pix.endToEnd, Math.ceil(pix.amountCents / 4), 'early');
      world.count('return before its payment');
    }
    void read().then(wake);
  }

  function contest(pix: { endToEnd: string; txid: string; amountCents: number }): void {
    const cents = chance.pick([pix.amountCents, Math.ceil(pix.amountCents / 2), 300]);
    const { answer } = openDispute(bank, bankWorld, pix.endToEnd, Math.min(cents, pix.amountCents));
    if (typeof answer === 'string') return;
    say(`disputed ${answer.amountCents} of ${pix.txid.slice(0, 12)}`);
    world.count('dispute opened');
    let when = world.now();
    const acts = [...(chance.chance(0.4) ? (['defend'] as const) : []), ...endings()];
    for (const act of acts) {
      when += chance.pick([1_000, 11 * 60_000, 25 * 60_000]);
      later(when, () => move(answer.id, act));
    }
  }

  /** A decided dispute may be opened again, and then ends once more. */
  function endings() {
    const end = () => chance.pick(['accept', 'accept', 'reject', 'cancel'] as const);
    return chance.chance(0.2) ? [end(), 'open' as const, end()] : [end()];
  }

  function move(id: string, act: 'open' | 'defend' | 'accept' | 'reject' | 'cancel'): void {
    const { answer } = moveDispute(bank, bankWorld, id, act);
    if (typeof answer === 'string') return;
    say(`${act} dispute ${id.slice(0, 8)}`);
    world.count(`dispute ${act}`);
    if (act === 'defend') defended.add(id);
    if (act === 'accept' && chance.chance(0.7))
      world.at(world.now() + chance.pick([500, 60_000, 15 * 60_000]), () => {
        returnPayment(bank, bankWorld, answer.endToEnd, answer.amountCents, `med${chance.below(1_000_000)}`);
        wake();
      });
  }

  /** The provider has each text that counts as sent, and none that counts as failed or was never given. */
  function checkDefences(): Finding[] {
    const rows = db.run<{ id: string; provider_id: string; status: string | null }>(
      `SELECT d.id, d.provider_id, f.status FROM dispute d
        LEFT JOIN dispute_defence f ON f.account_id = d.account_id AND f.dispute_id = d.id`,
      [],
    );
    return [...Map.groupBy(rows, ({ id }) => id).values()].flatMap((ofDispute) => {
      const [{ id, provider_id } = { id: '', provider_id: '' }] = ofDispute;
      const statuses = ofDispute.flatMap(({ status }) => status ?? []);
      for (const status of statuses) world.count(`defence is ${status}`);
      const text = bank.disputes.get(provider_id)?.defence?.text;
      const mayHave = statuses.some((status) => status !== 'failed');
      const holds =
        (text === undefined || mayHave) &&
        (text !== undefined || !statuses.includes('completed') || defended.has(provider_id)) &&
        (text === undefined || !answered.has(id) || text === answered.get(id)) &&
        (!answered.has(id) || statuses.length > 0);
      return holds ? [] : [{ invariant: 62, what: `a defence is ${statuses}, the provider has ${text}` }];
    });
  }

  function planLong(): void {
    if (early) later(world.now() + chance.below(60_000), openUnheard);
    const count = chance.pick([1, 2, 2]);
    for (let one = 0; one < count; one++)
      later(world.now() + chance.below(chance.pick([5_000, 60_000])), open);
    for (let at = 1; at <= 18; at++) later(world.now() + at * readEveryMs, () => void read());
    later(world.now() + chance.below(90_000), () => void read());
    for (const at of [30_000, 100_000, 12 * 60_000])
      later(world.now() + at + chance.below(60_000), () => {
        if (chance.chance(0.6)) void answer();
      });
  }

  function planShort(): void {
    later(world.now() + chance.below(soonMs.open), early ? openUnheard : open);
    later(world.now() + soonMs.open + chance.below(soonMs.read), () => void read());
    for (const at of soonMs.answers) later(world.now() + at + chance.below(10_000), () => void answer());
  }

  return {
    plan: short ? planShort : planLong,
    async settle() {
      over = true;
      for (const { id, status } of bank.disputes.values())
        if (status === 'ABERTA' || status === 'EM_DEFESA')
          move(id, chance.pick(['accept', 'reject', 'cancel']));
      for (let at = 0; at < lastReadings; at++) {
        let ended = false;
        void read().then(() => {
          ended = true;
        });
        await world.run(() => ended, world.now() + readEveryMs);
        await world.run(() => false, world.now() + readEveryMs);
      }
    },
    check() {
      const rows = db.run<{ provider_id: string; amount_cents: number; status: string }>(
        'SELECT provider_id, amount_cents, status FROM dispute',
        [],
      );
      for (const { status } of rows) world.count(`dispute is ${status}`);
      const unlike = [...bank.disputes.values()].flatMap(({ id, amountCents, status }) => {
        const ours = rows.find((one) => one.provider_id === id);
        return ours?.status === statesOf[status] && ours.amount_cents === amountCents
          ? []
          : [{ invariant: 46, what: `the dispute ${id} is ${ours?.status}, the provider says ${status}` }];
      });
      return [...unlike, ...checkDefences()];
    },
  };
}

const statesOf = {
  ABERTA: 'open',
  EM_DEFESA: 'defending',
  ACEITA: 'accepted',
  REJEITADA: 'rejected',
  CANCELADA_EFI: 'cancelled',
} as const;
