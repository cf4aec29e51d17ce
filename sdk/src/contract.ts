// Generated from contract/openapi.json by sdk/generate.js. Do not edit.

/** Error codes of the service. More may be added. */
export type ErrorCode =
  | 'validation_failed'
  | 'malformed_json'
  | 'invalid_id'
  | 'invalid_cursor'
  | 'statement_too_large'
  | 'invalid_operation_header'
  | 'amount_below_fee'
  | 'amount_out_of_limits'
  | 'insufficient_balance'
  | 'idempotency_conflict'
  | 'request_key_consumed'
  | 'pix_key_not_found'
  | 'recipient_refused'
  | 'provider_refused'
  | 'not_offered_by_provider'
  | 'payment_not_refundable'
  | 'refund_window_closed'
  | 'refund_exceeds'
  | 'refund_already_booked'
  | 'operation_limit_reached'
  | 'operation_has_balance'
  | 'operation_on_hold'
  | 'operation_has_unfinished_payments'
  | 'balance_not_confirmed'
  | 'last_operation'
  | 'not_a_draft'
  | 'invalid_code'
  | 'code_expired'
  | 'webhook_url_not_allowed'
  | 'webhook_limit_reached'
  | 'webhook_disabled'
  | 'replay_window_too_long'
  | 'rotation_in_progress'
  | 'test_clock_advancing'
  | 'simulation_refused'
  | 'malformed_request'
  | 'api_key_missing'
  | 'api_key_invalid'
  | 'api_key_expired'
  | 'permission_denied'
  | 'tls_required'
  | 'ip_not_allowed'
  | 'account_disabled'
  | 'withdrawals_blocked'
  | 'test_account_required'
  | 'card_not_enabled'
  | 'route_not_found'
  | 'refund_not_found'
  | 'payment_not_found'
  | 'dispute_not_found'
  | 'operation_not_found'
  | 'webhook_not_found'
  | 'delivery_not_found'
  | 'event_not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'body_too_large'
  | 'uri_too_long'
  | 'unsupported_media_type'
  | 'headers_too_large'
  | 'rate_limited'
  | 'too_many_concurrent_requests'
  | 'internal_error'
  | 'processing_unavailable'
  | 'provider_unavailable'
  | 'simulator_unavailable'
  | 'provider_not_configured'
  | 'request_in_progress'
  | 'withdrawals_paused'
  | 'ledger_divergence'
  | 'maintenance'
  | 'overloaded';

export interface components {
    schemas: {
        /**
         * @example {
         *       "id": "00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *       "kind": "deposit",
         *       "amountCents": 1000,
         *       "status": "paid",
         *       "createdAt": "2026-11-20T20:43:18.000Z",
         *       "updatedAt": "2026-11-20T20:44:02.318Z",
         *       "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *       "feeCents": 0,
         *       "settledAt": "2026-11-20T20:44:02.318Z",
         *       "paymentMethod": "pix",
         *       "expiresAt": "2026-11-21T20:43:18.000Z",
         *       "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *       "providerFeeCents": 0,
         *       "netAmountCents": 1000,
         *       "paidAt": "2026-11-20T20:44:01.000Z",
         *       "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *     }
         */
        Payment: {
            /**
             * Format: uuid
             * @description Id of the payment
             */
            id: string;
            /**
             * @description deposit: a charge; transfer: a withdrawal
             * @enum {string}
             */
            kind: "deposit" | "transfer";
            /** @description Amount of a charge, gross amount of a transfer */
            amountCents: number;
            /**
             * @description State; confirmed by the settlement provider alone
             * @enum {string}
             */
            status: "draft" | "unknown" | "pending" | "paid" | "completed" | "failed" | "expired" | "cancelled";
            /**
             * Format: date-time
             * @description Creation
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Last change; strictly increasing per payment
             */
            updatedAt: string;
            /**
             * Format: uuid
             * @description Business operation that owns the payment
             */
            operationId: string;
            /** @description Account fee recorded at creation */
            feeCents: number | null;
            /**
             * Format: date-time
             * @description When the final state was posted
             */
            settledAt: string | null;
            /**
             * @description Payment method
             * @enum {string|null}
             */
            paymentMethod: "pix" | "card" | null;
            /**
             * Format: date-time
             * @description The provider's deadline; null when it gives none
             */
            expiresAt: string | null;
            /** @description Pix copy-and-paste code, while pending */
            copyPaste?: string;
            /** @description PNG data URL of the QR code, while pending */
            qrCodeBase64?: string;
            /** @description End-to-end id of the Pix */
            endToEnd?: string;
            /** @description A remark for people */
            notice?: string;
            /** @description Why it failed or was cancelled; more codes may be added */
            reasonCode?: string;
            /** @description Fee confirmed by processing */
            providerFeeCents?: number;
            /** @description Net amount confirmed by processing */
            netAmountCents?: number;
            /** @description Gross debit of a withdrawal, fee included */
            debitAmountCents?: number;
            /** @description Gross minus account fee */
            expectedNetAmountCents?: number;
            /** @description What refunds have given back of a paid charge; left out while nothing was */
            refundedCents?: number;
            /**
             * Format: date-time
             * @description Instant of the payer's Pix
             */
            paidAt?: string;
            /**
             * Format: uri
             * @description Hosted checkout, card only
             */
            checkoutUrl?: string;
            /**
             * Format: date-time
             * @description Release time reported by the settler
             */
            releaseAt?: string;
            /**
             * @description Card only
             * @enum {string}
             */
            cardSettlementStatus?: "held" | "available";
            /** @description Card details */
            card?: {
                /** @enum {string} */
                status: "processing" | "paid" | "refused";
                /** @enum {string} */
                brand: "visa" | "mastercard" | "elo" | "amex" | "hipercard" | "other";
                last4: string | null;
                /** @constant */
                installments: 1;
                refusedReason: string | null;
                attemptsLeft: number | null;
            } | null;
            /**
             * Format: uuid
             * @description Key of the request that created it; not in lists
             */
            requestKey?: string;
            /**
             * @description As the request that created it gave them; absent when there are none
             * @example {
             *       "orderId": "1042",
             *       "store": "centro"
             *     }
             */
            metadata?: {
                [key: string]: string;
            };
        };
        /**
         * @example {
         *       "id": "00c0ffee-61d2-8c44-a05e-9d1f7b3a2e60",
         *       "paymentId": "00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *       "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *       "amountCents": 400,
         *       "status": "completed",
         *       "reason": "requested",
         *       "description": "Item devolvido",
         *       "createdAt": "2026-11-21T13:10:00.000Z",
         *       "updatedAt": "2026-11-21T13:10:01.204Z",
         *       "settledAt": "2026-11-21T13:10:01.204Z",
         *       "requestKey": "4a0e8f52-5a4e-4a63-8ff0-0d5c2a9b7c31",
         *       "endToEnd": "D12345678202611211310a1b2c3d4e5f"
         *     }
         */
        Refund: {
            /**
             * Format: uuid
             * @description Id of the refund
             */
            id: string;
            /**
             * Format: uuid
             * @description The charge
             */
            paymentId: string;
            /**
             * Format: uuid
             * @description Business operation that owns the charge
             */
            operationId: string;
            /** @description Amount that goes back to the payer */
            amountCents: number;
            /**
             * @description unknown: not confirmed yet; pending: the provider has it; completed: the payer has the money; failed: refused, the amount is back in the balance
             * @enum {string}
             */
            status: "unknown" | "pending" | "completed" | "failed";
            /** @description Why it was made; more may be added */
            reason: string;
            /** @description Message to the payer; may be empty */
            description: string;
            /**
             * Format: date-time
             * @description Creation
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Last change; strictly increasing per refund
             */
            updatedAt: string;
            /**
             * Format: date-time
             * @description When the completion was posted
             */
            settledAt: string | null;
            /**
             * Format: uuid
             * @description Key of the request that created it
             */
            requestKey: string;
            /** @description Id of the return in the payment system (`D…`) */
            endToEnd?: string;
            /** @description Why it failed; more codes may be added */
            reasonCode?: string;
        };
        /**
         * @example {
         *       "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *       "enabled": true,
         *       "balanceCents": 125000,
         *       "feeCents": 25,
         *       "cardFeeCents": 0,
         *       "minimumCardCents": 0,
         *       "maximumCardCents": 0,
         *       "minimumDepositCents": 200,
         *       "maximumDepositCents": 200000,
         *       "minimumWithdrawalCents": 1000,
         *       "maximumWithdrawalCents": 1000000,
         *       "reservedWithdrawalCents": 0,
         *       "depositFeeCents": 0,
         *       "withdrawalFeeBps": 0,
         *       "depositFeeBps": 0,
         *       "cardFeeBps": 0
         *     }
         */
        AccountSummary: {
            /**
             * Format: uuid
             * @description The selected business operation
             */
            operationId: string;
            /** @description Charges and transfers can be created */
            enabled: boolean;
            /** @description Available balance of the business operation */
            balanceCents: number;
            /** @description Fixed part of the withdrawal fee */
            feeCents: number;
            /** @description Fixed part of the card fee */
            cardFeeCents: number;
            /** @description 0: card payments are off */
            minimumCardCents: number;
            /** @description 0: card payments are off */
            maximumCardCents: number;
            /** @description Smallest charge */
            minimumDepositCents: number;
            /** @description Largest charge */
            maximumDepositCents: number;
            /** @description Smallest transfer */
            minimumWithdrawalCents: number;
            /** @description Largest transfer */
            maximumWithdrawalCents: number;
            /** @description Reserved for unfinished transfers of the business operation */
            reservedWithdrawalCents: number;
            /** @description Fixed part of the charge fee */
            depositFeeCents: number;
            /** @description Percentage part of the withdrawal fee, in hundredths of a percent */
            withdrawalFeeBps: number;
            /** @description Percentage part of the charge fee, in hundredths of a percent */
            depositFeeBps: number;
            /** @description Percentage part of the card fee, in hundredths of a percent */
            cardFeeBps: number;
        };
        /**
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000007",
         *       "paymentId": "00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *       "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *       "status": "open",
         *       "amountCents": 1000,
         *       "heldCents": 1000,
         *       "debitedCents": 0,
         *       "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *       "reason": "golpe",
         *       "openedAt": "2026-11-21T12:00:00.000Z",
         *       "deadlineAt": "2026-11-24T12:00:00.000Z",
         *       "endedAt": null,
         *       "createdAt": "2026-11-21T12:04:10.000Z",
         *       "updatedAt": "2026-11-21T12:04:10.000Z"
         *     }
         */
        Dispute: {
            /**
             * Format: uuid
             * @description Id of the dispute
             */
            id: string;
            /**
             * Format: uuid
             * @description The charge whose Pix is disputed
             */
            paymentId: string;
            /**
             * Format: uuid
             * @description Business operation that owns the charge
             */
            operationId: string;
            /**
             * @description State; decided by the settlement provider alone
             * @enum {string}
             */
            status: "open" | "defending" | "accepted" | "rejected" | "cancelled";
            /** @description What is disputed */
            amountCents: number;
            /** @description What is held for it at this moment; later credits fill it up */
            heldCents: number;
            /** @description What the provider has taken of it */
            debitedCents: number;
            /** @description End-to-end id of the disputed Pix */
            endToEnd: string;
            /** @description The provider's word for why */
            reason: string | null;
            /**
             * Format: date-time
             * @description When it was opened at the provider
             */
            openedAt: string;
            /**
             * Format: date-time
             * @description The provider's deadline for the defence; null when it gives none
             */
            deadlineAt: string | null;
            /**
             * Format: date-time
             * @description When its end was seen
             */
            endedAt: string | null;
            /**
             * Format: date-time
             * @description When it was seen first
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Last change; strictly increasing per dispute
             */
            updatedAt: string;
        };
        /**
         * @example {
         *       "id": "18",
         *       "seq": 18,
         *       "at": "2026-11-20T20:44:02.318Z",
         *       "kind": "charge",
         *       "paymentId": "00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *       "description": "Pedido 1042",
         *       "amountCents": 1000,
         *       "balanceCents": 5000,
         *       "payerName": "Maria Silva",
         *       "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *       "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *     }
         */
        StatementLine: {
            /** @description Unique in the business operation, and the same for ever */
            id: string;
            /** @description Number of the ledger entry; a movement, its fee and what a hold took of it share it */
            seq: number;
            /**
             * Format: date-time
             * @description When it was posted
             */
            at: string;
            /** @description What it is; more kinds may be added */
            kind: string;
            /**
             * Format: uuid
             * @description The payment that it belongs to
             */
            paymentId: string | null;
            /** @description Of the payment; may be empty */
            description: string;
            /** @description What the balance changed by: negative is out */
            amountCents: number;
            /** @description Balance after this line, as `GET /account` shows it */
            balanceCents: number;
            /** @description Of a charge */
            payerName: string | null;
            /** @description End-to-end id of the Pix, once known */
            endToEnd: string | null;
            /**
             * Format: uuid
             * @description Key of the request that created the payment
             */
            requestKey: string | null;
            /**
             * @description As the request that created it gave them; absent when there are none
             * @example {
             *       "orderId": "1042",
             *       "store": "centro"
             *     }
             */
            metadata?: {
                [key: string]: string;
            };
        };
        /**
         * @example {
         *       "id": "01939f3a-7a00-7000-8000-000000000003",
         *       "name": "Loja do Centro",
         *       "isDefault": false,
         *       "balanceCents": 125000,
         *       "balanceUpdatedAt": "2026-11-20T20:43:18.000Z",
         *       "createdAt": "2026-10-01T12:00:00.000Z"
         *     }
         */
        Operation: {
            /**
             * Format: uuid
             * @description Id of the business operation
             */
            id: string;
            /** @description Name */
            name: string;
            /** @description True for the main operation */
            isDefault: boolean;
            /** @description Available balance */
            balanceCents: number;
            /**
             * Format: date-time
             * @description Last posting that changed the balance
             */
            balanceUpdatedAt: string;
            /**
             * Format: date-time
             * @description Creation
             */
            createdAt: string;
        };
        /**
         * @example {
         *       "id": "01939f3a-7d00-7000-8000-000000000004",
         *       "url": "https://loja.example.com/vintem",
         *       "events": [
         *         "charge.paid",
         *         "transfer.completed"
         *       ],
         *       "description": "Loja",
         *       "operationIds": null,
         *       "enabled": true,
         *       "status": "active",
         *       "disabledReason": null,
         *       "disabledAt": null,
         *       "secretHint": "whsec_…wdHh",
         *       "schemaVersion": 1,
         *       "createdAt": "2026-11-20T20:43:18.000Z",
         *       "updatedAt": "2026-11-20T20:43:18.000Z"
         *     }
         */
        Webhook: {
            /**
             * Format: uuid
             * @description Id of the endpoint
             */
            id: string;
            /** @description Address */
            url: string;
            /** @description Which events */
            events: string[];
            /** @description A name for people */
            description: string | null;
            /** @description Only events of these business operations; null: of all, later ones included */
            operationIds: string[] | null;
            /** @description Whether events are sent */
            enabled: boolean;
            /**
             * @description How it fares
             * @enum {string}
             */
            status: "active" | "failing" | "disabled";
            /** @description `by_request`, `gone` (it answered 410), `failing` (five days without a success) */
            disabledReason: string | null;
            /**
             * Format: date-time
             * @description When it was disabled; a replay since then sends what was skipped
             */
            disabledAt: string | null;
            /** @description The end of the secret */
            secretHint: string;
            /** @description Version of the payloads, as of the creation */
            schemaVersion: number;
            /**
             * Format: date-time
             * @description Creation
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Last change
             */
            updatedAt: string;
        };
        /**
         * @example {
         *       "id": "01939f3a-7d00-7000-8000-000000000004",
         *       "url": "https://loja.example.com/vintem",
         *       "events": [
         *         "charge.paid",
         *         "transfer.completed"
         *       ],
         *       "description": "Loja",
         *       "operationIds": null,
         *       "enabled": true,
         *       "status": "active",
         *       "disabledReason": null,
         *       "disabledAt": null,
         *       "secretHint": "whsec_…wdHh",
         *       "schemaVersion": 1,
         *       "createdAt": "2026-11-20T20:43:18.000Z",
         *       "updatedAt": "2026-11-20T20:43:18.000Z",
         *       "secret": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
         *     }
         */
        CreatedWebhook: {
            /**
             * Format: uuid
             * @description Id of the endpoint
             */
            id: string;
            /** @description Address */
            url: string;
            /** @description Which events */
            events: string[];
            /** @description A name for people */
            description: string | null;
            /** @description Only events of these business operations; null: of all, later ones included */
            operationIds: string[] | null;
            /** @description Whether events are sent */
            enabled: boolean;
            /**
             * @description How it fares
             * @enum {string}
             */
            status: "active" | "failing" | "disabled";
            /** @description `by_request`, `gone` (it answered 410), `failing` (five days without a success) */
            disabledReason: string | null;
            /**
             * Format: date-time
             * @description When it was disabled; a replay since then sends what was skipped
             */
            disabledAt: string | null;
            /** @description The end of the secret */
            secretHint: string;
            /** @description Version of the payloads, as of the creation */
            schemaVersion: number;
            /**
             * Format: date-time
             * @description Creation
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Last change
             */
            updatedAt: string;
            /** @description What signatures are verified with; shown this once, not to a repeat */
            secret?: string;
        };
        /**
         * @example {
         *       "id": "01939f3a-7c00-8000-8000-000000000005",
         *       "eventId": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "transfer.completed",
         *       "status": "delivered",
         *       "attempts": [
         *         {
         *           "n": 1,
         *           "at": "2026-11-20T20:43:18.120Z",
         *           "statusCode": 200,
         *           "error": null,
         *           "durationMs": 41,
         *           "responseSnippet": "ok"
         *         }
         *       ],
         *       "nextAttemptAt": null,
         *       "createdAt": "2026-11-20T20:43:18.060Z"
         *     }
         */
        Delivery: {
            /**
             * Format: uuid
             * @description Id of the delivery
             */
            id: string;
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            eventId: string;
            /** @description Type of the event */
            type: string;
            /**
             * @description skipped: the endpoint was disabled; failed: no more attempts by themselves
             * @enum {string}
             */
            status: "pending" | "delivered" | "failed" | "skipped";
            /** @description The last 50 */
            attempts: {
                /** @description Number, from 1 */
                n: number;
                /**
                 * Format: date-time
                 * @description Start
                 */
                at: string;
                /** @description Null: no answer */
                statusCode: number | null;
                /** @description Null: an answer */
                error: string | null;
                /** @description Until the answer or the error */
                durationMs: number;
                /** @description The beginning of the answer, at most 1 KiB */
                responseSnippet: string | null;
            }[];
            /**
             * Format: date-time
             * @description The next attempt
             */
            nextAttemptAt: string | null;
            /**
             * Format: date-time
             * @description Creation
             */
            createdAt: string;
        };
        /**
         * @description One event, as it was sent. Ignore types that you do not know: more may be added
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "charge.created",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "unknown",
         *         "to": "pending"
         *       },
         *       "data": {
         *         "id": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "kind": "deposit",
         *         "amountCents": 1000,
         *         "status": "pending",
         *         "createdAt": "2026-11-20T20:42:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "feeCents": 25,
         *         "settledAt": null,
         *         "paymentMethod": "pix",
         *         "expiresAt": "2026-11-21T20:42:18.000Z",
         *         "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "charge.paid",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "pending",
         *         "to": "paid"
         *       },
         *       "data": {
         *         "id": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "kind": "deposit",
         *         "amountCents": 1000,
         *         "status": "paid",
         *         "createdAt": "2026-11-20T20:42:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "feeCents": 25,
         *         "settledAt": "2026-11-20T20:43:18.000Z",
         *         "paymentMethod": "pix",
         *         "expiresAt": "2026-11-21T20:42:18.000Z",
         *         "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *         "providerFeeCents": 25,
         *         "netAmountCents": 975,
         *         "paidAt": "2026-11-20T20:43:17.000Z",
         *         "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "charge.expired",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "pending",
         *         "to": "expired"
         *       },
         *       "data": {
         *         "id": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "kind": "deposit",
         *         "amountCents": 1000,
         *         "status": "expired",
         *         "createdAt": "2026-11-20T20:42:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "feeCents": 25,
         *         "settledAt": null,
         *         "paymentMethod": "pix",
         *         "expiresAt": "2026-11-21T20:42:18.000Z",
         *         "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "charge.failed",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "unknown",
         *         "to": "failed"
         *       },
         *       "data": {
         *         "id": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "kind": "deposit",
         *         "amountCents": 1000,
         *         "status": "failed",
         *         "createdAt": "2026-11-20T20:42:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "feeCents": 25,
         *         "settledAt": null,
         *         "paymentMethod": "pix",
         *         "expiresAt": "2026-11-21T20:42:18.000Z",
         *         "notice": "O provedor recusou ou removeu esta cobrança. Ela não pode ser paga; crie outra.",
         *         "reasonCode": "provider_refused",
         *         "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "charge.unexpected_payment",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "paid",
         *         "to": "paid"
         *       },
         *       "data": {
         *         "id": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "kind": "deposit",
         *         "amountCents": 1000,
         *         "status": "paid",
         *         "createdAt": "2026-11-20T20:42:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "feeCents": 25,
         *         "settledAt": "2026-11-20T20:43:18.000Z",
         *         "paymentMethod": "pix",
         *         "expiresAt": "2026-11-21T20:42:18.000Z",
         *         "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *         "notice": "Esta cobrança foi paga mais de uma vez. O pagamento adicional só entra no saldo após análise.",
         *         "providerFeeCents": 25,
         *         "netAmountCents": 975,
         *         "paidAt": "2026-11-20T20:42:18.000Z",
         *         "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "transfer.created",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "unknown",
         *         "to": "pending"
         *       },
         *       "data": {
         *         "id": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "kind": "transfer",
         *         "amountCents": 1000,
         *         "status": "pending",
         *         "createdAt": "2026-11-20T20:42:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "feeCents": 25,
         *         "settledAt": null,
         *         "paymentMethod": "pix",
         *         "expiresAt": null,
         *         "debitAmountCents": 1000,
         *         "expectedNetAmountCents": 975,
         *         "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "transfer.completed",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "pending",
         *         "to": "completed"
         *       },
         *       "data": {
         *         "id": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "kind": "transfer",
         *         "amountCents": 1000,
         *         "status": "completed",
         *         "createdAt": "2026-11-20T20:42:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "feeCents": 25,
         *         "settledAt": "2026-11-20T20:43:18.000Z",
         *         "paymentMethod": "pix",
         *         "expiresAt": null,
         *         "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *         "providerFeeCents": 25,
         *         "netAmountCents": 975,
         *         "debitAmountCents": 1000,
         *         "expectedNetAmountCents": 975,
         *         "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "transfer.cancelled",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "pending",
         *         "to": "cancelled"
         *       },
         *       "data": {
         *         "id": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "kind": "transfer",
         *         "amountCents": 1000,
         *         "status": "cancelled",
         *         "createdAt": "2026-11-20T20:42:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "feeCents": 25,
         *         "settledAt": null,
         *         "paymentMethod": "pix",
         *         "expiresAt": null,
         *         "reasonCode": "recipient_refused",
         *         "debitAmountCents": 1000,
         *         "expectedNetAmountCents": 975,
         *         "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "transfer.returned",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "completed",
         *         "to": "completed"
         *       },
         *       "data": {
         *         "id": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "kind": "transfer",
         *         "amountCents": 1000,
         *         "status": "completed",
         *         "createdAt": "2026-11-20T20:42:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "feeCents": 25,
         *         "settledAt": "2026-11-20T20:43:18.000Z",
         *         "paymentMethod": "pix",
         *         "expiresAt": null,
         *         "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *         "notice": "O Pix foi devolvido, no todo ou em parte; o valor voltou ao saldo.",
         *         "providerFeeCents": 25,
         *         "netAmountCents": 975,
         *         "debitAmountCents": 1000,
         *         "expectedNetAmountCents": 975,
         *         "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "transfer.unknown",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "unknown",
         *         "to": "unknown"
         *       },
         *       "data": {
         *         "id": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "kind": "transfer",
         *         "amountCents": 1000,
         *         "status": "unknown",
         *         "createdAt": "2026-11-20T20:42:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "feeCents": 25,
         *         "settledAt": null,
         *         "paymentMethod": "pix",
         *         "expiresAt": null,
         *         "debitAmountCents": 1000,
         *         "expectedNetAmountCents": 975,
         *         "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "dispute.opened",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": null,
         *         "to": "open"
         *       },
         *       "data": {
         *         "id": "01939f3a-7c00-7000-8000-000000000007",
         *         "paymentId": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "status": "open",
         *         "amountCents": 1000,
         *         "heldCents": 1000,
         *         "debitedCents": 0,
         *         "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *         "reason": "golpe",
         *         "openedAt": "2026-11-20T19:43:18.000Z",
         *         "deadlineAt": "2026-11-23T20:43:18.000Z",
         *         "endedAt": null,
         *         "createdAt": "2026-11-20T20:43:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "dispute.defending",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "open",
         *         "to": "defending"
         *       },
         *       "data": {
         *         "id": "01939f3a-7c00-7000-8000-000000000007",
         *         "paymentId": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "status": "defending",
         *         "amountCents": 1000,
         *         "heldCents": 1000,
         *         "debitedCents": 0,
         *         "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *         "reason": "golpe",
         *         "openedAt": "2026-11-20T19:43:18.000Z",
         *         "deadlineAt": "2026-11-23T20:43:18.000Z",
         *         "endedAt": null,
         *         "createdAt": "2026-11-20T20:43:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "dispute.accepted",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "open",
         *         "to": "accepted"
         *       },
         *       "data": {
         *         "id": "01939f3a-7c00-7000-8000-000000000007",
         *         "paymentId": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "status": "accepted",
         *         "amountCents": 1000,
         *         "heldCents": 1000,
         *         "debitedCents": 0,
         *         "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *         "reason": "golpe",
         *         "openedAt": "2026-11-20T19:43:18.000Z",
         *         "deadlineAt": "2026-11-23T20:43:18.000Z",
         *         "endedAt": "2026-11-20T20:43:18.000Z",
         *         "createdAt": "2026-11-20T20:43:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "dispute.rejected",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "open",
         *         "to": "rejected"
         *       },
         *       "data": {
         *         "id": "01939f3a-7c00-7000-8000-000000000007",
         *         "paymentId": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "status": "rejected",
         *         "amountCents": 1000,
         *         "heldCents": 0,
         *         "debitedCents": 0,
         *         "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *         "reason": "golpe",
         *         "openedAt": "2026-11-20T19:43:18.000Z",
         *         "deadlineAt": "2026-11-23T20:43:18.000Z",
         *         "endedAt": "2026-11-20T20:43:18.000Z",
         *         "createdAt": "2026-11-20T20:43:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "dispute.cancelled",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "open",
         *         "to": "cancelled"
         *       },
         *       "data": {
         *         "id": "01939f3a-7c00-7000-8000-000000000007",
         *         "paymentId": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "status": "cancelled",
         *         "amountCents": 1000,
         *         "heldCents": 0,
         *         "debitedCents": 0,
         *         "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *         "reason": "golpe",
         *         "openedAt": "2026-11-20T19:43:18.000Z",
         *         "deadlineAt": "2026-11-23T20:43:18.000Z",
         *         "endedAt": "2026-11-20T20:43:18.000Z",
         *         "createdAt": "2026-11-20T20:43:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "charge.refunded",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "paid",
         *         "to": "paid"
         *       },
         *       "data": {
         *         "id": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "kind": "deposit",
         *         "amountCents": 1000,
         *         "status": "paid",
         *         "createdAt": "2026-11-20T20:42:18.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "feeCents": 25,
         *         "settledAt": "2026-11-20T20:43:18.000Z",
         *         "paymentMethod": "pix",
         *         "expiresAt": "2026-11-21T20:42:18.000Z",
         *         "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *         "providerFeeCents": 25,
         *         "netAmountCents": 975,
         *         "refundedCents": 400,
         *         "paidAt": "2026-11-19T20:43:18.000Z",
         *         "requestKey": "7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "refund.completed",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "pending",
         *         "to": "completed"
         *       },
         *       "data": {
         *         "id": "00000000-61d2-8c44-a05e-9d1f7b3a2e60",
         *         "paymentId": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "amountCents": 400,
         *         "status": "completed",
         *         "reason": "requested",
         *         "description": "Item devolvido",
         *         "createdAt": "2026-11-20T20:43:17.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "settledAt": "2026-11-20T20:43:18.000Z",
         *         "requestKey": "4a0e8f52-5a4e-4a63-8ff0-0d5c2a9b7c31",
         *         "endToEnd": "D12345678202611202044a1b2c3d4e5f"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "refund.failed",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "change": {
         *         "from": "pending",
         *         "to": "failed"
         *       },
         *       "data": {
         *         "id": "00000000-61d2-8c44-a05e-9d1f7b3a2e60",
         *         "paymentId": "00000000-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "amountCents": 400,
         *         "status": "failed",
         *         "reason": "requested",
         *         "description": "Item devolvido",
         *         "createdAt": "2026-11-20T20:43:17.000Z",
         *         "updatedAt": "2026-11-20T20:43:18.000Z",
         *         "settledAt": null,
         *         "requestKey": "4a0e8f52-5a4e-4a63-8ff0-0d5c2a9b7c31",
         *         "reasonCode": "provider_refused"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "operation.created",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "data": {
         *         "id": "01939f3a-7a00-7000-8000-000000000003",
         *         "name": "Loja do Centro",
         *         "isDefault": false,
         *         "balanceCents": 0,
         *         "balanceUpdatedAt": "2026-11-20T20:43:18.000Z",
         *         "createdAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "operation.updated",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "data": {
         *         "id": "01939f3a-7a00-7000-8000-000000000003",
         *         "name": "Loja do Centro",
         *         "isDefault": false,
         *         "balanceCents": 0,
         *         "balanceUpdatedAt": "2026-11-20T20:43:18.000Z",
         *         "createdAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "operation.deleted",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "data": {
         *         "id": "01939f3a-7a00-7000-8000-000000000003",
         *         "name": "Loja do Centro",
         *         "isDefault": false,
         *         "balanceCents": 0,
         *         "balanceUpdatedAt": "2026-11-20T20:43:18.000Z",
         *         "createdAt": "2026-11-20T20:43:18.000Z",
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "close.completed",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "data": {
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *         "day": "2026-11-20",
         *         "openingCents": 10000,
         *         "inCents": 5000,
         *         "outCents": 2000,
         *         "feeCents": 50,
         *         "refundCents": 0,
         *         "holdCents": 0,
         *         "closingCents": 12950,
         *         "reservedCents": 0,
         *         "heldCents": 0,
         *         "lastSeq": 17,
         *         "head": "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
         *         "closedAt": "2026-11-21T03:10:04.000Z"
         *       }
         *     }
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000001",
         *       "type": "webhook.test",
         *       "timestamp": "2026-11-20T20:43:18.000Z",
         *       "schemaVersion": 1,
         *       "livemode": false,
         *       "data": {
         *         "operationId": "01939f3a-7a00-7000-8000-000000000003"
         *       }
         *     }
         */
        Event: components["schemas"]["ChargeCreatedEvent"] | components["schemas"]["ChargePaidEvent"] | components["schemas"]["ChargeExpiredEvent"] | components["schemas"]["ChargeFailedEvent"] | components["schemas"]["ChargeUnexpected_paymentEvent"] | components["schemas"]["TransferCreatedEvent"] | components["schemas"]["TransferCompletedEvent"] | components["schemas"]["TransferCancelledEvent"] | components["schemas"]["TransferReturnedEvent"] | components["schemas"]["TransferUnknownEvent"] | components["schemas"]["DisputeOpenedEvent"] | components["schemas"]["DisputeDefendingEvent"] | components["schemas"]["DisputeAcceptedEvent"] | components["schemas"]["DisputeRejectedEvent"] | components["schemas"]["DisputeCancelledEvent"] | components["schemas"]["ChargeRefundedEvent"] | components["schemas"]["RefundCompletedEvent"] | components["schemas"]["RefundFailedEvent"] | components["schemas"]["OperationCreatedEvent"] | components["schemas"]["OperationUpdatedEvent"] | components["schemas"]["OperationDeletedEvent"] | components["schemas"]["CloseCompletedEvent"] | components["schemas"]["WebhookTestEvent"];
        /** @enum {string} */
        ChargeCreatedEventType: "charge.created";
        /** @description The payment as it was then, without its code */
        PaymentSnapshot: {
            /**
             * Format: uuid
             * @description Id of the payment
             */
            id: string;
            /**
             * @description deposit: a charge; transfer: a withdrawal
             * @enum {string}
             */
            kind: "deposit" | "transfer";
            /** @description Amount of a charge, gross amount of a transfer */
            amountCents: number;
            /**
             * @description State; confirmed by the settlement provider alone
             * @enum {string}
             */
            status: "draft" | "unknown" | "pending" | "paid" | "completed" | "failed" | "expired" | "cancelled";
            /**
             * Format: date-time
             * @description Creation
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Last change; strictly increasing per payment
             */
            updatedAt: string;
            /**
             * Format: uuid
             * @description Business operation that owns the payment
             */
            operationId: string;
            /** @description Account fee recorded at creation */
            feeCents: number | null;
            /**
             * Format: date-time
             * @description When the final state was posted
             */
            settledAt: string | null;
            /**
             * @description Payment method
             * @enum {string|null}
             */
            paymentMethod: "pix" | "card" | null;
            /**
             * Format: date-time
             * @description The provider's deadline; null when it gives none
             */
            expiresAt: string | null;
            /** @description Pix copy-and-paste code, while pending */
            copyPaste?: string;
            /** @description PNG data URL of the QR code, while pending */
            qrCodeBase64?: string;
            /** @description End-to-end id of the Pix */
            endToEnd?: string;
            /** @description A remark for people */
            notice?: string;
            /** @description Why it failed or was cancelled; more codes may be added */
            reasonCode?: string;
            /** @description Fee confirmed by processing */
            providerFeeCents?: number;
            /** @description Net amount confirmed by processing */
            netAmountCents?: number;
            /** @description Gross debit of a withdrawal, fee included */
            debitAmountCents?: number;
            /** @description Gross minus account fee */
            expectedNetAmountCents?: number;
            /** @description What refunds have given back of a paid charge; left out while nothing was */
            refundedCents?: number;
            /**
             * Format: date-time
             * @description Instant of the payer's Pix
             */
            paidAt?: string;
            /**
             * Format: uri
             * @description Hosted checkout, card only
             */
            checkoutUrl?: string;
            /**
             * Format: date-time
             * @description Release time reported by the settler
             */
            releaseAt?: string;
            /**
             * @description Card only
             * @enum {string}
             */
            cardSettlementStatus?: "held" | "available";
            /** @description Card details */
            card?: {
                /** @enum {string} */
                status: "processing" | "paid" | "refused";
                /** @enum {string} */
                brand: "visa" | "mastercard" | "elo" | "amex" | "hipercard" | "other";
                last4: string | null;
                /** @constant */
                installments: 1;
                refusedReason: string | null;
                attemptsLeft: number | null;
            } | null;
            /**
             * Format: uuid
             * @description As the caller gave it
             */
            requestKey: string;
            /**
             * @description As the request that created it gave them; absent when there are none
             * @example {
             *       "orderId": "1042",
             *       "store": "centro"
             *     }
             */
            metadata?: {
                [key: string]: string;
            };
        };
        ChargeCreatedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "charge.created";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["PaymentSnapshot"];
        };
        /** @enum {string} */
        ChargePaidEventType: "charge.paid";
        ChargePaidEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "charge.paid";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["PaymentSnapshot"];
        };
        /** @enum {string} */
        ChargeExpiredEventType: "charge.expired";
        ChargeExpiredEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "charge.expired";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["PaymentSnapshot"];
        };
        /** @enum {string} */
        ChargeFailedEventType: "charge.failed";
        ChargeFailedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "charge.failed";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["PaymentSnapshot"];
        };
        /** @enum {string} */
        ChargeUnexpected_paymentEventType: "charge.unexpected_payment";
        ChargeUnexpected_paymentEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "charge.unexpected_payment";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["PaymentSnapshot"];
        };
        /** @enum {string} */
        TransferCreatedEventType: "transfer.created";
        TransferCreatedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "transfer.created";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["PaymentSnapshot"];
        };
        /** @enum {string} */
        TransferCompletedEventType: "transfer.completed";
        TransferCompletedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "transfer.completed";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["PaymentSnapshot"];
        };
        /** @enum {string} */
        TransferCancelledEventType: "transfer.cancelled";
        TransferCancelledEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "transfer.cancelled";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["PaymentSnapshot"];
        };
        /** @enum {string} */
        TransferReturnedEventType: "transfer.returned";
        TransferReturnedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "transfer.returned";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["PaymentSnapshot"];
        };
        /** @enum {string} */
        TransferUnknownEventType: "transfer.unknown";
        TransferUnknownEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "transfer.unknown";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["PaymentSnapshot"];
        };
        /** @enum {string} */
        DisputeOpenedEventType: "dispute.opened";
        /**
         * @example {
         *       "id": "01939f3a-7c00-7000-8000-000000000007",
         *       "paymentId": "00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42",
         *       "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *       "status": "open",
         *       "amountCents": 1000,
         *       "heldCents": 1000,
         *       "debitedCents": 0,
         *       "endToEnd": "E12345678202611202044a1b2c3d4e5f",
         *       "reason": "golpe",
         *       "openedAt": "2026-11-21T12:00:00.000Z",
         *       "deadlineAt": "2026-11-24T12:00:00.000Z",
         *       "endedAt": null,
         *       "createdAt": "2026-11-21T12:04:10.000Z",
         *       "updatedAt": "2026-11-21T12:04:10.000Z"
         *     }
         */
        DisputeSnapshot: {
            /**
             * Format: uuid
             * @description Id of the dispute
             */
            id: string;
            /**
             * Format: uuid
             * @description The charge whose Pix is disputed
             */
            paymentId: string;
            /**
             * Format: uuid
             * @description Business operation that owns the charge
             */
            operationId: string;
            /**
             * @description State; decided by the settlement provider alone
             * @enum {string}
             */
            status: "open" | "defending" | "accepted" | "rejected" | "cancelled";
            /** @description What is disputed */
            amountCents: number;
            /** @description What is held for it at this moment; later credits fill it up */
            heldCents: number;
            /** @description What the provider has taken of it */
            debitedCents: number;
            /** @description End-to-end id of the disputed Pix */
            endToEnd: string;
            /** @description The provider's word for why */
            reason: string | null;
            /**
             * Format: date-time
             * @description When it was opened at the provider
             */
            openedAt: string;
            /**
             * Format: date-time
             * @description The provider's deadline for the defence; null when it gives none
             */
            deadlineAt: string | null;
            /**
             * Format: date-time
             * @description When its end was seen
             */
            endedAt: string | null;
            /**
             * Format: date-time
             * @description When it was seen first
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Last change; strictly increasing per dispute
             */
            updatedAt: string;
        };
        DisputeOpenedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "dispute.opened";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["DisputeSnapshot"];
        };
        /** @enum {string} */
        DisputeDefendingEventType: "dispute.defending";
        DisputeDefendingEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "dispute.defending";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["DisputeSnapshot"];
        };
        /** @enum {string} */
        DisputeAcceptedEventType: "dispute.accepted";
        DisputeAcceptedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "dispute.accepted";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["DisputeSnapshot"];
        };
        /** @enum {string} */
        DisputeRejectedEventType: "dispute.rejected";
        DisputeRejectedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "dispute.rejected";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["DisputeSnapshot"];
        };
        /** @enum {string} */
        DisputeCancelledEventType: "dispute.cancelled";
        DisputeCancelledEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "dispute.cancelled";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["DisputeSnapshot"];
        };
        /** @enum {string} */
        ChargeRefundedEventType: "charge.refunded";
        ChargeRefundedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "charge.refunded";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["PaymentSnapshot"];
        };
        /** @enum {string} */
        RefundCompletedEventType: "refund.completed";
        /** @description The refund as it was then */
        RefundSnapshot: {
            /**
             * Format: uuid
             * @description Id of the refund
             */
            id: string;
            /**
             * Format: uuid
             * @description The charge
             */
            paymentId: string;
            /**
             * Format: uuid
             * @description Business operation that owns the charge
             */
            operationId: string;
            /** @description Amount that goes back to the payer */
            amountCents: number;
            /**
             * @description unknown: not confirmed yet; pending: the provider has it; completed: the payer has the money; failed: refused, the amount is back in the balance
             * @enum {string}
             */
            status: "unknown" | "pending" | "completed" | "failed";
            /** @description Why it was made; more may be added */
            reason: string;
            /** @description Message to the payer; may be empty */
            description: string;
            /**
             * Format: date-time
             * @description Creation
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Last change; strictly increasing per refund
             */
            updatedAt: string;
            /**
             * Format: date-time
             * @description When the completion was posted
             */
            settledAt: string | null;
            /**
             * Format: uuid
             * @description Key of the request that created it
             */
            requestKey: string;
            /** @description Id of the return in the payment system (`D…`) */
            endToEnd?: string;
            /** @description Why it failed; more codes may be added */
            reasonCode?: string;
        };
        RefundCompletedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "refund.completed";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["RefundSnapshot"];
        };
        /** @enum {string} */
        RefundFailedEventType: "refund.failed";
        RefundFailedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "refund.failed";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            /** @description The state that was left and the one that was entered */
            change: {
                from: string | null;
                to: string;
            };
            data: components["schemas"]["RefundSnapshot"];
        };
        /** @enum {string} */
        OperationCreatedEventType: "operation.created";
        /** @description The operation as it was then */
        OperationSnapshot: {
            /**
             * Format: uuid
             * @description Id of the business operation
             */
            id: string;
            /** @description Name */
            name: string;
            /** @description True for the main operation */
            isDefault: boolean;
            /** @description Available balance */
            balanceCents: number;
            /**
             * Format: date-time
             * @description Last posting that changed the balance
             */
            balanceUpdatedAt: string;
            /**
             * Format: date-time
             * @description Creation
             */
            createdAt: string;
            /**
             * Format: uuid
             * @description The business operation
             */
            operationId: string;
        };
        OperationCreatedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "operation.created";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            data: components["schemas"]["OperationSnapshot"];
        };
        /** @enum {string} */
        OperationUpdatedEventType: "operation.updated";
        OperationUpdatedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "operation.updated";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            data: components["schemas"]["OperationSnapshot"];
        };
        /** @enum {string} */
        OperationDeletedEventType: "operation.deleted";
        OperationDeletedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "operation.deleted";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            data: components["schemas"]["OperationSnapshot"];
        };
        /** @enum {string} */
        CloseCompletedEventType: "close.completed";
        /**
         * @example {
         *       "operationId": "01939f3a-7a00-7000-8000-000000000003",
         *       "day": "2026-11-20",
         *       "openingCents": 10000,
         *       "inCents": 5000,
         *       "outCents": 2000,
         *       "feeCents": 50,
         *       "refundCents": 0,
         *       "holdCents": 0,
         *       "closingCents": 12950,
         *       "reservedCents": 0,
         *       "heldCents": 0,
         *       "lastSeq": 17,
         *       "head": "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
         *       "closedAt": "2026-11-21T03:10:04.000Z"
         *     }
         */
        CloseSnapshot: {
            /**
             * Format: uuid
             * @description Business operation
             */
            operationId: string;
            /**
             * Format: date
             * @description Day in São Paulo
             */
            day: string;
            /** @description Balance at the beginning of the day; what is owed counts as negative */
            openingCents: number;
            /** @description What came in: paid charges, returned transfers */
            inCents: number;
            /** @description What went out, without fees; a cancelled transfer is taken off */
            outCents: number;
            /** @description Fees of charges and transfers */
            feeCents: number;
            /** @description What was refunded; a failed refund is taken off */
            refundCents: number;
            /** @description What holds took, less what they freed */
            holdCents: number;
            /** @description Balance at the end: opening + in − out − fees − refunds − holds */
            closingCents: number;
            /** @description Set aside for open transfers and refunds at the end of the day */
            reservedCents: number;
            /** @description Held at the end of the day */
            heldCents: number;
            /** @description The last journal of the day */
            lastSeq: number;
            /** @description Hash of that journal, SHA-256 in hex */
            head: string;
            /**
             * Format: date-time
             * @description When it was written; it never changes
             */
            closedAt: string;
        };
        CloseCompletedEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "close.completed";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            data: components["schemas"]["CloseSnapshot"];
        };
        /** @enum {string} */
        WebhookTestEventType: "webhook.test";
        TestSnapshot: {
            /**
             * Format: uuid
             * @description The business operation
             */
            operationId: string;
        };
        WebhookTestEvent: {
            /**
             * Format: uuid
             * @description Id of the event, the `webhook-id`
             */
            id: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "webhook.test";
            /**
             * Format: date-time
             * @description When it happened
             */
            timestamp: string;
            /** @description Version of the payload */
            schemaVersion: number;
            /** @description false: of a test account, or a sample */
            livemode: boolean;
            data: components["schemas"]["TestSnapshot"];
        };
        PostPixChargesBody: {
            /** @description Amount to charge */
            amountCents: number;
            /** @description Name of the payer */
            payerName: string;
            /** @description May be empty */
            description?: string;
            /**
             * Format: uuid
             * @description Made by the caller, once per charge; repeat it, never replace it, after a timeout
             */
            requestKey: string;
            /**
             * @description Up to 20 pairs of your own, kept with the payment. Names: a letter, then letters, digits, `_`, `.` or `-`, at most 40 characters
             * @example {
             *       "orderId": "1042",
             *       "store": "centro"
             *     }
             */
            metadata?: {
                [key: string]: string;
            };
        };
        PostPaymentsByIdRefundsBody: {
            /** @description Amount to give back; default: all that is left of the charge */
            amountCents?: number;
            /** @description Message to the payer */
            description?: string;
            /**
             * Format: uuid
             * @description Made by the caller, once per refund; repeat it, never replace it, after a timeout
             */
            requestKey: string;
        };
        GetPaymentsByIdRefundsAnswer: {
            /** @description Oldest first */
            refunds: components["schemas"]["Refund"][];
        };
        PostPixTransfersBody: {
            /** @description Total taken from the balance, withdrawal fee included */
            amountCents: number;
            /** @description Key of the receiver. CPF, CNPJ: digits only; PHONE: begins with +; RANDOM: a UUID */
            pixKey: string;
            /**
             * @description Type of the key
             * @enum {string}
             */
            pixKeyType: "EMAIL" | "CPF" | "CNPJ" | "PHONE" | "RANDOM";
            /** @description May be empty */
            description: string;
            /**
             * Format: uuid
             * @description Made by the caller, once per transfer; repeat it, never replace it, after a timeout
             */
            requestKey: string;
            /**
             * @description Up to 20 pairs of your own, kept with the payment. Names: a letter, then letters, digits, `_`, `.` or `-`, at most 40 characters
             * @example {
             *       "orderId": "1042",
             *       "store": "centro"
             *     }
             */
            metadata?: {
                [key: string]: string;
            };
        };
        PostPixTransfersByIdConfirmBody: {
            /** @description The six digits from the mail */
            code: string;
        };
        GetPaymentsQuery: {
            /** @description Payments per page */
            limit?: number;
            /** @description `nextCursor` of the page before */
            cursor?: string;
            /**
             * @description Only this kind
             * @enum {string}
             */
            kind?: "deposit" | "transfer";
            /** @description Only these states, separated by commas */
            status?: ("draft" | "unknown" | "pending" | "paid" | "completed" | "failed" | "expired" | "cancelled")[];
            /**
             * @description Only this method
             * @enum {string}
             */
            paymentMethod?: "pix" | "card";
            /**
             * Format: date-time
             * @description Created at or after; RFC 3339 with an offset or Z
             */
            createdFrom?: string;
            /**
             * Format: date-time
             * @description Created before; RFC 3339 with an offset or Z
             */
            createdTo?: string;
            /**
             * Format: uuid
             * @description The payment created with this requestKey: one or none
             */
            requestKey?: string;
            /** @description Only with this end-to-end id */
            endToEnd?: string;
            /** @description Only with this pair, as `name:value`; the value whole */
            metadata?: string;
        };
        GetPaymentsAnswer: {
            /** @description Newest first */
            payments: components["schemas"]["Payment"][];
            /** @description Older ones may follow */
            hasMore: boolean;
            /** @description For the next page, with the same filters; valid for 7 days */
            nextCursor: string | null;
        };
        GetDisputesQuery: {
            /** @description Disputes per page */
            limit?: number;
            /** @description `nextCursor` of the page before */
            cursor?: string;
            /** @description Only these states, separated by commas */
            status?: ("open" | "defending" | "accepted" | "rejected" | "cancelled")[];
        };
        GetDisputesAnswer: {
            /** @description Newest first */
            disputes: components["schemas"]["Dispute"][];
            /** @description Older ones follow */
            hasMore: boolean;
            /** @description For the next page, with the same filters; valid for 7 days */
            nextCursor: string | null;
        };
        GetStatementQuery: {
            /** @description First day (`YYYY-MM-DD`, in São Paulo), or an RFC 3339 time with an offset or Z */
            from?: string;
            /** @description Last day, which is included, or the RFC 3339 time before which the lines are */
            to?: string;
            /** @description Lines per page */
            limit?: number;
            /** @description `nextCursor` of the page before */
            cursor?: string;
        };
        GetStatementAnswer: {
            /** @description Oldest first */
            lines: components["schemas"]["StatementLine"][];
            /** @description Balance before the first line of the period */
            openingBalanceCents: number;
            /** @description Balance after the last line of the period */
            closingBalanceCents: number;
            /** @description Later ones follow */
            hasMore: boolean;
            /** @description For the next page, with the same period; valid for 7 days */
            nextCursor: string | null;
        };
        GetStatementCsvQuery: {
            /** @description First day (`YYYY-MM-DD`, in São Paulo), or an RFC 3339 time with an offset or Z */
            from?: string;
            /** @description Last day, which is included, or the RFC 3339 time before which the lines are */
            to?: string;
            /**
             * @description `semicolon` makes the comma the decimal sign; default: `comma`
             * @enum {string}
             */
            separator?: "comma" | "semicolon";
            /**
             * @description A byte order mark in front; default: `no`
             * @enum {string}
             */
            bom?: "yes" | "no";
        };
        GetStatementOfxQuery: {
            /** @description First day (`YYYY-MM-DD`, in São Paulo), or an RFC 3339 time with an offset or Z */
            from?: string;
            /** @description Last day, which is included, or the RFC 3339 time before which the lines are */
            to?: string;
        };
        GetStatementPdfQuery: {
            /** @description First day (`YYYY-MM-DD`, in São Paulo), or an RFC 3339 time with an offset or Z */
            from?: string;
            /** @description Last day, which is included, or the RFC 3339 time before which the lines are */
            to?: string;
        };
        GetOperationsAnswer: {
            /**
             * Format: uuid
             * @description Stable id of the account
             */
            ownerId: string;
            /**
             * @description Always 10
             * @constant
             */
            limit: 10;
            /** @description The oldest first */
            operations: components["schemas"]["Operation"][];
        };
        PostOperationsBody: {
            /** @description Name */
            name: string;
            /**
             * Format: uuid
             * @description Made by the caller, once per business operation
             */
            requestKey: string;
        };
        PatchOperationsByIdBody: {
            /** @description Name */
            name: string;
        };
        DeleteOperationsByIdAnswer: {
            /** @description Always true */
            ok: boolean;
        };
        GetWebhooksAnswer: {
            /** @description The oldest first */
            webhooks: components["schemas"]["Webhook"][];
            /**
             * @description Always 10
             * @constant
             */
            limit: 10;
        };
        PostWebhooksBody: {
            /** @description Address that events are sent to: https, a public name */
            url: string;
            /** @description Which events; `["*"]` includes types that are added later, a list never grows by itself */
            events: ("*" | "charge.created" | "charge.paid" | "charge.expired" | "charge.failed" | "charge.unexpected_payment" | "transfer.created" | "transfer.completed" | "transfer.cancelled" | "transfer.returned" | "transfer.unknown" | "dispute.opened" | "dispute.defending" | "dispute.accepted" | "dispute.rejected" | "dispute.cancelled" | "charge.refunded" | "refund.completed" | "refund.failed" | "operation.created" | "operation.updated" | "operation.deleted" | "close.completed" | "webhook.test")[];
            /** @description A name for people */
            description?: string | null;
            /** @description Only events of these business operations; null: of all, later ones included */
            operationIds?: string[] | null;
            /**
             * Format: uuid
             * @description Made by the caller, once per endpoint
             */
            requestKey: string;
        };
        GetWebhooksEventtypesAnswer: {
            eventTypes: {
                type: string;
                description: string;
                schemaVersion: number;
            }[];
        };
        PatchWebhooksByIdBody: {
            /** @description Address that events are sent to: https, a public name */
            url?: string;
            /** @description Which events; `["*"]` includes types that are added later, a list never grows by itself */
            events?: ("*" | "charge.created" | "charge.paid" | "charge.expired" | "charge.failed" | "charge.unexpected_payment" | "transfer.created" | "transfer.completed" | "transfer.cancelled" | "transfer.returned" | "transfer.unknown" | "dispute.opened" | "dispute.defending" | "dispute.accepted" | "dispute.rejected" | "dispute.cancelled" | "charge.refunded" | "refund.completed" | "refund.failed" | "operation.created" | "operation.updated" | "operation.deleted" | "close.completed" | "webhook.test")[];
            /** @description A name for people */
            description?: string | null;
            /** @description Only events of these business operations; null: of all, later ones included */
            operationIds?: string[] | null;
            /** @description false: events are recorded as skipped */
            enabled?: boolean;
        };
        DeleteWebhooksByIdAnswer: {
            /** @description Always true */
            ok: boolean;
        };
        PostWebhooksByIdRotatesecretBody: {
            /**
             * @description How long the old one signs as well
             * @default 24
             */
            overlapHours: number;
            /**
             * @description Also inside of an overlap
             * @default false
             */
            force: boolean;
        };
        PostWebhooksByIdRotatesecretAnswer: {
            /** @description Shown this once */
            secret: string;
            /**
             * Format: date-time
             * @description Until then every message carries both signatures
             */
            previousSecretExpiresAt: string;
        };
        PostWebhooksByIdTestBody: {
            /**
             * @description A sample of this type instead of `webhook.test`
             * @enum {string}
             */
            type?: "charge.created" | "charge.paid" | "charge.expired" | "charge.failed" | "charge.unexpected_payment" | "transfer.created" | "transfer.completed" | "transfer.cancelled" | "transfer.returned" | "transfer.unknown" | "dispute.opened" | "dispute.defending" | "dispute.accepted" | "dispute.rejected" | "dispute.cancelled" | "charge.refunded" | "refund.completed" | "refund.failed" | "operation.created" | "operation.updated" | "operation.deleted" | "close.completed" | "webhook.test";
        };
        PostWebhooksByIdTestAnswer: {
            /**
             * Format: uuid
             * @description Id of the delivery
             */
            deliveryId: string;
        };
        GetWebhooksByIdDeliveriesQuery: {
            /** @description Deliveries per page */
            limit?: number;
            /** @description `nextCursor` of the page before */
            cursor?: string;
            /**
             * @description Only with this status
             * @enum {string}
             */
            status?: "pending" | "delivered" | "failed" | "skipped";
            /**
             * Format: uuid
             * @description Only of this event: one or none
             */
            eventId?: string;
        };
        GetWebhooksByIdDeliveriesAnswer: {
            /** @description Those of the newest events first */
            deliveries: components["schemas"]["Delivery"][];
            /** @description More may follow */
            hasMore: boolean;
            /** @description For the next page, with the same filters; valid for 7 days */
            nextCursor: string | null;
        };
        PostWebhooksByIdDeliveriesByDeliveryIdRetryAnswer: {
            /**
             * Format: uuid
             * @description Id of the delivery
             */
            deliveryId: string;
        };
        PostWebhooksByIdReplayBody: {
            /**
             * Format: date-time
             * @description Events created at or after
             */
            from: string;
            /**
             * Format: date-time
             * @description Events created before; default: now
             */
            to?: string;
            types?: ("charge.created" | "charge.paid" | "charge.expired" | "charge.failed" | "charge.unexpected_payment" | "transfer.created" | "transfer.completed" | "transfer.cancelled" | "transfer.returned" | "transfer.unknown" | "dispute.opened" | "dispute.defending" | "dispute.accepted" | "dispute.rejected" | "dispute.cancelled" | "charge.refunded" | "refund.completed" | "refund.failed" | "operation.created" | "operation.updated" | "operation.deleted" | "close.completed" | "webhook.test")[];
            /**
             * @description Only what failed or was skipped; false: everything again
             * @default true
             */
            onlyFailed: boolean;
        };
        PostWebhooksByIdReplayAnswer: {
            /** @description How many are sent, a hundred a second; at most 10,000 per call */
            scheduled: number;
        };
        GetEventsQuery: {
            /** @description Events per page */
            limit?: number;
            /** @description `nextCursor` of the page before */
            cursor?: string;
            /**
             * @description Only this type
             * @enum {string}
             */
            type?: "charge.created" | "charge.paid" | "charge.expired" | "charge.failed" | "charge.unexpected_payment" | "transfer.created" | "transfer.completed" | "transfer.cancelled" | "transfer.returned" | "transfer.unknown" | "dispute.opened" | "dispute.defending" | "dispute.accepted" | "dispute.rejected" | "dispute.cancelled" | "charge.refunded" | "refund.completed" | "refund.failed" | "operation.created" | "operation.updated" | "operation.deleted" | "close.completed" | "webhook.test";
            /**
             * Format: uuid
             * @description Only of this payment
             */
            paymentId?: string;
            /**
             * Format: date-time
             * @description Created at or after; RFC 3339 with an offset or Z
             */
            createdFrom?: string;
            /**
             * Format: date-time
             * @description Created before; RFC 3339 with an offset or Z
             */
            createdTo?: string;
        };
        GetEventsAnswer: {
            /** @description Newest first */
            events: components["schemas"]["Event"][];
            /** @description Older ones may follow */
            hasMore: boolean;
            /** @description For the next page, with the same filters; valid for 7 days */
            nextCursor: string | null;
        };
        GetEventsStreamQuery: {
            /** @description Only these types, separated by commas */
            types?: ("charge.created" | "charge.paid" | "charge.expired" | "charge.failed" | "charge.unexpected_payment" | "transfer.created" | "transfer.completed" | "transfer.cancelled" | "transfer.returned" | "transfer.unknown" | "dispute.opened" | "dispute.defending" | "dispute.accepted" | "dispute.rejected" | "dispute.cancelled" | "charge.refunded" | "refund.completed" | "refund.failed" | "operation.created" | "operation.updated" | "operation.deleted" | "close.completed" | "webhook.test")[];
        };
    };
}
