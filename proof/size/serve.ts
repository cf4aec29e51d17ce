import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { numbersGiven } from '../flags.ts';
import type { Page, Reader } from '../pages/installation.ts';
import { knownOf, openStage } from './size.ts';

/**
 * The database of the size rig behind its pages, until this program is interrupted. It prints the name of a file for Lighthouse:
 * `node proof/pages/lighthouse.ts --with-time --pages FILE`.
 *
 *   node proof/size/serve.ts [--settled 2000000] [--open 2000000] [--operations 10000]
 */
const sizes = numbersGiven({ settled: 2_000_000, open: 2_000_000, operations: 10_000 });
const stage = await openStage(sizes, console.log);
try {
  const { paymentId, refundedId, disputedId, endToEnd, accountId } = await knownOf(stage);
  const of = (reader: Reader, cookie: string, paths: Readonly<Record<string, string>>): Page[] =>
    Object.entries(paths).map(([name, path]) => ({
      name,
      reader,
      url: new URL(path, stage.url).href,
      cookie,
    }));
  const [operator] = stage.desks;
  const pages = [
    ...of('merchant', stage.tab.cookie(), {
      ...{ home: '/', 'list of charges': '/cobrancas', 'charges by payment': '/cobrancas?por=pagamento' },
      ...{ payment: `/pagamentos/${paymentId}`, statement: '/extrato' },
    }),
    ...of('operator', operator?.cookie ?? '', {
      ...{
        worklist: '/operator',
        search: `/operator/busca?q=${endToEnd}`,
        account: `/operator/contas/${accountId}`,
      },
      ...{ 'payment of an account': `/operator/pagamentos/${paymentId}` },
      ...{
        'refunded payment': `/operator/pagamentos/${refundedId}`,
        'disputed payment': `/operator/pagamentos/${disputedId}`,
      },
      ...{ requests: '/operator/pedidos' },
    }),
  ];
  const file = join(stage.dataDir, 'pages.json');
  await writeFile(file, JSON.stringify(pages));
  console.log(`ready: node proof/pages/lighthouse.ts --rounds 3 --with-time --pages ${file}`);
  await once(process, 'SIGINT');
} finally {
  await stage.close();
}
process.exit();
