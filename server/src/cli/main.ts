#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { distance } from 'fastest-levenshtein';
import { type Config, readConfig, SettingFault } from '../ground/config.ts';
import { createLog } from '../ground/log.ts';
import { systemClock } from '../ports/clock.ts';
import { systemIds } from '../ports/ids.ts';
import { type Answer, type CommandInput, UsageFault } from './command.ts';
import { commands } from './commands.ts';

/**
 * The command line. Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 `verify` found a violation. Answers go to
 * standard output, everything else to standard error.
 */
async function main(argv: string[]): Promise<number> {
  const command = findCommand(argv);
  if (!command) {
    const wantsHelp =
      argv.length === 0 || argv.includes('--help') || argv.includes('-h') || argv[0] === 'help';
    if (wantsHelp) process.stdout.write(overview());
    else process.stderr.write(unknownCommand(argv));
    return wantsHelp ? 0 : 2;
  }
  const words = command.name.split(' ').length;
  try {
    const { values, positionals } = parseArgs({
      args: argv.slice(words),
      options: { ...command.options, help: { type: 'boolean', short: 'h' }, json: { type: 'boolean' } },
      allowPositionals: (command.operands ?? []).length > 0,
    });
    if (values.help) {
      process.stdout.write(help(command));
      return 0;
    }
    const operands = command.operands ?? [];
    if (positionals.length !== operands.length) throw new UsageFault(`needs ${operands.join(' ')}`);
    const print = (answer: Answer): number => {
      process.stdout.write(values.json ? `${JSON.stringify(answer.json)}\n` : `${answer.text}\n`);
      return answer.exitCode ?? 0;
    };
    let config: Config;
    try {
      config = readConfig(process.env);
    } catch (error) {
      if (error instanceof SettingFault && command.onSettingFault)
        return print(command.onSettingFault(error));
      throw error;
    }
    const log = createLog(config.logLevel);
    endOnBugs(log);
    const edge = {
      config,
      clock: systemClock,
      ids: systemIds(systemClock),
      log,
      // With --json standard output is one document.
      say: (line: string) => (values.json ? process.stderr : process.stdout).write(`${line}\n`),
    };
    const input: CommandInput = { values: values as CommandInput['values'], operands: positionals };
    const answer = await command.run(
      edge,
      input,
      command.lasts ? untilSignal() : new AbortController().signal,
    );
    return answer ? print(answer) : 0;
  } catch (error) {
    return report(error, command.name);
  }
}

function findCommand(argv: string[]) {
  const named = (words: number) => commands.find(({ name }) => name === argv.slice(0, words).join(' '));
  return named(2) ?? named(1);
}

function report(error: unknown, name: string): number {
  const { message, code, stack } = error as NodeJS.ErrnoException;
  if (error instanceof UsageFault || code?.startsWith('ERR_PARSE_ARGS')) {
    process.stderr.write(`vintem ${name}: ${message}\nSee: npx vintem ${name} --help\n`);
    return 2;
  }
  if (error instanceof SettingFault) {
    for (const line of error.lines) process.stderr.write(`vintem: ${line}\n`);
    return 2;
  }
  if (code === 'EADDRINUSE') {
    process.stderr.write(`vintem: port ${(error as { port?: number }).port} is taken\n`);
    return 2;
  }
  process.stderr.write(`vintem: ${message}\n`);
  if (process.env.LOG_LEVEL === 'debug') process.stderr.write(`${stack}\n`);
  return 1;
}

/**
 * Aborted by the first SIGINT or SIGTERM; the next one ends at once. npm passes on a Ctrl-C that the terminal has sent to
 * us already, so what follows within a second is the same one.
 */
function untilSignal(): AbortSignal {
  const ending = new AbortController();
  let firstMs = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (!ending.signal.aborted) {
        firstMs = systemClock.monotonicMs();
        ending.abort();
      } else if (systemClock.monotonicMs() - firstMs > 1_000) process.exit(1);
    });
  }
  void whenOrphaned().then(() => ending.abort());
  return ending.signal;
}

/** npm passes a signal on to the shell that stands between us, and the shell ends without a word to us. */
async function whenOrphaned(): Promise<void> {
  if (!process.env.npm_command) return new Promise(() => {});
  const parent = process.ppid;
  while (process.ppid === parent) await systemClock.sleep(200);
}

/** A bug in one place says nothing about the state of the others: end, and let the next start look at what is on disk. */
function endOnBugs(log: ReturnType<typeof createLog>): void {
  const end = (error: unknown) => {
    log.fatal({ err: error }, 'ended by an unexpected error');
    process.exit(1);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}

function overview(): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`);
  return `vintem COMMAND [--json] [--help]\n\n${lines.join('\n')}\n\nSettings come from the environment; README.md lists them.\n`;
}

/** One line, with the commands that look most like what was written. */
function unknownCommand(argv: string[]): string {
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

function help({ name, usage, about }: (typeof commands)[number]): string {
  return `vintem ${name}${usage ? ` ${usage}` : ''}\n\n${about}\n\n  --json  one JSON document on standard output\n`;
}

process.exit(await main(process.argv.slice(2)));
