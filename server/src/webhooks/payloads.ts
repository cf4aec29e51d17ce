import { readFile, writeFile } from 'node:fs/promises';
import { type EventType, eventBody, eventTypes } from '../events/event.ts';
import { sampleOf, sampleTypes } from './samples.ts';

/**
 * The payloads of every event as the merchants' page shows them, from the functions that make the real ones.
 *
 * `node server/src/webhooks/payloads.ts --write FILE` puts them between the marks of a page, `--check FILE` ends with 1 when the
 * page says something else.
 */
const begin = '<!-- payloads: generated, see server/src/webhooks/payloads.ts -->';
const end = '<!-- /payloads -->';

const operationId = '01939f3a-7a00-7000-8000-000000000003';
const at = Date.parse('2026-11-20T20:43:18.000Z');

function section(type: EventType): string {
  const content = { type, livemode: true, at, ...sampleOf(type, operationId, at) };
  const body = eventBody('01939f3a-7c00-7000-8000-000000000001', content);
  const pretty = JSON.stringify(JSON.parse(body), null, 2);
  const { kept, description } = eventTypes[type];
  const asked =
    kept || type === 'webhook.test' ? '' : ' Written only while an endpoint of the account subscribes to it.';
  return `### \`${type}\`\n\n${description}${asked}\n\n\`\`\`json\n${pretty}\n\`\`\`\n`;
}

export function withPayloads(page: string): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error('the page lacks the marks of the payloads');
  return `${before}${begin}\n\n${sampleTypes.map(section).join('\n')}\n${end}${after}`;
}

async function main([what, file]: readonly string[]): Promise<void> {
  if ((what !== '--write' && what !== '--check') || file === undefined) {
    throw new Error('usage: payloads.ts --write FILE | --check FILE');
  }
  const page = await readFile(file, 'utf8');
  const wanted = withPayloads(page);
  if (what === '--write') return writeFile(file, wanted);
  if (page !== wanted) throw new Error(`${file} does not show the payloads as they are: npm run payloads`);
}

if (import.meta.main) {
  main(process.argv.slice(2)).catch((error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
