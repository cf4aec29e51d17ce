import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * The rules of language of CONTRIBUTING.md that a program can check: `npm run prose`. Pages, comments, titles of tests and log lines are
 * English; what people of merchants read is Portuguese. Words that a rule refuses stand in it with what to write instead.
 */
export interface Finding {
  line: number;
  says: string;
  rule: string;
}

interface Rule {
  name: string;
  pattern: RegExp;
}

const words = (name: string, refused: Record<string, string>): Rule[] =>
  Object.entries(refused).map(([word, instead]) => ({
    name: `${name}: "${word}", ${instead}`,
    pattern: new RegExp(`(?<![\\p{L}\\d_'’-])${word}(?![\\p{L}\\d_'’-])`, 'giu'),
  }));

const english: Rule[] = [
  ...words('plain words', {
    'in order to': 'write "to"',
    utilize: 'write "use"',
    utilise: 'write "use"',
    leverage: 'write "use"',
    whilst: 'write "while"',
    thereof: 'name the thing',
    aforementioned: 'name the thing',
    'and/or': 'say which',
    obviously: 'leave it out',
    basically: 'leave it out',
    'needless to say': 'leave it out',
    'it should be noted that': 'leave it out',
    'please note that': 'leave it out',
    seamless: 'say what works',
    seamlessly: 'say what works',
    'blazingly fast': 'give the figure',
    'state-of-the-art': 'say what it does',
    'asked after': 'write "queried"',
    whoever: 'name the person or the process',
    nobody: 'name who does not: "no person", "no process"',
    somebody: 'name who does: "a person", "another process"',
    told: 'write "reported", "notified" or "shown"',
    tells: 'write "reports", "shows" or "names"',
    hears: 'write "learns" or "receives"',
    'goes on': 'write "continues"',
    'for ever': 'write "without an end"',
    'at hand': 'write "configured", "cached" or "current"',
    'of before': 'write "earlier"',
  }),
  {
    name: 'a word twice',
    pattern: /(?<![\p{L}\d_'’`-])(the|a|an|of|to|in|is|and|for|with|by) \1(?![\p{L}\d_'’`-])/giu,
  },
];

/** A comment names its thing, and does not begin with a clause about it. */
const openings: Rule[] = [
  {
    name: 'a comment that begins with "What" or "Whoever": begin with a noun or a verb',
    pattern:
      /(?<=^[^\S\n]*\/\*\*[^\S\n]*(?:\n[^\S\n]*\*[^\S\n]*)?|^(?![^\S\n]*\/\/)[^\n]*\n[^\S\n]*\/\/ |\S[^\n]* \/\/ )Wh(?:at|oever)\b/gmu,
  },
];

/** In comments and pages; in code they may be names. */
const unfinished: Rule[] = [
  { name: 'unfinished work', pattern: /(?<![\p{L}\d_`'"])(TODO|FIXME|XXX|HACK)(?![\p{L}\d_`'"])/gu },
];

/** Words that exist without their accent in no Portuguese text. */
const accents: Rule[] = words('an accent is missing', {
  nao: 'não',
  voce: 'você',
  codigo: 'código',
  transferencia: 'transferência',
  transferencias: 'transferências',
  cobranca: 'cobrança',
  cobrancas: 'cobranças',
  operacao: 'operação',
  operacoes: 'operações',
  conciliacao: 'conciliação',
  confirmacao: 'confirmação',
  notificacao: 'notificação',
  notificacoes: 'notificações',
  disponivel: 'disponível',
  invalido: 'inválido',
  invalida: 'inválida',
  endereco: 'endereço',
  numero: 'número',
  sessao: 'sessão',
  usuario: 'usuário',
  possivel: 'possível',
  ate: 'até',
  tambem: 'também',
});

/** A message is searched for as it stands: what changes goes into the fields. */
const logLines: Rule[] = [
  {
    name: 'a log message that is no constant',
    pattern: /\blog\.(?:trace|debug|info|warn|error|fatal)\(\s*(?:\{[^{}]*\},\s*)?`[^`]*\$\{/g,
  },
];

/** The English prose of a file, with the same lines. */
const comments = (code: string): string =>
  code
    .split('\n')
    .map(
      (line) => /^\s*(?:\/\*\*?|\*|\/\/)(.*)$/.exec(line)?.[1] ?? /(?:^|\s)\/\/ (.*)$/.exec(line)?.[1] ?? '',
    )
    .join('\n');

/** Blocks and names of code. */
const withoutCode = (page: string): string =>
  page
    .replace(/```[\s\S]*?```/g, (block) => block.replace(/[^\n]/g, ' '))
    .replace(/`[^`\n]*`/g, (name) => ' '.repeat(name.length));

const isPortuguese = (path: string): boolean => /(^|\/)(pt|.*-pt)\.tsx?$/.test(path);

/** The titles of tests, with the same lines. */
const titles = (code: string): string => {
  const lines = code.replace(/[^\n]/g, ' ').split('');
  const title = /\b(?:it|test|describe)(?:\.\w+)*(?:\([^()]*\))?\(\s*(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1/g;
  for (const match of code.matchAll(title)) {
    const at = match.index + match[0].length - 1 - (match[2] as string).length;
    lines.splice(at, (match[2] as string).length, ...(match[2] as string));
  }
  return lines.join('');
};

/** The comments of SQL, with the same lines. */
const sqlComments = (sql: string): string =>
  sql
    .split('\n')
    .map((line) => /--(.*)$/.exec(line)?.[1] ?? '')
    .join('\n');

export function findingsIn(path: string, text: string): Finding[] {
  if (/\.sql$/.test(path)) return found(withoutCode(sqlComments(text)), [...english, ...unfinished]);
  if (/\.md$/.test(path)) return found(withoutCode(text), [...english, ...unfinished]);
  if (!/\.(?:[cm]?[jt]s|tsx)$/.test(path)) return [];
  return [
    ...found(withoutCode(comments(text)), [...english, ...unfinished]),
    ...found(text, openings),
    ...(/\.test\.tsx?$/.test(path) ? found(titles(text), english) : []),
    ...found(text, logLines),
    ...(isPortuguese(path) ? found(text, accents) : []),
  ];
}

function found(text: string, rules: readonly Rule[]): Finding[] {
  return rules.flatMap(({ name, pattern }) =>
    [...text.matchAll(pattern)].map(({ 0: says, index }) => ({
      line: text.slice(0, index).split('\n').length,
      says: says.replace(/\s+/g, ' ').slice(0, 60),
      rule: name,
    })),
  );
}

/** Generated, not ours to write, or sentences that break the rules on purpose. */
const leftOut =
  /(^|\/)(node_modules|dist)\/|^sdk\/src\/contract\.ts$|contract\.d\.ts$|^contract\/|^LICENSE|(^|\/)prose(\.test)?\.ts$/;

async function main(): Promise<void> {
  const { stdout } = await promisify(execFile)('git', ['ls-files', '-z'], { maxBuffer: 1e7 });
  let count = 0;
  for (const path of stdout.split('\0').filter((one) => one !== '' && !leftOut.test(one))) {
    if (!/\.(?:md|sql|[cm]?[jt]s|tsx)$/.test(path)) continue;
    for (const { line, says, rule } of findingsIn(path, await readFile(path, 'utf8'))) {
      count++;
      console.error(`${path}:${line}: ${rule} (${says})`);
    }
  }
  if (count > 0) process.exitCode = 1;
  console.log(`${count} findings`);
}

if (import.meta.main) await main();
