import { readFile } from 'node:fs/promises';
import type { Vintem } from '@vintem/sdk';
import { type Command, needsTestKey, UsageFault } from './command.ts';
import { table } from './output.ts';
import { type Simulator, simulatorOf, simulatorOption } from './simulator.ts';

/**
 * A file of steps that are carried out in order on a test account:
 *
 * { "steps": [
 *   { "name": "charge", "call": "charges.create", "with": { "amountCents": 1990, "payerName": "Maria" } },
 *   { "call": "simulator.pay", "with": { "id": "${charge.id}" } },
 *   { "call": "payments.waitFor", "with": { "id": "${charge.id}", "until": ["paid"] } } ] }
 *
 * `${name.member}` stands for what an earlier step answered.
 */
interface Step {
  name?: string;
  call: string;
  with?: Record<string, unknown>;
}
// biome-ignore lint/suspicious/noExplicitAny: a step's values come from a file, and the service checks them
type Given = any;

const calls: Record<string, (vintem: Vintem, simulator: Simulator, given: Given) => Promise<unknown>> = {
  'charges.create': (vintem, _, given) => vintem.charges.create(given),
  'charges.cancel': (vintem, _, { id }) => vintem.charges.cancel(id),
  'transfers.create': (vintem, _, given) => vintem.transfers.create(given),
  'operations.create': (vintem, _, given) => vintem.operations.create(given),
  'webhooks.create': (vintem, _, given) => vintem.webhooks.create(given),
  'refunds.create': (vintem, _, { paymentId, ...refund }) => vintem.refunds.create(paymentId, refund),
  'account.get': (vintem) => vintem.account.get(),
  'payments.get': (vintem, _, { id }) => vintem.payments.get(id),
  'payments.waitFor': (vintem, _, { id, ...wait }) => vintem.payments.waitFor(id, wait),
  'simulator.pay': (_, simulator, { id }) => simulator.charge(id, 'pay'),
  'simulator.expire': (_, simulator, { id }) => simulator.charge(id, 'expire'),
  'simulator.remove': (_, simulator, { id }) => simulator.charge(id, 'remove'),
  'simulator.complete': (_, simulator, { id }) => simulator.transfer(id, 'complete'),
  'simulator.refuse': (_, simulator, { id }) => simulator.transfer(id, 'refuse'),
  'simulator.dispute': (vintem, _, { id, ...given }) => vintem.testMode.dispute(id, given),
  'simulator.return': (_, simulator, { id }) => simulator.transfer(id, 'return'),
};

export function parseFixtures(content: string): Step[] {
  let parsed: { steps?: unknown };
  try {
    parsed = JSON.parse(content) as { steps?: unknown };
  } catch (error) {
    throw new UsageFault(`the file is not JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(parsed?.steps)) throw new UsageFault('the file needs "steps", a list');
  const names = new Set<string>();
  for (const [at, step] of (parsed.steps as Step[]).entries()) {
    if (!Object.hasOwn(calls, step?.call))
      throw new UsageFault(`step ${at + 1}: "call" is one of ${Object.keys(calls).join(', ')}`);
    for (const [, name = ''] of JSON.stringify(step.with ?? {}).matchAll(/\$\{([^.}]*)[^}]*\}/g))
      if (!names.has(name)) throw new UsageFault(`step ${at + 1}: no earlier step is named ${name}`);
    if (step.name !== undefined) names.add(step.name);
  }
  return parsed.steps as Step[];
}

/** A text that is one reference becomes the value itself, so that amounts stay numbers. */
export function resolved(value: unknown, answers: Readonly<Record<string, unknown>>): unknown {
  if (typeof value === 'string') {
    const whole = /^\$\{([^}]+)\}$/.exec(value)?.[1];
    if (whole !== undefined) return memberOf(answers, whole);
    return value.replaceAll(/\$\{([^}]+)\}/g, (_, path: string) => String(memberOf(answers, path)));
  }
  if (Array.isArray(value)) return value.map((each) => resolved(each, answers));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolved(each, answers)]));
  return value;
}

function memberOf(answers: Readonly<Record<string, unknown>>, path: string): unknown {
  let value: unknown = answers;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name))
      throw new Error(`\${${path}}: there is no ${name}`);
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

export const fixturesCommand: Command = {
  name: 'fixtures run',
  usage: 'FILE [--simulator URL]',
  about: 'carries out the steps of a JSON file on a test account',
  more: `A step calls one of ${Object.keys(calls).join(', ')}.`,
  options: simulatorOption,
  operands: ['FILE'],
  run: async ({ vintem, login, values, operands: [file = ''], out }) => {
    const content = await readFile(file, 'utf8').catch((error: Error) => {
      throw new UsageFault(`FILE cannot be read: ${error.message}`);
    });
    const steps = parseFixtures(content);
    needsTestKey(login, 'fixtures run');
    const simulator = simulatorOf(values.simulator, vintem);
    const answers: Record<string, unknown> = {};
    const rows: string[][] = [];
    for (const [at, { name, call, with: given = {} }] of steps.entries()) {
      const work = calls[call] as (typeof calls)[string];
      const label = `step ${at + 1}, ${call}`;
      const answer = await out
        .progress(label, work(vintem, simulator, resolved(given, answers)))
        .catch((error) => {
          error.message = `${label}: ${error.message}`;
          throw error;
        });
      if (name !== undefined) answers[name] = answer;
      const { id = '', status = '' } = answer as { id?: string; status?: string };
      rows.push([String(at + 1), name ?? '', call, id, status]);
    }
    out.answer(answers, table(['step', 'name', 'call', 'id', 'status'], rows));
    return undefined;
  },
};
