// TypeScript types of an OpenAPI 3.1 document whose schemas are those of our routes. Plain JavaScript: `npm ci` may run it under an older Node.
// Rejected: openapi-typescript, which needs a second TypeScript (5.x) and 40 MB of packages for what stands here.

/** The type of a JSON Schema, as source text. @throws Error the schema has a form that is not known here */
export function typeOf(schema, indent = '') {
  if (schema === true || Object.keys(schema).every((key) => annotations.has(key))) return 'unknown';
  if (schema.$ref) return referenceOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return options.map((one) => typeOf(one, indent)).join(' | ');
  if (schema.allOf) return schema.allOf.map((one) => `(${typeOf(one, indent)})`).join(' & ');
  if (Array.isArray(schema.type))
    return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(' | ');
  if (schema.type === 'array') return `(${typeOf(schema.items ?? true, indent)})[]`;
  if (schema.type === 'object') return objectOf(schema, indent);
  const simple = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' };
  if (!simple[schema.type]) throw new Error(`no type for the schema ${JSON.stringify(schema).slice(0, 200)}`);
  return simple[schema.type];
}

const annotations = new Set(['description', 'examples', 'default', 'title', '$id']);

/** `#/components/schemas/Payment` */
const referenceOf = (pointer) => {
  const [, , group, name] = pointer.split('/');
  return `components[${JSON.stringify(group)}][${JSON.stringify(name)}]`;
};

function objectOf({ properties = {}, required = [], additionalProperties, patternProperties }, indent) {
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(
    ([name, schema]) =>
      `${commentOf(schema, inner)}${inner}${nameOf(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema, inner)};`,
  );
  const [others] = Object.values(patternProperties ?? {});
  const rest = others ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
  if (rest) members.push(`${inner}[name: string]: ${members.length > 0 ? 'unknown' : typeOf(rest, inner)};`);
  if (members.length > 0) return `{\n${members.join('\n')}\n${indent}}`;
  return additionalProperties === false ? 'Record<string, never>' : '{ [name: string]: unknown }';
}

const nameOf = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

function commentOf({ description, format }, indent) {
  const words = [description, format && `Format: ${format}`].filter(Boolean).join('. ');
  return words ? `${indent}/** ${words.replaceAll('*/', '* /').replaceAll('\n', ' ')} */\n` : '';
}

/** `interface components`, with every schema by its name. */
export const componentsOf = (schemas) => `export interface components {
  schemas: ${objectOf({ properties: schemas, required: Object.keys(schemas) }, '  ')};
}
`;

/** `interface paths`, in the form that openapi-fetch reads. */
export function pathsOf(document) {
  const paths = Object.entries(document.paths).map(([path, calls]) => {
    const members = Object.entries(calls)
      .filter(([, call]) => call.responses)
      .map(([method, call]) => `    ${method}: ${callOf(document, call)};`);
    return `  ${JSON.stringify(path)}: {\n${members.join('\n')}\n  };`;
  });
  return `export interface paths {\n${paths.join('\n')}\n}\n`;
}

function callOf(document, call) {
  const parameters = (call.parameters ?? []).map((one) => (one.$ref ? at(document, one.$ref) : one));
  const groups = ['query', 'header', 'path', 'cookie'].map((place) => {
    const here = parameters.filter((one) => one.in === place);
    const needed = here.filter((one) => one.required).map(({ name }) => name);
    const properties = Object.fromEntries(
      here.map(({ name, schema, description }) => [name, { ...schema, description }]),
    );
    if (here.length === 0) return `        ${place}?: never;`;
    const type = objectOf({ properties, required: needed, additionalProperties: false }, '        ');
    return `        ${place}${needed.length > 0 ? '' : '?'}: ${type};`;
  });
  const body = call.requestBody;
  const taken = body
    ? `requestBody${body.required ? '' : '?'}: ${contentOf(body.content)};`
    : 'requestBody?: never;';
  const answers = Object.entries(call.responses).map(([status, answer]) => {
    const { content } = answer.$ref ? at(document, answer.$ref) : answer;
    return `        ${/^\d+$/.test(status) ? status : JSON.stringify(status)}: ${contentOf(content)};`;
  });
  return `{
      parameters: {
${groups.join('\n')}
      };
      ${taken}
      responses: {
${answers.join('\n')}
      };
    }`;
}

function contentOf(content) {
  if (!content) return '{ content?: never }';
  const types = Object.entries(content).map(
    ([type, { schema }]) => `${JSON.stringify(type)}: ${typeOf(schema ?? true, '          ')};`,
  );
  return `{ content: { ${types.join(' ')} } }`;
}

/** The part of the document that a reference names. */
const at = (document, pointer) =>
  pointer
    .slice(2)
    .split('/')
    .reduce((value, name) => value[name.replaceAll('~1', '/')], document);
