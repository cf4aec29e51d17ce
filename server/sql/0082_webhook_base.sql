-- compatibleFrom: 0.1.0
-- The address of the service that was last registered at the provider for deliveries; null: none yet.
ALTER TABLE connection ADD COLUMN webhook_base text;
