#!/usr/bin/env node
import { createInterface } from 'node:readline/promises';
import { type Config, readConfig, SettingFault } from '../../ground/config.ts';
import { createLog } from '../../ground/log.ts';
import { systemClock } from '../../ports/clock.ts';
import { systemIds } from '../../ports/ids.ts';
import { type Answer, type CommandInput, UsageFault } from './command.ts';
import { findCommand, help, overview, parseWords, unknownCommand } from './words.ts';

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
    const { values, operands } = parseWords(command, argv.slice(words));
    if (values.help) {
      process.stdout.write(help(command));
      return 0;
    }
    if (operands.length !== (command.operands ?? []).length)
      throw new UsageFault(`needs ${(command.operands ?? []).join(' ')}`);
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
      ...(process.stdin.isTTY && process.stdout.isTTY && !values.json && { confirm: askAtTerminal }),
    };
    const input: CommandInput = { values, operands };
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

async function askAtTerminal(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return (await terminal.question(`${question} Type yes to do it: `)).trim() === 'yes';
  } finally {
    terminal.close();
  }
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

process.exit(await main(process.argv.slice(2)));
