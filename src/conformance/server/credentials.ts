// The credentials that a judgement was given. A server may repeat them in its answers, and reports are read by others.
import type { Evidence } from './verdicts.ts'

/** What stands in the place of a credential. */
const MARK = '[redacted]'
/** A shorter text is as likely a part of something else. */
const SHORTEST = 8

/** What a report shows without the credentials. */
export interface Hiding {
  text(text: string): string
  evidence(evidence: Evidence): Evidence
}

/** Hides all of these credentials, as they are and as they stand in URLs and in JSON. */
export function hiding(credentials: readonly (string | null)[]): Hiding {
  const forms = [...new Set(credentials.flatMap(formsOf))].sort((a, b) => b.length - a.length)
  const text = (shown: string) => forms.reduce(withoutForm, shown)
  const value = (shown: unknown): unknown => {
    if (typeof shown === 'string') return text(shown)
    if (Array.isArray(shown)) return shown.map(value)
    if (typeof shown !== 'object' || shown === null) return shown
    return Object.fromEntries(Object.entries(shown).map(([key, member]) => [text(key), value(member)]))
  }
  const part = (shown: unknown) => (forms.length === 0 || shown === undefined ? shown : value(plain(shown)))
  return {
    text,
    evidence: ({ finding, request, answer }) => ({
      finding: text(finding),
      request: part(request),
      answer: part(answer),
    }),
  }
}

function formsOf(credential: string | null): string[] {
  if (credential === null || credential.length < SHORTEST) return []
  return [credential, encodeURIComponent(credential.toWellFormed()), JSON.stringify(credential).slice(1, -1)]
}

/** The text without a credential, and without the beginning of one where it was cut off. */
function withoutForm(text: string, form: string): string {
  const rest = text.replaceAll(form, MARK)
  for (let length = form.length - 1; length >= SHORTEST; length--)
    if (rest.endsWith(form.slice(0, length))) return rest.slice(0, -length) + MARK
  return rest
}

/** A value as the report writes it. */
function plain(value: unknown): unknown {
  const json = JSON.stringify(value)
  return json === undefined ? undefined : JSON.parse(json)
}
