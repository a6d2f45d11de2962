// Headers of all pages of the documentation, and of the files that they load.

/** Our own files depend on each other, so they are always revalidated. */
export const REVALIDATED_CACHE = 'no-cache'

// `data:` and `blob:` are for icons of Swagger UI, and for media in responses to requests from the page.
export const REFERENCE_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
}
