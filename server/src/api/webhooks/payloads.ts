import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EventType, eventBody, eventTypes } from '../../store/events/event.ts';
import { sampleOf, sampleTypes } from './samples.ts';

/**
 * The payloads of every event as the merchants' pages show them, from the functions that make the real ones.
 *
 * `node server/src/api/webhooks/payloads.ts --write FOLDER` puts them between the marks of `webhooks.md` and `pt/webhooks.md`, `--check FOLDER` ends
 * with 1 when a page says something else.
 */
const begin = '<!-- payloads: generated, see server/src/api/webhooks/payloads.ts -->';
const end = '<!-- /payloads -->';

const operationId = '01939f3a-7a00-7000-8000-000000000003';
const at = Date.parse('2026-11-20T20:43:18.000Z');

type Language = 'en' | 'pt-BR';

export const pages = { en: 'webhooks.md', 'pt-BR': 'pt/webhooks.md' } as const satisfies Record<
  Language,
  string
>;

const onlyWhileAsked: Readonly<Record<Language, string>> = {
  en: 'Written only while an endpoint of the account subscribes to it.',
  'pt-BR': 'Escrito só enquanto um endpoint da conta o assina.',
};

function section(type: EventType, language: Language): string {
  const content = { type, livemode: true, at, ...sampleOf(type, operationId, at) };
  const body = eventBody('01939f3a-7c00-7000-8000-000000000001', content);
  const pretty = JSON.stringify(JSON.parse(body), null, 2);
  const { kept } = eventTypes[type];
  const description = language === 'en' ? eventTypes[type].description : eventTypes[type].inPortuguese;
  const asked = kept || type === 'webhook.test' ? '' : ` ${onlyWhileAsked[language]}`;
  return `### \`${type}\`\n\n${description}${asked}\n\n\`\`\`json\n${pretty}\n\`\`\`\n`;
}

export function withPayloads(page: string, language: Language): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error('the page lacks the marks of the payloads');
  return `${before}${begin}\n\n${sampleTypes.map((type) => section(type, language)).join('\n')}\n${end}${after}`;
}

async function main([what, folder]: readonly string[]): Promise<void> {
  if ((what !== '--write' && what !== '--check') || folder === undefined) {
    throw new Error('usage: payloads.ts --write FOLDER | --check FOLDER');
  }
  for (const language of ['en', 'pt-BR'] as const) {
    const file = join(folder, pages[language]);
    const page = await readFile(file, 'utf8');
    const wanted = withPayloads(page, language);
    if (what === '--write') await writeFile(file, wanted);
    else if (page !== wanted)
      throw new Error(`${file} does not show the payloads as they are: npm run payloads`);
  }
}

if (import.meta.main) {
  main(process.argv.slice(2)).catch((error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
