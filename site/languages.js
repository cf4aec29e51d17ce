// A request of the guide in the languages of its readers, so that one block of the page is what all of them send.

/**
 * @param {string} text `POST /path`, headers, an empty line and a body: of JSON, or `< FILE`
 * @returns {{ method: string, path: string, operation?: string, body?: object, file?: string, type?: string, accept?: string }} `accept`: the
 * answer is a file or a stream of this type; `type`: that of the file that is sent
 */
export function requestOf(text) {
  const [head, body] = text.trim().split('\n\n');
  const [first, ...headers] = head.split('\n');
  const [method, path] = first.split(' ');
  const header = (name) => headers.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const file = body?.startsWith('< ') ? body.slice(2) : undefined;
  return {
    method,
    path,
    operation: header('X-Service-Operation'),
    body: file === undefined && body ? JSON.parse(body) : undefined,
    file,
    type: header('Content-Type'),
    accept: header('Accept'),
  };
}

const most = 100;

/** A value as a literal: on one line where it fits. */
function literal(value, language, indent = '') {
  const { open, close, name, text } = language;
  if (typeof value === 'string') return text(value);
  if (value === null || typeof value !== 'object') return language.names?.[value] ?? String(value);
  const list = Array.isArray(value);
  const entries = Object.entries(value).map(
    ([key, each]) => (list ? '' : name(key)) + literal(each, language, `${indent}  `),
  );
  const [begin, end] = list ? ['[', ']'] : [open, close];
  const space = begin === '{' && entries.length > 0 ? ' ' : '';
  const line = `${begin}${space}${entries.join(', ')}${space}${end}`;
  if (line.length + indent.length <= most) return line;
  return `${begin}\n${entries.map((one) => `${indent}  ${one},\n`).join('')}${indent}${end}`;
}

const single = (text) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
const ts = {
  open: '{',
  close: '}',
  text: single,
  name: (key) => `${/^\w+$/.test(key) ? key : single(key)}: `,
};
const python = {
  open: '{',
  close: '}',
  text: JSON.stringify,
  name: (key) => `${JSON.stringify(key)}: `,
  names: { null: 'None', true: 'True', false: 'False' },
};
const php = { open: '[', close: ']', text: single, name: (key) => `${single(key)} => ` };

const params = (path) =>
  Object.fromEntries(
    [...new URLSearchParams(path.split('?')[1])].map(([key, value]) => [
      key,
      /^\d+$/.test(value) ? Number(value) : value,
    ]),
  );
const named = (...given) => given.filter((one) => one !== undefined).join(', ');

const nothing = () => [];
const ofBody = ({ body }) => [body];
const ofId = (_, ...ids) => ids;
const ofIdAndBody = ({ body }, id) => [id, body];
const ofIdAndQuery = ({ path }, id) => [id, params(path)];
const ofQuery = ({ path }) => [params(path)];

/** The calls of the SDK. Those in `many` give one after another. */
const one = [
  ['POST', '/pix/charges', 'charges.create', ofBody],
  ['POST', '/payments/:id/cancel', 'charges.cancel', ofId],
  ['POST', '/card/checkouts', 'cardCheckouts.create', ofBody],
  ['POST', '/card/checkouts/:id/expire', 'cardCheckouts.expire', ofId],
  ['POST', '/pix/due-charges', 'dueCharges.create', ofBody],
  ['PATCH', '/pix/due-charges/:id', 'dueCharges.update', ofIdAndBody],
  ['POST', '/payments/:id/refunds', 'refunds.create', ofIdAndBody],
  ['GET', '/refunds/:id', 'refunds.get', ofId],
  ['POST', '/static-codes', 'staticCodes.create', ofBody],
  ['GET', '/static-codes/:id', 'staticCodes.get', ofId],
  ['PATCH', '/static-codes/:id', 'staticCodes.update', ofIdAndBody],
  ['GET', '/static-codes/:id/poster.pdf', 'staticCodes.poster', ofId],
  ['POST', '/payment-links', 'paymentLinks.create', ofBody],
  ['GET', '/payment-links/:id', 'paymentLinks.get', ofId],
  ['PATCH', '/payment-links/:id', 'paymentLinks.update', ofIdAndBody],
  ['POST', '/pix/transfers', 'transfers.create', ofBody],
  ['POST', '/pix/transfers/:id/confirm', 'transfers.confirm', ofIdAndBody],
  ['POST', '/pix/transfers/:id/cancel', 'transfers.cancel', ofId],
  ['GET', '/payments/:id', 'payments.get', ofId],
  ['GET', '/account', 'account.get', nothing],
  ['GET', '/disputes/:id', 'disputes.get', ofId],
  ['GET', '/disputes/:id/defence', 'disputes.defence', ofId],
  ['POST', '/disputes/:id/defence', 'disputes.defend', ofIdAndBody],
  ['DELETE', '/disputes/:id/files/:file', 'disputes.removeFile', ofId],
  ['GET', '/operations', 'operations.list', nothing],
  ['POST', '/operations', 'operations.create', ofBody],
  ['PATCH', '/operations/:id', 'operations.update', ofIdAndBody],
  ['DELETE', '/operations/:id', 'operations.delete', ofId],
  ['GET', '/webhooks', 'webhooks.list', nothing],
  ['POST', '/webhooks', 'webhooks.create', ofBody],
  ['GET', '/webhooks/event-types', 'webhooks.eventTypes', nothing],
  ['GET', '/webhooks/:id', 'webhooks.get', ofId],
  ['PATCH', '/webhooks/:id', 'webhooks.update', ofIdAndBody],
  ['DELETE', '/webhooks/:id', 'webhooks.delete', ofId],
  ['POST', '/webhooks/:id/rotate-secret', 'webhooks.rotateSecret', ofIdAndBody],
  ['POST', '/webhooks/:id/test', 'webhooks.test', ofIdAndBody],
  ['GET', '/webhooks/:id/deliveries/:delivery', 'webhooks.delivery', ofId],
  ['POST', '/webhooks/:id/deliveries/:delivery/retry', 'webhooks.retryDelivery', ofId],
  ['POST', '/webhooks/:id/replay', 'webhooks.replay', ofIdAndBody],
  ['GET', '/events/:id', 'events.get', ofId],
  ...['csv', 'ofx', 'pdf'].map((form) => [
    'GET',
    `/statement.${form}`,
    'account.statementFile',
    ({ path }) => [form, params(path)],
  ]),
];
const many = [
  ['GET', '/payments/:id/refunds', 'refunds.list', ofIdAndQuery],
  ['GET', '/static-codes', 'staticCodes.list', ofQuery],
  ['GET', '/static-codes/:id/payments', 'staticCodes.payments', ofIdAndQuery],
  ['GET', '/payment-links', 'paymentLinks.list', ofQuery],
  ['GET', '/payment-links/:id/payments', 'paymentLinks.payments', ofIdAndQuery],
  ['GET', '/payments', 'payments.list', ofQuery],
  ['GET', '/disputes', 'disputes.list', ofQuery],
  ['GET', '/statement', 'account.statement', ofQuery],
  ['GET', '/webhooks/:id/deliveries', 'webhooks.deliveries', ofIdAndQuery],
  ['GET', '/events', 'events.list', ofQuery],
  ['GET', '/events/stream', 'events.follow', nothing],
];

/** The call among `calls` that sends a request, with what it is given. */
function callOf(request, calls) {
  const [path] = request.path.split('?');
  for (const [method, form, name, given] of calls) {
    const parts = new RegExp(`^${form.replaceAll('.', '\\.').replaceAll(/:\w+/g, '([^/]+)')}$`).exec(path);
    if (method === request.method && parts) return { name, given: given(request, ...parts.slice(1)) };
  }
  return undefined;
}

function inTypeScript(request) {
  const { method, path, operation, file, type } = request;
  const options = operation && literal({ operation }, ts);
  const listOf = ({ given }) => named(...given.map((each) => each && literal(each, ts)), options);
  const each = callOf(request, many);
  if (each) {
    const field = /\/(?:events|deliveries)/.test(path)
      ? 'type'
      : path.startsWith('/statement')
        ? 'kind'
        : 'id';
    return `for await (const item of vintem.${each.name}(${listOf(each)})) {\n  console.log(item.${field});\n}`;
  }
  const call = callOf(request, one);
  if (call) return `const answer = await vintem.${call.name}(${listOf(call)});`;
  if (file !== undefined)
    return [
      "import { readFile } from 'node:fs/promises';",
      '',
      `const contents = await readFile(${single(file)});`,
      `const answer = await vintem.disputes.addFile(${single(path.split('/')[2])}, {`,
      ...[`name: ${single(file)}`, `type: ${single(type)}`, 'contents'].map((line) => `  ${line},`),
      '});',
    ].join('\n');
  throw new Error(`no call of the SDK sends ${method} ${path}`);
}

const stream = 'text/event-stream';
const nameOf = (path) => path.split('?')[0].split('/').at(-1);

function inCurl({ method, path, operation, body, file, type, accept }) {
  const lines = [
    `curl ${accept === stream ? '-N ' : ''}-X ${method} "$VINTEM_URL/api/v1/public${path}"`,
    '-H "Authorization: Bearer $VINTEM_KEY"',
    ...(operation ? [`-H 'X-Service-Operation: ${operation}'`] : []),
    ...(body
      ? ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]
      : []),
    ...(file ? [`-H 'Content-Type: ${type}'`, `--data-binary @${file}`] : []),
    ...(accept && accept !== stream ? [`-o ${nameOf(path)}`] : []),
  ];
  return lines.join(' \\\n  ');
}

/** Requests of files and streams: `call` of the quick start sends JSON and reads JSON. */
function filesInPython({ method, path, file, type, accept }) {
  const headers = [
    '"Authorization": "Bearer " + os.environ["VINTEM_KEY"]',
    ...(file ? [`"Content-Type": "${type}"`] : []),
  ];
  const request = [
    'import json, os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    os.environ["VINTEM_URL"] + "/api/v1/public${path}",`,
    `    ${file ? `open("${file}", "rb").read()` : 'None'}, {${headers.join(', ')}}, method="${method}")`,
    'with urllib.request.urlopen(request) as answer:',
  ];
  const use = file
    ? 'print(json.load(answer))'
    : accept === stream
      ? 'for line in answer: print(line.decode(), end="")'
      : `open("${nameOf(path)}", "wb").write(answer.read())`;
  return [...request, `    ${use}`].join('\n');
}

function filesInPhp({ method, path, file, type, accept }) {
  const lines = [
    `    'method' => '${method}',`,
    `    'header' => ['Authorization: Bearer ' . getenv('VINTEM_KEY')${file ? `, 'Content-Type: ${type}'` : ''}],`,
    ...(file ? [`    'content' => file_get_contents('${file}'),`] : []),
  ];
  const address = `getenv('VINTEM_URL') . '/api/v1/public${path}'`;
  const use = file
    ? `$answer = json_decode(file_get_contents(${address}, false, $context), true);`
    : accept === stream
      ? `$stream = fopen(${address}, 'r', false, $context);\nwhile (($line = fgets($stream)) !== false) echo $line;`
      : `file_put_contents('${nameOf(path)}', file_get_contents(${address}, false, $context));`;
  return [`$context = stream_context_create(['http' => [`, ...lines, ']]);', use].join('\n');
}

const inPython = ({ method, path, operation, body }) =>
  `answer = call(${named(
    `"${method}"`,
    `"${path}"`,
    body && literal(body, python),
    operation && `operation="${operation}"`,
  )})`;

const inPhp = ({ method, path, operation, body }) =>
  `$answer = call(${named(
    `'${method}'`,
    `'${path}'`,
    body && literal(body, php),
    operation && `operation: '${operation}'`,
  )});`;

/** @returns {{ language: string, code: string }[]} */
export function inLanguages(text) {
  const request = requestOf(text);
  const files = request.accept !== undefined || request.file !== undefined;
  return [
    { language: 'HTTP', code: text.trim() },
    { language: 'TypeScript', code: inTypeScript(request) },
    { language: 'curl', code: inCurl(request) },
    { language: 'Python', code: files ? filesInPython(request) : inPython(request) },
    { language: 'PHP', code: files ? filesInPhp(request) : inPhp(request) },
  ];
}
