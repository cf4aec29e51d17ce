import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The secret of the newest mail to an address, which a trial installation keeps in its folder; '': none has one. */
export async function mailed(dataDir: string, email: string, link: RegExp): Promise<string> {
  const folder = join(dataDir, 'mail');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.eml')).sort();
  const mails = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return (
    mails
      .filter((mail) => mail.includes(`To: ${email}`))
      .flatMap((mail) => link.exec(mail.replaceAll('=\r\n', ''))?.[1] ?? [])
      .at(-1) ?? ''
  );
}
