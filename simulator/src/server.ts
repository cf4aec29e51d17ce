import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { cardOf } from './cards.ts';
import { control, pageCharge, pageData, plainId } from './control.ts';
import type { Desk, Request } from './desk.ts';
import { dialects } from './dialects.ts';
import { isForm } from './form.ts';
import { oddAnswer } from './odd-wire.ts';
import type { OpenDesk } from './open-desk.ts';
import { type Outcome, unknownCall, unreadable } from './provider-api.ts';
import type { Reply } from './reply.ts';
import { isReached } from './webhooks.ts';

/**
 * The HTTP edge on node:http alone. A framework's routing, schemas and replies cost about as much per request as
 * everything that happens here, and this server shares its two cores with the benchmark that uses it.
 */
export function createHttpServer({
  hostNames,
  deskAt,
}: {
  hostNames: readonly string[];
  /** The provider at the root, or the one whose name a path begins with; undefined when there is none. */
  deskAt: (name: string) => OpenDesk | undefined;
}): Server {
  const ownNames = new Set(['localhost', '127.0.0.1', '[::1]', ...hostNames]);
  const server = createServer((incoming, response) => {
    // Another site's name may be made to point here (DNS rebinding): its pages could pay and read everything.
    if (!ownNames.has(nameOf(incoming.headers.host ?? ''))) {
      send(response, unreadable('Este endereço não é deste servidor.', 421));
      return;
    }
    readBody(incoming, (body) => {
      const respond = ({ outcome, asked }: ReturnType<typeof answer>): void => {
        if (outcome === 'hang') return;
        // Nothing goes out, not even the end of the connection, before its content is in the journal.
        (asked?.whenWritten ?? atOnce)(() => {
          if (outcome === 'drop') incoming.socket.destroy();
          else send(response, outcome);
        });
      };
      if (!mayRegister(incoming)) respond(answer(deskAt, incoming, body));
      else
        void refusedTrial(deskAt, incoming, body).then((refused) =>
          respond(refused ?? answer(deskAt, incoming, body)),
        );
    });
  });
  // Longer than any client keeps an idle connection: otherwise a request could meet the closing of its own.
  server.keepAliveTimeout = 120_000;
  return server;
}

/** A Host header without its port. */
const nameOf = (host: string): string => host.toLowerCase().replace(/:\d{1,5}$/, '');

const largestBodyBytes = 64 * 1024;
/** With a file of 10 MiB. */
const largestFormBytes = 11 * 1024 * 1024;

function readBody(incoming: IncomingMessage, done: (body: string | undefined) => void): void {
  const parts: Buffer[] = [];
  let bytes = 0;
  const form = isForm(incoming.headers);
  const most = form ? largestFormBytes : largestBodyBytes;
  const encoding = form ? 'latin1' : 'utf8';
  incoming.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes <= most) parts.push(part);
  });
  incoming.on('end', () => {
    if (bytes > most) done(undefined);
    else
      done(
        parts.length === 1
          ? (parts[0] as Buffer).toString(encoding)
          : Buffer.concat(parts).toString(encoding),
      );
  });
  // A request that broke off was never seen whole: it has no answer.
  incoming.on('error', () => {});
}

const atOnce = (callback: () => void): void => callback();

const mayRegister = ({ method, url }: IncomingMessage): boolean =>
  method !== 'GET' && url?.includes('/webhook') === true;

/** Where addresses are checked: the answer to a registration whose address does not take a call. */
async function refusedTrial(
  deskAt: (name: string) => OpenDesk | undefined,
  incoming: IncomingMessage,
  body: string | undefined,
): Promise<{ outcome: Outcome; asked: OpenDesk } | undefined> {
  const request = body === undefined ? undefined : readRequest(incoming, body);
  const [first = '', ...rest] = request?.path ?? [];
  const named = first === '' ? undefined : deskAt(first);
  const asked = named ?? deskAt('');
  if (request === undefined || asked?.desk.bank.behaviour.registration !== 'checked') return undefined;
  const { dialect, desk } = asked;
  const trial = dialect.trial?.(desk, named === undefined ? request : { ...request, path: rest });
  if (trial === undefined || (await isReached(trial))) return undefined;
  return { outcome: dialect.notReached?.() ?? unknownCall(), asked };
}

/** The outcome, and the provider that was asked. */
function answer(
  deskAt: (name: string) => OpenDesk | undefined,
  incoming: IncomingMessage,
  body: string | undefined,
): { outcome: Outcome; asked?: OpenDesk } {
  if (body === undefined) return { outcome: unreadable('O corpo é grande demais.', 413) };
  const request = readRequest(incoming, body);
  if (request === undefined) return { outcome: unreadable('O endereço não pode ser lido.') };
  const [first = '', ...rest] = request.path;
  const named = first === '' ? undefined : deskAt(first);
  const asked = named ?? deskOfCard(deskAt, request) ?? deskAt('');
  if (asked === undefined) return { outcome: unknownCall() };
  const below = named === undefined ? request : { ...request, path: rest };
  return { outcome: answerOf(asked, below, named === undefined), asked };
}

/** A card page is steered at the root too, in whichever dialect it lives. */
function deskOfCard(
  deskAt: (name: string) => OpenDesk | undefined,
  { path: [area, call, id] }: Request,
): OpenDesk | undefined {
  if (area !== 'control' || call !== 'cards' || id === undefined) return undefined;
  return Object.keys(dialects)
    .filter((name) => dialects[name]?.cards)
    .map(deskAt)
    .find((one) => one && cardOf(one.desk.bank, plainId(id)) !== undefined);
}

function answerOf({ desk, dialect }: OpenDesk, request: Request, isRoot: boolean): Outcome {
  if (request.path[0] === 'control') return control(desk, request);
  const said = dialect.api(desk, request);
  if (said !== undefined) return oddAnswer(said, desk.bank.behaviour);
  return (isRoot ? page(desk, request) : undefined) ?? dialect.unknown?.() ?? unknownCall();
}

function readRequest(incoming: IncomingMessage, body: string): Request | undefined {
  const url = incoming.url ?? '/';
  const mark = url.indexOf('?');
  const path = (mark === -1 ? url : url.slice(0, mark)).slice(1).split('/');
  try {
    return {
      method: incoming.method ?? '',
      path: path.map((part) => (part.includes('%') ? decodeURIComponent(part) : part)),
      query: new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1)),
      headers: incoming.headers,
      body,
    };
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, reply: Reply): void {
  const { status, type, body } = reply;
  const headers = { ...everyAnswer, ...reply.headers };
  if (typeof body !== 'string') {
    response.writeHead(status, { 'content-type': type, ...headers });
    pipeline(Readable.from(body), response).catch(() => response.destroy());
    return;
  }
  if (body === '') {
    response.writeHead(status, headers).end();
    return;
  }
  response
    .writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), ...headers })
    .end(body);
}

// ------------------------------------------------------------------------------------------------- page

const pageFiles: Record<string, { file: string; type: string }> = {
  '': { file: 'index.html', type: 'text/html; charset=utf-8' },
  'page.css': { file: 'page.css', type: 'text/css; charset=utf-8' },
  'page.js': { file: 'page.js', type: 'text/javascript; charset=utf-8' },
};

const everyAnswer = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

/** The page at `/`, its two files and what it shows; undefined when it is none of them. */
function page(desk: Desk, request: Request): Reply | undefined {
  const [first, second, third] = request.path;
  if (request.method !== 'GET' || first === undefined) return undefined;
  if (first === 'page' && second === 'data') return pageData(desk);
  if (first === 'page' && second === 'charges' && third !== undefined) return pageCharge(desk, third);
  if (first === 'favicon.ico') return { status: 204, type: '', body: '' };
  const found = request.path.length === 1 && Object.hasOwn(pageFiles, first) ? pageFiles[first] : undefined;
  if (found === undefined) return undefined;
  const body = readFileSync(new URL(`./page/${found.file}`, import.meta.url), 'utf8');
  return { status: 200, type: found.type, body, headers: pageHeaders };
}
