import { Problem } from '../api/client.ts';
import { useAction } from '../ui/action.ts';
import { useConsoleWords } from './words.ts';

export const digits = (text: string): string => text.replace(/\D/g, '');

/** The signature of a passkey. @throws Error the browser made none */
async function signedBy(
  options: Parameters<typeof import('@simplewebauthn/browser').startAuthentication>[0]['optionsJSON'],
) {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  return startAuthentication({ optionsJSON: options });
}

type Asked = Parameters<typeof signedBy>[0];
type Signed = Awaited<ReturnType<typeof signedBy>>;

/** An act that a passkey signs: what it has to sign, and what is done with its signature. */
export function usePasskey(asked: () => Promise<Asked>, act: (response: Signed) => Promise<void>) {
  const words = useConsoleWords();
  return useAction(async () => act(await signedBy(await asked())), {
    textOf: (problem) => (problem instanceof Problem ? problem : words.factors.failed),
  });
}
