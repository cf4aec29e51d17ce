"""A merchant's day by Efí's own client for Python (PyPI `efipay`). Prints what each call answered, as JSON.

Usage: efi_day.py URL, where URL is a simulator at its root.
"""

import json
import os
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone

import requests
from efipay import EfiPay
from efipay.constants import Constants

url = sys.argv[1]
# The client has no setting for the address.
Constants.APIS['PIX']['URL']['sandbox'] = url
# Over http no certificate is shown; the client only looks whether the file is there.
with tempfile.NamedTemporaryFile(suffix='.pem', delete=False) as certificate:
    certificate.write(b'none')
efi = EfiPay({
    'client_id': 'cliente-python',
    'client_secret': 'um segredo',
    'sandbox': True,
    'certificate': certificate.name,
})


def control(path, body=None):
    answer = requests.post(url + path, json=body or {}, timeout=10)
    answer.raise_for_status()
    return answer.json()


def until(ask, wanted):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        answer = ask()
        if answer.get('status') == wanted:
            return answer
        time.sleep(0.05)
    raise SystemExit(f'never {wanted}: {answer}')


now = datetime.now(timezone.utc)
window = {
    'inicio': (now - timedelta(hours=1)).strftime('%Y-%m-%dT%H:%M:%SZ'),
    'fim': (now + timedelta(hours=1)).strftime('%Y-%m-%dT%H:%M:%SZ'),
}
txid, sent = 'p' * 32, 'q' * 32
key = 'python@loja.example'
try:
    charge = efi.pix_create_charge(
        params={'txid': txid},
        body={'calendario': {'expiracao': 3600}, 'valor': {'original': '50.00'}, 'chave': key},
    )
    pix = control(f'/control/charges/{txid}/pay')
    paid = efi.pix_detail_charge(params={'txid': txid})
    refund = efi.pix_devolution(params={'e2eId': pix['endToEnd'], 'id': 'dev1'}, body={'valor': '5.00'})
    payout = efi.pix_send(
        params={'idEnvio': sent},
        body={'valor': '9.75', 'pagador': {'chave': key}, 'favorecido': {'chave': 'fulana@example.com'}},
    )
    done = until(lambda: efi.pix_send_detail_id(params={'idEnvio': sent}), 'REALIZADO')
    answers = {
        'charge': charge.get('status'),
        'paid': paid.get('status'),
        'refund': refund.get('status'),
        'payout': payout.get('status'),
        'done': done.get('status'),
        'received': len(efi.pix_received_list(params=window)['pix']),
        'sent': len(efi.pix_send_list(params=window)['pix']),
        'balance': efi.get_account_balance().get('saldo'),
    }
finally:
    os.unlink(certificate.name)
print(json.dumps(answers))
