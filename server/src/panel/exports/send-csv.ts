import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { type Cell, type CsvForm, csvLine } from '../../ground/csv.ts';
import type { Language } from '../../ground/errors.ts';
import type { Papers } from '../../ground/paper/papers.ts';
import type { CsvQuery } from '../schema/schema.ts';
import { type Column, headers } from './csv-words.ts';

export type Row = readonly Cell[];

/** Rows of one page after the other. */
export type Pages = AsyncGenerator<Row[]>;

/**
 * Brazilian spreadsheets want semicolons and a byte order mark; the query can ask for another form. The first page is
 * read before the file is begun: what it is refused for is an answer, and no broken file.
 */
export async function sendCsv(
  papers: Papers,
  request: Pick<FastifyRequest, 'language' | 'member'> & { query: Static<typeof CsvQuery> },
  reply: FastifyReply,
  fileName: string,
  columns: readonly Column[],
  pages: Pages,
): Promise<FastifyReply> {
  const { query } = request;
  const language = languageOf(request);
  const form = formOf(language, query.separator);
  const bom = query.bom === undefined ? language === 'pt-BR' : query.bom === 'yes';
  const linesOf = (rows: readonly Row[]): string => rows.map((row) => csvLine(row, form)).join('');
  async function* text(): AsyncGenerator<string> {
    const first = await pages.next();
    yield `${bom ? '\ufeff' : ''}${csvLine(language === 'en' ? columns : columns.map((name) => headers[name]), form)}`;
    if (!first.done) yield linesOf(first.value);
    for await (const rows of pages) yield linesOf(rows);
  }
  const file = await papers.text(request.member.accountId, text());
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${fileName}"`)
    .send(file);
}

/** The panel names the language that it shows: a browser's own may be another. */
export const languageOf = (request: { language: Language; query: Static<typeof CsvQuery> }): Language =>
  request.query.language ?? request.language;

const formOf = (language: Language, separator: string | undefined): CsvForm => ({
  language,
  separator: (separator === undefined ? language === 'pt-BR' : separator === 'semicolon') ? ';' : ',',
});
