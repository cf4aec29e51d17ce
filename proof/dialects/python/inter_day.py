"""A merchant's day by Banco Inter's own client for Python (github inter-co/pj-sdk-python), which is in no registry. Prints what each call answered, as JSON.

Usage: inter_day.py URL FOLDER, where URL is a simulator at its root and FOLDER is a checkout of the client.
"""

import contextlib
import json
import os
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone

url, client = sys.argv[1:]
sys.path.insert(0, client)
# The client keeps its log beside where it is started.
work = tempfile.TemporaryDirectory()
os.chdir(work.name)

import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from cryptography.x509.oid import NameOID
from inter_sdk_python.banking.models.Key import Key
from inter_sdk_python.banking.models.Pix import Pix
from inter_sdk_python.commons.enums.EnvironmentEnum import EnvironmentEnum
from inter_sdk_python.InterSdk import InterSdk
from inter_sdk_python.pix.models.Calendar import Calendar
from inter_sdk_python.pix.models.DevolutionRequestBody import DevolutionRequestBody
from inter_sdk_python.pix.models.PixBilling import PixBilling
from inter_sdk_python.pix.models.PixValue import PixValue

base = f'{url}/inter'
# The client has no setting for the address.
EnvironmentEnum.SANDBOX._url_base = base
now = datetime.now(timezone.utc)


def certificate():
    """It opens one and shows it to https alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, 'loja')])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
    signed = made.not_valid_after(now + timedelta(days=365)).sign(key, hashes.SHA256())
    with open('loja.pfx', 'wb') as file:
        file.write(pkcs12.serialize_key_and_certificates(b'loja', key, signed, None, BestAvailableEncryption(b'senha')))
    return 'loja.pfx'


def control(path, body=None):
    answer = requests.post(base + path, json=body or {}, timeout=10)
    answer.raise_for_status()
    return answer.json()


def until(ask, is_there):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        answer = ask()
        if is_there(answer):
            return answer
        time.sleep(0.05)
    raise SystemExit(f'never: {answer}')


# Its constructor prints its version.
with contextlib.redirect_stdout(sys.stderr):
    inter = InterSdk('SANDBOX', 'cliente-inter', 'um segredo', certificate(), 'senha')
pix, banking = inter.pix(), inter.banking()
key, txid = 'inter@loja.example', 'i' * 32
inicio = (now - timedelta(hours=1)).strftime('%Y-%m-%dT%H:%M:%SZ')
fim = (now + timedelta(hours=1)).strftime('%Y-%m-%dT%H:%M:%SZ')
dia, amanha = [(now + timedelta(days=days)).strftime('%Y-%m-%d') for days in (-1, 1)]


def billing(chosen):
    value = PixValue(original='50.00')
    return PixBilling(txid=chosen, calendar=Calendar(expiration=3600), value=value, key=key, additional_info=[])


pix.include_webhook(key, f'{url}/nowhere')
charge = pix.include_immediate_billing(billing(txid))
chosen = pix.include_immediate_billing(billing(None))
paid = control(f'/control/charges/{txid}/pay')
refund = pix.request_devolution(paid['endToEnd'], 'dev1', DevolutionRequestBody(value='5.00'))
sent = banking.include_pix(Pix(amount='9.75', recipient=Key(key='fulano@example.com')))
done = until(
    lambda: banking.retrieve_pix(sent.request_code),
    lambda answer: answer.pix_transaction.status.value == 'PAGO',
)
enriched = banking.retrieve_enriched_statement(dia, amanha, None, 0, 50).transactions
answers = {
    'charge': charge.status,
    'withoutId': len(chosen.txid),
    'paid': pix.retrieve_immediate_billing(txid).status,
    'listed': len(pix.retrieve_immediate_billing_list(inicio, fim, None)),
    'received': len(pix.retrieve_pix_list(inicio, fim, None)),
    'refund': refund.status,
    'refundAsked': pix.retrieve_devolution(paid['endToEnd'], 'dev1').value,
    'payout': sent.return_type,
    'done': done.pix_transaction.value,
    'enriched': sorted(f'{one.transaction_type} {one.operation_type} {one.value}' for one in enriched),
    'statement': len(banking.retrieve_statement(dia, amanha).transactions),
    'balance': float(banking.retrieve_balance(None).available),
    'callbacks': pix.retrieve_callbacks_page(inicio, fim, 0, 50, None).page_size,
    'webhook': pix.retrieve_webhook(key).webhook_url.endswith('/nowhere'),
}
print(json.dumps(answers))
