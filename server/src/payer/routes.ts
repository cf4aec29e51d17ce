import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { stopReminders } from '../api/due-charges/reminders.ts';
import { chargesByLinks } from '../api/links/charge-of-link.ts';
import { callerNetwork } from '../edge/caller-address.ts';
import { compressed } from '../edge/compress.ts';
import { connectionsMost } from '../edge/connection-shares.ts';
import { type CellOf, onceForCell } from '../edge/edge.ts';
import { eventStreamHeaders } from '../edge/event-stream.ts';
import { turnInTime } from '../edge/request-turns.ts';
import type { AcceptDeps } from '../flow/accept.ts';
import { ApiError, errorBody, type Language, languageOf, refuse } from '../ground/errors.ts';
import type { Log } from '../ground/log.ts';
import type { PageAddresses, PageSubject } from '../ground/page-address.ts';
import type { Papers } from '../ground/paper/papers.ts';
import { findLinkPage } from '../kinds/link/link-page.ts';
import type { Payment } from '../money/payment.ts';
import type { Clock } from '../ports/clock.ts';
import { isUnavailable, type Sql } from '../ports/sql.ts';
import { qrPngDataUrl } from '../provider/qr.ts';
import { findReminded } from '../store/rows/charge-reminders.sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import { findLetterhead } from '../store/rows/profile.sql.ts';
import { formOfJson, formOfPage } from './form.ts';
import {
  chargePage,
  emptyPage,
  linkPage,
  type PageFrame,
  type Refused,
  receiptProofPage,
  refundProofPage,
  remindersPage,
} from './html.ts';
import { findLogo, findPublicPayment, findPublicRefund, findSeller } from './pages.sql.ts';
import { payerReceipt } from './receipt.ts';
import { returnOf } from './state.ts';
import { createPageWatch } from './watch.ts';
import { words } from './words.ts';

/** The parts of a cell that public pages need. */
export interface PayerCell {
  sql: Sql;
  /** The payment of a payer who comes back from the acquirer's page, as the acquirer reports it. Never fails for the acquirer. */
  refreshReturned(payment: Payment): Promise<Payment>;
  clock: Clock;
  log: Log;
  papers: Papers;
  draining: AbortSignal;
}

export interface PayerDeps {
  pages: PageAddresses;
  clock: Clock;
  /** @throws ApiError `rate_limited`; by the caller's address, before a token is looked at */
  limit(request: FastifyRequest): void;
  /**
   * @param creates whether a charge is made
   * @throws ApiError `overloaded`
   */
  shed(creates: boolean): void;
  /** The cell of an account; undefined: no account has this number. */
  cellOfNumber(accountNumber: number): Promise<{ cell: string } | undefined>;
  draining: AbortSignal;
  log: Log;
}

/** A form of a page has no more than a name, an amount and two keys. */
const formBytesMost = 4 * 1024;
/** For styles and scripts, which pages name with a hash of their content. */
const keptForAYear = 'public, max-age=31536000, immutable';

/** Nothing from elsewhere, nothing inline, no frame around it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const fileOf = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/**
 * Of browsers that know no variables, the light colours: each declaration that names one stands twice. The style sheet has one declaration a line, and the
 * light colours in its first block.
 */
function withFallbacks(css: string): string {
  const lines = css.split('\n');
  const light = new Map<string, string>();
  for (const line of lines.slice(1, lines.indexOf('}'))) {
    const colon = line.indexOf(': ');
    light.set(line.slice(line.indexOf('--'), colon), line.slice(colon + 2, -1));
  }
  return lines
    .map((line) => {
      const at = line.indexOf('var(');
      if (at < 0 || !line.endsWith(');')) return line;
      const value = light.get(line.slice(at + 'var('.length, -2)) ?? 'inherit';
      return `${line.slice(0, at)}${value};${line.trimStart()}`;
    })
    .join('\n');
}

/** Streams of one address at once: a telephone network shows many payers as one. The page of one more asks every four seconds. */
const streamsPerNetwork = 50;
/** The rest is for merchants and for what is no stream. */
const streamsMost = Math.floor((2 * connectionsMost) / 3);
/** The browser begins a new one by itself. */
const streamLastsMs = 15 * 60_000;
const unreadMost = 4 * 1024;

/** The form as it was sent, with the reason in words for a person. */
function refusedForm(
  error: ApiError,
  fields: URLSearchParams,
  language: Language,
  requestId: string,
): Refused {
  const { message } = errorBody(error, language, requestId);
  return {
    message: typeof message === 'string' ? message : words[language].badForm,
    amount: fields.get('amount') ?? '',
    payerName: fields.get('payerName') ?? '',
    payerDocument: fields.get('payerDocument') ?? '',
  };
}

const readByPeople: ReadonlySet<string> = new Set(['/pay/:token', '/pay/:token/back']);

type Query = { lang?: string; v?: string; colour?: string };

/**
 * The public pages below `/pay`: a charge to its payer, a payment link, and what a receipt is worth today. A GET creates nothing, whatever opens it: previews
 * of links and scanners of mail do. The form of a link makes its charge. No cookie is set or read.
 */
export function payerRoutes(
  app: FastifyInstance,
  deps: PayerDeps,
  cellOf: CellOf<PayerCell & AcceptDeps>,
): void {
  const watchOf = onceForCell(cellOf, createPageWatch);
  const chargesOf = onceForCell(cellOf, chargesByLinks);
  const css = withFallbacks(fileOf('page.css'));
  const script = fileOf('page.js');
  const assets = createHash('sha256').update(css).update(script).digest('hex').slice(0, 12);
  const { host } = new URL(deps.pages.base);

  const languageFor = (request: FastifyRequest): Language => {
    const { lang } = request.query as Query;
    return lang === 'en' || lang === 'pt-BR' ? lang : languageOf(request.headers['accept-language'], 'pt-BR');
  };
  const frameOf = (request: FastifyRequest): PageFrame => ({
    language: languageFor(request),
    path:
      request.url
        .split('?', 1)[0]
        ?.replace(/\/$/, '')
        .replaceAll(/["'<>&]/g, '') ?? '',
    host,
    assets,
    now: deps.clock.now(),
  });
  const html = (reply: FastifyReply, frame: PageFrame, text: string) =>
    reply
      .header('content-language', frame.language)
      .type('text/html; charset=utf-8')
      .send(compressed(reply.request, reply, text));

  /** @throws ApiError `route_not_found` for what leads nowhere, whatever the reason */
  async function subjectOf(
    request: FastifyRequest,
  ): Promise<{ subject: PageSubject; holder: { cell: string } }> {
    const subject = deps.pages.read((request.params as { token: string }).token);
    // Of each seller in a line of their own: a crowd at one link delays the payers of no other.
    if (subject) request.waitsAs = `payers of ${subject.accountNumber}`;
    const holder = subject && (await deps.cellOfNumber(subject.accountNumber));
    if (!subject || !holder) throw refuse('route_not_found');
    return { subject, holder };
  }

  /**
   * That of the seller: a crowd at one link delays the payers of no other. Addresses that lead nowhere are in that of their caller.
   * @throws ApiError `overloaded`
   */
  function takeTurn(request: FastifyRequest): Promise<void> {
    const { token = '' } = request.params as { token?: string };
    const subject = deps.pages.read(token);
    const turn = subject
      ? app.turns.ofPayer(subject.accountNumber)
      : app.turns.ofStranger(callerNetwork(request));
    return turnInTime(deps.clock, request, turn);
  }

  const pathOf = (kind: PageSubject['kind'], accountNumber: number, id: string): string =>
    deps.pages.of(kind, accountNumber, id).slice(deps.pages.base.length);

  /** @throws ApiError `route_not_found` */
  async function linkPageOf(
    { sql, ids }: AcceptDeps,
    { accountNumber, id }: PageSubject,
    frame: PageFrame,
    refused: Refused | null = null,
  ): Promise<string> {
    const [seller, link] = await Promise.all([
      findSeller(sql, accountNumber),
      findLinkPage(sql, accountNumber, id, deps.clock.now()),
    ]);
    if (!seller || !link) throw refuse('route_not_found');
    return linkPage(seller, link, ids.uuid(), frame, refused);
  }

  /** @throws ApiError `route_not_found` */
  async function remindersPageOf(
    { sql }: AcceptDeps,
    { accountNumber, id }: PageSubject,
    frame: PageFrame,
    what: 'ask' | 'done',
  ): Promise<string> {
    const [seller, reminded] = await Promise.all([
      findSeller(sql, accountNumber),
      findReminded(sql, accountNumber, id),
    ]);
    if (!seller || !reminded) throw refuse('route_not_found');
    return remindersPage(seller, what, frame);
  }

  /** The charge of a link, as the answer to a program: nothing of the account's books. */
  const chargeView = async (
    { id, status, amountCents, copyPaste, expiresAt, card }: Payment,
    accountNumber: number,
  ) => ({
    ...{ id, status, amountCents, copyPaste },
    method: card === null ? 'pix' : 'card',
    ...(card?.url && status === 'pending' && { checkoutUrl: deps.pages.of('checkout', accountNumber, id) }),
    qrCodeBase64: copyPaste === null ? null : await qrPngDataUrl(copyPaste),
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    payerUrl: deps.pages.of('charge', accountNumber, id),
  });

  async function chargeOf(request: FastifyRequest) {
    const { subject, holder } = await subjectOf(request);
    const payment =
      subject.kind === 'charge' ? await findPublicPayment(cellOf(holder).sql, subject) : undefined;
    if (payment?.kind !== 'deposit') throw refuse('route_not_found');
    return { payment, subject, cell: cellOf(holder) };
  }

  app.register(
    async (pay) => {
      pay.addHook('onRequest', (request, reply, done) => {
        reply.headers({
          'x-robots-tag': 'noindex',
          'content-security-policy': policy,
          vary: 'accept-language',
        });
        deps.limit(request);
        deps.shed(request.method === 'POST');
        done();
      });
      pay.addHook('onRequest', takeTurn);
      pay.setErrorHandler((error, request, reply) => {
        // A page is read by a person; its state, stream and files are not.
        if (!readByPeople.has(request.routeOptions.url ?? '')) throw error;
        const frame = frameOf(request);
        const code = error instanceof ApiError ? error.code : null;
        if (code === 'route_not_found') return html(reply.code(404), frame, emptyPage('notFound', frame));
        if (error instanceof ApiError) {
          const seconds = error.options.retryAfterSeconds;
          if (seconds !== undefined) reply.header('retry-after', seconds);
          const kind = error.status === 429 ? 'tooMany' : 'broken';
          return html(reply.code(error.status), frame, emptyPage(kind, frame));
        }
        if (isUnavailable(error))
          deps.log.warn({ err: error, requestId: request.id }, 'the database is unavailable');
        else deps.log.error({ err: error, requestId: request.id }, 'a page of a payer failed');
        return html(reply.code(503).header('retry-after', 1), frame, emptyPage('broken', frame));
      });

      // Behind the hooks of a page: an address that leads nowhere is no more for an index than one that leads somewhere.
      const nowhere = (request: FastifyRequest, reply: FastifyReply) => {
        const frame = frameOf(request);
        return html(reply.code(404), frame, emptyPage('notFound', frame));
      };
      pay.get('/', { prefixTrailingSlash: 'no-slash' }, nowhere);
      pay.get('/*', nowhere);
      pay.setNotFoundHandler(nowhere);

      pay.get('/style.css', (request, reply) => {
        const { colour = '' } = request.query as Query;
        const own = /^[0-9a-f]{6}$/.test(colour) ? `:root{--accent:#${colour}}\n` : '';
        return reply
          .header('cache-control', keptForAYear)
          .type('text/css; charset=utf-8')
          .send(compressed(request, reply, css + own));
      });
      pay.get('/page.js', (request, reply) =>
        reply
          .header('cache-control', keptForAYear)
          .type('text/javascript; charset=utf-8')
          .send(compressed(request, reply, script)),
      );

      pay.get('/:token', async (request, reply) => {
        const frame = frameOf(request);
        const { subject, holder } = await subjectOf(request);
        const cell = cellOf(holder);
        const { sql } = cell;
        if (subject.kind === 'refundReceipt') {
          const refund = await findPublicRefund(sql, subject);
          if (!refund) throw refuse('route_not_found');
          return html(reply, frame, refundProofPage(refund, frame));
        }
        if (subject.kind === 'reminders')
          return html(reply, frame, await remindersPageOf(cell, subject, frame, 'ask'));
        if (subject.kind === 'link') return html(reply, frame, await linkPageOf(cell, subject, frame));
        const payment = await findPublicPayment(sql, subject);
        if (payment && subject.kind === 'receipt')
          return html(reply, frame, receiptProofPage(payment, frame));
        if (payment?.kind !== 'deposit') throw refuse('route_not_found');
        const { accountNumber, id } = subject;
        if (subject.kind === 'checkout') {
          const { cardUrl, status } = payment;
          const toAcquirer = status === 'pending' && cardUrl !== null;
          return reply.redirect(toAcquirer ? cardUrl : pathOf('charge', accountNumber, id), 303);
        }
        if (subject.kind !== 'charge') throw refuse('route_not_found');
        const { paymentLinkId } = payment;
        const to = {
          card: pathOf('checkout', accountNumber, id),
          proof: pathOf('receipt', accountNumber, id),
          link: paymentLinkId === null ? null : pathOf('link', accountNumber, paymentLinkId),
          formKey: cell.ids.uuid(),
        };
        return html(reply, frame, chargePage(payment, to, frame));
      });

      pay.addContentTypeParser<Buffer>(
        'application/x-www-form-urlencoded',
        { parseAs: 'buffer', bodyLimit: formBytesMost },
        (_request, body, done) => done(null, new URLSearchParams(body.toString())),
      );

      // Programs that read mail send the press on "unsubscribe" so (RFC 8058); nothing in it is read.
      pay.addContentTypeParser<Buffer>(
        'multipart/form-data',
        { parseAs: 'buffer', bodyLimit: formBytesMost },
        (_request, _body, done) => done(null, null),
      );

      pay.post('/:token', async (request, reply) => {
        const frame = frameOf(request);
        const { subject, holder } = await subjectOf(request);
        const cell = cellOf(holder);
        if (subject.kind !== 'reminders') throw refuse('route_not_found');
        if (!(await stopReminders(cell, subject.accountNumber, subject.id))) throw refuse('route_not_found');
        return html(reply, frame, await remindersPageOf(cell, subject, frame, 'done'));
      });

      pay.post('/:token/charge', async (request, reply) => {
        const { subject, holder } = await subjectOf(request);
        if (subject.kind !== 'link') throw refuse('route_not_found');
        const cell = cellOf(holder);
        const { accountNumber } = subject;
        const fields = request.body instanceof URLSearchParams ? request.body : null;
        try {
          const { formKey, ...form } = fields === null ? formOfJson(request.body) : formOfPage(fields);
          const given = Object.fromEntries(Object.entries(form).filter(([, value]) => value !== null));
          const payment = await chargesOf(holder)(
            subject,
            { formKey: formKey ?? cell.ids.uuid(), requestId: request.id, ...given },
            callerNetwork(request),
          );
          if (fields === null) return reply.code(201).send(await chargeView(payment, accountNumber));
          return reply.redirect(
            `${pathOf('charge', accountNumber, payment.id)}?lang=${languageFor(request)}`,
            303,
          );
        } catch (error) {
          if (fields === null || !(error instanceof ApiError)) throw error;
          const frame = { ...frameOf(request), path: pathOf('link', accountNumber, subject.id) };
          const refused = refusedForm(error, fields, frame.language, request.id);
          const seconds = error.options.retryAfterSeconds;
          if (seconds !== undefined) reply.header('retry-after', seconds);
          return html(reply.code(error.status), frame, await linkPageOf(cell, subject, frame, refused));
        }
      });

      // The way back from an acquirer's page. Its word proves nothing: the acquirer is asked.
      pay.get('/:token/back', async (request, reply) => {
        const { payment, subject, cell } = await chargeOf(request);
        const { accountNumber, id } = subject;
        if (!payment.byCard) throw refuse('route_not_found');
        const [row] = await payments.read(cell.sql, [paymentKey(payment.accountId, id)]);
        if (row) await cell.refreshReturned(row);
        const seen = (await findPublicPayment(cell.sql, subject)) ?? payment;
        const { how = '' } = request.query as { how?: string };
        return reply.redirect(returnOf(seen, how) ?? pathOf('charge', accountNumber, id), 303);
      });

      pay.get('/:token/logo.png', async (request, reply) => {
        const { subject, holder } = await subjectOf(request);
        const logo = await findLogo(cellOf(holder).sql, subject.accountNumber);
        if (!logo) throw refuse('route_not_found');
        return reply.type('image/png').send(logo);
      });

      pay.get('/:token/state', async (request) => {
        const { subject, holder } = await subjectOf(request);
        const version = subject.kind === 'charge' ? await watchOf(holder).versionOf(subject) : null;
        if (version === null) throw refuse('route_not_found');
        return { state: version.split('.', 1)[0], version };
      });

      pay.get('/:token/receipt.pdf', async (request, reply) => {
        const { payment, subject, cell } = await chargeOf(request);
        if (payment.status !== 'paid' || payment.byCard) throw refuse('route_not_found');
        const language = languageFor(request);
        const proof = deps.pages.of('receipt', subject.accountNumber, subject.id);
        const letterhead = await findLetterhead(cell.sql, payment.accountId);
        const sheet = payerReceipt(payment, letterhead, proof, language);
        const pdf = await cell.papers.sheet(`payers of ${payment.accountId}`, sheet);
        return reply
          .type('application/pdf')
          .header('content-disposition', `attachment; filename="comprovante-${payment.id}.pdf"`)
          .send(pdf);
      });

      const streams = new Map<string, number>();
      let all = 0;
      pay.get('/:token/events', async (request, reply) => {
        const { subject, holder } = await subjectOf(request);
        const network = callerNetwork(request);
        const own = streams.get(network) ?? 0;
        if (subject.kind !== 'charge') throw refuse('route_not_found');
        // 204 ends an EventSource without an error of its own: the page asks for the state from then on.
        if (own >= streamsPerNetwork || all >= streamsMost || deps.draining.aborted)
          return reply.code(204).send();
        all++;
        streams.set(network, own + 1);
        let left = false;
        const leave = (): void => {
          if (left) return;
          left = true;
          all--;
          const rest = (streams.get(network) ?? 1) - 1;
          if (rest === 0) streams.delete(network);
          else streams.set(network, rest);
        };
        const { raw } = reply;
        raw.once('close', leave);
        const until = deps.clock.monotonicMs() + streamLastsMs;
        let stop: (() => void) | null = null;
        const end = (): void => {
          leave();
          stop?.();
          raw.end();
        };
        const lines: string[] = ['retry: 3000\n\n'];
        let begun = false;
        const write = (line: string): void => {
          if (!begun) {
            lines.push(line);
            return;
          }
          raw.write(line);
          if (raw.writableLength > unreadMost) {
            end();
            raw.destroy();
          }
        };
        try {
          stop = await watchOf(holder).listen(subject, {
            changed: (version) => write(`data: ${version}\n\n`),
            beat: () => (deps.clock.monotonicMs() > until ? end() : write(': \n\n')),
            end,
          });
        } catch (error) {
          leave();
          throw error;
        }
        if (stop === null) {
          leave();
          throw refuse('route_not_found');
        }
        if (raw.destroyed) {
          stop();
          return reply;
        }
        raw.once('close', stop);
        reply.hijack();
        raw.writeHead(200, {
          ...(reply.getHeaders() as Record<string, string>),
          'content-type': 'text/event-stream',
          ...eventStreamHeaders,
        });
        begun = true;
        raw.write(lines.join(''));
        return reply;
      });
    },
    { prefix: '/pay' },
  );
}
