import { readdirSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { fileURLToPath } from 'node:url';

/**
 * Which catches of the money path were entered, by V8's own count of blocks: the code that is tested has no counters in it.
 * Types are stripped to blanks, so what V8 counts at an offset stands at that offset in the source.
 */
export interface Catches {
  /** Ends the counting. Places are `folder/file:line`. */
  read(): {
    entered: string[];
    never: string[];
    /** Never entered, and not among those that are known to be too rare here. */
    missed: string[];
  };
}

/** Catches that no storm of the gate reaches, by their log line or their place, and why. */
const tooRare: Readonly<Record<string, string>> = {
  'breaker state was not stored': 'the database fails in the moment in which the provider counts as down',
  'a refresh failed': 'it fails between the two reads of one look-up',
  'a disputed payment cannot be queried':
    'the database fails in the one query between a report and its record',
  'a probe was not given back': 'the database fails between a refused command and what it gives back',
  'store/rows/unreadable.ts':
    'a stored value that cannot be opened: no story loses a secret, the rotations do',
  'kinds/payment/outcome.ts': 'the same of the Pix key that a report is compared with',
  'flow/defend.ts': 'the same of a defence that is shown',
  'the disputes are read later': 'the database fails between an accepted defence and its outcome',
  'awaited outcomes could not be read':
    'a caller waits for what a worker sends: only where a connection limits parallel sends, as this one does not',
  'operate/verify/verify.ts': 'an anchor file that a person gives, which is no JSON',
};

const server = new URL('../../server/src/', import.meta.url);

/** Everything that decides about money and stores it, and the work that follows it up. */
// The database's own connections and the taking up of providers are outside: the simulation has a database of its own, and one cast.
const folders = [
  'money',
  'store/events',
  'store/rows',
  'kinds',
  'flow',
  'jobs',
  'operate/incidents',
  'operate/verify',
];

/** Every file of these folders, and what deliveries wait in. */
const counted = (): string[] => [
  ...folders.flatMap((folder) =>
    readdirSync(new URL(folder, server), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
  ),
  'store/till.ts',
  'ground/gather.ts',
];

/** Begins to count: before the code that is counted is first loaded, or its blocks are unknown to V8. */
export function countCatches(): Catches {
  // A folder that has moved ends the run at its start: an error within the callback of `read` is lost.
  const names = counted();
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return {
    read() {
      const found = { entered: [] as string[], never: [] as string[], missed: [] as string[] };
      session.post('Profiler.takePreciseCoverage', (error, taken) => {
        if (error) throw error;
        for (const name of names) {
          const url = new URL(name, server);
          const script = taken.result.find((one) => one.url === url.href || one.url === fileURLToPath(url));
          // Never loaded: a part that no story of the simulation uses.
          if (!script) continue;
          const source = readFileSync(url, 'utf8');
          for (const match of source.matchAll(/catch(?: \(\w+\))? \{|\.catch\(\((?:\w+: \w+)?\) =>\s*\{?/g)) {
            const inside = match.index + match[0].length + 1;
            // The smallest block around it shows how often it ran.
            let smallest: { length: number; count: number } | null = null;
            for (const { ranges } of script.functions)
              for (const { startOffset, endOffset, count } of ranges)
                if (
                  startOffset <= inside &&
                  inside < endOffset &&
                  endOffset - startOffset < (smallest?.length ?? Number.POSITIVE_INFINITY)
                )
                  smallest = { length: endOffset - startOffset, count };
            const line = source.slice(0, match.index).split('\n').length;
            const where = `${name}:${line}`;
            if (smallest && smallest.count > 0) {
              found.entered.push(where);
              continue;
            }
            found.never.push(where);
            const says = /'([a-z][^']+ [^']+)'/.exec(source.slice(inside, inside + 400))?.[1] ?? '';
            if (!(says in tooRare) && !(name in tooRare)) found.missed.push(where);
          }
        }
      });
      session.post('Profiler.stopPreciseCoverage');
      session.disconnect();
      return found;
    },
  };
}
