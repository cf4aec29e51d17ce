import { parseArgs } from 'node:util';
import { distance } from 'fastest-levenshtein';
import type { Command, CommandInput } from './command.ts';
import { commands } from './commands.ts';
import { optionWords } from './option-words.ts';

/** Reads the words of the command line, and prints its help. */

/** The command that the first one or two words name. */
export function findCommand(argv: readonly string[]): Command | undefined {
  const named = (words: number) => commands.find(({ name }) => name === argv.slice(0, words).join(' '));
  return named(2) ?? named(1);
}

/** @throws what `parseArgs` throws when the words do not fit */
export function parseWords(command: Command, args: string[]): CommandInput {
  const { values, positionals } = parseArgs({
    args,
    options: { ...command.options, help: { type: 'boolean', short: 'h' }, json: { type: 'boolean' } },
    allowPositionals: (command.operands ?? []).length > 0,
  });
  return { values: values as CommandInput['values'], operands: positionals };
}

export function overview(): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`);
  return `vintem COMMAND [--json] [--help]\n\n${lines.join('\n')}\n\nSettings come from the environment; docs/operators/settings.md lists them.\n`;
}

/** One line, with the commands that look most like what was written. */
export function unknownCommand(argv: readonly string[]): string {
  const written = argv.filter((word) => !word.startsWith('-')).slice(0, 2);
  const near = commands
    .map(({ name }) => ({ name, edits: distance(name, written.slice(0, name.split(' ').length).join(' ')) }))
    .filter(({ name, edits }) => edits <= 2 || name.startsWith(`${written[0]} `))
    .sort((one, other) => one.edits - other.edits)
    .slice(0, 3)
    .map(({ name }) => `\`${name}\``);
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}? ` : '';
  return `vintem: unknown command: ${argv.join(' ')}. ${hint}See: npx vintem --help\n`;
}

export function help({ name, usage, about, options = {} }: Command): string {
  const words: [string, string][] = Object.keys(options).map((option) => [
    `--${option}`,
    optionWords[`${name} ${option}`] ?? optionWords[option] ?? '',
  ]);
  words.push(['--json', 'one JSON document on standard output']);
  const width = Math.max(...words.map(([option]) => option.length));
  const lines = words.map(([option, text]) => `  ${option.padEnd(width)}  ${text}`);
  return `vintem ${name}${usage ? ` ${usage}` : ''}\n\n${about}\n\n${lines.join('\n')}\n`;
}
