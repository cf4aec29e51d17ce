import {
  addressOf,
  ask,
  count,
  flood,
  isStopping,
  json,
  post,
  send,
  sleep,
  targets,
  withKey,
} from './attack.ts';

/** Attacks on the pages that strangers open: of a charge, of a payment link, of a receipt; and on the secret address of the provider. */
const { victims } = targets;
const { linkUrl, chargeUrl, chargeId, hookUrl, neighbour } = victims;

/** From a thousand addresses. */
const bots = () =>
  flood(16, 120, (n) =>
    send(
      'a thousand bots at one link',
      n % 3 === 0 ? `${chargeUrl}/state` : linkUrl,
      addressOf(50, n % 1_000),
    ),
  );

const oneBot = () =>
  flood(4, 80, () => send('pages for one address', chargeUrl, { from: '127.0.0.51', as: '192.0.2.51' }));

const chargesOfOne = () =>
  flood(1, 2, () =>
    post(
      'charges of a link for one network',
      `${linkUrl}/charge`,
      json,
      { method: 'pix' },
      { from: '127.0.0.52', as: '192.0.2.52' },
    ),
  );

const chargesOfMany = () =>
  flood(4, 12, (n) =>
    post('charges of a link', `${linkUrl}/charge`, json, { method: 'pix' }, addressOf(53, n % 1_000)),
  );

const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const guess = (length: number): string =>
  Array.from({ length }, () => characters[Math.floor(Math.random() * 64)]).join('');
const [, token = ''] = /\/pay\/(.+)$/.exec(chargeUrl) ?? [];

/** By chance, and beside an address that is known: other last characters, which are its proof. */
const guesses = () =>
  flood(2, 20, (n) => {
    const guessed = n % 2 === 0 ? guess(token.length) : token.slice(0, -4) + guess(4);
    return send(
      'addresses and receipts guessed',
      `${targets.url}/pay/${guessed}${n % 3 === 0 ? '/receipt.pdf' : ''}`,
      addressOf(54, n % 200),
    );
  });

async function openPages(): Promise<void> {
  let open = 0;
  let mostOpen = 0;
  await flood(60, 60, async () => {
    const left = new AbortController();
    const answer = await fetch(`${chargeUrl}/events`, { signal: left.signal }).catch(() => null);
    count('open pages of one address', answer?.status ?? 'no answer');
    if (answer?.status !== 200) return sleep(1_000);
    mostOpen = Math.max(mostOpen, ++open);
    const hold = setInterval(() => isStopping() && left.abort(), 500);
    await answer.text().catch(() => {});
    clearInterval(hold);
    open--;
  });
  for (let n = 0; n < mostOpen; n++) count('open pages of one address', 'at once');
}

/** A stranger who has read the secret address says that a charge was paid, to another key. */
const forgedPayments = () =>
  flood(1, 4, async (n) => {
    const pix = {
      endToEndId: `E${String(Date.now()).padStart(31, '0')}`,
      txid: chargeId.replaceAll('-', ''),
      chave: n % 2 === 0 ? 'outra@empresa.example' : undefined,
      valor: '10.00',
      horario: new Date().toISOString(),
    };
    const attack = 'payments forged at the secret address';
    await send(attack, hookUrl, { method: 'POST', headers: json, body: JSON.stringify({ pix: [pix] }) });
    if (n % 20 !== 0) return;
    const shown = await ask(`${targets.url}/api/v1/public/payments/${chargeId}`, {
      headers: withKey(neighbour.key),
    });
    if (shown?.text.includes('"status":"paid"')) count(attack, 'paid');
  });

/** Cells that a spreadsheet would compute, in whatever separator it reads. */
const tables = () =>
  flood(1, 0.2, async () => {
    const cookie = Object.entries(neighbour.cookies)
      .map(([name, value]) => `${name}=${value}`)
      .join('; ');
    const path = `${targets.url}/panel/api/accounts/${neighbour.accountId}/records.csv`;
    const answer = await ask(path, { headers: { cookie }, from: '127.0.0.55', as: '192.0.2.55' });
    const isTable = answer?.status === 200 && answer.text.includes('1+1');
    const computes = /(^|[;,\t\n"])[=＝]1\+1/.test(answer?.text ?? '');
    count('formulas in tables', isTable ? (computes ? 'formula' : 'text') : (answer?.status ?? 'no answer'));
  });

export const payers = [bots, oneBot, chargesOfOne, chargesOfMany, guesses, openPages, forgedPayments, tables];
