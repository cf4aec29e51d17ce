import pg from 'pg';
import { withSessionOptions } from './pool.ts';

/**
 * One connection outside of the pool, for what needs a session of its own: migrations and logins.
 * @param settings of the session
 * @throws Error that names the server and no password
 */
export async function connectAlone(
  url: string,
  name: string,
  settings: Record<string, string>,
): Promise<pg.Client> {
  const client = new pg.Client({
    ...withSessionOptions(url, settings),
    application_name: name,
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    const { host, pathname } = new URL(url);
    // Two addresses of one name fail together, in an error without a message.
    const { message, code } = error as NodeJS.ErrnoException;
    throw new Error(`no connection to PostgreSQL at ${host}${pathname}: ${message || code}`, {
      cause: error,
    });
  }
}
