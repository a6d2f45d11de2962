// Helpers for untrusted JSON values, and ids.

import { encodeArgument } from './errors.ts'

export type UnknownRecord = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is UnknownRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A random UUID (RFC 9562, version 4). `crypto.randomUUID` is missing in pages over plain HTTP. */
export function createUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** JSON, with bytes as base64 text, as the contract writes them. @throws INVALID_ARGUMENT */
export function stringifyWithBase64(value: unknown): string {
  return encodeArgument('A value', () =>
    JSON.stringify(value, (_key, one: unknown) => (one instanceof Uint8Array ? toBase64(one) : one)),
  )
}

function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(text)
}
