#!/usr/bin/env node
// Plain JavaScript, so that a Node that cannot read TypeScript can say so.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `vintem: needs Node 24 or newer, this is ${process.versions.node}. npm ci brings one and npx puts it first; with --omit=optional, or where there is none for the platform, install Node 24.\n`,
  );
  process.exit(2);
}
// Reading the program takes 0.6 s without it and 0.2 s with it. Not in the system's folder for temporary files, where
// others could put something else in its place.
const { enableCompileCache } = await import('node:module');
const { fileURLToPath } = await import('node:url');
enableCompileCache(fileURLToPath(new URL('../../../node_modules/.cache/vintem', import.meta.url)));
await import('./main.ts');
