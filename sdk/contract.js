// Writes src/contract.ts, the types of what the service takes and answers, from contract/openapi.json. Runs before each
// build.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { componentsOf } from '../contract/types.js';

const document = JSON.parse(await readFile(new URL('../contract/openapi.json', import.meta.url), 'utf8'));

// Bodies, queries and answers become schemas beside the named ones. The types of paths, headers and errors of every
// call, which a generator would add, are ten times as long and nothing of the client uses them.
const schemas = {};
for (const [name, schema] of Object.entries(document.components.schemas))
  if (name !== 'Error') schemas[name] = schema;
for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
  if (!operation.operationId) continue;
  const name = operation.operationId[0].toUpperCase() + operation.operationId.slice(1).replaceAll('-', '');
  const json = (part) => part?.content?.['application/json']?.schema;
  const body = json(operation.requestBody);
  if (body?.properties && Object.keys(body.properties).length > 0)
    schemas[`${name}Body`] = { ...body, examples: undefined };
  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
  if (query.length > 0)
    schemas[`${name}Query`] = {
      type: 'object',
      properties: Object.fromEntries(
        query.map(({ name, schema, description }) => [name, { ...schema, default: undefined, description }]),
      ),
    };
  const answered = json(Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1]);
  if (answered && !answered.$ref) schemas[`${name}Answer`] = answered;
}
const codes = document.components.schemas.Error.properties.code['x-extensible-enum'];
const text = `// Generated from contract/openapi.json by sdk/contract.js.

/** Error codes of the service. More may be added. */
export type ErrorCode =
${codes.map((code) => `  | '${code}'`).join('\n')};

${componentsOf(schemas)}`;

async function write(name, text) {
  const file = new URL(`src/${name}`, import.meta.url);
  if ((await readFile(file, 'utf8').catch(() => '')) === text) return;
  const fresh = new URL(`src/${name}.${process.pid}`, import.meta.url);
  await writeFile(fresh, text);
  await rename(fresh, file);
}
await write('contract.ts', text);
