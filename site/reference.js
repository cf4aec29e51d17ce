// The API reference as pages: Markdown made from the OpenAPI document, in both languages. Code, search, menu and addresses are those of every
// other page.
import { portuguese } from './portuguese.js';

const words = {
  en: {
    title: 'API reference',
    errors: 'Errors',
    needs: (permissions) => `Needs the permission ${permissions}.`,
    or: 'or',
    deprecated: 'Deprecated: kept for programs that call it, for no new one.',
    parameters: 'Parameters',
    in: { path: 'in the path', query: 'in the query', header: 'header' },
    body: 'Body',
    empty: 'An empty object.',
    answer: 'Answer',
    fails: 'Fails with',
    object: (name) => `Object ${name}`,
    required: 'required',
    optional: 'optional',
    list: (of) => `list of ${of}`,
    objects: 'list of objects',
    pairs: 'object of your own names and texts',
    oneOf: 'one of',
    more: 'more may be added',
    orNull: 'or null',
    default: 'default',
    between: (least, most) => `${least} to ${most}`,
    least: (n) => `at least ${n}`,
    most: (n) => `at most ${n}`,
    characters: 'characters',
    entries: 'entries',
    form: 'form',
    types: {
      string: 'text',
      integer: 'integer',
      number: 'number',
      boolean: 'true or false',
      object: 'object',
      null: 'null',
    },
    formats: { uuid: 'UUID', 'date-time': 'time', date: 'day', uri: 'address', binary: 'the file itself' },
    address: 'Every path is below',
    samples: (start) =>
      `In the code, \`vintem\` and \`call\` are those of the [quick start](${start}), and ids are examples.`,
    headers: 'Headers of answers',
    sentHeaders: 'Headers of every event',
    document: (address) => `The same as one document: [OpenAPI 3.1](${address}).`,
    every: 'Fields of every event',
    ofError: 'Fields of an error',
  },
  'pt-BR': {
    title: 'Referência da API',
    errors: 'Erros',
    needs: (permissions) => `Precisa da permissão ${permissions}.`,
    or: 'ou',
    deprecated: 'Obsoleta: mantida para programas que já a chamam, não para novos.',
    parameters: 'Parâmetros',
    in: { path: 'no caminho', query: 'na consulta', header: 'cabeçalho' },
    body: 'Corpo',
    empty: 'Um objeto vazio.',
    answer: 'Resposta',
    fails: 'Falha com',
    object: (name) => `Objeto ${name}`,
    required: 'obrigatório',
    optional: 'opcional',
    list: (of) => `lista de ${of}`,
    objects: 'lista de objetos',
    pairs: 'objeto com nomes e textos seus',
    oneOf: 'um de',
    more: 'outros podem surgir',
    orNull: 'ou null',
    default: 'padrão',
    between: (least, most) => `de ${least} a ${most}`,
    least: (n) => `no mínimo ${n}`,
    most: (n) => `no máximo ${n}`,
    characters: 'caracteres',
    entries: 'itens',
    form: 'formato',
    types: {
      string: 'texto',
      integer: 'inteiro',
      number: 'número',
      boolean: 'true ou false',
      object: 'objeto',
      null: 'null',
    },
    formats: {
      uuid: 'UUID',
      'date-time': 'horário',
      date: 'dia',
      uri: 'endereço',
      binary: 'o próprio arquivo',
    },
    address: 'Todo caminho fica abaixo de',
    samples: (start) =>
      `No código, \`vintem\` e \`call\` são os dos [primeiros passos](${start}), e os ids são exemplos.`,
    headers: 'Cabeçalhos das respostas',
    sentHeaders: 'Cabeçalhos de todo evento',
    document: (address) => `O mesmo em um só documento: [OpenAPI 3.1](${address}).`,
    every: 'Campos de todo evento',
    ofError: 'Campos de um erro',
  },
};

const nameIn = (text) => text.toLowerCase().replaceAll(' ', '-');
const folder = { en: 'docs/reference', 'pt-BR': 'docs/pt/reference' };

/** The files of the reference in the order of its menu, the first its overview. They are made, and stand on no disk. */
export const referenceFiles = (document, language) => [
  `${folder[language]}.md`,
  ...tagsOf(document).map(({ name }) => `${folder[language]}/${nameIn(name)}.md`),
  `${folder[language]}/errors.md`,
];

/** In the document's order; a tag that it does not describe stands where its first call does. */
function tagsOf({ tags, paths }) {
  const used = new Set(
    Object.values(paths).flatMap((calls) => Object.values(calls).flatMap((call) => call.tags)),
  );
  const described = new Map(tags.map((tag) => [tag.name, tag]));
  const late = ['Notifications', 'Events', 'Webhooks'];
  const names = [...used, 'Notifications'];
  const first = names.filter((name) => !late.includes(name));
  return [...first, 'Webhooks', 'Notifications', 'Events'].map((name) => described.get(name) ?? { name });
}

/** Every call: `{ method, path, ...operation }`. */
const callsOf = ({ paths }) =>
  Object.entries(paths).flatMap(([path, calls]) =>
    Object.entries(calls).map(([method, call]) => ({ method: method.toUpperCase(), path, ...call })),
  );

const refOf = (schema) => schema?.$ref?.split('/').at(-1);

/** Names of the schemas that a part of the document shows, those in them left out. */
function refsIn(part, found = new Set()) {
  if (part === null || typeof part !== 'object') return found;
  if (part.$ref?.includes('/schemas/')) found.add(refOf(part));
  for (const [key, value] of Object.entries(part)) if (key !== 'examples') refsIn(value, found);
  return found;
}

/** The page on which each schema stands: that of the call which gets it, or else of the first that shows it. */
function homesOf(document) {
  const { schemas } = document.components;
  const homes = new Map();
  const put = (name, tag) => {
    if (homes.has(name) || name === 'Event') return;
    homes.set(name, tag);
    for (const inner of refsIn(schemas[name])) put(inner, tag);
  };
  const calls = callsOf(document);
  const got = ({ responses }) => refOf(responses[200]?.content?.['application/json']?.schema);
  for (const call of calls) if (call.method === 'GET' && got(call)) put(got(call), call.tags[0]);
  for (const call of calls)
    for (const name of refsIn([call.requestBody ?? {}, goodOf(call)[1].content ?? {}]))
      put(name, call.tags[0]);
  for (const { post } of Object.values(document.webhooks)) {
    const { data } = schemas[refOf(post.requestBody.content['application/json'].schema)].properties;
    for (const name of refsIn(data)) put(name, 'Notifications');
  }
  return homes;
}

const goodOf = ({ responses }) => Object.entries(responses).find(([status]) => status < 300);

/**
 * @param {object} document OpenAPI 3.1
 * @param {'en' | 'pt-BR'} language
 * @param {string} address of the document itself
 * @param {(text: string) => string} [said] what the document says, in the language
 * @returns {{ file: string, title: string, text: string }[]} the pages of `referenceFiles`
 */
export function referencePages(document, language, address, said = (text) => inLanguage(text, language)) {
  const page = createWriter(document, language, said);
  const [overview, ...rest] = referenceFiles(document, language);
  const tags = tagsOf(document);
  const all = [
    [overview, page.overview(tags, address)],
    ...tags.map((tag, at) => [
      rest[at],
      tag.name === 'Notifications' ? page.notifications(tag) : page.ofTag(tag),
    ]),
    [rest.at(-1), page.errors()],
  ];
  return all.map(([file, text]) => ({ file, text, title: /^# (.+)$/m.exec(text)[1] }));
}

/** A text without its Portuguese is shown as it is. A test finds it. */
const inLanguage = (text, language) => (language === 'en' ? text : (portuguese[text] ?? text));

function createWriter(document, language, said) {
  const say = words[language];
  const { schemas, headers, responses } = document.components;
  const homes = homesOf(document);
  const number = (n) => n.toLocaleString(language);
  const code = (text) => `\`${text}\``;
  const idOf = (text) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-');
  const titleOf = (name) => `${nameIn(name)}.md`;
  const json = (value) => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
  const typed = (value, label) => json(value).replace('json', `json ${label}`);

  function linkTo(name) {
    if (name === 'Event') return `[Event](${titleOf('Notifications')})`;
    return `[${name}](${titleOf(homes.get(name))}#${idOf(say.object(name))})`;
  }

  function rangeOf(least, most, unit = '') {
    const of = unit && ` ${unit}`;
    if (least && most !== undefined)
      return least === most ? `${number(least)}${of}` : `${say.between(number(least), number(most))}${of}`;
    if (most !== undefined) return `${say.most(number(most))}${of}`;
    return least ? `${say.least(number(least))}${of}` : '';
  }

  /** Type and bounds in words. */
  function typeOf(schema) {
    if (schema.$ref) {
      const of = schemas[refOf(schema)];
      return of.properties || of.oneOf ? linkTo(refOf(schema)) : typeOf(of);
    }
    if (schema.anyOf) return schema.anyOf.map(typeOf).join(` ${say.or} `);
    const types = [schema.type].flat().filter((type) => type !== 'null');
    const nullable = [schema.type].flat().includes('null') && types.length > 0;
    const values = (schema.enum ?? schema['x-extensible-enum'])?.filter((value) => value !== null);
    const kind = () => {
      if (schema.const !== undefined) return code(schema.const);
      if (values) return `${say.oneOf} ${values.map(code).join(', ')}`;
      if (types[0] === 'array' && schema.items.type === 'object') return say.objects;
      if (types[0] === 'array') return say.list(typeOf({ ...schema.items, description: undefined }));
      if (types[0] === 'object' && schema.additionalProperties?.type === 'string') return say.pairs;
      return say.formats[schema.format] ?? say.types[types[0] ?? 'null'];
    };
    const plain = schema.pattern && !schema.pattern.includes('\\x') && !schema.format;
    const bounds = [
      schema['x-extensible-enum'] && say.more,
      rangeOf(schema.minimum, schema.maximum),
      !plain && rangeOf(schema.minLength, schema.maxLength, say.characters),
      rangeOf(schema.minItems, schema.maxItems, say.entries),
      plain && `${say.form} ${code(schema.pattern.replace(/^\^|\$$/g, ''))}`,
      schema.default !== undefined && `${say.default} ${code(schema.default)}`,
    ];
    return [kind() + (nullable ? ` ${say.orNull}` : ''), ...bounds.filter(Boolean)].join(', ');
  }

  /** The object that a schema is, holds or may be. */
  const objectIn = (schema) => {
    if (!schema || schema.$ref) return undefined;
    if (schema.properties) return schema;
    return objectIn(schema.items) ?? schema.anyOf?.map(objectIn).find(Boolean);
  };

  function field(name, schema, more, indent = '', asked = false) {
    const text = schema.description ? `${said(schema.description)}` : '';
    const inner = objectIn(schema);
    const line = `${indent}- ${code(name)} *${[typeOf(schema), ...more].join(', ')}*`;
    return [text ? `${line}<br>${text}` : line, ...(inner ? fieldsOf(inner, `${indent}  `, asked) : [])];
  }

  /** A list of the fields of an object. @param asked whether a reader sends it: then it says which are required */
  const fieldsOf = (schema, indent = '', asked = false) =>
    Object.entries(schema.properties).flatMap(([name, of]) => {
      const isRequired = schema.required?.includes(name);
      const more = asked ? [isRequired ? say.required : say.optional] : isRequired ? [] : [say.optional];
      return field(name, of, more, indent, asked);
    });

  const headed = (title, lines) => (lines.length > 0 ? [`### ${title}`, lines.join('\n')] : []);

  function parametersOf({ parameters = [] }) {
    return parameters
      .map((one) => (one.$ref ? document.components.parameters[refOf(one)] : one))
      .flatMap((one) =>
        field(
          one.name,
          { ...one.schema, description: one.description },
          [say.in[one.in], one.required ? say.required : say.optional],
          '',
        ),
      );
  }

  function bodyOf({ requestBody }) {
    if (!requestBody) return [];
    const kinds = Object.keys(requestBody.content);
    if (kinds[0] !== 'application/json')
      return [`- ${kinds.map(code).join(` ${say.or} `)} *${say.formats.binary}*`];
    const { schema } = requestBody.content['application/json'];
    const fields = fieldsOf(schema, '', true);
    return fields.length > 0 ? fields : [say.empty];
  }

  function answerOf(call) {
    const [status, { content }] = goodOf(call);
    const [kind, { schema, examples = {} }] = Object.entries(content)[0];
    const title = `### ${say.answer} ${status}`;
    if (kind !== 'application/json')
      return [title, schema.description ? `${code(kind)}: ${said(schema.description)}` : code(kind)];
    const shown = Object.entries(examples).slice(0, 5);
    const blocks = shown.map(([name, { value }]) => (shown.length > 1 ? typed(value, name) : json(value)));
    const fields = schema.properties ? fieldsOf(schema).join('\n') : linkTo(refOf(schema));
    return [title, fields, blocks.join('\n')];
  }

  /** A request as the guide writes one, which the site shows in every language. */
  function requestOf(call) {
    const { method, requestBody } = call;
    const path = sampleOf(document, call);
    const kind = Object.keys(requestBody?.content ?? {})[0];
    if (kind && kind !== 'application/json')
      return `${method} ${path}\nContent-Type: ${kind}\n\n< recibo.pdf`;
    const [, { content }] = goodOf(call);
    const accept = Object.keys(content)[0];
    if (accept !== 'application/json') return `${method} ${path}\nAccept: ${accept}`;
    const given = requestBody?.content['application/json'].schema.examples?.[0];
    const body = given ?? (method === 'POST' ? {} : undefined);
    return body ? `${method} ${path}\n\n${JSON.stringify(body, null, 2)}` : `${method} ${path}`;
  }

  const permissionsOf = (call) => say.needs(call['x-permissions'].map(code).join(` ${say.or} `));

  function ofCall(call) {
    const failed = Object.keys(call.responses).filter((status) => status >= 400);
    return [
      `## ${said(call.summary)}`,
      code(`${call.method} ${call.path}`),
      `${call.deprecated ? `**${say.deprecated}** ` : ''}${permissionsOf(call)}`,
      `\`\`\`http\n${requestOf(call)}\n\`\`\``,
      ...headed(say.parameters, parametersOf(call)),
      ...headed(say.body, bodyOf(call)),
      ...answerOf(call),
      `${say.fails} ${failed.map((status) => `[${status}](errors.md#${status})`).join(', ')}.`,
    ];
  }

  const objectsOf = (tag) =>
    [...homes]
      .filter(([name, home]) => home === tag && !schemas[name].enum && schemas[name].properties)
      .flatMap(([name]) => [
        `## ${say.object(name)}`,
        ...(schemas[name].description ? [said(schemas[name].description)] : []),
        fieldsOf(schemas[name]).join('\n'),
      ]);

  const head = ({ name, description }) => [
    `# ${said(name)}`,
    ...(description ? [`${said(description)}.`] : []),
  ];
  const start = language === 'en' ? '../merchants/quickstart.md' : '../../merchants/pt/quickstart.md';
  const joined = (parts) => `${parts.join('\n\n')}\n`;

  return {
    overview(tags, address) {
      const inner = nameIn(folder[language].split('/').at(-1));
      const lists = tags.map(({ name }) => {
        const items =
          name === 'Notifications'
            ? Object.keys(document.webhooks).map((type) => [type, code(type), `on${type}`, ''])
            : callsOf(document)
                .filter((call) => call.tags[0] === name)
                .map((call) => [
                  said(call.summary),
                  said(call.summary),
                  call.operationId,
                  `: ${code(`${call.method} ${call.path}`)}`,
                ]);
        // The addresses of the calls on the page that was the reference before: `#/Charges/postPixCharges`.
        const lines = items.map(
          ([title, shown, id, rest]) =>
            `- <span id="/${name.replaceAll(' ', '%20')}/${id}"></span>[${shown}](${inner}/${titleOf(name)}#${idOf(title)})${rest}`,
        );
        return `## ${said(name)}\n\n${lines.join('\n')}`;
      });
      const list = Object.entries({
        'X-Request-Id': headers.RequestId,
        'Idempotent-Replayed': headers.IdempotentReplayed,
        'RateLimit-Policy': headers.RateLimitPolicy,
        RateLimit: headers.RateLimit,
        'Retry-After': headers.RetryAfter,
        Deprecation: headers.Deprecation,
      }).flatMap(([name, { schema, description }]) => field(name, { ...schema, description }, [], ''));
      return joined([
        `# ${say.title}`,
        said(document.info.description),
        `${say.address}:`,
        '```\nhttps://YOUR-HOST/api/v1/public\n```',
        `${say.samples(start.slice(3))} ${say.document(address)}`,
        ...lists,
        `## [${say.errors}](${inner}/errors.md)`,
        `## ${say.headers}`,
        list.join('\n'),
      ]);
    },

    ofTag(tag) {
      const calls = callsOf(document).filter(({ tags }) => tags[0] === tag.name);
      return joined([...head(tag), say.samples(start), ...calls.flatMap(ofCall), ...objectsOf(tag.name)]);
    },

    notifications(tag) {
      const events = Object.entries(document.webhooks);
      const bodyOf = ({ post }) => post.requestBody.content['application/json'];
      const [, first] = events[0];
      const { properties, required } = schemas[refOf(bodyOf(first).schema)];
      const { data, type, ...envelope } = properties;
      return joined([
        ...head(tag),
        `## ${say.sentHeaders}`,
        parametersOf(first.post).join('\n'),
        `## ${say.every}`,
        fieldsOf({ properties: envelope, required }).join('\n'),
        ...events.flatMap(([name, event]) => {
          const { properties } = schemas[refOf(bodyOf(event).schema)];
          return [
            `## ${name}`,
            said(event.post.description),
            fieldsOf({ properties: { data: properties.data }, required: ['data'] }).join('\n'),
            json(Object.values(bodyOf(event).examples)[0].value),
          ];
        }),
        ...objectsOf('Notifications'),
      ]);
    },

    errors() {
      const lists = Object.entries(responses).flatMap(([name, { content }]) => {
        const codes = Object.entries(content['application/json'].examples).map(
          ([name, { value }]) => `- ${code(name)}<br>${[value.message].flat().join('; ')}`,
        );
        return [`## ${name.replace('Error', '')}`, codes.join('\n')];
      });
      return joined([`# ${say.errors}`, `## ${say.ofError}`, fieldsOf(schemas.Error).join('\n'), ...lists]);
    },
  };
}

const uuid = '01939f3a-7c00-7000-8000-000000000001';

/** The path of a request as an example: ids of the objects that the document shows, a short page, and what is required. */
function sampleOf(document, { path, parameters = [] }) {
  const root = path.split('/{', 1)[0];
  const owner = document.paths[`${root}/{id}`]?.get;
  const shown = Object.values(owner?.responses[200].content['application/json'].examples ?? {})[0];
  const given = path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'id' && shown?.value.id) || uuid);
  const query = parameters
    .filter((one) => one.in === 'query' && (one.required || one.name === 'limit' || one.name === 'from'))
    .toSorted((one) => (one.name === 'limit' ? -1 : 0))
    .map(({ name }) => `${name}=${{ limit: 20, name: 'recibo.pdf', from: '2026-11-01' }[name]}`);
  return query.length > 0 ? `${given}?${query.join('&')}` : given;
}
