import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * The files of a release, from a clean checkout of its tag: sources, components (CycloneDX), licences with their texts, notes, provenance
 * (in-toto statement with SLSA provenance 1.0) and the checksums of all. docs/developers/releasing.md says when it is run.
 *
 *   node deploy/release.ts --out DIR --builder URI
 *
 * `--builder` says who runs it, such as the address of the job or `mailto:` of the person.
 */
const root = fileURLToPath(new URL('../', import.meta.url));

/** Licences that the service's packages may have: without duties beyond naming authors. */
const allowed = new Set([
  ...['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'MIT-0'],
  ...['PSF-2.0', 'Unlicense', '(MIT OR CC0-1.0)'],
  // The binaries of PostgreSQL.
  'PostgreSQL',
]);

/** Packages whose manifest names no licence, and what the file in the package is. */
const statedInFile = new Map([['png-js', 'MIT']]);

export interface Component {
  name: string;
  version: string;
  /** SPDX; null where the package names none. */
  licence: string | null;
}

/** The section of a version in the changelog, without its heading. @throws Error when there is none or it is empty */
export function notesOf(changelog: string, version: string): string {
  const lines = changelog.split('\n');
  const from = lines.findIndex((line) => line.startsWith(`## [${version}]`));
  if (from === -1)
    throw new Error(`CHANGELOG.md has no section ## [${version}]: move what is unreleased there`);
  const rest = lines.slice(from + 1);
  const to = rest.findIndex((line) => line.startsWith('## '));
  const notes = (to === -1 ? rest : rest.slice(0, to)).join('\n').trim();
  if (notes === '') throw new Error(`the section ## [${version}] of CHANGELOG.md is empty`);
  return `${notes}\n`;
}

/** Components whose licence is none of those that are allowed. */
export const refusedOf = (components: readonly Component[]): Component[] =>
  components.filter(({ licence }) => licence === null || !allowed.has(licence));

/**
 * An in-toto statement (https://in-toto.io/Statement/v1) with SLSA provenance (https://slsa.dev/provenance/v1): from which commit, with which
 * packages and by whom the files were made.
 */
export function provenanceOf(given: {
  /** File to its SHA-256, hexadecimal. */
  subjects: ReadonlyMap<string, string>;
  version: string;
  commit: string;
  lockFileSha256: string;
  builder: string;
  /** ISO 8601. */
  startedOn: string;
}): object {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [...given.subjects].map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:vintem:release:1',
        externalParameters: { version: given.version },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: given.commit } },
          { name: 'package-lock.json', digest: { sha256: given.lockFileSha256 } },
        ],
      },
      runDetails: { builder: { id: given.builder }, metadata: { startedOn: given.startedOn } },
    },
  };
}

const sha256 = (of: Buffer | string): string => createHash('sha256').update(of).digest('hex');
const git = (...words: string[]): string =>
  execFileSync('git', words, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 30 }).trim();
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const versionIn = (path: string): string => (JSON.parse(read(path)) as { version: string }).version;

/** @throws Error unless the checkout is clean and every package of it has one version */
function versionOfCheckout(): string {
  if (git('status', '--porcelain') !== '') throw new Error('the checkout has changes that are not committed');
  const version = versionIn('package.json');
  const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] };
  for (const name of workspaces)
    if (versionIn(`${name}/package.json`) !== version)
      throw new Error(`${name} has another version than ${version}`);
  return version;
}

interface Sbom {
  metadata: { component: { name: string } };
  components: {
    name: string;
    version: string;
    licenses?: { license?: { id?: string; name?: string }; expression?: string }[];
  }[];
}

/** As npm reads it from the lock file. */
function sbomOf(...words: string[]): Sbom {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const text = execFileSync(npm, ['sbom', '--sbom-format', 'cyclonedx', ...words], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const sbom = JSON.parse(text) as Sbom;
  // npm takes the name of the folder.
  sbom.metadata.component.name = 'vintem';
  return sbom;
}

/** Of others: not the packages of this project. */
const componentsOf = ({ components }: Sbom): Component[] =>
  components
    .filter(({ name }) => !name.startsWith('@vintem/'))
    .map(({ name, version, licenses: [first] = [] }) => ({
      name,
      version,
      licence:
        first?.expression ?? first?.license?.id ?? first?.license?.name ?? statedInFile.get(name) ?? null,
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));

function licencesOf(components: readonly Component[]): string {
  return components
    .map(({ name, version, licence }) => {
      const folder = join(root, 'node_modules', name);
      const files = existsSync(folder) ? readdirSync(folder) : [];
      const file = files.find((one) => /^(licen[cs]e|copying)/i.test(one));
      const text = file ? readFileSync(join(folder, file), 'utf8').trim() : 'The package has no file of it.';
      return `${name} ${version}\n${licence}\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

function release(out: string, builder: string): void {
  const startedOn = new Date().toISOString();
  const version = versionOfCheckout();
  const notes = notesOf(read('CHANGELOG.md'), version);
  const runtime = componentsOf(sbomOf('--omit', 'dev'));
  const refused = refusedOf(runtime);
  if (refused.length > 0)
    throw new Error(
      `licences that are not allowed: ${refused.map(({ name, licence }) => `${name} (${licence})`).join(', ')}`,
    );
  mkdirSync(out, { recursive: true });
  const name = `vintem-${version}`;
  const archive = execFileSync('git', ['archive', '--format=tar.gz', `--prefix=${name}/`, 'HEAD'], {
    cwd: root,
    maxBuffer: 1 << 30,
  });
  const files = new Map<string, Buffer | string>([
    [`${name}.tar.gz`, archive],
    [`${name}.cdx.json`, `${JSON.stringify(sbomOf(), null, 2)}\n`],
    [`${name}-licences.txt`, licencesOf(runtime)],
    [`${name}-notes.md`, notes],
  ]);
  const provenance = provenanceOf({
    subjects: new Map([...files].map(([file, content]) => [file, sha256(content)])),
    version,
    commit: git('rev-parse', 'HEAD'),
    lockFileSha256: sha256(read('package-lock.json')),
    builder,
    startedOn,
  });
  files.set(`${name}.intoto.json`, `${JSON.stringify(provenance, null, 2)}\n`);
  const sums = [...files].map(([file, content]) => `${sha256(content)}  ${file}\n`);
  files.set('SHA256SUMS', sums.join(''));
  for (const [file, content] of files) writeFileSync(join(out, file), content);
  console.log(`${files.size} files of ${version} in ${out}; ${runtime.length} components`);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { out: { type: 'string' }, builder: { type: 'string' } },
  });
  if (values.out === undefined || values.builder === undefined)
    throw new Error('usage: node deploy/release.ts --out DIR --builder URI');
  release(values.out, values.builder);
}
