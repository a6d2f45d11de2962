// The format of a token, and the names under which it is stored.

export const TOKEN_VARIABLE = 'SERVER_AUTH_TOKEN'
export const TOKEN_KEY = 'server_auth_token'

export const TOKEN_RULE = 'must be 16 to 4096 visible ASCII characters without spaces'

/** Whether a text is too long to guess, and valid in a header. */
export function isToken(text: string): boolean {
  return /^[!-~]{16,4096}$/.test(text)
}
