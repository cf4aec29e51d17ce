import type { FastifyReply } from 'fastify';
import { type Cell, csvLine } from '../ground/csv.ts';
import type { Language } from '../ground/errors.ts';

/** The form of a file in the operator's language. */
export const formIn = (language: Language) =>
  ({ separator: language === 'en' ? ',' : ';', language }) as const;

/** A short list of the console as a file for spreadsheets, in the form of the operator's language. */
export const sendList = (
  reply: FastifyReply,
  language: Language,
  name: string,
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
): FastifyReply => {
  const form = formIn(language);
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="vintem-${name}.csv"`)
    .send([columns, ...rows].map((cells) => csvLine(cells, form)).join(''));
};

/** An instant; empty where there is none. */
export const instant = (ms: number | null): Cell => (ms === null ? null : { at: ms });
