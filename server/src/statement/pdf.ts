import type { Readable } from 'node:stream';
import type { Language } from '../ground/errors.ts';
import { amountText, priceOf } from '../ground/money.ts';
import { colours, drawHead, left, newDocument, type Page, right, shown } from '../ground/pdf.ts';
import type { Line } from './line.ts';
import { dayOf, localTimeOf } from './period.ts';
import type { Names } from './statement.sql.ts';
import type { Stretch } from './statement.ts';
import { type PartyOf, textsOf } from './words.ts';

/** Whose statement it is and of which stretch of time, in ms since 1970. */
export interface PdfFacts extends Names {
  fromMs: number;
  toMs: number;
  language: Language;
  partyOf: PartyOf;
}

const words = {
  'pt-BR': {
    title: 'Extrato',
    period: (from: string, to: string) => `De ${from} a ${to} (horário de Brasília)`,
    when: 'Data',
    what: 'Lançamento',
    amount: 'Valor (R$)',
    balance: 'Saldo (R$)',
    opening: 'Saldo inicial',
    closing: 'Saldo final',
    came: 'Total de entradas',
    went: 'Total de saídas',
    fees: 'Tarifas (dentro das saídas)',
    empty: 'Nenhum lançamento no período.',
    test: 'Conta de teste: nenhum dinheiro se move.',
  },
  en: {
    title: 'Statement',
    period: (from: string, to: string) => `From ${from} to ${to} (Brasília time)`,
    when: 'Date',
    what: 'Entry',
    amount: 'Amount (R$)',
    balance: 'Balance (R$)',
    opening: 'Opening balance',
    closing: 'Closing balance',
    came: 'Total in',
    went: 'Total out',
    fees: 'Fees (part of what went out)',
    empty: 'No entries in this period.',
    test: 'Test account: no money moves.',
  },
} as const;

/** Where texts begin and where numbers end. */
const column = { when: left, what: left + 92, amount: right - 80, balance: right };
/** 2,000 rows take about a second on a busy machine; between two reads other requests have their turn. */
const journalsPerRead = 50;
const rowHeight = 15;
const bottom = 841.89 - 72;

/** The statement for people: opening balance, a row for each line, totals, closing balance. A stream that the reader may give up. */
export async function statementPdf(stretch: Stretch, facts: PdfFacts): Promise<Readable> {
  const page = await newDocument(words[facts.language].title, facts.language);
  // Sent while it is drawn: a month of a busy shop takes longer than an answer may be waited for.
  const file = page as unknown as Readable;
  draw(page, stretch, facts, () => file.destroyed).catch((error: unknown) => file.destroy(error as Error));
  return file;
}

async function draw(page: Page, stretch: Stretch, facts: PdfFacts, isGivenUp: () => boolean): Promise<void> {
  const say = words[facts.language];
  drawHead(page, say.title);
  page.font('Helvetica-Bold').fontSize(12).fillColor(colours.ink);
  page.text(shown(`${facts.accountName} · ${facts.operationName}`), left, 128);
  page.font('Helvetica').fontSize(10).fillColor(colours.soft);
  page.text(say.period(dateOf(facts.fromMs), dateOf(facts.toMs - 1)), left, 146);
  if (facts.test) page.fillColor(colours.copper).text(say.test, left, 160);

  const sums = { came: 0, went: 0, fees: 0 };
  let top = drawColumns(page, facts.language, 184);
  top = drawSum(page, say.opening, stretch.opening.balanceCents, top);
  for await (const lines of stretch.pages(journalsPerRead)) {
    if (isGivenUp()) return;
    for (const line of lines) {
      if (top + rowHeight > bottom) top = nextPage(page, facts.language);
      drawLine(page, line, facts, top);
      top += rowHeight;
      if (line.amountCents > 0) sums.came += line.amountCents;
      else sums.went -= line.amountCents;
      if (line.kind === 'charge_fee' || line.kind === 'transfer_fee') sums.fees -= line.amountCents;
    }
  }
  if (top + 6 * rowHeight > bottom) top = nextPage(page, facts.language);
  if (stretch.opening.seq === stretch.closing.seq) {
    page.fillColor(colours.soft).text(say.empty, column.what, top);
    top += rowHeight;
  }
  top = drawSum(page, say.closing, stretch.closing.balanceCents, top) + rowHeight / 2;
  for (const [label, cents] of [
    [say.came, sums.came],
    [say.went, sums.went],
    [say.fees, sums.fees],
  ] as const) {
    page.font('Helvetica').fontSize(9).fillColor(colours.soft).text(label, column.what, top);
    drawNumbers(page, '', priceOf(cents), top);
    top += rowHeight;
  }
  page.end();
}

function nextPage(page: Page, language: Language): number {
  page.addPage();
  return drawColumns(page, language, 72);
}

function drawColumns(page: Page, language: Language, top: number): number {
  const say = words[language];
  page.font('Helvetica-Bold').fontSize(9).fillColor(colours.soft);
  page.text(say.when, column.when, top).text(say.what, column.what, top);
  drawNumbers(page, say.amount, say.balance, top);
  page
    .moveTo(left, top + 13)
    .lineTo(right, top + 13)
    .lineWidth(0.5)
    .strokeColor(colours.line)
    .stroke();
  return top + rowHeight + 4;
}

/** Without pdfkit's line breaking, which is ten times the work of a row. */
const oneLine = { lineBreak: false } as const;

function drawNumbers(page: Page, first: string, second: string, top: number): void {
  for (const [text, end] of [
    [first, column.amount],
    [second, column.balance],
  ] as const) {
    page.text(text, end - page.widthOfString(text), top, oneLine);
  }
}

function drawSum(page: Page, label: string, cents: number, top: number): number {
  page.font('Helvetica-Bold').fontSize(9).fillColor(colours.ink).text(label, column.what, top);
  drawNumbers(page, '', amountText(cents), top);
  return top + rowHeight;
}

function drawLine(page: Page, line: Line, { language, partyOf }: PdfFacts, top: number): void {
  page.font('Helvetica').fontSize(9).fillColor(colours.ink);
  page.text(`${dateOf(line.at)} ${localTimeOf(line.at).slice(11, 19)}`, column.when, top, oneLine);
  const text = shown(textsOf(line, language, partyOf).join(' · '));
  page.text(cutTo(page, text, column.amount - 70 - column.what), column.what, top, oneLine);
  drawNumbers(page, amountText(line.amountCents), amountText(line.balanceCents), top);
}

function cutTo(page: Page, text: string, width: number): string {
  if (page.widthOfString(text) <= width) return text;
  let kept = text.slice(0, 80);
  while (kept !== '' && page.widthOfString(`${kept}…`) > width) kept = kept.slice(0, -1);
  return `${kept}…`;
}

/** `21/11/2026`, as Brazilians write it in either language. */
const dateOf = (ms: number): string => dayOf(ms).split('-').reverse().join('/');
