// The channels, messages and operations of two AsyncAPI documents.
import { diffMarks, isLive } from './diff-marks.ts'
import { diffSchema } from './diff-schema.ts'
import { diffSecurity } from './diff-security.ts'
import type { Findings } from './difference.ts'
import { canonical, type Json, type JsonMap, listOf, mapOf, names, referenceOf, resolve, textOf } from './json.ts'
import { type Direction, into, note, type Pair, type Place } from './place.ts'

/** Compares all channels with their messages, then the operations. */
export function diffSockets(documents: Pair, findings: Findings): void {
  const [old, next] = [mapOf(documents.old.channels), mapOf(documents.new.channels)]
  const base = { documents, findings, direction: 'request', live: true } as const
  for (const name of names(old, next)) {
    const place: Place = { ...base, live: isLive(old[name]), at: `channel ${name}` }
    if (next[name] === undefined) note(place, 'breaking', 'channel-removed', 'is gone')
    else if (old[name] === undefined) note(place, 'additive', 'channel-added', 'is new')
    else diffChannel(place, name, mapOf(old[name]), mapOf(next[name]))
  }
  const [before, after] = [mapOf(documents.old.operations), mapOf(documents.new.operations)]
  for (const name of names(before, after)) {
    const place: Place = { ...base, live: isLive(before[name]), at: `socket operation ${name}` }
    if (after[name] === undefined) note(place, 'breaking', 'operation-removed', 'is gone')
    else if (before[name] === undefined) note(place, 'additive', 'operation-added', 'is new')
    else diffOperation(place, mapOf(before[name]), mapOf(after[name]))
  }
  diffSecurity({ documents, findings })
}

function diffChannel(place: Place, name: string, old: JsonMap, next: JsonMap): void {
  if (old.address !== next.address) note(place, 'breaking', 'channel-moved', `is at ${textOf(next.address)} now`)
  diffMarks(place, old, next, 'write')
  const [before, after] = [mapOf(mapOf(old.bindings).ws), mapOf(mapOf(next.bindings).ws)]
  if (before.method !== after.method) note(place, 'breaking', 'handshake-changed', 'is opened with another method')
  diffSchema(into(place, ' query'), before.query ?? {}, after.query ?? {})
  diffSchema(into(place, ' headers'), before.headers ?? {}, after.headers ?? {})
  diffMessages(place, name, mapOf(old.messages), mapOf(next.messages))
}

function diffMessages(place: Place, channel: string, old: JsonMap, next: JsonMap): void {
  for (const key of names(old, next)) {
    const at: Place = { ...into(place, ` message ${key}`), live: isLive(old[key]) }
    if (next[key] === undefined) note(at, 'breaking', 'message-removed', 'is gone')
    else if (old[key] === undefined) note(at, 'additive', 'message-added', 'is new')
    else {
      const directions = directionsOf(place.documents.old, `#/channels/${channel}/messages/${key}`)
      const envelope = isEnvelope(place.documents.old, old, key) && isEnvelope(place.documents.new, next, key)
      diffMessage(at, envelope ? [] : directions, mapOf(old[key]), mapOf(next[key]))
    }
  }
}

/** What the server receives is a request, what it sends or replies a response. */
function directionsOf(document: JsonMap, reference: string): Direction[] {
  const found = new Set<Direction>()
  const holds = (list: Json | undefined) => listOf(list).some((one) => referenceOf(one) === reference)
  for (const operation of Object.values(mapOf(document.operations)).map(mapOf)) {
    if (holds(operation.messages)) found.add(operation.action === 'send' ? 'response' : 'request')
    if (holds(mapOf(operation.reply).messages)) found.add('response')
  }
  return found.size === 0 ? ['request', 'response'] : [...found]
}

/** Whether a message stands for any of a group of other messages, which are compared themselves. */
function isEnvelope(document: JsonMap, messages: JsonMap, key: string): boolean {
  const { oneOf } = mapOf(resolve(document, mapOf(messages[key]).payload))
  const others = Object.entries(messages).filter(([other]) => other !== key)
  const payloads = new Set(others.map(([, message]) => referenceOf(mapOf(message).payload)))
  return listOf(oneOf).length > 0 && listOf(oneOf).every((variant) => payloads.has(referenceOf(variant) ?? ''))
}

const IDENTITY = ['name', 'contentType', 'correlationId', 'x-svc-kind']

function diffMessage(place: Place, directions: readonly Direction[], old: JsonMap, next: JsonMap): void {
  for (const key of IDENTITY) {
    if (canonical(withoutWordsOf(old[key])) === canonical(withoutWordsOf(next[key]))) continue
    note(place, 'breaking', 'message-changed', `has another ${key}`)
  }
  diffMarks(place, withoutKind(old), withoutKind(next), 'write')
  for (const direction of directions) {
    diffSchema({ ...place, direction }, old.payload ?? {}, next.payload ?? {})
    if (old.headers !== undefined || next.headers !== undefined)
      diffSchema({ ...into(place, ' headers'), direction }, old.headers ?? {}, next.headers ?? {})
  }
  if (old['x-svc-result'] !== undefined || next['x-svc-result'] !== undefined)
    diffSchema(
      { ...into(place, ' result'), direction: 'response' },
      old['x-svc-result'] ?? {},
      next['x-svc-result'] ?? {},
    )
}

const withoutKind = ({ 'x-svc-kind': _kind, ...node }: JsonMap): JsonMap => node

function withoutWordsOf(value: Json | undefined): Json | undefined {
  const { description: _words, ...rest } = mapOf(value)
  return Object.keys(rest).length === 0 ? value : rest
}

function diffOperation(place: Place, old: JsonMap, next: JsonMap): void {
  if (old.action !== next.action) note(place, 'breaking', 'operation-changed', `is to ${textOf(next.action)} now`)
  if (canonical(old.channel) !== canonical(next.channel))
    note(place, 'breaking', 'operation-moved', 'is on another channel')
  diffMarks(place, old, next, 'write')
  diffLists(place, 'message', old.messages, next.messages)
  const [before, after] = [mapOf(old.reply), mapOf(next.reply)]
  if (old.reply !== undefined && next.reply === undefined)
    return note(place, 'breaking', 'reply-removed', 'is not answered')
  diffLists(place, 'reply', before.messages, after.messages)
}

function diffLists(place: Place, kind: 'message' | 'reply', old: Json | undefined, next: Json | undefined): void {
  const [before, after] = [old, next].map(
    (list) => new Set(listOf(list).map((one) => referenceOf(one)?.split('/').at(-1) ?? '')),
  )
  for (const key of before!)
    if (!after!.has(key)) note(place, 'breaking', `${kind}-removed`, `no longer has the ${kind} ${key}`)
  for (const key of after!)
    if (!before!.has(key)) note(place, 'additive', `${kind}-added`, `has the ${kind} ${key} too`)
}
