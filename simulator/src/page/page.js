// The page of the simulator: it asks for what there is every 2 s, and every button is one control call.

const $ = (id) => document.getElementById(id);
const reais = new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' });
const clock = new Intl.DateTimeFormat('pt-BR', { timeStyle: 'medium' });
const moment = new Intl.DateTimeFormat('pt-BR', { dateStyle: 'short', timeStyle: 'medium' });
const money = (cents) => reais.format(cents / 100);

const chargeWords = { open: 'Em aberto', paid: 'Paga', removed: 'Removida', expired: 'Vencida' };
const payoutWords = {
  pending: 'Pendente',
  completed: 'Concluído',
  refused: 'Recusado',
  returned: 'Devolvido',
};

// Of each key its name, and of each value what it does; the first one is the default.
const behaviours = {
  payout: [
    'Envio',
    {
      complete: 'aceita e conclui',
      'stay-pending': 'aceita e espera por você',
      'hold-for-approval': 'espera a aprovação de uma pessoa (na Woovi, com recusa na resposta)',
      'refuse-in-answer': 'recusa na resposta',
      'refuse-later': 'aceita e recusa depois',
      'lose-answer': 'aceita e corta a conexão',
      'lose-request': 'corta a conexão sem ver o pedido',
      'delay-request': 'corta a conexão e aceita mais tarde',
      'error-500': 'erro 500, não aceita',
      'error-500-after-accepting': 'erro 500, mas aceita',
      hang: 'aceita e nunca responde',
      garbage: 'aceita e responde algo ilegível',
    },
  ],
  charge: [
    'Cobrança',
    {
      create: 'cria',
      refuse: 'recusa',
      'lose-answer': 'cria e corta a conexão',
      'lose-request': 'corta a conexão sem ver o pedido',
      'error-500': 'erro 500, não cria',
      hang: 'cria e nunca responde',
      'no-code': 'cria sem o copia e cola',
    },
  ],
  webhook: [
    'Webhook',
    {
      send: 'envia',
      drop: 'não envia',
      duplicate: 'envia duas vezes',
      delay: 'envia atrasado',
      reorder: 'envia fora de ordem',
    },
  ],
  query: [
    'Consulta',
    {
      answer: 'responde',
      'not-found': 'diz que não encontrou',
      'error-500': 'erro 500',
      hang: 'nunca responde',
      stale: 'mostra o estado da criação',
    },
  ],
  amounts: [
    'Valores',
    {
      exact: 'com duas casas',
      short: 'sem zeros no fim',
      'other-type': 'como número (Woovi: como texto)',
      unreadable: 'ilegíveis',
    },
  ],
  lists: [
    'Listas',
    {
      whole: 'inteiras',
      'odd-item': 'com um item ilegível por página',
      'odd-items': 'com todos os itens ilegíveis',
      'other-amount': 'com um valor maior em cada item',
    },
  ],
};
const waits = {
  listLagMs: ['Atraso das listas (ms)', 0],
  settleAfterMs: ['Prazo para decidir um envio (ms)', 50],
  delayMs: ['Atraso de pedidos e webhooks (ms)', 0],
};

let shown = '';
let bill = null;

// ------------------------------------------------------------------------------------------- small tools

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

async function call(method, path, body) {
  const response = await fetch(path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error ?? `erro ${response.status}`);
  return answer;
}

/** A control call of a button: says how it went and shows the new state. */
async function act(done, method, path, body) {
  try {
    const answer = await call(method, path, body);
    toast(done);
    await refresh();
    return answer;
  } catch (error) {
    toast(`Não deu certo: ${error.message}`);
    return undefined;
  }
}

let toastEnd;
function toast(text) {
  $('toast').textContent = text;
  $('toast').classList.add('shown');
  clearTimeout(toastEnd);
  toastEnd = setTimeout(() => $('toast').classList.remove('shown'), 4000);
}

/** Cents of what a person typed: `12,34`, `1.234,56`, `12.34`, `12`. */
function typedCents(text) {
  const trimmed = text.trim().replace(/^R\$\s*/, '');
  const plain = trimmed.includes(',') ? trimmed.replaceAll('.', '').replace(',', '.') : trimmed;
  if (!/^\d{1,10}(\.\d{1,2})?$/.test(plain)) return undefined;
  const cents = Math.round(Number(plain) * 100);
  return cents > 0 ? cents : undefined;
}

const typed = (cents) => (cents / 100).toFixed(2).replace('.', ',');

/** Asks for one value; undefined when the person cancels. */
function ask({ title, label, value, yes }) {
  $('ask-title').textContent = title;
  $('ask-label').textContent = label;
  $('ask-value').value = value;
  $('ask-yes').textContent = yes;
  $('ask').returnValue = 'no';
  $('ask').showModal();
  $('ask-value').select();
  return new Promise((answered) => {
    const close = () => answered($('ask').returnValue === 'yes' ? $('ask-value').value : undefined);
    $('ask').addEventListener('close', close, { once: true });
  });
}

// ---------------------------------------------------------------------------------------- the code's txid

/** The fields of a BR Code: two digits of id, two of length, the value. */
function fields(text) {
  const found = new Map();
  for (let at = 0; at < text.length; ) {
    const length = Number(text.slice(at + 2, at + 4));
    const value = text.slice(at + 4, at + 4 + length);
    if (!Number.isInteger(length) || length < 1 || value.length !== length) throw new Error('cut');
    found.set(text.slice(at, at + 2), value);
    at += 4 + length;
  }
  return found;
}

function crc16(text) {
  let crc = 0xffff;
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at) << 8;
    for (let bit = 0; bit < 8; bit++)
      crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc.toString(16).toUpperCase().padStart(4, '0');
}

/** The txid of a copy-and-paste code, or of a bare id. */
function txidOf(text) {
  const code = text.trim();
  const bare = code.replaceAll('-', '');
  if (/^[a-zA-Z0-9]{26,35}$/.test(bare)) return { txid: bare };
  try {
    const outer = fields(code);
    if (crc16(code.slice(0, -4)) !== outer.get('63')) {
      return { fault: 'O código está incompleto ou foi alterado: o dígito verificador não confere.' };
    }
    const location = fields(outer.get('26') ?? '').get('25') ?? '';
    if (!location.startsWith('pix.simulator.example/')) {
      return { fault: 'É um código Pix, mas não deste simulador.' };
    }
    return { txid: location.split('/').pop() };
  } catch {
    return { fault: 'Isto não é um código Pix.' };
  }
}

// -------------------------------------------------------------------------------------------- paying

async function openBill(txid) {
  try {
    bill = await call('GET', `/page/charges/${encodeURIComponent(txid)}`);
    $('amount').value = typed(bill.amountCents);
    fault('');
    showBill();
    $('bill').scrollIntoView({ block: 'nearest' });
  } catch {
    bill = null;
    showBill();
    fault('Este simulador não tem essa cobrança.');
  }
}

function fault(text) {
  $('code-fault').textContent = text;
  $('code-fault').hidden = text === '';
}

function showBill() {
  $('bill').hidden = bill === null;
  markPicked();
  if (bill === null) return;
  $('bill-label').textContent = bill.status === 'paid' ? 'Você pagou a' : 'Você vai pagar a';
  $('bill-payee').textContent = bill.key;
  $('bill-amount').textContent = money(bill.amountCents);
  $('bill-state').textContent = chargeWords[bill.status];
  $('bill-state').className = `badge ${bill.status}`;
  const rows = [
    ...bill.details.map(({ nome, valor }) => [nome, valor]),
    ['Mensagem', bill.message],
    ['Vence', moment.format(new Date(bill.expiresAt))],
    ...bill.payments.flatMap(({ endToEnd, amountCents, paidAt }) => [
      ['Pago', `${money(amountCents)} em ${moment.format(new Date(paidAt))}`],
      ['EndToEnd', endToEnd],
    ]),
    ['txid', bill.txid],
  ];
  $('bill-details').replaceChildren(
    ...rows
      .filter(([, value]) => value !== '')
      .flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]),
  );
  $('pay-form').hidden = bill.status === 'removed';
  $('pay').textContent = bill.status === 'paid' ? 'Pagar de novo' : 'Pagar';
  $('pay').classList.toggle('main', bill.status !== 'paid');
  $('expire').hidden = bill.status !== 'open';
  $('remove').hidden = bill.status !== 'open' && bill.status !== 'expired';
  hintAmount();
}

function hintAmount() {
  const cents = typedCents($('amount').value);
  let hint = '';
  if (cents === undefined) hint = 'Escreva um valor como 12,34.';
  else if (bill !== null && cents !== bill.amountCents)
    hint = `Diferente do cobrado, que é ${money(bill.amountCents)}.`;
  else if (bill?.status === 'expired') hint = 'A cobrança venceu: o pagamento chegará atrasado.';
  $('amount-hint').textContent = hint;
  $('pay').disabled = cents === undefined;
}

$('code-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const { txid, fault: why } = txidOf($('code').value);
  if (why === undefined) return openBill(txid);
  bill = null;
  showBill();
  fault(why);
});

$('code').addEventListener('paste', () => setTimeout(() => $('code-form').requestSubmit()));
$('amount').addEventListener('input', hintAmount);

$('pay-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const cents = typedCents($('amount').value);
  if (cents === undefined || bill === null) return;
  const { txid, amountCents } = bill;
  const body = cents === amountCents ? {} : { amountCents: cents };
  const paid = await act(`Pago: ${money(cents)}`, 'POST', `/control/charges/${txid}/pay`, body);
  if (paid !== undefined) {
    await pick(txid);
  }
});

for (const [id, done] of [
  ['expire', 'A cobrança venceu há dois minutos'],
  ['remove', 'Cobrança removida'],
]) {
  $(id).addEventListener('click', async () => {
    const { txid } = bill;
    await act(done, 'POST', `/control/charges/${txid}/${id}`);
    await openBill(txid);
  });
}

$('close-bill').addEventListener('click', () => {
  bill = null;
  showBill();
});

function markPicked() {
  for (const button of $('charges').querySelectorAll('button')) {
    button.setAttribute('aria-current', String(button.dataset.txid === bill?.txid));
  }
}

function pick(txid) {
  $('code').value = '';
  return openBill(txid);
}

function chargeItem(charge) {
  const what =
    charge.details
      .map(({ valor }) => valor)
      .filter(Boolean)
      .join(' · ') ||
    charge.message ||
    charge.txid;
  const button = element(
    'button',
    { type: 'button', class: 'pick', 'data-txid': charge.txid, onclick: () => pick(charge.txid) },
    element('span', {}, what, element('small', {}, clock.format(new Date(charge.createdAt)))),
    element('span', { class: 'sum' }, money(charge.amountCents)),
  );
  return element('li', {}, button);
}

// -------------------------------------------------------------------------------------------- payouts

function payoutItem(payout) {
  const path = `/control/payouts/${payout.idEnvio}`;
  const button = (text, onclick, kind = '') =>
    element('button', { type: 'button', class: `small ${kind}`, onclick }, text);
  const buttons = element('span', { class: 'row' });
  if (payout.status === 'pending') {
    buttons.append(
      button('Concluir', () => act('Envio concluído', 'POST', `${path}/complete`), 'main'),
      button('Recusar', () => refuse(path), 'danger'),
    );
  }
  if (payout.status === 'completed') buttons.append(button('Devolver', () => giveBack(path, payout)));

  const notes = [clock.format(new Date(payout.createdAt))];
  if (payout.timesReceived > 1) notes.push(`pedido ${payout.timesReceived} vezes`);
  if (payout.returnedCents > 0 && payout.status === 'completed')
    notes.push(`${money(payout.returnedCents)} devolvidos`);
  if (payout.reason !== undefined) notes.push(payout.reason);
  return element(
    'li',
    { class: 'payout' },
    element('div', {}, payout.pixKey, element('small', {}, notes.join(' · '))),
    element('div', { class: 'sum' }, money(payout.amountCents)),
    element(
      'div',
      { class: 'row' },
      element('span', { class: `badge ${payout.status}` }, payoutWords[payout.status]),
      buttons,
    ),
  );
}

async function refuse(path) {
  const reason = await ask({
    title: 'Recusar o envio',
    label: 'Motivo',
    value: 'Conta do recebedor encerrada',
    yes: 'Recusar',
  });
  if (reason !== undefined)
    await act('Envio recusado', 'POST', `${path}/refuse`, reason.trim() ? { reason } : {});
}

async function giveBack(path, payout) {
  const left = payout.amountCents - (payout.returnedCents ?? 0);
  const value = await ask({
    title: 'Devolver o envio',
    label: `Valor a devolver (até ${money(left)})`,
    value: typed(left),
    yes: 'Devolver',
  });
  if (value === undefined) return;
  const amountCents = typedCents(value);
  if (amountCents === undefined) return toast('Escreva um valor como 12,34.');
  await act(`${money(amountCents)} devolvidos`, 'POST', `${path}/return`, { amountCents });
}

// ------------------------------------------------------------------------------------------- behaviour

for (const [key, [name, values]] of Object.entries(behaviours)) {
  const options = Object.entries(values).map(([value, what]) =>
    element('option', { value }, `${what} (${value})`),
  );
  $('behaviour-fields').append(
    element(
      'div',
      {},
      element('label', { for: `b-${key}` }, name),
      element('select', { id: `b-${key}`, name: key }, ...options),
    ),
  );
}
for (const [key, [name]] of Object.entries(waits)) {
  $('behaviour-fields').append(
    element(
      'div',
      {},
      element('label', { for: `b-${key}` }, name),
      element('input', {
        id: `b-${key}`,
        name: key,
        type: 'number',
        min: 0,
        max: 86400000,
        step: 1,
        required: '',
      }),
    ),
  );
}

// While a person is choosing, what arrives must not overwrite the choice.
let choosing = false;
$('behaviour').addEventListener('input', () => {
  choosing = true;
});

$('behaviour').addEventListener('submit', async (event) => {
  event.preventDefault();
  const given = Object.fromEntries(new FormData($('behaviour')));
  for (const key of Object.keys(waits)) given[key] = Number(given[key]);
  choosing = false;
  await act('Comportamento alterado', 'PUT', '/control/behaviour', given);
});

for (const id of ['reset', 'reset-now']) {
  $(id).addEventListener('click', async () => {
    choosing = false;
    await act('Comportamento padrão', 'DELETE', '/control/behaviour');
  });
}

function showBehaviour(behaviour) {
  if (!choosing) {
    for (const [key, value] of Object.entries(behaviour)) $(`b-${key}`).value = value;
  }
  const changes = [
    ...Object.entries(behaviours)
      .filter(([key, [, values]]) => behaviour[key] !== Object.keys(values)[0])
      .map(([key, [name, values]]) => `${name} ${values[behaviour[key]]}`),
    ...Object.entries(waits)
      .filter(([key, [, usual]]) => behaviour[key] !== usual)
      .map(([key, [name]]) => `${name} ${behaviour[key]}`),
  ];
  $('changed').hidden = changes.length === 0;
  $('changed-what').textContent = changes.join('; ');
}

// --------------------------------------------------------------------------------------------- refresh

async function refresh() {
  let data;
  try {
    data = await call('GET', '/page/data');
    $('offline').hidden = true;
  } catch {
    $('offline').hidden = false;
    return;
  }
  // Unchanged parts are not drawn again: a button must not vanish under the finger.
  const seen = JSON.stringify(data);
  if (seen === shown) return;
  shown = seen;
  $('balance').textContent = money(data.balanceCents);
  $('charge-count').textContent = data.chargeCount.toLocaleString('pt-BR');
  $('payout-count').textContent = data.payoutCount.toLocaleString('pt-BR');
  $('charges').replaceChildren(...data.charges.map(chargeItem));
  $('no-charges').hidden = data.charges.length > 0;
  $('payouts').replaceChildren(...data.payouts.map(payoutItem));
  $('no-payouts').hidden = data.payouts.length > 0;
  showBehaviour(data.behaviour);
  markPicked();
}

async function keepFresh() {
  if (!document.hidden) await refresh();
  setTimeout(keepFresh, 2000);
}

keepFresh();
