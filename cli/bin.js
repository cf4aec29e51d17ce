#!/usr/bin/env node
// npm links a command only to a file that exists when it installs; dist is built afterwards.
await import('./dist/main.js');
