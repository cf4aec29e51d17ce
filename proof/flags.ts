import { parseArgs } from 'node:util';

/**
 * The numbers that a rig takes from its command line, as `--seed 7`; those left out are what is given here.
 * @throws Error for a flag that the rig does not know, or a value that is no number
 */
export function numbersGiven<Name extends string>(defaults: Record<Name, number>): Record<Name, number> {
  const names = Object.keys(defaults) as Name[];
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  const { values } = parseArgs({ options });
  const numbers = { ...defaults };
  for (const name of names) {
    if (values[name] === undefined) continue;
    numbers[name] = Number(values[name]);
    if (!Number.isFinite(numbers[name])) throw new Error(`--${name} ${values[name]} is no number`);
  }
  return numbers;
}
