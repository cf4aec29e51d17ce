import {
  expireCharge,
  payCharge,
  removeCharge,
  returnPayment,
  returnPayout,
} from '../../simulator/src/bank.ts';
import { bankWorldOf, caller, uuidOf } from './calls.ts';
import type { Finding } from './checks.ts';
import type { Base } from './prelude.ts';
import type { Provider } from './provider.ts';
import type { Random } from './random.ts';
import type { Service } from './service.ts';
import type { World } from './world.ts';

export interface Merchant {
  /** Chooses what is done next; the answer does it. */
  plan(): () => Promise<void>;
  /** Repeats unanswered requests. */
  again(): void;
  /** Payments of which an answer came. */
  acknowledged(): string[];
}

interface Made {
  body: { requestKey: string; amountCents: number };
  path: string;
  operationId: string;
  id: string | null;
}

/** The acts of the merchant and his payers. */
export function createMerchant(parts: {
  world: World;
  service: Service;
  base: Base;
  provider: Provider;
  chance: Random;
  say(line: string): void;
  findings: Finding[];
}): Merchant {
  const { world, service, base, provider, chance, say, findings } = parts;
  const call = caller(service, base.key);
  const made: Made[] = [];
  const unanswered = new Set<Made>();
  const bankWorld = bankWorldOf(world, chance);

  async function submit(one: Made, again: boolean): Promise<void> {
    unanswered.add(one);
    say(
      `${again ? 'again ' : ''}POST ${one.path} ${one.body.amountCents} ${one.body.requestKey.slice(0, 8)}`,
    );
    const reply = await call('POST', one.path, one.body, one.operationId);
    if (!reply) return;
    const { status, body } = reply as {
      status: number;
      body: { id?: string; paymentId?: string; code?: string; status?: string };
    };
    say(`-> ${status} ${body.status ?? body.code}`);
    world.count(`answer ${status} ${body.status ?? body.code}`);
    if (status === 500) findings.push({ invariant: 18, what: `500 to ${one.path}` });
    const id = status === 201 ? body.id : body.paymentId;
    if (status !== 503) unanswered.delete(one);
    if (id === undefined) return;
    if (one.id !== null && one.id !== id)
      findings.push({ invariant: 10, what: `a request key reached ${one.id} and ${id}` });
    one.id = id;
  }

  const transfer = (operationId: string): Made => ({
    body: {
      amountCents: chance.pick([1_000, 1_000, 1_400, 3_000]),
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: uuidOf(chance),
    } as Made['body'],
    path: '/pix/transfers',
    operationId,
    id: null,
  });
  const charge = (operationId: string): Made => ({
    body: {
      amountCents: 700,
      payerName: 'João',
      description: 'x',
      requestKey: uuidOf(chance),
    } as Made['body'],
    path: '/pix/charges',
    operationId,
    id: null,
  });

  function plan(): () => Promise<void> {
    const operationId = chance.pick(base.operations);
    const kind = chance.pick([
      'transfer',
      'transfer',
      'transfer',
      'charge',
      'charge',
      'repeat',
      'other',
      'look',
      'delete',
      'back',
      'both',
    ] as const);
    switch (kind) {
      case 'transfer':
      case 'both': {
        const one = transfer(operationId);
        made.push(one);
        return async () => {
          // Twice at once: a double click, or two machines of the merchant.
          await Promise.all(kind === 'both' ? [submit(one, false), submit(one, true)] : [submit(one, false)]);
        };
      }
      case 'charge': {
        const one = charge(operationId);
        made.push(one);
        const fate = chance.pick([
          'pay',
          'pay',
          'pay',
          'twice',
          'other',
          'never',
          'expire',
          'remove',
          'late',
          'back',
          'back twice',
        ] as const);
        const after = chance.pick([50, 5_000, 70_000]);
        return async () => {
          world.at(world.now() + after, () => settleCharge(one, fate));
          await submit(one, false);
        };
      }
      case 'repeat':
        return async () => {
          const one = made.length > 0 ? chance.pick(made) : null;
          if (one) await submit(one, true);
        };
      case 'other':
        return async () => {
          const one = made.length > 0 ? chance.pick(made) : null;
          if (!one?.id) return;
          const reply = await call(
            'POST',
            one.path,
            { ...one.body, amountCents: one.body.amountCents + 100 },
            one.operationId,
          );
          if (reply && reply.status !== 400 && reply.status !== 404 && reply.status !== 503)
            findings.push({
              invariant: 17,
              what: `other data with a taken key was answered ${reply.status}`,
            });
        };
      case 'look':
        return async () => {
          const one = made.length > 0 ? chance.pick(made) : null;
          if (one?.id) await call('GET', `/payments/${one.id}`, undefined, one.operationId);
          await call('GET', '/account', undefined, operationId);
        };
      case 'delete':
        return async () => {
          const reply = await call('DELETE', `/operations/${chance.pick(base.operations)}`, {});
          say(`DELETE -> ${reply?.status} ${(reply?.body as { code?: string } | null)?.code ?? ''}`);
          if (reply) world.count(`delete ${reply.status} ${(reply.body as { code?: string }).code ?? 'ok'}`);
        };
      case 'back': {
        const whole = chance.chance(0.5);
        const comeBack = (tries: number): void => {
          const one = provider.bank.payoutList.find((payout) => payout.status === 'completed');
          if (!one) {
            // Nothing has gone out yet.
            if (tries > 0) world.at(world.now() + 20_000, () => comeBack(tries - 1));
            return;
          }
          const amountCents = whole ? undefined : Math.ceil(one.amountCents / 3);
          // Ids of returns are unique within one payout only.
          returnPayout(provider.bank, bankWorld, one.idEnvio, amountCents, String(one.returns.length));
          say('a payout came back');
          world.count('returned');
          provider.wake();
        };
        return async () => comeBack(5);
      }
    }
  }

  function settleCharge(
    one: Made,
    fate: 'pay' | 'twice' | 'other' | 'never' | 'expire' | 'remove' | 'late' | 'back' | 'back twice',
  ): void {
    const { bank } = provider;
    // The provider may know it although the merchant was never answered: a payer can have the code all the same.
    const txid = one.id?.replaceAll('-', '') ?? bank.chargeList.at(-1)?.txid;
    if (!txid || !bank.charges.has(txid)) return;
    say(`${fate} ${txid.slice(0, 12)}`);
    world.count(`payer ${fate}`);
    const gives = fate === 'back' || fate === 'back twice';
    if (fate === 'pay' || fate === 'twice' || gives) payCharge(bank, bankWorld, txid);
    if (gives) world.at(world.now() + chance.pick([6_000, 20 * 60_000]), () => giveBack(txid, fate));
    if (fate === 'twice' || fate === 'back twice')
      world.at(world.now() + 5_000, () => {
        payCharge(bank, bankWorld, txid);
        provider.wake();
      });
    if (fate === 'other') payCharge(bank, bankWorld, txid, 650);
    if (fate === 'remove') removeCharge(bank, txid);
    if (fate === 'expire' || fate === 'late') expireCharge(bank, bankWorld, txid);
    if (fate === 'late')
      world.at(world.now() + 30 * 60_000, () => {
        payCharge(bank, bankWorld, txid);
        provider.wake();
      });
    provider.wake();
  }

  /** Each Pix of the charge goes back, half of it or all, in one part or two, under ids that other Pix have too. */
  function giveBack(txid: string, fate: string): void {
    const { bank } = provider;
    for (const endToEnd of bank.charges.get(txid)?.payments ?? []) {
      const half = chance.chance(0.5) ? 350 : undefined;
      returnPayment(bank, bankWorld, endToEnd, half, '1');
      if (half !== undefined && fate === 'back twice') returnPayment(bank, bankWorld, endToEnd, half, '2');
      say('a received Pix went back');
      world.count('given back');
    }
    provider.wake();
  }

  return {
    plan,
    acknowledged: () => made.flatMap(({ id }) => id ?? []),
    again: () => {
      for (const one of unanswered)
        if (chance.chance(0.7)) world.at(world.now() + chance.below(5_000), () => void submit(one, true));
    },
  };
}
