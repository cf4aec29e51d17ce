import type { RequestInit, Response } from 'undici';

/** A browser at the panel: it keeps its cookies, which may be handed over to another process. */
export interface Browser {
  cookies: Record<string, string>;
  call(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; text: string; body: Record<string, unknown> }>;
  /** @returns what the first step answered; with a second factor it is not signed in yet */
  signIn(email: string, password: string): ReturnType<Browser['call']>;
}

export const password = 'girafa azul de patins';

/** @param send fetches, from the address that this browser has */
export function openBrowser(
  { url, origin }: { url: string; origin: string },
  send: (url: string, options: RequestInit) => Promise<Response>,
  cookies: Record<string, string> = {},
): Browser {
  let csrf = '';
  const browser: Browser = {
    cookies,
    async call(method, path, body) {
      const answer = await send(`${url}/panel/api${path}`, {
        method,
        headers: {
          origin,
          cookie: Object.entries(cookies)
            .map(([name, value]) => `${name}=${value}`)
            .join('; '),
          'x-csrf-token': csrf,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      for (const cookie of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        cookies[name] = value;
      }
      const text = await answer.text();
      return { status: answer.status, text, body: text.startsWith('{') ? JSON.parse(text) : {} };
    },
    async signIn(email, word) {
      const answer = await browser.call('POST', '/auth/sign-in/email', { email, password: word });
      csrf = String((await browser.call('GET', '/session')).body.csrf ?? '');
      return answer;
    },
  };
  return browser;
}
