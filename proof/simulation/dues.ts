import { type Bank, type Charge, expireCharge, payCharge } from '../../simulator/src/bank.ts';
import { addDays, type DueTerms, dayAt } from '../../simulator/src/cobv.ts';
import { type Answer, createAsking } from './asking.ts';
import type { Finding, Rows } from './checks.ts';
import type { Database } from './database.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/**
 * A merchant makes charges with a due date, changes them, changes them back and cancels them; payers pay early, late, by earlier terms, twice, or another
 * amount; and some end unpaid.
 */
export interface Dues {
  /** Plans what happens during the storm. */
  plan(): void;
  /** Repeats unanswered requests. */
  again(): void;
  /** Charges that are open end at the provider, as their day is over. */
  settle(): void;
  /** Outcomes of changes are what the provider did, and each was reported once. */
  check(rows: Rows): Finding[];
}

interface Due {
  operationId: string;
  body: { amountCents: number; dueDate: string; requestKey: string };
  id: string | null;
}

/** The amount and terms that the provider gave a charge by a change. */
interface Revision {
  amountCents: number;
  due: DueTerms;
}

const payer = { name: 'Maria Silva', document: '11144477735' };
const terms = {
  validAfterDue: 5,
  fine: { type: 'percent', value: 200 },
  interest: { type: 'percent_month', value: 300, days: 'calendar' },
  discounts: [],
  rebate: null,
};
/** Far enough from each other that no fine, interest or discount leads from one to the next: an amount names its change. */
const amounts = [5_000, 6_000, 7_200, 8_600, 10_300, 12_400, 14_900];

export function createDues(parts: {
  world: World;
  db: Database;
  chance: Random;
  bank: Bank;
  bankWorld: { now(): number; letters(count: number): string };
  operations: readonly string[];
  short: boolean;
  /** Each change that the provider carried out, by its charge. */
  revisions: ReadonlyMap<string, readonly Revision[]>;
  requestKey(): string;
  call(method: string, path: string, body?: object, operationId?: string): Promise<Answer>;
  wake(): void;
  say(line: string): void;
  findings: Finding[];
}): Dues {
  const { world, db, chance, bank, bankWorld, operations, revisions, requestKey, call, say, findings } =
    parts;
  const made: Due[] = [];
  const { submit, again } = createAsking({ world, chance, say, findings });
  let over = false;
  const later = (within: number, act: () => void): void =>
    world.at(world.now() + chance.below(within), () => {
      if (!over) act();
    });

  const create = (due: Due): Promise<void> =>
    submit({
      what: 'due charge',
      run: () => call('POST', '/pix/due-charges', { ...due.body, payer, ...bodyTerms }, due.operationId),
      answered: ({ id = null }) => {
        if (due.id !== null && due.id !== id)
          findings.push({ invariant: 10, what: `a request key reached the charges ${due.id} and ${id}` });
        due.id = id;
      },
    });

  const change = ({ id, operationId }: Due, fields: object): Promise<void> =>
    submit({
      what: 'due change',
      run: () => call('PATCH', `/pix/due-charges/${id}`, fields, operationId),
      answered: () => {},
    });

  const cancel = ({ id, operationId }: Due): Promise<void> =>
    submit({
      what: 'due cancel',
      run: () => call('POST', `/payments/${id}/cancel`, {}, operationId),
      answered: () => {},
    });

  const today = (): string => dayAt(world.now());
  const extras = {
    discounts: chance.chance(0.5) ? [{ until: addDays(today(), 1), type: 'fixed', value: 150 }] : [],
    rebate: chance.chance(0.3) ? { type: 'fixed', value: 50 } : null,
  };
  const bodyTerms = Object.fromEntries(
    Object.entries({ ...terms, ...extras }).filter(([, part]) => part !== null),
  );
  /** Each of a charge's own. */
  const otherTerms = (at: number): object => ({
    amountCents: amounts[at],
    ...chance.pick([{}, { dueDate: addDays(today(), 3 + at) }, { fine: null }, { validAfterDue: at }]),
  });
  const chargeOf = ({ id }: Due): Charge | undefined => bank.charges.get(id?.replaceAll('-', '') ?? '');

  /** A payer pays it: what it comes to on a day, what it came to before its last change, twice, or another amount. */
  function pay(due: Due): void {
    const charge = chargeOf(due);
    if (charge?.due === undefined || charge.status !== 'ATIVA') return;
    const before = revisions.get(charge.txid)?.length ? due.body.amountCents : undefined;
    // Of one that is not confirmed here a person decides about the amount, and its change is tried each minute until then: nothing else would be seen for two days.
    const [row] = db.run<{ status: string }>('SELECT status FROM payment WHERE id = $1', [due.id]);
    const drawn = chance.pick(['early', 'late', 'late', 'before', 'odd', 'twice'] as const);
    const how = drawn === 'odd' && row?.status === 'unknown' ? 'early' : drawn;
    const on = how === 'late' ? addDays(charge.due.dueDate, 1 + chance.below(3)) : today();
    const cents = how === 'odd' ? 1_234 : how === 'before' ? before : undefined;
    const { answer } = payCharge(bank, bankWorld, charge.txid, cents, on);
    if (typeof answer === 'string') return;
    const paid = bank.payments.get(answer.endToEnd)?.amountCents ?? 0;
    say(`due ${charge.txid.slice(0, 8)} is paid ${how}: ${paid}`);
    world.count(`due paid ${how}`);
    if (how === 'twice') later(60_000, () => void payCharge(bank, bankWorld, charge.txid, undefined, on));
    parts.wake();
  }

  function live(due: Due): void {
    const within = parts.short ? 40_000 : 600_000;
    const changes = chance.pick([0, 1, 1, 2, 2]);
    for (let at = 1; at <= changes; at++) {
      const fields = otherTerms(at);
      later(within, () => void change(due, fields));
      // The same again: at once, or when the answer is long there.
      if (chance.chance(0.3)) later(within, () => void change(due, fields));
    }
    if (changes > 0 && chance.chance(0.5))
      later(within, () => {
        world.count('due change back');
        void change(due, {
          amountCents: due.body.amountCents,
          dueDate: due.body.dueDate,
          ...terms,
          ...extras,
        });
      });
    if (chance.chance(0.6)) later(within, () => pay(due));
    if (chance.chance(0.25)) later(within, () => void cancel(due));
  }

  return {
    plan() {
      for (let one = 0; one < (parts.short ? 1 : 3); one++)
        later(chance.pick([100, 10_000]), () => {
          const body = {
            amountCents: amounts[0] as number,
            dueDate: addDays(today(), 2 + chance.below(5)),
            requestKey: requestKey(),
          };
          const due: Due = { operationId: chance.pick(operations.slice(0, 2)), body, id: null };
          made.push(due);
          void create(due).then(() => {
            if (due.id !== null) live(due);
          });
        });
    },
    again,
    settle() {
      over = true;
      findings.push(...stale(db, bank));
      for (const charge of bank.charges.values())
        if (charge.due && charge.status === 'ATIVA') {
          expireCharge(bank, bankWorld, charge.txid);
          world.count('due expired');
        }
      parts.wake();
    },
    check: (rows) => {
      for (const { outcome } of changesIn(db)) world.count(`change ${outcome}`);
      return [...outcomesOf(db, revisions), ...toldOf(db), ...lostOf(made, rows)];
    },
  };
}

interface Change {
  id: string;
  payment_id: string;
  status: string;
  outcome: string | null;
  amount_cents: number;
}

const changesIn = (db: Database): Change[] =>
  db.run<Change>('SELECT id, payment_id, status, outcome, amount_cents FROM due_change ORDER BY id', []);

/** An open charge whose change is over is as its provider has it, unless a person has to look. */
function stale(db: Database, bank: Bank): Finding[] {
  const rows = db.run<{ id: string; amount_cents: number; due: { dueDate: string } }>(
    `SELECT id, amount_cents, due FROM payment p WHERE due IS NOT NULL AND status = 'pending' AND NOT due ? 'change'
      AND NOT EXISTS (SELECT FROM incident i WHERE i.payment_id = p.id)`,
    [],
  );
  return rows.flatMap(({ id, amount_cents, due }) => {
    const charge = bank.charges.get(id.replaceAll('-', ''));
    if (charge?.due === undefined || charge.status !== 'ATIVA') return [];
    const isSame = charge.amountCents === amount_cents && charge.due.dueDate === due.dueDate;
    const there = `${charge.amountCents} on ${charge.due.dueDate}`;
    return isSame
      ? []
      : [
          {
            invariant: 78,
            what: `the charge ${id} is ${amount_cents} on ${due.dueDate} here, and ${there} there`,
          },
        ];
  });
}

/**
 * A change was carried out at most as often as the provider did it, and every one that is over says how. Of one back to the first amount, which a payer may have read
 * before, a Pix of that amount counts as its word.
 */
function outcomesOf(db: Database, revisions: ReadonlyMap<string, readonly Revision[]>): Finding[] {
  const changes = changesIn(db);
  return changes.flatMap(({ id, payment_id, status, outcome, amount_cents }) => {
    if (status === 'completed' && outcome === null)
      return [{ invariant: 78, what: `the change ${id} is over, and does not say how` }];
    if (outcome !== 'carried_out' || amount_cents === amounts[0]) return [];
    const isSame = (one: Change): boolean =>
      one.payment_id === payment_id && one.amount_cents === amount_cents;
    const here = changes.filter((one) => isSame(one) && one.outcome === outcome).length;
    const there = (revisions.get(payment_id.replaceAll('-', '')) ?? []).filter(
      ({ amountCents }) => amountCents === amount_cents,
    ).length;
    const what = `${here} changes of ${payment_id} to ${amount_cents} were carried out, and ${there} by the provider`;
    return here <= there ? [] : [{ invariant: 78, what }];
  });
}

/** Each change that is over was reported once, as it ended. */
function toldOf(db: Database): Finding[] {
  const told = db
    .run<{ body: string }>("SELECT body FROM event WHERE type = 'charge.changed'", [])
    .map(
      ({ body }) =>
        (JSON.parse(body) as { data: { dueChange: { id: string; outcome: string } } }).data.dueChange,
    );
  const deleted = new Set(
    db
      .run<{ id: string }>(
        `SELECT c.id FROM due_change c JOIN operation o ON o.account_id = c.account_id AND o.id = c.operation_id
          WHERE o.deleted_at IS NOT NULL`,
        [],
      )
      .map(({ id }) => id),
  );
  return changesIn(db)
    .filter(({ id, status }) => status === 'completed' && !deleted.has(id))
    .flatMap(({ id, outcome }) => {
      const own = told.filter((one) => one.id === id);
      const isTold = own.length === 1 && own[0]?.outcome === outcome;
      return isTold
        ? []
        : [
            {
              invariant: 41,
              what: `the change ${id} is ${outcome}, and its events say ${own.map((one) => one.outcome)}`,
            },
          ];
    });
}

const lostOf = (made: readonly Due[], { payments }: Rows): Finding[] =>
  made
    .filter(({ id }) => id !== null && !payments.some((payment) => payment.id === id))
    .map(({ id }) => ({ invariant: 18, what: `${id} was answered and is not there` }));
