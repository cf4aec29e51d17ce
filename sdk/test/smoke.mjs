// The client in any of its surroundings, against a real service. It throws when something is missing.
import { Vintem, VintemError, verifyWebhook } from '../dist/index.js';
import { makeSecret, signedWebhook } from '../dist/testing.js';

function is(what, actual, expected) {
  if (actual !== expected) throw new Error(`${what}: ${actual}, and should be ${expected}`);
}

/** @param service `{apiKey, baseUrl}` of a test account */
export async function keepsPromises(service) {
  const kept = [];
  let lost = 0;
  const vintem = new Vintem({
    ...service,
    persist: (requestKey) => void kept.push(requestKey),
    // The first answer never arrives.
    fetch: async (...request) => {
      const answer = await fetch(...request);
      if (lost++ === 0) throw new TypeError('the connection was lost');
      return answer;
    },
  });

  const charge = await vintem.charges.create({ amountCents: 1_990, payerName: 'Maria Silva' });
  is('the key that was kept first', kept[0], charge.requestKey);
  await vintem.testMode.pay(charge.id);
  is('the charge', (await vintem.payments.waitFor(charge.id)).status, 'paid');

  let count = 0;
  for await (const payment of vintem.payments.list())
    count += payment.amountCents === charge.amountCents ? 1 : 0;
  is('the payments of that amount', count, 1);

  const refused = await vintem.transfers
    .create({ amountCents: 999_999, pixKey: 'a@example.com', pixKeyType: 'EMAIL' })
    .catch((error) => error);
  is('a refusal', refused instanceof VintemError && refused.code, 'insufficient_balance');

  const secret = makeSecret();
  const { body, headers } = signedWebhook('charge.paid', secret);
  is('a signed event', verifyWebhook(body, headers, [secret]).type, 'charge.paid');
  let forged = 'accepted';
  try {
    verifyWebhook(body, headers, [makeSecret()]);
  } catch {
    forged = 'refused';
  }
  is('a forged event', forged, 'refused');
}
