// Lints and renders the chart over every file of values in vintem/ci and holds the objects against the laws below and, where
// `kubernetes-validate` (PyPI) is installed, against the schemas of Kubernetes. Needs `helm`.
//
//   node deploy/helm/check.ts
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes, of many kinds
type Thing = any;

const chart = fileURLToPath(new URL('vintem', import.meta.url));
const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
/** The chart holds no copy of these: `helm` gets them beside the values. */
const monitoring = [
  ['prometheusRule.rules', 'prometheus/alerts.yaml'],
  ['dashboards.service', 'grafana/service.json'],
  ['dashboards.payments', 'grafana/payments.json'],
].flatMap(([value, file]) => ['--set-file', `${value}=${at(file as string)}`]);
const versions = ['1.33', '1.34', '1.35'];
const schemas = spawnSync('kubernetes-validate', ['--help']).error === undefined;
const folder = mkdtempSync(join(tmpdir(), 'vintem-chart-'));
const faults: string[] = [];

/** A helm that was built without its release script takes itself for one of Kubernetes 1.20. */
const rendered = (values: string): string[] => [
  'template',
  'vintem',
  chart,
  '-f',
  values,
  '--kube-version',
  `${versions[0]}.0`,
];

function helm(...words: string[]): string {
  return execFileSync('helm', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function refuses(what: string, words: string[]): void {
  const values = join(chart, 'ci/minimal-values.yaml');
  const { status } = spawnSync('helm', [...rendered(values), ...words]);
  if (status === 0) faults.push(`the schema of the values takes ${what}`);
}

/** Without the objects of operators, whose schemas are not in it. */
function validate(file: string, objects: Thing[]): void {
  const own = objects.filter(({ apiVersion }) => !/coreos|external-secrets|gateway/.test(apiVersion));
  const path = join(folder, 'objects.yaml');
  writeFileSync(path, own.map((one) => JSON.stringify(one)).join('\n---\n'));
  for (const version of versions) {
    const { status, stdout, stderr } = spawnSync('kubernetes-validate', ['--strict', '-k', version, path], {
      encoding: 'utf8',
    });
    if (status !== 0) faults.push(`${file}, Kubernetes ${version}: ${stdout}${stderr}`);
  }
}

function* podsOf(objects: Thing[]): Generator<[string, Thing]> {
  for (const one of objects) {
    const name = `${one.kind} ${one.metadata.name}`;
    if (one.kind === 'Pod') yield [name, one.spec];
    else if (one.kind === 'CronJob') yield [name, one.spec.jobTemplate.spec.template.spec];
    else if (one.spec?.template?.spec?.containers) yield [name, one.spec.template.spec];
  }
}

/** Each answers what breaks it. */
const laws: readonly ((objects: Thing[]) => Generator<string>)[] = [
  function* confined(objects) {
    for (const [name, pod] of podsOf(objects)) {
      if (pod.enableServiceLinks !== false) yield `${name} gets a variable for every Service`;
      if (pod.automountServiceAccountToken !== false) yield `${name} has a token of the cluster`;
      const { runAsNonRoot, runAsUser, seccompProfile } = pod.securityContext ?? {};
      if (!runAsNonRoot || runAsUser !== 65532 || seccompProfile?.type !== 'RuntimeDefault')
        yield `${name} is not confined`;
      for (const { securityContext: context = {}, resources } of pod.containers) {
        if (!context.readOnlyRootFilesystem || context.allowPrivilegeEscalation !== false)
          yield `${name} may write to its image or gain rights`;
        if (context.capabilities?.drop?.[0] !== 'ALL') yield `${name} keeps capabilities`;
        if (!resources?.requests?.cpu || !resources.limits?.memory) yield `${name} has no resources`;
      }
    }
  },
  function* secretsAreFiles(objects) {
    for (const one of objects) if (one.kind === 'Secret') yield 'the chart makes a Secret';
    for (const [name, pod] of podsOf(objects))
      for (const { env = [] } of pod.containers)
        for (const { name: setting, valueFrom } of env) {
          if (valueFrom?.secretKeyRef) yield `${name} has a secret in ${setting}`;
          if (/(?:SECRET|PASSWORD|DATABASE_URL)$/.test(setting)) yield `${name} has ${setting} as a variable`;
        }
  },
  function* onlyTheMigrationOwnsTheSchema(objects) {
    for (const [name, pod] of podsOf(objects)) {
      const owns = (pod.volumes ?? []).some((volume: Thing) => volume.name === 'migration');
      if (owns !== name.includes('-migrate'))
        yield `${name} ${owns ? 'has' : 'lacks'} the login of the owner`;
    }
  },
  function* probes(objects) {
    for (const { kind, metadata, spec } of objects) {
      if (kind !== 'Deployment') continue;
      const [container] = spec.template.spec.containers;
      if (container.livenessProbe?.httpGet.path !== '/healthz')
        yield `${metadata.name}: liveness must not ask the database`;
      if (container.readinessProbe?.httpGet.path !== '/readyz' || !container.startupProbe)
        yield `${metadata.name} lacks a probe`;
      if (spec.template.spec.terminationGracePeriodSeconds < 30) yield `${metadata.name} is ended too early`;
    }
  },
  function* disruptionBudgets(objects) {
    for (const { kind, metadata } of objects) {
      if (kind !== 'PodDisruptionBudget') continue;
      const target = objects.find((one) => one.kind === 'Deployment' && one.metadata.name === metadata.name);
      if (target?.spec.replicas === 1) yield `the budget of ${metadata.name} blocks every drain`;
    }
  },
  function* monitoringIsWhole(objects) {
    for (const { kind, metadata, spec, data } of objects) {
      if (kind === 'PrometheusRule' && !spec.groups?.length) yield `${metadata.name} has no rules`;
      if (kind === 'ConfigMap' && metadata.name.endsWith('-dashboards'))
        for (const [file, text] of Object.entries(data))
          if (!JSON.parse(text as string).panels?.length) yield `${file} of ${metadata.name} has no panels`;
    }
  },
  function* selectorsFindPods(objects) {
    for (const { kind, metadata, spec } of objects) {
      if (kind !== 'Service') continue;
      const found = objects.some(
        (one) =>
          one.kind === 'Deployment' &&
          Object.entries(spec.selector).every(
            ([name, value]) => one.spec.template.metadata.labels[name] === value,
          ),
      );
      if (!found) yield `the Service ${metadata.name} selects nothing`;
    }
  },
];

try {
  const files = readdirSync(join(chart, 'ci')).sort();
  for (const file of files) {
    const values = join(chart, 'ci', file);
    helm('lint', '--strict', '--quiet', chart, '-f', values, ...monitoring);
    const text = helm(...rendered(values), ...monitoring, '-a', 'monitoring.coreos.com/v1');
    const objects = parseAllDocuments(text)
      .map((one) => one.toJS() as Thing)
      .filter(Boolean);
    for (const law of laws) for (const fault of law(objects)) faults.push(`${file}: ${fault}`);
    if (schemas) validate(file, objects);
  }
  refuses('publicUrl without https: or a path', ['--set', 'publicUrl=pay.example.com/x']);
  refuses('a secret among the settings', ['--set', 'settings.VINTEM_SECRET=x']);
  refuses('a value that is not known', ['--set', 'api.replica=3']);
  refuses('no Secret', ['--set', 'secrets.existingSecret=']);
  refuses('no login for the migration', ['--set', 'secrets.migration.existingSecret=']);
  refuses('the tag latest', ['--set', 'image.tag=latest']);
  refuses('dashboards without their files', ['--set', 'dashboards.enabled=true']);
  process.stdout.write(
    `chart: ${files.length} files of values${schemas ? `, Kubernetes ${versions.join(', ')}` : ' (schemas left out: kubernetes-validate is not installed)'}\n`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.exitCode = faults.length > 0 ? 1 : 0;
