/** Rows that one statement of a call, a page or a worker's step may read, whatever is stored. */
export const usualMost = 1_000;

/**
 * Statements that read more, by their names: each reads a page of its own size, and the next one begins behind it. None of these numbers
 * grows with what is stored.
 */
export const mostOf: Readonly<Record<string, number>> = {
  // The rows that a filter looks through for one page: 10,000 payments or events of an operation, in the panel 12,000 over all operations.
  payment_page_filtered: 12_000,
  event_page: 12_000,
  panel_records: 13_000,
  panel_records_floor: 13_000,
  panel_records_oldest: 13_000,
  panel_records_floor_oldest: 13_000,
  // The same by the day of payment: as many journals, each with its payment.
  panel_paid_newest: 25_000,
  panel_paid_oldest: 25_000,
  panel_paid_largest: 25_000,
  panel_paid_smallest: 25_000,
  panel_records_largest: 13_000,
  panel_records_smallest: 13_000,
  // A page of a file: 500 journals, each with its payment; of a refund and a hold through that.
  statement_entries: 3_000,
  panel_journal: 3_000,
  // A page of 500 payments: disputes, odd money and returns of each.
  panel_marks: 3_000,
  // 500 days of operations.
  close_of_day: 2_000,
  // Pix that were received, for a digest: 5,000 journals.
  mail_choice_received: 6_000,
  // Sealed keys that one search opens.
  panel_sealed_keys: 12_000,
  panel_sealed_keys_oldest: 12_000,
  // Every account once: accounts by their names or connection, request keys, which give another id in each account.
  find_account_name: 2_000,
  find_account_numbers: 2_000,
  console_connections: 3_000,
  console_connection_accounts: 2_000,
  // Open payments are counted to a hundred thousand.
  cell_load: 120_000,
  // 2,000 events of the account, and as many of each member's own access.
  security_event_list: 60_000,
  // Journals after an operation's last close, for the chart: 5,000 journals.
  panel_open_day_sums: 6_000,
  // The totals of a period that a person looks at: 50,000 journals, and none above.
  statement_sums: 51_000,
  // Those of transfers, each with its payment.
  statement_transfer_fees: 101_000,
  // Where the next page begins, behind those 10,000.
  payment_place: 12_000,
  event_place: 12_000,
  // Due charges among which neighbours are looked for, and those taken.
  intent_claim_neighbours: 55_000,
  // Ids of one listing, each with its account, payment and intent.
  intent_claim_mentioned: 50_000,
  payment_owners: 12_000,
  // Lines of one listing.
  statement_unknown: 12_000,
  // The same with accounts, payments and journals.
  movement_other_amount: 31_000,
  payment_read: 2_000,
  intent_read: 2_000,
  intent_update: 2_000,
  intent_give_back: 3_000,
  // One page of a comparison: 5,000 payments, 500 reports with their journals, one list of the provider.
  reconcile_payments: 6_000,
  reconcile_traces: 5_000,
  reconcile_seen_find: 12_000,
  reconcile_seen_forget: 3_000,
  reconcile_open_page: 50_000,
  reconcile_operations: 2_000,
  // Once for each comparison: every account.
  reconcile_connections_used: 3_000,
  // Once for each comparison after a restore: one row of each operation and its newest payment.
  reconcile_last_before: 25_000,
  // The daily close of a connection: two rows of each operation, once a day.
  close_connection_moved: 25_000,
  close_connection_held: 25_000,
  // The daily close: 200 chains with account, operation and last close, 5,000 journals of a chain, 500 chains with their last close, 5,000
  // journals behind those, what is under way, journals of one amount.
  close_chains: 2_000,
  close_fees: 11_000,
  close_moved: 11_000,
  close_since_chains: 3_000,
  close_since: 12_000,
  close_in_transit: 30_000,
  close_journals_of: 50_000,
  // The catalogue's columns: as many as there are tables and columns.
  verify_floats: 4_000,
  // Pages of `verify`.
  verify_accounts: 2_000,
  verify_journals: 10_000,
  verify_open_sums: 15_000,
  verify_payments: 6_000,
  verify_payments_by_id: 15_000,
  verify_chains: 2_000,
  // 20,000 journals of a chain that has no checkpoint yet.
  operation_sum_journals: 21_000,
  // The rig's own: how many charges are due.
  size_due: 900_000,
  // A thousand rows of each kind.
  prune_log: 6_000,
  prune_events: 3_000,
  prune_deliveries: 3_000,
  inbound_prune: 2_000,
  request_log_prune: 3_000,
};
