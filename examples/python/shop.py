"""A shop that takes Pix: Python's standard library alone, without the SDK. Python 3.9 or newer.

VINTEM_URL=https://pix.example.com VINTEM_KEY=vtm_test_... WEBHOOK_SECRET=whsec_... python3 shop.py
"""
import base64
import hashlib
import hmac
import json
import os
import sqlite3
import time
import urllib.error
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

API = os.environ["VINTEM_URL"].rstrip("/") + "/api/v1/public"
KEY = os.environ["VINTEM_KEY"]
SECRET = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
assert len(SECRET) >= 24, "WEBHOOK_SECRET is missing: with an empty one every caller can sign"
DB = os.environ.get("SHOP_DB", "shop.db")


def database():
    db = sqlite3.connect(DB, timeout=10)
    db.row_factory = sqlite3.Row
    return db


def prepare():
    with database() as db:
        db.executescript("""
            CREATE TABLE IF NOT EXISTS orders (
                id TEXT PRIMARY KEY, amount_cents INTEGER NOT NULL, payer TEXT NOT NULL, request_key TEXT NOT NULL UNIQUE,
                status TEXT NOT NULL DEFAULT 'waiting', code TEXT, shipments INTEGER NOT NULL DEFAULT 0);
            CREATE TABLE IF NOT EXISTS handled (event_id TEXT PRIMARY KEY);""")


class Refused(Exception):
    """The service refused: nothing was created, and repeating changes nothing."""


class OutcomeUnknown(Exception):
    """Repeat later, with the same request key."""


def create(path, body, attempts=5):
    """Sends a creation. Only the same body with the same requestKey is repeated, never a new key."""
    data = json.dumps(body).encode()
    headers = {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"}
    open_attempt = False
    for attempt in range(attempts):
        wait = 0.25 * 2**attempt
        try:
            request = urllib.request.Request(API + path, data, headers, method="POST")
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 429 and error.code < 500:
                # A lost attempt may still arrive behind this refusal.
                raise (OutcomeUnknown if open_attempt else Refused)(error.read().decode())
            open_attempt = open_attempt or error.code != 429
            wait = max(wait, float(error.headers.get("Retry-After") or 0))
        except (OSError, ValueError):  # no connection, no answer in time, half an answer
            open_attempt = True
        time.sleep(min(wait, 10))
    raise OutcomeUnknown(body["requestKey"])


def verified(body, headers):
    """The event, or None. Standard Webhooks 1.0.0: HMAC-SHA-256 over id.timestamp.body."""
    sent = headers.get("webhook-timestamp", "")
    if not sent.isdigit() or abs(time.time() - int(sent)) > 300:
        return None
    signed = f"{headers.get('webhook-id', '')}.{sent}.".encode() + body
    own = "v1," + base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return json.loads(body) if any([hmac.compare_digest(own.encode(), one.encode()) for one in given]) else None


def place_order(order_id, amount_cents, payer):
    """The order and its request key are stored first: a repeat of the order gets the same charge."""
    with database() as db:
        db.execute("INSERT OR IGNORE INTO orders (id, amount_cents, payer, request_key) VALUES (?, ?, ?, ?)",
                   (order_id, amount_cents, payer, str(uuid.uuid4())))
        order = db.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
    if order["code"] is None:
        charge = create("/pix/charges", {
            "amountCents": order["amount_cents"], "payerName": order["payer"],
            "description": "Pedido " + order_id, "requestKey": order["request_key"]})
        with database() as db:
            db.execute("UPDATE orders SET code = ? WHERE id = ?", (charge.get("copyPaste"), order_id))
    return find_order(order_id)


def find_order(order_id):
    with database() as db:
        row = db.execute("SELECT id, status, code, shipments FROM orders WHERE id = ?", (order_id,)).fetchone()
    return dict(row) if row else None


def handle(event):
    """An event arrives at least once: its id and what it changes are written in one transaction."""
    with database() as db:
        first = db.execute("INSERT OR IGNORE INTO handled VALUES (?)", (event["id"],)).rowcount == 1
        if first and event["type"] == "charge.paid":
            db.execute("UPDATE orders SET status = 'paid', shipments = shipments + 1 "
                       "WHERE request_key = ? AND status = 'waiting'", (event["data"]["requestKey"],))


class Shop(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/webhooks/vintem":
            event = verified(body, self.headers)
            if event is None:
                return self.answer(400, {"message": "invalid signature"})
            handle(event)
            return self.answer(204)
        order = json.loads(body)
        try:
            return self.answer(201, place_order(order["id"], order["amountCents"], order["payerName"]))
        except Refused as error:
            return self.answer(400, {"message": str(error)})
        except OutcomeUnknown:
            return self.answer(503, {"message": "try again"})

    def do_GET(self):
        order = find_order(self.path.removeprefix("/orders/"))
        self.answer(200 if order else 404, order or {"message": "no such order"})

    def answer(self, status, body=None):
        text = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


if __name__ == "__main__":
    prepare()
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Shop).serve_forever()
