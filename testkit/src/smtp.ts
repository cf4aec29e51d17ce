import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';

/** A mail server on loopback, as much of RFC 5321 as a mail needs. */
export interface SmtpServer {
  url: string;
  /** Whole messages that it has taken. */
  got: string[];
  /** `refuse`: 550 to the recipient; `hang`: takes the connection and never says a word. */
  behave(as: 'take' | 'refuse' | 'hang'): void;
  connections(): number;
  close(): Promise<void>;
}

export async function openSmtp(port = 0): Promise<SmtpServer> {
  const got: string[] = [];
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
      if (word === 'RCPT' && behaviour === 'refuse') return void say('550 no such user');
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
