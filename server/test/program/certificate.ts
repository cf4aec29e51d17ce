/**
 * A self-signed certificate for `localhost`, valid for a hundred years, used as server, as client and as authority.
 * It protects nothing: its key is here.
 */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIURsHmSTaanIPGJoYAQ9/VMQzmIjYwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMDIzNDAzMFoYDzIxMjYxMDI3
MjM0MDMwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATY1U5a7Vyl8+jwGttTQ4KSph70wTX9yedjlRg1kortoWSwpNG4uXRD
v6MGbbYEAuFkPvD5LEn5FhFuupYAHhL5o28wbTAdBgNVHQ4EFgQU9ux4ZTiFHykB
12vT/cMgYw7Zxs8wHwYDVR0jBBgwFoAU9ux4ZTiFHykB12vT/cMgYw7Zxs8wDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDRwAwRAIgVQu7V4AyTLvsRXBnLnr7iDm3ikLhzX656j6M8MnYRx0CIAgq
6ww7Gj9PxQLtE5eP6dQAeYbMd5dvNjDk0wSeYGqE
-----END CERTIFICATE-----
`;

/** Certificate and key, PKCS #12. */
export const passphrase = 'test';
export const pfx = Buffer.from(
  'MIIELAIBAzCCA+IGCSqGSIb3DQEHAaCCA9MEggPPMIIDyzCCAoIGCSqGSIb3DQEHBqCCAnMwggJvAgEAMIICaAYJKoZIhvcNAQcB' +
    'MFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhGcvgC0nZxLgICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEECdf' +
    '8fxqE4B/tLGlxTjZEDyAggIAvB71tNAqiMTGEVLWNb2bEsJi+GB4EundugacirAoTCzDEj+iyk9cpi9kWbeD+9xOQLeJGTleeEtk' +
    '+q5Egm/3xwisYaklPYiyyKhVBQUfCPY5CqkjrsYo50MMwyYwmbYjihK5xwBojxO99IZ9ClVKgTJJuQV6oGi50+ZrlFD0gQxBBNF0' +
    'AFHlwpJ9BUiYV+sfGbcuy7zCSxtYig0TTaY4kmVhi62gLqHtdnpSAUpqdkIiOxvGzr/7WmtT+UNW71c1KqbulB6F64pHGVT0bPCN' +
    'N+HMwt0aQKv8VNbjaRK8qZFm5vp9aixhhznmcLEIzyQzjUwtpjUoxYATTuj0YeY1SGRvGJnJmdjJYLgXB9iGpf4M8c+McX4Np1+v' +
    'YCsp8zywA+iyQJKoC3KYWlOvTGKiIygRINj8RV7ZHcYzd3FoCfAg3DnD14S2McQq+szCQeN4wBAFYDHMHimzIMrsbBhQKZSuzjPM' +
    'KPUMG0jNXtu1iPFiKNPIWECnrN1UKG0js3zoA3BuhhSKNOg1BSyHn0QPVwkqliDrRQxuFScaSFyjBzHp3F1br4rAqTAWWBwpItS1' +
    'tpml8dp8ydeCEr1FbpACjObdsZmgek6PN/viNbC6u87tIscO/uZw6Reiaqr5ZtjJibBTK47+SSK4E2ZTYbb8zFGcwurmEnwSlzr3' +
    'VbDWQQowggFBBgkqhkiG9w0BBwGgggEyBIIBLjCCASowggEmBgsqhkiG9w0BDAoBAqCB7zCB7DBXBgkqhkiG9w0BBQ0wSjApBgkq' +
    'hkiG9w0BBQwwHAQIXHpE8UnvJlACAggAMAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBDrJ7zngRFnOLwyJo+e+tG1BIGQb0RT' +
    'IaQ4m6kXjiMaZBS8dR5rHdBGa6qLgP4Em7TUNYqTDM0bt4i8oGH/fYEuB37yBix+H7s40nMwPxpWqqNVN7utRm9IhQu58tvICqVf' +
    'J5fnv8BTwcJnqsDGq6tz71+KkknFXEzd3xyw5qnKCwNQhpIxvegCGwyG86ZytHXzkm0s6N4TQHgahUmOre3Cvnw/MSUwIwYJKoZI' +
    'hvcNAQkVMRYEFB17Zqb0AEpff1o3Q/mSxFTAnNjAMEEwMTANBglghkgBZQMEAgEFAAQgBGlIHOK8Ns4PyOAyRuVgqyxJU1lCDbYT' +
    'nu/YQm2EbhkECPcRpMG63/y8AgIIAA==',
  'base64',
);
