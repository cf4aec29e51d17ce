import { chargesByLinks } from '../../server/src/api/links/charge-of-link.ts';
import { ApiError } from '../../server/src/ground/errors.ts';
import { isUnavailable } from '../../server/src/ports/sql.ts';
import { type Bank, expireCharge, payCharge, payStatic, removeCharge } from '../../simulator/src/bank.ts';
import { notify } from '../../simulator/src/outbox.ts';
import { type Answer, createAsking } from './asking.ts';
import type { Finding } from './checks.ts';
import type { Database } from './database.ts';
import { pixKey } from './prelude.ts';
import type { Random } from './random.ts';
import type { Life } from './service.ts';
import type { World } from './world.ts';

/**
 * A merchant makes payment links and static codes. Payers of links send their forms, also twice at once, pay once, twice, too late or never, and get new codes in two tabs;
 * payers of printed codes pay them, with whatever amount, and under an identifier that no merchant has.
 */
export interface Links {
  /** Plans what happens during the storm. */
  plan(): void;
  /** Repeats unanswered requests. */
  again(): void;
  /** The provider reports once more what it received under static codes: where a delivery was lost, a list says so. */
  settle(): void;
  /** Counters, payments and events are what payers did. */
  check(): Finding[];
}

interface Made {
  operationId: string;
  body: { requestKey: string; [name: string]: unknown };
  id: string | null;
}

interface Form {
  linkId: string;
  formKey: string;
  network: string;
  replaces: string | null;
  id: string | null;
}

const linkCents = 900;
/** In the form of ours, and of no merchant. */
const unknownIdentifier = `S${'A'.repeat(24)}`;

export function createLinks(parts: {
  world: World;
  db: Database;
  living(): Life;
  chance: Random;
  bank: Bank;
  bankWorld: { now(): number; letters(count: number): string };
  operations: readonly string[];
  short: boolean;
  requestKey(): string;
  call(method: string, path: string, body?: object, operationId?: string): Promise<Answer>;
  wake(): void;
  say(line: string): void;
  findings: Finding[];
}): Links {
  const { world, db, living, chance, bank, bankWorld, operations, requestKey, call, say, findings } = parts;
  const { submit, again } = createAsking({ world, chance, say, findings });
  let over = false;
  let networks = 0;
  const later = (within: number, act: () => void): void =>
    world.at(world.now() + chance.below(within), () => {
      if (!over) act();
    });
  const answeredAs = (one: { id: string | null }, what: string, id: string | null): void => {
    if (one.id !== null && one.id !== id)
      findings.push({ invariant: 10, what: `${what} reached ${one.id} and ${id}` });
    one.id = id;
  };

  // ----------------------------------------------------------------------------------------------------------- links

  const makeLink = (link: Made): Promise<void> =>
    submit({
      what: 'link',
      run: () => call('POST', '/payment-links', link.body, link.operationId),
      answered: ({ id = null }) => {
        const isFirst = link.id === null;
        answeredAs(link, 'the request of a link', id);
        if (isFirst && id !== null)
          for (let payer = 1 + chance.below(3); payer > 0; payer--)
            later(parts.short ? 20_000 : 300_000, () => void visit(newForm(id, null)));
      },
    });

  const newForm = (linkId: string, replaces: string | null): Form => {
    const network = `2001:db8:${(++networks).toString(16)}::/64`;
    return { linkId, formKey: requestKey(), network, replaces, id: null };
  };

  /** As the page sends it. A process that dies answers nothing. */
  function send({ linkId, formKey, network, replaces }: Form): Promise<Answer> {
    const { process, runtime } = living();
    const [row] = db.run<{ number: number }>(
      'SELECT a.number FROM account a JOIN payment_link l ON l.account_id = a.id WHERE l.id = $1',
      [linkId],
    );
    const form = { formKey, payerName: 'Ana', requestId: 'req_payer', ...(replaces && { replaces }) };
    return new Promise((resolve) => {
      if (!process.alive) return resolve(null);
      process.whenDead(() => resolve(null));
      chargesByLinks(runtime)({ accountNumber: row?.number ?? -1, id: linkId }, form, network).then(
        ({ id, status }) => resolve({ status: 201, body: { id, status }, replayed: false }),
        (error: unknown) => resolve(refusalOf(error)),
      );
    });
  }

  const sendForm = (form: Form, answered: (id: string) => void): Promise<void> =>
    submit({
      what: form.replaces === null ? 'link form' : 'link form for a new code',
      run: () => send(form),
      answered: ({ id }) => {
        if (id === undefined) return;
        // The old code is the answer as long as it can be paid.
        if (form.replaces === null) answeredAs(form, 'a form', id);
        answered(id);
      },
    });

  async function visit(form: Form): Promise<void> {
    let pays = false;
    const once = () =>
      sendForm(form, (id) => {
        if (pays) return;
        pays = true;
        later(parts.short ? 20_000 : 200_000, () => atTheBank(form, id));
      });
    await Promise.all(chance.chance(0.3) ? [once(), once()] : [once()]);
  }

  function pay(txid: string, how: string): void {
    if (bank.charges.get(txid) === undefined) return;
    if (typeof payCharge(bank, bankWorld, txid).answer === 'string') return;
    world.count(`link paid ${how}`);
    say(`link charge ${txid.slice(0, 8)} is paid ${how}`);
    parts.wake();
  }

  function atTheBank({ linkId }: Form, id: string): void {
    const txid = id.replaceAll('-', '');
    const how = chance.pick(['once', 'once', 'once', 'twice', 'new', 'removed', 'never'] as const);
    if (how === 'once' || how === 'twice') pay(txid, how);
    if (how === 'twice') later(30_000, () => pay(txid, how));
    if (how === 'removed') removeCharge(bank, txid);
    if (how !== 'new' || expireCharge(bank, bankWorld, txid).answer !== 'done') return;
    world.count('link new code');
    const tabs = new Set<string>();
    for (let tab = 0; tab < 2; tab++)
      later(20_000, () => {
        void sendForm(newForm(linkId, id), (made) => {
          if (made === id) return;
          if (!tabs.has(made)) later(60_000, () => pay(made.replaceAll('-', ''), 'by a new code'));
          tabs.add(made);
          if (tabs.size > 1) findings.push({ invariant: 10, what: `${id} was replaced by ${[...tabs]}` });
        });
      });
    if (chance.chance(0.4)) later(100_000, () => pay(txid, 'late'));
  }

  // ----------------------------------------------------------------------------------------------------------- codes

  const makeCode = (code: Made): Promise<void> =>
    submit({
      what: 'code',
      run: () => call('POST', '/static-codes', code.body, code.operationId),
      answered: (body) => {
        const { identifier = null } = body as { identifier?: string };
        const isFirst = code.id === null;
        answeredAs(code, 'the request of a code', identifier);
        if (isFirst && identifier !== null)
          for (let payer = 1 + chance.below(4); payer > 0; payer--)
            later(parts.short ? 30_000 : 600_000, () => payCode(identifier));
      },
    });

  function payCode(identifier: string): void {
    // Money under an unknown identifier is in the books of the first cell, and the checks add up those of the merchant's cell.
    const others =
      db.cells.length === 1 ? (['small letters', 'unknown'] as const) : (['small letters'] as const);
    const under = chance.pick(['own', 'own', 'own', ...others] as const);
    const written = {
      own: identifier,
      'small letters': identifier.toLowerCase(),
      unknown: unknownIdentifier,
    }[under];
    payStatic(bank, bankWorld, written, chance.pick([800, 800, 1_250]), pixKey);
    world.count(`code paid under ${under}`);
    parts.wake();
  }

  const order = (operationId: string, body: object): Made => ({
    ...{ operationId, id: null },
    body: { requestKey: requestKey(), ...body },
  });

  return {
    plan() {
      const ofMoney = operations.slice(0, 2);
      for (let one = 0; one < (parts.short ? 1 : 3); one++)
        later(chance.pick([100, 10_000]), () => {
          const endsAt = new Date(world.now() + chance.pick([30_000, 200_000])).toISOString();
          const body = {
            ...{ title: 'Encomenda', amountCents: linkCents, maxPayments: chance.pick([1, 1, 2, null]) },
            expiresAt: chance.chance(0.3) ? endsAt : null,
          };
          void makeLink(order(chance.pick(ofMoney), body));
        });
      later(5_000, () => {
        const body = { name: 'Balcão', amountCents: chance.pick([null, 800]) };
        void makeCode(order(chance.pick(ofMoney), body));
      });
    },
    again,
    settle() {
      over = true;
      for (const { txid, endToEnd, returns } of bank.paymentList)
        if (!bank.charges.has(txid))
          notify(bank.outbox, bank.behaviour, world.now(), {
            ...{ key: pixKey, kind: 'payment', id: endToEnd, returns: returns.length },
          });
      parts.wake();
    },
    check: () => [...countsOf(db, bank), ...toldOf(db), ...codesOf(db, bank)],
  };
}

function refusalOf(error: unknown): Answer {
  if (error instanceof ApiError) return { status: error.status, body: { code: error.code }, replayed: false };
  return { status: isUnavailable(error) ? 503 : 500, body: { code: String(error) }, replayed: false };
}

interface LinkRow {
  id: string;
  status: string;
  paid_count: number;
  max_payments: number | null;
}

/** Of operations that were not deleted. */
const linksIn = (db: Database): LinkRow[] =>
  db.run<LinkRow>(
    `SELECT l.id, l.status, l.paid_count, l.max_payments FROM payment_link l JOIN operation o ON o.account_id = l.account_id AND o.id = l.operation_id
      WHERE o.deleted_at IS NULL ORDER BY l.id`,
    [],
  );

/** A link counts the charges of its payers that the provider has as paid. */
const countsOf = (db: Database, bank: Bank): Finding[] =>
  linksIn(db).flatMap(({ id, status, paid_count, max_payments }) => {
    const paid = db
      .run<{ id: string }>('SELECT id FROM payment WHERE payment_link_id = $1', [id])
      .filter((one) => bank.charges.get(one.id.replaceAll('-', ''))?.payments.length).length;
    const isSold = max_payments !== null && paid >= max_payments;
    const what = `the link ${id} of ${max_payments} is ${status} and counts ${paid_count}, ${paid} were paid`;
    return paid === paid_count && isSold === (status === 'completed') ? [] : [{ invariant: 68, what }];
  });

/** Each thing that happened to a link was reported once. */
function toldOf(db: Database): Finding[] {
  const told = db
    .run<{ type: string; body: string }>("SELECT type, body FROM event WHERE type LIKE 'payment_link.%'", [])
    .map(({ type, body }) => `${type} ${(JSON.parse(body) as { data: { id: string } }).data.id}`);
  return linksIn(db).flatMap(({ id, status, paid_count, max_payments }) => {
    const times = (type: string): number => told.filter((one) => one === `payment_link.${type} ${id}`).length;
    const most = max_payments ?? Number.POSITIVE_INFINITY;
    const isRight =
      times('completed') === (paid_count >= most ? 1 : 0) &&
      times('overpaid') === Math.max(0, paid_count - most) &&
      (status === 'expired' ? times('expired') === 1 : times('expired') <= 1);
    const what = `the link ${id} of ${max_payments} is ${status}, paid ${paid_count} times, and its events are ${told.filter((one) => one.endsWith(id))}`;
    return isRight ? [] : [{ invariant: 41, what }];
  });
}

/** Each Pix under the identifier of a code is one payment of its merchant. */
function codesOf(db: Database, bank: Bank): Finding[] {
  const codes = db.run<{ id: string; identifier: string }>(
    `SELECT s.id, s.identifier FROM static_code s JOIN operation o ON o.account_id = s.account_id AND o.id = s.operation_id
      WHERE o.deleted_at IS NULL`,
    [],
  );
  const payments = db.run<{ static_code_id: string; end_to_end: string; amount_cents: number }>(
    'SELECT static_code_id, end_to_end, amount_cents FROM payment WHERE static_code_id IS NOT NULL',
    [],
  );
  return codes.flatMap(({ id, identifier }) => {
    const ours = payments
      .filter((one) => one.static_code_id === id)
      .map(({ end_to_end, amount_cents }) => `${end_to_end} ${amount_cents}`);
    const theirs = bank.paymentList
      .filter(({ txid }) => txid.toUpperCase() === identifier)
      .map(({ endToEnd, amountCents }) => `${endToEnd} ${amountCents}`);
    const isSame = ours.toSorted().join() === theirs.toSorted().join();
    return isSame ? [] : [{ invariant: 67, what: `the code ${id} has ${ours}, and ${theirs} came` }];
  });
}
