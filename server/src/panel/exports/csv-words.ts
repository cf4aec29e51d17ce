import type { DeliveryRow } from '../../events/webhooks/deliveries.sql.ts';
import type { Cell } from '../../ground/csv.ts';
import { type Permission, permissionNames } from '../../ground/permissions.ts';
import { pixKeyTypeNames } from '../../kinds/transfer/pix-key.ts';
import type { Movement } from '../../money/decide.ts';
import type { PaymentKind, PaymentReason, PaymentStatus } from '../../money/payment.ts';
import type { Action } from '../../operate/incidents/endings.ts';
import type { Incident } from '../../store/rows/incidents.sql.ts';
import type { Role } from '../people/roles.ts';
import type { SecurityEventKind } from '../people/security-events.ts';
import type { Mark } from '../schema/marks.ts';

/**
 * Files in English have the names, codes and times of the API. Files in Portuguese are for people: these headers, words in place of
 * codes, the time of Brasília. The types make every code have its word.
 */
export const headers = {
  action: 'Decisão',
  activity: 'Atividade',
  addresses: 'Endereços IP',
  amount: 'Valor (R$)',
  at: 'Data',
  attempts: 'Tentativas',
  available: 'Disponível (R$)',
  balanceAfter: 'Saldo (R$)',
  clientRequestId: 'X-Request-Id enviado',
  closing: 'Saldo final (R$)',
  createdAt: 'Criado em',
  day: 'Dia',
  debited: 'Debitado em contestação (R$)',
  description: 'Descrição',
  details: 'Detalhes',
  durationMs: 'Duração (ms)',
  email: 'E-mail',
  endToEnd: 'Id endToEnd',
  entry: 'Lançamento',
  errorCode: 'Código do erro',
  eventId: 'Id do evento',
  expiresAt: 'Válido até',
  fee: 'Tarifa (R$)',
  fees: 'Tarifas (R$)',
  fiscalDocuments: 'Documentos fiscais',
  hash: 'Hash do último lançamento',
  held: 'Bloqueado (R$)',
  holds: 'Bloqueios (R$)',
  id: 'Id',
  in: 'Entradas (R$)',
  ip: 'Endereço IP',
  key: 'Chave de API',
  kind: 'Tipo',
  lastAttemptAt: 'Última tentativa',
  lastResult: 'Último resultado',
  lastUsedAt: 'Último uso',
  main: 'Principal',
  marks: 'Depois',
  metadata: 'Metadados',
  method: 'Método',
  name: 'Nome',
  net: 'Líquido (R$)',
  openedAt: 'Aberto em',
  opening: 'Saldo inicial (R$)',
  operation: 'Operação',
  operationId: 'Id da operação',
  out: 'Saídas (R$)',
  outcome: 'Resultado',
  party: 'Pagador ou recebedor',
  payer: 'Pagador',
  paymentId: 'Id do pagamento',
  permissions: 'Permissões',
  postedAt: 'Lançado em',
  reason: 'Motivo',
  refunded: 'Reembolsado (R$)',
  refunds: 'Reembolsos (R$)',
  receivable: 'A compensar (R$)',
  receiver: 'Recebedor',
  receiverKey: 'Chave do recebedor',
  receiverKeyType: 'Tipo da chave',
  requestId: 'Id da requisição',
  requestKey: 'requestKey',
  reserved: 'Reservado (R$)',
  resolvedAt: 'Resolvido em',
  revokedAt: 'Revogada em',
  role: 'Papel',
  route: 'Rota',
  secondFactor: 'Segundo fator',
  seq: 'Nº',
  settledAt: 'Liquidado em',
  state: 'Situação',
  status: 'Situação',
  subject: 'Assunto',
  subjectName: 'Pessoa afetada',
  timestamp: 'Data',
  type: 'Tipo',
} as const;

export type Column = keyof typeof headers;

const statuses: Record<PaymentStatus, string> = {
  draft: 'Rascunho',
  unknown: 'A confirmar',
  pending: 'Pendente',
  paid: 'Paga',
  completed: 'Concluída',
  failed: 'Falhou',
  expired: 'Expirada',
  cancelled: 'Cancelada',
};
const kinds: Record<PaymentKind, string> = { deposit: 'Cobrança', transfer: 'Transferência' };
const reasons: Record<PaymentReason, string> = {
  pix_key_not_found: 'Chave Pix não existe',
  recipient_refused: 'Banco do recebedor recusou',
  recipient_account_closed: 'Conta do recebedor encerrada',
  provider_limit: 'Limite no provedor atingido',
  provider_refused: 'Provedor recusou',
  fraud_suspected: 'Suspeita de fraude',
  receiver_key_restricted: 'Chave do recebedor restrita',
  cancelled_by_merchant: 'Cancelada pelo lojista',
  cancelled_by_operator: 'Cancelada pelo operador do serviço',
  draft_expired: 'Rascunho expirado',
  draft_cancelled: 'Rascunho cancelado',
  draft_locked: 'Cinco códigos errados',
};
const movements: Record<Movement['kind'], string> = {
  reserve: 'Reserva',
  complete: 'Conclusão',
  release: 'Liberação da reserva',
  refundReserve: 'Reserva de reembolso',
  refundComplete: 'Reembolso concluído',
  refundRelease: 'Liberação da reserva de reembolso',
  credit: 'Crédito',
  return: 'Devolução',
  debit: 'Débito do provedor',
  debitHeld: 'Débito do provedor em contestação',
  bookToSuspense: 'A identificar',
  hold: 'Bloqueio',
  releaseHold: 'Desbloqueio',
  creditFromSuspense: 'Crédito após análise',
  creditBesidePayment: 'Crédito após análise',
  debitToSuspense: 'Débito após análise',
  suspenseReserve: 'Reserva para devolver ao pagador',
  suspenseRelease: 'Devolução ao pagador não realizada',
  writeOff: 'Baixa',
  debitLateCompletion: 'Débito de transferência enviada',
  creditNeverLeft: 'Crédito de transferência não enviada',
  bookLoss: 'Assumido pelo operador do serviço',
  providerCost: 'Tarifas do provedor',
  ownMoney: 'Dinheiro próprio da empresa',
  cashTransfer: 'Repasse da adquirente em trânsito',
  cashArrive: 'Repasse da adquirente recebido',
  waiveDebt: 'Dívida perdoada',
  cardApprove: 'Cartão aprovado',
  cardRelease: 'Cartão liberado',
  cardRefundReserve: 'Reembolso de cartão reservado',
  cardRefundRelease: 'Reembolso de cartão desfeito',
  cardSeize: 'Débito da adquirente (chargeback)',
  cardGiveBack: 'Débito da adquirente devolvido',
};
const incidents: Record<Incident['kind'], string> = {
  deleted_operation: 'Dinheiro para uma operação excluída',
  amount_mismatch: 'Cobrança paga com outro valor',
  second_payment: 'Cobrança paga de novo',
  failed_charge_paid: 'Cobrança que falhou foi paga',
  report_mismatch: 'O provedor relatou outro valor ou chave',
  movement_mismatch: 'Um movimento no provedor tem outro valor',
  contradiction: 'O provedor se contradisse',
  return_exceeds: 'Voltou mais do que foi enviado',
  debit: 'O provedor retirou dinheiro',
  undecided: 'Resultado da transferência não confirmado',
  refund_mismatch: 'O provedor relatou outro valor de reembolso',
  refund_contradiction: 'O provedor se contradisse sobre um reembolso',
  refund_undecided: 'Resultado do reembolso não confirmado',
  return_refused: 'Devolução ao pagador recusada',
  unmatched: 'Dinheiro sem pagamento correspondente',
  unreadable: 'Um valor guardado não pode ser aberto com os segredos configurados',
  unread: 'O provedor enviou o que não pode ser lido',
  connection_held: 'Conexão parada: outra conta no provedor responde por ela',
  divergence: 'Saldo difere dos lançamentos',
  close_difference: 'Fechamento difere da conta no provedor',
  cash_missing: 'Repasse da adquirente não chegou à conta Pix',
  lost_payout: 'Uma transferência feita no provedor não está nos registros',
  lost_time: 'O banco de dados voltou a um momento anterior',
};
const actions: Record<Action, string> = {
  credit: 'Creditado',
  debit: 'Debitado',
  writeoff: 'Baixado',
  return: 'Devolvido ao pagador',
  none: 'Sem lançamento',
};
const roles: Record<Role, string> = {
  owner: 'Proprietário',
  admin: 'Administrador',
  finance: 'Financeiro',
  developer: 'Desenvolvedor',
  viewer: 'Leitura',
};
const activity: Record<SecurityEventKind, string> = {
  sign_in: 'Entrada no painel',
  sign_out: 'Saída do painel',
  'factor.code': 'Código do segundo fator',
  'factor.enrolled': 'Segundo fator adicionado',
  'factor.removed': 'Segundo fator removido',
  'factor.backup_codes': 'Novos códigos de recuperação',
  'factor.grace': 'Prazo do segundo fator alterado',
  'password.checked': 'Senha confirmada',
  'password.changed': 'Senha alterada',
  'password.reset_asked': 'Nova senha pedida',
  'password.reset': 'Senha redefinida',
  'email.change_asked': 'Troca de e-mail pedida',
  'email.change_cancelled': 'Troca de e-mail cancelada',
  'email.changed': 'E-mail trocado',
  'session.ended': 'Sessão encerrada',
  'key.created': 'Chave de API criada',
  'key.rolled': 'Chave de API trocada',
  'key.narrowed': 'Permissões de chave removidas',
  'key.revoked': 'Chave de API revogada',
  'webhook.changed': 'Webhook alterado',
  'member.invited': 'Convite enviado',
  'member.invitation_withdrawn': 'Convite cancelado',
  'member.joined': 'Convite aceito',
  'member.role': 'Papel alterado',
  'member.removed': 'Pessoa removida',
  'draft.created': 'Transferência criada',
  'draft.confirmed': 'Transferência confirmada',
  'refund.created': 'Reembolso pedido',
  'odd_money.decided': 'Valor a identificar decidido',
  'defence.created': 'Contestação respondida',
  'receiver.saved': 'Recebedor salvo',
  'receiver.removed': 'Recebedor removido',
  'profile.changed': 'Dados da empresa alterados',
  'operation.changed': 'Operação alterada',
  'account.reset': 'Conta de teste reiniciada',
  'support.granted': 'Visita do suporte permitida',
  'support.ended': 'Visitas do suporte encerradas',
  'support.view_begun': 'Visita do suporte iniciada',
  'support.view_ended': 'Visita do suporte terminada',
  'export.downloaded': 'Arquivo baixado',
  'access.refused': 'Acesso recusado',
};
const deliveries: Record<DeliveryRow['status'], string> = {
  pending: 'Na fila',
  delivered: 'Entregue',
  failed: 'Falhou',
  skipped: 'Pulada',
};

/** All codes that have words, for what must know each of them as well. */
export const codes = {
  statuses,
  reasons,
  movements,
  incidents,
  actions,
  activity,
  roles,
  deliveries,
} as const;

/** A code of the API as a cell. A code of an older version that has no word any more stands as it is. */
const coded =
  (words: Readonly<Record<string, string>>) =>
  (code: string | null): Cell =>
    code === null ? null : { code, pt: words[code] ?? code };

export const statusCell = (status: PaymentStatus, kind: PaymentKind): Cell =>
  status === 'pending' && kind === 'transfer'
    ? { code: status, pt: 'Processando' }
    : { code: status, pt: statuses[status] };
export const kindCell = coded(kinds);
export const reasonCell = coded(reasons);
export const keyTypeCell = coded(pixKeyTypeNames);
export const movementCell = coded(movements);
export const incidentCell = coded(incidents);
export const actionCell = coded(actions);
export const roleCell = coded(roles);
export const activityCell = coded(activity);
export const outcomeCell = coded({ ok: 'Feito', refused: 'Recusado' });
export const deliveryCell = coded(deliveries);
export const stateCell = coded({ open: 'Aberto', resolved: 'Resolvido' });
export const yesNoCell = (yes: boolean): Cell =>
  yes ? { code: 'yes', pt: 'Sim' } : { code: 'no', pt: 'Não' };
const markWords: Record<Mark, string> = {
  disputed: 'Contestada',
  dispute_lost: 'Contestação perdida',
  odd: 'Valor a identificar',
  refunded: 'Reembolsada',
  partly_refunded: 'Reembolsada em parte',
  returned: 'Devolvida',
};
export const marksCell = (marks: readonly Mark[]): Cell => ({
  code: marks.join(' '),
  pt: marks.map((one) => markWords[one]).join(', '),
});
export const permissionsCell = (held: readonly Permission[]): Cell => ({
  code: held.join(' '),
  pt: held.map((one) => permissionNames[one]).join(', '),
});
