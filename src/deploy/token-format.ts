// What may be a token, and the names under which it is looked for.

export const TOKEN_VARIABLE = 'SERVER_AUTH_TOKEN'
export const TOKEN_KEY = 'server_auth_token'

export const TOKEN_RULE = 'must be 16 to 4096 visible ASCII characters without spaces'

/** Whether a text is long enough that nobody guesses it, and can stand in a header as it is. */
export function isToken(text: string): boolean {
  return /^[!-~]{16,4096}$/.test(text)
}
