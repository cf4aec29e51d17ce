import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** A file that was read to its end. */
export interface FileRead {
  path: string;
  status: number;
  bytes: number;
  /** The most that the process held while the file was written, beyond what it held before. */
  heldBytes: number;
}

/** The most that a process may hold for one file, whatever its length. */
export const heldMost = 48_000_000;
const lookEvery = 16_000_000;

const held = (): number => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Reads a file as a client does that keeps none of it. The memory is looked at after each 16 MB, behind a collection: it depends on no time. */
export async function readFile(path: string, open: () => Promise<Response>): Promise<FileRead> {
  const before = held();
  const answer = await open();
  let [bytes, looked, most] = [0, 0, before];
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (bytes - looked < lookEvery) continue;
    looked = bytes;
    most = Math.max(most, held());
  }
  return { path, status: answer.status, bytes, heldBytes: most - before };
}

/** @throws Error one was not given, or took memory in proportion to its length */
export function judged(files: readonly FileRead[]): string {
  const wrong = files.filter(({ status, heldBytes }) => status >= 400 || heldBytes > heldMost);
  if (wrong.length > 0)
    throw new Error(
      wrong.map(({ path, status, heldBytes }) => `${path} ${status} ${mb(heldBytes)}`).join(', '),
    );
  const [largest] = files.toSorted((one, other) => other.bytes - one.bytes);
  const most = Math.max(...files.map(({ heldBytes }) => heldBytes));
  return `${files.length} files, the largest ${largest?.path} of ${mb(largest?.bytes ?? 0)}; ${mb(most)} held at most`;
}

const mb = (bytes: number): string => `${Math.round(bytes / 1e5) / 10} MB`;
