// Redacts the suite's credentials. A server may repeat them in its answers, and other people read the reports.
import type { Evidence } from './check-outcomes.ts'

/** The replacement of a credential. */
const REDACTED = '[redacted]'
/** A shorter text would also match unrelated text. */
const MIN_CREDENTIAL_LENGTH = 8

/** Redacts reports. */
export interface CredentialRedactor {
  text(text: string): string
  evidence(evidence: Evidence): Evidence
}

/** Redacts all of these credentials, also as URLs and JSON encode them. */
export function createCredentialRedactor(credentials: readonly (string | null)[]): CredentialRedactor {
  const forms = [...new Set(credentials.flatMap(listForms))].sort((a, b) => b.length - a.length)
  const text = (shown: string) => forms.reduce(redactForm, shown)
  const value = (shown: unknown): unknown => {
    if (typeof shown === 'string') return text(shown)
    if (Array.isArray(shown)) return shown.map(value)
    if (typeof shown !== 'object' || shown === null) return shown
    return Object.fromEntries(Object.entries(shown).map(([key, member]) => [text(key), value(member)]))
  }
  const part = (shown: unknown) => (forms.length === 0 || shown === undefined ? shown : value(toPlainJson(shown)))
  return {
    text,
    evidence: ({ finding, request, answer }) => ({
      finding: text(finding),
      request: part(request),
      answer: part(answer),
    }),
  }
}

function listForms(credential: string | null): string[] {
  if (credential === null || credential.length < MIN_CREDENTIAL_LENGTH) return []
  return [credential, encodeURIComponent(credential.toWellFormed()), JSON.stringify(credential).slice(1, -1)]
}

/** Redacts a credential in a text, and the beginning of one that was truncated. */
function redactForm(text: string, form: string): string {
  const rest = text.replaceAll(form, REDACTED)
  for (let length = form.length - 1; length >= MIN_CREDENTIAL_LENGTH; length--)
    if (rest.endsWith(form.slice(0, length))) return rest.slice(0, -length) + REDACTED
  return rest
}

/** Returns a value as the report writes it. */
function toPlainJson(value: unknown): unknown {
  const json = JSON.stringify(value)
  return json === undefined ? undefined : JSON.parse(json)
}
