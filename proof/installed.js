// Checkers and rigs have packages of their own, which `npm ci` leaves out: they are as large as the program.
import { existsSync } from 'node:fs';

if (!existsSync(new URL('node_modules/.package-lock.json', import.meta.url))) {
  process.stderr.write(
    'The packages of the checkers and rigs are not installed: run `npm run proof:install` first.\n',
  );
  process.exit(1);
}
