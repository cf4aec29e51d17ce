import type { Caller } from '../../ground/caller.ts';
import { answerWithinMs, before } from '../../ground/deadline.ts';
import { refuse } from '../../ground/errors.ts';
import type { Provider, Receiver } from '../../provider/provider.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { openOrReport, unreadableKeyOf } from '../../store/rows/unreadable.ts';
import type { DraftDeps } from './draft.ts';
import { buildDraftReceiver } from './draft-transitions.ts';
import type { KeyPlaces } from './key-places.ts';

export interface ReceiverDeps extends DraftDeps {
  /** By connection. */
  providers: ReadonlyMap<string, Provider>;
  keyPlaces: KeyPlaces;
}

/** Who owns a key. `unknown`: no bank has it, so a payment would be refused. `not_told`: the provider cannot tell, or not now. */
export type KeyOwner = { answer: 'told'; receiver: Receiver } | { answer: 'unknown' | 'not_told' };

/**
 * Shows the owner of a draft's Pix key to the person who is about to confirm it. The provider is asked until it has named the owner, who is then stored with
 * the payment. Only a draft can ask: the directory counts look-ups that no payment follows against us.
 * @param mayAsk counts a look-up; false: there were too many
 * @throws ApiError `payment_not_found`, `not_a_draft`, `processing_unavailable`
 */
export async function keyOwnerOf(
  deps: ReceiverDeps,
  caller: Caller,
  paymentId: string,
  mayAsk: () => Promise<boolean>,
): Promise<KeyOwner> {
  const { accountId, operationId } = caller;
  const deadlineMs = deps.clock.monotonicMs() + answerWithinMs;
  const [payment] = await payments.read(deps.sql, [paymentKey(accountId, paymentId)]);
  if (payment?.operationId !== operationId || payment.kind !== 'transfer') throw refuse('payment_not_found');
  if (payment.status !== 'draft') throw refuse('not_a_draft', { paymentId });
  const { receiver, pixKey, connection } = payment;
  if (receiver !== null) return { answer: 'told', receiver };
  const lookUp = deps.providers.get(connection ?? caller.connection)?.lookUpReceiver;
  if (lookUp === undefined || pixKey === null) return { answer: 'not_told' };
  const key = await openOrReport(deps, pixKey, paymentId, unreadableKeyOf(payment, 'draft'));
  if (key === null || !(await mayAsk())) return { answer: 'not_told' };
  const look = deps.keyPlaces.lookUp(
    accountId,
    deps.ids.uuid(),
    () => lookUp(key.toString()),
    ({ outcome }) => outcome === 'notFound',
  );
  const asked = await before(deps.clock, deadlineMs, look);
  if (asked === null) return { answer: 'not_told' };
  if (asked.outcome === 'notFound') return { answer: 'unknown' };
  if (asked.outcome !== 'found') {
    const { outcome, detail } = asked;
    deps.log.info({ paymentId, outcome, detail }, 'the provider did not tell who owns a Pix key');
    return { answer: 'not_told' };
  }
  const command = buildDraftReceiver({
    caller,
    paymentId,
    receiver: asked.receiver,
    token: deps.ids.uuid(),
    deadlineMs,
  });
  await deps.till.submit(command);
  return { answer: 'told', receiver: asked.receiver };
}
