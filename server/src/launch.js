#!/usr/bin/env node
// Plain JavaScript, so that a Node that cannot read TypeScript can say so.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `vintem: needs Node 24 or newer, this is ${process.versions.node}. npm ci installs one and npx puts it first, except with --omit=optional or on a platform that has none: install Node 24 there.\n`,
  );
  process.exit(2);
}
await import('./main.ts');
