"""A merchant's day at an API Pix bank by the community's client (PyPI `pypix-api`). Prints what each call answered, as JSON.

Usage: api_pix_day.py URL BANK, where URL is a simulator at its root and BANK is one of `sicoob`, `bb`, `sicredi`.
"""

import json
import sys
from datetime import datetime, timedelta, timezone

import requests
from pypix_api.auth.oauth2 import OAuth2Client
from pypix_api.banks.bb import BBPixAPI
from pypix_api.banks.sicoob import SicoobPixAPI
from pypix_api.banks.sicredi import SicrediPixAPI

url, bank = sys.argv[1:]
kinds = {'sicoob': SicoobPixAPI, 'bb': BBPixAPI, 'sicredi': SicrediPixAPI}
base = f'{url}/api-pix'


class AtTheSimulator(kinds[bank]):
    """The bank's class at another address; Sicredi's has versions in its paths, which stay."""

    def get_base_url(self):
        return f'{base}/v2'

    def _endpoint_url(self, path):
        return f'{base}/v2{path}'


oauth = OAuth2Client(
    token_url=f'{base}/oauth/token',
    client_id=f'cliente-{bank}',
    client_secret='um segredo',
    sandbox_mode=True,
    client_auth='body' if bank == 'bb' else 'basic',
)
# The sandbox of this client sends a token of its own: it is the address alone that differs here.
pix = AtTheSimulator(oauth=oauth)


def control(path, body=None):
    answer = requests.post(base + path, json=body or {}, timeout=10)
    answer.raise_for_status()
    return answer.json()


now = datetime.now(timezone.utc)
inicio = (now - timedelta(hours=1)).strftime('%Y-%m-%dT%H:%M:%SZ')
fim = (now + timedelta(hours=1)).strftime('%Y-%m-%dT%H:%M:%SZ')
txid, removed = bank.ljust(32, 'a'), bank.ljust(32, 'b')
key = f'{bank}@loja.example'
body = {'calendario': {'expiracao': 3600}, 'valor': {'original': '50.00'}, 'chave': key}
due = {
    'calendario': {'dataDeVencimento': (now + timedelta(days=7)).strftime('%Y-%m-%d'), 'validadeAposVencimento': 5},
    'devedor': {
        'cpf': '11144477735',
        'nome': 'Maria da Silva',
        'logradouro': 'Rua Um, 1',
        'cidade': 'Recife',
        'uf': 'PE',
        'cep': '50000000',
    },
    'valor': {'original': '80.00', 'multa': {'modalidade': 2, 'valorPerc': '2.00'}},
    'chave': key,
}
charge = pix.criar_cob(txid, body)
pix.criar_cob(removed, body)
paid = control(f'/control/charges/{txid}/pay')
pix.configurar_webhook(key, f'{url}/nowhere')
answers = {
    'charge': charge['status'],
    'paid': pix.consultar_cob(txid)['status'],
    'removed': pix.revisar_cob(removed, {'status': 'REMOVIDA_PELO_USUARIO_RECEBEDOR'})['status'],
    'listed': len(pix.consultar_cobs(inicio, fim)['cobs']),
    'received': len(pix.consultar_pix(inicio, fim)['pix']),
    'byEndToEnd': pix.consultar_pix_por_e2eid(paid['endToEnd'])['valor'],
    'refund': pix.solicitar_devolucao_pix(paid['endToEnd'], 'dev1', {'valor': '5.00'})['status'],
    'refundAsked': pix.consultar_devolucao_pix(paid['endToEnd'], 'dev1')['valor'],
    'due': pix.criar_cobv(bank.ljust(32, 'c'), due)['status'],
    'dueAsked': pix.consultar_cobv(bank.ljust(32, 'c'))['valor']['original'],
    'webhook': pix.consultar_webhook(key)['webhookUrl'].endswith('/nowhere'),
}
print(json.dumps(answers))
