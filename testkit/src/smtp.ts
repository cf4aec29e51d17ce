import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';

/** A mail server on loopback, as much of RFC 5321 as a mail needs. */
export interface SmtpServer {
  url: string;
  /** Whole messages that it has taken. */
  got: string[];
  /** The addresses that it was given. */
  receivers: string[];
  /** `refuse`: 550 to the recipient, whom it names; `hang`: takes the connection and never says a word. */
  behave(as: 'take' | 'refuse' | 'hang'): void;
  connections(): number;
  close(): Promise<void>;
}

export async function openSmtp(port = 0): Promise<SmtpServer> {
  const got: string[] = [];
  const receivers: string[] = [];
  const open = new Set<Socket>();
  let behaviour: 'take' | 'refuse' | 'hang' = 'take';
  let connections = 0;
  const server: Server = createServer((socket) => {
    connections++;
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
    if (behaviour === 'hang') return;
    let text = '';
    let message: string[] | null = null;
    const say = (line: string) => socket.write(`${line}\r\n`);
    const hear = (line: string): void => {
      if (message) {
        if (line !== '.') return void message.push(line.replace(/^\./, ''));
        got.push(message.join('\r\n'));
        message = null;
        return void say('250 taken');
      }
      const word = line.slice(0, 4).toUpperCase();
      if (word === 'QUIT') return void socket.end('221 bye\r\n');
      const receiver = word === 'RCPT' ? (/<(.*)>/.exec(line)?.[1] ?? line) : null;
      if (receiver !== null) receivers.push(receiver);
      if (receiver !== null && behaviour === 'refuse')
        return void say(`550 5.1.1 <${receiver}>: Recipient address rejected`);
      // Otherwise a client that demands TLS would begin it.
      if (word === 'STAR') return void say('502 not offered');
      if (word === 'DATA') message = [];
      say(word === 'DATA' ? '354 send the message' : '250 ok');
    };
    say('220 test');
    socket.setEncoding('utf8').on('data', (part) => {
      const lines = (text + part).split('\r\n');
      text = lines.pop() ?? '';
      for (const line of lines) hear(line);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    got,
    receivers,
    behave: (as) => {
      behaviour = as;
    },
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

/** A part of a mail, decoded. */
export interface MailPart {
  type: string;
  /** Its `Content-ID`. */
  id: string | null;
  disposition: string | null;
  content: Buffer;
}

/** The parts of a mail (RFC 2046) in their order, without the containers; a mail of one part is that part. */
export function partsOf(message: string): MailPart[] {
  const end = message.indexOf('\r\n\r\n');
  const head = message.slice(0, end).replace(/\r\n[\t ]+/g, ' ');
  const body = message.slice(end + 4);
  const header = (name: string): string | null =>
    head
      .split('\r\n')
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim() ?? null;
  const written = header('content-type') ?? 'text/plain';
  const [, boundary] = /boundary="([^"]+)"/.exec(written) ?? [];
  if (boundary !== undefined) {
    const pieces = body.split(`--${boundary}`).slice(1, -1);
    return pieces.flatMap((piece) => partsOf(piece.slice(2)));
  }
  const encoding = header('content-transfer-encoding')?.toLowerCase();
  return [
    {
      type: written.split(';')[0] as string,
      id: header('content-id'),
      disposition: header('content-disposition')?.split(';')[0] ?? null,
      content: decoded(body.replace(/\r\n$/, ''), encoding),
    },
  ];
}

function decoded(body: string, encoding: string | undefined): Buffer {
  if (encoding === 'base64') return Buffer.from(body, 'base64');
  if (encoding !== 'quoted-printable') return Buffer.from(body);
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1');
}

/** The plain text of a mail. */
export const textIn = (message: string): string =>
  partsOf(message)
    .find(({ type }) => type === 'text/plain')
    ?.content.toString() ?? '';
