// Secrets that must not be read again in what is told of a request: replaced in each form in which they may come back.

const MASK = '***'
/** Shorter secrets are left alone in what a server answered: too much else looks like them. */
const SHORTEST = 8

/** A secret as it is, as JSON writes it, and as a URL does, the longest first. */
function forms(secret: string): string[] {
  const form = new URLSearchParams({ s: secret }).toString().slice(2)
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed()), form]
}

export type Mask = (text: string) => string

function maskOf(secrets: readonly string[]): Mask {
  const all = [...new Set(secrets.flatMap(forms))].filter((form) => form !== '').sort((a, b) => b.length - a.length)
  if (all.length === 0) return (text) => text
  return (text) => all.reduce((masked, form) => masked.replaceAll(form, MASK), text)
}

/** For what is shown of a request in a message: every secret is replaced, however short. */
export function strictMask(secrets: readonly string[]): Mask {
  return maskOf(secrets)
}

/** For what a server answered: secrets of 8 characters or more are replaced. */
export function answerMask(secrets: readonly string[]): Mask {
  return maskOf(secrets.filter((secret) => secret.length >= SHORTEST))
}
