import type { Language } from '../../ground/errors.ts';
import type { Line } from './line.ts';
import { offsetAt } from './period.ts';
import type { Stretch } from './statement.ts';
import { nameOf, type PartyOf, textsOf } from './words.ts';

/** Whose statement it is and of which stretch of time, in ms since 1970. */
export interface OfxFacts {
  operationId: string;
  fromMs: number;
  toMs: number;
  nowMs: number;
  language: Language;
  partyOf: PartyOf;
}

/**
 * OFX 1.0.2, SGML (Open Financial Exchange Specification 1.0.2, chapters 2 and 11): what Brazilian accounting programs import. OFX 2 is
 * XML and fewer of them read it. The text is ASCII, since programs disagree about the encoding that the header names, and each mark has a
 * line of its own, since many of them read by line.
 *
 * `FITID` is the line's id, the same in every file, so that a program that imports overlapping periods sees each line once. `LEDGERBAL`
 * is the balance at the end of the period. `ACCTID` has at most 22 characters: the last 22 digits of the operation's id, its random part.
 */
export async function* ofxOf(stretch: Stretch, given: OfxFacts): AsyncGenerator<string> {
  // Programs refuse a balance as of a day that has not come.
  const toMs = Math.min(given.toMs, given.nowMs);
  const facts = { ...given, fromMs: Math.min(given.fromMs, toMs), toMs };
  yield headOf(facts);
  for await (const lines of stretch.pages(500)) {
    yield lines.map((line) => transactionOf(line, facts)).join('');
  }
  yield tailOf(stretch.closing.balanceCents, facts);
}

const header = [
  'OFXHEADER:100',
  'DATA:OFXSGML',
  'VERSION:102',
  'SECURITY:NONE',
  'ENCODING:USASCII',
  'CHARSET:1252',
  'COMPRESSION:NONE',
  'OLDFILEUID:NONE',
  'NEWFILEUID:NONE',
  '',
  '',
].join('\r\n');

const status = ['<STATUS>', '<CODE>0', '<SEVERITY>INFO', '</STATUS>'];

const joined = (rows: readonly string[]): string => `${rows.join('\r\n')}\r\n`;

const headOf = ({ operationId, fromMs, toMs, nowMs, language }: OfxFacts): string =>
  header +
  joined([
    '<OFX>',
    '<SIGNONMSGSRSV1>',
    '<SONRS>',
    ...status,
    `<DTSERVER>${timeOf(nowMs)}`,
    `<LANGUAGE>${language === 'en' ? 'ENG' : 'POR'}`,
    '<FI>',
    '<ORG>vintem',
    '<FID>0',
    '</FI>',
    '</SONRS>',
    '</SIGNONMSGSRSV1>',
    '<BANKMSGSRSV1>',
    '<STMTTRNRS>',
    '<TRNUID>0',
    ...status,
    '<STMTRS>',
    '<CURDEF>BRL',
    '<BANKACCTFROM>',
    '<BANKID>000',
    `<ACCTID>${accountOf(operationId)}`,
    '<ACCTTYPE>CHECKING',
    '</BANKACCTFROM>',
    '<BANKTRANLIST>',
    `<DTSTART>${timeOf(fromMs)}`,
    `<DTEND>${timeOf(toMs)}`,
  ]);

/** The specification allows 22 letters and digits, and Brazilian importers expect digits: the last 72 bits of the operation's id as a number. */
const accountOf = (operationId: string): string =>
  BigInt(`0x${operationId.replaceAll('-', '').slice(-18)}`)
    .toString()
    .padStart(22, '0');

const tailOf = (balanceCents: number, { toMs }: OfxFacts): string =>
  joined([
    '</BANKTRANLIST>',
    '<LEDGERBAL>',
    `<BALAMT>${amountOf(balanceCents)}`,
    `<DTASOF>${timeOf(toMs)}`,
    '</LEDGERBAL>',
    '</STMTRS>',
    '</STMTTRNRS>',
    '</BANKMSGSRSV1>',
    '</OFX>',
  ]);

/** Lengths of the specification: NAME 32, MEMO 255, REFNUM 32. */
function transactionOf(line: Line, { language, partyOf }: OfxFacts): string {
  const { id, at, kind, payment, amountCents } = line;
  const isFee = kind === 'charge_fee' || kind === 'transfer_fee';
  return joined([
    '<STMTTRN>',
    `<TRNTYPE>${isFee ? 'FEE' : amountCents < 0 ? 'DEBIT' : 'CREDIT'}`,
    `<DTPOSTED>${timeOf(at)}`,
    `<TRNAMT>${amountOf(amountCents)}`,
    `<FITID>${id}`,
    ...(payment ? [`<REFNUM>${payment.id.replaceAll('-', '')}`] : []),
    `<NAME>${textOf(partyIn(line, partyOf) ?? nameOf(line)[language], 32)}`,
    `<MEMO>${textOf(textsOf(line, language, partyOf).join(' - '), 255)}`,
    '</STMTTRN>',
  ]);
}

/** Importers file by `NAME`: who paid or was paid, where a line is about that. `MEMO` says what it is. */
const partyIn = ({ kind, payment }: Line, partyOf: PartyOf): string | null =>
  payment && !kind.includes('fee') ? partyOf(payment) : null;

function amountOf(cents: number): string {
  const digits = String(Math.abs(cents)).padStart(3, '0');
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** `20261121231500[-3:BRT]`: the wall clock of São Paulo, and what it is ahead of UTC. */
function timeOf(ms: number): string {
  const offset = offsetAt(ms);
  const digits = new Date(ms + offset).toISOString().replaceAll(/[-T:]/g, '').slice(0, 14);
  const hours = offset / 3600_000;
  return `${digits}[${hours}:${hours === -2 ? 'BRST' : 'BRT'}]`;
}

/** ASCII without accents, cut, and with what SGML reads as marks escaped. */
const textOf = (text: string, most: number): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\x20-\x7e]/gu, '?')
    .slice(0, most)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
