import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openFakeStandby } from '@vintem/testkit/standby.ts';
import { type Call, control, pause } from '../processes/clients.ts';
import { charge, payOut, type Town } from './town.ts';

/** Something that breaks in the town, and the alerts that must say so. */
export interface Fault {
  name: string;
  fires: readonly string[];
  /** Alerts that it may fire besides, since what breaks is theirs as well. */
  mayFire?: readonly string[];
  /** Breaks it. The returned function mends it. */
  strike(town: Town): Promise<() => Promise<void>>;
}

/**
 * Rounds of faults. Those of one round touch different parts and are struck together, since some alerts wait for long.
 *
 * Real time is not waited for: where an alert looks at an age of minutes, the fault is real (no process handles it) and the age is given to
 * it by moving the one instant that the gauge reads.
 */
export const rounds: readonly (readonly Fault[])[] = [
  [
    {
      name: 'the worker dies',
      fires: ['VintemDown', 'VintemBacklog', 'VintemEventsLate'],
      async strike({ worker, sql, call, operations }) {
        // A payout that stays open, and the event of its creation: no process handles either from here on.
        worker.signal('SIGKILL');
        await worker.exited();
        await openPayout(call, operations[1] as string, 'stay-pending');
        await sql(`UPDATE intent SET due_at = now() - interval '10 minutes'`);
        await sql(`UPDATE event_fresh SET created_at = created_at - interval '10 minutes'`);
        return () => worker.start();
      },
    },
  ],
  [
    {
      name: 'the provider is gone',
      fires: ['VintemProviderDown', 'VintemStatementLate'],
      // While the breaker is open, payments are refused with 503.
      mayFire: ['VintemBacklog', 'VintemErrorsFast', 'VintemErrorsSlow'],
      async strike({ simulator, sql }) {
        simulator.signal('SIGTERM');
        await simulator.exited();
        await sql(`UPDATE connection SET statement_read_to = now() - interval '1 hour'`);
        return async () => {
          await simulator.start();
          await sql(`UPDATE job SET due_at = now() WHERE what = 'statement'`);
        };
      },
    },
  ],
  [
    {
      name: 'a payout that the provider never got',
      fires: ['VintemTransferUnknown'],
      async strike({ call, operations, sql }) {
        const id = await openPayout(call, operations[1] as string, 'lose-request');
        await sql(`UPDATE intent SET created_at = created_at - interval '20 minutes' WHERE payment_id = $1`, [
          id,
        ]);
        // This provider never gets it, so that only its age can be taken back.
        return async () => {
          await sql(`UPDATE intent SET created_at = now() + interval '1 day' WHERE payment_id = $1`, [id]);
        };
      },
    },
    {
      name: 'withdrawals are paused',
      fires: ['VintemWithdrawalsPaused'],
      // Every payout is refused with 503 meanwhile.
      mayFire: ['VintemErrorsFast', 'VintemErrorsSlow'],
      async strike({ run }) {
        await run(['withdrawals', 'pause', '--reason', 'the alerts were tried']);
        return () => run(['withdrawals', 'resume']);
      },
    },
    {
      name: 'a charge is paid with another amount',
      fires: ['VintemIncidentOpen'],
      async strike(town) {
        const id = await charge(town.call, town.operations[0] as string, 1_000);
        await fetch(`${town.simulatorUrl}/control/charges/${id}/pay`, {
          method: 'POST',
          body: JSON.stringify({ amountCents: 900 }),
        });
        return () => resolveIncidents(town);
      },
    },
    {
      name: 'a machine with a wrong clock',
      fires: ['VintemClockOff'],
      async strike({ spareApi, folder }) {
        const file = join(folder, 'wrong-clock');
        writeFileSync(file, '1500');
        const preload = fileURLToPath(new URL('../chaos/wrong-clock.js', import.meta.url));
        await spareApi({ NODE_OPTIONS: `--import ${preload}`, WRONG_CLOCK_FILE: file });
        return async () => writeFileSync(file, '0');
      },
    },
    {
      name: 'a report names a return of a Pix that the provider does not know',
      fires: ['VintemStatementLinesOpen'],
      async strike({ sql, run }) {
        const reference = `D${'0'.repeat(31)}`;
        await sql(
          `INSERT INTO statement_line (connection, kind, reference, end_to_end, moved_at, first_seen_at, tries, next_at)
             VALUES ('simulator', 'reported', $1, $2, now(), now(), 0, now())`,
          [reference, `E${'0'.repeat(31)}`],
        );
        return () =>
          run([
            ...['statement', 'dismiss', 'reported', reference],
            ...['--connection', 'simulator', '--reason', 'the alerts were tried'],
          ]);
      },
    },
    {
      name: 'a provider sends what cannot be read',
      fires: ['VintemUnreadItems'],
      async strike({ sql, run }) {
        const id = '00000000-0000-7000-8000-000000000001';
        await sql(
          `INSERT INTO unread_item (id, connection, kind, reference, body, first_seen_at, seen_at, tries, next_at, incident_due_at)
             VALUES ($1, 'simulator', 'report', 'x', '\\x00', now(), now(), 0, now() + interval '1 day', now() + interval '1 day')`,
          [id],
        );
        return () => run(['unread', 'dismiss', id, '--reason', 'the alerts were tried']);
      },
    },
    {
      name: 'another account stands behind a connection',
      fires: ['VintemConnectionHeld'],
      async strike({ sql }) {
        // As a process with other settings says it.
        const hold = (since: string) =>
          sql(
            `UPDATE connection SET held_since = ${since}, held_seen_at = ${since} + interval '1 day', held_reason = 'the alerts are tried'`,
          );
        await hold('now()');
        return async () => {
          await hold('NULL::timestamptz');
        };
      },
    },
    {
      name: "the merchant's server fails",
      fires: ['VintemDeliveriesFailing'],
      async strike({ receiver }) {
        receiver.answer(500);
        return async () => receiver.answer(200);
      },
    },
  ],
  [
    {
      name: 'the database locks slowly',
      fires: ['VintemTillSlow', 'VintemShedding'],
      mayFire: ['VintemErrorsFast', 'VintemErrorsSlow', 'VintemPoolWaiting'],
      async strike(town) {
        let slow = true;
        const holding = (async () => {
          while (slow) {
            const release = await town.lock('SELECT 1 FROM balance FOR UPDATE');
            // Below the two seconds after which a wait for a lock ends.
            await pause(1_700);
            await release();
          }
        })();
        const payouts = flood(8, () => payOut(town.call, town.operations[1] as string));
        // Reads are what is refused first.
        const reads = flood(2, () => town.call('GET', '/account'));
        return async () => {
          slow = false;
          await holding;
          await payouts.stop();
          await reads.stop();
        };
      },
    },
  ],
  [
    {
      name: 'the balances cannot be locked',
      fires: ['VintemInboundWaiting', 'VintemErrorsFast', 'VintemErrorsSlow'],
      mayFire: ['VintemTillSlow', 'VintemShedding', 'VintemPoolWaiting', 'VintemBacklog'],
      async strike(town) {
        const { call, operations, simulatorUrl, lock } = town;
        const ids: string[] = [];
        for (let n = 0; n < 20; n++) {
          const ten = Array.from({ length: 10 }, () => charge(call, operations[0] as string, 1_000));
          ids.push(...(await Promise.all(ten)));
        }
        const release = await lock('SELECT 1 FROM balance FOR UPDATE');
        for (const id of ids) {
          await control(simulatorUrl, 'POST', `/control/charges/${id}/pay`);
          // Payments of one moment come in one delivery.
          await pause(100);
        }
        const load = flood(4, () => payOut(call, operations[1] as string));
        return async () => {
          await release();
          await load.stop();
        };
      },
    },
  ],
  [
    {
      name: 'a process does not reach the database',
      fires: ['VintemNotReady'],
      mayFire: ['VintemErrorsFast', 'VintemErrorsSlow'],
      async strike({ relay, databasePort }) {
        relay.cut();
        return async () => relay.switchTo(databasePort);
      },
    },
  ],
  [
    {
      name: 'statements hang and hold every connection',
      fires: ['VintemPoolWaiting'],
      mayFire: ['VintemNotReady', 'VintemErrorsFast', 'VintemErrorsSlow', 'VintemTillSlow', 'VintemShedding'],
      async strike(town) {
        const release = await town.lock('LOCK TABLE webhook_endpoint IN ACCESS EXCLUSIVE MODE');
        const load = flood(60, () => town.call('GET', '/webhooks'));
        return async () => {
          await release();
          await load.stop();
        };
      },
    },
  ],
  [
    {
      name: 'somebody changes an entry',
      fires: ['VintemMoneyContradiction', 'VintemVerifyFailed'],
      // Posting on the books that differ is refused.
      mayFire: ['VintemErrorsFast', 'VintemErrorsSlow'],
      async strike(town) {
        const change = (by: string) =>
          town.sql(
            `UPDATE journal SET posted_at = posted_at ${by} interval '1 minute' WHERE chain_id = $1 AND seq = 1`,
            [town.operations[0]],
          );
        await change('+');
        await town.run(['verify', '--full'], [3]);
        return async () => {
          await change('-');
          await town.run(['verify', '--full']);
          await resolveIncidents(town);
        };
      },
    },
    {
      name: 'a standby vanishes',
      fires: ['VintemStandbyGone'],
      async strike({ standby }) {
        await standby.close();
        return () => standby.open();
      },
    },
  ],
  [
    {
      // It stands first in its round, so that it ends first. A later fault of the round verifies the audit log.
      name: 'the receiver of the audit log takes nothing',
      fires: ['VintemAuditForwardLate'],
      async strike({ auditReceiver, operations, run, sql }) {
        auditReceiver.answer(503);
        const hold = ['--operation', operations[0] as string, '--amount-cents', '1'];
        await run(['hold', 'place', ...hold, '--reason', 'the alerts were tried']);
        // Of what waits alone, and given back behind it: the hash of a row has this time in it.
        const waits = `UPDATE audit a SET chained_ms = a.chained_ms + $1 FROM audit_chain c
          WHERE c.account_id = a.account_id AND a.seq > c.forwarded_seq`;
        await sql(waits, [-3_600_000]);
        return async () => {
          await sql(waits, [3_600_000]);
          auditReceiver.answer(200);
        };
      },
    },
    {
      name: 'verify does not run',
      fires: ['VintemVerifyOld'],
      async strike({ sql, run }) {
        await sql(`UPDATE installation SET verified_at = now() - interval '27 hours', verified_ok = true`);
        return () => run(['verify']);
      },
    },
    {
      name: 'nobody makes a copy',
      fires: ['VintemBackupOld'],
      async strike({ sql, run, folder }) {
        await sql(`UPDATE installation SET backed_up_at = now() - interval '27 hours'`);
        return () => run(['backup', join(folder, 'copy.vintem')]);
      },
    },
    {
      name: 'a payer disputes a Pix and nobody answers',
      fires: ['VintemDisputeDeadline'],
      async strike({ call, operations, simulatorUrl, sql }) {
        const id = await charge(call, operations[0] as string, 1_000);
        await control(simulatorUrl, 'POST', `/control/charges/${id}/pay`);
        const dispute = await control(simulatorUrl, 'POST', `/control/charges/${id}/dispute`);
        // A reading that is under way holds a claim of five minutes; one that has ended would not change the row for a while.
        const read = async () => {
          await sql(`UPDATE job SET due_at = now() WHERE what = 'disputes'`);
          const ended = `SELECT FROM job WHERE what = 'disputes' AND subject = 'simulator' AND due_at > now()
              AND due_at NOT BETWEEN now() + interval '4 minutes' AND now() + interval '5 minutes'`;
          while ((await sql(ended)).length === 0) await pause(200);
          return sql(`UPDATE dispute SET deadline_at = now() + interval '1 day' RETURNING id`);
        };
        while ((await read()).length === 0) await pause(200);
        return async () => {
          await control(simulatorUrl, 'POST', `/control/disputes/${dispute.id}/reject`);
          await read();
        };
      },
    },
    {
      name: 'a certificate is about to expire',
      fires: ['VintemCertificateExpires'],
      async strike({ sql }) {
        const expires = (at: string) => sql(`UPDATE connection SET certificate_expires_at = ${at}`);
        await expires(`now() + interval '10 days'`);
        return async () => {
          await expires('NULL');
        };
      },
    },
    {
      name: 'a court blocks a part of the account',
      fires: ['VintemProviderBlocked'],
      async strike({ simulatorUrl, sql }) {
        const block = (judicialCents: number) =>
          fetch(`${simulatorUrl}/control/blocked`, {
            method: 'PUT',
            body: JSON.stringify({ judicialCents }),
          });
        await block(100);
        await sql(`UPDATE job SET due_at = now() WHERE what = 'balance'`);
        return async () => {
          await block(0);
          await sql(`UPDATE job SET due_at = now() WHERE what = 'balance'`);
        };
      },
    },
    {
      name: 'the company takes its money out of the account',
      fires: ['VintemProviderBalanceLow', 'VintemLiquidityLow'],
      async strike({ call, operations, sql }) {
        await openPayout(call, operations[1] as string, 'lose-request');
        // The simulator lends no money away: what it would have said last is given to the row.
        await sql(
          `WITH later AS (UPDATE job SET due_at = now() + interval '1 hour' WHERE what = 'balance')
            UPDATE connection SET balance_cents = 500, balance_read_at = now()`,
        );
        return async () => {
          await sql(`UPDATE job SET due_at = now() WHERE what = 'balance'`);
        };
      },
    },
    {
      name: 'a standby replays nothing',
      fires: ['VintemReplicationLag'],
      async strike({ databaseUrl }) {
        const standby = await openFakeStandby(databaseUrl, 'db2');
        standby.stick();
        return () => standby.close();
      },
    },
  ],
];

/** A payout that the provider does not end. Returns its id. */
async function openPayout(call: Call, operationId: string, behaviour: string): Promise<string> {
  const { status, body } = await payOut(call, operationId, `${behaviour}@simulator.example`);
  if (status !== 201) throw new Error(`the payout was answered ${status}: ${JSON.stringify(body)}`);
  return String(body?.id);
}

async function resolveIncidents({ run }: Town): Promise<void> {
  const { incidents } = await run<{ incidents: { id: string; state: string }[] }>(['incident', 'list']);
  for (const { id, state } of incidents)
    if (state === 'open')
      await run(['incident', 'resolve', id, '--action', 'none', '--reason', 'the alerts were tried']);
}

/** `clients` callers, one call after the other each; what is answered does not matter. */
function flood(clients: number, once: () => Promise<unknown>): { stop(): Promise<unknown> } {
  let flooding = true;
  const all = Array.from({ length: clients }, async () => {
    while (flooding) await once().catch(() => pause(50));
  });
  return {
    stop: () => {
      flooding = false;
      return Promise.all(all);
    },
  };
}
