// Model servers that repeat their API key.
import assert from 'node:assert/strict'
import type { Script } from '../helpers/upstream.ts'
import { startGateway } from './kit.ts'

export const KEY = 'sk-Planted/key+4711'
export const environment = { SVC_SECRET_UP_API_KEY: KEY }
/** Clients get at most as much of a key as they may have guessed: `sk-`, and nine characters. */
const THRESHOLD = 13
const PARTS = [KEY.slice(0, THRESHOLD), KEY.slice(THRESHOLD - 1, -1)]

/** A service with a model server that needs a key and answers by a script. */
export const gatewayOf = (script: Script | ((n: number) => Script), key = KEY) =>
  startGateway(
    { answer: (_request, n) => (typeof script === 'function' ? script(n) : script) },
    { environment: { SVC_SECRET_UP_API_KEY: key } },
  )

export function holdsNone(text: string): void {
  const lower = [text, decodeURIComponent(text.replaceAll('%', '%25')), text.replaceAll('\\', '')]
  for (const form of [KEY, ...PARTS, encodeURIComponent(KEY), btoa(KEY), KEY.toLowerCase()])
    for (const one of lower) assert.ok(!one.includes(form), one)
}

export const chunk = (delta: object, more: object = {}) => ({
  id: 'x',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})
export const END = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' }
