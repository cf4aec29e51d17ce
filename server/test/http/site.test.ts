import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The documentation site, as it is built for any server of static files. */

const root = fileURLToPath(new URL('../../../', import.meta.url));
let folder: string;
let site: string;
const pages = new Map<string, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vintem-site-'));
  site = join(folder, 'site');
  await promisify(execFile)(process.execPath, [join(root, 'site/build.js'), '--base', '/', '--out', site]);
  for (const name of await readdir(site, { recursive: true }))
    if (name.endsWith('.html'))
      pages.set(
        `/${name.replace(/(^|\/)index\.html$/, '').replace(/\.html$/, '')}`,
        await readFile(join(site, name), 'utf8'),
      );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const attributes = (html: string, name: string): string[] =>
  [...html.matchAll(new RegExp(` ${name}="([^"]*)"`, 'g'))].map(([, value = '']) => value);

test('every link leads to a page that exists, and to a heading that stands on it', async () => {
  const files = new Set((await readdir(site, { recursive: true })).map((name) => `/${name}`));
  const broken: string[] = [];
  for (const [address, html] of pages)
    for (const link of [...attributes(html, 'href'), ...attributes(html, 'src')]) {
      if (/^(https:|data:|mailto:|http:\/\/127\.0\.0\.1:)/.test(link)) continue;
      const [path = '', anchor] = link.replace(/\?v=[0-9a-f]{12}$/, '').split('#');
      const target = path === '' ? html : pages.get(path);
      const found =
        anchor === undefined
          ? target !== undefined || files.has(path)
          : target?.includes(` id="${decodeURIComponent(anchor)}"`);
      if (!found) broken.push(`${address} → ${link}`);
    }
  expect(broken).toEqual([]);
});

test('every file of docs/ is a page', async () => {
  const files = (await readdir(join(root, 'docs'), { recursive: true })).filter((name) =>
    name.endsWith('.md'),
  );
  const titles = await Promise.all(
    files.map(
      async (name) => /^# (.+)$/m.exec(await readFile(join(root, 'docs', name), 'utf8'))?.[1] ?? name,
    ),
  );
  const all = [...pages.values()].join('\n');
  const shown = (title: string): string => title.replaceAll('&', '&amp;').replaceAll('`', '');
  expect(titles.filter((title) => !all.includes(`${shown(title)} · vintem`))).toEqual([]);
});

test('no page has inline scripts or styles, which the policy would refuse', () => {
  for (const [address, html] of pages)
    expect([address, html.match(/<script(?![^>]*\ssrc=)|<style|\sstyle="|\son[a-z]+="/g)]).toEqual([
      address,
      null,
    ]);
});

/** Every link of a text in Markdown, code left out. */
const linksOf = (text: string): string[] =>
  [...text.replaceAll(/^ *```.*?^ *```$/gms, '').matchAll(/\]\(([^()\s]+)\)/g)].map(([, href = '']) => href);

const markdownOf = (address: string): string => `${address === '/' ? '/index' : address}.md`;

test('every page is Markdown at its own address with .md, names it, and its links lead to Markdown of the site', async () => {
  const files = new Set((await readdir(site, { recursive: true })).map((name) => `/${name}`));
  const broken: string[] = [];
  for (const [address, html] of pages) {
    const text = await readFile(join(site, markdownOf(address)), 'utf8');
    expect([address, text]).toEqual([address, expect.stringMatching(/^# .+$/m)]);
    expect(html).toContain(`<link rel="alternate" type="text/markdown" href="${markdownOf(address)}">`);
    for (const href of linksOf(text)) {
      const [path = ''] = href.split('#');
      const leads = /^(https:|mailto:|http:\/\/127\.0\.0\.1:)/.test(href) || path === '' || files.has(path);
      if (!leads || pages.has(path)) broken.push(`${address} → ${href}`);
    }
  }
  expect(broken).toEqual([]);
});

test('llms.txt has a title, a quoted summary and sections of links, and lists the Markdown of every page once', async () => {
  const text = await readFile(join(site, 'llms.txt'), 'utf8');
  expect(text).toMatch(/^# vintem\n\n> [^\n]+\n\n/);
  const [, ...sections] = text.split(/^## .+\n/m);
  expect(sections.length).toBeGreaterThan(6);
  for (const line of sections.flatMap((section) => section.trim().split('\n')))
    expect(line).toMatch(/^- \[[^\][]+\]\([^()\s]+\.md\)(: .+)?$/);
  expect(linksOf(text).toSorted()).toEqual([...pages.keys()].map(markdownOf).toSorted());
});

/** Plain JavaScript, as `npm ci` runs it. */
interface Reference {
  referencePages(
    document: object,
    language: string,
    address: string,
    said?: (text: string) => string,
  ): { file: string; text: string }[];
}
const ours = (name: string) => import(join(root, 'site', name));
const { referencePages } = (await ours('reference.js')) as Reference;
const { portuguese } = (await ours('portuguese.js')) as { portuguese: Record<string, string> };
const document = JSON.parse(await readFile(join(root, 'contract/openapi.json'), 'utf8'));

const calls = Object.entries<Record<string, { operationId: string; tags: string[]; summary: string }>>(
  document.paths,
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, call]) => ({ name: `${method.toUpperCase()} ${path}`, ...call })),
);

test('every call, event and error of the interface stands in the reference, and every text of it in both languages', () => {
  const errors = Object.values<{ content: Record<string, { examples: object }> }>(
    document.components.responses,
  ).flatMap(({ content }) => Object.keys(content['application/json']?.examples ?? {}));
  for (const language of ['en', 'pt-BR']) {
    const shown = referencePages(document, language, '').map(({ text }) => text);
    const all = shown.join('\n').split('\n');
    const missing = [
      ...calls.map(({ name }) => `\`${name}\``),
      ...Object.keys(document.webhooks).map((type) => `## ${type}`),
      ...errors.map((code) => `- \`${code}\``),
    ].filter((line) => !all.some((one) => one.startsWith(line)));
    expect([language, missing]).toEqual([language, []]);
  }
  const said = new Set<string>();
  referencePages(document, 'pt-BR', '', (text) => {
    said.add(text);
    return text;
  });
  expect([...said].filter((text) => !portuguese[text])).toEqual([]);
  expect(Object.keys(portuguese).filter((text) => !said.has(text))).toEqual([]);
  for (const { summary } of calls) expect(portuguese[summary]).not.toBe(summary);
});

test('the addresses of calls on the earlier reference lead to the calls', () => {
  for (const { operationId, tags } of calls)
    expect(pages.get('/reference')).toContain(
      `<span id="/${tags[0]?.replaceAll(' ', '%20')}/${operationId}"></span><a href="/reference/`,
    );
});

const codeOf = async (name: string) =>
  [
    ...(await readFile(join(root, 'docs/merchants', name), 'utf8')).matchAll(
      /^ *```([^\n]*)\n(.*?)^ *```$/gms,
    ),
  ].map(([block]) => block);

const merchantPages = (await readdir(join(root, 'docs/merchants'))).filter((name) => name.endsWith('.md'));

test.each(merchantPages)(
  'the code of %s is the same in both languages, and so are headings, lists and tables',
  async (name) => {
    expect(await codeOf(`pt/${name}`)).toEqual(await codeOf(name));
    const shape = async (file: string) =>
      (await readFile(join(root, 'docs/merchants', file), 'utf8'))
        .split('\n')
        .flatMap((line) => /^(?:#+ |\| )(?:`[^`]*`)?|^ *- /.exec(line)?.[0] ?? []);
    expect(await shape(`pt/${name}`)).toEqual(await shape(name));
  },
);

test('the code of the quick start stands there in four languages', async () => {
  const english = await codeOf('quickstart.md');
  const count = (language: string) => english.filter((block) => block.startsWith(`\`\`\`${language}`)).length;
  expect(['ts TypeScript', 'sh curl', 'python Python', 'php PHP'].map(count)).toEqual([5, 4, 5, 5]);
});
