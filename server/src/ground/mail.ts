import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import { isLoopbackHost } from './hosts.ts';

/** What goes to people. */
export interface Letter {
  /** An address; null: the operator of the installation. */
  to: string | null;
  /** One line. */
  subject: string;
  text: string;
}

export interface Mail {
  /** Resolves when the server has taken it, or when it is on disk. */
  send(letter: Letter): Promise<void>;
}

const timeoutMs = 20_000;

/** Over SMTP; without a server of that kind one file each under `DATA_DIR/mail`, readable by its owner alone. */
export function createMail(
  config: { smtpUrl: string | null; smtpWithoutTls?: boolean; mailFrom: string | null; dataDir: string },
  { clock, ids }: { clock: Clock; ids: Ids },
): Mail {
  const from = config.mailFrom ?? 'vintem@localhost';
  if (config.smtpUrl === null) {
    const folder = join(config.dataDir, 'mail');
    return {
      send: async ({ to, subject, text }) => {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const name = ids.uuid();
        const headers = [
          `From: ${from}`,
          `To: ${oneLine(to ?? from)}`,
          `Subject: ${oneLine(subject)}`,
          `Date: ${new Date(clock.now()).toUTCString()}`,
          `Message-ID: <${name}@vintem>`,
          'MIME-Version: 1.0',
          'Content-Type: text/plain; charset=utf-8',
          'Content-Transfer-Encoding: 8bit',
        ];
        const path = join(folder, `${name}.eml`);
        // Under another name until it is whole: whoever watches the folder never reads half a mail.
        await writeFile(`${path}.part`, `${headers.join('\r\n')}\r\n\r\n${text}\r\n`, { mode: 0o600 });
        await rename(`${path}.part`, path);
      },
    };
  }
  const url = config.smtpUrl;
  // Read with the first mail: a start that sends none goes without.
  const opened = async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      url,
      // STARTTLS, or no mail: a server on the way could otherwise hide that TLS is offered (RFC 3207, 6).
      requireTLS: !config.smtpWithoutTls && !isLoopbackHost(new URL(url).hostname),
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
    });
  };
  let transport: ReturnType<typeof opened> | undefined;
  return {
    send: async ({ to, subject, text }) => {
      transport ??= opened();
      await (await transport).sendMail({ from, to: to ?? from, subject, text });
    },
  };
}

/** A line end in a header would begin another one. */
const oneLine = (text: string): string => text.replace(/[\r\n]+/g, ' ');
