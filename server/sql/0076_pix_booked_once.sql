-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- A Pix that a connection received is booked under one payment. Whose it is found under the lock is told by this index as well.
CREATE UNIQUE INDEX journal_pix ON journal (connection, pix) WHERE pix IS NOT NULL;
