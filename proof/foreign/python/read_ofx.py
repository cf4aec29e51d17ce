"""Reads an OFX file of standard input as two importers in Python do, and prints what each of them takes over.

ofxtools judges by the specification: the order of the elements, which of them have to be there, and the lengths of texts.
ofxparse takes what most programs take that import by tags."""

import io
import json
import sys

import ofxparse
import ofxtools

content = sys.stdin.buffer.read()

tree = ofxtools.Parser.OFXTree()
tree.parse(io.BytesIO(content))
[strict] = tree.convert().statements
[lax] = ofxparse.OfxParser.parse(io.BytesIO(content)).accounts

cents = lambda amount: int(round(amount * 100))

print(
    json.dumps(
        {
            "ofxtools": {
                "account": strict.account.acctid,
                "currency": strict.curdef,
                "balance": cents(strict.ledgerbal.balamt),
                "lines": [
                    [one.fitid, one.trntype, cents(one.trnamt), one.name, one.memo, one.dtposted.timestamp()]
                    for one in strict.transactions
                ],
            },
            "ofxparse": {
                "account": lax.account_id,
                "currency": lax.curdef,
                "balance": cents(lax.statement.balance),
                "lines": [
                    [one.id, one.type.upper(), cents(one.amount), one.payee, one.memo, one.date.timestamp()]
                    for one in lax.statement.transactions
                ],
            },
        }
    )
)
