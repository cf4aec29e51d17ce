import { readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { returnBodyOf } from '../../console/requests/requests.ts';
import { type DivergenceFound, divergencesOf, recordDivergences } from '../../flow/divergences.ts';
import { priceOf } from '../../ground/money.ts';
import { dismissLine, listOpenLines } from '../../jobs/statement-lines.ts';
import { refundFees } from '../../money/refund.ts';
import { type ConditionChange, setConditions } from '../../operate/accounts/conditions.ts';
import { type HoldView, listHolds, placeHold, releaseHold } from '../../operate/accounts/holds.ts';
import { releaseAsShown, shownRelease } from '../../operate/accounts/shown-holds.ts';
import { type InForceAgain, markLostTime, markRestored } from '../../operate/after-restore.ts';
import { type Binding, findBindings } from '../../operate/connections/bindings.sql.ts';
import { allowedActions, resolveAsShown, shownAction } from '../../operate/incidents/allowed.ts';
import { type Action, actions, acts, isAction } from '../../operate/incidents/endings.ts';
import {
  factsOfPayment,
  type IncidentView,
  incidentsMost,
  keepIncident,
  listIncidents,
  resolveIncident,
  showIncident,
  wordsOfIncident,
} from '../../operate/incidents/incident.ts';
import { noteVerified } from '../../operate/monitored.sql.ts';
import { type OwnIncidents, resolveOwnIncidents } from '../../operate/own-incidents.ts';
import {
  markCompared,
  type PauseView,
  pauseWithdrawals,
  resumeWithdrawals,
  shownResume,
} from '../../operate/pause.ts';
import { inCellOfPayment } from '../../operate/payment-cell.ts';
import { type Doubt, doubts, type Reconciled, reconcile } from '../../operate/reconcile.ts';
import {
  type BookedReturn,
  bookReturn,
  bookReturnAsShown,
  shownReturn,
} from '../../operate/returned-payout.ts';
import { dismissUnread, listUnread, showUnread } from '../../operate/unread/unread-items.ts';
import { findCellsOf } from '../../operate/verify/verify.sql.ts';
import { type Anchor, type CellChecks, readAnchor, verifyCells } from '../../operate/verify/verify.ts';
import { changeWebhookAddress, showWebhookAddress } from '../../operate/webhook-address.ts';
import { homeCell } from '../../store/database/cells.ts';
import { type Operator, OperatorRefused, reasonOf } from '../../store/operator.ts';
import type { PlannedPosting } from '../../store/rehearsal.ts';
import { findAccountOf, findHold } from '../../store/rows/holds.sql.ts';
import { paymentIdFor } from '../../store/rows/idempotency.ts';
import { findIncident } from '../../store/rows/incidents.sql.ts';
import type { OpenLine } from '../../store/rows/statement-lines.sql.ts';
import type { Runtime } from '../runtime.ts';
import { type Context, type Edge, onDatabase } from '../start.ts';
import {
  type Answer,
  type Command,
  type CommandInput,
  facts,
  instant,
  integer,
  optionalAccount,
  required,
  table,
  timeOf,
  UsageFault,
  uuid,
} from './command.ts';
import { dryRunOption, plannedText, posting, postingAtProviders } from './dry-run.ts';
import { cellsOf, onAccount, onAll, onCellWith } from './in-cells.ts';
import { agreedAtShell, askable, breakGlassOption } from './second-person.ts';

/** Commands of the operator that change money or its rules. Each is written to the audit log. */
export const operatorCommands: Command[] = [
  {
    name: 'account set',
    usage:
      'OWNER_ID [--enabled true|false] [--withdrawals-blocked true|false] [--withdrawal-fee-cents N] [--withdrawal-fee-bps N] [--deposit-fee-cents N] [--deposit-fee-bps N] [--minimum-deposit-cents N] [--maximum-deposit-cents N] [--minimum-withdrawal-cents N] [--maximum-withdrawal-cents N] [--refund-fees kept|returned] [--card-connection N|none] [--card-fee-cents N] [--card-fee-bps N] [--minimum-card-cents N] [--maximum-card-cents N] [--return-hosts HOST,…|none]',
    about: "changes an account's conditions, for new payments",
    options: {
      enabled: { type: 'string' },
      'withdrawals-blocked': { type: 'string' },
      'withdrawal-fee-cents': { type: 'string' },
      'withdrawal-fee-bps': { type: 'string' },
      'deposit-fee-cents': { type: 'string' },
      'deposit-fee-bps': { type: 'string' },
      'minimum-deposit-cents': { type: 'string' },
      'maximum-deposit-cents': { type: 'string' },
      'minimum-withdrawal-cents': { type: 'string' },
      'maximum-withdrawal-cents': { type: 'string' },
      'refund-fees': { type: 'string' },
      'card-connection': { type: 'string' },
      'card-fee-cents': { type: 'string' },
      'card-fee-bps': { type: 'string' },
      'minimum-card-cents': { type: 'string' },
      'maximum-card-cents': { type: 'string' },
      'return-hosts': { type: 'string' },
    },
    operands: ['OWNER_ID'],
    run: async (edge, { values, operands }) => {
      const accountId = uuid(operands[0] as string, 'OWNER_ID');
      const change = changeOf(values);
      const { accountId: ownerId, ...conditions } = await onAccount(
        edge,
        'account set',
        accountId,
        (context) => setConditions(operatorOf(context), accountId, change),
      );
      return { json: { ownerId, ...conditions }, text: facts(conditions) };
    },
  },
  {
    name: 'hold place',
    usage: '--operation ID --amount-cents N --reason R [--dry-run]',
    about: 'keeps back so much of an operation’s balance, and of what comes in until it has it all',
    options: {
      operation: { type: 'string' },
      'amount-cents': { type: 'string' },
      reason: { type: 'string' },
      ...dryRunOption,
    },
    run: async (edge, { values }) => {
      const operationId = uuid(required(values, 'operation'), '--operation');
      const amountCents = integer(required(values, 'amount-cents'), '--amount-cents');
      const reason = required(values, 'reason');
      return onOperation(edge, 'hold place', operationId, (context) =>
        posting(
          values,
          operatorOf(context),
          (operator) => placeHold(operator, { operationId, amountCents, reason }),
          holdAnswer,
        ),
      );
    },
  },
  askable({
    name: 'hold release',
    usage: 'ID [--reason R] [--break-glass] [--dry-run]',
    about:
      'ends a hold; what it kept back is available again. Where two operators could agree to it, only with --request or --break-glass',
    options: { reason: { type: 'string' }, ...breakGlassOption, ...dryRunOption },
    operands: ['ID'],
    run: async (edge, { values, operands }) => {
      const id = uuid(operands[0] as string, 'ID');
      return onCellWith(
        edge,
        'hold release',
        (sql) => findHold(sql, id),
        async (context, directory) => {
          const operator = operatorOf(context);
          const reason = values.reason === undefined ? null : reasonOf(String(values.reason));
          const agreed =
            values['dry-run'] === true
              ? null
              : await agreedAtShell({ edge, context }, values, operatorOf(directory), {
                  ...{ act: 'releaseHold', subject: id, body: {} },
                  show: () => shownRelease(operator, id),
                });
          return posting(
            values,
            operator,
            (one) =>
              agreed === null ? releaseHold(one, id, reason) : releaseAsShown(one, id, reason ?? '', agreed),
            holdAnswer,
          );
        },
      );
    },
  }),
  {
    name: 'hold list',
    usage: '--operation ID',
    about: 'the holds of an operation, the oldest first',
    options: { operation: { type: 'string' } },
    run: async (edge, { values }) => {
      const operationId = uuid(required(values, 'operation'), '--operation');
      const all = await onOperation(edge, 'hold list', operationId, (context) =>
        listHolds(context, operationId),
      );
      const holds = all.map(shownHold);
      return {
        json: { holds },
        text: table(
          holds.map((hold) => [
            hold.id,
            hold.releasedAt === null
              ? 'open'
              : hold.releasedBy === null
                ? 'ended'
                : `released by ${hold.releasedBy}`,
            priceOf(hold.amountCents),
            priceOf(hold.capturedCents),
            hold.reason,
          ]),
          'no holds',
          ['hold', 'state', 'amount', 'captured', 'reason'],
        ),
      };
    },
  },
  {
    name: 'withdrawals pause',
    usage: '--reason R',
    about: 'refuses new withdrawals of every account; those that were accepted and not sent wait',
    options: { reason: { type: 'string' } },
    run: async (edge, { values }) => {
      const reason = required(values, 'reason');
      return pauseAnswer(
        await asOperator(edge, 'withdrawals pause', (operator) => pauseWithdrawals(operator, reason)),
      );
    },
  },
  askable({
    name: 'withdrawals resume',
    usage: '[--reason R] [--break-glass]',
    about: 'ends the pause. Where two operators could agree to it, only with --request or --break-glass',
    options: { reason: { type: 'string' }, ...breakGlassOption },
    run: async (edge, { values }) =>
      onDatabase(edge, 'withdrawals resume', async (context) => {
        const operator = operatorOf(context);
        const pause = await shownResume(context.sql);
        const reason = values.reason === undefined ? null : reasonOf(String(values.reason));
        // A pause that a colleague places meanwhile stays.
        if (pause === null) return pauseAnswer(await resumeWithdrawals(operator, { pausedAt: null, reason }));
        const { pausedAt, shown } = pause;
        await agreedAtShell({ edge, context }, values, operator, {
          ...{ act: 'resumeWithdrawals', subject: 'installation', body: { pausedAt: String(pausedAt) } },
          show: async () => ({ postings: [], movedCents: 0, shown }),
        });
        return pauseAnswer(await resumeWithdrawals(operator, { pausedAt, reason }));
      }),
  }),
  {
    name: 'withdrawals lost-time',
    usage: '--since TIME [--reason R]',
    about:
      'says that the database may have lost what happened since TIME (a standby was promoted, a snapshot brought back): as after `restore`, on a live database',
    options: { since: { type: 'string' }, reason: { type: 'string' } },
    run: async (edge, { values }) => {
      const sinceMs = timeOf(required(values, 'since'), '--since');
      const reason = values.reason === undefined ? null : reasonOf(String(values.reason));
      const { keys, people } = await asOperator(edge, 'withdrawals lost-time', (operator) =>
        markLostTime(operator, sinceMs, reason),
      );
      return {
        json: { since: instant(sinceMs), withdrawalsPaused: true, keys, people },
        text: [
          `what happened since ${instant(sinceMs)} may be lost: withdrawals are paused; run \`vintem reconcile\``,
          ...inForceLines({ keys, people }),
        ].join('\n'),
      };
    },
  },
  {
    name: 'provider address',
    usage: '[--connection NAME] [--show]',
    about:
      'changes the secret address that the provider delivers to; the one before stays good until the next change. --show: shows it, for a provider where a person enters it, and changes nothing',
    options: { connection: { type: 'string' }, show: { type: 'boolean' } },
    run: async (edge, { values }) => {
      const connection = String(values.connection ?? 'live');
      if (values.show === true) {
        const shown = await onDatabase(edge, 'provider address', (context) =>
          showWebhookAddress(context, connection),
        );
        return { json: shown, text: shown.address };
      }
      const json = await asOperator(edge, 'provider address', (operator) =>
        changeWebhookAddress(operator, connection),
      );
      return {
        json,
        text: `the address of ${connection} is changed; running services tell the provider within a minute`,
      };
    },
  },
  {
    name: 'provider compared',
    usage: '--connection NAME --reason R',
    about:
      'after a restore, for a provider that lists no payouts: its statement of the lost time was compared by a person, and refusals are final again',
    options: { connection: { type: 'string' }, reason: { type: 'string' } },
    run: async (edge, { values }) => {
      const connection = required(values, 'connection');
      const reason = required(values, 'reason');
      await asOperator(edge, 'provider compared', (operator) => markCompared(operator, connection, reason));
      return { json: { connection, compared: true }, text: `payouts of ${connection} count as compared` };
    },
  },
  {
    name: 'incident list',
    usage: '[--account OWNER_ID]',
    about: 'what a person has to look at, or has looked at; the newest first',
    options: { account: { type: 'string' } },
    run: async (edge, { values }) => {
      const accountId = optionalAccount(values);
      const all = await onAll(edge, 'incident list', accountId, async (context) =>
        listIncidents(await inAllCells(context), accountId),
      );
      const incidents = all.map(shownIncident);
      // A list that ends at its limit says so.
      const complete = incidents.length < incidentsMost;
      const rows = table(
        incidents.map((one) => [
          one.id,
          one.state,
          one.kind,
          priceOf(one.amountCents),
          one.openedAt,
          one.paymentId ?? one.operationId ?? one.accountId,
        ]),
        'no incidents',
        ['incident', 'state', 'kind', 'amount', 'opened', 'of'],
      );
      const ends = complete ? [] : [`the newest ${incidentsMost}: there may be older ones`];
      return { json: { incidents, complete }, text: [rows, ...ends].join('\n') };
    },
  },
  {
    name: 'incident show',
    usage: 'ID',
    about: 'one incident, with how it ended, or the postings of each action that it allows',
    operands: ['ID'],
    run: async (edge, { operands }) => {
      const id = uuid(operands[0] as string, 'ID');
      return onIncident(edge, 'incident show', id, async (operator) => {
        const incident = await showIncident(operator, id);
        const shown = { ...shownIncident(incident), ...(await factsOfPayment(operator, incident)) };
        const allowed = (incident.state === 'open' ? await allowedActions(operator, id) : []).map(
          ({ action, postings }) => ({ act: action === 'none' ? null : acts[action], action, postings }),
        );
        const each = allowed.map(
          ({ act, action, postings }) =>
            `--action ${action}${act === null ? '' : `: ${act}`}\n${plannedText(postings)}`,
        );
        const words = (await wordsOfIncident(operator, incident)).map((one) => ({
          ...one,
          at: instant(one.at),
        }));
        const said = words.map(({ at, name, message }) => [String(at), name, message ?? '']);
        return {
          json: { ...shown, allowed, words },
          text: [
            facts(shown),
            ...(said.length === 0 ? [] : [`said by the provider\n${table(said, '')}`]),
            ...each,
          ].join('\n\n'),
        };
      });
    },
  },
  askable({
    name: 'incident resolve',
    usage: `ID --action ${actions.join('|')} --reason R [--break-glass] [--dry-run]`,
    about:
      'ends an incident; once, and the only way to end a freeze of withdrawals. At a terminal it shows the postings and asks. What moves money, where two operators could agree to it, only with --request or --break-glass',
    options: { action: { type: 'string' }, reason: { type: 'string' }, ...breakGlassOption, ...dryRunOption },
    operands: ['ID'],
    run: async (edge, { values, operands }) => {
      const id = uuid(operands[0] as string, 'ID');
      const action = required(values, 'action');
      if (!isAction(action)) throw new UsageFault(`--action takes ${actions.join(', ')}`);
      const wanted: { action: Action; reason: string } = { action, reason: required(values, 'reason') };
      return onIncident(edge, 'incident resolve', id, async (operator, { context, directory }) => {
        const show = () => shownAction(operator, id, action);
        const seen = values['dry-run'] === true ? null : await confirmed(edge, show);
        const agreed =
          values['dry-run'] === true
            ? null
            : ((await agreedAtShell({ edge, context }, values, operatorOf(directory), {
                ...{ act: 'resolveIncident', subject: id, body: { action } },
                show: async () => seen ?? show(),
              })) ??
              (seen && { shown: seen.shown, mostCents: Number.MAX_SAFE_INTEGER }));
        return posting(
          values,
          operator,
          (one) =>
            agreed === null ? resolveIncident(one, id, wanted) : resolveAsShown(one, id, wanted, agreed),
          incidentAnswer,
        );
      });
    },
  }),
  {
    name: 'incident own-money',
    usage: '--connection N --reason R [--dry-run]',
    about:
      "ends the open incidents of Pix that the provider has under no id of ours: the company's own money, of installations that opened one for each",
    options: { connection: { type: 'string' }, reason: { type: 'string' }, ...dryRunOption },
    run: async (edge, { values }) => {
      const wanted = { connection: required(values, 'connection'), reason: required(values, 'reason') };
      return atProviders(edge, 'incident own-money', (runtime, operator) =>
        postingAtProviders(
          values,
          { runtime, operator },
          (deps, person) => resolveOwnIncidents(deps, person, wanted),
          ownIncidentsAnswer,
        ),
      );
    },
  },
  {
    name: 'incident keep',
    usage: 'ID --reason R',
    about: 'keeps the money of an open incident from the account’s rule, until somebody resolves it',
    options: { reason: { type: 'string' } },
    operands: ['ID'],
    run: async (edge, { values, operands }) => {
      const id = uuid(operands[0] as string, 'ID');
      const reason = required(values, 'reason');
      return incidentAnswer(
        await onIncident(edge, 'incident keep', id, (operator) => keepIncident(operator, id, reason)),
      );
    },
  },
  {
    name: 'reconcile',
    usage: `[--account OWNER_ID] [--since TIME] [--accept ${doubts.join(',')} --reason R] [--dry-run]`,
    about:
      "compares with the provider's lists and posts what was missing; ends the pause after a restore. Exit code 3 when the lists are no evidence (`waitsFor`); with --accept a person ends the pause all the same",
    options: {
      account: { type: 'string' },
      since: { type: 'string' },
      accept: { type: 'string' },
      reason: { type: 'string' },
      ...dryRunOption,
    },
    run: async (edge, { values }) => {
      const accountId = optionalAccount(values);
      const accepted =
        values.accept === undefined
          ? undefined
          : { doubts: doubtsGiven(String(values.accept)), reason: reasonOf(required(values, 'reason')) };
      const sinceMs = values.since === undefined ? null : timeOf(String(values.since), '--since');
      const options = { accountId, sinceMs, ...(accepted && { accepted }) };
      return atProviders(edge, 'reconcile', async (runtime, operator) => {
        const cell = accountId === null ? undefined : await runtime.cells.ofAccount(accountId);
        return postingAtProviders(
          values,
          { runtime, operator: { ...operator, sql: cell?.sql ?? operator.sql } },
          (deps, person) => reconcile(deps, person, options),
          (result) => reconciledAnswer(result, accepted?.doubts ?? []),
        );
      });
    },
  },
  askable({
    name: 'payment returned',
    usage: 'ID --return D… [--amount-cents N --at TIME] --reason R [--break-glass] [--dry-run]',
    about:
      'a return that names no payment is that of the transfer ID: its merchant gets it. Amount and time come from its line of `statement list`, where there is one. At a terminal it shows the postings and asks. What moves more than one person may, where two operators could agree to it, only with --request or --break-glass',
    options: {
      return: { type: 'string' },
      'amount-cents': { type: 'string' },
      at: { type: 'string' },
      reason: { type: 'string' },
      ...breakGlassOption,
      ...dryRunOption,
    },
    operands: ['ID'],
    run: async (edge, { values, operands }) => {
      const cents = values['amount-cents'];
      const wanted = {
        paymentId: uuid(operands[0] as string, 'ID'),
        returnId: required(values, 'return'),
        amountCents: cents === undefined ? null : integer(String(cents), '--amount-cents'),
        at: values.at === undefined ? null : timeOf(String(values.at), '--at'),
        reason: required(values, 'reason'),
      };
      return atProviders(edge, 'payment returned', async (runtime, directory, context) => {
        const operator = await inCellOfPayment(runtime.cells, directory, wanted.paymentId);
        if (!operator) throw new OperatorRefused('no such transfer');
        const show = () => shownReturn(runtime, operator, wanted);
        const isDry = values['dry-run'] === true;
        const seen = isDry ? null : await confirmed(edge, show);
        const asked = {
          ...{ act: 'bookReturn' as const, subject: wanted.paymentId, body: returnBodyOf(wanted) },
          show: async () => seen ?? show(),
        };
        const agreed = isDry
          ? null
          : ((await agreedAtShell({ edge, context }, values, directory, asked)) ??
            (seen && { shown: seen.shown, mostCents: Number.MAX_SAFE_INTEGER }));
        return posting(
          values,
          operator,
          (one) =>
            agreed === null
              ? bookReturn(runtime, one, wanted)
              : bookReturnAsShown(runtime, one, wanted, agreed),
          returnAnswer,
        );
      });
    },
  }),
  {
    name: 'statement list',
    about:
      "lines of the provider's statement that could not be answered, the oldest first; they are looked up again",
    run: async (edge) => {
      const all = await onDatabase(edge, 'statement list', listOpenLines);
      const lines = all.map((line) => ({
        ...line,
        at: instant(line.at),
        firstSeenAt: instant(line.firstSeenAt),
        nextAt: instant(line.nextAt),
      }));
      const rows = lines.map((line) => [
        line.connection,
        line.kind,
        line.id,
        line.amountCents === null ? '-' : priceOf(line.amountCents),
        String(line.at),
        `${line.tries} tries`,
        line.problem ?? '-',
      ]);
      return {
        json: { lines },
        text: table(rows, 'no lines', ['connection', 'kind', 'line', 'amount', 'at', 'tried', 'problem']),
      };
    },
  },
  {
    name: 'statement dismiss',
    usage: 'KIND ID --reason R [--connection NAME]',
    about: 'ends the look-ups of a line of `statement list` that a person has dealt with; it posts nothing',
    options: { reason: { type: 'string' }, connection: { type: 'string' } },
    operands: ['KIND', 'ID'],
    run: async (edge, { values, operands }) => {
      const [kind, id] = operands as [OpenLine['kind'], string];
      const connection = String(values.connection ?? 'live');
      const reason = required(values, 'reason');
      await asOperator(edge, 'statement dismiss', (operator) =>
        dismissLine(operator, connection, { kind, id }, reason),
      );
      return { json: { connection, kind, id }, text: `dismissed ${kind} ${id}` };
    },
  },
  {
    name: 'unread list',
    about: 'items that a provider sent and that cannot be read, the oldest first; they are asked for again',
    run: async (edge) => {
      const all = await onDatabase(edge, 'unread list', listUnread);
      const items = all.map((item) => ({
        ...item,
        firstSeenAt: instant(item.firstSeenAt),
        seenAt: instant(item.seenAt),
      }));
      const rows = items.map((item) => [
        item.id,
        item.connection,
        item.kind,
        item.reference,
        String(item.firstSeenAt),
        `${item.tries} tries`,
      ]);
      return {
        json: { items },
        text: table(rows, 'no items', ['item', 'connection', 'kind', 'reference', 'first seen', 'tried']),
      };
    },
  },
  {
    name: 'unread show',
    usage: 'ID',
    about: 'an item of `unread list` as it came: it may hold names, documents and Pix keys',
    operands: ['ID'],
    run: async (edge, { operands }) => {
      const id = uuid(operands[0] as string, 'ID');
      const body = await onDatabase(edge, 'unread show', (context) => showUnread(context, id));
      return { json: { id, body }, text: body };
    },
  },
  {
    name: 'unread dismiss',
    usage: 'ID --reason R',
    about: 'a person has dealt with an item of `unread list`: it opens no incident; it posts nothing',
    options: { reason: { type: 'string' } },
    operands: ['ID'],
    run: async (edge, { values, operands }) => {
      const id = uuid(operands[0] as string, 'ID');
      const reason = required(values, 'reason');
      await asOperator(edge, 'unread dismiss', (operator) => dismissUnread(operator, id, reason));
      return { json: { id }, text: `dismissed ${id}` };
    },
  },
  {
    name: 'provider balance',
    usage: '[--connection NAME]',
    about: "the provider's balance of its account, and what of it is blocked",
    options: { connection: { type: 'string' } },
    run: async (edge, { values }) => {
      const given = values.connection === undefined ? null : String(values.connection);
      const told = await atProviders(edge, 'provider balance', async ({ providers }) => {
        const names = [...providers.keys()];
        // Without a name it is the connection of the environment, or the only one.
        const connection = given ?? (names.length === 1 ? names[0] : 'live') ?? 'live';
        const provider = providers.get(connection);
        if (!provider)
          throw new OperatorRefused(`no connection ${connection}; --connection takes ${names.join(', ')}`);
        const { availableCents, blocked } = await provider.balance();
        return { connection, availableCents, blocked };
      });
      const rows = [
        ['available', priceOf(told.availableCents)],
        ...Object.entries(told.blocked ?? {}).map(([name, cents]) => [`blocked: ${name}`, priceOf(cents)]),
      ];
      return { json: told, text: table(rows, '') };
    },
  },
  {
    name: 'backup',
    usage: 'FILE',
    about: 'a consistent copy of the database, also while the service runs; FILE must not exist yet',
    operands: ['FILE'],
    run: async (edge, { operands }) => {
      const file = operands[0] as string;
      const { backup } = await import('../../store/database/backup.ts');
      const done = await backup(edge, file);
      edge.say('vintem: the copy is encrypted under VINTEM_SECRET, which is not in it: keep that apart');
      const rows = done.tables.reduce((sum, one) => sum + one.rows, 0);
      return {
        json: { file, ...done },
        text: [
          `${file}: ${rows} rows of ${done.tables.length} tables, ${done.bytes} bytes`,
          `sha256 ${done.sha256}`,
          'after `account move`, `account route` or `connection create`, `set` or `rotate`, make another copy: this one does not know them',
        ].join('\n'),
      };
    },
  },
  {
    name: 'restore',
    usage: 'FILE',
    about:
      'brings a backup into an empty database while nothing else works on it; withdrawals stay paused until `vintem reconcile`',
    operands: ['FILE'],
    run: async (edge, { operands }) => {
      const file = operands[0] as string;
      const { clock, ids } = edge;
      const { restore } = await import('../../store/database/restore.ts');
      let inForce: InForceAgain = { keys: [], people: [] };
      let bindings: Binding[] = [];
      const done = await restore(edge, file, async (tx, copy) => {
        inForce = await markRestored(tx, { clock, ids, actor: userName() }, copy);
        bindings = await findBindings(tx);
      });
      const { keys, people } = inForce;
      return {
        json: { file, ...done, withdrawalsPaused: true, keys, people, bindings },
        text: [
          `restored ${done.rows} rows, as they were on ${done.createdAt}`,
          ...bindingLines(bindings),
          `connections made or changed, and accounts moved or routed since ${done.createdAt}, are missing: make them again first (docs/operators/backup.md)`,
          'withdrawals are paused: start the service, then run `vintem reconcile`',
          ...inForceLines(inForce),
        ].join('\n'),
      };
    },
  },
  {
    name: 'verify',
    usage: '[--account OWNER_ID] [--full] [--anchor FILE]',
    about:
      'examines every invariant over the stored data, from the last checkpoints on or in full; with an anchor, in full and against the heads in FILE, which is written when it does not exist. Exit code 3 when one is broken',
    options: { account: { type: 'string' }, full: { type: 'boolean' }, anchor: { type: 'string' } },
    run: async (edge, { values }) => {
      const accountId = optionalAccount(values);
      const file = typeof values.anchor === 'string' ? values.anchor : null;
      const anchor = file === null ? null : await anchorOf(file);
      const full = values.full === true || file !== null;
      return onAll(edge, 'verify', accountId, async (context) => {
        const identity = await identityOf(context);
        const all = await cellsOf(context);
        const own = accountId === null ? undefined : await context.cells.ofAccount(accountId);
        const cells = accountId === null ? all : [own ?? { cell: homeCell, sql: context.sql }];
        const result = await verifyCells(cells, context.clock, {
          accountId,
          full,
          anchor,
          idOf: (account, requestKey) => paymentIdFor(identity, account, requestKey),
        });
        for (const found of result.cells) await recordFound(context, found);
        if (accountId === null) await noteVerified(context.sql, context.clock.now(), result.ok);
        if (result.ok && file !== null && anchor === null) await keepAnchor(file, result.anchor);
        return verifyAnswer(result);
      });
    },
  },
];

/**
 * Shows the person at a terminal what an act would write, and asks; what is written then is that and nothing else.
 * @returns null: no terminal is there to ask at
 * @throws OperatorRefused the person did not say yes
 */
async function confirmed<Shown extends { postings: readonly PlannedPosting[] }>(
  { say, confirm }: Pick<Edge, 'say' | 'confirm'>,
  show: () => Promise<Shown>,
): Promise<Shown | null> {
  if (!confirm) return null;
  const seen = await show();
  say(plannedText(seen.postings));
  if (!(await confirm('This is what is written.'))) throw new OperatorRefused('nothing was written');
  return seen;
}

const bindingLines = (bindings: readonly Binding[]): string[] =>
  bindings.map(
    ({ connection, state, accounts, routed }) =>
      `connection ${connection}, ${state}: ${accounts} accounts${routed > 0 ? `, ${routed} more send charges to it when their own takes none` : ''}`,
  );

export function operatorOf({ sql, clock, ids, log }: Context): Operator {
  return { sql, clock, ids, log, actor: userName() };
}

function userName(): string {
  // sudo names the person here.
  const { SUDO_USER } = process.env;
  if (SUDO_USER) return SUDO_USER;
  try {
    return userInfo().username;
  } catch {
    // A user without a name, as containers have them.
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}

/** For what needs the providers themselves. */
export const atProviders = <T>(
  edge: Edge,
  command: string,
  work: (runtime: Runtime, operator: Operator, context: Context) => Promise<T>,
): Promise<T> =>
  onDatabase(edge, command, async (context) => {
    const [{ openRuntime }, { createUndiciNet }] = await Promise.all([
      import('../runtime.ts'),
      import('../../ports/undici-net.ts'),
    ]);
    const net = createUndiciNet();
    try {
      const runtime = await openRuntime({ ...context, net }, new AbortController().signal);
      try {
        const done = await work(runtime, operatorOf(context), context);
        for (const { till } of runtime.cells.all()) await till.idle();
        return done;
      } finally {
        await runtime.cells.close();
      }
    } finally {
      await net.close();
    }
  });

export const asOperator = <T>(
  edge: Edge,
  command: string,
  work: (operator: Operator) => Promise<T>,
): Promise<T> => onDatabase(edge, command, (context) => work(operatorOf(context)));

const onOperation = <T>(
  edge: Edge,
  command: string,
  operationId: string,
  work: (context: Context) => Promise<T>,
): Promise<T> => onCellWith(edge, command, (sql) => findAccountOf(sql, operationId), work);

const onIncident = <T>(
  edge: Edge,
  command: string,
  id: string,
  work: (operator: Operator, places: { context: Context; directory: Context }) => Promise<T>,
): Promise<T> =>
  onCellWith(
    edge,
    command,
    (sql) => findIncident(sql, id),
    async (context, directory) => work(await inAllCells(context), { context, directory }),
  );

/** Of a cell, with the databases of all of them. */
async function inAllCells(context: Context): Promise<Operator> {
  const everyCell = (await cellsOf(context)).map(({ sql }) => sql);
  return { ...operatorOf(context), everyCell };
}

/** An incident without an account in the cell is one of the installation. */
async function recordFound(context: Context, { cell, checks }: CellChecks): Promise<void> {
  const found = divergencesOf(checks);
  if (found.length === 0) return;
  const sql = (await cellsOf(context)).find((one) => one.cell === cell)?.sql ?? context.sql;
  const stands = new Map(
    (
      await findCellsOf(
        sql,
        found.flatMap(({ accountId }) => accountId ?? []),
      )
    ).map((one) => [one.id, one.cell]),
  );
  const isOwn = ({ accountId }: DivergenceFound): boolean =>
    accountId !== null && stands.get(accountId) === cell;
  const elsewhere = found.filter((one) => !isOwn(one)).map((one) => ({ ...one, accountId: null }));
  await recordDivergences(operatorOf({ ...context, sql }), found.filter(isOwn));
  await recordDivergences(operatorOf(context), elsewhere);
}

/** The secret under which payment ids are made. */
export async function identityOf({ sql }: Context): Promise<Buffer> {
  const [installation] = await sql.run<{ identity: Buffer }>({
    name: 'verify_identity',
    text: 'SELECT identity_secret AS identity FROM installation',
  });
  if (!installation) throw new Error('the installation has no row: its migrations have not run');
  return installation.identity;
}

function changeOf(values: CommandInput['values']): ConditionChange {
  const change: Record<string, number | boolean | string | string[] | null> = {};
  for (const [option, value] of Object.entries(values)) {
    if (typeof value !== 'string') continue;
    if (option === 'refund-fees') {
      const rule = refundFees.find((one) => one === value);
      if (!rule) throw new UsageFault(`--refund-fees takes ${refundFees.join(' or ')}`);
      change.refundFees = rule;
      continue;
    }
    if (option === 'card-connection') {
      change.cardConnection = value === 'none' ? null : value;
      continue;
    }
    if (option === 'return-hosts') {
      change.returnHosts = value === 'none' ? [] : value.split(',');
      continue;
    }
    const name = option.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const isSwitch = name === 'enabled' || name === 'withdrawalsBlocked';
    if (isSwitch && value !== 'true' && value !== 'false') {
      throw new UsageFault(`--${option} takes true or false`);
    }
    change[name] = isSwitch ? value === 'true' : integer(value, `--${option}`);
  }
  if (Object.keys(change).length === 0) throw new UsageFault('needs something to change');
  return change;
}

const shownHold = (hold: HoldView) => ({
  ...hold,
  placedAt: instant(hold.placedAt),
  releasedAt: instant(hold.releasedAt),
});

function holdAnswer(hold: HoldView): Answer {
  const { id, amountCents, capturedCents, releasedAt } = hold;
  const text =
    releasedAt === null
      ? `hold ${id}: ${priceOf(capturedCents)} of ${priceOf(amountCents)} captured`
      : `released ${id}`;
  return { json: shownHold(hold), text };
}

/** Keys and people that were revoked or removed in a lost time are in force again. */
const inForceLines = ({ keys, people }: InForceAgain): string[] => [
  'in force again, also if revoked or removed since; revoke them before `vintem reconcile` ends the pause:',
  ...keys.map((key) => `  key ${key.id} of ${key.accountId}: ${key.permissions.join(',')} ${key.name}`),
  ...people.map(({ email, accountId, role }) => `  ${role} ${email} of ${accountId}, frozen for 24 hours`),
];

function doubtsGiven(text: string): Doubt[] {
  const given = text.split(',');
  const found = doubts.filter((doubt) => given.includes(doubt));
  if (found.length !== given.length) throw new UsageFault(`--accept takes ${doubts.join(', ')}`);
  return found;
}

function pauseAnswer({ paused, reason, pausedAt }: PauseView): Answer {
  return {
    json: { paused, reason, pausedAt: instant(pausedAt) },
    text: paused ? `withdrawals are paused: ${reason}` : 'withdrawals are running',
  };
}

function reconciledAnswer(result: Reconciled, accepted: readonly Doubt[]): Answer {
  const { since, countsFrom } = result;
  const json = {
    ...{ ...result, since: instant(since) },
    countsFrom: countsFrom === null ? null : instant(countsFrom),
  };
  return {
    json,
    text: facts(json),
    exitCode: result.waitsFor.every((doubt) => accepted.includes(doubt)) ? 0 : 3,
  };
}

function returnAnswer(done: BookedReturn): Answer {
  const json = { ...done, at: instant(done.at) };
  return { json, text: facts(json) };
}

const ownIncidentsAnswer = (json: OwnIncidents): Answer => ({
  json,
  text: [
    `${json.resolved} incidents over ${priceOf(json.resolvedCents)} are resolved, ${json.left.length} are left`,
    ...json.left.map(({ id, why }) => `${id}  ${why}`),
  ].join('\n'),
});

const shownIncident = (incident: IncidentView) => ({
  ...incident,
  openedAt: instant(incident.openedAt),
  resolvedAt: instant(incident.resolvedAt),
  keptAt: instant(incident.keptAt),
});

function incidentAnswer(incident: IncidentView): Answer {
  const json = shownIncident(incident);
  return { json, text: facts(json) };
}

/** Null when there is no such file yet. */
async function anchorOf(file: string): Promise<Anchor | null> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const anchor = readAnchor(text);
  if (!anchor) throw new UsageFault(`--anchor: ${file} is no anchor`);
  return anchor;
}

/** Never overwrites a file: an anchor is evidence only while it cannot be replaced. */
const keepAnchor = (file: string, anchor: Anchor): Promise<void> =>
  writeFile(file, `${JSON.stringify(anchor)}\n`, { flag: 'wx', mode: 0o600 });

function verifyAnswer({ ok, checks }: Awaited<ReturnType<typeof verifyCells>>): Answer {
  const rows = checks.map((check) => [
    check.ok ? 'ok' : 'BROKEN',
    String(check.number),
    String(check.examined),
    check.name,
  ]);
  const broken = checks.flatMap(({ number, violations }) =>
    violations.map(({ accountId, operationId, paymentId, fault }) => {
      const where = paymentId ?? operationId ?? accountId ?? 'the installation';
      return `${number}: ${where}: ${fault}`;
    }),
  );
  return {
    json: { ok, checks },
    text: [table(rows, ''), ...broken].join('\n'),
    exitCode: ok ? 0 : 3,
  };
}
