import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const src = fileURLToPath(new URL('../../src/', import.meta.url));

/**
 * `main` puts everything together and may know everything. Options are settings and no dependencies.
 */
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('main/'));

/** A member of one of these types makes its owner a type of dependencies, whatever it is called. */
const port = /^(?:Pick<)?(?:Sql|Queries|Clock|Ids|Net|Log|Till|Secrets|Mail)\b/;
const most = 7;

interface Declared {
  name: string;
  members: string[];
  takesOver: string | null;
}

/** Interfaces and object types of a file, and the object types that stand where a parameter is declared. */
function declaredIn(file: string): Declared[] {
  const text = readFileSync(src + file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
  const heads = text.matchAll(
    /\b(?:interface (\w+)(?:<[^{]*>)?(?: extends ([^{]+?))?|type (\w+)(?:<[^=]*>)? =|[})\w]\??:) (?=\{\n?)/g,
  );
  return [...heads].map((head) => ({
    name: `${file} ${head[1] ?? head[3] ?? 'a parameter'}`,
    members: membersAt(text, head.index + head[0].length),
    takesOver: head[2] ?? null,
  }));
}

/** `name: type` of each member of the object type whose brace stands at `start`. */
function membersAt(text: string, start: number): string[] {
  const members = [''];
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const sign = text[at] as string;
    if ('{(['.includes(sign)) depth++;
    if ('})]'.includes(sign)) depth--;
    if (depth === 0) break;
    if (depth === 1 && (sign === ';' || sign === '\n')) members.push('');
    else if (at > start) members[members.length - 1] += sign;
  }
  return members.map((member) => member.trim()).filter((member) => /^(?:readonly )?\w+\??[:(]/.test(member));
}

const isOfDependencies = ({ name, members }: Declared): boolean =>
  /(?:Deps|Needs)$/.test(name) ||
  (!/Options$/.test(name) && members.some((member) => port.test(/^\w+\??: (.*)/.exec(member)?.[1] ?? '')));

const dependencies = files.flatMap(declaredIn).filter(isOfDependencies);

test('types of dependencies are read from the files', () => {
  expect(dependencies.length).toBeGreaterThan(40);
});

/** Those that still do; no other may, and one that no longer does leaves the list. */
const stillLarge = ['flow/apply.ts ApplyDeps 11', 'provider/api-pix/api-pix.ts ReceiptsDeps 8'];
const stillTaking = [
  "api/transfers/draft-command.ts CommandDeps extends Omit<DraftDeps, 'till' | 'identity' | 'mail'>",
  'api/transfers/receiver.ts ReceiverDeps extends DraftDeps',
  'events/webhooks/deliver.ts DeliveryDeps extends AttemptDeps, OutcomeDeps',
  'flow/accept.ts AcceptDeps extends AwaitDeps',
  'flow/await-outcome.ts AwaitDeps extends SendDeps',
  'flow/inbound.ts InboundDeps extends TrackingDeps',
  'flow/send.ts SendDeps extends ApplyDeps',
  'flow/tracking-deps.ts TrackingDeps extends SendDeps',
  "operate/closes/step.ts CloseDeps extends Omit<TrackingDeps, 'cells'>",
  'operate/connections/connections.ts ConnectionDeps extends Operator',
  'operate/connections/doctor.ts DoctorDeps extends ConnectionDeps',
];

test('No type of dependencies has more than seven members', () => {
  const large = dependencies.filter(({ members }) => members.length > most);
  expect(large.map(({ name, members }) => `${name} ${members.length}`).sort()).toEqual(stillLarge);
});

test('No type of dependencies takes over another', () => {
  const taking = dependencies.filter(({ takesOver }) => takesOver !== null);
  expect(taking.map(({ name, takesOver }) => `${name} extends ${takesOver}`).sort()).toEqual(stillTaking);
});
