/**
 * On every answer, also of the API, exports and errors: a browser that is led to one must not guess its type, frame it, run anything in it or
 * tell others its address (OWASP ASVS 5.0, 3.4.3 to 3.4.6, 3.5.8). Pages set policies of their own over these.
 */
export const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

/** Where requests arrive over TLS: a year, subdomains too (ASVS 5.0, 3.4.1). */
export const strictTransport = 'max-age=31536000; includeSubDomains';
