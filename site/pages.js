import { readdirSync, readFileSync } from 'node:fs';
import { referenceFiles } from './reference.js';

/** Which files are pages, in the order of the menu. A file of docs/ that is missing here is found by a test. */
const root = new URL('../', import.meta.url);
export const openapi = JSON.parse(readFileSync(new URL('contract/openapi.json', root), 'utf8'));
const named = (folder) =>
  readdirSync(new URL(folder, root))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}${name}`);
const inOrder = (folder, first) => [
  ...first.map((name) => `${folder}${name}.md`),
  ...named(folder).filter((file) => !first.some((name) => file === `${folder}${name}.md`)),
];

/** Folders of docs/ without a place of their own in the menu: a new one is shown without a change here. */
const others = () =>
  readdirSync(new URL('docs/', root), { withFileTypes: true })
    .filter(
      (entry) =>
        entry.isDirectory() && !['merchants', 'operators', 'security', 'images'].includes(entry.name),
    )
    .map((entry) => `docs/${entry.name}/`);

const merchants = ['start', 'quickstart', 'guide', 'webhooks', 'panel'];
/** Pages for merchants that stand beside what they describe. */
const tools = {
  'sdk/README.md': 'merchants/sdk',
  'cli/README.md': 'merchants/cli',
  'examples/README.md': 'merchants/examples',
};
/** In the order in which a new operator needs them. */
const operators = [
  'who-may-run-this',
  'install',
  'going-live',
  'first-week',
  'efi',
  'woovi',
  'inter',
  'asaas',
  'stark',
  'api-pix-banks',
  'provider-certificates',
  'stripe',
  'asaas-checkout',
  'settings',
  'connections',
  'doctor',
  'console',
  'payer-pages',
  'daily-close',
  'backup',
  'updates',
  'secrets',
  'metrics',
  'traces',
  'scaling',
  'correctness',
];

/** A page shows the sections of its own readers. @param language `en` or `pt-BR` */
export function sections(language) {
  if (language === 'pt-BR')
    return [
      { of: 'merchants', name: 'Para lojistas', files: inOrder('docs/merchants/pt/', merchants) },
      { of: 'merchants', name: 'Referência da API', files: referenceFiles(openapi, language) },
      { of: 'merchants', name: 'Em inglês', files: Object.keys(tools) },
    ];
  return [
    {
      of: 'merchants',
      name: 'For merchants',
      files: [...inOrder('docs/merchants/', merchants), ...Object.keys(tools)],
    },
    { of: 'merchants', name: 'API reference', files: referenceFiles(openapi, language) },
    { of: 'operators', name: 'For operators', files: inOrder('docs/operators/', operators) },
    { of: 'operators', name: 'Runbooks', files: named('docs/operators/runbooks/') },
    { of: 'operators', name: 'Security', files: named('docs/security/') },
    { of: 'operators', name: 'For engineers', files: others().flatMap(named) },
    {
      of: 'operators',
      name: 'Project',
      files: [...named('docs/'), 'README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'SECURITY.md'],
    },
  ];
}

/** The address below the site's base; the start page is the site's own. */
export function addressOf(file) {
  if (file === 'docs/merchants/start.md') return '';
  if (file === 'docs/merchants/pt/start.md') return 'pt';
  if (file in tools) return tools[file];
  const path = file.replace(/^docs\//, '').replace(/\.md$/, '');
  return path === file.replace(/\.md$/, '') ? `project/${path.toLowerCase()}` : path;
}

export const words = {
  en: {
    skip: 'To the text',
    search: 'Search',
    reference: { title: 'API reference', file: 'docs/reference.md' },
    pages: 'Pages',
    contents: 'On this page',
    doors: { merchants: 'For merchants', operators: 'For operators' },
    copy: 'Copy',
    copied: 'Copied',
    markdown: 'This page as Markdown',
    key: {
      label: 'Test key',
      says: 'Paste yours, and the code has it on every page. It stays in this tab until you close it, and is sent nowhere.',
      filled:
        'The code on every page has your key. It stays in this tab until you close it or empty the field.',
      wrong:
        'This is no whole test key, and was not kept. A key that begins with vtm_live_ belongs in no page.',
    },
    other: 'Português',
    otherLanguage: 'pt-BR',
  },
  'pt-BR': {
    skip: 'Ir para o texto',
    search: 'Buscar',
    reference: { title: 'Referência da API', file: 'docs/pt/reference.md' },
    pages: 'Páginas',
    contents: 'Nesta página',
    doors: { merchants: 'Para lojistas', operators: 'Para operadores (em inglês)' },
    copy: 'Copiar',
    copied: 'Copiado',
    markdown: 'Esta página em Markdown',
    key: {
      label: 'Chave de teste',
      says: 'Cole a sua, e o código de todas as páginas passa a tê-la. Ela fica nesta aba até você fechá-la, e não é enviada a ninguém.',
      filled:
        'O código de todas as páginas tem a sua chave. Ela fica nesta aba até você fechá-la ou limpar o campo.',
      wrong:
        'Isto não é uma chave de teste inteira, e não foi guardado. Uma chave que começa com vtm_live_ não deve estar em página nenhuma.',
    },
    other: 'English',
    otherLanguage: 'en',
  },
};
