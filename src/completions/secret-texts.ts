// Answers of servers as bytes, without secrets: what holds none passes byte by byte.
import type { Redactor } from '../redaction/redactor.ts'

/** A character that is written by its number may be a part of what is looked for. */
const ESCAPED = '\\u00'
const VALUES = { credentials: false } as const

/** The JSON text of a whole answer; the same bytes where nothing is replaced in it. */
export function withoutSecretsIn<Text extends string | Uint8Array>(given: Text, redactor: Redactor): Text | string {
  const text = typeof given === 'string' ? given : textOf(given)
  if (!redactor.mayHoldSecret(text) && !text.includes(ESCAPED)) return given
  const value: unknown = JSON.parse(text)
  const shown = redactor.value(value, VALUES)
  return shown === value ? given : JSON.stringify(shown)
}

/** Bytes of JSON as a text. */
export function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString()
}

/** Whether the text of some events has to be read as JSON to know what is in it. */
export function mayHideSecret(text: string, redactor: Redactor): boolean {
  return redactor.mayHoldSecret(text) || text.includes(ESCAPED)
}

/** A value of JSON; the same where nothing is replaced. */
export function withoutSecretsInValue<Value>(value: Value, redactor: Redactor): Value {
  return redactor.value(value, VALUES)
}
