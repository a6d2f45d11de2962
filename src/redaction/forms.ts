// The forms in which a secret may come back in a text.

/** Shorter secrets are not looked for: too much else looks like them. Every form of a longer one is at least as long. */
export const SHORTEST_SECRET = 8

/**
 * A secret as it is, as JSON writes it, as JSON in JSON does (with one level more than texts need, so that a JSON text that holds them can
 * be looked at as well), as URLs write it (RFC 3986, and forms), and as base64 (RFC 4648 §4, §5) at any place among other bytes, such as those
 * of a user's name before it (RFC 7617).
 */
export function secretForms(secret: string): string[] {
  if (PLAIN.test(secret)) return [...new Set([secret, ...base64Forms(secret)])]
  const urls = [encodeURIComponent(secret.toWellFormed()), new URLSearchParams({ s: secret }).toString().slice(2)]
  const lower = urls.map((url) => url.replaceAll(/%../g, (code) => code.toLowerCase()))
  const once = jsonForms(secret)
  const twice = once.map(inJson)
  return [...new Set([secret, ...once, ...twice, ...twice.map(inJson), ...urls, ...lower, ...base64Forms(secret)])]
}

/** What neither JSON nor a URL writes otherwise: most keys and tokens. */
const PLAIN = /^[\w.-]*$/

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function jsonForms(text: string): string[] {
  const json = inJson(text)
  const ascii = json.replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return [json, ascii, json.replaceAll('/', '\\/'), ascii.replaceAll('/', '\\/')]
}

/** The whole, and the characters that a secret alone decides at each of the three places at which it may begin. */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return (['base64', 'base64url'] as const).flatMap((alphabet) => {
    const inside = [0, 1, 2].map((before) => {
      const all = Buffer.concat([Buffer.alloc(before), bytes])
      return all.toString(alphabet).slice(Math.ceil((before * 8) / 6), Math.floor((all.length * 8) / 6))
    })
    return [bytes.toString(alphabet), ...inside]
  })
}
