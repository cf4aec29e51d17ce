import { afterNamed, isElsewhere } from '../money/intent.ts';
import { type Payment, paymentIdOf } from '../money/payment.ts';
import { isSamePixKey } from '../money/same-pix-key.ts';
import type { AskedPayout, Provider } from '../provider/provider.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import { type Command, put, read } from '../store/till.ts';
import { findOwnersInCells } from './in-cells.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/**
 * The provider's question before a payout leaves. It is answered from the books: one transfer of a payment that is under way, of its amount and to its key,
 * is approved, once. Its name is committed with the intent before the answer goes out, so a second transfer of the same payment (a repeat whose first
 * request was slow, another holder of the API key) is refused by every process, for good. The same question gets the same answer again.
 */
export interface Questions {
  /** Whether a call to the address of questions comes from the provider of the connection, by its headers. */
  isAuthentic(connection: string, headers: Headers): boolean;
  /** The provider's own form of the answer. @throws Error the books cannot be read now: it asks again */
  answer(connection: string, rawBody: Buffer): Promise<unknown>;
}

type Headers = Record<string, string | string[] | undefined>;

/** Asaas waits as long as for any delivery, and asks three times. */
const answeredWithinMs = 8_000;

export function createQuestions(deps: TrackingDeps): Questions {
  return {
    isAuthentic: (connection, headers) =>
      deps.providers.get(connection)?.withdrawals?.isAuthentic(headers) ?? false,
    async answer(connection, rawBody) {
      const provider = deps.providers.get(connection);
      if (!provider?.withdrawals) throw new Error(`no questions come over ${connection}`);
      const asked = provider.withdrawals.read(rawBody);
      const refusal = asked === null ? 'it is no transfer of ours' : await refusalOf(deps, provider, asked);
      const reference = asked?.providerId ?? '';
      const about = {
        ...{ connection, transfer: asked?.providerRef },
        // Of another holder of the API key it is a text of any kind.
        ...(paymentIdOf(reference) !== null && { reference }),
      };
      if (refusal === null) deps.log.info(about, 'a payout was approved at the provider');
      else
        deps.log.error(
          { ...about, reason: refusal },
          'a payout was refused at the provider: it is not in the books as it is',
        );
      return provider.withdrawals.answerOf(refusal === null);
    },
  };
}

/** Why a payout may not leave; null: it may, and no other one of this payment. */
async function refusalOf(deps: TrackingDeps, provider: Provider, asked: AskedPayout): Promise<string | null> {
  const { connection, identity } = provider;
  const id = asked.providerId === null ? null : paymentIdOf(asked.providerId);
  if (id === null) return 'it carries no id of ours';
  const [found] = (
    await findOwnersInCells(deps, connection, [{ id, accountNumber: accountNumberOf(id) }])
  ).flatMap(({ deps: cell, owners }) => owners.map((owner) => ({ cell, owner })));
  if (!found) return 'no payment of ours on this connection has its id';
  const { cell, owner } = found;
  return cell.till.submit(
    buildApproval({
      ...{ accountId: owner.accountId, paymentId: id, operationId: owner.operationId },
      ...{ connection, identity, asked, secrets: deps.secrets, token: deps.ids.uuid() },
      deadlineMs: deps.clock.monotonicMs() + answeredWithinMs,
    }),
  );
}

interface ApprovalInput {
  accountId: string;
  paymentId: string;
  operationId: string;
  connection: string;
  /** Of the account that is behind the connection now. */
  identity: string | null;
  asked: AskedPayout;
  secrets: { open(sealed: Buffer, context: string): Buffer };
  token: string;
  deadlineMs: number;
}

/** @returns why it is refused; null: it is approved. Pure. */
export function buildApproval(input: ApprovalInput): Command<string | null> {
  const { accountId, paymentId, operationId, connection, identity, asked, token, deadlineMs } = input;
  const key = paymentKey(accountId, paymentId);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: operationId }],
    reads: [read(payments, key), read(intents, key)],
    eventRefs: [],
    decide: (view) => {
      const payment = view.get(payments, key);
      const intent = view.get(intents, key);
      if (payment?.kind !== 'transfer' || intent === undefined) return { answer: 'it is not under way' };
      // Nothing of it was sent: what carries its id comes from elsewhere, or from a time that the database has lost.
      if (intent.state === 'ready') return { answer: 'it was not sent' };
      if (intent.connection !== connection || isElsewhere(intent, { identity }))
        return { answer: 'it was sent elsewhere' };
      if (asked.amountCents !== payment.amountCents - payment.feeCents)
        return { answer: 'it has another amount' };
      if (!isSameKey(asked.pixKey, payment, input)) return { answer: 'it has another key' };
      if (intent.providerRef !== null)
        return {
          answer: intent.providerRef === asked.providerRef ? null : 'another one of it has its place',
        };
      const approved = afterNamed(intent, asked.providerRef, payment.status);
      return { answer: null, writes: [put(intents, approved)] };
    },
  };
}

/**
 * A transfer without a key goes to an account that the books do not name. A key that cannot be opened here cannot be compared, and nothing leaves.
 */
function isSameKey(
  asked: string | null,
  { id, pixKey: sealed, pixKeyType }: Pick<Payment, 'id' | 'pixKey' | 'pixKeyType'>,
  { secrets }: Pick<ApprovalInput, 'secrets'>,
): boolean {
  if (asked === null || sealed === null) return false;
  if (pixKeyType === null) return false;
  try {
    return isSamePixKey(pixKeyType, secrets.open(sealed, id).toString(), asked);
  } catch {
    return false;
  }
}
