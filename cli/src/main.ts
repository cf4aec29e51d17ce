import { parseArgs } from 'node:util';
import { Vintem, VintemError } from '@vintem/sdk';
import { callCommands } from './calls.ts';
import { type Command, type Context, exitCodes, type Login, text, UsageFault } from './command.ts';
import { eventCommands } from './events.ts';
import { fixturesCommand } from './fixtures.ts';
import { linkCommands } from './links.ts';
import { defaultConfigFile, givenKey, loginCommands, safeUrl, storedLogin } from './login.ts';
import { type Output, outputTo } from './output.ts';
import { paymentCommands } from './payments.ts';
import { triggerCommand } from './trigger.ts';

/** Every command: to add one is to add an entry. */
const commands: Command[] = [
  ...loginCommands,
  ...paymentCommands,
  ...linkCommands,
  ...callCommands,
  ...eventCommands,
  triggerCommand,
  fixturesCommand,
];

const common = {
  url: { type: 'string' },
  key: { type: 'string' },
  'key-file': { type: 'string' },
  operation: { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

async function main(argv: string[]): Promise<number> {
  const named = (words: number) => commands.find(({ name }) => name === argv.slice(0, words).join(' '));
  const command = named(2) ?? named(1);
  if (!command) {
    const wantsHelp = argv.length === 0 || argv.some((word) => ['--help', '-h', 'help'].includes(word));
    if (!wantsHelp) process.stderr.write(`vintem-cli: unknown command: ${argv.join(' ')}\n\n`);
    (wantsHelp ? process.stdout : process.stderr).write(overview());
    return wantsHelp ? exitCodes.done : exitCodes.usage;
  }
  try {
    return await run(command, argv.slice(command.name.split(' ').length));
  } catch (error) {
    return report(error, command.name);
  }
}

async function run(command: Command, args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    options: { ...command.options, ...common },
    allowPositionals: command.operands !== undefined,
  });
  if (values.help) {
    process.stdout.write(help(command));
    return exitCodes.done;
  }
  const needed = command.operands ?? [];
  if (positionals.length !== needed.length) throw new UsageFault(`needs ${needed.join(' ')}`);
  const given = values as Context['values'];
  const configFile = text(given, 'config') ?? defaultConfigFile(process.env);
  const out = outputTo(process.stdout, process.stderr, values.json === true);
  const login = command.anonymous ? { url: '', key: '' } : await loginOf(given, configFile);
  return (
    (await command.run({
      login,
      // A command without a login makes its own client.
      vintem: command.anonymous ? (undefined as never) : clientOf(login, given, out),
      values: given,
      operands: positionals,
      out,
      ending: untilSignal(),
      configFile,
    })) ?? exitCodes.done
  );
}

/** An option of the command line wins over the stored value. */
async function loginOf(values: Context['values'], configFile: string): Promise<Login> {
  const stored = await storedLogin(configFile);
  const given = await givenKey(values);
  const url = text(values, 'url') ?? (process.env.VINTEM_URL || stored?.url);
  const key = given ?? stored?.key;
  if (url === undefined || key === undefined)
    throw new UsageFault('log in first, or give --url and --key-file');
  // A stored key is for its own service alone.
  if (stored && url !== stored.url && given === undefined)
    throw new UsageFault('the stored key is for another service: give --key-file with --url');
  return { url: safeUrl(url), key };
}

function clientOf({ url, key }: Login, values: Context['values'], out: Output): Vintem {
  return new Vintem({
    apiKey: key,
    baseUrl: url,
    operation: text(values, 'operation'),
    // Shown before anything is sent: it is what makes a repeat safe.
    persist: (requestKey, { call }) => {
      if (call.endsWith('.create')) out.note(`request key ${requestKey}`);
    },
  });
}

function report(error: unknown, name: string): number {
  const { message, code } = error as NodeJS.ErrnoException;
  const say = (line: string): void => void process.stderr.write(`vintem-cli ${name}: ${line}\n`);
  if (error instanceof UsageFault || code?.startsWith('ERR_PARSE_ARGS')) {
    say(`${message}\nSee: vintem-cli ${name} --help`);
    return exitCodes.usage;
  }
  if (!(error instanceof VintemError)) {
    say(message);
    return exitCodes.failed;
  }
  if (error.code === 'aborted' && error.requestKey === undefined) return exitCodes.interrupted;
  say(`${message} (${error.code}${error.requestId ? `, ${error.requestId}` : ''})`);
  if (!error.retryable || error.requestKey === undefined) return exitCodes.failed;
  say(`the outcome is not known: repeat the same command with --request-key ${error.requestKey}`);
  return exitCodes.open;
}

function untilSignal(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (ending.signal.aborted) process.exit(exitCodes.interrupted);
      ending.abort();
    });
  return ending.signal;
}

function overview(): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, about }) => `  ${name.padEnd(width)}  ${wrapped(about, width + 4)}`);
  return `vintem-cli COMMAND [--json] [--help]\n\n${lines.join('\n')}\n\n${footer}`;
}

/** Lines of at most the terminal's width, all but the first of them moved in. */
function wrapped(text: string, indent: number): string {
  const most = Math.max(40, (process.stdout.columns ?? 100) - indent);
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length > most) lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return lines.join(`\n${' '.repeat(indent)}`);
}

const footer = `  --url SERVICE --key-file FILE
                           instead of the stored ones; FILE - reads the key from standard input, and the
                           variables VINTEM_URL and VINTEM_KEY are taken too (--key KEY shows it to
                           everybody here)
  --operation ID           the business operation, instead of the main one
  --config FILE            where address and key are stored
  --json                   JSON on standard output, one document or one a line

Exit codes: 0 done; 1 refused, failed, or not paid; 2 wrong usage; 4 the outcome of a creation is not known,
repeat it with the same --request-key; 130 interrupted.
`;

const help = ({ name, usage, about, more }: Command): string =>
  [`vintem-cli ${name} ${usage}`.trim(), wrapped(about, 0), ...(more ? [wrapped(more, 0)] : []), footer].join(
    '\n\n',
  );

process.exit(await main(process.argv.slice(2)));
