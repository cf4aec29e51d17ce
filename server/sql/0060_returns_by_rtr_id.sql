-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- A list of returns that does not name their Pix is compared with the books by `rtrId` alone.
CREATE INDEX known_return_rtr_id ON known_return (rtr_id);
CREATE INDEX refund_rtr_id ON refund (rtr_id);
