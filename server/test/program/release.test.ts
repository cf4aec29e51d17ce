import { expect, test } from 'vitest';
import { notesOf, provenanceOf, refusedOf } from '../../../deploy/release.ts';

const changelog = `# Changelog

## [Unreleased]

- Later.

## [1.2.0] - 2026-11-22

### Added

- This.

## [1.1.0] - 2026-10-01

- Before.
`;

test("a release's notes are its own section of the changelog", () => {
  expect(notesOf(changelog, '1.2.0')).toBe('### Added\n\n- This.\n');
  expect(notesOf(changelog, '1.1.0')).toBe('- Before.\n');
});

test('a release without a section, or with an empty one, is none', () => {
  expect(() => notesOf(changelog, '1.3.0')).toThrow('CHANGELOG.md has no section ## [1.3.0]');
  expect(() => notesOf('## [1.3.0]\n\n## [1.2.0]\n- This.', '1.3.0')).toThrow('is empty');
});

test('a licence that is not allowed, or none, ends a release', () => {
  const component = (name: string, licence: string | null) => ({ name, version: '1.0.0', licence });
  const components = [
    component('free', 'MIT'),
    component('copyleft', 'AGPL-3.0-only'),
    component('silent', null),
  ];
  expect(refusedOf(components).map(({ name }) => name)).toEqual(['copyleft', 'silent']);
});

test('the provenance names every file by its hash, the commit and the lock file', () => {
  const statement = provenanceOf({
    subjects: new Map([['vintem-1.2.0.tar.gz', 'ab'.repeat(32)]]),
    version: '1.2.0',
    commit: 'c0ffee',
    lockFileSha256: 'cd'.repeat(32),
    builder: 'https://ci.example.com',
    startedOn: '2026-11-22T21:00:00.000Z',
  });
  expect(statement).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'vintem-1.2.0.tar.gz', digest: { sha256: 'ab'.repeat(32) } }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        externalParameters: { version: '1.2.0' },
        resolvedDependencies: [
          { digest: { gitCommit: 'c0ffee' } },
          { name: 'package-lock.json', digest: { sha256: 'cd'.repeat(32) } },
        ],
      },
      runDetails: { builder: { id: 'https://ci.example.com' } },
    },
  });
});
