-- compatibleFrom: 0.1.0
-- Which mails a person wants about an account beside those about its safety and its money: the statement of a finished month, and what was received.
CREATE TABLE panel_mail_choice (
  account_id       uuid NOT NULL,
  user_id          uuid NOT NULL,
  -- The month that is announced next, and when; null: none is.
  month            text CHECK (month ~ '^\d{4}-\d\d$'),
  month_due_at     timestamptz,
  received         text NOT NULL CHECK (received IN ('off', 'hour', 'day')),
  received_due_at  timestamptz,
  -- Of each operation the last entry that such a mail has counted.
  told             jsonb NOT NULL,
  -- Hours of the day in which no mail about what was received is sent; equal: there are none.
  quiet_from       smallint NOT NULL CHECK (quiet_from BETWEEN 0 AND 23),
  quiet_to         smallint NOT NULL CHECK (quiet_to BETWEEN 0 AND 23),
  zone             text NOT NULL CHECK (zone IN ('America/Noronha', 'America/Sao_Paulo', 'America/Manaus', 'America/Rio_Branco')),
  PRIMARY KEY (account_id, user_id),
  FOREIGN KEY (account_id, user_id) REFERENCES panel_member ON UPDATE CASCADE ON DELETE CASCADE,
  CHECK ((month IS NULL) = (month_due_at IS NULL)),
  CHECK ((received = 'off') = (received_due_at IS NULL))
);
CREATE INDEX panel_mail_choice_month ON panel_mail_choice (month_due_at) WHERE month_due_at IS NOT NULL;
CREATE INDEX panel_mail_choice_received ON panel_mail_choice (received_due_at) WHERE received_due_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_mail_choice TO vintem_app;
