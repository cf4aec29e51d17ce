import { DatabaseSync } from 'node:sqlite';
import { Vintem } from '@vintem/sdk';

/** Orders and what was handled, in SQLite; Node 22.13 or newer. Opened at the first request, not while Next.js builds. */
let opened;
export function database() {
  if (opened) return opened;
  opened = new DatabaseSync(process.env.SHOP_DB ?? 'shop.db');
  opened.exec(`
    PRAGMA busy_timeout = 5000;
    CREATE TABLE IF NOT EXISTS orders (
      id TEXT PRIMARY KEY, amount_cents INTEGER NOT NULL, payer TEXT NOT NULL,
      request_key TEXT NOT NULL UNIQUE, status TEXT NOT NULL DEFAULT 'waiting', code TEXT, shipments INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE IF NOT EXISTS handled (event_id TEXT PRIMARY KEY);`);
  return opened;
}

const orderOf = (id) => database().prepare('SELECT * FROM orders WHERE id = ?').get(id);

export function findOrder(id) {
  const order = orderOf(id);
  return order && { id, status: order.status, code: order.code, shipments: order.shipments };
}

/** The order and its request key are stored first: a repeat of the order uses the same key and gets the same charge. */
export async function placeOrder({ id, amountCents, payerName }) {
  database()
    .prepare(
      'INSERT INTO orders (id, amount_cents, payer, request_key) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
    )
    .run(id, amountCents, payerName, crypto.randomUUID());
  const order = orderOf(id);
  if (order.code === null) {
    const vintem = new Vintem({ baseUrl: process.env.VINTEM_URL, apiKey: process.env.VINTEM_KEY });
    const charge = await vintem.charges.create({
      amountCents: order.amount_cents,
      payerName: order.payer,
      description: `Pedido ${id}`,
      requestKey: order.request_key,
    });
    database()
      .prepare('UPDATE orders SET code = ? WHERE id = ?')
      .run(charge.copyPaste ?? null, id);
  }
  return findOrder(id);
}

/** An event arrives at least once: its id and what it changes are written in one transaction. */
export function handle(event) {
  const db = database();
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
