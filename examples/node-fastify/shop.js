// A shop that takes Pix: Fastify, SQLite and @vintem/sdk. Node 22.13 or newer.
//   VINTEM_URL=https://pix.example.com VINTEM_KEY=vtm_test_… WEBHOOK_SECRET=whsec_… node shop.js
import { DatabaseSync } from 'node:sqlite';
import { Vintem, VintemError, verifyWebhook } from '@vintem/sdk';
import fastify from 'fastify';

const { VINTEM_URL, VINTEM_KEY, WEBHOOK_SECRET, PORT = '4000', SHOP_DB = 'shop.db' } = process.env;
const vintem = new Vintem({ baseUrl: VINTEM_URL, apiKey: VINTEM_KEY });

const db = new DatabaseSync(SHOP_DB);
db.exec(`
  CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, amount_cents INTEGER NOT NULL, payer TEXT NOT NULL,
    request_key TEXT NOT NULL UNIQUE, status TEXT NOT NULL DEFAULT 'waiting', code TEXT, shipments INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE IF NOT EXISTS handled (event_id TEXT PRIMARY KEY);`);

const orderOf = (id) => db.prepare('SELECT * FROM orders WHERE id = ?').get(id);
const shown = ({ id, status, code, shipments }) => ({ id, status, code, shipments });

const app = fastify({ logger: true });

// The order and its request key are stored before the charge is asked for: whatever fails then, a repeat of the order uses
// the same key and gets the same charge.
app.post('/orders', async (request, reply) => {
  const { id, amountCents, payerName } = request.body;
  db.prepare(
    'INSERT INTO orders (id, amount_cents, payer, request_key) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
  ).run(id, amountCents, payerName, crypto.randomUUID());
  const order = orderOf(id);
  if (order.code === null) {
    const charge = await vintem.charges.create({
      amountCents: order.amount_cents,
      payerName: order.payer,
      description: `Pedido ${id}`,
      requestKey: order.request_key,
    });
    db.prepare('UPDATE orders SET code = ? WHERE id = ?').run(charge.copyPaste ?? null, id);
  }
  return reply.code(201).send(shown(orderOf(id)));
});

app.get('/orders/:id', async (request, reply) => {
  const order = orderOf(request.params.id);
  return order ? shown(order) : reply.code(404).send({ message: 'no such order' });
});

// The signature is over the body as it arrived: this scope reads it without parsing.
app.register(async (scope) => {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  scope.post('/webhooks/vintem', async (request, reply) => {
    const event = verifyWebhook(request.body, request.headers, [WEBHOOK_SECRET]);
    handle(event);
    return reply.code(204).send();
  });
});

/** An event arrives at least once: its id and what it changes are written in one transaction. */
function handle(event) {
  db.exec('BEGIN IMMEDIATE');
  try {
    const { changes } = db.prepare('INSERT OR IGNORE INTO handled VALUES (?)').run(event.id);
    if (changes === 1 && event.type === 'charge.paid')
      db.prepare(
        `UPDATE orders SET status = 'paid', shipments = shipments + 1 WHERE request_key = ? AND status = 'waiting'`,
      ).run(event.data.requestKey);
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

app.setErrorHandler((error, _request, reply) => {
  if (!(error instanceof VintemError)) return reply.send(error);
  if (error.code === 'invalid_signature') return reply.code(400).send({ message: 'invalid signature' });
  // Nothing is lost: the order keeps its key, and the customer may press the button again.
  return reply.code(error.retryable ? 503 : 400).send({ code: error.code, message: error.message });
});

await app.listen({ port: Number(PORT), host: '127.0.0.1' });
