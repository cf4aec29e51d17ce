// Builds docs/ into a site: `node site/build.js [--base /docs/] [--out DIR]`. The service serves `dist` at /docs; with another base the same
// pages are static files for any server. Runs in `npm ci` (the root's `prepare`). Plain JavaScript: `npm ci` may run it under an older Node.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import MarkdownIt from 'markdown-it';
import MiniSearch from 'minisearch';
import { inLanguages } from './languages.js';
import { llmsText, markdownOf } from './markdown.js';
import { addressOf, openapi, sections, words } from './pages.js';
import { referencePages } from './reference.js';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const { values } = parseArgs({
  options: {
    base: { type: 'string', default: '/docs/' },
    out: { type: 'string', default: join(here, 'dist') },
  },
});
const base = values.base.endsWith('/') ? values.base : `${values.base}/`;
/** The service's own document names its address and what its operator has changed; a server of static files has the repository's. */
const documentAddress = base === '/docs/' ? '/api/v1/public/openapi.json' : `${base}openapi.json`;

const require = createRequire(import.meta.url);
/** Styles and scripts of the pages: ours, and those of packages. */
const parts = new Map([
  ...['site.css', 'site.js'].map((name) => [name, join(here, 'src', name)]),
  ['minisearch.js', join(dirname(require.resolve('minisearch')), '../es/index.js')],
]);
const hashes = new Map();
for (const [name, path] of parts)
  hashes.set(
    name,
    createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
      .slice(0, 12),
  );
/** The address of one of them, which changes with it: a browser may keep it. */
const named = (name) => `${base}${name}?v=${hashes.get(name)}`;

/** As GitHub makes them, so that a link works in both places. */
const slugOf = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');

const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const markdown = new MarkdownIt({ html: true });

/** The address of a page as Markdown; the start page has no name of its own. */
const markdownAddress = (file) => `${addressOf(file) || 'index'}.md`;

/**
 * Where a link leads: the document of the API is shown as its reference, and what stands in the repository alone leads nowhere.
 * @param {(file: string) => string} addressIn of a page, in the form that is read
 */
function targetOf(href, from, pages, addressIn) {
  if (/^(?:[a-z]+:|#|\/)/i.test(href)) return href;
  const [path, anchor] = href.split('#');
  const named = posix.normalize(posix.join(posix.dirname(from), path));
  const file = named === 'contract/openapi.json' ? words[pages.get(from).language].reference.file : named;
  return pages.has(file) ? `${base}${addressIn(file)}${anchor ? `#${anchor}` : ''}` : null;
}

const imageOf = (src) => `${base}images/${basename(src)}`;

/** Makes HTML of one file, and what the search knows of it. */
function render(file, text, pages) {
  const { copy } = words[pages.get(file).language];
  const env = { copy };
  const tokens = markdown.parse(text, env);
  const headings = [];
  const parts = [];
  const open = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    // A header cell without words would be one to a screen reader.
    if (token.type === 'th_open' && tokens[at + 1].content === '')
      [token.tag, tokens[at + 2].tag] = ['td', 'td'];
    if (token.type === 'heading_open') {
      const title = tokens[at + 1].children
        .filter(({ type }) => type === 'text' || type === 'code_inline')
        .map(({ content }) => content)
        .join('');
      let id = slugOf(title);
      while (headings.some((heading) => heading.id === id)) id += '-1';
      token.attrSet('id', id);
      const level = Number(token.tag.slice(1));
      headings.push({ id, title, level });
      // The parts of a call are found with it.
      if (level < 3 || !made.has(file)) parts.push({ id, title, text: '' });
    } else if (token.type === 'inline' || token.type === 'fence') {
      const part = parts.at(-1);
      if (part) part.text += `${token.content} `;
    }
    for (const child of token.children ?? []) {
      if (child.type === 'link_open') {
        const target = targetOf(child.attrGet('href'), file, pages, addressOf);
        open.push(target);
        if (target === null) [child.tag, child.attrs] = ['span', []];
        else child.attrSet('href', target);
      } else if (child.type === 'link_close' && open.pop() === null) child.tag = 'span';
      else if (child.type === 'image') child.attrSet('src', imageOf(child.attrGet('src')));
    }
  }
  return { html: markdown.renderer.render(grouped(tokens, copy), markdown.options, env), headings, parts };
}

/**
 * Code that stands side by side, as tabs: blocks that follow each other and name a language for people (```ts TypeScript), and each
 * request (```http) in all languages.
 */
function grouped(tokens, copy) {
  const tab = (token) => (token?.type === 'fence' ? /^\S+ (\D.*)$/.exec(token.info)?.[1] : undefined);
  const out = [];
  let group = 0;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    const run = [];
    if (token.type === 'fence' && token.info === 'http') run.push(...inLanguages(token.content));
    else
      for (let next = at; tab(tokens[next]); next++)
        run.push({ language: tab(tokens[next]), code: tokens[next].content });
    if (run.length < 2) {
      out.push(token);
      continue;
    }
    const html = new token.constructor('html_block', '', 0);
    html.content = tabs(++group, run, copy);
    out.push(html);
    if (token.info !== 'http') at += run.length - 1;
  }
  return out;
}

function tabs(group, run, copy) {
  const inputs = run.map(({ language }, n) => {
    const id = `tab-${group}-${n}`;
    const checked = n === 0 ? ' checked' : '';
    return `<input type="radio" name="tab-${group}" id="${id}" value="${escaped(language)}"${checked}><label for="${id}">${escaped(language)}</label>`;
  });
  const blocks = run.map(({ code }) => blockOf(code, copy));
  return `<div class="tabs">${inputs.join('')}<div class="blocks">${blocks.join('')}</div></div>\n`;
}

/** With its button in place: nothing moves when the script comes. */
const blockOf = (code, copy) =>
  `<pre tabindex="0"><button type="button" class="copy">${copy}</button><code>${escaped(code)}</code></pre>`;

markdown.renderer.rules.fence = (tokens, at, _options, { copy }) => `${blockOf(tokens[at].content, copy)}\n`;
markdown.renderer.rules.table_open = () => '<div class="wide" tabindex="0"><table>\n';
markdown.renderer.rules.table_close = () => '</table></div>\n';

/** The field for a test key, on pages whose code has a place for one. Served by the service alone: another server's page is no place for a key. */
const keyField = (html, say) =>
  base === '/docs/' && /VINTEM_KEY|vtm_test_…/.test(html)
    ? `<div class="key"><label for="key">${say.key.label}</label><input type="text" id="key" placeholder="vtm_test_…" maxlength="100" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="key-says"><p id="key-says" aria-live="polite" data-wrong="${say.key.wrong}" data-filled="${say.key.filled}">${say.key.says}</p></div>`
    : '';

function frame({ file, language, title, html, headings }, pages) {
  const say = words[language];
  const own = sections(language).find(({ files }) => files.includes(file)).of;
  const nav = sections(language)
    .filter(({ of }) => of === own)
    .map(({ name, files }) => {
      const links = files
        .filter((one) => pages.has(one))
        .map((one) => {
          const current = one === file ? ' aria-current="page"' : '';
          return `<li><a href="${base}${addressOf(one)}"${current}>${escaped(pages.get(one).title)}</a></li>`;
        });
      return `<h2>${escaped(name)}</h2><ul>${links.join('')}</ul>`;
    })
    .join('');
  const [to, door] =
    own === 'merchants'
      ? [addressOf('docs/operators/who-may-run-this.md'), say.doors.operators]
      : ['', say.doors.merchants];
  const other = pages.get(file).translation;
  const contents = headings
    .filter(({ level }) => level === 2)
    .map(({ id, title }) => `<li><a href="#${id}">${escaped(title)}</a></li>`)
    .join('');
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · vintem</title>
<link rel="icon" href="data:,">
<link rel="alternate" type="text/markdown" href="${base}${markdownAddress(file)}">
<link rel="stylesheet" href="${named('site.css')}">
<script type="module" src="${named('site.js')}" data-base="${base}" data-search="${named('minisearch.js')}" data-copied="${say.copied}" data-service="https://YOUR-HOST"></script>
</head>
<body>
<a class="skip" href="#content">${say.skip}</a>
<header>
<a class="name" href="${base}">vintem</a>
<a class="menu" href="#pages">${say.pages}</a>
<form role="search"><label><span class="hidden">${say.search}</span><input type="search" id="search" placeholder="${say.search}" autocomplete="off"></label><ul id="found" aria-live="polite"></ul></form>
<a href="${base}${addressOf(say.reference.file)}">${say.reference.title}</a>
${other ? `<a href="${base}${addressOf(other)}" lang="${say.otherLanguage}" hreflang="${say.otherLanguage}">${say.other}</a>` : ''}
</header>
<div class="columns">
<nav id="pages" aria-label="${say.pages}">${nav}<p><a href="${base}${to}">${door} →</a></p></nav>
<main id="content" tabindex="-1"${made.has(file) ? ' class="reference"' : ''}>
${contents ? `<details class="contents"><summary>${say.contents}</summary><ul>${contents}</ul></details>` : ''}
${keyField(html, say)}
${html}
<p class="source"><a href="${base}${markdownAddress(file)}">${say.markdown}</a></p>
</main>
</div>
</body>
</html>
`;
}

/**
 * The SDK and the command line as files to install: merchants have the site and not the repository, and the registry has neither package.
 * What they were built to before is packed, and no script runs.
 */
function packInto(folder) {
  const words = ['pack', '--workspace=sdk', '--workspace=cli', '--ignore-scripts', '--silent'];
  const [npm, ...more] = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
  // On Windows `npm` is a script, which needs a shell; the words hold no path.
  execFileSync(npm, [...more, ...words], {
    cwd: root,
    env: { ...process.env, npm_config_pack_destination: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: npm === 'npm' && process.platform === 'win32',
  });
}

/** Each text also as Brotli makes it, which the service sends to browsers that take it. */
async function compress(folder) {
  const squeeze = promisify(brotliCompress);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  await Promise.all(
    entries
      .filter(
        (entry) =>
          entry.isFile() && ['.html', '.css', '.js', '.json', '.md', '.txt'].includes(extname(entry.name)),
      )
      .map(async (entry) => {
        const path = join(entry.parentPath ?? entry.path, entry.name);
        const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
        await writeFile(`${path}.br`, await squeeze(await readFile(path), { params }));
      }),
  );
}

// ------------------------------------------------------------------------------------------------------------------- the work

const pages = new Map();
/** The texts of the pages that stand in no file. */
const made = new Map(
  ['en', 'pt-BR']
    .flatMap((language) => referencePages(openapi, language, documentAddress))
    .map(({ file, text }) => [file, text]),
);
for (const language of ['en', 'pt-BR'])
  for (const { files } of sections(language))
    for (const file of files) {
      if (pages.has(file)) continue;
      const text = made.get(file) ?? (await readFile(join(root, file), 'utf8'));
      pages.set(file, { file, language, text, title: /^# (.+)$/m.exec(text)?.[1] ?? file });
    }
for (const page of pages.values()) {
  if (page.language === 'en') continue;
  const english = page.file.replace('/pt/', '/');
  if (!pages.has(english)) continue;
  page.translation = english;
  pages.get(english).translation = page.file;
}

/** One hash of all files below a folder; null where there is none. */
async function contentsOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => null);
  if (!entries) return null;
  const hash = createHash('sha256');
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  for (const file of files.sort()) hash.update(`${relative(folder, file)}\0`).update(await readFile(file));
  return hash.digest('hex');
}

/** The sections of both menus; a page that stands in both is listed once. */
function listed() {
  const seen = new Set();
  const firstTime = (file) => seen.size < seen.add(file).size;
  return [...sections('en'), ...sections('pt-BR')]
    .map(({ name, files }) => ({
      name,
      pages: files.filter(firstTime).map((file) => ({
        title: pages.get(file).title,
        address: `${base}${markdownAddress(file)}`,
        text: pages.get(file).text,
      })),
    }))
    .filter(({ pages }) => pages.length > 0);
}

const fresh = `${values.out}.${process.pid}`;
await mkdir(fresh, { recursive: true });
const documents = [];
for (const page of pages.values()) {
  const rendered = render(page.file, page.text, pages);
  const address = addressOf(page.file);
  const at = join(fresh, `${address === '' ? 'index' : address}.html`);
  await mkdir(dirname(at), { recursive: true });
  await writeFile(at, frame({ ...page, ...rendered }, pages));
  const source = markdownOf(page.text, (href) => targetOf(href, page.file, pages, markdownAddress), imageOf);
  await writeFile(join(fresh, markdownAddress(page.file)), source);
  for (const part of rendered.parts)
    documents.push({
      id: `${address}#${part.id}`,
      page: page.title,
      title: part.title,
      text: part.text.slice(0, 4000),
      language: page.language,
      translated: page.translation !== undefined,
    });
}
const index = new MiniSearch({
  fields: ['title', 'page', 'text'],
  storeFields: ['page', 'title', 'language', 'translated'],
});
index.addAll(documents);
await writeFile(join(fresh, 'search.json'), JSON.stringify(index));
await writeFile(join(fresh, 'llms.txt'), llmsText(listed(), documentAddress));
for (const [name, path] of parts) await copyFile(path, join(fresh, name));
await mkdir(join(fresh, 'images'));
for (const name of await readdir(join(root, 'docs/images')))
  await copyFile(join(root, 'docs/images', name), join(fresh, 'images', name));
await copyFile(join(root, 'contract/openapi.json'), join(fresh, 'openapi.json'));
packInto(fresh);
await compress(fresh);
// Two builds at once: the other one may take the old pages away while this one reads them.
const old = await contentsOf(values.out).catch(() => null);
if ((await contentsOf(fresh)) === old) {
  // Readers find the old pages until then.
  await rm(fresh, { recursive: true });
} else {
  await rm(values.out, { recursive: true, force: true });
  // Two builds at once: the other one was faster, with the same pages.
  await rename(fresh, values.out).catch(async (error) => {
    await rm(fresh, { recursive: true, force: true });
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}
