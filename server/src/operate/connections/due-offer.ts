import { providerIdOf } from '../../money/payment.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { DueAsked, DueTermsOffer } from '../../provider/due-terms.ts';
import type { Finding, Provider } from '../../provider/provider.ts';
import { dayOf } from '../statement/period.ts';

/**
 * Whether a connection makes charges with a due date, as far as that shows without making one. A charge of an id that no charge has is queried: an application
 * that may read such charges is answered "not found", one that may not is refused. API Pix: `GET /cobv/{txid}`, 404, with the permission
 * `cobv.read` (bacen/pix-api 2.9.0, openapi.yaml); Woovi: `GET /api/v1/charge/{id}`, 400 or 404, with `CHARGE_GET` (woovi-developers at bb0dddf,
 * src/swaggers/woovi.yml). Asaas and Stark Bank have charges with due dates of other kinds, which this service does not make; Stripe has none.
 *
 * That the key is the account's is another finding. Whether one may be made is said by no call: API Pix names `cobv.write` in the token where the bank names
 * permissions, and without it the connection does not offer them.
 *
 * Rejected: to make one and to remove it. It would be a bill in the name of a stranger.
 * @returns null: the provider takes no credentials of ours, so nothing can be asked
 */
export async function examineDueOffer(
  { clock, ids }: { clock: Clock; ids: Pick<Ids, 'uuid'> },
  { capabilities, dueCharges }: Provider,
  said: readonly Finding[],
): Promise<Finding | null> {
  const about = { check: 'due-date charges' as const };
  if (!said.some(({ check, ok }) => check === 'token' && ok)) return null;
  if (!dueCharges) return { ...about, ok: true, message: 'not offered: this service makes none here' };
  if (!capabilities.dueCharges)
    return {
      ...about,
      ok: true,
      message:
        'not offered: the application lacks cobv.read and cobv.write, or the credentials do not ask for them',
    };
  const found = await dueCharges.query(providerIdOf(ids.uuid()));
  if (found.outcome === 'unclear')
    return {
      ...about,
      ok: false,
      message: `the provider does not answer a query of one: ${found.detail}`,
      action:
        "tick the permissions of charges with a due date in the application, in the provider's panel (API Pix: cobv.read and cobv.write; Woovi: CHARGE_GET)",
    };
  const limits = limitsOf(capabilities.dueTerms, clock.now()).map((limit) => `, ${limit}`);
  return {
    ...about,
    ok: true,
    message: `offered, and a query of one is answered${limits.join('')}; nothing was made, so whether one can be shows with the first`,
  };
}

const dayMs = 86_400_000;

/** Where the provider takes less than this service: asked of the rules of its adapter. */
function limitsOf(offer: DueTermsOffer | undefined, now: number): string[] {
  if (offer === undefined) return ['due dates from today on'];
  const asked = (dueDate: string): DueAsked => ({
    terms: { dueDate, validAfterDue: 0, fine: null, interest: null, discounts: [], rebate: null },
    payer: { name: 'A B', document: '11144477735' },
  });
  const takesToday = offer.refusal(asked(dayOf(now)), now) !== 'terms';
  const wantsAddress = offer.refusal(asked(dayOf(now + dayMs)), now) === 'address';
  return [
    `due dates from ${takesToday ? 'today' : 'tomorrow'} on`,
    ...(wantsAddress ? ["with the payer's address"] : []),
    ...(offer.changes ? [] : ['without changes']),
  ];
}
