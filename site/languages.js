// A request of the guide in the languages of its readers, so that one block of the page is what all of them send.

/**
 * @param {string} text `POST /path`, headers, an empty line and a body of JSON
 * @returns {{ method: string, path: string, operation?: string, body?: object }}
 */
export function requestOf(text) {
  const [head, body] = text.trim().split('\n\n');
  const [first, ...headers] = head.split('\n');
  const [method, path] = first.split(' ');
  const operation = /^X-Service-Operation: (\S+)$/.exec(headers[0] ?? '')?.[1];
  return { method, path, operation, body: body && JSON.parse(body) };
}

const most = 100;

/** A value as a literal: on one line where it fits. */
function literal(value, { open, close, name, text }, indent = '') {
  if (typeof value === 'string') return text(value);
  if (value === null || typeof value !== 'object') return String(value);
  const entries = Object.entries(value).map(
    ([key, each]) => name(key) + literal(each, { open, close, name, text }, `${indent}  `),
  );
  const space = open === '{' && entries.length > 0 ? ' ' : '';
  const line = `${open}${space}${entries.join(', ')}${space}${close}`;
  if (line.length + indent.length <= most) return line;
  return `${open}\n${entries.map((one) => `${indent}  ${one},\n`).join('')}${indent}${close}`;
}

const single = (text) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
const ts = {
  open: '{',
  close: '}',
  text: single,
  name: (key) => `${/^\w+$/.test(key) ? key : single(key)}: `,
};
const python = { open: '{', close: '}', text: JSON.stringify, name: (key) => `${JSON.stringify(key)}: ` };
const php = { open: '[', close: ']', text: single, name: (key) => `${single(key)} => ` };

const params = (path) =>
  Object.fromEntries(
    [...new URLSearchParams(path.split('?')[1])].map(([key, value]) => [
      key,
      /^\d+$/.test(value) ? Number(value) : value,
    ]),
  );
const named = (...given) => given.filter((one) => one !== undefined).join(', ');

/** The calls of the SDK for what stands in the guide. */
const calls = [
  ['POST', /^\/pix\/charges$/, 'charges.create', ({ body }) => [body]],
  ['POST', /^\/pix\/transfers$/, 'transfers.create', ({ body }) => [body]],
  ['GET', /^\/payments\/([^/?]+)$/, 'payments.get', (_, id) => [id]],
  ['GET', /^\/payments\?/, 'payments.list', ({ path }) => [params(path)]],
  ['GET', /^\/account$/, 'account.get', () => []],
  ['GET', /^\/operations$/, 'operations.list', () => []],
  ['POST', /^\/operations$/, 'operations.create', ({ body }) => [body]],
  ['PATCH', /^\/operations\/([^/]+)$/, 'operations.update', ({ body }, id) => [id, body]],
  ['DELETE', /^\/operations\/([^/]+)$/, 'operations.delete', (_, id) => [id]],
];

function inTypeScript(request) {
  const { method, path, operation, body } = request;
  for (const [of, form, call, given] of calls) {
    const match = of === method && form.exec(path);
    if (!match) continue;
    const options = operation && literal({ operation }, ts);
    const list = named(...given(request, match[1]).map((one) => literal(one, ts)), options);
    if (!call.endsWith('.list') || call.startsWith('operations'))
      return `const answer = await vintem.${call}(${list});`;
    return `for await (const item of vintem.${call}(${list})) {\n  console.log(item.id);\n}`;
  }
  const headers = [
    `    authorization: \`Bearer \${process.env.VINTEM_KEY}\`,`,
    ...(body ? ["    'content-type': 'application/json',"] : []),
  ];
  return [
    `const answer = await fetch(\`\${process.env.VINTEM_URL}/api/v1/public${path}\`, {`,
    `  method: '${method}',`,
    '  headers: {',
    ...headers,
    '  },',
    ...(body ? [`  body: JSON.stringify(${literal(body, ts, '  ')}),`] : []),
    '});',
  ].join('\n');
}

function inCurl({ method, path, operation, body }) {
  const lines = [
    `curl -X ${method} "$VINTEM_URL/api/v1/public${path}"`,
    '-H "Authorization: Bearer $VINTEM_KEY"',
    ...(operation ? [`-H 'X-Service-Operation: ${operation}'`] : []),
    ...(body
      ? ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]
      : []),
  ];
  return lines.join(' \\\n  ');
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
  return [
    { language: 'HTTP', code: text.trim() },
    { language: 'TypeScript', code: inTypeScript(request) },
    { language: 'curl', code: inCurl(request) },
    { language: 'Python', code: inPython(request) },
    { language: 'PHP', code: inPhp(request) },
  ];
}
