import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { certificateProblem } from '../../server/src/ground/certificate.ts';

/** The line that is printed for an old PKCS #12 file, run by OpenSSL itself. */

const run = promisify(execFile);

test('The line that is printed for a certificate in an old form makes one that is read, and leaves no key behind', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vintem-p12-'));
  const shell = (command: string) => run('sh', ['-c', command], { cwd: folder });
  try {
    await shell('openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 30 -subj /CN=loja');
    await shell('openssl pkcs12 -export -legacy -in c.pem -inkey k.pem -out OLD -passout pass:');
    const problem = certificateProblem({ pfx: await readFile(join(folder, 'OLD')) });
    const [, line = ''] = /is encrypted in an old way: (.*)$/.exec(problem?.text ?? '') ?? [];
    // A person types the passwords; here they are empty.
    await shell(
      line.replace('-legacy', '-legacy -passin pass:').replace('-export', '-export -passout pass:'),
    );
    expect(certificateProblem({ pfx: await readFile(join(folder, 'NEW')) })).toBeNull();
    expect((await readdir(folder)).sort()).toEqual(['NEW', 'OLD', 'c.pem', 'k.pem']);
  } finally {
    await rm(folder, { recursive: true });
  }
});
