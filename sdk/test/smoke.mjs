// What the client needs of its surroundings, in any of them. It throws when something is missing.
import { Vintem, VintemError, verifyWebhook } from '../dist/index.js';
import { createFakeServer, makeSecret, signedWebhook } from '../dist/testing.js';

function is(what, actual, expected) {
  if (actual !== expected) throw new Error(`${what}: ${actual}, and should be ${expected}`);
}

export async function keepsPromises() {
  const fake = createFakeServer({ balanceCents: 5_000 });
  const kept = [];
  const vintem = new Vintem({ ...fake, persist: (requestKey) => void kept.push(requestKey) });

  fake.fail('drop', 503);
  const charge = await vintem.charges.create({ amountCents: 1_990, payerName: 'Maria Silva' });
  is('the key that was kept first', kept[0], charge.requestKey);
  await vintem.testMode.pay(charge.id);
  is('the charge', (await vintem.payments.waitFor(charge.id)).status, 'paid');

  let count = 0;
  for await (const payment of vintem.payments.list()) count += payment.id === charge.id ? 1 : 0;
  is('the payments', count, 1);

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
