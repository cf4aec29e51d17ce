import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';

/**
 * The Central Bank's OpenAPI document of API Pix 2.9.0 as validators. Four of its flaws are set right, which no
 * answer could satisfy: patterns that contain their own slashes, `location` as a full URI though its own example has
 * no scheme, and lists that require properties (`idCob`, `cobs`) which nothing defines.
 */
const document = parse(readFileSync(new URL('../../contract/bacen-api-pix.yaml', import.meta.url), 'utf8'));

const schemas = JSON.parse(JSON.stringify(document.components.schemas), (name, value) => {
  if (name === 'pattern' && typeof value === 'string') return value.replace(/^\/(.*)\/$/, '$1');
  if (name === 'location' && value?.format === 'uri') return { ...value, format: undefined };
  if (name === 'required' && Array.isArray(value)) return value.filter((one) => one !== 'idCob');
  return value;
});
schemas.PixConsultados.required = ['parametros', 'pix'];

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ $id: 'https://api-pix.example/', components: { schemas } });

export function schema(name: string): ValidateFunction {
  const found = ajv.getSchema(`https://api-pix.example/#/components/schemas/${name}`);
  if (found === undefined) throw new Error(`no schema ${name}`);
  return found;
}

/** The faults that the schema finds. */
export function faults(name: string, value: unknown): string[] {
  const validate = schema(name);
  return validate(value)
    ? []
    : (validate.errors ?? []).map((fault) => `${fault.instancePath} ${fault.message}`);
}
