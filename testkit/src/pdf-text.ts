import { inflateSync } from 'node:zlib';

/** The lines of a PDF, as a reader finds them: its streams inflated, its strings read. */
export function textOfPdf(pdf: Buffer): string {
  const source = pdf.toString('latin1');
  let text = '';
  // Packed bytes may end with a carriage return of their own.
  for (const { 1: packed = '' } of source.matchAll(/stream\r?\n([\s\S]*?)\nendstream/g)) {
    let content: string;
    try {
      content = inflateSync(Buffer.from(packed, 'latin1')).toString('latin1');
    } catch {
      continue;
    }
    for (const { 1: line = '' } of content.matchAll(/\[(.*?)\] TJ/g)) {
      const hex = [...line.matchAll(/<([0-9a-f]*)>/g)].map((one) => one[1]).join('');
      text += `${new TextDecoder('windows-1252').decode(Buffer.from(hex, 'hex'))}\n`;
    }
  }
  return text;
}
